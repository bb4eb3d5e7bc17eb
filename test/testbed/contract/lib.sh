# shellcheck shell=bash
# What the contract cases are written with; sourced by run-case. Cases see the cluster through $KUBECONFIG only.
#
# A case is a list of steps: `step "what holds"`, then commands. Any command that fails, fails the step. Nothing waits
# for a fixed time: `eventually` polls, generously, and says what it saw last.

PATIENCE=90 # seconds that `eventually` waits; a limit for broken programs, never a measure
GS_BIN=${GS_BIN:-$REPO/build/release/bin}

# --- steps -------------------------------------------------------------------

STEP='' STEP_BEGAN=0 FAILED_AT=''

# Lines for the reader go to the case's stdout and to steps.log, from inside $(...) too.
print_line() { printf '%s\n' "$*" | tee -a "$CASE_DIR/steps.log" >&3; }

elapsed_ms() { echo $(((${EPOCHREALTIME/./} - $1) / 1000)); }

begin_case() {
  exec 3>&1
  [[ -x $GS_BIN/gpu-scheduler ]] || die "no $GS_BIN/gpu-scheduler: make build, or set GS_BIN"
  unset KUBECONFIG # of the caller: cases only ever see the cluster of provider_up
  export KUBECACHEDIR=$CASE_DIR/kubectl-cache # what other clusters serve is not for us
  CASE_BEGAN=${EPOCHREALTIME/./}
  trap 'FAILED_AT="${BASH_SOURCE[0]##*/}:$LINENO: $BASH_COMMAND"' ERR
  trap 'on_exit $?' EXIT
}

step() {
  expect_running
  finish_step
  STEP=$1 STEP_BEGAN=${EPOCHREALTIME/./}
}

finish_step() {
  if [[ -n $STEP ]]; then print_line "ok      $STEP ($(elapsed_ms "$STEP_BEGAN") ms)"; fi
  STEP=''
}

# note TEXT: a figure to report, never judged.
note() { print_line "        $*"; }

fail() {
  : >"$CASE_DIR/failed"
  print_line "FAILED  ${STEP:-$CASE}: $*"
  exit 1
}

on_exit() {
  local status=$1 name
  trap - ERR
  set +e
  if ((status != 0)); then
    if [[ ! -f $CASE_DIR/failed ]]; then print_line "FAILED  ${STEP:-$CASE}: status $status of $FAILED_AT"; fi
    provider_save
    for name in "${!HELPER[@]}"; do
      print_line "        $name: $(state_of "$name"); the last lines of its log:"
      tail -n 5 "$CASE_DIR/$name.log" | cut -c1-300 | tee -a "$CASE_DIR/steps.log" >&3
    done
    for name in "${!SCHEDULER_PORT[@]}"; do
      print_line "        scheduler $name: $(state_of "$name"); the last lines of its log:"
      tail -n 5 "$CASE_DIR/$name.log" | cut -c1-300 | tee -a "$CASE_DIR/steps.log" >&3
    done
    print_line "        all logs are in ${CASE_DIR#"$REPO"/}"
  fi
  rm -rf "$KUBECACHEDIR"
}

# state_of NAME: ended, or what the kernel says. (Stopped, and not by the case? Then by somebody on this machine.)
state_of() {
  sed -n 's/^State:[[:space:]]*//p' "/proc/$(<"$CASE_DIR/$1.pid")/status" 2>/dev/null ||
    echo "ended with status $(<"$CASE_DIR/$1.status")"
}

forbidden_requests() { provider_audit | awk '$6 == 401 || $6 == 403' | sort | uniq -c; }

# The last step of every case: whatever it did, the scheduler asked for nothing that its role does not give.
end_case() {
  expect_running
  if [[ -n ${KUBECONFIG:-} ]]; then
    step "no request of the scheduler was forbidden"
    expect_output "requests answered 401 or 403" "" forbidden_requests
  fi
  finish_step
  print_line "passed  $CASE in $(elapsed_ms "$CASE_BEGAN") ms"
  provider_save
}

# --- expectations ------------------------------------------------------------

# expect WHAT WANTED GOT
expect() { [[ $2 == "$3" ]] || fail "$1: expected '$2', got '$3'"; }

# expect_like WHAT REGEX GOT: an extended regular expression, found anywhere.
expect_like() { [[ $3 =~ $2 ]] || fail "$1: expected /$2/, got '$3'"; }

# expect_output WHAT WANTED COMMAND...: what it prints. One that fails is not what is wanted, whatever it prints: in
# `expect WHAT "" "$(COMMAND)"` a COMMAND that fails would pass.
expect_output() {
  local got
  if ! got=$("${@:3}"); then got+=" (failed)"; fi
  expect "$1" "$2" "$got"
}

# expect_output_like WHAT REGEX COMMAND...
expect_output_like() {
  local got
  if ! got=$("${@:3}"); then got+=" (failed)"; fi
  expect_like "$1" "$2" "$got"
}

# expect_words WHAT WANTED GOT: line by line and word by word; spacing does not count, ages are written AGE.
expect_words() { expect "$1" "$(words <<<"$2")" "$(words <<<"$3")"; }
words() { sed -E 's/[[:space:]]+/ /g; s/^ //; s/ $//; s/ ([0-9]+[smhd])+$/ AGE/' | sed '/^$/d'; }

# eventually WHAT WANTED COMMAND...: until the output of COMMAND, errors included, is WANTED.
eventually() { poll "$1" expect_same "${@:2}"; }
# eventually_like WHAT REGEX COMMAND...
eventually_like() { poll "$1" expect_found "${@:2}"; }
expect_same() { [[ $2 == "$1" ]]; }
expect_found() { [[ $2 =~ $1 ]]; }

poll() {
  local what=$1 holds=$2 wanted=$3 got deadline=$((SECONDS + PATIENCE))
  shift 3
  while true; do
    if ! got=$("$@" 2>&1); then got+=" (failed)"; fi
    if "$holds" "$wanted" "$got"; then return; fi
    expect_running
    ((SECONDS < deadline)) || fail "$what: expected '$wanted', after $PATIENCE s still '$got'"
    sleep "$POLL"
  done
}
POLL=0.15

# eventually_at_least WHAT NUMBER COMMAND...: looked at more often, to be there when it has just become so.
eventually_at_least() { POLL=0.02 poll "$1" expect_enough "${@:2}"; }
expect_enough() { [[ $2 =~ ^[0-9]+$ ]] && (($2 >= $1)); }

# expect_refused WHAT REGEX COMMAND...: COMMAND fails and says so.
expect_refused() {
  local what=$1 regex=$2 got
  shift 2
  if got=$("$@" 2>&1); then fail "$what: expected a refusal like /$regex/, but it was accepted: '$got'"; fi
  expect_like "$what" "$regex" "$got"
}

# --- objects -----------------------------------------------------------------

# claim NAME DEVICES [SPEC]: a GpuClaim; DEVICES and SPEC are the inside of YAML's {}.
claim() {
  cat <<YAML
---
{apiVersion: gpu.scheduling/v1, kind: GpuClaim, metadata: {name: $1}, spec: {devices: {$2}${3:+, $3}}}
YAML
}

# on NODE: the part of a claim's spec that allows this node only.
on() { echo "selector: {matchLabels: {kubernetes.io/hostname: $1}}"; }

# pod NAME [CLAIM [OPTION VALUE]...]: a pod of ours; VALUE is the inside of YAML's {}. CLAIM '' for none.
#   annotations, limits and env (of its container), spec
#   command      what a shell does in it, where pods run (new_cluster --kubelets); otherwise it only is there
pod() {
  local name=$1 claim=${2:-} annotations='' limits='' env='' spec='' program="image: 'pause:testbed'"
  if (($# > 1)); then shift 2; else shift; fi
  while (($# > 0)); do
    case $1 in
      annotations) annotations=$2 ;;
      limits) limits=$2 ;;
      env) env=", env: [$2]" ;;
      command) program="image: 'busybox:testbed', command: [sh, -c, $(jq -Rs . <<<"$2")]" ;;
      spec) spec=$2 ;;
      *) fail "pod $name: unknown option $1" ;;
    esac
    shift 2
  done
  if [[ -n $claim ]]; then annotations="gpu.scheduling/claim: $claim${annotations:+, $annotations}"; fi
  cat <<YAML
---
apiVersion: v1
kind: Pod
metadata: {name: $name, annotations: {$annotations}}
spec: {schedulerName: gpu-scheduler, containers: [{name: main, $program$env, resources: {limits: {$limits}}}]${spec:+, $spec}}
YAML
}

# embedded FILE KEY: the text of a ConfigMap's KEY in a manifest.
embedded() {
  awk -v key="  $2: |" '$0 == key { inside = 1; next } inside && !/^    / { exit } inside { print substr($0, 5) }' "$1"
}

# patch_status NODE JSON-PATCH: as the agent writes the status of the node's GPUs.
patch_status() { kubectl patch gns "$1" --subresource=status --type=json -p "$2" >/dev/null; }
set_health() { patch_status "$1" '[{"op": "add", "path": "/status/devices/'"$2"'/health", "value": "'"$3"'"}]'; }

# create [KUBECTL-OPTION...]: what stdin describes. (Its warnings, such as those about long names, are kept in a file.)
create() {
  kubectl create "$@" -f - >/dev/null 2>>"$CASE_DIR/kubectl.log" || fail "kubectl create: $(tail -n 1 "$CASE_DIR/kubectl.log")"
}

# No kubelet runs: a pod that was bound stays Pending until somebody says that it ended.
# finish_pod NAME [KUBECTL-OPTION...]
finish_pod() { kubectl patch pod "$@" --subresource=status --type=merge -p '{"status": {"phase": "Succeeded"}}' >/dev/null; }

# delete_pods NAME... [KUBECTL-OPTION...]: at once, as a kubelet would after the grace period; they are gone when it
# returns, so kubectl need not wait for each of them.
delete_pods() { kubectl delete pods --force --grace-period=0 --wait=false "$@" >/dev/null 2>>"$CASE_DIR/kubectl.log"; }

field() { kubectl get "$1" -o jsonpath="{$2}" "${@:3}"; } # KIND/NAME PATH [KUBECTL-OPTION...]
allocated() { field "pod/$1" '.metadata.annotations.gpu\.scheduling/allocated' "${@:2}"; }
node_of() { field "pod/$1" .spec.nodeName "${@:2}"; }
uid_of() { field "$1" .metadata.uid "${@:2}"; }
# The reason and the message of a pod's condition PodScheduled.
waits() { field "pod/$1" '.status.conditions[?(@.type=="PodScheduled")].reason' "${@:2}"; }
why() { field "pod/$1" '.status.conditions[?(@.type=="PodScheduled")].message' "${@:2}"; }

# A new node could help it; and one that no new node helps.
expect_waiting() { expect_told Unschedulable "$@"; } # NAME REGEX-OF-THE-MESSAGE [KUBECTL-OPTION...]
expect_told() { # REASON NAME REGEX-OF-THE-MESSAGE [KUBECTL-OPTION...]
  eventually_like "why pod $2 waits" "$3" why "$2" "${@:4}"
  expect "reason of pod $2's condition" "$1" "$(waits "$2" "${@:4}")"
  expect_output "node of pod $2" "" node_of "$2" "${@:4}"
}

expect_allocated() { # NAME NODE:IDS [KUBECTL-OPTION...]
  eventually "allocation of pod $1" "$2" allocated "$1" "${@:3}"
  expect "node of pod $1" "${2%:*}" "$(node_of "$1" "${@:3}")"
}

# The names of the GPU leases, in the lease namespace or where KUBECTL-OPTIONs say; sorted, in one line.
gpu_leases() { kubectl get leases -l gpu.scheduling/managed=true -o name "$@" | sed 's|.*/||' | sort | tr '\n' ' '; }
lease_count() { gpu_leases "$@" | wc -w; }
# The uids in a shared lease, one a line.
holders_of() { field "lease/$1" '.metadata.annotations.gpu\.scheduling/holders' "${@:2}" | jq -r '.[].uid'; }
eventually_leases() { eventually "GPU leases" "$1" gpu_leases "${@:2}"; } # "NAME NAME " [KUBECTL-OPTION...]

# Pods that are bound, of those that KUBECTL-OPTIONs choose.
bound_count() { kubectl get pods -o jsonpath='{range .items[?(@.spec.nodeName)]}x{end}' "$@" | tr -d '\n' | wc -c; }

# events_of POD REASON [KUBECTL-OPTION...]: type and message of each
events_of() {
  kubectl get events --field-selector "involvedObject.name=$1,reason=$2" \
    -o jsonpath='{range .items[*]}{.type} {.message}{"\n"}{end}' "${@:3}"
}

# No GPU is given twice, no lease is without its pod; `load judge` reads nothing but the API.
expect_sound() { "$TESTBED/load" judge --within 90s >"$CASE_DIR/judge.log" 2>&1 || fail "the judge: $(<"$CASE_DIR/judge.log")"; }

# --- pods that run (new_cluster --kubelets, real server only) ----------------

runs() { eventually "state of pod $1" "Running true" state_of_pod "$@"; } # NAME [KUBECTL-OPTION...]
state_of_pod() { field "pod/$1" '.status.phase} {.status.containerStatuses[0].ready' "${@:2}"; }
# Which container it is, and how often it was started again.
container_of() { field "pod/$1" '.status.containerStatuses[0].containerID} {.status.containerStatuses[0].restartCount' "${@:2}"; }
# task_of NODE CONTAINER-OF-A-POD: RUNNING or STOPPED, "" once it is gone. That is what containerd says, also when no kubelet is there.
task_of() {
  local id=${2#containerd://}
  provider_on_node "$1" ctr tasks list 2>/dev/null | awk -v id="${id%% *}" '$1 == id { print $3 }'
}
readiness_of() { field "node/$1" '.status.conditions[?(@.type=="Ready")].status'; }

# --- cluster and schedulers --------------------------------------------------

CRDS=$REPO/charts/gpu-scheduler/crds/crds.yaml

# new_cluster [UP-OPTION...]: the CRDs, the guides' nodes, and the account that the scheduler runs under. With
# `--kubelets 2` the nodes are real ones that only have made-up GPUs (real server only; a case that `# Needs: nodes`).
new_cluster() {
  local nodes=("$TESTBED/nodes")
  if [[ " $* " == *' --kubelets '* ]]; then nodes+=(--existing); fi
  provider_up "$@" 2>>"$CASE_DIR/up.log"
  install_crds "$CRDS"
  "${nodes[@]}"
  scheduler_account
}

install_crds() {
  kubectl apply -f "$1" >/dev/null
  until_served "$1" kubectl
}

# eventually_served CRD: the same as until_served, of one that no file of ours has.
eventually_served() { eventually "Established of $1" True field "crd/$1" '.status.conditions[?(@.type=="Established")].status'; }

scheduler_account() {
  kubectl apply -f "$REPO/deploy/rbac/scheduler.yaml" >/dev/null
  provider_kubeconfig >"$CASE_DIR/scheduler.kubeconfig"
}

declare -A SCHEDULER_PID=() SCHEDULER_PORT=()
SCHEDULER_FLAGS=() # besides those of start_scheduler

# start_scheduler NAME [LEASE-NAMESPACE [KUBECONFIG]]: returns at once.
start_scheduler() {
  local name=$1 port
  if [[ -z ${SCHEDULER_PORT[$name]:-} ]]; then SCHEDULER_PORT[$name]=$((10259 + ${#SCHEDULER_PORT[@]})); fi
  port=${SCHEDULER_PORT[$name]}
  rm -f "$CASE_DIR/$name".{pid,status}
  run_recorded "$CASE_DIR/$name" "$GS_BIN/gpu-scheduler" \
    --kubeconfig="${3:-$CASE_DIR/scheduler.kubeconfig}" --scheduler-name=gpu-scheduler --lease-namespace="${2:-default}" \
    --identity="$name" --leader-elect=true --leader-elect-lease-duration=5s --leader-elect-renew-deadline=3s \
    --leader-elect-retry-period=500ms --metrics-address="127.0.0.1:$port" "${SCHEDULER_FLAGS[@]}" \
    >>"$CASE_DIR/$name.log" 2>&1 3>&- </dev/null &
  until [[ -s $CASE_DIR/$name.pid ]]; do sleep 0.01; done
  SCHEDULER_PID[$name]=$(<"$CASE_DIR/$name.pid")
}

# --- helpers of a case in the background: programs and functions, none of which can end without being noticed ------------

# What stands there: `stays`, or `may end` with status 0 when its work is done.
declare -A HELPER=()

# run_helper NAME COMMAND...: until end_helper. One that ends by itself fails the case at the next step or poll.
run_helper() { start_helper stays "$@"; }
# run_job NAME COMMAND...: has an end of its own, for which finish_job waits. One that fails is noticed as soon.
run_job() { start_helper 'may end' "$@"; }

start_helper() {
  local how=$1 name=$2
  rm -f "$CASE_DIR/$name".{pid,status}
  # A check that fails in there says so in its log.
  run_recorded "$CASE_DIR/$name" "${@:3}" >>"$CASE_DIR/$name.log" 2>&1 3>>"$CASE_DIR/$name.log" </dev/null &
  HELPER[$name]=$how
  until [[ -s $CASE_DIR/$name.pid ]]; do sleep 0.01; done
}

expect_helpers() {
  local name status
  for name in "${!HELPER[@]}"; do
    [[ -s $CASE_DIR/$name.status ]] || continue
    status=$(<"$CASE_DIR/$name.status")
    if [[ ${HELPER[$name]} == stays || $status != 0 ]]; then
      unset "HELPER[$name]"
      fail "$name ended by itself with status $status: $(tail -n 5 "$CASE_DIR/$name.log")"
    fi
  done
}

# finish_job NAME [STATUS]: returns when it has ended. (Each of them gives up by itself when it cannot go on.)
finish_job() {
  local wanted=${2:-0}
  if ((wanted != 0)); then unset "HELPER[$1]"; fi
  until [[ -s $CASE_DIR/$1.status ]]; do
    expect_running
    sleep 0.1
  done
  expect_helpers
  unset "HELPER[$1]"
  expect "exit status of $1" "$wanted" "$(<"$CASE_DIR/$1.status")"
}

# end_helper NAME: it is told to, and ends well.
end_helper() {
  unset "HELPER[$1]"
  kill -s TERM "$(<"$CASE_DIR/$1.pid")"
  finish_job "$1"
}

# In front of the API server, so that programs of a case need no certificates.
PROXY=http://127.0.0.1:8001
export PYTHONDONTWRITEBYTECODE=1 # of those in Python
start_proxy() {
  run_helper proxy kubectl proxy --port=8001
  eventually "status of the proxy" 200 curl --silent --output /dev/null --write-out '%{http_code}' "$PROXY/version"
}

expect_running() {
  expect_schedulers
  expect_helpers
}

# run_recorded FILE COMMAND...: in the background; FILE.pid and, once it has ended, FILE.status. (A shell of its own,
# because bash tells on stderr when a child of its is killed.)
run_recorded() {
  trap - ERR
  "${@:2}" &
  echo $! >"$1.pid"
  local status=0
  wait $! || status=$?
  echo "$status" >"$1.status"
}

# page NAME PATH: what the scheduler serves there, whatever the status code.
page() { curl --silent --max-time 5 "http://127.0.0.1:${SCHEDULER_PORT[$1]}$2"; }
ready_code() { curl --silent --max-time 5 --output /dev/null --write-out '%{http_code}' "http://127.0.0.1:${SCHEDULER_PORT[$1]}/readyz"; }
leading() { page "$1" /metrics | awk '$1 == "gpu_scheduler_leading" { print $2 }'; }

expect_ready() { eventually "/readyz of $1" 200 ready_code "$1"; }
expect_leading() { eventually "gpu_scheduler_leading of $1" 1 leading "$1"; }

# How many placements a scheduler says that it made.
said_placed() { page "$1" /metrics | awk '/^scheduler_schedule_attempts_total.*result="scheduled"/ { print $2 }'; }

# run_scheduler NAME [LEASE-NAMESPACE [KUBECONFIG]]: start it; returns when it decides.
run_scheduler() {
  start_scheduler "$@"
  expect_leading "$1"
  expect_ready "$1"
}

# signal_scheduler NAME SIGNAL
signal_scheduler() { kill -s "$2" "${SCHEDULER_PID[$1]}"; }

# expect_end NAME STATUS: it has ended or will, with this exit status.
expect_end() {
  unset "SCHEDULER_PID[$1]"
  eventually "scheduler $1 has ended" yes has_ended "$1"
  expect "exit status of scheduler $1" "$2" "$(<"$CASE_DIR/$1.status")"
}
# Those that nobody told to end still run.
expect_schedulers() {
  local name
  for name in "${!SCHEDULER_PID[@]}"; do
    if [[ -s $CASE_DIR/$name.status ]]; then fail "scheduler $name ended by itself with status $(<"$CASE_DIR/$name.status")"; fi
  done
}
has_ended() { if [[ -s $CASE_DIR/$1.status ]]; then echo yes; else echo no; fi; }

stop_scheduler() { signal_scheduler "$1" TERM; expect_end "$1" 0; }
kill_scheduler() { signal_scheduler "$1" KILL; expect_end "$1" 137; }

# --- tokens that can be revoked (real only) ---------------------------------

declare -A SECRET=()

# give_token NAME: a token that lives as long as a Secret of its own does, into the file that scheduler NAME reads.
give_token() {
  SECRET[$1]=$1-$RANDOM$RANDOM
  kubectl create secret generic "${SECRET[$1]}" >/dev/null
  kubectl create token gpu-scheduler --duration 24h --bound-object-kind Secret --bound-object-name "${SECRET[$1]}" \
    >"$CASE_DIR/$1.token.new"
  mv "$CASE_DIR/$1.token.new" "$CASE_DIR/$1.token"
}
revoke_token() { kubectl delete secret "${SECRET[$1]}" >/dev/null; }

# with_token_file NAME: a kubeconfig for it.
with_token_file() {
  give_token "$1"
  sed "s|^    token: .*|    tokenFile: $CASE_DIR/$1.token|" "$CASE_DIR/scheduler.kubeconfig" >"$CASE_DIR/$1.kubeconfig"
  expect "token files in the kubeconfig" 1 "$(grep -c "^    tokenFile: " "$CASE_DIR/$1.kubeconfig")"
}

# The API server takes a token's word for 10 s. What is promised is to be unready within 30 s, so that is waited.
expect_unready() {
  local at=${EPOCHREALTIME/./}
  PATIENCE=30
  eventually "/readyz of $1" 503 ready_code "$1"
  PATIENCE=90
  note "$1 is unready $(elapsed_ms "$at") ms after its token was revoked"
  expect_like "/readyz of $1" 'token: the API server answers 401 Unauthorized; give this process a valid token' "$(page "$1" /readyz)"
  expect "/healthz of $1" ok "$(page "$1" /healthz)"
}
