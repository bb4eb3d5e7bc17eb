# shellcheck shell=bash
# More pods than GPUs: who gets what, who waits with which words, and who comes next.

step "a control plane with node-a (4 GPUs) and node-b (8 GPUs in two islands), and a scheduler"
new_cluster
run_scheduler scheduler

step "two namespaces that ask for the same GPUs never share one"
for namespace in team-a team-b; do
  kubectl create namespace "$namespace" >/dev/null
  eventually "service account of $namespace" serviceaccount/default kubectl get serviceaccount default -n "$namespace" -o name
  { claim same 'count: 2, policy: preferIds, preferIds: [0, 1]' "$(on node-a)"
    pod worker same; } | create -n "$namespace"
done
eventually "pods bound" 2 bound_count -A
both=$(printf '%s ' "$(allocated worker -n team-a)" "$(allocated worker -n team-b)")
expect_like "one has 0,1 and the other 2,3" '^(node-a:0,1 node-a:2,3 |node-a:2,3 node-a:0,1 )$' "$both"
{ claim same 'count: 2, policy: preferIds, preferIds: [0, 1]' "$(on node-a)"
  pod worker same; } | create
expect_told WaitsForNode worker "^0/2 nodes are available: .*1 node\(s\) had too few free GPUs: need 2 and most free is 0"
expect_sound

step "a GPU passes from one namespace to the other when its pod ends"
freed=$(allocated worker -n team-a)
finish_pod worker -n team-a
expect_allocated worker "$freed"
expect_sound
delete_pods --all -n team-b
delete_pods worker
eventually_leases ""

step "12 pods for 8 GPUs: 8 are bound, 4 wait and say why"
{ claim one 'count: 1' 'selector: {matchLabels: {gpu-type: a100}}'
  for i in {0..11}; do pod "p$i" one; done; } | create
eventually "pods bound" 8 bound_count
# jq, because the API server leaves out an empty nodeName, which jsonpath's filters do not match.
waiting=$(kubectl get pods -o json | jq -r '.items[] | select(.spec.nodeName == null).metadata.name')
expect "how many wait" 4 "$(wc -l <<<"$waiting")"
text='0/2 nodes are available: 1 node(s) didn'"'"'t match the claim'"'"'s selector gpu-type=a100, 1 node(s) had too few free GPUs: need 1 and most free is 0.'
for name in $waiting; do
  eventually "why pod $name waits" "$text" why "$name"
  expect "reason" Unschedulable "$(waits "$name")"
  eventually "event of pod $name" "Warning $text" events_of "$name" FailedScheduling
done
expect "leases" 8 "$(lease_count)"
expect_sound

step "those that wait take over one by one as others end"
for i in 9 10 11 12; do
  first=$(kubectl get pods --field-selector status.phase=Pending -o json | jq -r '[.items[] | select(.spec.nodeName != null)][0].metadata.name')
  finish_pod "$first"
  eventually "pods bound so far" "$i" bound_count
done
expect "leases" 8 "$(lease_count)"
expect_sound
delete_pods --all
eventually_leases ""

step "a claim for more GPUs than any node has says so"
{ claim many 'count: 16'; pod many many; } | create
expect_waiting many '^0/2 nodes are available: 2 node\(s\) had too few GPUs: need 16 and the largest has 8\.$'
eventually_like "status of the claim" '^Pending 0/2 nodes are available: .*need 16 and the largest has 8' \
  field gclaim/many '.status.phase} {.status.message'

step "Required bandwidth that no island has says so; a lower one is met"
{ claim fast 'count: 2' 'topology: {mode: Required, minBandwidthGBps: 900}'; pod fast fast
  claim six 'count: 6' 'topology: {mode: Required}'; pod six six; } | create
expect_waiting fast '2 node\(s\) had no island with enough bandwidth: need 2 GPUs with 900 GB/s per pair and best is 600'
expect_waiting six '1 node\(s\) had too few GPUs in one island: need 6 and the largest has 4'
kubectl patch gclaim fast --type=merge -p '{"spec": {"topology": {"minBandwidthGBps": 600}}}' >/dev/null
eventually_like "allocation of pod fast" '^node-[ab]:[0-9],[0-9]$' allocated fast
expect_sound
delete_pods --all
eventually_leases ""

step "spread takes a GPU of each island, Preferred falls back to two islands"
{ claim wide 'count: 2, policy: spread' 'selector: {matchLabels: {gpu-type: a100}}'; pod wide wide; } | create
eventually_like "allocation of pod wide" '^node-b:[0-3],[4-7]$' allocated wide
{ claim six-preferred 'count: 6' 'topology: {mode: Preferred}'; pod six-preferred six-preferred; } | create
eventually_like "allocation of pod six-preferred" '^node-b:' allocated six-preferred
expect_sound
delete_pods --all
eventually_leases ""

step "of two pods that wait the one with the higher priority is next"
cat <<YAML | create
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: urgent}, value: 1000}
YAML
{ claim all 'count: 8'; pod holder all; } | create
expect_allocated holder node-b:0,1,2,3,4,5,6,7
pod ordinary all | create
expect_waiting ordinary 'need 8 and most free is 4|need 8 and most free is 0'
pod urgent all spec 'priorityClassName: urgent' | create
expect_waiting urgent 'need 8'
finish_pod holder
expect_allocated urgent node-b:0,1,2,3,4,5,6,7
expect_output "node of the ordinary one" "" node_of ordinary
delete_pods urgent
expect_allocated ordinary node-b:0,1,2,3,4,5,6,7
expect_sound

step "Shared: two pods have one GPU, Exclusive ones keep off it, the last one's end frees it"
delete_pods --all
eventually_leases ""
{ claim shared 'count: 1, exclusivity: Shared' "$(on node-a)"; pod s1 shared; } | create
expect_allocated s1 node-a:0
pod s2 shared | create
expect_allocated s2 node-a:1
for i in 3 4 5; do pod "s$i" shared | create; eventually "pods bound" "$i" bound_count; done
expect_allocated s5 node-a:0
expect "holder of the shared lease" shared "$(field lease/gpu-node-a-0 .spec.holderIdentity)"
expect "its holders" "$(printf '%s\n' "$(uid_of pod/s1)" "$(uid_of pod/s5)" | sort)" \
  "$(holders_of gpu-node-a-0)"
{ claim own 'count: 1' "$(on node-a)"; pod own own; } | create
expect_told WaitsForNode own 'need 1 and most free is 0'
delete_pods s1
eventually "holders when one is gone" "$(uid_of pod/s5)" holders_of gpu-node-a-0
expect_output "node of the Exclusive pod" "" node_of own
delete_pods s5
expect_allocated own node-a:0
expect_sound
