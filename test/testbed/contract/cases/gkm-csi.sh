# shellcheck shell=bash disable=SC2016 # what pods expand
# Real server only: pods run.
# Needs: nodes
# gkm-csi on a real node: pods mount kernel caches. No agent runs: what one has in the store is written by hand, as
# cacherim/store/store.h and cacherim/node/present.h say.

A=sha256:$(printf 'a%.0s' {1..64}) B=sha256:$(printf 'b%.0s' {1..64})
CSI=/var/lib/kubelet/plugins_registry/csi.gkm.io-reg.sock
SLEEP='exec sleep 1000000'
node() { "$TESTBED/on-node" "$CASE_DIR/cluster" node-a "$@"; }
start_csi() { # NAME [FLAG...]
  run_helper "$1" "$TESTBED/on-node" "$CASE_DIR/cluster" node-a env KUBE_NODE_NAME=node-a "$GS_BIN/gkm-csi" --metrics-address=127.0.0.1:9809 \
    --writable-limit=1Mi "${@:2}"
  eventually_like "/readyz of $1" 'has registered the driver' page '/readyz?verbose'
}
page() { node curl --silent --max-time 5 "http://127.0.0.1:9809$1"; }
kill_csi() { unset "HELPER[$1]"; node pkill -KILL -x gkm-csi; }
# extract FOLDER NAME DIGEST: what the agent has done when it has extracted that image.
extract() {
  node bash -euc 'tree=/var/lib/gkm/trees/${3#sha256:}; place=/var/lib/gkm/caches/$1/$2
    mkdir -p "$tree/root/KEY" "$place"; chmod 700 /var/lib/gkm/trees; chmod 777 "$tree/root/KEY"
    echo "kernel of $3" >"$tree/root/KEY/add_kernel.json"; chmod 444 "$tree/root/KEY/add_kernel.json"; echo "{}" >"$tree/record.json"
    ln -sfn "../../../trees/${3#sha256:}/root" "$place/$3"
    echo "{\"resolvedDigest\":\"$3\",\"image\":\"quay.io/gkm/a:b\",\"sizes\":{},\"store\":1}" >"$place/new"; mv "$place/new" "$place/cache.json"' _ "$@"
}
# cached_pod NAME NAMESPACE-ATTRIBUTE COMMAND [READ-ONLY [USER]]: a pod with the cache vectors at /cache.
cached_pod() {
  local attributes='csi.gkm.io/GKMCache: vectors'
  if [[ -n $2 ]]; then attributes+=", csi.gkm.io/namespace: $2"; fi
  cat <<YAML
---
apiVersion: v1
kind: Pod
metadata: {name: $1}
spec:
  nodeName: node-a
  terminationGracePeriodSeconds: 0
  securityContext: {runAsUser: ${5:-0}, runAsGroup: ${5:-0}}
  containers: [{name: main, image: 'busybox:testbed', command: [sh, -c, $(jq -Rs . <<<"$3")], volumeMounts: [{name: kernels, mountPath: /cache}]}]
  volumes: [{name: kernels, csi: {driver: csi.gkm.io, readOnly: ${4:-false}, volumeAttributes: {$attributes}}}]
YAML
}
phase() { field "pod/$1" .status.phase; }
in_pod() { kubectl exec "$1" -- sh -c "$2"; }
why() { kubectl get events --field-selector "involvedObject.name=$1,reason=FailedMount" -o jsonpath='{range .items[*]}{.message}{"\n"}{end}'; }
mounts() { node awk '/kubernetes.io~csi/ { print $NF }' /proc/self/mountinfo | wc -l; }
socket_is_there() { node test -S "$CSI" && echo yes; }
uses() { node ls /run/gkm/usage/volumes | { grep -c '\.json$' || true; }; } # grep says no where there is none

step "a node, the CSIDriver, and gkm-csi, which the kubelet finds by itself"
provider_up --kubelets 1 2>>"$CASE_DIR/up.log"
eventually "Ready of the node" True readiness_of node-a
kubectl create -f - >/dev/null <<'YAML'
{apiVersion: storage.k8s.io/v1, kind: CSIDriver, metadata: {name: csi.gkm.io},
  spec: {attachRequired: false, podInfoOnMount: true, fsGroupPolicy: None, volumeLifecycleModes: [Ephemeral, Persistent]}}
YAML
eventually "the account of pods" default field serviceaccount/default .metadata.name
node mkdir -p /var/lib/gkm/caches
start_csi first
eventually "drivers of the node" 'csi.gkm.io=node-a' field csinode/node-a '.spec.drivers[0].name}={.spec.drivers[0].nodeID'

step "a pod waits until its cache is extracted, and its events say so"
cached_pod early default "$SLEEP" | create
eventually_like "events" 'code = NotFound desc = GKMCache has not been extracted' why early
extract default vectors "$A"
eventually "phase" Running phase early
expect "files" KEY "$(in_pod early 'ls /cache')"
expect "a kernel" "kernel of $A" "$(in_pod early 'cat /cache/KEY/add_kernel.json')"

step "pods write beside, as any user, up to the limit; no other pod and not the node sees it"
cached_pod other default "$SLEEP" false 1234 | create
eventually "phase" Running phase other
in_pod early 'echo poison >/cache/KEY/add_kernel.json; echo more >/cache/KEY/more; echo more >/cache/more'
expect "a kernel" "kernel of $A" "$(in_pod other 'cat /cache/KEY/add_kernel.json')"
expect "files" $'/cache/KEY\n/cache/KEY/add_kernel.json' "$(in_pod other 'find /cache -mindepth 1 | sort')"
in_pod other 'echo own >/cache/KEY/own; echo own >/cache/own; mv /cache/KEY/own /cache/KEY/add_kernel.json'
expect_refused "2 MiB" 'No space left on device' in_pod other 'dd if=/dev/zero of=/cache/large bs=64k count=32'
expect "the store" "kernel of $A" "$(node cat "/var/lib/gkm/trees/${A#sha256:}/root/KEY/add_kernel.json")"

step "readOnly is that; a ClusterGKMCache is found under its name"
extract cluster-scoped vectors "$B"
cached_pod fixed '' "$SLEEP" true | create
eventually "phase" Running phase fixed
expect "a kernel" "kernel of $B" "$(in_pod fixed 'cat /cache/KEY/add_kernel.json')"
expect_refused "writing" 'Read-only file system' in_pod fixed 'echo x >/cache/KEY/more'
expect_output "uses" 3 uses

step "nobody gets caches of other namespaces, or paths"
cached_pod thief kube-system "$SLEEP" | create
eventually_like "events" 'a pod may mount GKMCaches of its own namespace' why thief
cached_pod climber default "$SLEEP" | sed 's|GKMCache: vectors|GKMCache: "../../../../etc"|' | create
eventually_like "events" 'the name of a cache has lower-case letters' why climber
kubectl delete pod thief climber --wait=false >/dev/null
eventually "pods that never ran" '' kubectl get pod thief climber --ignore-not-found -o name

step "a newer image is for new pods"
extract default vectors "$B"
cached_pod newer default "$SLEEP" | create
eventually "phase" Running phase newer
expect "a kernel" "kernel of $B" "$(in_pod newer 'cat /cache/KEY/add_kernel.json')"
expect "of who runs" poison "$(in_pod early 'cat /cache/KEY/add_kernel.json')"

step "kill -9, and /run emptied under running pods: the next process knows what is mounted"
kill_csi first
node rm -rf /run/gkm/usage
kubectl delete pod other --wait=false >/dev/null # its volume is taken away when there is somebody to do it
start_csi second
eventually "uses" 3 uses
eventually "mounts" 3 mounts
expect "of who runs" poison "$(in_pod early 'cat /cache/KEY/add_kernel.json')"

step "somebody cleans the folder of plugins: it is found again"
node rm "$CSI"
eventually "the socket" yes socket_is_there
cached_pod last default "$SLEEP" | create
eventually "phase" Running phase last

step "pods end: nothing is left of them"
kubectl delete pod early fixed newer last --wait=false >/dev/null
eventually "pods" '' kubectl get pods -o name
eventually "mounts" 0 mounts
eventually "uses" 0 uses
expect_output "folders in the scratch folder" "" node ls /run/gkm/scratch
note "$(page /metrics | grep '^gkm_csi_calls_total' | tr '\n' ' ')"
