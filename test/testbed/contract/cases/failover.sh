# shellcheck shell=bash
# Leader and standby: a kill -9 in the middle of a stream of pods, and an orderly end. Times are reported, not judged.

step "a control plane with 30 nodes of 8 GPUs; one of two schedulers leads, both are ready"
provider_up 2>>"$CASE_DIR/up.log"
install_crds "$CRDS"
"$TESTBED/nodes" --count 30
scheduler_account
claim one 'count: 1' | create
claim two 'count: 2' | create
run_scheduler alpha
start_scheduler beta
expect_ready beta
expect "gpu_scheduler_leading of the standby" 0 "$(leading beta)"
expect_like "/readyz of the standby" 'role: standby' "$(page beta '/readyz?verbose')"

# stream NAME COUNT: so many pods, half of them by claim and half plain, at the pace of 2 connections each.
stream() {
  "$TESTBED/load" pods --claim one --count $(($2 / 2)) --prefix "$1-claim-" --connections 2 >>"$CASE_DIR/load.log"
  "$TESTBED/load" pods --gpus 1 --count $(($2 / 2)) --prefix "$1-plain-" --connections 2 >>"$CASE_DIR/load.log"
}

# kill_in_stream LEADER STANDBY COUNT: LEADER is killed when a third of the pods is bound.
kill_in_stream() {
  local leader=$1 standby=$2 count=$3 before killed
  before=$(bound_count)
  run_job stream stream "under-$leader" "$count"
  eventually_at_least "pods bound" $((before + count / 3)) bound_count
  kill_scheduler "$leader"
  killed=${EPOCHREALTIME/./}
  note "$(($(bound_count) - before)) of $count pods were bound when $leader was killed"
  finish_job stream
  expect_leading "$standby"
  note "$standby decides $(elapsed_ms "$killed") ms later"
  eventually "pods bound" $((before + count)) bound_count
  note "all pods are bound $(elapsed_ms "$killed") ms after the kill"
}

step "kill -9 of the leader in the middle of 120 pods: the standby goes on, nothing is given twice, nothing leaks"
kill_in_stream alpha beta 120
expect_sound
eventually "leases" 120 lease_count

step "again, with the one that was killed as standby"
start_scheduler alpha
expect_ready alpha
kill_in_stream beta alpha 80
expect_sound
eventually "leases" 200 lease_count

step "a leader that stands still is followed, and writes nothing when it wakes up"
run_job creator "$TESTBED/load" pods --claim one --count 40 --prefix stalled- --connections 2
start_scheduler beta
eventually_at_least "pods bound" 210 bound_count
signal_scheduler alpha STOP
expect_leading beta
finish_job creator
eventually "pods bound" 240 bound_count
signal_scheduler alpha CONT
eventually "gpu_scheduler_leading of the old leader" 0 leading alpha
expect_sound
eventually "leases" 240 lease_count
kill_scheduler beta
expect_leading alpha

step "pods that ended while nobody led give back their GPUs"
kill_scheduler alpha
mapfile -t some < <(kubectl get pods -o name | sed -n '1,90s|pod/||p')
delete_pods "${some[@]}"
run_scheduler alpha
eventually "leases" 150 lease_count
expect_sound

step "SIGTERM: the leader ends with 0 and the standby leads at once"
start_scheduler beta
expect_ready beta
told=${EPOCHREALTIME/./}
signal_scheduler alpha TERM
expect_end alpha 0
note "alpha ended $(elapsed_ms "$told") ms after SIGTERM"
expect_leading beta
note "beta decides $(elapsed_ms "$told") ms after it"
{ pod after two; } | create
eventually_like "allocation" '^node-[0-9]+:[0-7],[0-7]$' allocated after
note "and its first pod is placed $(elapsed_ms "$told") ms after it"
expect_sound

step "SIGTERM in the middle of 60 pods: every one is placed by the next, none twice"
start_scheduler alpha
expect_ready alpha
run_job creator "$TESTBED/load" pods --claim one --count 60 --prefix last- --connections 2
eventually_at_least "pods bound" 170 bound_count
stop_scheduler beta
finish_job creator
eventually "pods bound" 211 bound_count
expect_sound

step "a Binding that is late by a change of leaders finds the fence of the next one, and is refused"
delete_pods --all
eventually_leases ""
"$TESTBED/load" nodes --name narrow --gpus 1
start_scheduler beta
expect_ready beta
cat <<YAML | create
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: urgent}, value: 1000}
YAML
provider_delay_bindings 20
{ claim narrow 'count: 1' "$(on narrow)"; pod late narrow; } | create
eventually_leases "gpu-narrow-0 "
signal_scheduler alpha STOP
# Its set of leases is complete, but it no longer fits: so it is not adopted.
kubectl cordon narrow >/dev/null
expect_leading beta
eventually_leases ""
expect_like "fence on the pod" '^[0-9a-f]{8}-' "$(field pod/late '.metadata.annotations.gpu\.scheduling/fence')"
expect_told WaitsForNode late 'were unschedulable'
provider_bindings_at_once
pod next narrow spec 'priorityClassName: urgent' | create
kubectl uncordon narrow >/dev/null
expect_allocated next narrow:0
late_bindings() { provider_audit | awk '$3 == "binding" && $5 == "late" { print $6 }' | sort | uniq -c | xargs; }
eventually "Bindings of pod late, by status code" "1 409" late_bindings
expect_output "its node" "" node_of late
expect_sound
signal_scheduler alpha CONT
eventually "gpu_scheduler_leading of the old leader" 0 leading alpha
delete_pods next
expect_allocated late narrow:0
expect_sound
