# shellcheck shell=bash
# Leases that others touch: deleted by hand, in the GpuClaim ancestor's format, made up. The ancestor's have labels and a
# holder, are in the pod's namespace, and name no node; its annotation `allocated` is the bare ids.

# ancestor_lease NAME POD UID [KUBECTL-OPTION...]
ancestor_lease() {
  create "${@:4}" <<YAML
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: $1, labels: {gpu.scheduling/managed: "true", gpu.scheduling/pod: $2}}
spec: {holderIdentity: $3}
YAML
}

# bind POD NODE IDS [NAMESPACE]: as the ancestor does it: a Binding, then the annotation.
bind() {
  local ns=${4:-default}
  kubectl create --raw "/api/v1/namespaces/$ns/pods/$1/binding" -f - >/dev/null <<JSON
{"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "$1"}, "target": {"apiVersion": "v1", "kind": "Node", "name": "$2"}}
JSON
  if [[ -n $3 ]]; then kubectl annotate pod "$1" -n "$ns" "gpu.scheduling/allocated=$3" >/dev/null; fi
}

# copy_lease NAME CHANGE-ANNOTATIONS [CHANGE]: like gpu-node-a-0, but for what jq changes.
copy_lease() {
  kubectl get lease gpu-node-a-0 -o json | jq 'del(.metadata.uid, .metadata.resourceVersion, .metadata.managedFields)
    | .metadata.name = "'"$1"'" | .metadata.annotations |= ('"$2"') | '"${3:-.}" | create
}

annotation() { field "lease/$1" ".metadata.annotations.gpu\\.scheduling/$2" "${@:3}"; }

step "a control plane with node-a and node-b, and what an ancestor left there"
new_cluster
kubectl create namespace team-a >/dev/null
eventually "service account of team-a" serviceaccount/default kubectl get serviceaccount default -n team-a -o name
{ claim one 'count: 1'; claim two 'count: 2'; pod runs two; pod reserved one; } | create -n team-a
bind runs node-a 0,1 team-a
ancestor_lease gpu-node-a-0 runs "$(uid_of pod/runs -n team-a)" -n team-a
ancestor_lease gpu-node-a-1 runs "$(uid_of pod/runs -n team-a)" -n team-a
ancestor_lease gpu-node-a-2 reserved "$(uid_of pod/reserved -n team-a)" -n team-a
ancestor_lease gpu-node-b-5 gone 11111111-2222-4333-8444-555555555555 -n team-a
# The ancestor's users work in default too, where ours are.
{ claim one 'count: 1'; pod runs-in-default one; } | create
bind runs-in-default node-b 7
ancestor_lease gpu-node-b-7 runs-in-default "$(uid_of pod/runs-in-default)"
run_scheduler scheduler

step "a bound pod's ancestor leases: ours are written, the old ones deleted"
for id in 0 1; do
  eventually "pod-uid of lease gpu-node-a-$id" "$(uid_of pod/runs -n team-a)" annotation "gpu-node-a-$id" pod-uid
  expect "its holder" "$(uid_of pod/runs -n team-a)" "$(field "lease/gpu-node-a-$id" .spec.holderIdentity)"
  expect "its devices" node-a:0,1 "$(annotation "gpu-node-a-$id" devices)"
  expect "its pod" team-a/runs "$(annotation "gpu-node-a-$id" pod-namespace)/$(annotation "gpu-node-a-$id" pod-name)"
done
for id in 0 1; do eventually_like "the old lease of GPU $id" 'not found' kubectl get lease "gpu-node-a-$id" -n team-a; done
expect "the pod's annotation is as it was" 0,1 "$(allocated runs -n team-a)"

step "an unbound pod's ancestor lease: the pod is fenced, the lease deleted, then the pod is placed by us"
expect_like "fence" '^[0-9a-f]{8}-[0-9a-f]{4}-' "$(field pod/reserved '.metadata.annotations.gpu\.scheduling/fence' -n team-a)"
eventually_like "allocation" '^node-[ab]:[0-9]$' allocated reserved -n team-a

step "an ancestor's lease in our own namespace becomes one of ours"
eventually "format of lease gpu-node-b-7" 1 annotation gpu-node-b-7 format
expect "its holder" "$(uid_of pod/runs-in-default)" "$(field lease/gpu-node-b-7 .spec.holderIdentity)"
expect "its node and gpu" "node-b 7" "$(annotation gpu-node-b-7 node) $(annotation gpu-node-b-7 gpu)"

step "an ancestor's lease of a pod that is gone is deleted"
eventually_like "the old lease" 'not found' kubectl get lease gpu-node-b-5 -n team-a
expect "GPU leases in all namespaces" 4 "$(lease_count -A)"
expect_sound

step "each lease says all that it means (R63)"
{ claim two 'count: 2'; pod mine two; } | create
eventually_like "allocation" '^node-[ab]:[0-9],[0-9]$' allocated mine
mine=$(allocated mine) node=$(node_of mine) id=${mine##*,}
uuid=$(kubectl get gns "$node" -o json | jq -r '.status.devices[] | select(.id == '"$id"').uuid')
expect "annotations but the reservation" "devices=$mine format=1 gpu=$id node=$node pod-name=mine pod-namespace=default pod-uid=$(uid_of pod/mine) uuid=$uuid" \
  "$(kubectl get lease "gpu-$node-$id" -o json | jq -r '.metadata.annotations | to_entries | map(select(.key != "gpu.scheduling/reservation")
     | "\(.key | ltrimstr("gpu.scheduling/"))=\(.value)") | sort | join(" ")')"
reservation=$(annotation "gpu-$node-$id" reservation)
expect_like "reservation" '^[0-9a-f-]{36}$' "$reservation"
expect "the pod's reservation" "$reservation" "$(field pod/mine '.metadata.annotations.gpu\.scheduling/reservation')"
expect "labels" "true mine" "$(field "lease/gpu-$node-$id" '.metadata.labels.gpu\.scheduling/managed} {.metadata.labels.gpu\.scheduling/pod')"

step "a lease deleted by hand while its pod runs is written again, for the same reservation, with a Warning"
kubectl delete lease "gpu-$node-$id" >/dev/null
eventually "holder" "$(uid_of pod/mine)" field "lease/gpu-$node-$id" .spec.holderIdentity
expect "reservation" "$reservation" "$(annotation "gpu-$node-$id" reservation)"
eventually_like "event" '^Warning .*gpu-'"$node-$id" events_of mine GpuLeaseRewritten
expect "the pod keeps its GPUs" "$mine" "$(allocated mine)"
expect_sound

step "all leases deleted by hand while pods start and end: nothing is given twice"
for i in {1..6}; do pod "wave-$i" one; done | create
kubectl delete leases -l gpu.scheduling/managed=true >/dev/null
eventually "pods bound" 8 bound_count
kubectl delete leases -l gpu.scheduling/managed=true >/dev/null
delete_pods wave-1 wave-2 wave-3
for i in {7..9}; do pod "wave-$i" one; done | create
eventually "pods bound" 8 bound_count
expect_sound

step "a lease without a pod, and one of a pod that has another GPU, do not stay"
delete_pods --all
delete_pods --all -n team-a
eventually_leases "" -A
pod one-more one | create
eventually_like "allocation" '^node-a:0$' allocated one-more
stray='99999999-2222-4333-8444-555555555555'
# As after an unknown write that landed late: the same pod, another GPU and reservation.
copy_lease gpu-node-a-1 '.["gpu.scheduling/gpu"] = "1" | .["gpu.scheduling/devices"] = "node-a:1" | .["gpu.scheduling/reservation"] = "'$stray'"'
copy_lease gpu-node-a-3 '.["gpu.scheduling/gpu"] = "3" | .["gpu.scheduling/devices"] = "node-a:3" | .["gpu.scheduling/reservation"] = "'$stray'"
  | .["gpu.scheduling/pod-name"] = "nobody" | .["gpu.scheduling/pod-uid"] = "'$stray'"' '.spec.holderIdentity = "'$stray'"'
eventually_leases "gpu-node-a-0 "
expect "the pod's GPU" node-a:0 "$(allocated one-more)"

step "forged result keys on an unbound pod are ignored and overwritten"
pod forged one annotations 'gpu.scheduling/allocated: "node-b:0,1,2,3", gpu.scheduling/visible-devices: "7"' | create
expect_allocated forged node-a:1
expect "visible-devices" 1 "$(field pod/forged '.metadata.annotations.gpu\.scheduling/visible-devices')"
expect_sound

step "the leader lease is not among what the guide's grep shows"
expect "leases with gpu-" "gpu-node-a-0 gpu-node-a-1 " "$(kubectl get leases --no-headers | grep gpu- | awk '{ print $1 }' | tr '\n' ' ')"
expect "holder of the leader lease" scheduler "$(field lease/scheduler.gpu.scheduling .spec.holderIdentity)"

step "another scheduler's pod with our annotation holds its GPU, with a Warning and no lease"
create <<YAML
apiVersion: v1
kind: Pod
metadata: {name: foreign}
spec: {schedulerName: other, containers: [{name: main, image: pause}]}
YAML
bind foreign node-a node-a:2
eventually_like "event" '^Warning .*allocated' events_of foreign GpuHeldByForeignPod
{ claim two-here 'count: 2' "$(on node-a)"; pod needs-two two-here; } | create
expect_told WaitsForNode needs-two 'need 2 and most free is 1'
expect "GPU leases" "gpu-node-a-0 gpu-node-a-1 " "$(gpu_leases)"
delete_pods foreign
expect_allocated needs-two node-a:2,3
expect_sound
