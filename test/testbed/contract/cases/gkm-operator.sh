# shellcheck shell=bash
# Real server only: kubectl apply --server-side of a status, and the audit log of another account.
# gkm-operator with its role: a kernel cache's life as users see it. No agent runs: what one writes on its node is written
# by hand, as kcache/kinds/kinds.h says. Then its webhook, beside a registry that this file brings.

GKM=$REPO/deploy/gkm/base
SCHEDULER_ACCOUNT=system:serviceaccount:gkm-system:gkm-operator
A=sha256:$(printf 'a%.0s' {1..64}) B=sha256:$(printf 'b%.0s' {1..64})

start_operator() { # NAME PORT
  run_helper "$1" "$GS_BIN/gkm-operator" --kubeconfig="$CASE_DIR/operator.kubeconfig" --lease-namespace=gkm-system --identity="$1" \
    --health-probe-bind-address="127.0.0.1:$2" --webhook-bind-address="127.0.0.1:$(($2 + 1000))" --metrics-bind-address=0 --leader-elect --metrics-secure=false --zap-devel
}
kill_helper() { unset "HELPER[$1]"; kill -s KILL "$(<"$CASE_DIR/$1.pid")"; }
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
csi_driver() { kubectl get csidriver csi.gkm.io --ignore-not-found -o json | jq -cS '.spec | {attachRequired, fsGroupPolicy, podInfoOnMount, volumeLifecycleModes}'; }
gone() { kubectl get "$1" --ignore-not-found -o name; }

step "a control plane with the kinds and two nodes, and the operator under its role"
provider_up 2>>"$CASE_DIR/up.log"
install_crds "$REPO/charts/gkm/crds/crds.yaml"
make_node node-a
make_node node-b
kubectl apply -f "$GKM/namespace.yaml" -f "$GKM/config.yaml" -f "$GKM/operator.yaml" -f "$GKM/trust.yaml" >/dev/null
provider_kubeconfig gkm-system gkm-operator >"$CASE_DIR/operator.kubeconfig"
start_operator operator 8081
eventually_like "/readyz" 'role: leader' operator_page 8081 '/readyz?verbose'
eventually "CSIDriver" '{"attachRequired":false,"fsGroupPolicy":"None","podInfoOnMount":true,"volumeLifecycleModes":["Ephemeral","Persistent"]}' csi_driver

step "images are taken as they are written for docker, and nothing else; what other versions know is kept"
image() { echo "{apiVersion: gkm.io/v1alpha1, kind: GKMCache, metadata: {name: $1}, spec: {image: '$2'}}"; }
for good in busybox gkm/a quay.io/gkm/a:b localhost:5000/a "host:5000/a_b/c--d:T.1@$A" '[::1]:5000/a'; do
  image good "$good" | kubectl create --dry-run=server -f - >/dev/null || fail "image $good is refused"
done
for bad in '' Quay.io/A 'a b' 'a:' 'a@sha256:1' '../x' 'a/../b' 'https://quay.io/a' 'a;b'; do
  expect_refused "image '$bad'" 'spec.image' kubectl create --dry-run=server -f - <<<"$(image bad "$bad")"
done
for namespace in a b; do kubectl create namespace $namespace >/dev/null; done # or that they are not there would be why it is Pending
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
# Put right within a minute, meanwhile.
kubectl patch csidriver csi.gkm.io --type=merge -p '{"spec": {"fsGroupPolicy": "File"}}' >/dev/null
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
kill_helper operator
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
eventually "its fsGroupPolicy" None field csidriver/csi.gkm.io .spec.fsGroupPolicy
# As an older version made it; looked at in the end, for the operator takes up to a minute.
kubectl delete csidriver csi.gkm.io >/dev/null
kubectl create -f - >/dev/null <<<"{apiVersion: storage.k8s.io/v1, kind: CSIDriver, metadata: {name: csi.gkm.io}, spec: {attachRequired: false, podInfoOnMount: true, fsGroupPolicy: None, volumeLifecycleModes: [Ephemeral]}}"

step "a cache that asks for it has a claim and a volume, until it asks no more"
kubectl create -f - >/dev/null <<<"{apiVersion: gkm.io/v1alpha1, kind: GKMCache, metadata: {name: claimed}, spec: {image: 'quay.io/gkm/a:b', pvc: true}}"
staying() { # of volumes and claims
  kubectl get persistentvolumes,persistentvolumeclaims -A -l gkm.io/managed=true -o json | jq '[.items[] | select(.metadata.deletionTimestamp == null)] | length'
}
eventually "claim and volume" 2 staying
expect_like "the claim's volume" '^gkmcache-default-claimed-' "$(field persistentvolumeclaim/claimed .spec.volumeName)"
# By the operator: of a cache that is deleted the garbage collector may take the claim first.
kubectl patch gkmcache claimed --type=merge -p '{"spec": {"pvc": false}}' >/dev/null
eventually "claim and volume of a cache that asks for none" 0 staying
# No controller runs here that would let go of what nobody uses.
let_go() {
  local left
  for left in $(kubectl get persistentvolumes,persistentvolumeclaims -l gkm.io/managed=true -o name); do
    kubectl patch "$left" --type=merge -p '{"metadata": {"finalizers": []}}' >/dev/null 2>>"$CASE_DIR/kubectl.log" || true # it may be gone by now
    echo "$left"
  done
}
eventually "what is left of claim and volume" "" let_go
kubectl delete gkmcache claimed >/dev/null

step "the webhook makes its certificate and its key, and is trusted"
REGISTRY=localhost:5001
# Where the API server asks: no kubelet runs the Service's pods.
sed 's/^  selector: .*/  type: ExternalName\n  externalName: localhost/; s/port: 443, targetPort: webhook-server/port: 9082/; s/port: 443}/port: 9082}/' "$GKM/webhook.yaml" |
  kubectl apply -f - >/dev/null
expect "webhooks that are asked" "z-mgkmcache.kb.io z-mclustergkmcache.kb.io z-vgkmcache.kb.io z-vclustergkmcache.kb.io" \
  "$(kubectl get mutatingwebhookconfigurations,validatingwebhookconfigurations -o json | jq -r '[.items[].webhooks[].name] | join(" ")')"
trusting() {
  kubectl get mutatingwebhookconfigurations,validatingwebhookconfigurations -o json | jq -r '[.items[].webhooks[].clientConfig.caBundle // "" | length > 0] | all'
}
eventually "trust of the API server" true trusting
expect "keys of the secret" "ca.crt tls.crt tls.key" "$(kubectl get -n gkm-system secret webhook-server-cert -o json | jq -r '.data | keys | join(" ")')"
expect "bytes of the key" 44 "$(kubectl get -n gkm-system secret gkm-webhook-key -o jsonpath='{.data.MUTATION_SIGNING_KEY}' | base64 -d | wc -c)"
eventually_like "/readyz" 'signing key: ok' operator_page 8082 '/readyz?verbose'

step "while the registry is away no cache is made, and says why"
hooked() { echo "{apiVersion: gkm.io/v1alpha1, kind: ${3:-GKMCache}, metadata: {name: $1, annotations: {note: mine}}, spec: {image: '$2'}}"; }
make() { hooked "$@" | kubectl create -f -; }
made() { make "$@" 2>&1 || true; } # it may be refused for a moment; what is said is compared
RESOLVING="image digest resolution failed for '$REGISTRY/gkm/a:v1': "
eventually_like "what is said" "$RESOLVING" made hooked $REGISTRY/gkm/a:v1
expect "the cache" "" "$(gone gkmcache/hooked)"

step "an image is resolved once, and its digest marked"
cat >"$CASE_DIR/registry.py" <<'PYTHON'
import http.server, sys
TEXT = b'{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json"}'
class Registry(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        is_manifest = self.path.endswith("/manifests/v1")
        body = TEXT if is_manifest else b"{}"
        self.send_response(200 if is_manifest or self.path == "/v2/" else 404)
        self.send_header("Content-Type", "application/vnd.oci.image.manifest.v1+json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)
    do_HEAD = do_GET
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Registry).serve_forever()
PYTHON
RESOLVED=sha256:$(printf %s '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json"}' | sha256sum | cut -d' ' -f1)
run_helper registry python3 "$CASE_DIR/registry.py" 5001
eventually_like "what is said" 'created|already exists' made hooked $REGISTRY/gkm/a:v1
annotation() { kubectl get "$1" -o json | jq -r --arg key "$2" '.metadata.annotations[$key] // ""'; }
expect "digest" "$RESOLVED" "$(annotation gkmcache/hooked gkm.io/resolvedDigest)"
expect_like "its mark" '^[A-Za-z0-9+/]{43}=$' "$(annotation gkmcache/hooked gkm.io/mutationSig)"
expect "what was there" mine "$(annotation gkmcache/hooked note)"
eventually "state of hooked" "Pending 0 0 0 0 0 0" shown gkmcache/hooked
expect "finalizers of hooked" '["gkm.io.gkmcachenode/finalizer"]' "$(finalizers gkmcache/hooked)"
kubectl patch gkmcache hooked --type=merge -p '{"spec": {"image": "'$REGISTRY/gkm/b:v1'"}}' >/dev/null # the same digest
expect "digest" "$RESOLVED" "$(annotation gkmcache/hooked gkm.io/resolvedDigest)"
hooked hooked $REGISTRY/gkm/b:v1 | kubectl replace -f - >/dev/null
expect "digest after a replacement without it" "$RESOLVED" "$(annotation gkmcache/hooked gkm.io/resolvedDigest)"
eventually "finalizers after that" '["gkm.io.gkmcachenode/finalizer"]' finalizers gkmcache/hooked

step "nobody forges a digest, and nothing unsigned is for the whole cluster"
expect_refused "another digest" 'gkm.io/resolvedDigest is immutable when spec.image is unchanged' \
  kubectl annotate gkmcache hooked --overwrite gkm.io/resolvedDigest=$B
cache GKMCache forged $B | sed "s,image: [^}]*,image: '$REGISTRY/gkm/a:v1'," | create
expect "digest of a cache that came with one" "$RESOLVED" "$(annotation gkmcache/forged gkm.io/resolvedDigest)"
kubectl delete gkmcache forged >/dev/null
expect_refused "a ClusterGKMCache" "image signature verification failed for '$REGISTRY/gkm/a:v1': nothing unsigned is mounted cluster-wide" \
  make wide $REGISTRY/gkm/a:v1 ClusterGKMCache

step "a certificate that is spoilt is made anew, and trusted"
kubectl patch -n gkm-system secret webhook-server-cert -p '{"data": {"tls.crt": "bm9uc2Vuc2U="}}' >/dev/null 2>&1 # it warns that this is no PEM
mended() { kubectl get -n gkm-system secret webhook-server-cert -o jsonpath='{.data.tls\.crt}' | base64 -d | head -n 1; }
eventually "the certificate" "-----BEGIN CERTIFICATE-----" mended
eventually_like "what is said" 'created|already exists' made another $REGISTRY/gkm/a:v1

step "the CSIDriver of an older version was made anew"
eventually "CSIDriver" '{"attachRequired":false,"fsGroupPolicy":"None","podInfoOnMount":true,"volumeLifecycleModes":["Ephemeral","Persistent"]}' csi_driver

step "without the registry, and without the operator, all but images can be changed"
kill_helper registry
kubectl label gkmcache hooked note=mine >/dev/null
kubectl patch gkmcache hooked --type=json -p '[{"op": "add", "path": "/metadata/finalizers/-", "value": "example.com/mine"}]' >/dev/null
kubectl delete gkmcache another >/dev/null
newer() { kubectl patch gkmcache hooked --type=merge -p '{"spec": {"image": "'$REGISTRY/gkm/a:v2'"}}'; }
expect_refused "another image" "image digest resolution failed for '$REGISTRY/gkm/a:v2': " newer
eventually_like "caches in /metrics" 'gkm_operator_node_objects [0-9]' operator_page 8082 /metrics
expect_like "resolved images in /metrics" 'gkm_operator_resolves_total\{result="resolved"\} [1-9]' "$(operator_page 8082 /metrics)"
end_helper second
expect_refused "another image" 'failed calling webhook' newer
kubectl delete gkmcache hooked --wait=false >/dev/null
kubectl patch gkmcache hooked --type=merge -p '{"metadata": {"finalizers": []}}' >/dev/null
expect "what is left of hooked" "" "$(gone gkmcache/hooked)"

step "what was used is what its role allows"
allowed() {
  kubectl get clusterrole/gkm-operator -o json | jq -r '.rules[] | .verbs[] as $verb | .apiGroups[] as $group | .resources[]
    | split("/") as [$resource, $sub] | [$verb, $resource + (if $group == "" then "" else "." + $group end), $sub // "-"] | join(" ")'
  kubectl get role/gkm-operator role/gkm-trust-policy -n gkm-system -o json | jq -r '.items[].rules[] | .verbs[] as $verb | .apiGroups[] as $group | .resources[] | [$verb, . + (if $group == "" then "" else "." + $group end), "-"] | join(" ")'
}
used() { provider_audit | awk '{ print $1, $2, $3 }' | sort -u; }
allowed | sort -u >"$CASE_DIR/allowed"
used >"$CASE_DIR/used"
expect_output "left: allowed and never used, right: used and not allowed" "" comm -3 "$CASE_DIR/allowed" "$CASE_DIR/used"
