# shellcheck shell=bash
# Real server only: Karpenter, whose kwok provider makes Nodes that are only objects; kwok plays their kubelets.
# Needs: karpenter karpenter-crds kwok
# Karpenter adds a node with GPUs for a claim pod that waits for one. For pods that wait for something else it adds none: a quota, a
# claim, a mistake, a node that they name. Once the quota lets one of these in, a node is what it waits for, and comes.

# shellcheck source=../webhook.sh
source "$CONTRACT/webhook.sh"
PORT=8443
GPUS=4 # of the one kind of node that there is to be had
MODEL=gaia.tencent.com/gpu-model

instance_types() {
  cat <<JSON
[{"name": "gpu-$GPUS", "architecture": "amd64", "operatingSystems": ["linux"],
  "resources": {"cpu": "64", "memory": "512Gi", "pods": "110", "nvidia.com/gpu": "$GPUS"},
  "offerings": [{"Price": 1, "Available": true, "Requirements": [
    {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]},
    {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["zone-a"]}]}]}]
JSON
}
# As the guide of Karpenter has it. What is added stays; kwok knows its nodes by the label `type`.
node_pool() {
  cat <<YAML
{apiVersion: karpenter.kwok.sh/v1alpha1, kind: KWOKNodeClass, metadata: {name: default}}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpus}
spec:
  template:
    metadata: {labels: {type: kwok, $MODEL: V100}}
    spec:
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
      requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}]
      expireAfter: Never
  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: Never}
YAML
}
run_karpenter() {
  instance_types >"$CASE_DIR/instance-types.json"
  run_helper karpenter env KUBECONFIG="$KUBECONFIG" SYSTEM_NAMESPACE=default DISABLE_LEADER_ELECTION=true METRICS_PORT=8090 \
    HEALTH_PROBE_PORT=8091 INSTANCE_TYPES_FILE_PATH="$CASE_DIR/instance-types.json" "$(tool karpenter)"
}
karpenter_ready() { curl --silent --max-time 5 --output /dev/null --write-out '%{http_code}' http://127.0.0.1:8091/readyz; }
pool_ready() { field nodepool/gpus '.status.conditions[?(@.type=="Ready")].status'; }
# The pods for which it looked for a node so far, by the lines of its log; each once.
looked_at() {
  jq -rR 'fromjson? | select(.message == "found provisionable pod(s)").Pods' "$CASE_DIR/karpenter.log" | tr -d ' ' | tr ',' '\n' | sort -u | xargs
}
nodes_added() { kubectl get nodeclaims -o name | wc -l; }
names_of() { kubectl get "$1" -o name | sed 's|.*/||' | sort; }
# Nodes that have a GpuNodeStatus. No agent is there to write one, so the case does, for those that have come.
nodes_with_gpus() {
  local node
  for node in $(comm -23 <(names_of nodes) <(names_of gns)); do
    "$TESTBED/load" nodes --existing --name "$node" --gpus $GPUS >/dev/null
  done
  names_of gns | wc -l
}
# The limit that the webhook gave a pod of that claim, were it created now.
limit_of() { pod probe "$1" | kubectl create --dry-run=server -n "$2" -o 'jsonpath={.spec.containers[0].resources.limits.nvidia\.com/gpu}' -f -; }

step "a control plane without a node, a scheduler with quotas, the webhook that writes limits, Karpenter"
provider_up --kwok 2>>"$CASE_DIR/up.log"
install_crds "$(karpenter_crds)"
run_karpenter
install_crds "$CRDS"
scheduler_account
kubectl apply -f "$REPO/deploy/rbac/quota.yaml" >/dev/null
kubectl create configmap gpuquota -n kube-system --from-literal=gpu_quota='{"poor": {"quota": {"V100": 1}}}' >/dev/null
echo '{"GPUModelLabel": "'$MODEL'", "GPUPoolLabel": "gaia.tencent.com/gpu-pool"}' >"$CASE_DIR/quota.json"
SCHEDULER_FLAGS=(--quota-config="$CASE_DIR/quota.json")
run_scheduler scheduler
webhook_cluster $PORT
run_webhook webhook $PORT --inject-limits
eventually "/readyz of karpenter" 200 karpenter_ready
node_pool | kubectl apply -f - >/dev/null
eventually "Ready of its NodePool" True pool_ready

step "who waits for a quota, a claim, a right limit or a node by its name is told so by the reason"
kubectl create namespace poor >/dev/null
eventually "service account of poor" serviceaccount/default kubectl get serviceaccount default -n poor -o name
claim all "count: $GPUS" | create -n poor
claim all "count: $GPUS" | create
eventually "limit that the webhook writes" $GPUS limit_of all poor
eventually "limit that the webhook writes" $GPUS limit_of all default
pod over all | create -n poor
pod lost none limits "nvidia.com/gpu: $GPUS" | create
pod wrong all limits 'nvidia.com/gpu: 1' | create
pod named all spec 'nodeSelector: {kubernetes.io/hostname: gpu-7}' | create
expect_told QuotaExceeded over 'The quota of its namespace leaves it no GPU' -n poor
expect_told ClaimNotFound lost 'gpuclaim "none" not found'
expect_told InvalidRequest wrong 'make them equal'
expect_told WaitsForNode named 'no nodes available'

step "for a claim pod that waits for a node Karpenter adds one, and looks at none of the others"
pod trains all | create
eventually "nodes that were added" 1 nodes_added
expect "pods that it added one for" default/trains "$(looked_at)"
expect "its limit" $GPUS "$(field pod/trains '.spec.containers[0].resources.limits.nvidia\.com/gpu')"

step "the node comes, its GPUs are listed, and the pod has them; the others wait for what they waited for"
eventually "nodes with GPUs" 1 nodes_with_gpus
eventually_like "allocation of the pod" '^.*:0,1,2,3$' allocated trains
expect_told QuotaExceeded over . -n poor
expect_told ClaimNotFound lost .
expect_told InvalidRequest wrong .
expect_told WaitsForNode named 'node affinity/selector'
expect "nodes that were added" 1 "$(nodes_added)"
expect_sound

step "a quota that leaves enough: now the pod waits for a node, and Karpenter adds one"
kubectl delete configmap gpuquota -n kube-system >/dev/null
eventually "nodes that were added" 2 nodes_added
expect "pods that it added one for" "default/trains poor/over" "$(looked_at)"
eventually "nodes with GPUs" 2 nodes_with_gpus
eventually_like "allocation of the pod" '^.*:0,1,2,3$' allocated over -n poor
expect_told ClaimNotFound lost .
expect_told InvalidRequest wrong .
expect_told WaitsForNode named 'node affinity/selector'
expect_sound
