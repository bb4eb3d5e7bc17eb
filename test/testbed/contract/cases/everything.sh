# shellcheck shell=bash
# Real server only: pods run.
# Needs: nodes kube-scheduler kwok helm
# All at once, for GS_MINUTES (5, and 3 at least): an API server that sends connections away, and that dies as etcd does; kill -9 of one of our
# processes every 10 s; a version before is upgraded and comes back; pods come, run, end and go. `load follow` judges every change.
# shellcheck source=../churn.sh
source "$CONTRACT/churn.sh"
# shellcheck source=../upgrades.sh
source "$CONTRACT/upgrades.sh"
MINUTES=${GS_MINUTES:-5}

step "two real nodes for us, images of two versions, an API server that sends one of 50 connections away with each request"
two_versions --arg apiserver=--goaway-chance=0.02
install_before
run_job follow "$TESTBED/load" follow --until "$CASE_DIR/judged"
eventually_like "the judge" watching cat "$CASE_DIR/follow.log"
run_job churn "$TESTBED/load" churn --count 300 --per-second 8 --alive 150 --stay 60 --until "$CASE_DIR/enough" --disturbed "$CASE_DIR/disturbed"
placed_since "$(now)"

ms() { echo $((${EPOCHREALTIME/./} / 1000)); }
disturbed() { echo "$1 $2 $3" >>"$CASE_DIR/disturbed"; } # FROM TO WHAT
OURS='^gpu-scheduler(-[a-z]+)? --' # their command lines
pid_of() { pgrep -f "$OURS" | shuf -n 1; }
pod_of() { nsenter --target "$1" --uts hostname 2>/dev/null; } # of a process

# in_pod POD: one of its processes.
in_pod() {
  local pid
  for pid in $(pgrep -f "$OURS"); do
    if [[ $(pod_of "$pid") == "$1" ]]; then echo "$pid" && return; fi
  done
  return 1
}

# One of ours, whichever, and each fifth time the leader; where it leads, that somebody decides again is waited for.
kills=0
kill_one() {
  local pid pod leader from deadline=$((SECONDS + 30))
  leader=$(field lease/scheduler.gpu.scheduling .spec.holderIdentity 2>/dev/null) || leader=''
  if ((++kills % 5 != 0)) || ! pid=$(in_pod "${leader%%_*}"); then pid=$(pid_of) || return 0; fi # all of them are just starting
  pod=$(pod_of "$pid") || return 0
  from=$(ms)
  kill -s KILL "$pid" 2>/dev/null || return 0 # it has ended by itself: a rollout
  echo "$from killed $pid of $pod"
  if [[ ${leader%%_*} == "$pod" ]]; then
    while ((SECONDS < deadline)) && [[ $(field lease/scheduler.gpu.scheduling .spec.holderIdentity 2>/dev/null || echo "$leader") == "$leader" ]]; do sleep 0.2; done
    # Who leads now first reads all that is there: 3 s at most.
    disturbed "$from" $(($(ms) + 4000)) takeover
  fi
}

# away WHAT STOP START
away() {
  local from
  from=$(ms)
  echo "$from kill -9 of $1"
  "$2"
  sleep 3 # the length of the outage
  "$3"
  # Clients come back within seconds; those that were told to wait longer do.
  disturbed "$from" $(($(ms) + 5000)) "server"
  echo "$(ms) $1 is back"
}

# Until the file is there: every 10 s one of ours dies, every 90 s the API server or etcd.
troubles() {
  local next=$((SECONDS + 10)) outage=$((SECONDS + 60)) what=api
  until [[ -f $CASE_DIR/calm ]]; do
    if ((SECONDS >= outage)); then
      outage=$((SECONDS + 90))
      if [[ $what == api ]]; then
        away "the API server" provider_stop_api provider_start_api
        what=store
      else
        away etcd provider_stop_store provider_start_store
        what=api
      fi
    elif ((SECONDS >= next)); then
      next=$((SECONDS + 10))
      kill_one
    fi
    sleep 0.5
  done
}

# Helm gives up when the API server goes away under it; its user types the command again.
insist() {
  local tries
  for ((tries = 0; tries < 30; tries++)); do
    if "$@" 2>>"$CASE_DIR/helm-failed.log"; then return; fi
    echo "again: $*" >>"$CASE_DIR/helm-failed.log"
    # A release that was left in the middle is begun anew.
    if [[ $(helm status gpu-scheduler 2>/dev/null) == *$'\nSTATUS: pending'* ]]; then
      kubectl delete secret -l 'owner=helm,status in (pending-upgrade, pending-rollback)' >/dev/null 2>>"$CASE_DIR/helm-failed.log" || true # the API server may be away: the next try does it
    fi
    sleep 3
  done
  fail "$*: $(tail -n 5 "$CASE_DIR/helm.log")"
}
for_seconds() {
  local until=$((SECONDS + $1))
  while ((SECONDS < until)); do
    expect_running
    sleep 1
  done
}

PATIENCE=180 # a step may meet two outages
run_job troubles troubles
step "a third of the time with the version before"
for_seconds $((MINUTES * 20))
note "$(formats)"
step "an upgrade in the midst of it, and a third of the time with this version"
insist upgrade
for_seconds $((MINUTES * 20))
eventually "versions of the schedulers that are ready" "$AFTER" versions_ready
note "$(formats)"
step "a rollback in the midst of it, and a third of the time with the version before"
insist roll_back
for_seconds $((MINUTES * 20))
eventually "versions of the schedulers that are ready" "$BEFORE" versions_ready
note "$(formats)"

step "when all is over, all of ours are up, every pod that stays is placed, and no lease is left of another"
: >"$CASE_DIR/calm"
finish_job troubles
# times WORDS FILE: how many lines of it have them.
times() { grep -c -- "$1" "$CASE_DIR/$2" || true; } # it fails where there are none; the number is what counts
note "$(times ' killed ' troubles.log) processes of ours were killed, $(times takeover disturbed) of them led; $(times 'is back' troubles.log) times the API server or etcd"
(($(times ' killed ' troubles.log) >= MINUTES * 2)) || fail "expected a process of ours to die every 10 s: $(<"$CASE_DIR/troubles.log")"
for each in takeover:disturbed 'the API server is back:troubles.log' 'etcd is back:troubles.log'; do
  (($(times "${each%:*}" "${each#*:}") > 0)) || fail "expected '${each%:*}' at least once: $(<"$CASE_DIR/${each#*:}")"
done
eventually_up
placed_since "$(now)"
: >"$CASE_DIR/enough"
finish_job churn
while read -r line; do note "$line"; done < <(tail -n 4 "$CASE_DIR/churn.log" | grep -E 'created=|until bound')
expect_like "pods that no trouble touched" 'without \[server takeover\]: pods=[1-9][0-9]{2}' "$(<"$CASE_DIR/churn.log")"
eventually "pods that stay, bound" 60 bound_count -l testbed/stays
"$TESTBED/load" judge --claims --within 90s >"$CASE_DIR/judge.log" 2>&1 || fail "the judge: $(<"$CASE_DIR/judge.log")"
note "$(tail -n 1 "$CASE_DIR/judge.log")"
expect_keeper

step "at no moment was a GPU given twice, or a pod bound without its leases"
: >"$CASE_DIR/judged"
finish_job follow
note "$(tail -n 1 "$CASE_DIR/follow.log")"
