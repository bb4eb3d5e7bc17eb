# shellcheck shell=bash disable=SC2016 # what pods expand
# Real server only: pods run.
# Needs: nodes kube-scheduler helm
# Kernel caches from a registry into pods, on two real nodes: operator, agents and CSI drivers are installed by Helm from an
# image that has our programs and nothing else; the registry speaks TLS and wants a password; one cache is signed. GKM's
# guide and its examples, a registry that only a namespace's own Secret opens, then what breaks: an image changes under running pods, each part is killed, the registry goes away,
# caches and pods are deleted in every order, a node leaves. And gpu-scheduler, which knows where caches are.

SCHEDULER_ACCOUNT=system:serviceaccount:gkm-system:gkm-agent # whose requests are looked at
CHART=$REPO/charts/gkm
REGISTRY=10.250.0.1:5443
IMAGE=$REGISTRY/gkm/cache-examples
TEAM_REGISTRY=10.250.0.1:5444 # the same images, for another user
KEYS="CETLGDE7YAKGU4FRJ26IM6S47TFSIUU7KWBWDR3H2K3QRNRABUCA CHN6BLIJ7AJJRKY2IETERW2O7JXTFBUD3PH2WE3USNVKZEKXG64Q\
 MCELTMXFCSPAMZYLZ3C3WPPYYVTVR4QOYNE52X3X6FIH7Z6N6X5A c4d45c651d6ac181a78d8d2f3ead424b8b8f07dd23dc3de0a99f425d8a633fc6"
KERNEL=MCELTMXFCSPAMZYLZ3C3WPPYYVTVR4QOYNE52X3X6FIH7Z6N6X5A
NAMESPACES=(gkm-test-ns-scoped-1 gkm-test-ns-scoped-2 gkm-test-cl-scoped)
SLEEP='exec sleep 1000000'

# start_registry NAME [ADDRESS USERS]
start_registry() {
  local address=${2:-$REGISTRY}
  sed "s|$REGISTRY|$address|" "$CASE_DIR/registries.yml" >"$CASE_DIR/$1.yml"
  run_helper "$1" env REGISTRY_AUTH_HTPASSWD_REALM=testbed REGISTRY_AUTH_HTPASSWD_PATH="$CASE_DIR/${3:-users}" REGISTRY_LOG_LEVEL=warn \
    docker-registry serve "$CASE_DIR/$1.yml"
  eventually "the registry" 401 curl --silent --cacert "$CASE_DIR/ca.crt" --output /dev/null --write-out '%{http_code}' "https://$address/v2/"
}
# user NAME PASSWORD: as docker-registry has it.
user() { NAME=$1 PASSWORD=$2 python3 -c 'import crypt, os; print(os.environ["NAME"] + ":" + crypt.crypt(os.environ["PASSWORD"], crypt.mksalt(crypt.METHOD_BLOWFISH)))' 2>/dev/null; }
# auth_file ADDRESS NAME PASSWORD: as docker login writes it.
auth_file() { echo "{\"auths\": {\"$1\": {\"auth\": \"$(printf %s "$2:$3" | base64 -w0)\"}}}"; }
stop_registry() { unset "HELPER[$1]"; kill -s TERM "$(<"$CASE_DIR/$1.pid")"; }
# make_registry: its certificate, its user, its configuration.
make_registry() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=registry -addext subjectAltName=IP:10.250.0.1 \
    -keyout "$CASE_DIR/registry.key" -out "$CASE_DIR/ca.crt" 2>>"$CASE_DIR/openssl.log"
  user puller secret >"$CASE_DIR/users"
  user team password >"$CASE_DIR/team-users"
  cat >"$CASE_DIR/registries.yml" <<YAML
version: 0.1
storage: {filesystem: {rootdirectory: $CASE_DIR/registry}, delete: {enabled: true}}
http: {addr: "$REGISTRY", tls: {certificate: $CASE_DIR/ca.crt, key: $CASE_DIR/registry.key}}
YAML
  auth_file $REGISTRY puller secret >"$CASE_DIR/auth.json"
  auth_file $TEAM_REGISTRY team password >"$CASE_DIR/team-auth.json"
}
mcv() { "$GS_BIN/mcv" --authfile "$CASE_DIR/auth.json" --ca-file "$CASE_DIR/ca.crt" -l warning "$@"; }
# push_cache TAG TEXT [MCV-FLAG...]: the guide's example, with TEXT as its compiled kernel.
push_cache() {
  local folder=$CASE_DIR/cache-$1 key
  for key in $KEYS; do
    mkdir -p "$folder/$key"
    echo "a library of $1" >"$folder/$key/hip_utils.so"
  done
  echo "$2" >"$folder/$KERNEL/add_kernel.hsaco"
  echo '{"hash": "6088b9b2f5fa", "target": {"backend": "hip", "arch": "gfx90a", "warp_size": 64}, "num_warps": 4, "num_stages": 2, "name": "add_kernel"}' \
    >"$folder/$KERNEL/add_kernel.json"
  echo "{\"child_paths\": {\"add_kernel.hsaco\": \"/workspace/.triton/cache/$KERNEL/add_kernel.hsaco\"}}" >"$folder/$KERNEL/__grp__add_kernel.json"
  mcv -c -i "$IMAGE:$1" -d "$folder" --no-gpu --push "${@:3}" >>"$CASE_DIR/push.log" 2>&1 || fail "mcv --push: $(tail -n 2 "$CASE_DIR/push.log")"
}
eventually_up() {
  local each
  for each in deployment/gkm-operator daemonset/gkm-agent daemonset/gkm-csi-node; do
    kubectl -n gkm-system rollout status "$each" --timeout="${PATIENCE}s" >>"$CASE_DIR/rollout.log" 2>&1 || fail "$each: $(tail -n 1 "$CASE_DIR/rollout.log")"
  done
}
# The examples, of our registry.
example() { sed "s|image: quay.io/gkm/cache-examples:.*|image: $IMAGE:v1|" "$REPO/examples/gkm/$1.yaml"; }
in_pod() { kubectl -n "$1" exec "$2" -- sh -c "$3"; }
shown() { field "$1" '.status.conditions[0].reason} {.status.counts.nodeCnt} {.status.counts.podRunningCnt} {.status.counts.podOutdatedCnt' "${@:2}"; }
phases() { kubectl get pods -n "$1" -o jsonpath='{.items[*].status.phase}'; }
digest_of() { field "$1" '.metadata.annotations.gkm\.io/resolvedDigest' "${@:2}"; }
# on_node_is NODE NAMESPACE CACHE DIGEST: the reason of that image's condition there.
on_node_is() { kubectl -n "$2" get gkmcachenode "$1" -o json | jq -r --arg cache "$3" --arg digest "$4" '.status.caches[$cache][$digest].conditions[0].reason // ""'; }
nodes_say() { kubectl get gkmcachenodes -A -o json | jq -r '[.items[] | .metadata.namespace + "/" + .metadata.name] | sort | join(" ")'; }
on_node() { provider_on_node "$@"; }
trees_on() { on_node "$1" ls /var/lib/gkm/trees | wc -l; }
mounts_on() { on_node "$1" awk '/kubernetes.io~csi/ { print $NF }' /proc/self/mountinfo | wc -l; }
mounts() { echo "$(mounts_on node-a) $(mounts_on node-b)"; }
kill_part() { # NODE PROGRAM: as the kernel does when memory is short; its container starts anew.
  on_node "$1" pkill -KILL -x "$2"
}
pod_with() { # NAMESPACE NAME NODE CACHE [NAMESPACE-ATTRIBUTE]
  local attributes="csi.gkm.io/GKMCache: $4"
  if [[ -n ${5:-} ]]; then attributes+=", csi.gkm.io/namespace: $5"; fi
  create <<YAML
apiVersion: v1
kind: Pod
metadata: {name: $2, namespace: $1}
spec:
  nodeName: $3
  terminationGracePeriodSeconds: 0
  containers: [{name: main, image: 'busybox:testbed', command: [sh, -c, '$SLEEP'], volumeMounts: [{name: kernels, mountPath: /cache}]}]
  volumes: [{name: kernels, csi: {driver: csi.gkm.io, volumeAttributes: {$attributes}}}]
YAML
}
gpu_pod() { # NAMESPACE NAME CLAIM CACHE: wherever the scheduler likes.
  create <<YAML
apiVersion: v1
kind: Pod
metadata: {name: $2, namespace: $1, annotations: {gpu.scheduling/claim: $3}}
spec:
  schedulerName: gpu-scheduler
  terminationGracePeriodSeconds: 0
  containers: [{name: main, image: 'busybox:testbed', command: [sh, -c, '$SLEEP'], volumeMounts: [{name: kernels, mountPath: /cache}]}]
  volumes: [{name: kernels, $4}]
YAML
}
with_cache() { echo "csi: {driver: csi.gkm.io, volumeAttributes: {csi.gkm.io/GKMCache: $2, csi.gkm.io/namespace: $1}}"; } # NAMESPACE CACHE
agents_on() { # NODE|null: there only, or everywhere.
  kubectl -n gkm-system patch daemonset gkm-agent --type=merge -p '{"spec": {"template": {"spec": {"nodeSelector": {"kubernetes.io/hostname": '"$1"'}}}}}' >/dev/null
  eventually_up
}
first_on() { kubectl -n "$2" get gkmcachenode "$1" -o json | jq -r '.metadata.annotations["gkm.io/fetch-first"] // ""'; }
mount_events() { kubectl -n "$1" get events --field-selector "involvedObject.name=$2,reason=FailedMount" -o jsonpath='{range .items[*]}{.message}{"\n"}{end}'; }

step "two nodes, an image of our programs, and a registry with two caches of which one is signed"
provider_up --kubelets 2 --kube-scheduler 2>>"$CASE_DIR/up.log"
for node in node-a node-b; do eventually "Ready of $node" True readiness_of $node; done
"$REPO/tools/image" --gkm "$CASE_DIR/image.tar" >"$CASE_DIR/image.log"
provider_images "$CASE_DIR/image.tar"
rm "$CASE_DIR/image.tar"
for node in node-a node-b; do
  provider_on_node $node ctr images tag --force docker.io/library/busybox:testbed docker.io/library/alpine:3.22 >/dev/null 2>&1
  kubectl label node $node gkm-test-node=true >/dev/null
done
make_registry
start_registry registry
start_registry team $TEAM_REGISTRY team-users
openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$CASE_DIR/sign.key" 2>>"$CASE_DIR/openssl.log"
openssl pkey -in "$CASE_DIR/sign.key" -pubout -out "$CASE_DIR/sign.pub"
push_cache v1 one --sign "$CASE_DIR/sign.key"
push_cache v2 two
push_cache unsigned unsigned

step "Helm installs operator, agents and CSI drivers; everything runs"
for each in gkm-system team-a team-b; do kubectl create namespace $each >/dev/null; done
kubectl -n gkm-system create secret generic registry --type=kubernetes.io/dockerconfigjson --from-file=.dockerconfigjson="$CASE_DIR/auth.json" >/dev/null
cat >"$CASE_DIR/values.yaml" <<YAML
registrySecret: registry
registryCa: |
$(sed 's/^/  /' "$CASE_DIR/ca.crt")
noGpu: true
pullSecrets: {namespaces: [team-a, team-b]}
trust:
  policy:
    rules:
    - images: ["$REGISTRY/**"]
      scope: {cluster: true}
      require:
      - publicKeys:
        - |
$(sed 's/^/          /' "$CASE_DIR/sign.pub")
YAML
at=${EPOCHREALTIME/./}
helm install gkm "$CHART" -n gkm-system -f "$CASE_DIR/values.yaml" >"$CASE_DIR/helm.log"
eventually_up
note "all pods are ready $(elapsed_ms "$at") ms after helm install"
note "$(kubectl get pods -n gkm-system -o wide | awk '{ print $1, $2, $3 }' | tr '\n' ';')"

step "the guide: its caches and its nine pods; ls /cache shows the kernels, and each pod writes for itself"
at=${EPOCHREALTIME/./}
for name in ns-scoped-1 ns-scoped-2 cl-scoped; do example $name | kubectl apply -f - >/dev/null; done
for ns in "${NAMESPACES[@]}"; do eventually "phases in $ns" "Running Running Running" phases "$ns"; done
note "nine pods run $(elapsed_ms "$at") ms after kubectl apply"
for ns in "${NAMESPACES[@]}"; do
  expect "ls /cache in $ns" "$(tr ' ' '\n' <<<"$KEYS" | sort)" "$(in_pod "$ns" gkm-test-pod-1 'ls /cache' | sort)"
  expect "the group file" "{\"child_paths\":{\"add_kernel.hsaco\":\"/cache/$KERNEL/add_kernel.hsaco\"}}" "$(in_pod "$ns" gkm-test-pod-1 "cat /cache/$KERNEL/__grp__add_kernel.json" | tr -d ' ')"
done
in_pod "${NAMESPACES[0]}" gkm-test-pod-1 "echo poison >/cache/$KERNEL/add_kernel.hsaco; mkdir /cache/NEW"
expect "the kernel in the next pod" one "$(in_pod "${NAMESPACES[0]}" gkm-test-pod-2 "cat /cache/$KERNEL/add_kernel.hsaco")"
expect "the next pod's folders" 4 "$(in_pod "${NAMESPACES[0]}" gkm-test-pod-2 'ls /cache | wc -l')"
cluster_cache=$(kubectl get clustergkmcache -o name | sed 's|.*/||')
eventually "the cluster's cache" "Running 2 3 0" shown "clustergkmcache/$cluster_cache"
expect "trees on each node" "1 1" "$(trees_on node-a) $(trees_on node-b)"
note "three caches of one image on a node: $(on_node node-a du -s --block-size=1 /var/lib/gkm/files | cut -f1) bytes of files, one tree"
expect "node objects" "gkm-test-ns-scoped-1/node-a gkm-test-ns-scoped-1/node-b gkm-test-ns-scoped-2/node-a gkm-test-ns-scoped-2/node-b" "$(nodes_say)"

step "what is not signed is not for the cluster; nobody mounts another namespace's cache, or writes a digest of his own"
gkm_cache() { echo "{apiVersion: gkm.io/v1alpha1, kind: $1, metadata: {name: $2}, spec: {image: '$IMAGE:$3'}}"; }
expect_refused "an unsigned cache of the cluster" 'image signature verification failed' kubectl create -f - <<<"$(gkm_cache ClusterGKMCache unsigned unsigned)"
ns=${NAMESPACES[0]} cache=vector-add-cache-rocm-1
expect_refused "a forged digest" 'gkm.io/' kubectl -n "$ns" annotate --overwrite gkmcache "$cache" gkm.io/resolvedDigest=sha256:$(printf 'f%.0s' {1..64})
pod_with default thief node-a "$cache" "$ns"
eventually_like "why the thief waits" 'own namespace' mount_events default thief
kubectl delete pod thief --force --grace-period=0 >/dev/null 2>&1

step "a registry that only a namespace's own Secret opens: its caches are that namespace's, whatever the node has"
team_cache() { # NAME IMAGE [SECRET]
  echo "{apiVersion: gkm.io/v1alpha1, kind: GKMCache, metadata: {name: $1}, spec: {image: '$2'${3:+, imagePullSecrets: [{name: $3\}]}}}"
}
tagged=$TEAM_REGISTRY/gkm/cache-examples:v1
kubectl -n team-a create secret generic pull --type=kubernetes.io/dockerconfigjson --from-file=.dockerconfigjson="$CASE_DIR/team-auth.json" >/dev/null
expect_refused "one without a Secret" 'image digest resolution failed' kubectl -n team-a create -f - <<<"$(team_cache none "$tagged")"
team_cache mine "$tagged" pull | kubectl -n team-a create -f - >/dev/null
digest=$(digest_of gkmcache/mine -n team-a)
for node in node-a node-b; do eventually "the image on $node" Extracted on_node_is $node team-a mine "$digest"; done
pod_with team-a kernels node-a mine team-a
runs kernels -n team-a
expect "its kernel" one "$(in_pod team-a kernels "cat /cache/$KERNEL/add_kernel.hsaco")"
expect_refused "another namespace's, of a Secret that it does not have" 'Secret team-b/pull .spec.imagePullSecrets. is not there' \
  kubectl -n team-b create -f - <<<"$(team_cache theirs "$tagged" pull)"
expect_refused "another namespace's, by the digest" 'image digest resolution failed' kubectl -n team-b create -f - <<<"$(team_cache theirs "${tagged%:v1}@$digest")"
kubectl -n team-a delete gkmcache mine --wait=false >/dev/null
kubectl -n team-a delete pods --all --force --grace-period=0 >/dev/null 2>&1
eventually "caches of the team" "" kubectl get gkmcaches -n team-a -o name
stop_registry team

step "GKM's newest examples: pods name a PersistentVolumeClaim, which the operator makes and takes away"
# As GKM has them, applied as they are: only the image is one that our registry has.
newest() { sed "s|image: registry.example/.*|image: $IMAGE:v1|" "$TESTBED/contract/gkm-head/$1.yaml" | kubectl apply -f - >/dev/null; }
pod_by_claim() { # NAMESPACE NAME NODE CLAIM PATH
  create <<YAML
apiVersion: v1
kind: Pod
metadata: {name: $2, namespace: $1}
spec:
  nodeName: $3
  terminationGracePeriodSeconds: 0
  containers: [{name: c, image: 'busybox:testbed', command: [sh, -c, 'ls $5 && $SLEEP'], volumeMounts: [{name: kernels, mountPath: $5}]}]
  volumes: [{name: kernels, persistentVolumeClaim: {claimName: $4}}]
YAML
}
claims() { kubectl get persistentvolumeclaims -A -l gkm.io/managed=true -o json | jq -r '[.items[] | .metadata.namespace + "/" + .metadata.name + "=" + .status.phase] | sort | join(" ")'; }
remark() { kubectl get "$1" -o json "${@:3}" | jq -r --arg type "$2" '.status.conditions[] | select(.type == $type) | .status + " " + .reason'; }
kubectl create namespace caches-1 >/dev/null
newest cache-and-pod
eventually "a namespace that is not there" NoNamespace field clustergkmcache/vector-add-everywhere '.status.conditions[0].reason'
kubectl create namespace caches-2 >/dev/null
eventually "claims" "caches-1/vector-add-everywhere=Bound caches-1/vector-add=Bound caches-2/vector-add-everywhere=Bound" claims
eventually "whether claims are ready" "True Bound" remark clustergkmcache/vector-add-everywhere ClaimsReady
runs uses-it -n caches-1
gkm_cache GKMCache llama v1 | kubectl create -n caches-1 -f - >/dev/null
newest vllm
runs server -n caches-1
kubectl -n caches-1 patch gkmcache vector-add --type=merge -p '{"spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "standard"}}' >/dev/null
eventually "fields that mean nothing" "True NotNeeded" remark gkmcache/vector-add FieldsUnused -n caches-1
at=${EPOCHREALTIME/./}
pod_by_claim caches-1 one node-a vector-add /cache
pod_by_claim caches-1 two node-b vector-add /home/vllm/.cache/vllm
pod_by_claim caches-2 three node-b vector-add-everywhere /cache
for pod in "caches-1 one" "caches-1 two" "caches-2 three"; do runs "${pod#* }" -n "${pod% *}"; done
note "three pods with claims run $(elapsed_ms "$at") ms after they were made"
for pod in "caches-1 one /cache" "caches-1 two /home/vllm/.cache/vllm" "caches-2 three /cache" "caches-1 uses-it /cache" "caches-1 server /home/vllm/.cache/vllm"; do
  read -r namespace name path <<<"$pod"
  expect "the files of $name" "$(tr ' ' '\n' <<<"$KEYS" | sort)" "$(in_pod "$namespace" "$name" "ls $path" | sort)"
  expect "the kernel of $name" one "$(in_pod "$namespace" "$name" "cat $path/$KERNEL/add_kernel.hsaco")"
  expect "the group file of $name" "{\"child_paths\":{\"add_kernel.hsaco\":\"$path/$KERNEL/add_kernel.hsaco\"}}" "$(in_pod "$namespace" "$name" "cat $path/$KERNEL/__grp__add_kernel.json" | tr -d ' ')"
done
kubectl -n caches-1 create -f - >/dev/null <<<"{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: mine}, spec: {accessModes: [ReadOnlyMany], storageClassName: '', resources: {requests: {storage: 1Mi}}}}"
kubectl create -f - >/dev/null <<<"{apiVersion: gkm.io/v1alpha1, kind: GKMCache, metadata: {name: mine, namespace: caches-1}, spec: {image: '$IMAGE:v1', pvc: true}}"
eventually "somebody else's claim" "False NotOurs" remark gkmcache/mine ClaimsReady -n caches-1
expect "its phase" Pending "$(field persistentvolumeclaim/mine '.status.phase' -n caches-1)"
kubectl -n caches-1 delete gkmcache mine --wait=false >/dev/null
kubectl -n caches-1 delete gkmcache vector-add llama --wait=false >/dev/null
kubectl delete clustergkmcache vector-add-everywhere --wait=false >/dev/null
eventually "a cache whose claim pods use" Deleting field gkmcache/vector-add '.status.conditions[0].reason' -n caches-1
expect "the kernel of a pod that runs on" one "$(in_pod caches-1 one "cat /cache/$KERNEL/add_kernel.hsaco")"
kubectl -n caches-1 delete pod one two uses-it server --force --grace-period=0 >/dev/null 2>&1
kubectl -n caches-2 delete pod three --force --grace-period=0 >/dev/null 2>&1
eventually "claims that are left" "" claims
volumes() { kubectl get persistentvolumes -o name; }
eventually "volumes that are left" "" volumes
left() { kubectl get gkmcaches -n caches-1 -o name; kubectl get clustergkmcache vector-add-everywhere --ignore-not-found -o name; }
eventually "caches that are left" "" left
kubectl delete namespace caches-1 caches-2 >/dev/null

step "the image changes under running pods: they keep theirs, new ones get the new one"
before=$(digest_of "gkmcache/$cache" -n "$ns")
kubectl -n "$ns" patch gkmcache "$cache" --type=merge -p "{\"spec\": {\"image\": \"$IMAGE:v2\"}}" >/dev/null
after=$(digest_of "gkmcache/$cache" -n "$ns")
if [[ $after == "$before" ]]; then fail "the digest stayed $before"; fi
for node in node-a node-b; do eventually "the new image on $node" Extracted on_node_is $node "$ns" "$cache" "$after"; done
eventually "the cache" "Outdated 2 0 3" shown "gkmcache/$cache" -n "$ns"
pod_with "$ns" newer node-a "$cache" "$ns"
runs newer -n "$ns"
expect "the kernel of the new pod" two "$(in_pod "$ns" newer "cat /cache/$KERNEL/add_kernel.hsaco")"
expect "the kernel of an old one" one "$(in_pod "$ns" gkm-test-pod-2 "cat /cache/$KERNEL/add_kernel.hsaco")"
kubectl -n "$ns" delete pod gkm-test-pod-1 gkm-test-pod-2 gkm-test-pod-3 newer --force --grace-period=0 >/dev/null 2>&1
eventually "the cache" "Extracted 2 0 0" shown "gkmcache/$cache" -n "$ns"

step "each part is killed in the middle: pods run on, and what was begun comes to its end"
for program in gkm-agent gkm-csi gkm-operator; do
  for node in node-a node-b; do kill_part $node $program 2>/dev/null || true; done # the operator is on one of them
  pod_with "$ns" after-$program node-a "$cache" "$ns"
  runs after-$program -n "$ns"
done
eventually "the cache" "Running 2 3 0" shown "gkmcache/$cache" -n "$ns"
expect "a pod of another namespace" one "$(in_pod "${NAMESPACES[1]}" gkm-test-pod-1 "cat /cache/$KERNEL/add_kernel.hsaco")"

step "the registry goes away: what is there works, a new cache says why it waits, deleting works"
stop_registry registry
pod_with "$ns" offline node-b "$cache" "$ns"
runs offline -n "$ns"
expect_refused "a new cache" 'image digest resolution failed' kubectl -n "$ns" create -f - <<<"$(gkm_cache GKMCache offline v1)"
kubectl -n "${NAMESPACES[1]}" delete gkmcache --all --wait=false >/dev/null
start_registry again

step "a cache that pods have mounted stays until they end, and no new pod gets it; then nothing is left"
expect "a pod of the deleted cache" one "$(in_pod "${NAMESPACES[1]}" gkm-test-pod-1 "cat /cache/$KERNEL/add_kernel.hsaco")"
pod_with "${NAMESPACES[1]}" late node-a "$cache" "${NAMESPACES[1]}"
eventually_like "why the late one waits" 'has not been extracted' mount_events "${NAMESPACES[1]}" late
kubectl -n "${NAMESPACES[1]}" delete pods --all --force --grace-period=0 >/dev/null 2>&1
eventually "caches of the namespace" "" kubectl -n "${NAMESPACES[1]}" get gkmcache -o name
kubectl -n "$ns" delete pods --all --force --grace-period=0 >/dev/null 2>&1
kubectl -n "$ns" delete gkmcache --all --wait=false >/dev/null
kubectl delete -n "${NAMESPACES[2]}" pods --all --force --grace-period=0 >/dev/null 2>&1
eventually "caches" "" kubectl get gkmcache -A -o name
eventually "node objects" "" nodes_say
eventually "mounts" "0 0" mounts

step "a scheduler with --kernel-cache-weight: the node that has a pod's cache is taken, and what a waiting pod needs is asked for first"
install_crds "$CRDS"
"$TESTBED/nodes" --existing
kubectl apply -f "$REPO/deploy/rbac/scheduler.yaml" -f "$REPO/deploy/rbac/kernel-caches.yaml" >/dev/null
SCHEDULER_ACCOUNT=system:serviceaccount:default:gpu-scheduler provider_kubeconfig >"$CASE_DIR/scheduler.kubeconfig"
SCHEDULER_FLAGS=(--kernel-cache-weight=1000)
run_scheduler scheduler
agents_on '"node-b"'
gkm_cache GKMCache mine v2 | create -n "$ns"
eventually "the cache on node-b" Extracted on_node_is node-b "$ns" mine "$(digest_of gkmcache/mine -n "$ns")"
for each in plain kernels; do claim $each 'count: 1' | create -n "$ns"; done
gpu_pod "$ns" plain plain 'emptyDir: {}'
runs plain -n "$ns"
expect "the node of a pod without caches: the fuller one" node-a "$(node_of plain -n "$ns")"
delete_pods plain -n "$ns" # beside it the GPUs of node-a would fit better
eventually_leases ""
gpu_pod "$ns" kernels kernels "$(with_cache "$ns" mine)"
runs kernels -n "$ns"
expect "the node of a pod whose cache is on node-b" node-b "$(node_of kernels -n "$ns")"
expect "its kernel" two "$(in_pod "$ns" kernels "cat /cache/$KERNEL/add_kernel.hsaco")"
eventually_like "the event" '1 of 1 kernel cache extracted there' kubectl -n "$ns" get events --field-selector involvedObject.name=kernels,reason=Scheduled -o jsonpath='{.items[*].message}'
claim all 'count: 8' | create -n "$ns"
gpu_pod "$ns" waiting all "$(with_cache "$ns" later)"
eventually_like "what a waiting pod is told" 'Kernel caches: .*later on 0 node\(s\)\. Asked for first on node-b\.' why waiting -n "$ns"
eventually_like "what node-b is to fetch first" later first_on node-b "$ns"
gkm_cache GKMCache later v2 | create -n "$ns"
eventually "the cache that was asked for" Extracted on_node_is node-b "$ns" later "$(digest_of gkmcache/later -n "$ns")"
delete_pods kernels -n "$ns"
runs waiting -n "$ns"
expect "the node of the one that waited" node-b "$(node_of waiting -n "$ns")"

step "how soon a pod starts: its cache of 100 MB comes when the pod does, or is there"
agents_on null
delete_pods waiting -n "$ns"
mkdir -p "$CASE_DIR/cache-large/$KERNEL"
head -c 100000000 /dev/urandom >"$CASE_DIR/cache-large/$KERNEL/large.hsaco"
push_cache large large
started_ms() { # NAME
  local at=${EPOCHREALTIME/./}
  pod_with "$ns" "$1" node-a large "$ns"
  POLL=0.05 runs "$1" -n "$ns"
  elapsed_ms "$at"
}
gkm_cache GKMCache large large | create -n "$ns"
cold=$(started_ms cold)
warm=$(started_ms warm)
note "a pod runs after $cold ms when its cache comes with it, after $warm ms when it is there"
delete_pods cold warm -n "$ns"
stop_scheduler scheduler
kubectl -n "$ns" delete gkmcache --all --wait=false >/dev/null
eventually "caches" "" kubectl get gkmcache -A -o name

step "a node leaves: what it had keeps no cache"
eventually "the cluster's cache" "Extracted 2 0 0" shown "clustergkmcache/$cluster_cache"
provider_component kill kubelet-node-b
on_node node-b pkill -KILL -x gkm-agent || true # its container may be between two starts
kubectl delete node node-b >/dev/null
eventually "the cluster's cache" "Extracted 1 0 0" shown "clustergkmcache/$cluster_cache"
kubectl delete clustergkmcache --all --wait=false >/dev/null
eventually "caches of the cluster" "" kubectl get clustergkmcache -o name
eventually "node objects of the cluster" "" kubectl get clustergkmcachenodes -o name
