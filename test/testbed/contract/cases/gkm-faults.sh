# shellcheck shell=bash
# Real server only: the audit log of another account, and root, for a disk of its own.
# gkm-agent, as it is shipped and under its role, before a registry whose images are each wrong in their own way
# (../faulty_registry.py), and with a disk that gets full. Each fault is said of its cache in the node's object, costs nobody
# else anything, and is over when its cause is. Digests are written by hand.

SCHEDULER_ACCOUNT=system:serviceaccount:gkm-system:gkm-agent # whose requests are looked at
PORT=5001
STORE=$CASE_DIR/store
FAULTS=(cuts lies lies-about-manifest lies-about-length bomb-ratio bomb-count bomb-size climbs)

digest() { sed -n "s/^$1 //p" "$CASE_DIR/images"; }
cache() { # KIND NAME IMAGE
  create <<YAML
{apiVersion: gkm.io/v1alpha1, kind: $1, metadata: {name: $2, annotations: {gkm.io/resolvedDigest: "$(digest "$3")"}},
  spec: {image: '127.0.0.1:$PORT/gkm/$3:v1'}}
YAML
}
# said KIND CACHE: what the node says of it, "REASON: MESSAGE".
said() { kubectl get "$1" node-a --ignore-not-found -o json | jq -r --arg cache "$2" '.status.caches[$cache] // {} | to_entries[].value.conditions[0] | .reason + ": " + .message'; }
is_extracted() { eventually_like "what is said of $1" '^Extracted: ' said gkmcachenode "$1"; }
is_wrong() { eventually_like "what is said of $1" "^Error: .*$2" said gkmcachenode "$1"; }
# shown KIND/NAME: the condition's reason and the counts of nodes.
shown() { field "$1" '.status.conditions[0].reason} {.status.counts.nodeCnt} {.status.counts.nodeInUseCnt} {.status.counts.nodeNotInUseCnt} {.status.counts.nodeErrorCnt'; }
agent_page() { curl --silent --max-time 5 "http://127.0.0.1:8081$1"; }
free_bytes() { df --block-size=1 --output=avail "$STORE" | tail -n 1; }

step "an agent under its role, a store of 400 MiB, and a registry that is not to be trusted"
[[ $EUID == 0 ]] || fail "a disk of its own needs root"
mkdir -p "$STORE" "$CASE_DIR/usage/volumes"
cat /proc/sys/kernel/random/boot_id >"$CASE_DIR/usage/volumes/complete" # as gkm-csi has it where no pod has a cache
mount -t tmpfs -o size=400m,mode=700 store "$STORE"
run_helper registry "$CONTRACT/faulty_registry.py" $PORT "$CASE_DIR"
provider_up 2>>"$CASE_DIR/up.log"
install_crds "$REPO/charts/gkm/crds/crds.yaml"
kubectl create -f - >/dev/null <<<'{apiVersion: v1, kind: Node, metadata: {name: node-a}}'
kubectl apply -f "$REPO/deploy/gkm/base/namespace.yaml" -f "$REPO/deploy/gkm/base/config.yaml" -f "$REPO/deploy/gkm/base/agent.yaml" \
  -f "$REPO/deploy/gkm/base/operator.yaml" -f "$REPO/deploy/gkm/base/trust.yaml" >/dev/null
kubectl create -f - >/dev/null <<YAML
apiVersion: v1
kind: ConfigMap
metadata: {name: gkm-trust-policy, namespace: gkm-system}
data: {policy.yaml: "rules: [{images: ['127.0.0.1:$PORT/**', 'registry.invalid/trusted/**'], scope: {cluster: true}, allowUnsigned: true}]"}
YAML
provider_kubeconfig gkm-system gkm-agent >"$CASE_DIR/agent.kubeconfig"
eventually "the registry" listens cat "$CASE_DIR/registry.log"
run_helper agent env NO_GPU=true "$GS_BIN/gkm-agent" --kubeconfig="$CASE_DIR/agent.kubeconfig" --node-name=node-a --store="$STORE" \
  --usage="$CASE_DIR/usage" --health-probe-bind-address=127.0.0.1:8081 --concurrency=16 --cache-quota=0 # until the disk says no
provider_kubeconfig gkm-system gkm-operator >"$CASE_DIR/operator.kubeconfig"
run_helper operator "$GS_BIN/gkm-operator" --kubeconfig="$CASE_DIR/operator.kubeconfig" --lease-namespace=gkm-system --identity=operator \
  --health-probe-bind-address=127.0.0.1:8082 --webhook-bind-address=127.0.0.1:9443 --metrics-bind-address=0 --leader-elect
for port in 8081 8082; do eventually "/readyz at $port" 200 curl --silent --output /dev/null --write-out '%{http_code}' "http://127.0.0.1:$port/readyz"; done

step "what is wrong with an image is said of its cache; all others are extracted meanwhile"
for name in "${FAULTS[@]}" cuts-often stalls good; do cache GKMCache "$name" "$name"; done
cache ClusterGKMCache good good
is_extracted good
eventually_like "what is said of it for the cluster" '^Extracted: ' said clustergkmcachenode good
is_extracted cuts-often
is_wrong lies 'what came has the digest sha256:'
is_wrong lies-about-manifest "gkm/lies-about-manifest@$(digest lies-about-manifest) .*what came has the digest sha256:"
is_wrong lies-about-length 'it has [0-9]+ bytes, [0-9]+ were announced'
is_wrong bomb-ratio 'over 100 times as many'
is_wrong bomb-count 'is one more than the 131072 that an image may have'
is_wrong bomb-size 'huge.* has 75161927680 bytes: more than the 68719476736 that an image may have'
is_wrong climbs 'etc/cron.d/x'
is_wrong cuts 'ended after 1000 of|closed|transfer'
cache GKMCache later later
is_extracted later
# What the node has already, by the names of others: who is named has to have given it.
foreign() { # NAME REPOSITORY
  create <<<"{apiVersion: gkm.io/v1alpha1, kind: GKMCache, metadata: {name: $1, annotations: {gkm.io/resolvedDigest: '$(digest good)'}},
    spec: {image: '$2@$(digest good)'}}"
}
foreign of-nobody 127.0.0.1:$PORT/gkm/nobodys
foreign of-a-host-that-is-not-there registry.invalid/trusted/x
is_wrong of-nobody 'gkm/nobodys@'
is_wrong of-a-host-that-is-not-there 'registry.invalid'
eventually "state of the cache that is lied about" "Error 1 0 0 1" shown gkmcache/lies
eventually "state of good" "Extracted 1 0 1 0" shown gkmcache/good
expect_like "what is said of who stands still" '^(Pending|Extracted): ' "$(said gkmcachenode stalls)"
for name in "${FAULTS[@]}"; do
  if [[ -e $STORE/trees/$(digest "$name" | cut -d: -f2) ]]; then fail "there is a tree of $name"; fi
done
note "the agent had at most $(awk '/^VmHWM/ { print int($2 / 1024) }' "/proc/$(<"$CASE_DIR/agent.pid")/status") MiB"

step "the registry is mended: what it was to blame for is extracted, who stood still too; bombs stay what they are"
touch "$CASE_DIR/mended"
for name in cuts lies lies-about-manifest lies-about-length stalls; do is_extracted "$name"; done
for name in bomb-ratio bomb-count bomb-size climbs; do is_wrong $name ''; done
kubectl delete gkmcache bomb-ratio bomb-count bomb-size climbs --wait=false >/dev/null
for name in bomb-ratio bomb-count bomb-size climbs; do eventually "what is said of $name" '' said gkmcachenode $name; done
cache GKMCache climbs climbs # once more: what is told of it becomes a series
is_wrong climbs 'etc/cron.d/x'
kubectl delete gkmcache climbs --wait=false >/dev/null

step "the disk is full: the cache that has no room says so, a small one has; with more room it comes"
mount -o remount,size=$((400 * 1024 * 1024 - $(free_bytes) + 8 * 1024 * 1024)) "$STORE"
cache GKMCache full full
is_wrong full 'No space left on device'
cache GKMCache small small
is_extracted small
eventually "what is left of the attempt" '' ls "$STORE/tmp"
mount -o remount,size=400m "$STORE"
is_extracted full

is_wrong of-nobody 'gkm/nobodys@' # and so it stays, whatever the node has
is_wrong of-a-host-that-is-not-there 'registry.invalid'

step "all of them can be deleted, and nothing is left in the API"
expect_like "/readyz" 'ok' "$(agent_page '/readyz?verbose')"
kubectl delete gkmcaches,clustergkmcaches --all --wait=false >/dev/null
eventually "caches" '' kubectl get gkmcaches,clustergkmcaches -A -o name
eventually "node objects" '' kubectl get gkmcachenodes,clustergkmcachenodes -A -o name

step "what was used is what its role allows"
allowed() {
  { kubectl get clusterrole/gkm-agent -o json; kubectl get role/gkm-trust-policy -n gkm-system -o json; } | jq -r '.rules[]
    | .verbs[] as $verb | .apiGroups[] as $group | .resources[]
    | split("/") as [$resource, $sub] | [$verb, $resource + (if $group == "" then "" else "." + $group end), $sub // "-"] | join(" ")'
}
used() { provider_audit | awk '{ print $1, $2, $3 }' | sort -u; }
allowed | sort -u >"$CASE_DIR/allowed"
used >"$CASE_DIR/used"
expect_output "left: allowed and never used, right: used and not allowed" "" comm -3 "$CASE_DIR/allowed" "$CASE_DIR/used"
