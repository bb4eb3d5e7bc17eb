# shellcheck shell=bash
# Bad claims, claims that come, change and go, and the other ways in which a pod asks: each is served, or answered with
# a text that names the field, the value and the fix.

# refused WHAT REGEX DEVICES [SPEC]: the schema does not let the claim in.
refused() {
  local manifest
  manifest=$(claim bad "${@:3}")
  expect_refused "$1" "$2" kubectl apply -f - <<<"$manifest"
}

step "claims of an ancestor's CRD, which lets everything in, then our CRDs"
provider_up 2>>"$CASE_DIR/up.log"
install_crds "$CONTRACT/manifests/ancestor-crd.yaml"
{ claim old-zero 'count: 0'
  claim old-negative 'count: -1'
  claim old-huge 'count: 1000000000'
  claim old-policy 'count: 1, policy: x'
  claim old-minus 'count: 1, policy: preferIds, preferIds: [-1]'
  claim old-twice 'count: 1, policy: preferIds, preferIds: [1, 1]'
  claim old-exclusivity 'count: 1, exclusivity: Mine'
  claim old-mode 'count: 1' 'topology: {mode: Sometimes}'
  claim old-good 'count: 1'; } | create
install_crds "$CRDS"
"$TESTBED/nodes"
scheduler_account
run_scheduler scheduler

step "the schema refuses bad claims, naming the field"
refused "count 0" 'spec.devices.count: Invalid value: 0: .* should be greater than or equal to 1' 'count: 0'
refused "count -1" 'spec.devices.count: Invalid value: -1: .* should be greater than or equal to 1' 'count: -1'
refused "count 10^9" 'spec.devices.count: Invalid value: 1000000000: .* should be less than or equal to 1024' 'count: 1000000000'
refused "policy x" 'spec.devices.policy: Unsupported value: "x": supported values: "contiguous", "spread", "preferIds"' 'policy: x'
refused "a negative id" 'spec.devices.preferIds\[0\]: Invalid value: -1: .* should be greater than or equal to 0' 'policy: preferIds, preferIds: [-1]'
refused "an id twice" 'spec.devices.preferIds\[1\]: Duplicate value: 1' 'policy: preferIds, preferIds: [1, 1]'
refused "exclusivity Mine" 'spec.devices.exclusivity: Unsupported value: "Mine"' 'exclusivity: Mine'
refused "an unknown field" 'unknown field "spec.devices.cuont"' 'cuont: 1'
refused "no whole number" 'spec.devices.count: Invalid value: "string"' 'count: "2"'
expect "claims that got in" 9 "$(kubectl get gclaim -o name | wc -l)"

step "defaults: count 1, contiguous, Exclusive; topology only where it is given"
kubectl apply -f - >/dev/null <<YAML
{apiVersion: gpu.scheduling/v1, kind: GpuClaim, metadata: {name: bare}, spec: {}}
YAML
expect "defaults" '{"devices":{"count":1,"exclusivity":"Exclusive","policy":"contiguous"}}' "$(field gclaim/bare .spec)"
claim topology 'count: 2' 'topology: {minBandwidthGBps: 100}' | create
expect "topology" Preferred "$(field gclaim/topology .spec.topology.mode)"

step "bad claims that were there before are answered on their status and on their pods"
# answered CLAIM REGEX
answered() {
  pod "$1" "$1" | create
  expect_told InvalidRequest "$1" "gpuclaim \"$1\" is invalid: $2"
  eventually_like "status of claim $1" "^Failed $2" field "gclaim/$1" '.status.phase} {.status.message'
}
answered old-zero 'spec.devices.count is 0: write a whole number from 1 to 1024'
answered old-negative 'spec.devices.count is -1: write a whole number from 1 to 1024'
answered old-huge 'spec.devices.count is 1000000000: write a whole number from 1 to 1024'
answered old-policy 'spec.devices.policy is "x": write one of contiguous, spread, preferIds'
answered old-minus 'spec.devices.preferIds\[\] is -1: write GPU ids from 0 on'
answered old-twice 'spec.devices.preferIds\[\] is 1: the id is there twice'
answered old-exclusivity 'spec.devices.exclusivity is "Mine": write Exclusive or Shared'
answered old-mode 'spec.topology.mode is "Sometimes": write Required, Preferred or Ignore'
pod old-good old-good | create
eventually_like "other work goes on" '^node-' allocated old-good
kubectl patch gclaim old-zero --type=merge -p '{"spec": {"devices": {"count": 1}}}' >/dev/null
eventually_like "a claim that was put right" '^node-' allocated old-zero
expect_sound
delete_pods --all
kubectl delete gclaim --all >/dev/null
eventually_leases ""

step "a claim that arrives later is taken up when it comes"
pod early later | create
expect_told ClaimNotFound early 'gpuclaim "later" not found in namespace default'
claim later 'count: 2' | create
eventually_like "allocation" '^node-[ab]:[0-9],[0-9]$' allocated early
got=$(allocated early)

step "a claim that changes or goes: a running pod keeps its GPUs, a waiting one follows"
kubectl patch gclaim later --type=merge -p '{"spec": {"devices": {"count": 64}}}' >/dev/null
pod follower later | create
expect_waiting follower 'need 64 and the largest has 8'
expect "the running pod has" "$got" "$(allocated early)"
kubectl patch gclaim later --type=merge -p '{"spec": {"devices": {"count": 1}}}' >/dev/null
eventually_like "the waiting one" '^node-[ab]:[0-9]$' allocated follower
held=$(gpu_leases)
kubectl delete gclaim later >/dev/null
pod orphan later | create
expect_told ClaimNotFound orphan 'gpuclaim "later" not found'
expect "leases of those that run" "$held" "$(gpu_leases)"
expect "the running pod has" "$got" "$(allocated early)"
expect_sound
delete_pods --all
eventually_leases ""

step "a pod that asks in two ways is refused with both names"
claim one 'count: 1' | create
pod two-doors one annotations 'gpu-scheduling-map: "0=node-a:0"' | create
expect_told InvalidRequest two-doors 'gpu\.scheduling/claim.*gpu-scheduling-map'
pod limit one limits 'nvidia.com/gpu: 2' | create
expect_told InvalidRequest limit 'nvidia.com/gpu"?\]?=2 .*claim one has spec.devices.count=1'
claim shared 'count: 1, exclusivity: Shared' | create
pod shared-limit shared limits 'nvidia.com/gpu: 1' | create
expect_told InvalidRequest shared-limit 'claim shared is Shared.*nvidia.com/gpu'
claim gang 'count: 1' 'gangRef: g' | create
pod gang gang | create
expect_told NotSupported gang 'gangs are not supported yet'
claim mig 'count: 1, exclusivity: MIG' | create
pod mig mig | create
expect_told InvalidRequest mig 'MIG partitions are not supported yet'
eventually "phase of the MIG claim" Failed field gclaim/mig .status.phase

step "a node that the pod does not want refuses it in kube-scheduler's words"
affinity='nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]}}'
pod affine one spec "affinity: {$affinity}" | create
expect_waiting affine "didn't match Pod's node affinity/selector"

step "nodes without the label of a spread constraint refuse it in kube-scheduler's words"
pod spread '' spec 'topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {}}]' | create
expect_waiting spread "didn't match pod topology spread constraints \(missing required label\)"

step "a gated pod is left alone until the gate is gone"
pod gated one spec 'schedulingGates: [{name: example.com/gate}]' | create
pod after-gated one | create
eventually_like "a pod created after it" '^node-' allocated after-gated
expect "the gated pod's condition is the API server's" SchedulingGated "$(waits gated)"
expect_output "node of the gated pod" "" node_of gated
kubectl patch pod gated --type=merge -p '{"spec": {"schedulingGates": null}}' >/dev/null
eventually_like "allocation when the gate is gone" '^node-' allocated gated
expect_sound
delete_pods --all
eventually_leases ""

step "plain nvidia.com/gpu gets exact ids; an ordinary pod gets a node and no GPU"
pod plain '' limits 'nvidia.com/gpu: 2' | create
eventually_like "allocation" '^node-[ab]:[0-9],[0-9]$' allocated plain
eventually "leases" 2 lease_count
pod ordinary | create
eventually_like "node of the ordinary pod" '^node-[ab]$' node_of ordinary
expect_output "its annotations" "" field pod/ordinary .metadata.annotations
expect_sound

step "where the agent gives containers no GPUs, nvidia.com/gpu is counted: no ids, no lease, and a claim finds as many fewer"
"$TESTBED/load" nodes --name node-c --gpus 2 --enforcement env
leases_before=$(lease_count)
{ pod counted '' limits 'nvidia.com/gpu: 1' spec 'nodeSelector: {kubernetes.io/hostname: node-c}'
  claim c-two 'count: 2' "$(on node-c)"; } | create
eventually "node" node-c node_of counted
expect_output "allocation" "" allocated counted
expect "leases" "$leases_before" "$(lease_count)"
pod beside c-two | create
expect_told WaitsForNode beside 'need 2 and most free is 1'
delete_pods counted
expect_allocated beside node-c:0,1
delete_pods beside
kubectl delete gpunodestatus/node-c node/node-c >/dev/null
expect_sound

step "what the rest of a pod asks for counts: cpu, node selector, taint, unschedulable node"
pod cpu '' limits 'cpu: 1000' | create
expect_waiting cpu '^0/2 nodes are available: 2 Insufficient cpu\.$'
pod selector '' spec 'nodeSelector: {disk: ssd}' | create
expect_waiting selector "2 node\(s\) didn't match Pod's node affinity/selector"
kubectl taint node node-a dedicated=x:NoSchedule >/dev/null
kubectl cordon node-b >/dev/null
pod tainted one | create
expect_waiting tainted '^0/2 nodes are available: 1 node\(s\) had untolerated taint \{dedicated: x\}, 1 node\(s\) were unschedulable\.$'
pod tolerant one spec 'tolerations: [{key: dedicated, operator: Exists}]' | create
eventually_like "a pod that tolerates it" '^node-a:' allocated tolerant
kubectl uncordon node-b >/dev/null
eventually_like "when the node is back" '^node-b:' allocated tainted
kubectl label node node-a disk=ssd >/dev/null
kubectl taint node node-a dedicated- >/dev/null
eventually "when a node has the label" node-a node_of selector
expect_sound
