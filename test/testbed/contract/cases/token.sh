# shellcheck shell=bash
# Real server only: the sandbox asks for no token.
# A scheduler whose token is revoked says so, writes nothing and claims nothing; with a new token it goes on.

step "two schedulers of one account, each with a token of its own in a file; one leads"
provider_up 2>>"$CASE_DIR/up.log"
install_crds "$CRDS"
"$TESTBED/nodes" --count 25
scheduler_account
with_token_file alpha
with_token_file beta
run_scheduler alpha default "$CASE_DIR/alpha.kubeconfig"
start_scheduler beta default "$CASE_DIR/beta.kubeconfig"
expect_ready beta
{ claim one 'count: 1'; pod early one; } | create
expect_allocated early node-0:0

scheduled_events() { kubectl get events --field-selector reason=Scheduled -o name | wc -l; }

step "the standby's token is revoked: it is unready, and the leader does not mind"
revoke_token beta
expect_unready beta
pod unaffected one | create
expect_allocated unaffected node-0:1
expect_ready alpha

step "the leader's token is revoked too, in a stream of pods: it is unready and gives up leading"
stream() {
  local i
  for ((i = 0; i < 190; i++)); do
    [[ ! -f $CASE_DIR/unready ]] || return 0
    pod "stream-$i" one | create
  done
}
run_job stream stream
revoke_token alpha
expect_unready alpha
: >"$CASE_DIR/unready"
finish_job stream
eventually "gpu_scheduler_leading of alpha" 0 leading alpha
pod late one | create

# facts: all that a scheduler writes, the leader lease too: kind, name and version, one a line.
facts() {
  kubectl get pods,gpuclaims,leases,events -o jsonpath='{range .items[*]}{.kind} {.metadata.name} {.metadata.resourceVersion}{"\n"}{end}' | sort
}

step "nothing was pretended: what it says it placed is placed, and what is not placed says nothing of a node"
bound=$(bound_count)
pods=$(kubectl get pods -o name | wc -l)
note "$bound pods are bound, $((pods - bound)) wait"
expect "placements by alpha's metrics" "$bound" "$(said_placed alpha)"
expect_output "node of the last pod" "" node_of late
expect_output "its condition" "" waits late
(($(scheduled_events) <= bound)) || fail "$(scheduled_events) events say Scheduled, of $bound pods"
facts >"$CASE_DIR/before"
sleep 5 # in which a scheduler that went on would have written something
facts >"$CASE_DIR/after"
expect_output "what changed in the meantime" "" comm -3 "$CASE_DIR/before" "$CASE_DIR/after"
expect "/readyz of alpha" 503 "$(ready_code alpha)"
expect "/readyz of beta" 503 "$(ready_code beta)"

step "the standby gets a new token in its file: it is ready, leads, and places what is left"
at=${EPOCHREALTIME/./}
give_token beta
expect_ready beta
note "beta is ready $(elapsed_ms "$at") ms after its new token"
expect_leading beta
note "beta leads $(elapsed_ms "$at") ms after its new token"
eventually "pods bound" "$pods" bound_count
eventually "leases" "$pods" lease_count
expect_sound

step "the old leader stays as it is until it gets one too; then it can lead again"
expect "/readyz of alpha" 503 "$(ready_code alpha)"
expect "gpu_scheduler_leading of alpha" 0 "$(leading alpha)"
give_token alpha
expect_ready alpha
stop_scheduler beta
expect_leading alpha
pod next one | create
eventually "pods bound" $((pods + 1)) bound_count
expect_sound

step "the account itself is deleted, and made again: its old tokens count no more"
kubectl delete serviceaccount gpu-scheduler >/dev/null
expect_unready alpha
kubectl create serviceaccount gpu-scheduler >/dev/null
delete_pods unaffected
pod last one | create
expect "/readyz of alpha" 503 "$(ready_code alpha)"
give_token alpha
expect_ready alpha
expect_leading alpha
eventually "pods bound" $((pods + 1)) bound_count
eventually "leases" $((pods + 1)) lease_count
"$TESTBED/load" judge --claims --within 90s >"$CASE_DIR/judge.log" 2>&1 || fail "the judge: $(<"$CASE_DIR/judge.log")"
