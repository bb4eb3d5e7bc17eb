# shellcheck shell=bash
# Real server only: the store under the API server is killed.
# Two schedulers in a churn of 2,000 pods, while the leader's token is revoked, leader, API server and etcd die by kill -9,
# the leader stands still for 15 s, and leases are deleted by hand. `load follow` reads nothing but the API and judges every change of pods and leases.

# shellcheck source=../churn.sh
source "$CONTRACT/churn.sh"

step "40 nodes of 8 GPUs, two schedulers, a judge, and pods that come, run, end and go"
provider_up 2>>"$CASE_DIR/up.log"
install_crds "$CRDS"
"$TESTBED/nodes" --count 40
scheduler_account
with_token_file alpha
with_token_file beta
start_with_token() { start_scheduler "$1" default "$CASE_DIR/$1.kubeconfig"; }
run_scheduler alpha default "$CASE_DIR/alpha.kubeconfig"
start_with_token beta
expect_ready beta
run_job follow "$TESTBED/load" follow --until "$CASE_DIR/judged"
eventually_like "the judge" watching cat "$CASE_DIR/follow.log"
run_job churn "$TESTBED/load" churn --count 2000 --per-second 30 --until "$CASE_DIR/enough"

# One of the two, whichever leads.
leader() {
  local name
  for name in alpha beta; do
    if [[ $(leading "$name") == 1 ]]; then echo "$name"; fi
  done
}
other() { if [[ $1 == alpha ]]; then echo beta; else echo alpha; fi; }
a_leader() {
  local name='' deadline=$((SECONDS + PATIENCE))
  until [[ $name == alpha || $name == beta ]]; do
    ((SECONDS < deadline)) || fail "expected one leader, got '$name'"
    sleep 0.1
    name=$(leader)
  done
  echo "$name"
}
placed_since "$(now)"

step "the leader's token is revoked: it is unready and gives up leading, and the other one goes on"
first=$(a_leader)
at=$(now)
revoke_token "$first"
expect_unready "$first"
eventually "gpu_scheduler_leading of $first" 0 leading "$first"
said=$(said_placed "$first")
expect_leading "$(other "$first")"
note "$(other "$first") leads $(elapsed_ms "$at") ms after it"
placed_since "$at"

step "nothing was pretended: of what it says that it placed, the API server took the Binding by its token"
provider_created_by "$CASE_DIR/$first.token" >"$CASE_DIR/created-by-it"
bound=$(sed -n 's/^pods binding //p' "$CASE_DIR/created-by-it" | sort)
told=$(comm -12 <(sed -n 's/^events - //p' "$CASE_DIR/created-by-it" | sort) \
  <(kubectl get events --field-selector reason=Scheduled -o name | sed 's|.*/||' | sort) | sed 's/[.].*//' | sort)
note "$(wc -l <<<"$bound") Bindings, $(wc -l <<<"$told") events, $said placements by its metrics"
[[ -n $told ]] || fail "no event of $first says Scheduled"
expect "pods of its events that it did not bind" "" "$(comm -13 <(echo "$bound") <(echo "$told"))"
# Not equal: of a pod that goes before its Binding is answered, it says nothing.
((said <= $(wc -l <<<"$bound"))) || fail "$first says that it placed $said pods"
expect "placements by its metrics, after it gave up" "$said" "$(said_placed "$first")"
expect "/readyz of $first" 503 "$(ready_code "$first")"
give_token "$first"
expect_ready "$first"

step "kill -9 of the leader"
first=$(a_leader)
at=$(now)
kill_scheduler "$first"
expect_leading "$(other "$first")"
note "$(other "$first") leads $(elapsed_ms "$at") ms after it"
placed_since "$at"
start_with_token "$first"
expect_ready "$first"

# outage WHAT STOP START: it is killed and comes back; then one of the two leads again.
outage() {
  step "kill -9 of $1, which is away for 5 s"
  at=$(now)
  "$2"
  sleep 5 # the length of the outage
  "$3"
  note "it is back $(elapsed_ms "$at") ms after it"
  a_leader >/dev/null
  note "one of the two leads $(elapsed_ms "$at") ms after it"
  placed_since "$at"
  expect_ready alpha
  expect_ready beta
}

outage "the API server" provider_stop_api provider_start_api
outage etcd provider_stop_store provider_start_store

step "the leader stands still for 15 s, and wakes up when another one has long led; leases are deleted by hand meanwhile"
stalled=$(a_leader)
at=$(now)
signal_scheduler "$stalled" STOP
expect_leading "$(other "$stalled")"
note "$(other "$stalled") leads $(elapsed_ms "$at") ms after it"
placed_since "$at"
for _ in 1 2 3; do note "deleted by hand: $("$TESTBED/load" lose-leases --count 25)"; done
until (($(elapsed_ms "$at") >= 15000)); do sleep 0.2; done # three lease durations
signal_scheduler "$stalled" CONT
eventually "gpu_scheduler_leading of the old leader" 0 leading "$stalled"
expect_ready "$stalled"

step "the API server dies in the moment in which the leader does, and is back first"
first=$(a_leader)
at=$(now)
kill_scheduler "$first"
provider_stop_api
provider_start_api
expect_leading "$(other "$first")"
note "$(other "$first") leads $(elapsed_ms "$at") ms after it"
placed_since "$at"
start_with_token "$first"
expect_ready "$first"

step "when all is over, every pod that stays is placed, its GPUs are its own, and the claims say so"
: >"$CASE_DIR/enough"
finish_job churn
note "$(tail -n 1 "$CASE_DIR/churn.log")"
eventually "pods bound" 100 bound_count
note "$(cat "$CASE_DIR"/{alpha,beta}.log | grep -c 'adopted leases') times a leader took over what another one had begun"
note "$(provider_audit | awk '$3 == "binding" && $6 != 201' | wc -l) Bindings were refused"
"$TESTBED/load" judge --claims --within 90s >"$CASE_DIR/judge.log" 2>&1 || fail "the judge: $(<"$CASE_DIR/judge.log")"
note "$(tail -n 1 "$CASE_DIR/judge.log")"

step "at no moment was a GPU given twice, or a pod bound without its leases"
: >"$CASE_DIR/judged"
finish_job follow
note "$(tail -n 1 "$CASE_DIR/follow.log")"

step "it would have been seen: a pod that somebody binds to a GPU which is taken"
rm "$CASE_DIR/judged"
run_job follow-planted "$TESTBED/load" follow --until "$CASE_DIR/judged"
eventually_like "the judge" watching cat "$CASE_DIR/follow-planted.log"
taken=$(kubectl get pods -o json | jq -r '[.items[].metadata.annotations["gpu.scheduling/allocated"] // empty][0]')
pod planted churn-one annotations "gpu.scheduling/allocated: '$taken'" spec "nodeName: ${taken%:*}" | create
: >"$CASE_DIR/judged"
finish_job follow-planted 1
expect_like "its finding" "pod default/planted: bound to ${taken%%,*}, which no lease of it holds" "$(<"$CASE_DIR/follow-planted.log")"
expect_like "its finding" "pod default/planted: bound to ${taken%%,*}, which pod default/churn-[0-9]+ has" "$(<"$CASE_DIR/follow-planted.log")"
