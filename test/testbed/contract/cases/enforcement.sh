# shellcheck shell=bash disable=SC2016 # what pods expand
# Real server only: pods run.
# Needs: nodes kube-scheduler device-plugin nri-plugin dra-driver
# Two real nodes with containerd 2.2, a device plugin that hands out other GPUs than were chosen, by each strategy of NVIDIA's,
# and our agents with --enforce=devices. What was chosen is what the container has: for 200 containers that come and go
# (GS_ENFORCEMENT_CONTAINERS=10000 by hand), beside pods of kube-scheduler's. Then the agent, containerd and the kubelet are killed,
# also in the middle of a container's creation: with the gate nothing starts unasked, and what does without it is found.

# shellcheck source=../enforcement.sh
source "$CONTRACT/enforcement.sh"
# shellcheck source=../webhook.sh
source "$CONTRACT/webhook.sh"
SCHEDULER_ACCOUNT=system:serviceaccount:default:gpu-scheduler-agent # whose requests are looked at
PORT=8443
STRATEGIES=(envvar volume-mounts cdi-annotations cdi-cri device-specs)

gates_of() { field "pod/$1" '.spec.volumes[?(@.csi.driver=="gate.gpu.scheduling")].name'; }
# kill_part PART NODE, start_part PART NODE: PART is agent, containerd or kubelet.
kill_part() {
  registered=$(times_said "plugin-$2.log" registered)
  if [[ $1 == agent ]]; then kill_agent "$2"; else provider_component kill "$1-$2"; fi
}
start_part() {
  if [[ $1 == agent ]]; then start_agent "$2"; else provider_component start "$1-$2"; fi
  if [[ $1 == kubelet ]]; then
    # It has thrown the device plugin's socket away.
    eventually_at_least "registrations of the device plugin on $2" $((registered + 1)) times_said "plugin-$2.log" registered
    eventually "Ready of $2" True readiness_of "$2"
  fi
}
# A kubelet that starts again rejects a pod whose containers do not run yet, while the device plugin is not back.
settled() { eventually_like "state of pod $1" '^(Running true|Failed .*)$' state_of_pod "$1"; }
end_pods() { kubectl delete pods --all --wait=true >/dev/null; }

step "two nodes with eight GPUs each: a driver, agents that enforce, gpu-scheduler, kube-scheduler and the webhook"
provider_up --kubelets 2 --kube-scheduler 2>>"$CASE_DIR/up.log"
install_crds "$CRDS"
scheduler_account
gpu_images
cat >"$CASE_DIR/nodes.yaml" <<'YAML'
nodes:
- {name: node-a, gpus: {count: 8, model: NVIDIA-A100-SXM4-80GB}}
- {name: node-b, gpus: {count: 8, model: NVIDIA-A100-SXM4-80GB}}
YAML
agent_cluster
for node in "${NODES[@]}"; do
  make_gpus "$node"
  start_agent "$node"
  agent_pod "$node"
done
run_scheduler scheduler
webhook_cluster $PORT 10.250.0.1
run_webhook webhook $PORT --gate
eventually "GPUs that the agents see" "8 8" field gns '.items[*].status.total'
for node in "${NODES[@]}"; do
  list_gpus "$node"
  nvidia_ctk "$node"
done

step "device plugins offer them: one with CDI devices of its own, one with those of nvidia-ctk; the status says that devices are enforced"
strategy envvar
start_device_plugin node-a --cdi-dir=/var/run/cdi
start_device_plugin node-b --cdi-kind=nvidia.com/gpu
eventually "GPUs that the nodes offer" "8 8" field nodes '.items[*].status.allocatable.nvidia\.com/gpu'
for node in "${NODES[@]}"; do eventually_enforces "$node"; done
eventually "enforcement" "devices devices" field gns '.items[*].status.enforcement'

step "the guide's first example, unchanged: its container has the GPU of the annotation and the lease, and no other"
kubectl apply -f "$REPO/examples/single-gpu.yaml" >/dev/null
eventually "phase of gpu-test" Succeeded field pod/gpu-test .status.phase
node=$(node_of gpu-test) id=$(ids_of gpu-test)
expect "its volume" gpu-scheduling-gate "$(gates_of gpu-test)"
expect_like "what it sees" "^$id - ($(uuid_of "$node" "$id")|0) ($(uuid_of "$node" "$id")|void|none)\$" "$(kubectl logs gpu-test)"
note "it has GPU $id of $node; the device plugin picked $(jq -r 'select(.call == "allocate").devices[]' "$CASE_DIR/plugin-$node.log" | tail -n 1), chosen was $(uuid_of "$node" "$id")"
kubectl delete -f "$REPO/examples/single-gpu.yaml" >/dev/null

# Three pods of ours on each node, of which one has a claim: 6 of 8 GPUs, 36 containers. Beside them, two pods of others with a GPU, and one
# whose image asks for all of them, on each node: 42 containers.
IN_WAVE=42
claim two 'count: 2' | create
ours() {
  local node
  for node in "${NODES[@]}"; do
    several "ours-$1-$node-1" "$node" "$1" two
    several "ours-$1-$node-2" "$node" "$1"
    several "ours-$1-$node-3" "$node" "$1"
  done
}
theirs() {
  local node
  for node in "${NODES[@]}"; do
    gpu_pod "theirs-$1-$node-1" theirs "$node" 1
    gpu_pod "theirs-$1-$node-2" theirs "$node" 1
    gpu_pod "none-$1-$node" theirs "$node" 0 | jq '.spec.containers[0].image = "cuda:testbed"'
  done | jq --arg wave "$1" '.metadata.labels.wave = $wave'
}
# wave NUMBER STRATEGY: ours come first, or the others do.
wave() {
  local number=$1 folder=$CASE_DIR/wave-$1 began=${EPOCHREALTIME/./} pod
  strategy "$2"
  if ((number % 2 == 1)); then
    ours "$number" | create
    eventually "ours that run" 6 running "wave=$number,of=ours"
    theirs "$number" | create
  else
    theirs "$number" | create
    eventually "pods of others that run" 6 running "wave=$number,of=theirs"
    eventually "GPUs of containers of others, as the agents say" 4 named "pod=\"theirs-$number-"
    ours "$number" | create
    eventually "ours that run" 6 running "wave=$number,of=ours"
  fi
  eventually "pods that run" 12 running "wave=$number"
  collect "$folder" "$number" $IN_WAVE
  expect_output "mistakes" "" judge seen "$folder"
  eventually "mistakes in gpu_scheduler_holder" "" holders "$folder"
  pod=ours-$number-node-b-1
  expect "what kubectl exec sees" "$(ids_of "$pod")" "$(sees "$pod" b)"
  expect "the driver's library" "a driver library" "$(kubectl exec "$pod" -c a -- cat /usr/lib/libcuda.so.1)"
  kubectl delete pods -l "wave=$number" >/dev/null
  note "wave $number ($2): $(elapsed_ms "$began") ms, $(jq -r '"the plugin had picked others for \(.picked_others) of \(.pods) pods, \(.moved) of others were moved"' "$folder/figures")"
}
# total FIGURE: of all waves.
total() { cat "$CASE_DIR"/wave-*/figures | jq -s "map(.$1) | add"; }

step "${GS_ENFORCEMENT_CONTAINERS:-200} containers in waves, by each strategy: chosen, leased, said by the metric and seen are the same"
waves=$(((${GS_ENFORCEMENT_CONTAINERS:-200} + IN_WAVE - 1) / IN_WAVE))
for ((number = 1; number <= waves; number++)); do wave $number "${STRATEGIES[(number - 1) % ${#STRATEGIES[@]}]}"; done
note "$(total containers) containers; the device plugin had picked others for $(total picked_others) of $(total pods) pods of ours; $(total moved) containers of others were moved"
(($(total picked_others) > 0)) || fail "the device plugin picked what was chosen each time: nothing was shown"
expect "whether the driver's hook was run" yes "$(provider_on_node node-b test -s $DRIVER/hooked && echo yes)"
# Only said where a container that should not be made was.
expect "containers with others than their own, as the agents say" "0 0" "$(metric node-a gpu_agent_device_mismatch_total) $(metric node-b gpu_agent_device_mismatch_total)"

step "another's NRI plugin gives GPUs to whoever writes its annotation: our agent lets no such container start, and counts it"
# From here on the kubelet's pick is seen in the container, where nobody takes it out.
strategy device-specs
claim one 'count: 1' | create
start_nri_plugin node-a
gpu_pod holds ours node-a 1 one | create
runs holds
expect_own holds
taken=$(uuid_of node-a "$(ids_of holds)")
gpu_pod thief theirs node-a 0 '' '{"nvidia.cdi.k8s.io/container.main": "nvidia.com/gpu='"$taken"'"}' | create
gpu_pod greedy theirs node-a 1 '' '{"nvidia.cdi.k8s.io/pod": "nvidia.com/gpu=7"}' | create
for pod in thief greedy; do
  eventually_like "why $pod does not start" 'nvidia\.cdi\.k8s\.io/.* a GPU that is not the pod' events_of $pod Failed
  expect "readiness of $pod" false "$(field pod/$pod '.status.containerStatuses[0].ready')"
done
eventually_at_least "containers that were refused for it" 2 metric node-a gpu_agent_containers_total '"refused_cdi_annotation"'
kubectl delete pod thief greedy >/dev/null
expect_own holds

step "pods that only say that they have the GPU of another one: the lease counts, behind the gate and without it"
# As whoever may write pods and annotations could make one: it has its node, and no scheduler looked at it.
forged() {
  gpu_pod "$1" theirs node-a 0 '' '{"gpu.scheduling/allocated": "node-a:'"$(ids_of holds)"'", "gpu.scheduling/reservation": "forged"}' |
    jq '.spec.nodeName = "node-a" | del(.spec.nodeSelector)'
}
forged says | create
forged says-gated | jq '.spec.volumes = [{name: "gpu-scheduling-gate", csi: {driver: "gate.gpu.scheduling", readOnly: true}}]
  | .spec.containers[0].volumeMounts = [{name: "gpu-scheduling-gate", mountPath: "/run/gpu-scheduling-gate", readOnly: true}]' | create
eventually_like "why says does not start" 'lease .* and not to this one' events_of says Failed
eventually_like "what the agent says of it" 'lease .* and not to this one' events_of says GpuRefused
eventually_like "why says-gated does not start" 'lease .* and not to this one' events_of says-gated FailedMount
expect "the states of both" "Pending Pending" "$(field pod/says .status.phase) $(field pod/says-gated .status.phase)"
kubectl delete pod says says-gated >/dev/null
expect_own holds

step "no agent on node-a: no pod with GPUs starts there, and its events say at what; pods of others start"
kill_agent node-a
gpu_pod gated ours node-a 1 one | create
gpu_pod passes theirs node-a 1 | create
expect "its volume" gpu-scheduling-gate "$(gates_of gated)"
eventually_like "GPU of gated" '^node-a:[0-7]$' allocated gated
eventually_like "why gated does not start" gpu-scheduling-gate events_of gated FailedMount
runs passes
expect "gated, while others start" "Pending ContainerCreating" "$(field pod/gated '.status.phase} {.status.containerStatuses[0].state.waiting.reason')"
expect_output "containers of gated" "" field pod/gated '.status.containerStatuses[0].containerID'

step "the agent is back: it starts, with its own"
start_agent node-a
eventually_enforces node-a
at=${EPOCHREALTIME/./}
runs gated
note "gated runs $(elapsed_ms "$at") ms after the agent was back"
expect_own gated

step "agent, containerd and kubelet are killed while a container is created: it has its own, or it is found"
for part in agent containerd kubelet; do
  hold "caught-$part"
  gpu_pod "caught-$part" ours node-a 1 one | create
  eventually_at_least "containers of caught-$part that are asked about" 1 times_said nri-node-a.log create "caught-$part"
  kill_part "$part" node-a
  let_go
  start_part "$part" node-a
  eventually_enforces node-a
  settled "caught-$part"
  if [[ $(field "pod/caught-$part" .status.phase) == Failed ]]; then
    expect "the part whose end makes a pod fail" kubelet "$part"
    note "the kubelet rejected caught-kubelet: $(field pod/caught-kubelet .status.reason)"
  else
    own_or_found "caught-$part"
  fi
  # Whoever ran before it keeps what it has.
  expect_own gated
  kubectl delete pod "caught-$part" >/dev/null
done

step "after all that a new pod has its own, and the agent finds nothing wrong but what it has said"
gpu_pod late ours node-a 1 one | create
runs late
expect_own late
expect_output "warnings about late" "" mismatches_of late
end_pods
eventually_leases ""

step "without the gate: what starts while no agent is there is found within 10 s once it is back"
end_helper webhook
run_webhook webhook $PORT
gpu_pod holds ours node-a 1 one | create
runs holds
expect_own holds
kill_agent node-a
gpu_pod ungated ours node-a 1 one | create
runs ungated
expect "its volumes of the gate" "" "$(gates_of ungated)"
[[ $(sees ungated) != "$(ids_of ungated)" ]] || fail "the device plugin picked what was chosen: nothing is shown"
# One of others that is handed what the lease of `holds` has: by the kubelet's books it is free.
pick_first node-a "$(ids_of holds)"
gpu_pod grabs theirs node-a 1 | create
runs grabs
expect "what grabs was handed" "$(ids_of holds)" "$(sees grabs)"
before=$(metric node-b gpu_agent_device_mismatch_total)
start_agent node-a
eventually_enforces node-a
at=${EPOCHREALTIME/./}
PATIENCE=10
eventually_at_least "containers with others than their own" 2 metric node-a gpu_agent_device_mismatch_total
for pod in ungated grabs; do eventually_like "a warning about $pod" '^Warning ' mismatches_of $pod; done
PATIENCE=90
note "both were found $(elapsed_ms "$at") ms after the agent was back"
expect_output "warnings about holds" "" mismatches_of holds
expect "what the agent of node-b found" "$before" "$(metric node-b gpu_agent_device_mismatch_total)"
expect_sound

step "figures"
for node in "${NODES[@]}"; do
  note "$node: since its agent's last start $(metric "$node" gpu_agent_nri_answer_seconds_count) answers to the container runtime, together" \
    "$(metric "$node" gpu_agent_nri_answer_seconds_sum) s; refused $(metric "$node" gpu_agent_containers_total '"refused_')"
done
end_pods
