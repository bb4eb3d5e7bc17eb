# shellcheck shell=bash
# Real server only: pods run.
# Needs: nodes kube-scheduler kwok helm
# Helm upgrades from a version whose leases have another format and whose CRDs have less in them, and rolls back, while pods
# come and go. In between both versions stand side by side, and each of them leads. `load follow` judges every change.
# shellcheck source=../churn.sh
source "$CONTRACT/churn.sh"
# shellcheck source=../upgrades.sh
source "$CONTRACT/upgrades.sh"

step "two real nodes for us, images of two versions"
two_versions
note "$(<"$CASE_DIR/image.log")"

step "the version before is installed by its own chart; 40 made-up nodes of 8 GPUs, a churn of pods, others' pods, a judge"
install_before
run_job follow "$TESTBED/load" follow --until "$CASE_DIR/judged"
eventually_like "the judge" watching cat "$CASE_DIR/follow.log"
run_job churn "$TESTBED/load" churn --count 300 --per-second 12 --alive 200 --stay 60 --until "$CASE_DIR/enough"
run_job foreign foreign_pods
eventually "who leads" "$BEFORE" leader_version
placed_since "$(now)"
note "$(formats)"

# side_by_side FIRST THEN COMMAND: COMMAND brings THEN, and is held in the middle: either version leads for a while.
side_by_side() {
  local first=$1 then=$2 at version
  hold
  at=$(now)
  "$3"
  eventually "versions of the schedulers that are ready" "$(printf '%s\n' "$first" "$then" | sort | xargs)" versions_ready
  note "both versions are there $(elapsed_ms "$at") ms after it"
  for version in "$then" "$first"; do
    lead "$version"
    at=$(now)
    placed_since "$at"
    eventually_at_least "leases that $version made while it leads" 1 leases_since "$at" "$(format_of "$version")"
    note "led by $version: $(formats)"
  done
  release
  eventually_up
  eventually "who leads" "$then" leader_version
  at=$(now)
  placed_since "$at"
  note "$(formats)"
  expect_keeper
}

step "upgrade: first the CRDs, then both versions side by side, and each of them leads"
side_by_side "$BEFORE" "$AFTER" upgrade
expect "schema of the CRD" 2 "$(field crd/gpuclaims.gpu.scheduling '.metadata.annotations.gpu\.scheduling/schema-version')"
claim later 'count: 1' 'gangRef: of-this-version' | create

step "rollback: the same backwards, and the CRDs stay"
side_by_side "$AFTER" "$BEFORE" roll_back
expect "schema of the CRD" 2 "$(field crd/gpuclaims.gpu.scheduling '.metadata.annotations.gpu\.scheduling/schema-version')"
expect "what only the later version knows of" of-this-version "$(field gclaim/later .spec.gangRef)"
expect_like "what the version before says to an upgrade of the CRDs" 'CRD gpuclaims.gpu.scheduling stays as it is: its schema 2 is later' \
  "$("$GS_BIN/previous/gpu-scheduler" crds apply --kubeconfig="$KUBECONFIG")"

step "and forward again, for good"
upgrade
eventually_up
placed_since "$(now)"
: >"$CASE_DIR/no-more-foreign"
finish_job foreign
note "$(tail -n 1 "$CASE_DIR/foreign.log")"

step "every pod that stays is placed, no lease is left of another, and the claims say so"
: >"$CASE_DIR/enough"
finish_job churn
note "$(tail -n 1 "$CASE_DIR/churn.log")"
eventually "pods that stay, bound" 60 bound_count -l testbed/stays
"$TESTBED/load" judge --claims --within 90s >"$CASE_DIR/judge.log" 2>&1 || fail "the judge: $(<"$CASE_DIR/judge.log")"
note "$(tail -n 1 "$CASE_DIR/judge.log")"
note "$(formats)"
note "$(kubectl get events --field-selector reason=GpuEnvMissing -o name | wc -l) times a pod was told nothing, because no webhook answered"
expect_keeper

step "at no moment was a GPU given twice, or a pod bound without its leases"
: >"$CASE_DIR/judged"
finish_job follow
note "$(tail -n 1 "$CASE_DIR/follow.log")"
