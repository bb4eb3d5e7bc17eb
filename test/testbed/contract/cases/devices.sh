# shellcheck shell=bash
# GpuNodeStatus that comes, turns unhealthy, shrinks and goes; devices that are still in use after their pod ended;
# nodes that belong to somebody else. No agent runs: its writes are made by hand.

# observe NODE MINUTE [UID]: the agent looks, and sees this pod (or nobody) on GPU 0.
observe() {
  patch_status "$1" '[{"op": "add", "path": "/status/observedTime", "value": "2025-06-01T10:'"$2"':00Z"},
    {"op": "add", "path": "/status/devices/0/inUseBy", "value": ['"${3:+\"$3\"}"']}]'
}
# settled: a pod that was created now is placed, so the scheduler has seen all that was written before.
settled() {
  pod "settled-$1" | create
  eventually_like "a pod created after it" '^node-' node_of "settled-$1"
}

step "a control plane with node-a and node-b, and a scheduler"
new_cluster
run_scheduler scheduler

step "a node without GpuNodeStatus: nvidia.com/gpu is only counted there, a claim waits"
"$TESTBED/load" nodes --name node-c --gpus 2 --gpu-status=false
pod counted '' limits 'nvidia.com/gpu: 1' spec 'nodeSelector: {kubernetes.io/hostname: node-c}' | create
eventually "node" node-c node_of counted
expect_output "allocation" "" allocated counted
expect_output "leases" "" gpu_leases
{ claim c-one 'count: 1' "$(on node-c)"; pod waits-for-status c-one
  claim c-two 'count: 2' "$(on node-c)"; pod waits-for-both c-two; } | create
expect_told WaitsForNode waits-for-status '1 node\(s\) had no GpuNodeStatus'

step "when the GpuNodeStatus comes, the claim is served beside the GPU that is only counted"
"$TESTBED/load" nodes --name node-c --gpus 2
eventually_like "allocation" '^node-c:[01]$' allocated waits-for-status
expect_told WaitsForNode waits-for-both 'need 2 and most free is [01]'
expect_sound
delete_pods counted waits-for-status
expect_allocated waits-for-both node-c:0,1
delete_pods waits-for-both
eventually_leases ""

step "an Unhealthy GPU is never given, an Unknown one only when no Healthy one fits"
set_health node-c 0 Unhealthy
pod two c-two | create
expect_told WaitsForNode two 'too few healthy GPUs: need 2 and most healthy is 1'
pod healthy c-one | create
expect_allocated healthy node-c:1
set_health node-c 0 Unknown
pod unknown c-one | create
expect_allocated unknown node-c:0
delete_pods healthy unknown
expect_allocated two node-c:0,1
delete_pods two
eventually_leases ""
pod prefers-healthy c-one | create
expect_allocated prefers-healthy node-c:1
set_health node-c 1 Unhealthy
settled health
expect "who runs on a GPU that turned bad keeps it" node-c:1 "$(allocated prefers-healthy)"
expect "and its lease" "gpu-node-c-1 " "$(gpu_leases)"
set_health node-c 0 Healthy
set_health node-c 1 Healthy
expect_sound

step "a GpuNodeStatus that shrinks or goes: holders keep what they have, nothing new is given"
patch_status node-c '[{"op": "remove", "path": "/status/devices/1"}, {"op": "replace", "path": "/status/total", "value": 1}]'
pod after-shrink c-two | create
expect_told WaitsForNode after-shrink 'need 2 and'
kubectl delete gns node-c >/dev/null
pod after-delete c-one | create
expect_told WaitsForNode after-delete 'no GpuNodeStatus'
expect "the holder's GPU" node-c:1 "$(allocated prefers-healthy)"
expect "its lease" "gpu-node-c-1 " "$(gpu_leases)"
delete_pods after-shrink after-delete prefers-healthy
eventually_leases ""

step "a GPU drains until the agent says that its containers are gone"
"$TESTBED/load" nodes --name node-d --gpus 1
create <<YAML
apiVersion: v1
kind: Pod
metadata: {name: agent, labels: {app: gpu-scheduler-agent}}
spec: {nodeName: node-d, tolerations: [{operator: Exists}], containers: [{name: main, image: pause}]}
YAML
kubectl patch pod agent --subresource=status --type=merge \
  -p '{"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}' >/dev/null
observe node-d 00
{ claim d-one 'count: 1' "$(on node-d)"; pod first d-one; } | create
expect_allocated first node-d:0
observe node-d 01 "$(uid_of pod/first)"
settled in-use
finish_pod first
pod second d-one | create
expect_told WaitsForNode second 'need 1 and most free is 0'
observe node-d 02
expect_allocated second node-d:0
expect_sound

step "after a force delete it drains until the agent has looked twice"
kubectl patch pod second --subresource=status --type=merge -p '{"status": {"phase": "Running"}}' >/dev/null
settled running
delete_pods second
pod third d-one | create
expect_told WaitsForNode third 'need 1 and most free is 0'
observe node-d 03
settled once
expect_output "node after one look" "" node_of third
observe node-d 04
expect_allocated third node-d:0
expect_sound
delete_pods third
observe node-d 05
observe node-d 06
eventually_leases ""

step "a node that is not Ready gets nothing new"
not_ready='[{"op": "test", "path": "/status/conditions/0/type", "value": "Ready"},
  {"op": "replace", "path": "/status/conditions/0/status", "value": "STATUS"}]'
kubectl patch node node-d --subresource=status --type=json -p "${not_ready/STATUS/False}" >/dev/null
settled not-ready
pod unready d-one spec 'tolerations: [{operator: Exists}]' | create
expect_told WaitsForNode unready '1 node\(s\) were not ready'
kubectl patch node node-d --subresource=status --type=json -p "${not_ready/STATUS/True}" >/dev/null
expect_allocated unready node-d:0

step "nodes of another enforcer are left alone"
kubectl label node node-d gpu.scheduling/enforcer=hami >/dev/null
"$TESTBED/load" nodes --name node-e --gpus 1
kubectl patch node node-e --subresource=status --type=merge \
  -p '{"status": {"capacity": {"tencent.com/vcuda-core": "100"}, "allocatable": {"tencent.com/vcuda-core": "100"}}}' >/dev/null
settled enforcer
delete_pods unready
settled ended
observe node-d 07  # whoever enforces, the agent there knows what its containers do
settled looked
observe node-d 08
eventually_leases ""
pod hami d-one | create
expect_told WaitsForNode hami 'managed by hami'
{ claim e-one 'count: 1' "$(on node-e)"; pod gpu-manager e-one; } | create
expect_told WaitsForNode gpu-manager 'managed by gpu-manager'
expect_sound
