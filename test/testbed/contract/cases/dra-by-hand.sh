# shellcheck shell=bash disable=SC2016 # what pods expand
# Real server only: pods run.
# By name only: it shows that the testbed works, and runs none of our programs.
# Kubernetes: newest
# Needs: nodes dra-driver
# Two real nodes of the newest Kubernetes, a DRA driver on each. Pods ask for nvidia.com/gpu as ever; the case
# is the scheduler, with curl, and gives each of them exact devices by four writes: the claim, its name in the
# pod's status, the allocation, the Binding. Containers see those devices and no others; driver, kubelet and
# API say the same. Nothing starts before its claim is allocated, after it was taken back, or while the driver
# is away.

# shellcheck source=../dra.sh
source "$CONTRACT/dra.sh"

ASKS='"nvidia.com/gpu": 1'

# --- the scheduler: what it writes -----------------------------------------------------------------------

# send METHOD PATH [TYPE]: stdin, as the scheduler's account. Prints the answer, and fails unless it is 2xx.
send() {
  local answer
  answer=$(curl --silent --show-error --max-time 20 --cacert "$CASE_DIR/cluster/pki/ca.crt" --request "$1" \
    --header "Authorization: Bearer $TOKEN" --header "Content-Type: ${3:-application/json}" --data-binary @- \
    --write-out '\n%{http_code}' "$(<"$CASE_DIR/cluster/server")$2")
  if [[ ${answer##*$'\n'} != 2* ]]; then
    echo "$1 $2: ${answer##*$'\n'} $(jq -r .message <<<"${answer%$'\n'*}")" >&2
    return 1
  fi
  echo "${answer%$'\n'*}"
}
PODS=/api/v1/namespaces/default/pods
CLAIMS=/apis/resource.k8s.io/v1/namespaces/default/resourceclaims
claim_of() { echo "gpu-$(uid_of "pod/$1")"; }

# post_claim POD REQUEST...: one device for each request.
post_claim() {
  jq -n --arg pod "$1" --arg uid "$(uid_of "pod/$1")" --arg class "$DRA" '{
    apiVersion: "resource.k8s.io/v1", kind: "ResourceClaim",
    metadata: {
      name: "gpu-\($uid)", namespace: "default",
      annotations: {"resource.kubernetes.io/extended-resource-claim": "true"},
      finalizers: ["resource.kubernetes.io/delete-protection"],
      ownerReferences: [{apiVersion: "v1", kind: "Pod", name: $pod, uid: $uid, controller: true}]},
    spec: {devices: {requests: [$ARGS.positional[] | {
      name: ., exactly: {deviceClassName: $class, allocationMode: "ExactCount", count: 1}}]}}}' --args "${@:2}" |
    send POST "$CLAIMS" >/dev/null
}

# map_pod POD CONTAINER=REQUEST...: prints the resourceVersion for the Binding. The answer has to have the
# mapping: a server that doesn't know the field drops it silently.
map_pod() {
  local wanted answer
  wanted=$(jq -nc '[$ARGS.positional[] | split("=") | {
    containerName: .[0], resourceName: "nvidia.com/gpu", requestName: .[1]}]' --args "${@:2}")
  answer=$(jq -n --arg uid "$(uid_of "pod/$1")" --argjson mappings "$wanted" '{
    metadata: {uid: $uid, annotations: {"gpu.scheduling/fence": "f-1"}},
    status: {extendedResourceClaimStatus: {resourceClaimName: "gpu-\($uid)", requestMappings: $mappings}}}' |
    send PATCH "$PODS/$1/status" application/merge-patch+json)
  expect "mappings in the answer" "$(jq -cS . <<<"$wanted")" "$(jq -cS .status.extendedResourceClaimStatus.requestMappings <<<"$answer")"
  jq -r .metadata.resourceVersion <<<"$answer"
}

# allocation POD NODE REQUEST=DEVICE...: its claim as it is to be PUT, with the resourceVersion of now.
allocation() {
  send GET "$CLAIMS/$(claim_of "$1")" </dev/null |
    jq --arg node "$2" --arg pod "$1" --arg uid "$(uid_of "pod/$1")" --arg driver "$DRA" '.status = {
      allocation: {
        devices: {results: [$ARGS.positional[] | split("=") | {request: .[0], driver: $driver, pool: $node, device: .[1]}]},
        nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: "metadata.name", operator: "In", values: [$node]}]}]}},
      reservedFor: [{resource: "pods", name: $pod, uid: $uid}]}' --args "${@:3}"
}
put_status() { send PUT "$CLAIMS/$(claim_of "$1")/status" >/dev/null; } # POD; stdin is the claim
allocate() { allocation "$@" | put_status "$1"; }
take_back() { send GET "$CLAIMS/$(claim_of "$1")" </dev/null | jq '.status = {}' | put_status "$1"; }

# bind_pod POD NODE RESOURCE-VERSION
bind_pod() {
  jq -n --arg pod "$1" --arg node "$2" --arg version "$3" --arg uid "$(uid_of "pod/$1")" '{
    apiVersion: "v1", kind: "Binding", metadata: {name: $pod, namespace: "default", uid: $uid, resourceVersion: $version},
    target: {apiVersion: "v1", kind: "Node", name: $node}}' | send POST "$PODS/$1/binding" >/dev/null
}

# give POD NODE DEVICE: the four writes, for a pod with one container.
give() {
  local version
  post_claim "$1" container-0-request-0
  version=$(map_pod "$1" main=container-0-request-0)
  allocate "$1" "$2" "container-0-request-0=$3"
  bind_pod "$1" "$2" "$version"
}

# Any change of the pod makes the kubelet try again at once; by itself it waits a minute.
NUDGES=0
nudge() {
  NUDGES=$((NUDGES + 1))
  send PATCH "$PODS/$1/status" application/merge-patch+json <<<'{"metadata": {"annotations": {"gpu.scheduling/nudge": "n-'"$NUDGES"'"}}}' >/dev/null
}

# runs_nudged POD: nudged once, and again when nothing has come of it for 5 s. (For a moment the API server
# may not yet let a kubelet read a claim; what failed once waits.)
runs_nudged() {
  local began=${EPOCHREALTIME/./} before=$NUDGES
  until [[ $(state_of_pod "$1") == "Running true" ]]; do
    (($(elapsed_ms "$began") < PATIENCE * 1000)) || fail "pod $1 is not running: $(tries_of "$1")"
    if (($(elapsed_ms "$began") >= (NUDGES - before) * 5000)); then nudge "$1"; fi
    expect_running
    sleep 0.1
  done
  note "$1 runs $(elapsed_ms "$began") ms after the nudge (nudges: $((NUDGES - before)))"
}

# runs_unasked POD: by itself; but where the API server did not let the kubelet read the claim in time, it is
# nudged.
runs_unasked() {
  eventually_like "$1 runs or has to be nudged" '^Running true|no relationship found' state_or_trouble "$1"
  if [[ $(state_of_pod "$1") != "Running true" ]]; then runs_nudged "$1"; fi
}
state_or_trouble() { echo "$(state_of_pod "$1") $(tries_of "$1")"; }

# --- what is seen -----------------------------------------------------------------------------------------

# Starts at once, and ends at once when told to.
RUNS='exec work'
devices_in() { kubectl exec "$1" -c "${2:-main}" -- sh -c 'cd /dev && echo gpu*'; }
tries_of() { events_of "$1" FailedPrepareDynamicResources; }
# How often the kubelet tried in vain.
times_tried() { kubectl get events --field-selector "involvedObject.name=$1,reason=FailedPrepareDynamicResources" -o json | jq '[.items[].count // 1] | add // 0'; }
last_call() { dra_calls "$@" | tail -n 1; }
allocated_in() { field "resourceclaim/$(claim_of "$1")" '.status.allocation.devices.results[*].device'; }

# does_not_start POD REGEX: the kubelet tried, and says why not; nudged it tries again, and there is no
# container still.
does_not_start() {
  local before
  eventually_like "why $1 does not start" "$2" tries_of "$1"
  before=$(times_tried "$1")
  nudge "$1"
  eventually_at_least "tries to start $1" $((before + 1)) times_tried "$1"
  expect "phase of $1, and when its container began" "Pending/" "$(field "pod/$1" '.status.phase}/{.status.containerStatuses[*].state.running.startedAt')"
  note "$1 does not start: $(tries_of "$1" | tail -n 1)"
}

# expect_given POD NODE DEVICE...: pod of one container. Claim, driver, kubelet and container say the same.
expect_given() {
  local pod=$1 node=$2 claim
  claim=$(claim_of "$pod")
  expect "devices in the claim's status" "${*:3}" "$(allocated_in "$pod")"
  expect "devices in the container" "${*:3}" "$(devices_in "$pod" | sed 's/gpu/gpu-/g')"
  expect_output "what the driver was asked last" "prepare $claim $3 ok" last_call "$node" "$claim"
  expect "PodResources" "$(printf "main $claim $node %s\n" "${@:3}")" "$(pod_resources "$node" "$pod")"
  note "$pod: container $(devices_in "$pod"); driver: $(dra_calls "$node" "$claim" | tail -n 1); PodResources: $(pod_resources "$node" "$pod"); claim: $(allocated_in "$pod")"
}

# --- the case ---------------------------------------------------------------------------------------------

step "two nodes of the newest Kubernetes are Ready, and the driver of each publishes 8 GPUs"
provider_up --kubelets 2 2>>"$CASE_DIR/up.log"
note "$(sed -n 's/^testbed: ready at [^ ]* after/up after/p' "$CASE_DIR/up.log")"
expect "versions of the kubelets" "$KUBERNETES_VERSION $KUBERNETES_VERSION" "$(kubectl get nodes -o jsonpath='{.items[*].status.nodeInfo.kubeletVersion}')"
dra_cluster
start_dra node-a
start_dra node-b
for node in node-a node-b; do eventually "slices of $node" "1/1 gpu-0,gpu-1,gpu-2,gpu-3,gpu-4,gpu-5,gpu-6,gpu-7" slices_of $node; done
attributes() {
  kubectl get resourceslices -o json | jq -c '.items[].spec | select(.nodeName == "node-a").devices[] | select(.name == "gpu-5") |
    [(.attributes | .uuid.string, .["resource.kubernetes.io/pciBusID"].string, .["resource.kubernetes.io/numaNode"].int), .capacity.memory.value]'
}
expect "what is said of a GPU" '["GPU-node-a-5","0000:15:00.0",1,"80Gi"]' "$(attributes)"

# What a scheduler needs, and no more: that nothing is forbidden is the last step.
create <<'YAML'
apiVersion: v1
kind: ServiceAccount
metadata: {name: gpu-scheduler, namespace: default}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: by-hand}
rules:
- {apiGroups: [resource.k8s.io], resources: [resourceclaims], verbs: [get, create]}
- {apiGroups: [resource.k8s.io], resources: [resourceclaims/status, resourceclaims/binding], verbs: [update]}
- {apiGroups: [""], resources: [pods/status], verbs: [patch]} # the nudge too
- {apiGroups: [""], resources: [pods/binding], verbs: [create]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: by-hand}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: by-hand}
subjects: [{kind: ServiceAccount, name: gpu-scheduler, namespace: default}]
YAML
TOKEN=$(kubectl create token gpu-scheduler)

step "four writes: the container has gpu-3 and no other; driver, PodResources and claim say the same"
pod one '' command "$RUNS" limits "$ASKS" | create
give one node-a gpu-3
began=${EPOCHREALTIME/./}
runs_unasked one
note "it runs $(elapsed_ms "$began") ms after its Binding"
expect_given one node-a gpu-3
expect_output "what the other driver was asked" "" dra_calls node-b

step "a Binding before the allocation: nothing starts, until the claim is allocated and the pod nudged"
pod early '' command "$RUNS" limits "$ASKS" | create
post_claim early container-0-request-0
version=$(map_pod early main=container-0-request-0)
bind_pod early node-a "$version"
does_not_start early 'is not allowed to use ResourceClaim|no relationship found'
expect_output "what the driver was asked" "" dra_calls node-a "$(claim_of early)"
allocate early node-a container-0-request-0=gpu-4
runs_nudged early
expect_given early node-a gpu-4

step "undo: the status emptied, a stale allocation is refused, and a Binding that comes late starts nothing"
pod undone '' command "$RUNS" limits "$ASKS" | create
post_claim undone container-0-request-0
version=$(map_pod undone main=container-0-request-0)
allocation undone node-b container-0-request-0=gpu-2 >"$CASE_DIR/stale.json"
put_status undone <"$CASE_DIR/stale.json"
take_back undone
stale() { put_status undone <"$CASE_DIR/stale.json"; }
expect_refused "the allocation of before" ' 409 .*the object has been modified' stale
bind_pod undone node-b "$version"
expect "its node" node-b "$(node_of undone)"
does_not_start undone 'is not allowed to use ResourceClaim|no relationship found'
expect_output "what the driver was asked" "" dra_calls node-b "$(claim_of undone)"

step "allocated again, another device, and nudged, that pod runs"
allocate undone node-b container-0-request-0=gpu-5
runs_nudged undone
expect_given undone node-b gpu-5

step "two requests, two containers: each has its own device"
create <<'YAML'
apiVersion: v1
kind: Pod
metadata: {name: two}
spec:
  schedulerName: gpu-scheduler
  containers:
  - {name: left, image: "work:testbed", resources: {limits: {nvidia.com/gpu: 1}}}
  - {name: right, image: "work:testbed", resources: {limits: {nvidia.com/gpu: 1}}}
YAML
post_claim two container-0-request-0 container-1-request-0
version=$(map_pod two left=container-0-request-0 right=container-1-request-0)
allocate two node-a container-0-request-0=gpu-6 container-1-request-0=gpu-1
bind_pod two node-a "$version"
runs_unasked two
eventually "readiness of both" "true true" field pod/two '.status.containerStatuses[*].ready'
expect "devices in the left one" gpu6 "$(devices_in two left)"
expect "devices in the right one" gpu1 "$(devices_in two right)"
claim=$(claim_of two)
expect "what the driver was asked" "prepare $claim gpu-6,gpu-1 ok" "$(dra_calls node-a "$claim")"
note "left $(devices_in two left), right $(devices_in two right); PodResources: $(pod_resources node-a two | sed "s/ $claim node-a / /" | paste -sd ';')"
# For each container of the pod the kubelet names every device of the claim.
expect "PodResources" "$(printf '%s\n' left\ gpu-{1,6} right\ gpu-{1,6})" "$(pod_resources node-a two | sed "s/ $claim node-a / /" | sort)"

step "the driver is away: nothing starts; it is back, and a nudge later it does"
kill_dra node-b
pod away '' command "$RUNS" limits "$ASKS" | create
give away node-b gpu-0
does_not_start away 'gpu.example.com|no relationship found'
start_dra node-b
runs_nudged away
expect_given away node-b gpu-0
expect "devices of one that was there before" gpu5 "$(devices_in undone)"

step "a driver that was started again refuses a device that another claim has, and names both"
kill_dra node-a
start_dra node-a
pod thief '' command "$RUNS" limits "$ASKS" | create
give thief node-a gpu-3
owner=$(claim_of one)
does_not_start thief "gpu-3 is prepared for claim default/$owner .*: not for claim default/$(claim_of thief) "
kubectl delete pod one >/dev/null
eventually "the last call about the claim of the other" "unprepare $owner gpu-3 ok" last_call node-a "$owner"
runs_nudged thief
expect_given thief node-a gpu-3

step "the driver does wrong what it is told: no, an error, late, not at all"
pod faulty '' command "$RUNS" limits "$ASKS" | create
fault node-b deny-gpu-7
give faulty node-b gpu-7
does_not_start faulty 'told to deny gpu-7'
fault node-b fail "no power"
no_fault node-b deny-gpu-7
does_not_start faulty 'told to deny gpu-7'
eventually_like "why it does not start" 'told to fail: no power' tries_of faulty
fault node-b slow 1
fault node-b hang
no_fault node-b fail
nudge faulty
eventually "the last call" "hang $(claim_of faulty) gpu-7 until told otherwise" last_call node-b "$(claim_of faulty)"
expect "its phase" Pending "$(field pod/faulty .status.phase)"
no_fault node-b hang
runs faulty
no_fault node-b slow
expect_given faulty node-b gpu-7

step "what is published: devices that vanish and have taints, and a generation that is not whole"
all=gpu-0,gpu-1,gpu-2,gpu-3,gpu-4,gpu-5,gpu-6,gpu-7
fault node-b vanish-gpu-7
fault node-b taint-gpu-2 NoSchedule
fault node-b taint-gpu-3 NoExecute
eventually "slices" "1/1 gpu-0,gpu-1,gpu-2:NoSchedule,gpu-3:NoExecute,gpu-4,gpu-5,gpu-6" slices_of node-b
no_fault node-b vanish-gpu-7
no_fault node-b taint-gpu-2
no_fault node-b taint-gpu-3
eventually "slices" "1/1 $all" slices_of node-b
fault node-b generation 1
eventually "slices" "1/1 $all"$'\n'"2/2 gpu-0,gpu-1,gpu-2,gpu-3" slices_of node-b
fault node-b generation 2
eventually "slices" $'2/2 gpu-0,gpu-1,gpu-2,gpu-3\n2/2 gpu-4,gpu-5,gpu-6,gpu-7' slices_of node-b
no_fault node-b generation
eventually "slices" "3/1 $all" slices_of node-b
kubectl delete resourceslices --all >/dev/null
for node in node-a node-b; do eventually "slices of $node, deleted and published again" "1/1 $all" slices_of $node; done

step "the pods are deleted: their claims go, and the drivers have unprepared all of them"
kubectl delete pods --all >/dev/null
eventually "claims" "" kubectl get resourceclaims -o name
for node in node-a node-b; do
  eventually "claims that the driver of $node has" '{}' provider_on_node $node cat "/var/lib/kubelet/plugins/$DRA/checkpoint.json"
done
for node in node-a node-b; do end_helper "dra-$node"; done
