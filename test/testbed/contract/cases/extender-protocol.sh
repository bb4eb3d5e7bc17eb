# shellcheck shell=bash
# What the extender answers over HTTP, against the tables of its ancestors: filter, preempt, bind and prioritize as
# kube-scheduler asks, predicates as each Volcano does, quotas, and the bodies that real schedulers were recorded to send.
# No scheduler runs: the programs in contract/extender ask, and play the kubelet; volcano.py plays older Volcanos.
# shellcheck source=../extender.sh
source "$CONTRACT/extender.sh"

table() { speak protocol "$1" "$PROXY" "$(url_of "${2:-extender}")" "$(ledger_of "${2:-extender}")"; }
older_volcano() { speak volcano "$1" "$PROXY" "$(url_of extender)" "$(ledger_of extender)"; }
quotas() { kubectl create configmap gpuquota -n kube-system --from-literal=gpu_quota="$1" >/dev/null; }

step "a control plane, and an extender under the guide's role whose ConfigMap of quotas cannot be read"
provider_up 2>>"$CASE_DIR/up.log"
extender_account rbac.yaml
start_proxy
extender_config >"$CASE_DIR/gpu-admission.json"
quotas '{'
run_extender extender --config="$CASE_DIR/gpu-admission.json"

step "quota: never synced, then without a ConfigMap"
table never_synced

step "quota: equality, over, models, pools and namespaces that are not named, bad texts"
table quota

step "quota: who was given a node and is not bound yet counts"
table reserved_quota

step "the ancestor's table of placements, with whole nodes and with names, each asked twice"
table placements

step "who wants a GPU, and what existing pods hold"
table wanting

step "the worked example of a filter, with keys in lower case"
table example

step "paths, methods, bodies that cannot be read, pods without GPUs, priorities"
table texts

step "preempt and bind"
table verbs

step "Volcano: predicates in five dialects"
table dialects

step "Volcano: 16 predicates at a time for one pod leave one set of annotations"
table parallel

step "Volcano: a body of 12 MB with keys that nobody knows"
table huge

step "Volcano 1.7, 1.8.2, 1.10 and 1.14: what each takes every answer for, in its own dialect, in others and in the superset of all"
older_volcano matrix

step "Volcano 1.7, 1.8.2, 1.10 and 1.14: sessions with shares, whole GPUs and gangs"
older_volcano sessions

step "bodies that real schedulers sent are answered as those read answers"
for folder in "$REPO"/test/extender/recorded/*/; do
  speak recorded "$folder" "$PROXY" "$(url_of extender)" "$(ledger_of extender)" | while read -r figure; do note "$figure"; done
done
stop_scheduler extender

step "--compat=strict: a pod that had been predicated is an error"
run_extender strict --compat=strict --config="$CASE_DIR/gpu-admission.json"
table strict strict

step "--compat=strict: bound pods count for the quota, others do not"
table strict_quota strict
stop_scheduler strict

step "Volcano while a gang waits, sessions more than 5 s apart: one node is called fit in each"
run_extender extender --config="$CASE_DIR/gpu-admission.json"
older_volcano regranted

step "and after kill -9 of the extender"
older_volcano before_restart
kill_scheduler extender
run_extender extender --config="$CASE_DIR/gpu-admission.json"
older_volcano after_restart
stop_scheduler extender

step "--compat=strict: the order in which the ancestor looked"
quotas '{'
run_extender strict --compat=strict --config="$CASE_DIR/gpu-admission.json"
table strict_order strict
stop_scheduler strict

step "a node that the extender does not know"
run_extender extender
table unknown_node

step "Volcano 1.7, 1.8.2, 1.10 and 1.14: a gang that needs two nodes"
older_volcano gang

step "Volcano 1.14: gangs that fill their nodes with shares"
older_volcano gang_of_shares
stop_scheduler extender
