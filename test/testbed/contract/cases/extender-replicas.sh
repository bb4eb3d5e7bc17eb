# shellcheck shell=bash
# Real server only: who may do what is looked at.
# Two replicas of the extender under the guide's role, and one alone under kube-scheduler's, which may touch neither the
# leader lease nor the ConfigMap of the quotas.
# shellcheck source=../extender.sh
source "$CONTRACT/extender.sh"

# ask NAME POD NODE...: as ask_at, of extender NAME
ask() { ask_at "$(url_of "$1")" "${@:2}"; }
share() { pod "$1" '' limits 'tencent.com/vcuda-core: 60, tencent.com/vcuda-memory: 2' | create; }
# runs POD NODE NAME: it is bound, its kubelet has taken it, and extender NAME knows. (A share is given beside others
# that were taken only.)
runs() { bind "$1" "$2" && taken "$1" "$3"; }
taken() {
  kubelet_takes "$1"
  eventually "what the extender knows of pod $1" taken said_of "$(uid_of "pod/$1")" "$2"
}
# said_of UID NAME: whether extender NAME knows that this pod is bound and was taken.
said_of() {
  curl --silent --max-time 5 "$(ledger_of "$2")/debug/ledger" | awk -v uid="$1" '
    $1 == "pod" && $2 == uid && $3 == "bound" { bound = 1 } /in flight/ && $3 == uid { flies = 1 }
    END { print bound ? flies ? "in flight" : "taken" : "not bound" }'
}
readiness() { page "$1" '/readyz?verbose'; }
leases_in_stack() { kubectl get leases -n kube-stack -o name; }

make_nodes() {
  local node
  for node in one two; do
    kubectl create -f - >/dev/null <<YAML
apiVersion: v1
kind: Node
metadata: {name: $node, labels: {gaia.tencent.com/gpu-model: M40}}
YAML
    kubectl patch node "$node" --subresource=status --type=merge >/dev/null \
      -p '{"status": {"capacity": {"tencent.com/vcuda-core": "200", "tencent.com/vcuda-memory": "8"}}}'
  done
}

step "a control plane with two nodes of two GPUs; two replicas under the guide's role"
provider_up 2>>"$CASE_DIR/up.log"
extender_account rbac.yaml
make_nodes
extender_config >"$CASE_DIR/gpu-admission.json"
run_extender alpha --config="$CASE_DIR/gpu-admission.json"
start_extender beta --config="$CASE_DIR/gpu-admission.json"
expect_ready beta
expect "gpu_admission_leading of the standby" 0 "$(extender_leads beta)"
expect "gpu_admission_standalone of the leader" 0 "$(gauge standalone alpha)"
expect "gpu_admission_quota_forbidden of the leader" 0 "$(gauge quota_forbidden alpha)"
expect_like "/readyz of the standby" 'role: standby' "$(readiness beta)"
lease=lease/extender.gpu.scheduling
expect_like "holder of the leader lease" '^alpha-' "$(field "$lease" .spec.holderIdentity -n kube-stack)"
expect "address in it" "$(url_of alpha)" "$(field "$lease" '.metadata.annotations.gpu\.scheduling/address' -n kube-stack)"

step "the standby sends requests on: the same answer through both, and one set of annotations"
share first
expect "answer through the standby" "200 one" "$(ask beta first one two)"
first=$(annotations_of first)
expect "the leader's answer" "200 one" "$(ask alpha first one two)"
expect "the standby's, asked again" "200 one" "$(ask beta first two one)"
expect "annotations" "$first" "$(annotations_of first)"

step "the leader is killed: the other one leads, knows what was given, and answers"
# Who decides anew takes node two, which is the tighter one now, but for what the first pod was given on node one.
pod filler '' limits 'tencent.com/vcuda-core: 50, tencent.com/vcuda-memory: 2' \
  annotations 'tencent.com/predicate-gpu-idx-0: "0"' spec 'nodeName: two' | create
taken filler alpha
kill_scheduler alpha
killed=${EPOCHREALTIME/./}
eventually "gpu_admission_leading of the other" 1 extender_leads beta
note "beta decides $(elapsed_ms "$killed") ms after the kill"
expect "answer for the pod from before" "200 one" "$(ask beta first one two)"
expect "node and device" "$(jq -c 'del(."tencent.com/predicate-time")' <<<"$first")" \
  "$(annotations_of first | jq -c 'del(."tencent.com/predicate-time")')"
runs first one beta
share second
expect "answer for a new one" "200 one" "$(ask beta second one two)"
expect "its device" 1 "$(field pod/second '.metadata.annotations.tencent\.com/predicate-gpu-idx-0')"

step "the one that was killed comes back as standby; the leader ends in order and hands over at once"
start_extender alpha --config="$CASE_DIR/gpu-admission.json"
expect_ready alpha
expect "gpu_admission_leading of alpha" 0 "$(extender_leads alpha)"
expect "answer through it" "200 one" "$(ask alpha second one two)"
runs second one beta
told=${EPOCHREALTIME/./}
stop_scheduler beta
eventually "gpu_admission_leading of alpha" 1 extender_leads alpha
note "alpha decides $(elapsed_ms "$told") ms after beta was told to end"
share third
expect "answer for a new one" "200 two" "$(ask alpha third one two)"
stop_scheduler alpha
delete_pods --all
kubectl delete lease extender.gpu.scheduling -n kube-stack >/dev/null

step "under the role of system:kube-scheduler the lease is forbidden: it works alone, and says so"
"$TESTBED/kubeconfig-for" "$CASE_DIR/cluster" user kube-stack system:kube-scheduler >"$CASE_DIR/kube-scheduler.kubeconfig"
EXTENDER_KUBECONFIG=$CASE_DIR/kube-scheduler.kubeconfig
kubectl create configmap gpuquota -n kube-system --from-literal=gpu_quota='{"default": {"quota": {"M40": 0}}}' >/dev/null
run_extender alone --config="$CASE_DIR/gpu-admission.json"
expect_like "/readyz of alone" 'role: leader' "$(readiness alone)"
expect_like "/readyz of alone" 'leader-election: ok, standalone: .*extender.gpu.scheduling.* 403 ' "$(readiness alone)"
expect_like "/readyz of alone" 'quota: off: ConfigMap kube-system.gpuquota may not be read' "$(readiness alone)"
expect "gpu_admission_standalone" 1 "$(gauge standalone alone)"
expect "gpu_admission_quota_forbidden" 1 "$(gauge quota_forbidden alone)"
expect_like "its log" 'works alone, without the leader lease kube-stack/extender.gpu.scheduling' "$(<"$CASE_DIR/alone.log")"
expect_output "leases in kube-stack" "" leases_in_stack

step "quotas are off there"
share unlimited
expect "answer" "200 one" "$(ask alone unlimited one two)"
stop_scheduler alone
delete_pods --all

step "or those of the --config file, where it has some"
jq '. + {gpu_quota: {default: {quota: {M40: 1}}}}' "$CASE_DIR/gpu-admission.json" >"$CASE_DIR/with-quota.json"
run_extender alone --config="$CASE_DIR/with-quota.json"
expect_like "/readyz of alone" 'quota: those of the configuration file: ConfigMap kube-system.gpuquota may not be read' "$(readiness alone)"
share within
share above
expect "answer for 60 of 100 cores" "200 one" "$(ask alone within one two)"
expect_like "answer for 60 more" '^200 ExceedsGPUQuota: ' "$(ask alone above one two)"
stop_scheduler alone
