# shellcheck shell=bash
# Real server only: kubectl apply --server-side of a status, and the audit log of another account.
# gkm-operator with its role: a kernel cache's life as users see it. No agent runs: what one writes on its node is written
# by hand, as kcache/kinds/kinds.h says.

GKM=$REPO/deploy/gkm/operator.yaml
SCHEDULER_ACCOUNT=system:serviceaccount:gkm-system:gkm-operator
A=sha256:$(printf 'a%.0s' {1..64}) B=sha256:$(printf 'b%.0s' {1..64})

start_operator() { # NAME PORT
  run_helper "$1" "$GS_BIN/gkm-operator" --kubeconfig="$CASE_DIR/operator.kubeconfig" --lease-namespace=gkm-system --identity="$1" \
    --health-probe-bind-address="127.0.0.1:$2" --metrics-bind-address=0 --leader-elect --metrics-secure=false --zap-devel
}
kill_operator() { unset "HELPER[$1]"; kill -s KILL "$(<"$CASE_DIR/$1.pid")"; }
operator_page() { curl --silent --max-time 5 "http://127.0.0.1:$1$2"; }

# cache KIND NAME DIGEST: as a user makes it, with what the webhook adds.
cache() {
  cat <<YAML
---
{apiVersion: gkm.io/v1alpha1, kind: $1, metadata: {name: $2, annotations: {gkm.io/resolvedDigest: "$3"}},
  spec: {image: quay.io/gkm/cache-examples:vector-add-cache-rocm}}
YAML
}
# entry DIGEST STATE [MESSAGE [POD...]]: what a node has of one image.
entry() {
  local pods='' pod
  for pod in "${@:4}"; do pods+="{podNamespace: default, podName: $pod, volumeId: csi-$pod},"; done
  echo "'$1': {lastUpdated: '2025-06-15T15:06:40Z', conditions: [{type: $2, reason: $2, status: 'True', message: '${3:-as it is}',
    lastTransitionTime: '2025-06-15T15:06:40Z'}]${pods:+, pods: [$pods]}}"
}
# node_says NODE CACHES [FINALIZED-CACHE...]: the agent of that node writes its object; CACHES is the inside of YAML's {}.
# (Without any it leaves them out: server-side apply of {} to what had some is stored as null, which the schema refuses.)
node_says() { write_node GKMCacheNode "$@"; }
wide_node_says() { write_node ClusterGKMCacheNode "$@"; }
write_node() {
  local kind=$1 node=$2 finalizers='' each head
  for each in "${@:4}"; do finalizers+="gkm.io.$each/finalizer,"; done
  head="apiVersion: gkm.io/v1alpha1, kind: $kind"
  kubectl apply --server-side --force-conflicts --field-manager=gkm-agent -f - >/dev/null \
    <<<"{$head, metadata: {name: $node, labels: {kubernetes.io/hostname: $node}, finalizers: [$finalizers]}}"
  kubectl apply --server-side --force-conflicts --field-manager=gkm-agent --subresource=status -f - >/dev/null \
    <<<"{$head, metadata: {name: $node}, status: {nodeName: $node, ${3:+caches: {$3\},}
      counts: {nodeCnt: 1, nodeInUseCnt: 0, nodeNotInUseCnt: 0, nodeErrorCnt: 0, podRunningCnt: 0, podOutdatedCnt: 0}}}"
}
make_node() { kubectl create -f - >/dev/null <<<"{apiVersion: v1, kind: Node, metadata: {name: $1}}"; }
# shown KIND/NAME: the condition's reason and the six counts.
shown() {
  field "$1" '.status.conditions[0].reason} {.status.counts.nodeCnt} {.status.counts.nodeInUseCnt} {.status.counts.nodeNotInUseCnt} {.status.counts.nodeErrorCnt} {.status.counts.podRunningCnt} {.status.counts.podOutdatedCnt'
}
message() { field "$1" '.status.conditions[0].message'; }
finalizers() { field "$1" .metadata.finalizers; }
gone() { kubectl get "$1" --ignore-not-found -o name; }

step "a control plane with the kinds and two nodes, and the operator under its role"
provider_up 2>>"$CASE_DIR/up.log"
install_crds "$REPO/charts/gkm/crds/crds.yaml"
make_node node-a
make_node node-b
kubectl apply -f "$GKM" >/dev/null
provider_kubeconfig gkm-system gkm-operator >"$CASE_DIR/operator.kubeconfig"
start_operator operator 8081
eventually_like "/readyz" 'role: leader' operator_page 8081 '/readyz?verbose'
expect "CSIDriver" '{"attachRequired":false,"fsGroupPolicy":"None","podInfoOnMount":true,"volumeLifecycleModes":["Ephemeral"]}' \
  "$(kubectl get csidriver csi.gkm.io -o json | jq -cS '.spec | {attachRequired, fsGroupPolicy, podInfoOnMount, volumeLifecycleModes}')"

step "images are taken as they are written for docker, and nothing else; what other versions know is kept"
image() { echo "{apiVersion: gkm.io/v1alpha1, kind: GKMCache, metadata: {name: $1}, spec: {image: '$2'}}"; }
for good in busybox gkm/a quay.io/gkm/a:b localhost:5000/a "host:5000/a_b/c--d:T.1@$A" '[::1]:5000/a'; do
  image good "$good" | kubectl create --dry-run=server -f - >/dev/null || fail "image $good is refused"
done
for bad in '' Quay.io/A 'a b' 'a:' 'a@sha256:1' '../x' 'a/../b' 'https://quay.io/a' 'a;b'; do
  expect_refused "image '$bad'" 'spec.image' kubectl create --dry-run=server -f - <<<"$(image bad "$bad")"
done
kubectl create -f - >/dev/null <<YAML
apiVersion: gkm.io/v1alpha1
kind: ClusterGKMCache
metadata: {name: other-version}
spec:
  image: quay.io/gkm/a:b
  storageClassName: standard
  accessModes: [ReadOnlyMany]
  workloadNamespaces: [a, b]
  podTemplate: {metadata: {labels: {x: "y"}}, spec: {nodeSelector: {gpu: "true"}, tolerations: [{key: gpu, operator: Exists}]}}
YAML
expect "its podTemplate" '{"metadata":{"labels":{"x":"y"}},"spec":{"nodeSelector":{"gpu":"true"},"tolerations":[{"key":"gpu","operator":"Exists"}]}}' \
  "$(kubectl get clustergkmcache other-version -o json | jq -cS .spec.podTemplate)"
eventually_like "why it is Pending" '^Not yet complete: its image has no digest yet' message clustergkmcache/other-version
kubectl delete clustergkmcache other-version >/dev/null

step "a cache is made, extracted, used and let go, and says so"
{ cache GKMCache one $A; cache ClusterGKMCache wide $A; } | create
eventually "state of one" "Pending 0 0 0 0 0 0" shown gkmcache/one
expect "message" "Not yet complete" "$(message gkmcache/one)"
expect "digest" "$A" "$(field gkmcache/one .status.resolvedDigest)"
expect "finalizers of one" '["gkm.io.gkmcachenode/finalizer"]' "$(finalizers gkmcache/one)"
eventually "finalizers of wide" '["gkm.io.clustergkmcachenode/finalizer"]' finalizers clustergkmcache/wide
node_says node-a "one: {$(entry $A Extracted)}" one
wide_node_says node-a "wide: {$(entry $A Extracted)}" wide
eventually "state of one" "Extracted 1 0 1 0 0 0" shown gkmcache/one
eventually "state of wide" "Extracted 1 0 1 0 0 0" shown clustergkmcache/wide
node_says node-a "one: {$(entry $A Running '' pod-1 pod-2)}" one
eventually "state of one" "Running 1 1 0 0 2 0" shown gkmcache/one
columns() { kubectl get "$@" | awk 'NR > 1 && $2 ~ /^[0-9]+[sm]/ { $2 = "AGE" } 1'; }
expect_words "kubectl get gkmcache" \
  "NAME AGE STATUS NODES NODE-IN-USE NODE-NOT-IN-USE NODE-ERROR POD-RUNNING POD-OUTDATED
   one AGE Running 1 1 0 0 2 0" "$(columns gkmcache)"
expect_like "kubectl get gkmcn" '^NAME +NODE +NODE-IN-USE +NODE-NOT-IN-USE +NODE-ERROR +POD-RUNNING +POD-OUTDATED
node-a +node-a ' "$(kubectl get gkmcn)"

step "a newer image: pods of the older one make it Outdated until they end"
kubectl annotate gkmcache one --overwrite gkm.io/resolvedDigest=$B >/dev/null
eventually "state of one" "Outdated 1 1 0 0 0 2" shown gkmcache/one
expect "digest" "$B" "$(field gkmcache/one .status.resolvedDigest)"
node_says node-a "one: {$(entry $A Running '' pod-1), $(entry $B Running '' pod-3)}" one
eventually "state of one" "Outdated 1 1 0 0 1 1" shown gkmcache/one
node_says node-a "one: {$(entry $B Running '' pod-3)}" one
eventually "state of one" "Running 1 1 0 0 1 0" shown gkmcache/one

step "an error is that cache's, with its cause, and goes when the node has it; what repeats becomes a series"
cache GKMCache two $A | create
breaks() { node_says node-b "two: {$(entry $A Error 'An error occurred trying to extract the Kernel Cache: no space left')}" two; }
breaks
eventually "state of two" "Error 1 0 0 1 0 0" shown gkmcache/two
expect "message" "An error occurred trying to extract the Kernel Cache: node-b: no space left" "$(message gkmcache/two)"
expect "state of one" "Running 1 1 0 0 1 0" "$(shown gkmcache/one)"
node_says node-b "two: {$(entry $A Extracted)}" two
eventually "state of two" "Extracted 1 0 1 0 0 0" shown gkmcache/two
deadline=$((SECONDS + PATIENCE))
until provider_audit | grep -q '^patch events'; do
  ((SECONDS < deadline)) || fail "expected a PATCH of an event, got none"
  breaks
  eventually "state of two" "Error 1 0 0 1 0 0" shown gkmcache/two
  node_says node-b "two: {$(entry $A Extracted)}" two
  eventually "state of two" "Extracted 1 0 1 0 0 0" shown gkmcache/two
done

step "the operator is killed: another one takes over, and does what was left"
kill_operator operator
node_says node-a "one: {$(entry $B Extracted)}" one
kubectl delete gkmcache two --wait=false >/dev/null
node_says node-b ""
start_operator second 8082
eventually "state of one" "Extracted 1 0 1 0 0 0" shown gkmcache/one
eventually "what is left of two" "" gone gkmcache/two

step "a cache goes when the last node has let it go, whichever way round"
kubectl delete gkmcache one --wait=false >/dev/null
eventually_like "the event" 'Warning waits until these nodes have removed it: node-a' events_of one Deleting
node_says node-a "" one # the agent's files are gone, its finalizer is not yet
expect "one" gkmcache.gkm.io/one "$(gone gkmcache/one)"
node_says node-a ""
eventually "what is left of one" "" gone gkmcache/one
cache GKMCache early $A | create
eventually "state of early" "Pending 0 0 0 0 0 0" shown gkmcache/early
kubectl delete gkmcache early >/dev/null # no node ever had it

step "a node leaves the cluster: what it had is taken away, and its caches can go"
node_says node-b "gone: {$(entry $A Running '' pod-1)}" gone
cache GKMCache gone $A | create
eventually "state of gone" "Running 1 1 0 0 1 0" shown gkmcache/gone
kubectl delete clustergkmcache wide --wait=false >/dev/null
kubectl delete gkmcache gone --wait=false >/dev/null
eventually_like "the event" 'node-b' events_of gone Deleting
kubectl delete node node-b node-a >/dev/null
eventually "what is left of the cache" "" gone gkmcache/gone
eventually "what is left of the cache of the cluster" "" gone clustergkmcache/wide
eventually "what is left of node-b's object" "" gone gkmcachenode/node-b
eventually "what is left of node-a's" "" gone clustergkmcachenode/node-a

step "the CSIDriver comes back as it has to be"
kubectl patch csidriver csi.gkm.io --type=merge -p '{"spec": {"fsGroupPolicy": "File"}}' >/dev/null
eventually "its fsGroupPolicy" None field csidriver/csi.gkm.io .spec.fsGroupPolicy

step "what was used is what its role allows"
eventually_like "caches in /metrics" 'gkm_operator_node_objects [0-9]' operator_page 8082 /metrics
allowed() {
  kubectl get clusterrole/gkm-operator -o json | jq -r '.rules[] | .verbs[] as $verb | .apiGroups[] as $group | .resources[]
    | split("/") as [$resource, $sub] | [$verb, $resource + (if $group == "" then "" else "." + $group end), $sub // "-"] | join(" ")'
  kubectl get role/gkm-operator -n gkm-system -o json | jq -r '.rules[] | .verbs[] as $verb | .apiGroups[] as $group | .resources[] | [$verb, . + "." + $group, "-"] | join(" ")'
}
used() { provider_audit | awk '{ print $1, $2, $3 }' | sort -u; }
allowed | sort -u >"$CASE_DIR/allowed"
used >"$CASE_DIR/used"
expect_output "left: allowed and never used, right: used and not allowed" "" comm -3 "$CASE_DIR/allowed" "$CASE_DIR/used"
