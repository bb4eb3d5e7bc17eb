# shellcheck shell=bash
# The usage guide, from "Basic Usage" to "Cleanup stuck leases", in its order and with real kubectl: every command that
# needs no kubelet, webhook, agent or Helm. Left out are therefore
#   kubectl logs gpu-test, kubectl logs -l app=gpu-scheduler(-webhook), kubectl get pods -l app=gpu-scheduler-webhook,
#   kubectl get secret gpu-scheduler-webhook-cert, and the CUDA_VISIBLE_DEVICES of a pod's env.
# Deliberate differences between the guide's outputs and those compared here:
#   - rows of `get gpuclaim` are in the API server's order, which is that of the names
#   - `get leases` has the real server's HOLDER column, and shows the leases that this case's pods really hold
#   - Examples 3 and 4 have a pod; gpu-test (it is done after nvidia-smi) ends before 3, training-job before 4

cd "$CONTRACT/manifests"

# claims WORD...: the rows of `kubectl get WORD` below its header, sorted, which may be expected in the guide's order.
sorted_rows() { sed -n 1p <<<"$1"; sed 1d <<<"$1" | sort; }
expect_rows() { expect_words "$1" "$(sorted_rows "$2")" "$(sorted_rows "$3")"; }

step "Step 1: the guide's kubectl apply of the CRDs"
provider_up 2>>"$CASE_DIR/up.log"
expect_words "kubectl apply" "customresourcedefinition.apiextensions.k8s.io/gpuclaims.gpu.scheduling created
customresourcedefinition.apiextensions.k8s.io/gpunodestatuses.gpu.scheduling created" \
  "$(cd "$REPO" && kubectl apply -f charts/gpu-scheduler/templates/crds.yaml)"
install_crds "$CRDS"
"$TESTBED/nodes"
scheduler_account
run_scheduler scheduler

step "Example 1: single GPU"
expect_words "apply claim" "gpuclaim.gpu.scheduling/single-gpu created" "$(kubectl apply -f claim.yaml)"
expect_words "apply pod" "pod/gpu-test created" "$(kubectl apply -f pod.yaml)"
eventually "allocation" node-a:0 kubectl get pod gpu-test -o jsonpath='{.metadata.annotations.gpu\.scheduling/allocated}'
expect "node" node-a "$(node_of gpu-test)"
eventually "Scheduled event" "Normal Successfully assigned default/gpu-test to node-a with GPUs 0" events_of gpu-test Scheduled

step "Example 2: multiple GPUs, contiguous"
expect_words "apply" "gpuclaim.gpu.scheduling/multi-gpu created
pod/training-job created" "$(kubectl apply -f multi-gpu.yaml)"
expect_allocated training-job node-b:0,1,2,3

step "kubectl get gpuclaim, gclaim: the guide's table"
guide_claims='NAME         REQ   POLICY       TOPOLOGY   ALLOCATED
single-gpu   1     contiguous              node-a:0
multi-gpu    4     contiguous   Preferred  node-b:0,1,2,3'
eventually "claim status" "node-a:0 node-b:0,1,2,3" \
  kubectl get gpuclaim single-gpu multi-gpu -o jsonpath='{.items[0].status.allocated} {.items[1].status.allocated}'
expect_rows "kubectl get gpuclaim" "$guide_claims" "$(kubectl get gpuclaim)"
expect_rows "kubectl get gclaim" "$guide_claims" "$(kubectl get gclaim)"
# The server leaves a cell without a value blank; columns must not move because of it.
expect_like "blank TOPOLOGY" $'\nsingle-gpu +1 +contiguous {10,}node-a:0' "$(kubectl get gpuclaim)"

step "claim status says what R45 lists"
expect "phase, nodeName, gpuIds, total" "Bound node-b [0,1,2,3] 1" \
  "$(field gclaim/multi-gpu '.status.phase} {.status.nodeName} {.status.gpuIds} {.status.allocationsTotal')"
expect "allocations" '[{"gpuIds":[0,1,2,3],"node":"node-b","pod":"training-job","uid":"'"$(uid_of pod/training-job)"'"}]' \
  "$(field gclaim/multi-gpu .status.allocations)"

step "kubectl get gpunodestatus, gns: the guide's table, and ours goes on after it"
guide_nodes='NAME     NODE     DEVICES
node-a   node-a   4
node-b   node-b   8'
for kind in gpunodestatus gns; do
  table=$(kubectl get "$kind")
  expect_words "kubectl get $kind" "$guide_nodes" "$(awk '{print $1, $2, $3}' <<<"$table")"
  expect_words "its further columns" "NAME NODE DEVICES FREE HEALTHY MODEL ENFORCEMENT AGE" "$(head -1 <<<"$table")"
done
expect_words "wide ones" "NAME NODE DEVICES FREE HEALTHY MODEL ENFORCEMENT AGE DRIVER ISLANDS" "$(kubectl get gns -o wide | head -1)"
expect_words "those of claims" "NAME REQ POLICY TOPOLOGY ALLOCATED PHASE WAITING AGE" "$(kubectl get gclaim -o wide | head -1)"
expect_like "kubectl get gpunodestatus node-a -o yaml" 'kind: GpuNodeStatus.*nodeName: node-a.*health: Healthy.*total: 4' \
  "$(kubectl get gpunodestatus node-a -o yaml)"

step "kubectl get leases | grep gpu-"
expect_words "kubectl get leases" "$(
  echo "gpu-node-a-0 $(uid_of pod/gpu-test) AGE"
  for id in 0 1 2 3; do echo "gpu-node-b-$id $(uid_of pod/training-job) AGE"; done
)" "$(kubectl get leases | grep gpu-)"

step "Example 3: pinned GPU ids, once gpu-test is done"
finish_pod gpu-test
eventually_leases "gpu-node-b-0 gpu-node-b-1 gpu-node-b-2 gpu-node-b-3 "
expect_words "apply" "gpuclaim.gpu.scheduling/pinned-gpus created
pod/pinned-job created" "$(kubectl apply -f pinned-gpus.yaml)"
expect_allocated pinned-job node-a:0,1

step "Example 4: node selection; it waits and says why until training-job ends"
expect_words "apply" "gpuclaim.gpu.scheduling/specific-node created
pod/a100-job created" "$(kubectl apply -f specific-node.yaml)"
expect_waiting a100-job '^0/2 nodes are available: .*1 node\(s\) had too few free GPUs: need 8 and most free is 4.*\.$'
finish_pod training-job
expect_allocated a100-job node-b:0,1,2,3,4,5,6,7
eventually "status of a claim whose pods all ended" "Pending  " \
  field gclaim/multi-gpu '.status.phase} {.status.nodeName} {.status.allocated'

step "Pod stuck in Pending: kubectl describe pod shows the reason, kubectl get the claim's message"
expect_words "apply" "gpuclaim.gpu.scheduling/single-gpu unchanged" "$(kubectl apply -f claim.yaml)"
pod stuck multi-gpu limits 'nvidia.com/gpu: 4' | create
expect_waiting stuck '^0/2 nodes are available: 2 node\(s\) had too few free GPUs: need 4 and most free is 2\. Held by default/a100-job, default/pinned-job\.$'
eventually_like "kubectl describe pod" 'Warning +FailedScheduling +[0-9]+s.* gpu-scheduler.* 0/2 nodes are available: ' kubectl describe pod stuck
eventually "message of its claim" "$(why stuck)" field gclaim/multi-gpu .status.message
delete_pods stuck

step "GPU not visible in container: both annotations are on the pod"
annotations=$(kubectl get pod pinned-job -o jsonpath='{.metadata.annotations}')
expect "claim" pinned-gpus "$(jq -r '."gpu.scheduling/claim"' <<<"$annotations")"
expect "allocated" node-a:0,1 "$(jq -r '."gpu.scheduling/allocated"' <<<"$annotations")"
expect "visible-devices" 0,1 "$(jq -r '."gpu.scheduling/visible-devices"' <<<"$annotations")"

step "Cleanup stuck leases: one that is deleted while its pod runs is written again at once"
before=$(uid_of lease/gpu-node-a-0)
expect_words "kubectl delete lease" 'lease.coordination.k8s.io "gpu-node-a-0" deleted' "$(kubectl delete lease gpu-node-a-0)"
eventually "holder of the new lease" "$(uid_of pod/pinned-job)" field lease/gpu-node-a-0 .spec.holderIdentity
[[ $(uid_of lease/gpu-node-a-0) != "$before" ]] || fail "the lease was never deleted"

step "kubectl delete leases -l gpu.scheduling/managed=true: all are written again while pods run"
all="gpu-node-a-0 gpu-node-a-1 $(printf 'gpu-node-b-%d ' {0..7})"
eventually_leases "$all"
expect_words "kubectl delete leases" "$(for lease in $all; do echo "lease.coordination.k8s.io \"$lease\" deleted"; done)" \
  "$(kubectl delete leases -l gpu.scheduling/managed=true)"
eventually_leases "$all"
expect_sound

step "no lease is left when the pods have ended"
finish_pod pinned-job
delete_pods a100-job
eventually_leases ""
expect_words "kubectl delete leases" "No resources found" "$(kubectl delete leases -l gpu.scheduling/managed=true 2>&1)"
expect_sound

step "kubectl explain gpuclaim.spec.devices"
explained=$(kubectl explain gpuclaim.spec.devices)
expect_like "head" $'^GROUP: +gpu.scheduling\nKIND: +GpuClaim\nVERSION: +v1\n\nFIELD: devices <Object>' "$explained"
expect_words "fields" "count <integer>
exclusivity <string>
policy <string>
preferIds <[]integer>" "$(grep -oE $'^  [a-zA-Z]+\t<.*>' <<<"$explained")"

step "SIGTERM ends the scheduler with 0"
stop_scheduler scheduler
