# shellcheck shell=bash
# Real server only: admission policies, and custom resources of other projects.
# Needs: helm crds
# Both charts, without nodes: each set of values that charts/*/ci/ has makes objects that the API server takes; values that
# nobody reads are refused with their names; the CRDs are brought up to date without harm to what is on them.

CHART=$REPO/charts/gpu-scheduler
# shellcheck source=../guides.sh
source "$CONTRACT/guides.sh"
# Helm says each time that templates/crds.yaml is a link.
quietly() { "$@" 2> >(grep -v 'found symbolic link in path' >&2); }
render() { quietly helm template gpu-scheduler "$CHART" --kube-version 1.33.13 "$@"; }
# of_check COMMAND...: the same of the check chart.
of_check() { CHART=$CHART-check "$@"; }
# taken VALUES...: what the server says of objects that it does not take.
taken() { render "$@" | kubectl apply --dry-run=server -f - 2>&1 | grep -v ' (server dry run)$' || true; } # nothing is what is wanted
refused() { render --set "$1" 2>&1 >/dev/null; }

step "the API server takes what each set of values makes"
provider_up 2>>"$CASE_DIR/up.log"
install_crds "$CRDS"
crds=$(foreign_crds)
kubectl apply --server-side -f "$crds/cert-manager.io_certificates.yaml" -f "$crds/cert-manager.io_issuers.yaml" \
  -f "$crds/monitoring.coreos.com_servicemonitors.yaml" -f "$crds/monitoring.coreos.com_podmonitors.yaml" >/dev/null
for name in certificates.cert-manager.io issuers.cert-manager.io servicemonitors.monitoring.coreos.com podmonitors.monitoring.coreos.com; do
  eventually_served $name
done
quietly helm lint "$CHART" >/dev/null
eventually "what is wrong with the default values" "" taken
sets=("$CHART"/ci/*-values.yaml)
for set in "${sets[@]}"; do
  quietly helm lint --quiet "$CHART" -f "$set" >/dev/null
  expect "what is wrong with $(basename "$set")" "" "$(taken -f "$set")"
done
note "${#sets[@]} sets of values"
of_check quietly helm lint "$CHART-check" >/dev/null
# Of a pod, such as the one of helm test, the server wants to see the account.
for name in gpu-scheduler-gpu-scheduler-check somebody; do kubectl create --save-config serviceaccount "$name" >/dev/null; done
expect "what is wrong with the check chart's default values" "" "$(of_check taken)"
sets=("$CHART"-check/ci/*-values.yaml)
for set in "${sets[@]}"; do
  quietly helm lint --quiet "$CHART-check" -f "$set" >/dev/null
  expect "what is wrong with $(basename "$set")" "" "$(of_check taken -f "$set")"
done
note "${#sets[@]} of the check chart"
expect "objects of its default values" "NetworkPolicy Service ServiceAccount StatefulSet" \
  "$(of_check render --no-hooks | sed -n 's/^kind: //p' | sort -u | tr '\n' ' ' | sed 's/ $//')"
expect "objects of the default values" "ClusterRole ClusterRoleBinding DaemonSet Deployment MutatingWebhookConfiguration NetworkPolicy\
 PodDisruptionBudget Role RoleBinding Service ServiceAccount ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration" \
  "$(render --no-hooks | sed -n 's/^kind: //p' | sort -u | tr '\n' ' ' | sed 's/ $//')"

step "values that nobody reads, or that contradict each other, are refused"
expect_like "webhok.enabled" "additional properties 'webhok' not allowed" "$(refused webhok.enabled=true)"
expect_like "webhook.cert.mode" "additional properties 'cert' not allowed" "$(refused webhook.cert.mode=auto)"
expect_like "scheduler.mode=extender" "'/scheduler/mode': value must be one of 'own', 'kube-scheduler', 'both'" "$(refused scheduler.mode=extender)"
expect_like "replicaCount=two" "'/replicaCount': got string, want integer" "$(refused replicaCount=two)"
expect_like "secret without a CA" 'webhook.certs.mode=secret needs webhook.caBundle' "$(refused webhook.certs.mode=secret)"
expect_like "auto with a CA" 'webhook.caBundle is for a certificate of yours' "$(refused webhook.certs.mode=auto,webhook.caBundle=YQ==)"
expect_like "an account of nobody" 'serviceAccount.name is needed' "$(refused serviceAccount.create=false)"
expect_like "replicaCont=1" "additional properties 'replicaCont' not allowed" "$(of_check refused replicaCont=1)"
expect_like "a row without its node" "missing properties 'nodeName', 'gpuDevices'" "$(of_check refused 'gpuScheduling.schedulingMap[0].podIndex=0')"
expect_like "ids that are none" "'all' does not match pattern" \
  "$(of_check refused 'gpuScheduling.schedulingMap[0].podIndex=0,gpuScheduling.schedulingMap[0].nodeName=a,gpuScheduling.schedulingMap[0].gpuDevices=all')"
two='gpuScheduling.schedulingMap=[{"podIndex": 3, "nodeName": "a", "gpuDevices": "0"}, {"podIndex": 3, "nodeName": "b", "gpuDevices": "1"}]'
expect_like "two rows for one pod" 'schedulingMap has podIndex 3 twice; give each pod one row' "$(of_check render --set-json "$two" 2>&1 >/dev/null || true)"

step "the chart guide's commands that need no node"
follow chart "$CHART"

step "what the guides' values mean"
# value PATH-OF-JQ VALUES...: of all objects.
value() { render "${@:2}" | kubectl create --dry-run=client --validate=false -o json -f - | jq -rs "[.[] | $1] | join(\" \")"; }
CA=YQ==
expect "containers of the scheduler's pod with a CA" "scheduler webhook" \
  "$(value 'select(.kind == "Deployment").spec.template.spec.containers[].name' --set "webhook.caBundle=$CA")"
expect "its Secret" gpu-scheduler-webhook-tls "$(value 'select(.kind == "Deployment").spec.template.spec.volumes[]?.secret.secretName' --set "webhook.caBundle=$CA")"
expect "who is trusted" "$CA $CA" "$(value '.webhooks[]?.clientConfig.caBundle // empty' --set "webhook.caBundle=$CA")"
expect "failure policies" "Fail Ignore" "$(value '.webhooks[]?.failurePolicy' --set webhook.failurePolicy=Fail)"
expect "rights to Secrets with a certificate of one's own" "" \
  "$(value '.rules[]? | select(.resources // [] | index("secrets")) | .verbs[]' --set "webhook.caBundle=$CA")"
expect "schedulerNames in mode both" "--scheduler-names=gpu-scheduler,gpu-kube" \
  "$(value '.spec.template.spec.containers[]?.args[]? | select(startswith("--scheduler-names"))' --set scheduler.mode=both)"
expect "who places pods in mode kube-scheduler" "--schedule=false" \
  "$(value '.spec.template.spec.containers[]?.args[]? | select(startswith("--schedule="))' --set scheduler.mode=kube-scheduler)"
expect "the check chart's map" "0=node1:0,1 1=node2:2 2=node3:0,1,2 3=node4:3 4=node4:3 for 5 pods" \
  "$(of_check value 'select(.kind == "StatefulSet") | "\(.spec.template.metadata.annotations["gpu-scheduling-map"] | rtrimstr("\n") | gsub("\n"; " ")) for \(.spec.replicas) pods"')"
expect "what its container is told of itself" "LOG_INTERVAL NODE_NAME POD_NAME POD_NAMESPACE" \
  "$(of_check value 'select(.kind == "StatefulSet").spec.template.spec.containers[0].env[].name')"
# Who runs, and what of: users, tokens, the root file system, capabilities, system calls.
hardened() {
  value 'select(.kind | test("^(Deployment|DaemonSet|StatefulSet|Pod)$")) | (.spec.template.spec // .spec) as $pod | $pod.containers[].securityContext
    | [$pod.securityContext.runAsNonRoot, $pod.securityContext.seccompProfile.type, .readOnlyRootFilesystem, .allowPrivilegeEscalation, (.capabilities.drop | join(","))]
    | join(",")' "$@" | tr ' ' '\n' | sort | uniq -c | tr -s ' ' | sed 's/^ //'
}
expect "what the check chart's pods may" "2 true,RuntimeDefault,true,false,ALL" "$(of_check hardened)"
expect "tokens of theirs" "false false false" "$(of_check value '[.. | objects | .automountServiceAccountToken? | select(. != null)][]')"

step "the rights are those of deploy/, which are compared with what is used"
# rules_of FILE...: a line for each verb on each resource, by kind of role.
rules_of() {
  kubectl create --dry-run=client --validate=false -o json -f "$1" | jq -rs '.[] | .items // [.] | .[] | select(.kind | test("^(Cluster)?Role$"))
    | .kind as $kind | .rules[] | (.resourceNames // ["*"] | join(",")) as $names | .verbs[] as $verb | .resources[] | "\($kind) \(.) \($names) \($verb)"' | sort -u
}
render -s templates/scheduler/rbac.yaml >"$CASE_DIR/scheduler.yaml"
render -s templates/webhook/rbac.yaml --set webhook.injectLimits=true >"$CASE_DIR/webhook.yaml"
expect "of the scheduler" "$(rules_of "$REPO/deploy/rbac/scheduler.yaml")" "$(rules_of "$CASE_DIR/scheduler.yaml")"
expect "of the webhook" "$(rules_of "$REPO/deploy/webhook/rbac.yaml")" "$(rules_of "$CASE_DIR/webhook.yaml")"

step "the CRDs are brought to this version: claims stay, and what others wrote on them"
kubectl annotate crd gpuclaims.gpu.scheduling gpu.scheduling/lease-namespace=kept >/dev/null
kubectl patch crd gpuclaims.gpu.scheduling --type=json -p '[{"op": "remove", "path": "/spec/versions/0/additionalPrinterColumns"}]' >/dev/null
claim one 'count: 1' | create
columns() { kubectl get crd gpuclaims.gpu.scheduling -o json | jq '.spec.versions[0].additionalPrinterColumns | length'; }
expect "columns of the old version" 0 "$(columns)"
expect_like "gpu-scheduler crds apply" '^The CRDs of https://[0-9.:]+ are those of this version\.$' "$("$GS_BIN/gpu-scheduler" crds apply)"
expect "columns of the new one" 7 "$(columns)"
expect "the record" kept "$(field crd/gpuclaims.gpu.scheduling '.metadata.annotations.gpu\.scheduling/lease-namespace')"
expect "the claim's count" 1 "$(field gpuclaim/one .spec.devices.count)"
expect "the CRDs that are built in" "$(cat "$CHART/crds/crds.yaml")" "$("$GS_BIN/gpu-scheduler" crds print)"
