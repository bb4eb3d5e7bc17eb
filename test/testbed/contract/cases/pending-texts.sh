# shellcheck shell=bash
# Real server only: a real kube-scheduler stands beside gpu-scheduler.
# Needs: kube-scheduler
# 200 drawn pods (test/filters), each given to kube-scheduler and to gpu-scheduler in the same cluster: the same ones are
# placed, and those that wait are told the same reasons.

SEED=${GS_FILTER_SEED:-1}

step "a control plane with a kube-scheduler and gpu-scheduler; nobody else writes taints, or evicts for them"
[[ -x $GS_BIN/filters ]] || fail "no $GS_BIN/filters: make build, or set GS_BIN"
provider_up --kube-scheduler --arg controller-manager=--controllers='*,-node-lifecycle-controller,-taint-eviction-controller' \
  2>>"$CASE_DIR/up.log"
install_crds "$CRDS"
scheduler_account
run_scheduler scheduler
start_proxy

step "200 drawn pods, seed $SEED: the same are placed, and who waits is told the same reasons"
run_job compares python3 "$CONTRACT/pending_texts.py" "$PROXY" "$GS_BIN/filters" "$SEED" "$CASE_DIR/differ.jsonl"
finish_job compares
note "$(tail -n 1 "$CASE_DIR/compares.log")"
