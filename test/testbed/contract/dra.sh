# shellcheck shell=bash
# What the cases with a DRA driver share; sourced by them, and by nobody else. They run the newest Kubernetes
# (`# Kubernetes: newest`, `# Needs: nodes dra-driver`), with `new_cluster --kubelets N` or `provider_up
# --kubelets N`.

DRA=gpu.example.com # driver, and the class of all its devices

# dra_cluster: the DeviceClass whose devices are also counted as nvidia.com/gpu, and the account of the
# drivers.
dra_cluster() {
  device_class
  create <<YAML
apiVersion: v1
kind: ServiceAccount
metadata: {name: dra-driver, namespace: kube-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: dra-driver}
rules:
- {apiGroups: [""], resources: [nodes], verbs: [get]}
- {apiGroups: [resource.k8s.io], resources: [resourceclaims], verbs: [get]}
- {apiGroups: [resource.k8s.io], resources: [resourceslices], verbs: [list, create, update, delete]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: dra-driver}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: dra-driver}
subjects: [{kind: ServiceAccount, name: dra-driver, namespace: kube-system}]
YAML
  provider_kubeconfig kube-system dra-driver >"$CASE_DIR/dra-driver.kubeconfig"
}

device_class() {
  create <<YAML
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: $DRA}
spec:
  extendedResourceName: nvidia.com/gpu
  selectors: [{cel: {expression: "device.driver == '$DRA' && device.attributes['$DRA'].type == 'gpu'"}}]
YAML
}

# start_dra NODE [FLAG...]: its driver; returns when the kubelet knows it. Its faults are files in the folder
# that faults_of names.
start_dra() {
  local node=$1 before
  before=$(times_registered "$node")
  mkdir -p "$(faults_of "$node")"
  run_helper "dra-$node" "$TESTBED/on-node" "$CASE_DIR/cluster" "$node" "$(tool dra-driver)" --driver-name="$DRA" \
    --node-name="$node" --kubeconfig="$CASE_DIR/dra-driver.kubeconfig" --control="$(faults_of "$node")" \
    --log="$CASE_DIR/dra-calls-$node.log" "${@:2}"
  eventually_at_least "registrations of the driver on $node" $((before + 1)) times_registered "$node"
}

# kill_dra NODE: all at once, as by a crash.
kill_dra() {
  kill -s KILL "$(<"$CASE_DIR/dra-$1.pid")"
  finish_job "dra-$1" 137
}

faults_of() { echo "$CASE_DIR/dra-faults-$1"; }

# fault NODE FILE [TEXT], no_fault NODE FILE: see modules/dra-driver/control.go.
fault() {
  local file
  file=$(faults_of "$1")/$2
  echo "${3:-}" >"$file.new"
  mv "$file.new" "$file"
}
no_fault() { rm "$(faults_of "$1")/$2"; }

# dra_calls NODE [CLAIM]: what the kubelet asked of the driver: call, claim, devices and result, one call a
# line.
dra_calls() {
  jq -r --arg claim "${2:-}" 'select(.call != "registered" and ($claim == "" or .name == $claim))
    | [.call, .name, (.devices // [] | join(",")), .result] | join(" ")' "$CASE_DIR/dra-calls-$1.log"
}
times_registered() {
  if [[ ! -f $CASE_DIR/dra-calls-$1.log ]]; then echo 0; return; fi
  jq -r 'select(.call == "registered") | .call' "$CASE_DIR/dra-calls-$1.log" | wc -l
}

# pod_resources NODE POD: container, claim, pool and device of each that the kubelet says the pod has.
pod_resources() {
  provider_on_node "$1" "$(tool dra-driver)" pod-resources |
    jq -r --arg pod "$2" 'select(.pod == $pod) | [.container, .claim, .pool, .device] | join(" ")'
}

# slices_of NODE: generation, the number of slices that it should have, and the devices with the effects of
# their taints, one slice a line.
slices_of() {
  kubectl get resourceslices -o json | jq -r --arg node "$1" '.items | sort_by(.metadata.name)[] | .spec
    | select(.nodeName == $node) | "\(.pool.generation)/\(.pool.resourceSliceCount) "
      + ([.devices[]? | .name + ([.taints[]?.effect | ":" + .] | join(""))] | join(","))'
}
