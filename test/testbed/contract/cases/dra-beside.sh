# shellcheck shell=bash disable=SC2016,SC2086 # what pods expand; lists of devices are words
# Real server only: pods run.
# Kubernetes: newest
# Needs: nodes dra-driver kube-scheduler
# Two real nodes of the newest Kubernetes with a DRA driver each. The guide's examples get the devices that were
# chosen; what a container still has after a force delete is given to nobody; nodes that would start pods
# without their GPUs are refused. And pods of kube-scheduler's come for the same devices, both under load: no
# container has a device that another one has.

# shellcheck source=../dra.sh
source "$CONTRACT/dra.sh"
DRA=gpu.nvidia.com # the driver that is simulated: its table entry is the scheduler's

RUNS='exec work'
devices_in() { kubectl exec "$1" -- sh -c 'cd /dev && echo gpu*'; }
allocated_in() { field "resourceclaim/gpu-$(uid_of "pod/$1")" '.status.allocation.devices.results[*].device'; }
leases_of() { kubectl get leases -l "gpu.scheduling/pod=$1" -o json | jq -r '[.items[].metadata.annotations["gpu.scheduling/gpu"] | tonumber] | sort | map("gpu-\(.)") | join(" ")'; }
listed_for() { pod_resources "$(node_of "$1")" "$1" | awk '{ print $4 }' | sort | paste -sd ' '; }

# expect_given POD NODE:IDS: annotation, lease, claim, PodResources and container say that.
expect_given() {
  local pod=$1 chosen
  expect "what was chosen for $pod" "$2" "$(allocated "$pod")"
  chosen=$(sed 's/.*://; s/,/\n/g' <<<"$2" | sed 's/^/gpu-/' | paste -sd ' ')
  expect "leases of $pod" "$chosen" "$(leases_of "$pod")"
  expect "devices in the claim of $pod" "$chosen" "$(allocated_in "$pod")"
  expect "what PodResources lists for $pod" "$chosen" "$(listed_for "$pod")"
  expect "devices in the container of $pod" "${chosen//-/}" "$(devices_in "$pod")"
}

step "two nodes of the newest Kubernetes with 8 GPUs each, gpu-scheduler and kube-scheduler"
provider_up --kubelets 2 2>>"$CASE_DIR/up.log"
install_crds "$CRDS"
scheduler_account
dra_cluster
start_dra node-a
start_dra node-b
for node in node-a node-b; do eventually "slices of $node" "1/1 gpu-0,gpu-1,gpu-2,gpu-3,gpu-4,gpu-5,gpu-6,gpu-7" slices_of $node; done
run_scheduler scheduler

step "the guide's four examples: annotation, lease, claim, PodResources and container say the same"
kubectl label node node-b gpu-type=a100 topology=nvlink >/dev/null
# The guide's claims. Its pods but for image and command, which a machine without GPUs does not have.
create <<YAML
apiVersion: gpu.scheduling/v1
kind: GpuClaim
metadata: {name: single-gpu}
spec: {devices: {count: 1, exclusivity: Exclusive}}
---
apiVersion: gpu.scheduling/v1
kind: GpuClaim
metadata: {name: multi-gpu}
spec:
  devices: {count: 4, policy: contiguous, exclusivity: Exclusive}
  topology: {mode: Preferred}
---
apiVersion: gpu.scheduling/v1
kind: GpuClaim
metadata: {name: pinned-gpus}
spec: {devices: {count: 2, policy: preferIds, preferIds: [0, 1], exclusivity: Exclusive}}
---
apiVersion: gpu.scheduling/v1
kind: GpuClaim
metadata: {name: specific-node}
spec:
  selector: {matchLabels: {gpu-type: a100, topology: nvlink}}
  devices: {count: 8, policy: contiguous}
YAML
claim_pod() { pod "$1" "$2" command "$RUNS" limits "nvidia.com/gpu: '$3'" spec "${4:-restartPolicy: Never}"; }
claim_pod cluster-job specific-node 8 | create
runs cluster-job
expect_given cluster-job node-b:0,1,2,3,4,5,6,7
claim_pod pinned pinned-gpus 2 | create
runs pinned
expect_given pinned node-a:0,1
claim_pod training-job multi-gpu 4 'restartPolicy: Always' | create
runs training-job
expect_like "four beside each other" '^node-a:(2,3,4,5|3,4,5,6|4,5,6,7)$' "$(allocated training-job)"
expect_given training-job "$(allocated training-job)"
claim_pod gpu-test single-gpu 1 | create
runs gpu-test
expect_given gpu-test "$(allocated gpu-test)"

step "an old kubelet: its node gets no pods with GPUs, and the sentence"
kubectl delete pods --all >/dev/null
eventually_leases ""
create <<YAML
apiVersion: v1
kind: Node
metadata: {name: old, labels: {kubernetes.io/hostname: old}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: old}
spec:
  nodeName: old
  driver: $DRA
  pool: {name: old, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu-0, attributes: {type: {string: gpu}, uuid: {string: GPU-old-0}}}]
YAML
kubectl patch node old --subresource=status --type=merge -p '{"status": {"nodeInfo": {"kubeletVersion": "v1.35.4"},
  "allocatable": {"cpu": "8", "memory": "16Gi", "pods": "110"}, "conditions": [{"type": "Ready", "status": "True", "reason": "Said", "message": "by hand"}]}}' >/dev/null
kubectl patch node old --type=json -p '[{"op": "replace", "path": "/spec/taints", "value": []}]' >/dev/null # not-ready, of a new node
pod old '' limits 'nvidia.com/gpu: 1' spec 'nodeSelector: {kubernetes.io/hostname: old}' | create
expect_told WaitsForNode old 'had kubelet v1.35.4: one older than 1.36 starts pods without what a DRA driver prepared'
kubectl delete pod/old resourceslice/old node/old >/dev/null

step "beside kube-scheduler's pods, both under load: no device is prepared for two, ours see what was chosen"
start_their_scheduler() {
  local role
  create <<YAML
apiVersion: v1
kind: ServiceAccount
metadata: {name: theirs, namespace: kube-system}
YAML
  for role in system:kube-scheduler system:volume-scheduler; do
    kubectl create clusterrolebinding "theirs-${role#*:}" --clusterrole=$role --serviceaccount=kube-system:theirs >/dev/null
  done
  provider_kubeconfig kube-system theirs >"$CASE_DIR/cluster/theirs.kubeconfig"
  define "$CASE_DIR/cluster" kube-scheduler "$(tool kube-scheduler)" --kubeconfig="$CASE_DIR/cluster/theirs.kubeconfig" --leader-elect=false --secure-port=0
  start "$CASE_DIR/cluster" kube-scheduler
}
start_their_scheduler
many=${GS_DRA_BESIDE:-30} began=${EPOCHREALTIME/./}
# load_of SCHEDULER PREFIX FIRST LAST: each container says what it sees in its pod's status.
load_of() {
  local i
  for i in $(seq "$3" "$4"); do
    jq -n --arg name "$2-$i" --arg scheduler "$1" '{apiVersion: "v1", kind: "Pod", metadata: {name: $name, labels: {of: $scheduler}}, spec: {schedulerName: $scheduler, restartPolicy: "Never",
      terminationGracePeriodSeconds: 0, containers: [{name: "main", image: "busybox:testbed", command: ["sh", "-c", "cd /dev && echo gpu* >termination-log && sleep 1"],
        resources: {limits: {"nvidia.com/gpu": 1}}}]}}'
  done
}
# What the driver refused theirs the kubelet tries again after a minute, or when the pod changes. (Ours are nudged by gpu-scheduler.)
ended() {
  if ((SECONDS % 3 == 0)); then
    kubectl annotate pods -l of=default-scheduler --overwrite "nudge=$SECONDS" >/dev/null
  fi
  kubectl get pods -o json | jq '[.items[] | select(.status.phase == "Succeeded" or .status.phase == "Failed")] | length'
}
load_of gpu-scheduler ours 1 "$many" | create
load_of default-scheduler theirs 1 "$many" | create
PATIENCE=$((600 + many)) eventually "pods that ended" $((2 * many)) ended
kubectl get pods -o json | jq -r '.items[] | [.metadata.name, .status.phase, .spec.nodeName, (.metadata.annotations["gpu.scheduling/allocated"] // "-"),
  (.status.containerStatuses[0].state.terminated.message | rtrimstr("\n"))] | join(" ")' >"$CASE_DIR/beside"
expect "pods that ended well" $((2 * many)) "$(grep -c ' Succeeded ' "$CASE_DIR/beside")"
expect "ours whose container saw something else than what was chosen" "" "$(awk '/^ours/ { id = $4; sub(/.*:/, "", id); if ($5 != "gpu" id || $4 !~ "^" $3 ":[0-7]$") print }' "$CASE_DIR/beside")"
expect "theirs that saw more or less than one" "" "$(awk '/^theirs/ && $5 !~ /^gpu[0-7]$/' "$CASE_DIR/beside")"
# Of the driver's log: who has a device from its prepare to its unprepare, on each node.
had_by_two() {
  local node
  for node in node-a node-b; do
    dra_calls $node | awk -v node=$node '$1 == "prepare" && $4 == "ok" { if (($3 in by) && by[$3] != $2) print node, $3, by[$3], $2; by[$3] = $2; of[$2] = $3 }
      $1 == "unprepare" && ($2 in of) { if (by[of[$2]] == $2) delete by[of[$2]]; delete of[$2] }'
  done
}
expect "devices that were prepared for two" "" "$(had_by_two)"
note "$many pods each way in $(($(elapsed_ms "$began") / 1000)) s; refused by the drivers: $(for node in node-a node-b; do dra_calls $node; done | grep '^prepare' | grep -vc ' ok$' || true)"

step "a force delete while the node's kubelet is away: what the container still has is given to nobody"
kubectl delete pods --all >/dev/null
eventually_leases ""
claim_pod cluster-job specific-node 8 | create
runs cluster-job
provider_component kill kubelet-node-b
kubectl delete pod cluster-job --force --grace-period=0 >/dev/null 2>&1
claim_pod next single-gpu 1 'nodeSelector: {kubernetes.io/hostname: node-b}' | create
expect_told WaitsForNode next 'too few free GPUs: need 1 and most free is 0'
