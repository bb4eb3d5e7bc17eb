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
taken() { render "$@" | kubectl apply --dry-run=server -f - 2>&1 | { grep -v ' (server dry run)$' || true; }; } # nothing is what is wanted
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
  expect_output "what is wrong with $(basename "$set")" "" taken -f "$set"
done
note "${#sets[@]} sets of values"
of_check quietly helm lint "$CHART-check" >/dev/null
# Of a pod, such as the one of helm test, the server wants to see the account.
for name in gpu-scheduler-gpu-scheduler-check somebody; do kubectl create --save-config serviceaccount "$name" >/dev/null; done
expect_output "what is wrong with the check chart's default values" "" of_check taken
sets=("$CHART"-check/ci/*-values.yaml)
for set in "${sets[@]}"; do
  quietly helm lint --quiet "$CHART-check" -f "$set" >/dev/null
  expect_output "what is wrong with $(basename "$set")" "" of_check taken -f "$set"
done
note "${#sets[@]} of the check chart"
expect "objects of its default values" "NetworkPolicy Service ServiceAccount StatefulSet" \
  "$(of_check render --no-hooks | sed -n 's/^kind: //p' | sort -u | tr '\n' ' ' | sed 's/ $//')"
expect "objects of the default values" "ClusterRole ClusterRoleBinding DaemonSet Deployment MutatingWebhookConfiguration NetworkPolicy\
 PodDisruptionBudget Role RoleBinding Service ServiceAccount ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration" \
  "$(render --no-hooks | sed -n 's/^kind: //p' | sort -u | tr '\n' ' ' | sed 's/ $//')"

step "what the schema lets a name or a label be, the API takes"
odd_of() { "$TESTBED/chart-oddities" odd "$@" --kube-version 1.33.13 2>>"$CASE_DIR/odd.log"; }
odd_taken() { odd_of "$@" | kubectl apply --dry-run=server -f - 2>&1 | { grep -v ' (server dry run)$' || true; }; } # nothing is what is wanted
LONG=$(printf 'a%.0s' {1..64})
kubectl create namespace 1 >/dev/null # a number where nobody quotes it
for text in A_b a..b 'a b' a/b "$LONG" 1; do
  expect_output "what is wrong with '$text' in all places" "" odd_taken gpu-scheduler "$text" \
    --set scheduler.mode=both,quota.enabled=true,metrics.serviceMonitor.enabled=true,metrics.dashboard.enabled=true,webhook.certs.mode=cert-manager
  expect_output "what is wrong with '$text' in the check chart" "" odd_taken gpu-scheduler-check "$text"
done
expect_output "what is wrong with '1' in a sidecar" "" odd_taken gpu-scheduler 1 --set webhook.placement=Sidecar,scheduler.mode=kube-scheduler
kubectl delete namespace 1 --wait=false >/dev/null
for value in serviceAccountName serviceAccount.name priorityClassName agent.priorityClassName agent.runtimeClassName webhook.certs.secretName \
  'webhook.excludeNamespaces[0]' 'webhook.excludedNamespaces[0]' 'imagePullSecrets[0].name'; do
  path=${value//./\/} path=${path//\[0]/\/0}
  expect_like "$value=A_b" "'/$path': 'A_b' does not match pattern" "$(refused "$value=A_b")"
done
expect_like "serviceAccount.name=A_b of the check chart" "'/serviceAccount/name': 'A_b' does not match pattern" "$(of_check refused serviceAccount.name=A_b)"
numbers() { render --set-json "$1=[{\"name\": \"A\", \"value\": 1}]" 2>&1 >/dev/null || true; } # helm fails, as it should
for value in env agent.extraEnv; do expect_like "a number in $value" "'/${value//./\/}/0/value': got number, want string" "$(numbers $value)"; done
for value in env testService.env; do expect_like "a number in $value" "'/${value//./\/}/0/value': got number, want string" "$(of_check numbers $value)"; done

step "values that nobody reads, or that contradict each other, are refused"
expect_like "webhok.enabled" "additional properties 'webhok' not allowed" "$(refused webhok.enabled=true)"
expect_like "webhook.cert.mode" "additional properties 'cert' not allowed" "$(refused webhook.cert.mode=auto)"
expect_like "scheduler.mode=extender" "'/scheduler/mode': value must be one of 'own', 'kube-scheduler', 'both'" "$(refused scheduler.mode=extender)"
expect_like "replicaCount=two" "'/replicaCount': got string, want integer" "$(refused replicaCount=two)"
expect_like "secret without a CA" 'webhook.certs.mode=secret needs webhook.caBundle' "$(refused webhook.certs.mode=secret)"
expect_like "auto with a CA" 'webhook.caBundle is for a certificate of yours' "$(refused webhook.certs.mode=auto,webhook.caBundle=YQ==)"
expect_like "an account of nobody" 'serviceAccount.name is needed' "$(refused serviceAccount.create=false)"
expect_like "a toleration's misspelt key" "additional properties 'efect' not allowed" "$(refused 'tolerations[0].efect=NoSchedule')"
expect_like "a resource of no name" "'/resources/limits': additional properties 'memroy' not allowed" "$(refused resources.limits.memroy=1Gi)"
expect_like "securityContext" "additional properties 'runAsUsr' not allowed" "$(refused securityContext.runAsUsr=1)"
expect_like "podSecurityContext" "additional properties 'fsGrp' not allowed" "$(refused podSecurityContext.fsGrp=1)"
expect_like "affinity" "additional properties 'nodeAfinity' not allowed" "$(refused affinity.nodeAfinity.x=1)"
expect_like "service.targetPort" "/service/targetPort" "$(refused service.targetPort=helth)"
for socket in /run/containerd.sock /containerd.sock /run/containerd/ /etc/x.sock; do # all of /run would be mounted, or of /
  expect_like "containerRuntimeSocket=$socket" "/agent/containerRuntimeSocket" "$(refused "agent.containerRuntimeSocket=$socket")"
done
expect_like "a name that no Service may have" "/fullnameOverride" "$(refused 'fullnameOverride=a.b')"
expect_like "a label that is none" "/nameOverride" "$(refused 'nameOverride=a b')"

step "values that are right one by one and never work together are refused"
expect_like "two without election" 'leaderElection.enabled=false with replicaCount=2' "$(refused leaderElection.enabled=false)"
expect_like "renewDeadline" 'retryPeriod \(500ms\) < renewDeadline \(0.1m\) < leaseDuration \(5s\) must hold' "$(refused leaderElection.renewDeadline=0.1m)"
expect_like "retryPeriod" 'must hold' "$(refused leaderElection.retryPeriod=3s)"
for mode in kube-scheduler both; do
  expect_like "one name in mode $mode" 'kubeScheduler.profileName and scheduler.name are both gpu-scheduler' \
    "$(refused scheduler.mode=$mode,kubeScheduler.profileName=gpu-scheduler)"
done
expect_like "nobody who injects" 'scheduler.requireInjection=true with webhook.enabled=false' "$(refused webhook.enabled=false,scheduler.requireInjection=true)"
expect_like "an issuer without a name" 'webhook.certs.issuerRef has no name' "$(refused webhook.certs.mode=cert-manager,webhook.certs.issuerRef.kind=ClusterIssuer)"
expect_like "an issuer that nobody asks" 'webhook.certs.issuerRef is for webhook.certs.mode=cert-manager' "$(refused webhook.certs.issuerRef.name=mine)"
expect_like "a sidecar in the host's network" 'webhook.hostNetwork=true with webhook.placement=Sidecar' "$(refused webhook.hostNetwork=true,webhook.placement=Sidecar)"
expect_like "a sidecar elsewhere" 'webhook.nodeSelector with webhook.placement=Sidecar' "$(refused webhook.nodeSelector.a=b,webhook.placement=Sidecar)"
expect_like "one port twice" 'webhook.port and webhook.healthPort are both 8080' "$(refused webhook.port=8080)"
expect_output "the same of no webhook" "" refused webhook.port=8080,webhook.enabled=false
expect_like "an order of which ids are not" 'webhook.deviceOrder=FASTEST_FIRST with scheduler.visibleDevices=ids' "$(refused webhook.deviceOrder=FASTEST_FIRST)"
expect_like "a port of the scheduler's" 'webhook.port or webhook.healthPort is 8080 with webhook.placement=Sidecar' "$(refused webhook.healthPort=8080,webhook.placement=Sidecar)"
expect_like "no time at all" "'/leaderElection/retryPeriod': '0s' does not match pattern" "$(refused leaderElection.retryPeriod=0s)"
expect_like "a label of the chart's" "podLabels has app, which the chart sets itself" "$(refused podLabels.app=mine)"
expect_like "a variable of the chart's" "env has POD_UID, which the chart sets itself: give it another name, or leave it out" "$(refused 'env[0].name=POD_UID')"
expect_like "MIG by a variable alone" "leave it out and set agent.mig=true" "$(refused 'agent.extraEnv[0].name=NVIDIA_MIG_MONITOR_DEVICES')"
expect_like "a volume under its old name and its new one" "extraVolumes with volumes has x twice" "$(refused 'volumes[0].name=x,extraVolumes[0].name=x,extraVolumes[0].emptyDir.medium=Memory')"
expect_like "a sidecar's volume that is another" "extraVolumes with webhook.extraVolumes has x twice" \
  "$(refused 'webhook.placement=Sidecar,webhook.extraVolumes[0].name=x,extraVolumes[0].name=x,extraVolumes[0].emptyDir.medium=Memory')"
expect_output "a sidecar's volume that is the same" "" refused 'webhook.placement=Sidecar,webhook.extraVolumes[0].name=x,extraVolumes[0].name=x'
expect_like "a path of two mounts" "extraVolumeMounts with volumeMounts has /x twice" \
  "$(refused 'volumeMounts[0].name=x,volumeMounts[0].mountPath=/x,extraVolumeMounts[0].name=y,extraVolumeMounts[0].mountPath=/x')"
expect_like "a probe that asks twice" "livenessProbe asks in two ways, httpGet and tcpSocket" "$(refused livenessProbe.httpGet.path=/,livenessProbe.tcpSocket.port=health)"
expect_like "a probe's misspelt key" "'/readinessProbe/httpGet': additional properties 'prot' not allowed" "$(refused readinessProbe.httpGet.prot=8080)"
expect_like "a digest that is none" '/image/digest' "$(refused image.digest=sha256:1)"
DRIVER='scheduler.draDrivers[0].name=gpu.example.com,scheduler.draDrivers[0].resource=nvidia.com/gpu'
expect_output "a DRA driver" "" refused "$DRIVER"
expect_like "one without its resource" "'/scheduler/draDrivers/0': missing property 'resource'" "$(refused 'scheduler.draDrivers[0].name=gpu.example.com')"
expect_like "its misspelt key" "'/scheduler/draDrivers/0': additional properties 'clas' not allowed" "$(refused "$DRIVER,scheduler.draDrivers[0].clas=x")"
expect_like "one that is there twice" "scheduler.draDrivers has gpu.example.com twice" \
  "$(refused "$DRIVER,scheduler.draDrivers[1].name=gpu.example.com,scheduler.draDrivers[1].resource=example.com/gpu")"
expect_like "a resource of Kubernetes' own" 'the resource of gpu.example.com is x.kubernetes.io/gpu: write' \
  "$(refused 'scheduler.draDrivers[0].name=gpu.example.com,scheduler.draDrivers[0].resource=x.kubernetes.io/gpu')"

step "values of the ancestors' charts: taken where they mean something, else refused with what to write (docs/use/migration.md)"
expect_like "namespace=other" 'namespace=other is read by nobody.* helm install -n other' "$(refused namespace=other)"
expect_like "two names of the account" 'serviceAccountName=a is the old name of serviceAccount.name, which is b' "$(refused serviceAccountName=a,serviceAccount.name=b)"
expect_like "crds.install=false" 'helm install --skip-crds' "$(refused crds.install=false)"
expect_like "gpuScheduling.enabled=false" 'gpuScheduling.enabled=false is read by nobody' "$(of_check refused gpuScheduling.enabled=false)"
expect_like "podDisruptionBudget.enabled=true" 'podDisruptionBudget.enabled=true is read by nobody' "$(of_check refused podDisruptionBudget.enabled=true)"
expect_like "commonLabels" 'labels of pods are podLabels' "$(of_check refused commonLabels.a=b)"
expect_like "commonAnnotations" 'annotations of pods are podAnnotations' "$(of_check refused commonAnnotations.a=b)"
expect_like "replicaCont=1" "additional properties 'replicaCont' not allowed" "$(of_check refused replicaCont=1)"
expect_like "its toleration's misspelt key" "additional properties 'efect' not allowed" "$(of_check refused 'tolerations[0].efect=NoSchedule')"
expect_like "its securityContext" "additional properties 'runAsUsr' not allowed" "$(of_check refused securityContext.runAsUsr=1)"
expect_like "a row without its node" "missing properties 'nodeName', 'gpuDevices'" "$(of_check refused 'gpuScheduling.schedulingMap[0].podIndex=0')"
expect_like "ids that are none" "'all' does not match pattern" \
  "$(of_check refused 'gpuScheduling.schedulingMap[0].podIndex=0,gpuScheduling.schedulingMap[0].nodeName=a,gpuScheduling.schedulingMap[0].gpuDevices=all')"
two='gpuScheduling.schedulingMap=[{"podIndex": 3, "nodeName": "a", "gpuDevices": "0"}, {"podIndex": 3, "nodeName": "b", "gpuDevices": "1"}]'
expect_like "two rows for one pod" 'schedulingMap has podIndex 3 twice; give each pod one row' "$(of_check render --set-json "$two" 2>&1 >/dev/null || true)" # helm fails, as it should

step "the chart guide's commands that need no node"
follow chart "$CHART"

step "what the guides' values mean"
# value PATH-OF-JQ VALUES...: of all objects.
value() { render "${@:2}" | kubectl create --dry-run=client --validate=false -o json -f - | jq -rs "[.[] | $1] | join(\" \")"; }
CA=YQ==
# A CA says whom to trust, and where the certificate is; where the webhook runs is said by webhook.placement alone.
pods_of() { value 'select(.kind == "Deployment") | "\(.metadata.name)=\([.spec.template.spec.containers[].name] | join(","))"' "$@"; }
secrets_of() { value 'select(.kind == "Deployment").spec.template.spec.volumes[]? | .secret.secretName // (.projected.sources[]?.secret.name) // empty' "$@"; }
for ca in "" "$CA"; do
  expect "pods with CA '$ca'" "gpu-scheduler=scheduler gpu-scheduler-webhook=webhook" "$(pods_of --set "webhook.caBundle=$ca")"
  expect "a sidecar with CA '$ca'" "gpu-scheduler=scheduler,webhook" "$(pods_of --set "webhook.caBundle=$ca,webhook.placement=Sidecar")"
done
for placement in Deployment Sidecar; do
  expect "Secrets that serve a $placement" "gpu-scheduler-webhook-cert gpu-scheduler-webhook-tls" "$(secrets_of --set "webhook.caBundle=$CA,webhook.placement=$placement")"
  expect "the one that is named" my-tls "$(secrets_of --set "webhook.caBundle=$CA,webhook.placement=$placement,webhook.certs.secretName=my-tls")"
done
expect_output "Secrets that are mounted by default" "" secrets_of
expect "who is trusted" "$CA $CA" "$(value '.webhooks[]?.clientConfig.caBundle // empty' --set "webhook.caBundle=$CA")"
expect "failure policies" "Fail Ignore" "$(value '.webhooks[]?.failurePolicy' --set webhook.failurePolicy=Fail)"
expect_output "rights to Secrets with a certificate of one's own" "" value '.rules[]? | select(.resources // [] | index("secrets")) | .verbs[]' --set "webhook.caBundle=$CA"
expect "schedulerNames in mode both" "--scheduler-names=gpu-scheduler,gpu-kube" \
  "$(value '.spec.template.spec.containers[]?.args[]? | select(startswith("--scheduler-names"))' --set scheduler.mode=both)"
expect "who places pods in mode kube-scheduler" "--schedule=false" \
  "$(value '.spec.template.spec.containers[]?.args[]? | select(startswith("--schedule="))' --set scheduler.mode=kube-scheduler)"
expect_output "rights to Secrets with cert-manager" "" value '.rules[]? | select(.resources // [] | index("secrets")) | .verbs[]' --set webhook.certs.mode=cert-manager
expect "rights to Secrets by default" "create get patch" "$(value '.rules[]? | select(.resources // [] | index("secrets")) | .verbs[]')"
agent_args() { value 'select(.kind == "DaemonSet").spec.template.spec.containers[].args[]' "$@"; }
gate_of() { # who has to do with the gate
  echo "$(value 'select(.kind == "CSIDriver").metadata.name' "$@") $(agent_args "$@" | grep -o -e '--gate=[a-z]*') $(
    value 'select(.kind == "Deployment").spec.template.spec.containers[].args[] | select(. == "--gate")' "$@")" | xargs
}
expect "what YAML reads of enforcement.mode: off" "--enforce=off" "$(agent_args --set enforcement.mode=false | grep -o -e '--enforce=[a-z]*')"
expect_output "a gate by default" "" gate_of
expect "a gate with devices" "gate.gpu.scheduling --gate=true --gate" "$(gate_of --set enforcement.mode=devices)"
expect "one that is not wanted" "--gate=false" "$(gate_of --set enforcement.mode=devices,enforcement.gate=false)"
expect "one that is not given any more" "gate.gpu.scheduling --gate=true" "$(gate_of --set enforcement.mode=devices,enforcement.gate=draining)"
expect "one where nobody enforces devices" "gate.gpu.scheduling --gate=true --gate" "$(gate_of --set enforcement.gate=true)"
expect "folders of the node with devices" "/etc/cdi /run/containerd /var/lib/kubelet/plugins_registry /var/lib/kubelet/pods /var/run/cdi /var/run/nri" \
  "$(value 'select(.kind == "DaemonSet").spec.template.spec.volumes[].hostPath.path' --set enforcement.mode=devices | tr ' ' '\n' | sort | xargs)"
expect "capabilities with devices" '{"drop":["ALL"]} false 0' \
  "$(value 'select(.kind == "DaemonSet").spec.template.spec.containers[].securityContext | "\(.capabilities | tojson) \(.privileged // false) \(.runAsUser)"' --set enforcement.mode=devices)"
expect "who may evict" "create" "$(value '.rules[]? | select(.resources // [] | index("pods/eviction")).verbs[]' --set enforcement.mode=devices,enforcement.onMismatch=evict)"
expect_output "who may evict by default" "" value '.rules[]? | select(.resources // [] | index("pods/eviction")).verbs[]' --set enforcement.mode=devices
for values in enforcement.gate=true,agent.enabled=false enforcement.gate=true,webhook.enabled=false enforcement.mode=devices,agent.enabled=false \
  enforcement.mode=devices,agent.enforce=off; do
  expect_like "refused with $values" "leave|set enforcement.gate=false" "$(refused "$values")"
done
expect "what YAML reads of agent.enforce: off" "--enforce=off" \
  "$(value 'select(.kind == "DaemonSet").spec.template.spec.containers[].args[] | select(startswith("--enforce"))' --set agent.enforce=false)"
expect "the socket's folder on k3s" /run/k3s/containerd \
  "$(value 'select(.kind == "DaemonSet").spec.template.spec.volumes[].hostPath.path' --set agent.containerRuntimeSocket=/run/k3s/containerd/containerd.sock)"
expect "SELinux type of the agent" spc_t \
  "$(value 'select(.kind == "DaemonSet").spec.template.spec.containers[].securityContext.seLinuxOptions.type' --set agent.seLinuxOptions.type=spc_t)"
expect "one that may never be two" Recreate "$(value 'select(.metadata.name == "gpu-scheduler" and .kind == "Deployment").spec.strategy.type' --set leaderElection.enabled=false,replicaCount=1)"
images() { quietly helm template gpu-scheduler "$CHART" --set scheduler.mode=both "$@" | sed -n 's/^ *image: "\?\(registry[^"]*\)"\?/\1/p'; }
expect "kube-scheduler of a GKE cluster" registry.k8s.io/kube-scheduler:v1.33.5 "$(images --kube-version v1.33.5-gke.1080000)"
expect "of a k3s cluster" registry.k8s.io/kube-scheduler:v1.34.1 "$(images --kube-version v1.34.1+k3s1)"
expect "one that is named" registry.k8s.io/kube-scheduler:v1.33.1 "$(images --set kubeScheduler.image.tag=v1.33.1)"
OLD="$CHART/ci/ancestor-claims-values.yaml"
expect "accounts by serviceAccountName" "gpu-scheduler" "$(value 'select(.kind == "Deployment" and .metadata.name == "gpu-scheduler").spec.template.spec.serviceAccountName' -f "$OLD")"
expect "namespaces by excludeNamespaces" '["kube-system","kube-public","kube-node-lease","team-a","default"]' \
  "$(value 'select(.kind == "MutatingWebhookConfiguration").webhooks[].namespaceSelector.matchExpressions[0].values | tojson' -f "$OLD")"
OLD="$CHART/ci/ancestor-map-values.yaml"
scheduler_of() { value "select(.kind == \"Deployment\" and .metadata.name == \"gpu-scheduler\").spec.template.spec | $1" "${@:2}"; }
expect "env, volumes, volumeMounts" "TZ notes /notes" \
  "$(scheduler_of '"\(.containers[0].env[-1].name) \(.volumes[-1].name) \(.containers[0].volumeMounts[-1].mountPath)"' -f "$OLD")"
expect "probes" "/health:8080:30:5 /ready:8080:10:5" "$(scheduler_of '.containers[0] | .livenessProbe, .readinessProbe
  | "\(.httpGet.path):\(.httpGet.port):\(.periodSeconds):\(.timeoutSeconds)"' -f "$OLD")"
# probes VALUES: what is asked, of the two.
probes() { scheduler_of '.containers[0] | [.livenessProbe, .readinessProbe] | map(.httpGet // .tcpSocket | [.path, .port, .scheme] | map(. // "" | tostring) | join(":")) | join(" ")' --set "$1"; }
expect "probes with a path" "/health:health: /readyz:health:" "$(probes livenessProbe.httpGet.path=/health)"
expect "probes with a port" "/healthz:8080: /readyz:health:" "$(probes livenessProbe.httpGet.port=8080)"
expect "probes with a scheme" "/healthz:health: /readyz:health:HTTP" "$(probes readinessProbe.httpGet.scheme=HTTP)"
expect "probes that ask otherwise" ":health: /readyz:health:" "$(probes livenessProbe.tcpSocket.port=health)"
expect "the check chart's interval and env" "20 UTC" "$(of_check value 'select(.kind == "StatefulSet").spec.template.spec.containers[0].env[]
  | select(.name == "LOG_INTERVAL" or .name == "TZ").value' -f "$CHART-check/ci/ancestor-values.yaml")"
expect "in the node's network" "true ClusterFirstWithHostNet 18443,18080 0" "$(value 'select(.kind == "Deployment" and .metadata.name == "gpu-scheduler-webhook").spec
  | "\(.template.spec.hostNetwork) \(.template.spec.dnsPolicy) \([.template.spec.containers[0].ports[].containerPort | tostring] | join(",")) \(.strategy.rollingUpdate.maxSurge)"' \
  -f "$CHART/ci/host-network-values.yaml")"
DIGEST=sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
expect "images with a digest" "gpu-scheduler:0.1.0@$DIGEST registry.example.com/webhook:0.1.0" \
  "$(value 'select(.kind == "Deployment").spec.template.spec.containers[].image' -f "$CHART/ci/extras-values.yaml")"
expect "PodMonitors" "agent=gpu-scheduler-agent:health webhook=gpu-scheduler:webhook-health" "$(value 'select(.kind == "PodMonitor")
  | "\(.metadata.name | split("-") | last)=\(.spec.selector.matchLabels["app.kubernetes.io/name"]):\(.spec.podMetricsEndpoints[].port)"' \
  --set "webhook.placement=Sidecar,metrics.serviceMonitor.enabled=true")"
# The file of DRA drivers is one that the program takes: it stops later, for there is no cluster.
DRIVERS="$CHART/ci/dra-drivers-values.yaml"
expect "the flag of DRA drivers, and where it is mounted" "--dra-drivers=/etc/gpu-scheduler-dra/drivers.yaml /etc/gpu-scheduler-dra:true" \
  "$(scheduler_of '.containers[0] | (.args[] | select(startswith("--dra-drivers="))), (.volumeMounts[] | select(.name == "dra-drivers") | "\(.mountPath):\(.readOnly)")' -f "$DRIVERS")"
value 'select(.kind == "ConfigMap" and .metadata.name == "gpu-scheduler-dra-drivers").data["drivers.yaml"]' -f "$DRIVERS" >"$CASE_DIR/drivers.yaml"
expect "drivers in the file" "- deviceClass: gpu.example.com - name: accelerators.example.org" "$(grep '^- ' "$CASE_DIR/drivers.yaml" | xargs)"
without_cluster() { "$GS_BIN/gpu-scheduler" --kubeconfig=/not/there "$@" 2>&1 || true; } # it fails, as it should
expect_output_like "a program with that file" 'cannot read /not/there' without_cluster "--dra-drivers=$CASE_DIR/drivers.yaml"
expect_output "the flag and the mount by default" "" scheduler_of '.containers[0] | (.args[] | select(startswith("--dra-drivers="))), (.volumeMounts[]?.name)'
# What changes a program's file starts it anew.
checksum() { value 'select(.kind == "Deployment").spec.template.metadata.annotations // {} | to_entries[] | select(.key | startswith("checksum/")) | .value' "$@"; }
MODE=scheduler.mode=both,quota.enabled=true
for change in kubeScheduler.profileName=other quota.poolLabel=pool; do
  [[ $(checksum --set $MODE | wc -w) == 2 && $(checksum --set $MODE) != "$(checksum --set "$MODE,$change")" ]] || fail "$change starts nothing anew"
done
[[ $(checksum --set "$DRIVER" | wc -w) == 1 && $(checksum --set "$DRIVER") != "$(checksum --set "$DRIVER,scheduler.draDrivers[0].deviceClass=cards")" ]] ||
  fail "another DRA driver starts nothing anew"
long=$(printf 'a%.0s' {1..63})
labels() { quietly helm template "$1" "$CHART" --set scheduler.mode=both "${@:2}" | kubectl create --dry-run=client --validate=false -o json -f - |
  jq -rs '.[] | .metadata.labels // {}, (.spec.template.metadata.labels // {})? | .[]' | sort -u; }
too_long() { labels release --set nameOverride="$long" | awk 'length > 63'; }
expect_output "label values that are too long" "" too_long
expect "the Service of a release with dots in its name" "gpu-scheduler-v1-2 gpu-scheduler-v1-2-webhook" \
  "$(quietly helm template gpu-scheduler.v1.2 "$CHART" | kubectl create --dry-run=client --validate=false -o json -f - | jq -rs '[.[] | select(.kind == "Service").metadata.name] | join(" ")')"
# The chart guide's `helm install gpu-scheduler .` stands in the folder of its script.
expect "the chart by the folder gpu-scheduler/" "$(render | sha256sum)" "$(quietly helm template gpu-scheduler "$REPO/gpu-scheduler" --kube-version 1.33.13 | sha256sum)"
cp -r "$REPO/gpu-scheduler" "$REPO/charts" "$CASE_DIR" && mkdir "$CASE_DIR/gpu-scheduler/certs" && touch "$CASE_DIR/gpu-scheduler/certs/ca.key"
quietly helm package "$CASE_DIR/gpu-scheduler" -d "$CASE_DIR" >/dev/null
expect_output_like "its files" 'gpu-scheduler/templates/scheduler/rbac.yaml' tar -tzf "$CASE_DIR/gpu-scheduler-0.1.0.tgz"
expect "keys among them" 0 "$(tar -tzf "$CASE_DIR/gpu-scheduler-0.1.0.tgz" | awk '/certs/ { n++ } END { print n + 0 }')"
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
    | .kind as $kind | .rules[] | (.resourceNames // ["*"] | join(",")) as $names | .verbs[] as $verb
    | (.apiGroups[] + "/" + .resources[]) | "\($kind) \(.) \($names) \($verb)"' | sort -u
}
render -s templates/scheduler/rbac.yaml >"$CASE_DIR/scheduler.yaml"
render -s templates/webhook/rbac.yaml >"$CASE_DIR/webhook.yaml"
render -s templates/agent/rbac.yaml --set enforcement.mode=devices >"$CASE_DIR/agent.yaml"
render -s templates/users.yaml >"$CASE_DIR/users.yaml"
expect "of the scheduler" "$(rules_of "$REPO/deploy/rbac/scheduler.yaml")" "$(rules_of "$CASE_DIR/scheduler.yaml")"
expect "of the webhook" "$(rules_of "$REPO/deploy/webhook/rbac.yaml")" "$(rules_of "$CASE_DIR/webhook.yaml")"
expect "of the agent" "$(rules_of "$REPO/deploy/agent/rbac.yaml")" "$(rules_of "$CASE_DIR/agent.yaml")"
expect "of users" "$(rules_of "$REPO/deploy/rbac/users.yaml")" "$(rules_of "$CASE_DIR/users.yaml")"
expect "roles that Kubernetes adds them to" "gpu-scheduler-view=aggregate-to-view gpu-scheduler-edit=aggregate-to-edit" \
  "$(value '.metadata as $meta | select(.kind == "ClusterRole") | $meta.labels | to_entries[] | select(.key | test("/aggregate-to-"))
    | "\($meta.name)=\(.key | split("/")[1])"' -s templates/users.yaml)"
expect "an agent that looks at partitions" "all SYS_ADMIN" \
  "$(value '.spec.template.spec.containers[0] | (.env[] | select(.name == "NVIDIA_MIG_MONITOR_DEVICES").value), .securityContext.capabilities.add[]' \
    -s templates/agent/daemonset.yaml --set agent.mig=true)"
expect "one that does not" "" "$(value '.spec.template.spec.containers[0] | (.env[] | select(.name == "NVIDIA_MIG_MONITOR_DEVICES").value), .securityContext.capabilities.add[]?' \
  -s templates/agent/daemonset.yaml)"

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

step "a release that has the CRDs among its templates: an upgrade to this chart takes no claim away"
mkdir -p "$CASE_DIR/old/templates"
printf '%s\n' 'apiVersion: v2' 'name: gpu-scheduler' 'version: 0.0.1' >"$CASE_DIR/old/Chart.yaml"
grep -v resource-policy "$CHART/crds/crds.yaml" >"$CASE_DIR/old/templates/crds.yaml"
kubectl delete -f "$CHART/crds/crds.yaml" >/dev/null
helm install gpu-scheduler "$CASE_DIR/old" >/dev/null
eventually_served gpuclaims.gpu.scheduling
claim kept 'count: 2' | create
# As docs/use/migration.md says.
kubectl apply --server-side --force-conflicts -f "$CHART/crds/crds.yaml" >/dev/null
quietly helm upgrade gpu-scheduler "$CHART" --no-hooks >/dev/null
expect "the claim's count" 2 "$(field gpuclaim/kept .spec.devices.count)"
quietly helm uninstall gpu-scheduler --no-hooks >/dev/null
expect "the claim's count after the uninstall, too" 2 "$(field gpuclaim/kept .spec.devices.count)"

step "or its objects are deleted without the CRDs, and Helm forgets it"
kubectl delete -f "$CHART/crds/crds.yaml" >/dev/null
helm install gpu-scheduler "$CASE_DIR/old" >/dev/null
eventually_served gpuclaims.gpu.scheduling
claim kept 'count: 2' | create
others() { awk 'BEGIN { RS = "---\n" } /\nkind:/ && !/\nkind: CustomResourceDefinition/ { printf "---\n%s", $0 }'; }
expect_output "objects beside the CRDs" "" eval 'helm get manifest gpu-scheduler | others'
kubectl delete secret -l owner=helm,name=gpu-scheduler >/dev/null
kubectl apply --server-side --force-conflicts -f "$CHART/crds/crds.yaml" >/dev/null
quietly helm install gpu-scheduler "$CHART" >/dev/null
expect "the claim's count" 2 "$(field gpuclaim/kept .spec.devices.count)"

step "one installation a cluster: while a leader of another namespace is alive, or under another name, Helm says so"
kubectl create namespace another >/dev/null
kubectl annotate --overwrite crd gpuclaims.gpu.scheduling gpu.scheduling/lease-namespace=default gpu.scheduling/lease-namespace-scheduler=gpu-scheduler >/dev/null
leader() { # SECONDS-AGO HOLDER
  kubectl apply -f - >/dev/null <<YAML
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: scheduler.gpu.scheduling, namespace: default}
spec: {holderIdentity: "$2", leaseDurationSeconds: 5, renewTime: "$(date -u -d "-$1 seconds" +%Y-%m-%dT%H:%M:%S.000000Z)"}
YAML
}
second() { helm install second "$CHART" -n another --set fullnameOverride=second --dry-run=server "$@"; }
leader 1 one
expect_refused "a second one" 'its GPU leases are in namespace default, and its leader one renewed' second
expect_refused "one of another name in its namespace" 'are those of scheduler gpu-scheduler, and scheduler.name is other' second --set leaseNamespace=default,scheduler.name=other
quietly second --set leaseNamespace=default >/dev/null
leader 20 one # of a duration of 5 s
quietly second >/dev/null
leader 1 ""
quietly second >/dev/null
