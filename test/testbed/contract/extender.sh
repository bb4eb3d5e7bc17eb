# shellcheck shell=bash disable=SC2034,SC2004 # names for lib.sh, which also declares the arrays
# What the extender's cases share; sourced by them. Extenders are named as schedulers are, and signalled, stopped and
# asked for their pages by the same functions (lib.sh). The programs in extender/ speak for kube-scheduler and Volcano, and judge.

SCHEDULER_ACCOUNT=system:serviceaccount:kube-stack:gpu-scheduler-sa # whose requests provider_audit prints
MANIFESTS=$REPO/deploy/gpu-admission

# extender_account FILE: the namespace, and what FILE of the manifests makes; "" for all of them.
extender_account() {
  kubectl create namespace kube-stack >/dev/null
  kubectl apply -f "$MANIFESTS/$1" >/dev/null
  provider_kubeconfig kube-stack gpu-scheduler-sa >"$CASE_DIR/extender.kubeconfig"
}

# The --config file of the manifests.
extender_config() { embedded "$MANIFESTS/gpu-admission.yaml" gpu-admission.json; }

speak() { python3 "$CONTRACT/extender/$1.py" "${@:2}"; }

# start_extender NAME [FLAG...]: returns at once. The first one listens on 3456, as the guide has it.
start_extender() {
  local name=$1 port kubeconfig=${EXTENDER_KUBECONFIG:-$CASE_DIR/extender.kubeconfig}
  if [[ -z ${SCHEDULER_PORT[$name]:-} ]]; then SCHEDULER_PORT[$name]=$((3456 + 10 * ${#SCHEDULER_PORT[@]})); fi
  port=${SCHEDULER_PORT[$name]}
  rm -f "$CASE_DIR/$name".{pid,status}
  run_recorded "$CASE_DIR/$name" "$GS_BIN/gpu-admission" --kubeconfig="$kubeconfig" --lease-namespace=kube-stack \
    --address="127.0.0.1:$port" --pprofAddress="127.0.0.1:$((port + 1))" --identity="$name-$RANDOM" "${@:2}" \
    >>"$CASE_DIR/$name.log" 2>&1 3>&- </dev/null &
  until [[ -s $CASE_DIR/$name.pid ]]; do sleep 0.01; done
  SCHEDULER_PID[$name]=$(<"$CASE_DIR/$name.pid")
}

# gauge NAME EXTENDER: the value of its metric gpu_admission_NAME.
gauge() { page "$2" /metrics | awk -v name="gpu_admission_$1" '$1 == name { print $2 }'; }
extender_leads() { gauge leading "$1"; }
run_extender() {
  start_extender "$@"
  expect_ready "$1"
  eventually "gpu_admission_leading of $1" 1 extender_leads "$1"
}
url_of() { echo "http://127.0.0.1:${SCHEDULER_PORT[$1]}"; }
ledger_of() { echo "http://127.0.0.1:$((SCHEDULER_PORT[$1] + 1))"; }

# ask_at URL POD NODE...: what the extender there answers to a filter for the pod: status, and node, or why none.
ask_at() {
  local names
  names=$(printf '%s\n' "${@:3}" | jq -R . | jq -sc .)
  kubectl get pod "$2" -o json | jq -c --argjson names "$names" '{Pod: ., Nodes: null, NodeNames: $names}' |
    curl --silent --max-time 10 --write-out '\n%{http_code}' --data-binary @- "$1/scheduler/predicates" |
    jq -rRs 'split("\n") | .[-1] as $code | .[0] | (fromjson? // {Error: .})
      | "\($code) " + (if .Error != "" then .Error else (.NodeNames[0] // (.FailedNodes | [.[]] | unique | join(", "))) end)'
}

# What a pod's annotations say of its devices.
annotations_of() { field "pod/$1" .metadata.annotations | jq -cS 'with_entries(select(.key | startswith("tencent.com/")))'; }

# bind POD NODE
bind() {
  kubectl create --raw "/api/v1/namespaces/default/pods/$1/binding" -f - >/dev/null <<<'{
    "apiVersion": "v1", "kind": "Binding", "metadata": {"name": "'"$1"'"}, "target": {"kind": "Node", "name": "'"$2"'"}}'
}
# kubelet_takes POD
kubelet_takes() {
  kubectl patch pod "$1" --subresource=status --type=merge >/dev/null \
    -p '{"status": {"phase": "Running", "startTime": "2025-06-01T10:00:00Z"}}'
}
