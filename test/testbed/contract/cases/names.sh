# shellcheck shell=bash
# Names as long as Kubernetes allows: nodes and pods of 253 characters.

# long NAME TAIL: NAME, padded to 253 characters, with TAIL at its end.
long() {
  local text=$1
  while ((${#text} < 253)); do text+=.x$((${#text} % 10)); done
  text=${text:0:$((253 - ${#2}))}
  echo "$text$2"
}
hash_of() { printf %s "$1" | sha256sum | cut -c1-10; }

# big_node NAME LABEL: 2 GPUs.
big_node() {
  kubectl apply -f - >/dev/null <<YAML
{apiVersion: v1, kind: Node, metadata: {name: $1, labels: {which: $2}}}
---
{apiVersion: gpu.scheduling/v1, kind: GpuNodeStatus, metadata: {name: $1}, spec: {nodeName: $1}}
YAML
  local resources='{"cpu": "8", "memory": "32Gi", "ephemeral-storage": "100Gi", "pods": "110", "nvidia.com/gpu": "2"}'
  kubectl patch node "$1" --subresource=status --type=merge \
    -p '{"status": {"capacity": '"$resources"', "allocatable": '"$resources"', "conditions": [{"type": "Ready", "status": "True"}]}}' >/dev/null
  kubectl patch gns "$1" --subresource=status --type=merge -p '{"status": {"total": 2, "devices": [
    {"id": 0, "health": "Healthy", "island": "a", "bandwidthGBps": 600}, {"id": 1, "health": "Healthy", "island": "a", "bandwidthGBps": 600}]}}' >/dev/null
}

step "a control plane with two nodes whose names of 253 characters differ in the last one"
provider_up 2>>"$CASE_DIR/up.log"
install_crds "$CRDS"
first=$(long node a) second=$(long node b)
expect "length of the node's name" 253 "${#first}"
big_node "$first" first
big_node "$second" second
scheduler_account
run_scheduler scheduler

step "their GPUs have leases of different names, made of node and id (R21)"
{ claim one 'count: 1'; claim two 'count: 2' 'selector: {matchLabels: {which: first}}'
  claim other-two 'count: 2' 'selector: {matchLabels: {which: second}}'
  pod on-first two; pod on-second other-two; } | create
expect_allocated on-first "$first:0,1"
expect_allocated on-second "$second:0,1"
names=$(for node in "$first" "$second"; do
  cut=$(sed -E 's/[-.]+$//' <<<"${node:0:200}")
  for id in 0 1; do echo "gpu-$cut-$(hash_of "$node")-$id"; done
done | sort | tr '\n' ' ')
expect "GPU leases" "$names" "$(gpu_leases)"
expect_sound
delete_pods --all
eventually_leases ""

step "a pod whose name has 253 characters: label shortened, condition and events written"
name=$(long pod z)
{ claim many 'count: 16'; pod "$name" many; } | create
expect_waiting "$name" 'need 16 and the largest has 2'
eventually_like "FailedScheduling event" '^Warning 0/2 nodes' events_of "$name" FailedScheduling
delete_pods "$name"
pod "$name" one | create
eventually_like "allocation" "^$first:0$" allocated "$name"
eventually_like "Scheduled event" '^Normal Successfully assigned' events_of "$name" Scheduled
label=$(sed -E 's/[^a-z0-9A-Z]+$//' <<<"${name:0:52}")-$(hash_of "$name")
lease=$(kubectl get leases -l "gpu.scheduling/pod=$label" -o name)
expect "leases with the shortened label" 1 "$(wc -w <<<"$lease")"
expect "pod-name on the lease" "$name" "$(field "$lease" '.metadata.annotations.gpu\.scheduling/pod-name')"
eventually "status of its claim" "$name" field gclaim/one ".status.allocations[0].pod"

step "a claim and a namespace with long names"
namespace=$(printf 'n%.0s' {1..63}) claim_name=$(long claim c)
kubectl create namespace "$namespace" >/dev/null
eventually "service account" serviceaccount/default kubectl get serviceaccount default -n "$namespace" -o name
{ claim "$claim_name" 'count: 1'; pod "$name" "$claim_name"; } | create -n "$namespace"
eventually_like "allocation" '^node' allocated "$name" -n "$namespace"
expect_sound

step "all of it goes away again"
delete_pods "$name"
delete_pods "$name" -n "$namespace"
eventually_leases ""
