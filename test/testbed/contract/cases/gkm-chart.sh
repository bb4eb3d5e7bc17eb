# shellcheck shell=bash
# Real server only: admission policies, and custom resources of other projects; kwok plays the nodes.
# Needs: kube-scheduler kwok helm crds
# How GKM is installed: each set of values that charts/gkm/ci has makes objects that the API server takes; values that nobody reads
# are refused with their names; deploy/gkm is what the chart makes; the make targets put all of it into a cluster and out
# of it, by tools/gkm-deploy.

CHART=$REPO/charts/gkm
NAMESPACE=gkm-system
render() { helm template gkm "$CHART" --namespace $NAMESPACE --kube-version 1.33.13 "$@"; }
kinds_of() { render --no-hooks "$@" | sed -n 's/^kind: //p' | sort -u | xargs; }
# What the server says of objects that it does not take; nothing is what is wanted.
dry_run() { kubectl apply --dry-run=server -f - 2>&1 | { grep -v ' (server dry run)$' || true; }; } # nothing else is said where all is well
taken() { render "$@" | dry_run; }
refused() { render --set "$1" 2>&1 >/dev/null; }
# value PATH-OF-JQ [HELM-OPTION...]: of all objects.
value() { render "${@:2}" | kubectl create --dry-run=client --validate=false -o json -f - | jq -rs "[.[] | $1] | join(\" \")"; }
container_of_kind() { value "select(.kind == \"$1\" and .metadata.name == \"$2\").spec.template.spec.containers[] | $3" "${@:4}"; }
# The script and what it reads, where it may write. FORCE and others are variables.
gkm() { "$CASE_DIR/tree/tools/gkm-deploy" "$@" >>"$CASE_DIR/gkm-deploy.log" 2>&1; }
gkm_says() { "$CASE_DIR/tree/tools/gkm-deploy" "$@" 2>&1; }

step "the API server takes what each set of values makes"
provider_up --kwok --kube-scheduler 2>>"$CASE_DIR/up.log"
crds=$(foreign_crds)
kubectl apply --server-side -f "$crds/cert-manager.io_certificates.yaml" -f "$crds/cert-manager.io_issuers.yaml" \
  -f "$crds/monitoring.coreos.com_podmonitors.yaml" >/dev/null
for name in certificates.cert-manager.io issuers.cert-manager.io podmonitors.monitoring.coreos.com; do eventually_served $name; done
kubectl create --save-config namespace $NAMESPACE >/dev/null
helm lint --quiet "$CHART" >/dev/null
expect_output "what is wrong with the default values" "" taken --no-hooks
sets=("$CHART"/ci/*-values.yaml)
for set in "${sets[@]}"; do
  expect_output "what is wrong with $(basename "$set")" "" taken --no-hooks -f "$set"
done
note "${#sets[@]} sets of values"
helm install gkm "$CHART" -n $NAMESPACE --dry-run=server >"$CASE_DIR/install.log"
expect "objects of the default values" "ClusterRole ClusterRoleBinding ConfigMap DaemonSet Deployment MutatingWebhookConfiguration NetworkPolicy Role\
 RoleBinding Service ServiceAccount ValidatingWebhookConfiguration" "$(kinds_of)"
expect "objects of those that switch off all" "ClusterRole ClusterRoleBinding ConfigMap DaemonSet Deployment Role RoleBinding ServiceAccount" \
  "$(kinds_of -f "$CHART/ci/bare-values.yaml")"

expect "the policy" "quay.io/gkm/**" "$(value 'select(.metadata.name == "gkm-trust-policy" and .kind == "ConfigMap").data["policy.yaml"]' -f "$CHART/ci/full-values.yaml" | sed -n 's/^- images: *//; s/^  - //p' | head -n 1)"

step "what the schema lets a name or a label be, the API takes"
odd_taken() { "$TESTBED/chart-oddities" odd gkm "$1" --namespace $NAMESPACE --kube-version 1.33.13 --set metrics.podMonitor.enabled=true,webhook.certs.mode=cert-manager,pullSecrets.everywhere=true 2>>"$CASE_DIR/odd.log" | dry_run; }
for text in A_b a..b 'a b' a/b "$(printf 'a%.0s' {1..64})" 1; do # 1: a number where nobody quotes it
  expect_output "what is wrong with '$text' in all places" "" odd_taken "$text"
done

step "values that nobody reads, or that contradict each other, are refused"
expect_like "agnet.image" "additional properties 'agnet' not allowed" "$(refused agnet.image.tag=x)"
expect_like "agent.cacheQuote" "additional properties 'cacheQuote' not allowed" "$(refused agent.cacheQuote=1Gi)"
expect_like "agent.cacheQuota" "/agent/cacheQuota" "$(refused agent.cacheQuota=200GB)"
expect_like "csi.incompatible" "'/csi/incompatible': value must be one of 'warn', 'refuse'" "$(refused csi.incompatible=deny)"
expect_like "csi.kubeletDir" "/csi/kubeletDir" "$(refused csi.kubeletDir=var/lib/kubelet)"
expect_like "webhook.certs.mode" "'/webhook/certs/mode': value must be one of 'auto', 'cert-manager'" "$(refused webhook.certs.mode=secret)"
expect_like "operator.logLevel" "'/operator/logLevel': value must be one of 'info', 'debug', 'trace'" "$(refused operator.logLevel=warn)"
expect_like "noGpu" "'/noGpu': got string, want boolean" "$(refused noGpu=yes)"
expect_like "a class that none can be" "'/agent/priorityClassName': 'A_b' does not match pattern" "$(refused agent.priorityClassName=A_b)"
expect_like "a digest that is none" "/image/digest" "$(refused image.digest=sha256:1)"
expect_like "a label of the chart's" "podLabels has role, which the chart sets itself" "$(refused podLabels.role=mine)"
expect_like "GPUs that nobody looks at" 'noGpu=true with agent.simulate' "$(refused noGpu=true,agent.simulate=x)"
expect_like "two sources of GPUs" 'agent.nvmlLibrary with agent.simulate' "$(refused agent.nvmlLibrary=/a/b,agent.simulate=x)"
expect_like "an issuer without a name" 'webhook.certs.issuerRef has no name' "$(refused webhook.certs.mode=cert-manager,webhook.certs.issuerRef.kind=Issuer)"
expect_like "an issuer that nobody asks" 'webhook.certs.issuerRef is for webhook.certs.mode=cert-manager' "$(refused webhook.certs.issuerRef.name=mine)"
expect_like "roots without a policy" 'trust.trustedRoots without trust.policy' "$(refused 'trust.trustedRoots.a=b')"
expect_like "Kyverno without webhooks" 'kyverno.enabled=true with webhook.enabled=false' "$(refused kyverno.enabled=true,webhook.enabled=false)"

# What values.yaml leaves empty, {}, is said by the schema alone.
values() { { printf '%s\n' 'apiVersion: v1' 'kind: ConfigMap' 'metadata: {name: x}' 'values:' && sed 's/^/  /' "$CHART/values.yaml"; } | kubectl create --dry-run=client --validate=false -o json -f - | jq .values; }
without_default() {
  jq -r --argjson values "$(values)" 'def names($of): .properties // {} | to_entries[] | ($of + [.key]) as $path | $path, (.value | names($path));
    names([]) | select(. != ["global"] and (. as $path | $values | getpath($path[:-1]) != {} and getpath($path) == null)) | join(".")' "$CHART/values.schema.json"
}
expect_output "what the schema takes and values.yaml does not show" "" without_default

step "rights: the CSI driver alone is privileged, and has none at the API server"
expect "privileged" "gkm-csi-node" "$(value 'select(.spec.template.spec.containers[]?.securityContext.privileged == true).metadata.name')"
for each in Deployment/gkm-operator DaemonSet/gkm-agent; do
  expect "capabilities of $each" '{"drop":["ALL"]} false true' \
    "$(container_of_kind "${each%/*}" "${each#*/}" '.securityContext | (.capabilities | tojson), (.allowPrivilegeEscalation | tostring), (.readOnlyRootFilesystem | tostring)')"
done
expect "who is root" "gkm-agent gkm-csi-node" "$(value 'select(.spec.template.spec.containers[]?.securityContext.runAsUser == 0).metadata.name')"
expect "mounts both ways" "gkm-csi-node/pods" \
  "$(value 'select(.kind == "DaemonSet") | .metadata.name as $name | .spec.template.spec.containers[].volumeMounts[] | select(.mountPropagation == "Bidirectional") | $name + "/" + .name')"
expect "the CSI driver's store" "true" "$(container_of_kind DaemonSet gkm-csi-node '.volumeMounts[] | select(.name == "store").readOnly')"
expect "who has a token of the CSI driver's account" "false" "$(value 'select(.kind == "DaemonSet" and .metadata.name == "gkm-csi-node").spec.template.spec.automountServiceAccountToken')"
expect "who has rights" "gkm-agent gkm-operator" "$(value 'select(.kind == "ClusterRoleBinding" or .kind == "RoleBinding").subjects[].name' | tr ' ' '\n' | sort -u | xargs)"
expect "objects to which there are rights by name" "csi.gkm.io gkm-mutating-webhook-configuration gkm-trust-policy gkm-validating-webhook-configuration gkm-webhook-key webhook-server-cert" \
  "$(value '.rules[]?.resourceNames[]?' | tr ' ' '\n' | grep . | sort -u | xargs)"
expect "rights to Secrets with cert-manager" "gkm-webhook-key" "$(value '.rules[]? | select(.resources // [] | index("secrets")).resourceNames[]?' --set webhook.certs.mode=cert-manager)"

step "who may view or edit a namespace may view or make its caches; Secrets of caches are read where somebody says so"
for each in view:gkm-gkmcache-viewer edit:gkm-gkmcache-editor view:gkm-clustergkmcache-viewer edit:gkm-clustergkmcache-editor; do
  expect "to whom ${each#*:} is given" true "$(value "select(.metadata.name == \"${each#*:}\").metadata.labels[\"rbac.authorization.k8s.io/aggregate-to-${each%:*}\"]")"
done
expect "who has the role of pull secrets" "" "$(value 'select(.roleRef.name == "gkm-pull-secrets").kind')"
expect "who has it in two namespaces" "RoleBinding/a RoleBinding/b" "$(value 'select(.roleRef.name == "gkm-pull-secrets") | .kind + "/" + .metadata.namespace' --set 'pullSecrets.namespaces={a,b}')"
expect "who has it everywhere" "ClusterRoleBinding gkm-agent gkm-operator" "$(value 'select(.roleRef.name == "gkm-pull-secrets") | .kind, .subjects[].name' --set pullSecrets.everywhere=true)"

step "what kind and the guide's images make of it"
expect "where nodes' programs run on kind" 'gpu gpu' "$(value 'select(.kind == "DaemonSet").spec.template.spec.nodeSelector["hardware-type"]' -f "$CHART/ci/kind-values.yaml")"
expect "the guide's images" "quay.io/gkm/agent:latest quay.io/gkm/gkm-csi-plugin:latest quay.io/gkm/operator:latest" \
  "$(value '.spec.template.spec.containers[]?.image' -f "$CHART/ci/guide-images-values.yaml" | tr ' ' '\n' | sort | xargs)"
DIGEST=sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
expect "images with a digest" "gkm:0.1.0@$DIGEST gkm:0.1.0@$DIGEST quay.io/gkm/agent:0.1.0" \
  "$(value '.spec.template.spec.containers[]?.image' --set image.digest=$DIGEST,agent.image.repository=quay.io/gkm/agent | tr ' ' '\n' | sort | xargs)"
expect "what gkm-config says of them" "quay.io/gkm/agent:0.1.0 gkm:0.1.0@$DIGEST" \
  "$(value 'select(.kind == "ConfigMap" and .metadata.name == "gkm-config").data | .["gkm.agent.image"], .["gkm.csi.image"]' --set image.digest=$DIGEST,agent.image.repository=quay.io/gkm/agent)"
expect "a digest of one's own" "gkm:0.1.0@$DIGEST" "$(container_of_kind DaemonSet gkm-csi-node .image --set csi.image.digest=$DIGEST)"
expect "pods with a label of the user's" "gkm-agent gkm-csi-node gkm-operator" \
  "$(value 'select(.spec.template.metadata.labels["example.com/team"] == "ml").metadata.name' -f "$CHART/ci/full-values.yaml" | tr ' ' '\n' | sort | xargs)"
expect "the keys of gkm-config" "gkm.agent.image gkm.agent.log.level gkm.csi.image gkm.csi.log.level gkm.kyverno.enabled gkm.nogpu gkm.operator.log.level" \
  "$(value 'select(.kind == "ConfigMap").data | keys[]')"
expect "where the operator has kyverno.enabled from" gkm.kyverno.enabled \
  "$(container_of_kind Deployment gkm-operator '.env[] | select(.name == "KYVERNO_VERIFICATION_ENABLED").valueFrom.configMapKeyRef.key')"
expect "what stands there" '"true"' "$(value 'select(.kind == "ConfigMap" and .metadata.name == "gkm-config").data["gkm.kyverno.enabled"] | tojson' --set kyverno.enabled=true)"
expect "the kubelet's folder of k0s" "unix:///var/lib/k0s/kubelet/plugins_registry/csi.gkm.io-reg.sock" \
  "$(container_of_kind DaemonSet gkm-csi-node '.args[] | select(startswith("--endpoint=")) | ltrimstr("--endpoint=")' -f "$CHART/ci/full-values.yaml")"

step "deploy/gkm/base is what the chart makes; the overlays of kustomize, too, are taken"
HELM=helm "$REPO/deploy/gkm/render" --check >"$CASE_DIR/render.log" 2>&1 || fail "$(<"$CASE_DIR/render.log")"
objects() { kubectl create --dry-run=client --validate=false -o json -f - | jq -rs '[.[] | .kind + "/" + .metadata.name] | sort | join(" ")'; }
without_kustomize() { tr ' ' '\n' | grep -v '^CustomResourceDefinition/\|^Namespace/\|^Pod/' | xargs; }
expect "objects of overlay kind-gpu" "$(render --no-hooks | objects)" "$(kubectl kustomize "$REPO/deploy/gkm/overlays/kind-gpu" | objects | without_kustomize)"
for overlay in default kind-gpu; do
  expect_output "what is wrong with overlay $overlay" "" eval "kubectl kustomize '$REPO/deploy/gkm/overlays/$overlay' | dry_run"
done
expect "what overlay no-gpu makes other" '> gkm.nogpu: "true"' \
  "$(diff <(kubectl kustomize "$REPO/deploy/gkm/overlays/default") <(kubectl kustomize "$REPO/deploy/gkm/overlays/no-gpu") | grep '^>' | xargs -0 | words)"
kubectl delete namespace $NAMESPACE >/dev/null

step "make deploy: all parts run; until an operator answers, nobody makes a cache that was not looked at"
for node in node-a node-b; do
  kubectl create -f - >/dev/null <<<"{apiVersion: v1, kind: Node, metadata: {name: $node, labels: {type: kwok, kubernetes.io/os: linux, gkm-test-node: 'true'}}}"
done
mkdir -p "$CASE_DIR/tree/tools" "$CASE_DIR/tree/charts/gkm"
cp "$REPO/tools/gkm-deploy" "$CASE_DIR/tree/tools/"
cp -r "$REPO/charts/gkm/crds" "$CASE_DIR/tree/charts/gkm/"
cp -r "$REPO/deploy" "$REPO/examples" "$CASE_DIR/tree/"
export QUAY_USER=me IMAGE_TAG=v1
gkm deploy || fail "$(tail -n 5 "$CASE_DIR/gkm-deploy.log")"
pods() { kubectl get pods -n $NAMESPACE -o json | jq -r '[.items[] | .metadata.ownerReferences[0].name[0:12] + "=" + .spec.containers[0].image + "=" + .status.phase] | sort | unique | join(" ")'; }
eventually "pods" "gkm-agent=quay.io/me/agent:v1=Running gkm-csi-node=quay.io/me/gkm-csi-plugin:v1=Running gkm-operator=quay.io/me/operator:v1=Running" pods
expect "agents" 2 "$(kubectl get pods -n $NAMESPACE -l app=gkm-agent -o name | wc -l)"
expect "the image in gkm-config" quay.io/me/agent:v1 "$(field configmap/gkm-config '.data.gkm\.agent\.image' -n $NAMESPACE)"
kubectl create rolebinding alice --clusterrole=edit --user=alice >/dev/null
kubectl create rolebinding bob --clusterrole=view --user=bob >/dev/null
may() { kubectl auth can-i --as="$1" "${@:2}" 2>/dev/null || true; } # it fails where it says no; what it says is compared
eventually "an editor makes caches" yes may alice create gkmcaches.gkm.io # once a controller has put the roles together
eventually "a viewer sees them" yes may bob list gkmcaches.gkm.io
expect "a viewer makes caches" no "$(may bob create gkmcaches.gkm.io)"
expect "an editor writes what nodes have" no "$(may alice patch gkmcachenodes.gkm.io --subresource=status)"
cache='{apiVersion: gkm.io/v1alpha1, kind: GKMCache, metadata: {name: one}, spec: {image: quay.io/gkm/cache-examples:vector-add-cache-rocm}}'
refused_cache() { kubectl create -f - <<<"$cache"; }
expect_refused "a cache that nobody looks at" 'failed calling webhook "z-mgkmcache.kb.io"' refused_cache

step "again, with other settings: what somebody wrote into the webhook configurations stays, and pods start anew"
kubectl patch mutatingwebhookconfiguration gkm-mutating-webhook-configuration --type=json \
  -p '[{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": "'"$(base64 -w 0 "$CASE_DIR/cluster/pki/ca.crt")"'"}]' >/dev/null
generation() { field daemonset/gkm-agent .metadata.generation -n $NAMESPACE; }
expect_output "generation of the agent" 1 generation
NO_GPU=true gkm deploy || fail "$(tail -n 5 "$CASE_DIR/gkm-deploy.log")"
expect_output "generation of the agent" 2 generation
expect "gkm.nogpu" true "$(field configmap/gkm-config '.data.gkm\.nogpu' -n $NAMESPACE)"
expect_like "caBundle" '^LS0' "$(field mutatingwebhookconfiguration/gkm-mutating-webhook-configuration '.webhooks[0].clientConfig.caBundle')"
NO_GPU=true gkm redeploy || fail "$(tail -n 5 "$CASE_DIR/gkm-deploy.log")"
expect_output "generation of the agent" 3 generation

step "make build-installer: one file, which kubectl apply takes"
IMG=quay.io/me/all:v2 gkm build-installer || fail "$(tail -n 5 "$CASE_DIR/gkm-deploy.log")"
kubectl apply -f "$CASE_DIR/tree/dist/install.yaml" >/dev/null 2>>"$CASE_DIR/kubectl.log"
expect "its image" "quay.io/me/all:v2" "$(field daemonset/gkm-csi-node '.spec.template.spec.containers[0].image' -n $NAMESPACE)"

step "make deploy-examples, and undeploy refuses while they are there"
kubectl delete mutatingwebhookconfiguration,validatingwebhookconfiguration --all >/dev/null # nobody answers here
gkm deploy-examples || fail "$(tail -n 5 "$CASE_DIR/gkm-deploy.log")"
running() { kubectl get pods -A -o json | jq -r '[.items[] | select(.metadata.name | startswith("gkm-test-pod")) | .status.phase] | "\(length) \(unique | join(" "))"'; }
eventually "test pods" "9 Running" running
for name in gkmcache/vector-add-cache-rocm-1 clustergkmcache/vector-add-cache-rocm; do # as the operator does
  kubectl patch "$name" -n gkm-test-ns-scoped-1 --type=merge -p '{"metadata": {"finalizers": ["gkm.io.gkmcachenode/finalizer"]}}' >/dev/null
done
expect_refused "undeploy" 'GKMCache gkm-test-ns-scoped-2/vector-add-cache-rocm-1.*ClusterGKMCache vector-add-cache-rocm.*Pod gkm-test-cl-scoped/gkm-test-pod-3' gkm_says undeploy
expect "agents by then" 2 "$(kubectl get pods -n $NAMESPACE -l app=gkm-agent -o name | wc -l)"

step "FORCE=1: caches that do not go lose their finalizers, and all of GKM is gone"
kubectl create -f - >/dev/null <<<"{apiVersion: gkm.io/v1alpha1, kind: GKMCacheNode, metadata: {name: node-a, namespace: gkm-test-ns-scoped-2, finalizers: [gkm.io.gone/finalizer]}}"
kubectl create -f - >/dev/null <<<"{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: theirs, namespace: default, labels: {gkm.io/managed: 'true'}}, spec: {accessModes: [ReadOnlyMany], storageClassName: '', resources: {requests: {storage: 1Mi}}}}"
kubectl create -f - >/dev/null <<<"{apiVersion: v1, kind: PersistentVolume, metadata: {name: theirs, labels: {gkm.io/managed: 'true'}}, spec: {accessModes: [ReadOnlyMany], capacity: {storage: 1Mi}, storageClassName: '', hostPath: {path: /tmp}}}"
FORCE=1 FORCE_SECONDS=2 gkm undeploy || fail "$(tail -n 5 "$CASE_DIR/gkm-deploy.log")"
expect_output "what is left" "" eval "kubectl get crd,mutatingwebhookconfiguration,validatingwebhookconfiguration,clusterrole,clusterrolebinding,namespace -o name | grep 'gkm\.io\|/gkm-[^t]' || true" # nothing, where nothing is left
expect "what somebody else gave the operator's label" "default " "$(kubectl get persistentvolumeclaim,persistentvolume -A -o json | jq -r '[.items[] | select(.metadata.name == "theirs" and .metadata.deletionTimestamp == null) | .metadata.namespace] | join(" ")')"
gkm undeploy-examples || true # their kinds are gone, and are said
expect_refused "undeploy of nothing, where it would still be refused" 'no|NotFound' kubectl get namespace gkm-system
gkm undeploy || fail "a second undeploy: $(tail -n 5 "$CASE_DIR/gkm-deploy.log")"
