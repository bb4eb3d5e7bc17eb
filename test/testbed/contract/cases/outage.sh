# shellcheck shell=bash
# The API server goes away and comes back; a watch whose resourceVersion it has forgotten is answered 410.

step "a control plane with node-a and node-b, and a scheduler that serves a pod"
new_cluster
run_scheduler scheduler
{ claim one 'count: 1' "$(on node-a)"; claim eight 'count: 8'; pod early one; } | create
expect_allocated early node-a:0

step "the API server is away for 8 s: the scheduler lives, and says that it can't lead"
pod during-create one | create
provider_stop_api
eventually "gpu_scheduler_leading" 0 leading scheduler
expect "/healthz" ok "$(page scheduler /healthz)"
sleep 8 # the length of the outage: longer than the lease of 5 s, and than three retries of a watch
provider_start_api

step "pods of before and after the outage are placed"
pod after-outage one | create
eventually_like "allocation of the one created just before it" '^node-a:[0-3]$' allocated during-create
eventually_like "allocation of the one created after it" '^node-a:[0-3]$' allocated after-outage
expect_leading scheduler
expect_ready scheduler
expect_sound

step "what changes while the scheduler stands still and history is forgotten is not lost"
pod waiting eight limits 'nvidia.com/gpu: 8' | create
expect_allocated waiting node-b:0,1,2,3,4,5,6,7
pod next eight limits 'nvidia.com/gpu: 8' | create
expect_waiting next 'need 8 and most free is'
seen=$(kubectl get --raw '/api/v1/pods?limit=1' | jq -r .metadata.resourceVersion)
signal_scheduler scheduler STOP
# First its connections go, so that nothing of what follows waits in their buffers.
provider_stop_api
provider_start_api
delete_pods waiting after-outage
kubectl delete lease gpu-node-a-0 >/dev/null
{ pod unseen one; claim late 'count: 1' "$(on node-a)"; pod late late; } | create
kubectl label node node-a unseen=yes >/dev/null
provider_forget_history
gone=$(kubectl get --raw "/api/v1/pods?watch=true&resourceVersion=$seen&timeoutSeconds=5" 2>&1 | head -c 600 || true) # it fails, as it should; what it says is compared
expect_like "a watch from where the scheduler was" '"code":410|too old resource version' "$gone"
pod_lists() { provider_audit | grep -c '^list pods' || true; } # it fails where there are none; the number is what counts
lists_before=$(pod_lists)
signal_scheduler scheduler CONT
expect_allocated next node-b:0,1,2,3,4,5,6,7
eventually_like "the pod created meanwhile" '^node-a:[0-3]$' allocated unseen
eventually_like "the pod and the claim created meanwhile" '^node-a:[0-3]$' allocated late
eventually "the lease deleted meanwhile" "$(uid_of pod/early)" field lease/gpu-node-a-0 .spec.holderIdentity
pod labelled one spec 'nodeSelector: {unseen: "yes"}' | create
expect_told WaitsForNode labelled 'too few free GPUs: need 1 and most free is 0'
note "it listed pods $(($(pod_lists) - lists_before)) times since"
expect_sound

step "the watches run again: what happens now is seen"
finish_pod unseen
eventually_like "allocation" '^node-a:[0-3]$' allocated labelled
expect_sound
