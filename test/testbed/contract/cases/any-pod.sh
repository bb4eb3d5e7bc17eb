# shellcheck shell=bash
# Real server only: pods run.
# Needs: nodes
# Ten manifests as people have them for any cluster (contract/shapes): volumes, spread, priorities and the rest. Their
# schedulerName is changed and nothing else, no other scheduler is there, and all of them run.

# shellcheck source=../volumes.sh
source "$CONTRACT/volumes.sh"
SHAPES=$CONTRACT/shapes

# apply NAME...: these manifests, for gpu-scheduler.
apply() {
  local name
  for name in "$@"; do
    sed 's/schedulerName: default-scheduler/schedulerName: gpu-scheduler/' "$SHAPES/$name.yaml" | create
  done
}
# Phase and readiness of each pod of a manifest, and their nodes.
pods_of() {
  kubectl get pods -l "app=$1" -o jsonpath='{range .items[*]}{.status.phase} {.status.conditions[?(@.type=="Ready")].status} {end}'
}
nodes_of() { kubectl get pods -l "app=$1" -o json | jq -r '[.items[].spec.nodeName // "none"] | sort | join(" ")'; }
expect_pods() { eventually "pods of $1" "$2 " pods_of "$1"; } # NAME "PHASE READY ..."

step "two nodes that run pods, in two zones; a default class of storage, a disk of node-a; gpu-scheduler"
new_cluster --kubelets 2
for node in node-a node-b; do eventually "Ready of $node" True readiness_of $node; done
kubectl label node node-a topology.kubernetes.io/zone=east >/dev/null
kubectl label node node-b topology.kubernetes.io/zone=west >/dev/null
provisioned_class standard 'storageclass.kubernetes.io/is-default-class: "true"'
start_provisioner standard
provider_on_node node-a mkdir -p /var/lib/disks/one
create <<'YAML'
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: local-disks}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: disk-one}
spec:
  capacity: {storage: 2Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: local-disks
  local: {path: /var/lib/disks/one}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [node-a]}]}]}}
YAML
run_scheduler scheduler

step "in the manifests each pod has a schedulerName, for that is what is changed"
for file in "$SHAPES"/*.yaml; do
  expect "schedulerNames in ${file##*/}" "$(grep -c '^ *containers:$' "$file")" "$(grep -c '^ *schedulerName: default-scheduler$' "$file")"
done

step "preemption: cheap work fills the GPUs of node-b, and goes for a pod that matters more"
apply preemption
expect_pods cheap 'Running True'
victim=$(kubectl get pods -l app=cheap -o jsonpath='{.items[0].metadata.name}')
apply preemption-urgent
expect_pods urgent 'Running True'
expect "node of the urgent one" node-b "$(node_of urgent)"
eventually_like "event of who went" . events_of "$victim" Preempted

step "the others come at once, and run"
apply job-with-claim stateful-set spread-deployment notebook model-server ephemeral-volume node-exporter training-with-sidecar nightly
expect_pods job-with-claim 'Succeeded False'
expect_pods stateful-set 'Running True Running True'
expect_pods spread-deployment 'Running True Running True'
expect_pods notebook 'Running True'
expect_pods model-server 'Running True'
expect_pods ephemeral-volume 'Running True'
expect_pods node-exporter 'Running True Running True'
expect_pods training-with-sidecar 'Succeeded False'

step "the CronJob's pod runs on the node that is kept for it"
kubectl taint node node-b dedicated=batch:NoSchedule >/dev/null
kubectl create job nightly-now --from=cronjob/nightly >/dev/null
expect_pods nightly 'Succeeded False'
expect "its node" node-b "$(nodes_of nightly)"

step "they are where their manifests want them, with their volumes, and did what they are for"
expect "node of the pod with the disk" node-a "$(nodes_of job-with-claim)"
expect "its log" trained "$(kubectl logs -l app=job-with-claim)"
expect "nodes of the DaemonSet" "node-a node-b" "$(nodes_of node-exporter)"
expect "nodes of those that want no other beside them" "node-a node-b" "$(nodes_of spread-deployment)"
expect "log of the training run" "step 1 done" "$(kubectl logs training-with-sidecar -c train)"
expect "claims" "data-stateful-set-0 data-stateful-set-1 dataset ephemeral-volume-scratch model-cache workspace" \
  "$(kubectl get pvc -o json | jq -r '[.items[] | select(.status.phase == "Bound") | .metadata.name] | sort | join(" ")')"
expect "schedulers of all pods" gpu-scheduler "$(kubectl get pods -o json | jq -r '[.items[].spec.schedulerName] | unique | join(" ")')"
eventually "node of the cheap one that its Job made anew" none nodes_of cheap
end_provisioner
expect_sound
