# shellcheck shell=bash disable=SC2016,SC2086 # what pods expand; lists of devices are words
# Real server only: pods run.
# Kubernetes: newest
# Needs: nodes dra-driver
# Two real nodes of the newest Kubernetes with a DRA driver each, no device plugin and no agent. Pods ask for
# nvidia.com/gpu as ever. What the scheduler chose, what the claim is allocated, what the driver prepared, what
# PodResources says and what the container sees is one thing for each of them; nothing is given twice, also
# beside another allocator and across a leader's death.

# shellcheck source=../dra.sh
source "$CONTRACT/dra.sh"
# shellcheck source=../webhook.sh
source "$CONTRACT/webhook.sh"
PORT=8443
DRA=gpu.nvidia.com # the driver that is simulated: its table entry is the scheduler's

RUNS='exec work'
gpus() { echo "\"nvidia.com/gpu\": $1"; }
claim_of() { echo "gpu-$(uid_of "pod/$1")"; }
devices_in() { kubectl exec "$1" -c "${2:-main}" -- sh -c 'cd /dev && echo gpu*' | sed 's/gpu/gpu-/g'; }
allocated_in() { field "resourceclaim/$(claim_of "$1")" '.status.allocation.devices.results[*].device'; }
# The devices that its annotation names: ids are places in PCI order, as are the names of this driver.
chosen_for() { allocated "$1" | sed 's/.*://; s/,/\n/g' | sed 's/^/gpu-/' | paste -sd ' '; }

# expect_one_thing POD: of a pod with one container.
expect_one_thing() {
  local pod=$1 node claim chosen
  node=$(node_of "$pod") claim=$(claim_of "$pod") chosen=$(chosen_for "$pod")
  expect "devices in the claim's status of $pod" "$chosen" "$(allocated_in "$pod")"
  expect "devices in the container of $pod" "$chosen" "$(devices_in "$pod")"
  expect_like "what the driver was asked last about $pod" "^prepare $claim ${chosen// /,} ok\$" "$(dra_calls "$node" "$claim" | tail -n 1)"
  expect "PodResources of $pod" "$(printf "main $claim $node %s\n" $chosen)" "$(pod_resources "$node" "$pod")"
}
# ms from its Binding to its containers.
start_ms() {
  kubectl get pod "$1" -o json | jq '(.status.conditions[] | select(.type == "PodScheduled").lastTransitionTime | fromdate) as $bound
    | (.status.containerStatuses[0].state.running.startedAt | fromdate) - $bound | . * 1000'
}
claim_count() { kubectl get resourceclaims -o name | wc -l; }
all_run() { kubectl get pods -l "${1:-case=dra}" -o json | jq '[.items[] | select(.status.phase == "Running")] | length'; }
used_devices() { kubectl get pods -l case=dra -o json | jq -r '.items[] | select(.status.phase == "Running").metadata.annotations["gpu.scheduling/allocated"]' | sort; }

step "two nodes of the newest Kubernetes, the driver of each publishes 8 GPUs; the scheduler leads"
provider_up --kubelets 2 2>>"$CASE_DIR/up.log"
install_crds "$CRDS"
scheduler_account
dra_cluster
start_dra node-a
start_dra node-b
for node in node-a node-b; do eventually "slices of $node" "1/1 gpu-0,gpu-1,gpu-2,gpu-3,gpu-4,gpu-5,gpu-6,gpu-7" slices_of $node; done
run_scheduler scheduler

step "kubectl get gns says what the drivers publish, though no agent looks"
eventually "what gives the GPUs" "dra dra" field gns '.items[*].status.enforcement'
expect "their numbers" "8 8 8 8" "$(field gns '.items[*].status.total') $(field gns '.items[*].status.healthy')"
expect "UUIDs" "$(printf 'GPU-node-b-%s\n' 0 1 2 3 4 5 6 7 | paste -sd ' ')" "$(field gns/node-b '.status.devices[*].uuid')"
expect "who writes it, and when an agent looked" "scheduler " "$(field gns/node-a '.metadata.labels.gpu\.scheduling/written-by} {.status.observedTime')"

step "a plain pod of two GPUs: chosen, allocated, prepared, listed and seen are the same"
pod two '' command "$RUNS" limits "$(gpus 2)" | create
runs two
expect_one_thing two
note "two: $(allocated two), container $(devices_in two), started $(start_ms two) ms after its Binding"

step "a claim pod with a limit, as the guide writes it, and one without, which is told to write one"
claim one 'count: 1' | create
pod claimed one command "$RUNS" limits "$(gpus 1)" | create
pod unlimited one command "$RUNS" | create
runs claimed
expect_one_thing claimed
expect_waiting unlimited 'write a limit nvidia.com/gpu: 1 into the pod too'
kubectl delete pod unlimited >/dev/null

step "with the webhook a claim pod needs no limit of its own: a class says that a driver serves limits"
webhook_cluster $PORT "$(kubectl get endpointslices kubernetes -o jsonpath='{.endpoints[0].addresses[0]}')"
run_webhook webhook $PORT
injected() {
  kubectl delete pod injected --ignore-not-found >/dev/null # not by force: without an agent its GPU would wait for five minutes
  pod injected one command "$RUNS" | kubectl create -f - >/dev/null
  field pod/injected '.spec.containers[0].resources.limits'
}
eventually "limits of a claim pod" '{"nvidia.com/gpu":"1"}' injected # it is asked a moment after it was told of
runs injected
expect_one_thing injected
expect "what its container is told" "$(field pod/injected '.metadata.annotations.gpu\.scheduling/visible-devices')" \
  "$(kubectl exec injected -- sh -c 'echo "$CUDA_VISIBLE_DEVICES"')"
kubectl delete deviceclass "$DRA" >/dev/null
eventually "limits of a claim pod, once no class stands for them" "" injected
kubectl delete pod injected >/dev/null
end_helper webhook
kubectl delete mutatingwebhookconfiguration gpu-scheduler-webhook >/dev/null
device_class

step "two containers, each its own; an init container has what one of them gets after it"
create <<'YAML'
apiVersion: v1
kind: Pod
metadata: {name: several}
spec:
  schedulerName: gpu-scheduler
  initContainers:
  - {name: first, image: "busybox:testbed", command: [sh, -c, "echo /dev/gpu*"], resources: {limits: {nvidia.com/gpu: 1}}}
  containers:
  - {name: left, image: "work:testbed", resources: {limits: {nvidia.com/gpu: 1}}}
  - {name: right, image: "work:testbed", resources: {limits: {nvidia.com/gpu: 1}}}
YAML
eventually "readiness of both" "true true" field pod/several '.status.containerStatuses[*].ready'
left=$(devices_in several left) right=$(devices_in several right)
expect "both together" "$(chosen_for several)" "$left $right"
expect "the init container's" "/dev/${left/-/}" "$(kubectl logs several -c first)"

step "the rest of the 16: each GPU once, and one more pod waits"
for i in $(seq 11); do pod "fill-$i" '' command "$RUNS" limits "$(gpus 1)" spec "" | sed 's/^metadata: {/&labels: {case: dra}, /'; done | create
eventually "running" 11 all_run
for i in $(seq 11); do expect_one_thing "fill-$i"; done
expect "GPUs that several pods have" "" "$(used_devices | uniq -d)"
pod more '' command "$RUNS" limits "$(gpus 1)" | create
expect_waiting more 'too few free GPUs: need 1 and most free is 0'
note "the slowest of 11 started $(for i in $(seq 11); do start_ms "fill-$i"; done | sort -n | tail -n 1) ms after its Binding"

step "one ends: its GPU goes to the one that waits, and the claim is gone"
gone=$(claim_of fill-3)
kubectl delete pod fill-3 >/dev/null
runs more
expect_one_thing more
expect_output "the claim of the pod that ended" "" kubectl get resourceclaim "$gone" --ignore-not-found -o name

step "another allocator has a GPU: nobody else is given it"
kubectl delete pod more claimed >/dev/null
eventually "claims" 12 claim_count
free=$(comm -23 <(for n in a b; do printf "node-$n gpu-%s\n" 0 1 2 3 4 5 6 7; done | sort) \
  <(kubectl get resourceclaims -o json | jq -r '.items[].status.allocation.devices.results[]? | "\(.pool) \(.device)"' | sort))
expect "GPUs that are free" 2 "$(wc -l <<<"$free")"
read -r pool device <<<"$(head -n 1 <<<"$free")"
create <<YAML
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: theirs}
spec: {devices: {requests: [{name: r, exactly: {deviceClassName: $DRA}}]}}
YAML
kubectl get resourceclaim theirs -o json | jq --arg driver "$DRA" --arg pool "$pool" --arg device "$device" \
  '.status.allocation.devices.results = [{request: "r", driver: $driver, pool: $pool, device: $device}]' |
  kubectl replace --subresource=status -f - >/dev/null
pod beside '' command "$RUNS" limits "$(gpus 1)" | create
pod waits '' command "$RUNS" limits "$(gpus 1)" | create
runs beside
expect_one_thing beside
expect "its GPU" "$(tail -n 1 <<<"$free")" "$(node_of beside) $(chosen_for beside)"
expect_waiting waits 'too few free GPUs'
kubectl delete resourceclaim theirs >/dev/null
runs waits
expect_one_thing waits

step "the leader dies while it places pods; the next one goes on, and no GPU is given twice"
kubectl delete pods --all >/dev/null
eventually "claims" "" kubectl get resourceclaims -o name
for i in $(seq 16); do pod "again-$i" '' command "$RUNS" limits "$(gpus 1)" | sed 's/^metadata: {/&labels: {case: dra}, /'; done | create
kill_scheduler scheduler
run_scheduler scheduler
eventually "running" 16 all_run
for i in $(seq 16); do expect_one_thing "again-$i"; done
expect "GPUs that several pods have" "" "$(used_devices | uniq -d)"

step "the leader stops for good while one of its five writes is on its way, which lands: the next one goes on"
kubectl delete pods --all >/dev/null
eventually "claims" "" kubectl get resourceclaims -o name
lead=scheduler next=standby
start_scheduler standby
provider_delay_writes 1 lease:coordination.k8s.io:CREATE:leases claim:resource.k8s.io:CREATE:resourceclaims mapping::UPDATE:pods/status \
  allocation:resource.k8s.io:UPDATE:resourceclaims/status binding::CREATE:pods/binding
placed=0
for write in lease claim mapping allocation binding; do
  eventually "running" $((placed++)) all_run
  before=$(provider_delayed $write)
  pod "at-$write" '' command "$RUNS" limits "$(gpus 1)" | sed 's/^metadata: {/&labels: {case: dra}, /' | create
  eventually_at_least "writes on their way ($write)" $((before + 1)) provider_delayed $write
  signal_scheduler $lead STOP
  expect_leading $next
  kill_scheduler $lead
  start_scheduler $lead
  other=$lead lead=$next next=$other
done
eventually "running" 5 all_run
provider_bindings_at_once
for write in lease claim mapping allocation binding; do expect_one_thing "at-$write"; done
expect "GPUs that several pods have" "" "$(kubectl get resourceclaims -o json | jq -r '.items[].status.allocation.devices.results[]? | "\(.pool) \(.device)"' | sort | uniq -d)"
expect "claims" 5 "$(claim_count)"
eventually "leases" 5 lease_count

step "kubelet and containerd are killed: who runs keeps its devices, and what is bound meanwhile starts with its own"
kept=$(for write in lease claim mapping allocation binding; do echo "$write $(node_of "at-$write") $(devices_in "at-$write")"; done)
for part in kubelet containerd; do
  provider_component kill $part-node-a
  pod "without-$part" '' command "$RUNS" limits "$(gpus 1)" spec 'nodeSelector: {kubernetes.io/hostname: node-a}' | create
  eventually "node of without-$part" node-a node_of "without-$part"
  provider_component start $part-node-a
  runs "without-$part"
  expect_one_thing "without-$part"
done
expect "who has which" "$kept" "$(for write in lease claim mapping allocation binding; do echo "$write $(node_of "at-$write") $(devices_in "at-$write")"; done)"
stop_scheduler $next

step "many short containers, 16 at a time, four to a pod: what was chosen, prepared and seen is the same for each of them"
kubectl delete pods --all >/dev/null
eventually "claims" "" kubectl get resourceclaims -o name
many=${GS_DRA_CONTAINERS:-200} began=${EPOCHREALTIME/./}
# A container says what it sees in its pod's status; one that sees nothing says gpu*.
short_pods() {
  local i
  for i in $(seq "$1" "$2"); do
    jq -n --arg name "short-$i" '{apiVersion: "v1", kind: "Pod", metadata: {name: $name}, spec: {schedulerName: "gpu-scheduler", restartPolicy: "Never",
      containers: [("a", "b", "c", "d") | {name: ., image: "busybox:testbed", command: ["sh", "-c", "cd /dev && echo gpu* >termination-log"],
        resources: {limits: {"nvidia.com/gpu": 1}}}]}}'
  done
}
ended() { kubectl get pods -o json | jq '[.items[] | select(.status.phase == "Succeeded" or .status.phase == "Failed")] | length'; }
for ((first = 1; first <= many / 4; first += 50)); do
  last=$((first + 49 < many / 4 ? first + 49 : many / 4))
  short_pods "$first" "$last" | create
  eventually "pods that ended" $((last - first + 1)) ended
  kubectl get pods -o json | jq -r '.items[] | [.metadata.uid, .spec.nodeName, .status.phase, (.metadata.annotations["gpu.scheduling/allocated"] | split(":")[1]),
    ([.status.containerStatuses[].state.terminated.message | rtrimstr("\n") | ltrimstr("gpu")] | sort | join(","))] | join(" ")' >>"$CASE_DIR/short"
  kubectl delete pods --all >/dev/null
done
expect "pods that ended well" $((many / 4)) "$(grep -c ' Succeeded ' "$CASE_DIR/short")"
expect "pods whose containers saw something else than what was chosen, four different ones" "" "$(awk '$4 != $5 || $4 !~ /^[0-7],[0-7],[0-7],[0-7]$/' "$CASE_DIR/short")"
prepared() { for node in node-a node-b; do dra_calls "$node" | awk -v node="$node" '$1 == "prepare" && $4 == "ok" { print $2, node, $3 }'; done | sort -u; }
expect "what was chosen, and not prepared" "" "$(awk '{ gsub(",", ",gpu-", $4); print "gpu-" $1, $2, "gpu-" $4 }' "$CASE_DIR/short" | sort -u | comm -23 - <(prepared))"
note "$many containers in $(($(elapsed_ms "$began") / 1000)) s"

step "pods with claims of their own, ten shapes: what they ask for is what the container has"
kubectl delete pods --all >/dev/null
eventually "claims" "" kubectl get resourceclaims -o name
# template NAME DEVICES: spec.devices, as YAML.
template() {
  create <<YAML
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: $1}
spec: {spec: {devices: $2}}
YAML
}
# claiming NAME ENTRY [CONTAINERS]: a pod with that entry of spec.resourceClaims, which its container uses.
claiming() {
  create <<YAML
apiVersion: v1
kind: Pod
metadata: {name: $1}
spec:
  schedulerName: gpu-scheduler
  resourceClaims: [{name: gpus, $2}]
  containers: ${3:-"[{name: main, image: 'work:testbed', resources: {claims: [{name: gpus}]}}]"}
YAML
}
of_template() { claiming "$1" "resourceClaimTemplateName: $1" "${@:2}"; }
exactly() { echo "exactly: {deviceClassName: $DRA, $1}"; }
own_claim() { kubectl get pod "$1" -o json | jq -r '.status.resourceClaimStatuses[0].resourceClaimName // .spec.resourceClaims[0].resourceClaimName'; }
in_words() { tr ' ' '\n' | sort | paste -sd ' '; }
# expect_own POD: of one whose containers all have all of its devices.
expect_own() {
  local chosen container
  chosen=$(chosen_for "$1")
  expect "devices in the claim of $1" "$chosen" "$(field "resourceclaim/$(own_claim "$1")" '.status.allocation.devices.results[*].device' | in_words)"
  for container in $(field "pod/$1" '.spec.containers[*].name'); do
    expect "devices in container $container of $1" "$chosen" "$(devices_in "$1" "$container" | in_words)"
  done
}
numa="device.attributes['resource.kubernetes.io'].numaNode"
template by-uuid "{requests: [{name: r, $(exactly "selectors: [{cel: {expression: \"device.attributes['$DRA'].uuid == 'GPU-node-b-5'\"}}]")}]}"
of_template by-uuid
runs by-uuid
expect "the device of that UUID" "node-b:5" "$(allocated by-uuid)"
template all "{requests: [{name: r, $(exactly "allocationMode: All, selectors: [{cel: {expression: \"$numa == 1\"}}]")}]}"
of_template all
runs all
expect "all of one half of a node" "node-a:4,5,6,7" "$(allocated all)"
template two "{requests: [{name: r, $(exactly 'count: 2')}], constraints: [{matchAttribute: resource.kubernetes.io/numaNode}]}"
of_template two
runs two
expect_like "two of one half" '^node-(a:(0,1|0,2|0,3|1,2|1,3|2,3)|b:(0,1|0,2|0,3|1,2|1,3|2,3|4,6|4,7|6,7))$' "$(allocated two)"
template one "{requests: [{name: r, $(exactly '')}]}"
template roomy "{requests: [{name: r, $(exactly "selectors: [{cel: {expression: \"device.capacity['$DRA'].memory.compareTo(quantity('40Gi')) >= 0\"}}]")}]}"
template either "{requests: [{name: r, firstAvailable: [{name: many, deviceClassName: $DRA, count: 9}, {name: one, deviceClassName: $DRA}]}]}"
template sides "{requests: [{name: left, $(exactly '')}, {name: right, $(exactly '')}]}"
template tuned "{requests: [{name: r, $(exactly '')}], config: [{opaque: {driver: $DRA, parameters: {apiVersion: $DRA/v1, kind: Tuning}}}]}"
for shape in one roomy either tuned; do of_template $shape; done
of_template sides "[{name: left, image: 'work:testbed', resources: {claims: [{name: gpus, request: left}]}}, {name: right, image: 'work:testbed', resources: {claims: [{name: gpus, request: right}]}}]"
claiming shared "resourceClaimTemplateName: one" "[{name: left, image: 'work:testbed', resources: {claims: [{name: gpus}]}}, {name: right, image: 'work:testbed', resources: {claims: [{name: gpus}]}}]"
create <<YAML
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: mine}
spec: {devices: {requests: [{name: r, $(exactly '')}]}}
YAML
claiming named "resourceClaimName: mine"
for shape in one roomy either tuned sides shared named; do runs $shape; done
for shape in by-uuid all two one roomy either tuned shared named; do expect_own $shape; done
expect "both sides" "$(chosen_for sides)" "$(echo "$(devices_in sides left) $(devices_in sides right)" | in_words)"
expect "the way that was taken" r/one "$(field "resourceclaim/$(own_claim either)" '.status.allocation.devices.results[*].request')"
expect "what the driver is told besides" FromClaim "$(field "resourceclaim/$(own_claim tuned)" '.status.allocation.devices.config[*].source')"
expect "GPUs that several pods have" "" "$(kubectl get pods -o json | jq -r '.items[].metadata.annotations["gpu.scheduling/allocated"] | split(":") as [$node, $ids]
  | $ids | split(",")[] | "\($node) \(.)"' | sort | uniq -d)"
claiming named-too "resourceClaimName: mine"
runs named-too # it shares what the first one was allocated
expect_own named-too
expect "where both are" "$(allocated named)" "$(allocated named-too)"
expect "for whom the claim is reserved" "named named-too" "$(field resourceclaim/mine '.status.reservedFor[*].name' | in_words)"
kubectl delete pod named >/dev/null
eventually "for whom the claim is reserved" named-too field resourceclaim/mine '.status.reservedFor[*].name'
expect_own named-too
kubectl delete pod named-too >/dev/null
kubectl delete resourceclaim mine >/dev/null # it waits until the finalizer is gone, which is the controller's to take off

step "a driver that is away: the pod starts when it is back, without the kubelet's minute"
kubectl delete pods --all >/dev/null
kill_dra node-a
kill_dra node-b
pod late '' command "$RUNS" limits "$(gpus 1)" | create
eventually_like "why it does not start" 'gpu.nvidia.com|no relationship found' events_of late FailedPrepareDynamicResources
expect "its phase" Pending "$(field pod/late .status.phase)"
start_dra node-a
start_dra node-b
began=${EPOCHREALTIME/./}
runs late
note "it runs $(elapsed_ms "$began") ms after the drivers were back"
expect_one_thing late

step "a device plugin beside the driver: no pod goes there, and the sentence"
kubectl delete pods --all >/dev/null
for node in node-a node-b; do
  kubectl patch node $node --subresource=status --type=merge -p '{"status": {"capacity": {"nvidia.com/gpu": "8"}, "allocatable": {"nvidia.com/gpu": "8"}}}' >/dev/null
done
pod both '' command "$RUNS" limits "$(gpus 1)" | create
expect_waiting both 'offered nvidia.com/gpu by a device plugin and by a DRA driver: one of them must go'

step "no driver any more: there is nothing to be said of the nodes"
for node in node-a node-b; do end_helper "dra-$node"; done
kubectl delete resourceslices --all >/dev/null
eventually "GpuNodeStatuses" "" kubectl get gns -o name

step "the role allows all that was asked for"
kubectl delete pods --all >/dev/null
eventually "claims" "" kubectl get resourceclaims -o name
eventually_leases ""
used() { provider_audit | grep -E '[.]resource[.]k8s[.]io |gpunodestatuses[.]' | awk '{ print $1, $2, $3, $6 }' | sort -u; }
expect "requests that were refused" "" "$(used | grep ' 403$' || true)" # grep fails where there are none, as there should be
note "$(used | awk '{ print $1, $2, $3 }' | sort -u | paste -sd ';')"
# What the case rbac leaves to this one.
expect "writes of GpuNodeStatuses" "create - delete - patch status" \
  "$(provider_audit | awk '$2 == "gpunodestatuses.gpu.scheduling" && $1 != "list" && $1 != "watch" { print $1, $3 }' | sort -u | paste -sd ' ')"
stop_scheduler $lead
