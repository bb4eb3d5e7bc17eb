# shellcheck shell=bash disable=SC2034 # names for lib.sh
# Real server only: a real kube-scheduler places pods with claims, and asks gpu-scheduler for the GPUs.
# Needs: kube-scheduler
# What docs/use/kube-scheduler.md says: gpu-scheduler with --extender-pods, under exactly its role; kube-scheduler
# with deploy/kube-scheduler/.

# shellcheck source=../kube-scheduler.sh
source "$CONTRACT/kube-scheduler.sh"
# shellcheck source=../volumes.sh
source "$CONTRACT/volumes.sh"

# come COUNT: one after the other.
come() {
  local i
  for ((i = 1; i <= $1; i++)); do kube_pod "comes-$i" one-gpu | create; done
}
step "node-a (4 GPUs) and node-b (8 GPUs); gpu-scheduler with --extender-pods; a kube-scheduler that asks it"
new_cluster
mapfile -t SCHEDULER_FLAGS < <(extender_flags "$EXTENDER")
expect "flags of the Deployment" 2 "${#SCHEDULER_FLAGS[@]}"
run_scheduler scheduler
start_kube_scheduler

step "deploy/kube-scheduler/ is accepted as it is: accounts, configuration, Deployments and Service"
kubectl apply -f "$KUBE/" >/dev/null 2>>"$CASE_DIR/kubectl.log" || fail "$(tail -n 3 "$CASE_DIR/kubectl.log")"
kubectl delete deployments gpu-scheduler -n gpu-kube >/dev/null # no kubelet runs here
kubectl delete deployments gpu-kube-scheduler -n kube-system >/dev/null

step "the usage guide's examples 1 to 4 give its output"
for file in claim pod multi-gpu; do to_kube <"$CONTRACT/manifests/$file.yaml" | kubectl apply -f - >/dev/null; done
expect_allocated gpu-test node-a:0
expect_allocated training-job node-b:0,1,2,3
eventually "claim status" "node-a:0 node-b:0,1,2,3" \
  kubectl get gpuclaim single-gpu multi-gpu -o jsonpath='{.items[0].status.allocated} {.items[1].status.allocated}'
expect_words "kubectl get gpuclaim" 'NAME REQ POLICY TOPOLOGY ALLOCATED
multi-gpu 4 contiguous Preferred node-b:0,1,2,3
single-gpu 1 contiguous node-a:0' "$(kubectl get gpuclaim)"
finish_pod gpu-test
eventually_leases "gpu-node-b-0 gpu-node-b-1 gpu-node-b-2 gpu-node-b-3 "
to_kube <"$CONTRACT/manifests/pinned-gpus.yaml" | kubectl apply -f - >/dev/null
expect_allocated pinned-job node-a:0,1
to_kube <"$CONTRACT/manifests/specific-node.yaml" | kubectl apply -f - >/dev/null
expect_waiting a100-job '2 Insufficient nvidia.com/gpu' # its own count comes first
finish_pod training-job
expect_allocated a100-job node-b:0,1,2,3,4,5,6,7
delete_pods gpu-test training-job pinned-job a100-job
kubectl delete gpuclaims --all >/dev/null
eventually_leases ""
claim one-gpu 'count: 1' | create
claim two-gpus 'count: 2' | create

step "who has a priority gets the GPUs of who has none: kube-scheduler finds whom to evict, and asks where that helps"
create <<'YAML'
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: urgent}, value: 1000}
YAML
kube_pod fills '' limits 'nvidia.com/gpu: 8' | create
eventually "node of pod fills" node-b node_of fills
kube_pod first '' limits 'nvidia.com/gpu: 5' spec 'priorityClassName: urgent' | create
eventually_like "when pod fills is to go" '^20' field pod/fills .metadata.deletionTimestamp
eventually "node that pod first is to get" node-b field pod/first .status.nominatedNodeName
delete_pods fills # as its kubelet would
eventually "node of pod first" node-b node_of first
expect_all_sound
delete_pods first

step "a pod with a claim is bound with its lease and its annotations; pods that ask for no GPU are bound as they are"
kube_pod alone two-gpus | create
eventually_like "allocation of pod alone" '^node-[ab]:[0-9],[0-9]$' allocated alone
expect "leases" 2 "$(lease_count)"
kube_pod plain | create
eventually_like "node of pod plain" '^node-[ab]$' node_of plain
expect_output "allocation of pod plain" "" allocated plain
expect "binds of pods with GPUs" 7 "$(binds bound)"

step "required anti-affinity: one on each node, and the third waits"
apart='affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{labelSelector: {matchLabels: {apart: a}}, topologyKey: kubernetes.io/hostname}]}}'
for i in 1 2 3; do
  kube_pod "apart-$i" one-gpu spec "$apart" | sed 's/metadata: {/metadata: {labels: {apart: a}, /' | create
done
eventually "pods that are bound" 2 bound_count -l apart=a
expect "nodes of them" "node-a node-b" "$(kubectl get pods -l apart=a -o json |
  jq -r '[.items[].spec.nodeName // empty] | sort | join(" ")')"

step "a hard spread over zones: one waits until a GPU of its zone is free"
kubectl label node node-a topology.kubernetes.io/zone=east >/dev/null
kubectl label node node-b topology.kubernetes.io/zone=west >/dev/null
spread='topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {spread: s}}}]'
for i in 1 2 3 4; do # one GPU of node-a is left
  kube_pod "spread-$i" one-gpu spec "$spread" | sed 's/metadata: {/metadata: {labels: {spread: s}, /' | create
done
eventually "pods that are bound" 3 bound_count -l spread=s
expect_waiting spread-4 'topology spread'
expect "nodes of the others" "node-a node-b node-b" "$(kubectl get pods -l spread=s -o json |
  jq -r '[.items[].spec.nodeName // empty] | sort | join(" ")')"
kubectl delete pods --force --grace-period=0 --wait=false -l spread=s --field-selector spec.nodeName=node-a >/dev/null 2>&1
eventually "node of pod spread-4" node-a node_of spread-4
delete_pods -l spread=s

step "a volume that only node-b has: the pod goes there, and the claim of the volume is bound first"
create <<'YAML'
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: local}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: disk}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: local
  local: {path: /mnt/disk}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [node-b]}]}]}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], storageClassName: local, resources: {requests: {storage: 1Gi}}}
YAML
kube_pod stores one-gpu spec 'volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]' | create
eventually_like "allocation of pod stores" '^node-b:[0-9]$' allocated stores
expect "phase of its claim" Bound "$(field pvc/data .status.phase)"

step "a volume that is made where the pod goes: kube-scheduler tells a provisioner, and binds when it is there"
provisioned_class made
create <<'YAML'
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: fresh}
spec: {accessModes: [ReadWriteOnce], storageClassName: made, resources: {requests: {storage: 1Gi}}}
YAML
start_provisioner made
kube_pod writes one-gpu spec 'volumes: [{name: data, persistentVolumeClaim: {claimName: fresh}}]' | create
eventually_like "allocation of pod writes" '^node-[ab]:[0-9]$' allocated writes
expect "phase of its claim" Bound "$(field pvc/fresh .status.phase)"
expect "node of its volume" "$(node_of writes)" \
  "$(field pv/made-fresh '.spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].values[0]')"
end_provisioner
delete_pods writes

step "who finds no GPU is told why by kube-scheduler, in our words"
claim nine-gpus 'count: 9' | create
kube_pod large nine-gpus | create
expect_waiting large '^0/2 nodes are available: .*too few'
expect_all_sound

step "a pod waits for GPUs that are sick: when they are well again it is placed, though kube-scheduler watches nothing of that"
for id in 0 1 2 3; do set_health node-a "$id" Unhealthy; done
claim on-a 'count: 1' "$(on node-a)" | create
kube_pod sick on-a | create
expect_waiting sick 'too few healthy GPUs'
for id in 0 1 2 3; do set_health node-a "$id" Healthy; done
eventually_like "allocation of pod sick" '^node-a:[0-3]$' allocated sick
[[ -n $(field pod/sick '.metadata.annotations.gpu\.scheduling/wake') ]] || fail "it was not woken"
delete_pods sick

step "kill -9 of gpu-scheduler while pods come: each GPU goes to one, and all that fit are bound"
delete_pods large apart-3 # one GPU of 12 is free for every pod that comes
run_job maker come 7
eventually_at_least "pods bound" 6 bound_count
kill_scheduler scheduler
note "$(bound_count) of 12 pods were bound when it was killed"
run_scheduler scheduler
finish_job maker
eventually "pods bound" 12 bound_count
expect "GPUs given" 12 "$(lease_count)"
expect_all_sound

step "pods of our own name, beside: one waits while all is given, and is placed when GPUs come back"
pod ours two-gpus | create
expect_waiting ours 'too few free GPUs'
delete_pods alone
eventually_like "allocation of pod ours" '^node-[ab]:[0-9],[0-9]$' allocated ours
expect_all_sound

step "a kube-scheduler that sends whole nodes in place of their names"
delete_pods --all
eventually_leases ""
kill_kube_scheduler
start_kube_scheduler 's/nodeCacheCapable: true/nodeCacheCapable: false/'
kube_pod whole two-gpus | create
eventually_like "allocation of pod whole" '^node-[ab]:[0-9],[0-9]$' allocated whole
kube_pod larger nine-gpus | create
expect_waiting larger '^0/2 nodes are available: .*too few'
expect_all_sound
stop_scheduler scheduler

step "with --schedule=false only kube-scheduler's pods get GPUs"
SCHEDULER_FLAGS+=(--schedule=false)
run_scheduler scheduler
pod own two-gpus | create
kube_pod again two-gpus | create
eventually_like "allocation of pod again" '^node-[ab]:[0-9],[0-9]$' allocated again
expect_output "node of pod own" "" node_of own
expect_output "its condition" "" why own
expect_all_sound
stop_scheduler scheduler
