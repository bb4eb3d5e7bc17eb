# shellcheck shell=bash
# Real server only: a real kube-scheduler asks, and kwok plays the kubelets.
# Needs: kube-scheduler kwok
# What `kubectl apply -f deploy/gpu-admission/` makes, but for the containers, for which no kubelet is there: gpu-admission
# under exactly the guide's role, kube-scheduler with that configuration, of which only the addresses are changed. What
# comes of it is judged by a model of its own (test/testbed/contract/extender/judge.py).
# shellcheck source=../extender.sh
source "$CONTRACT/extender.sh"

QUOTA='{"team": {"quota": {"M40": 6}, "pool": ["public"]}}'

start_kube_scheduler() {
  local dir=$CASE_DIR/cluster config=$CASE_DIR/cluster/kube-scheduler.yaml
  {
    embedded "$MANIFESTS/gpu-scheduler-config.yaml" gpu-scheduler-config.yaml |
      sed "s|http://gpu-admission.kube-stack:3456|$(url_of extender)|"
    echo "clientConnection: {kubeconfig: $dir/kube-scheduler.kubeconfig}"
  } >"$config"
  provider_kubeconfig kube-stack gpu-scheduler >"$dir/kube-scheduler.kubeconfig"
  define "$dir" kube-scheduler "$(tool kube-scheduler)" --config="$config" --secure-port=0
  start "$dir" kube-scheduler
}

# How many pods have a node in their annotations and none in their spec.
given() {
  kubectl get pods -A -o json | jq '[.items[] | select(.spec.nodeName == null
    and .metadata.annotations["tencent.com/predicate-node"] != null)] | length'
}
make_pods() { speak pods many "$PROXY" "$@"; }
# Pods that were neither bound nor refused so far.
not_decided() {
  kubectl get pods -A -o json | jq '[.items[] | select(.spec.nodeName == null
    and .metadata.namespace != "kube-stack" and ([.status.conditions[]? | select(.type == "PodScheduled")] == []))] | length'
}

model() { speak judge check "$PROXY" "$CASE_DIR/pods.jsonl" 2>&1 || true; } # it fails when it finds something; its text, which is compared, says what
expect_model() {
  eventually "pods that nobody looked at" 0 not_decided
  eventually_like "the model" '^(judge: |[0-9]+ pods placed)' model
  local says
  says=$(model)
  expect_like "the model" 'placed as the model does' "$says"
  note "$says"
}
set_quota() {
  kubectl create configmap gpuquota -n kube-system --from-literal=gpu_quota="$1" --dry-run=client -o yaml | kubectl apply -f - >/dev/null
}
# refusals POD NAMESPACE: what kube-scheduler's events say of it, each text once.
refusals() {
  kubectl get events -n "$2" --field-selector "involvedObject.name=$1,reason=FailedScheduling" -o json |
    jq -r '[.items[].message] | unique[]'
}
# Pods of a namespace that wait, by name; and why, each text once.
waiting() { kubectl get pods -n "$1" -o json | jq -r '.items[] | select(.spec.nodeName == null).metadata.name'; }
reasons() {
  kubectl get pods -n "$1" -o json | jq -r '[.items[] | select(.spec.nodeName == null)
    | .status.conditions[] | select(.type == "PodScheduled").message] | unique[]'
}
metric() { page extender /metrics | awk -v name="$1" '$1 == name { print $2 }'; }
# vcuda POD NAMESPACE CORES [SPEC]
vcuda() { pod "$1" '' limits "tencent.com/vcuda-core: $3, tencent.com/vcuda-memory: 2" ${4:+spec "$4"} | create -n "$2"; }

step "20 nodes of 10 GPUs, quotas, kube-scheduler with our configuration, the extender under exactly the guide's role"
provider_up --kwok 2>>"$CASE_DIR/up.log"
extender_account ""
start_proxy
for namespace in team free; do
  kubectl create namespace "$namespace" >/dev/null
  eventually "service account of $namespace" serviceaccount/default kubectl get serviceaccount default -n "$namespace" -o name
done
set_quota "$QUOTA"
speak pods nodes "$PROXY" 20
extender_config >"$CASE_DIR/gpu-admission.json"
run_extender extender --config="$CASE_DIR/gpu-admission.json"
run_helper watch python3 "$CONTRACT/extender/judge.py" watch "$PROXY" "$CASE_DIR/pods.jsonl"
start_kube_scheduler

step "the manifests' Deployments make their pods, and the Service means those of gpu-admission only"
pods_of() { kubectl get pods -n kube-stack -l "$1" -o name | sed 's|.*/||; s|-[0-9a-z]*-[0-9a-z]*$||' | sort | xargs; }
eventually "pods" "gpu-admission gpu-admission gpu-scheduler" pods_of 'tier=control-plane'
selector=$(field service/gpu-admission .spec.selector -n kube-stack | jq -r 'to_entries[] | "\(.key)=\(.value)"')
expect "pods behind the Service" "gpu-admission gpu-admission" "$(pods_of "$selector")"

step "30 pods, each when the one before runs: as the model says, none past a tighter node"
speak pods one-by-one "$PROXY" "$(ledger_of extender)" free single- 30
expect_model
expect_like "with nothing in flight" ' 0 went past a tighter node' "$(model)"

step "300 pods at once, 60 of them in a namespace with a quota"
make_pods team team- 60
make_pods free many- 240
expect_model

step "kill -9 of the extender in the middle of 130 pods: nothing is lost, nothing is given twice"
run_job maker make_pods free rest- 130
eventually_at_least "pods bound" 320 bound_count -n free
kill_scheduler extender
note "$(bound_count -A) of 500 pods were bound when the extender was killed"
run_extender extender --config="$CASE_DIR/gpu-admission.json"
finish_job maker
expect_model
step "again while Bindings are late: what was given and is not bound yet stays given"
provider_delay_bindings 25 # longer than the next extender needs to decide, on a machine that is busy
make_pods free late- 30
eventually_like "pods that were given a node and are not bound" '^[1-9][0-9]$' given
kill_scheduler extender
note "$(given) pods were in that state when the extender was killed"
provider_bindings_at_once
run_extender extender --config="$CASE_DIR/gpu-admission.json"
before=$(given)
make_pods free fresh- 10
note "$before were still when it decided again"
expect_like "pods in that state" '^[1-9]' "$before"
expect_model
end_helper watch

step "who has to wait for the quota is told so by kube-scheduler"
waits=$(waiting team)
expect_like "pods of team that wait" 'team-[0-9]+' "$waits"
# Nodes that are full are not asked about.
reason='Insufficient tencent.com/vcuda-core|ExceedsGPUQuota: (M40 used [0-9.]+, limit [0-9]+, asks [0-9.]+|'
reason+='[^,]+ is not in the quota of team|the quota of team is for [^ ]+)'
expect "other reasons than the quota" "" \
  "$(reasons team | awk -v text="^0/20 nodes are available: ((, )?[0-9]+ ($reason))+[.]" '$0 !~ text')"
expect_output "and of others" "" waiting free
expect_like "event of one" '^0/20 nodes are available: .*ExceedsGPUQuota' "$(refusals "$(head -n 1 <<<"$waits")" team)"

step "a quota that is changed counts at once"
limit='gpu_admission_quota_limit_gpus{model="P100",namespace="team"}'
set_quota '{"team": {"quota": {"M40": 6, "P100": 48}}}'
eventually "limit" 48 metric "$limit"
vcuda raised team 5
eventually_like "node of a new pod" '^gpu-' node_of raised -n team
expect_output "refusals of it" "" refusals raised team
eventually "pods of team that wait" "" waiting team
set_quota "$QUOTA"
eventually "limit" "" metric "$limit"
vcuda lowered team 5
eventually_like "refusal" '^0/20 nodes are available: .*ExceedsGPUQuota' refusals lowered team

step "one that cannot be read is said by an event and changes nothing"
set_quota '{"team": {"quota": {"M40": "many"}}}'
eventually "gpu_admission_quota_config_unusable" 1 metric gpu_admission_quota_config_unusable
eventually_like "event" '^Warning .*gpu_quota.*the quotas that were read before count' events_of gpuquota InvalidQuota -n kube-system
note "$(events_of gpuquota InvalidQuota -n kube-system)"
vcuda still team 5
eventually_like "refusal of a new pod" '^0/20 nodes are available: .*ExceedsGPUQuota' refusals still team
vcuda unlimited free 5
eventually_like "node of one without a quota" '^gpu-' node_of unlimited -n free
set_quota '{}'
eventually "gpu_admission_quota_config_unusable" 0 metric gpu_admission_quota_config_unusable

step "those that waited for the quota are woken: nothing else happens that kube-scheduler sees"
eventually "pods of team that wait" "" waiting team
expect_like "gpu_admission_wakes_total" '^[1-9]' "$(metric gpu_admission_wakes_total)"
note "$(metric gpu_admission_wakes_total) pods were woken so far"
vcuda mended team 5
eventually_like "node of a new pod" '^gpu-' node_of mended -n team

step "preemption: kube-scheduler asks which victims free a device, and takes one"
cat <<YAML | create
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: urgent}, value: 1000}
---
apiVersion: v1
kind: Node
metadata: {name: narrow, labels: {type: kwok, narrow: "yes"}}
YAML
kubectl patch node narrow --subresource=status --type=merge -p '{"status": {
  "capacity": {"cpu": "8", "memory": "32Gi", "pods": "110", "tencent.com/vcuda-core": "200", "tencent.com/vcuda-memory": "8"},
  "allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110", "tencent.com/vcuda-core": "200", "tencent.com/vcuda-memory": "8"}}}' >/dev/null
there='nodeSelector: {narrow: "yes"}'
for low in low-1 low-2; do
  vcuda "$low" free 100 "$there"
  eventually "phase of $low" Running field "pod/$low" .status.phase -n free
done
vcuda high free 50 "$there, priorityClassName: urgent"
# The extender may hear later than kube-scheduler that the victim is gone, and refuse once more. Then it wakes the pod.
eventually "node of the urgent pod" narrow node_of high -n free
left=$(kubectl get pods -n free low-1 low-2 --ignore-not-found -o name)
expect_like "the victims' number is one" '^pod/low-[12]$' "$left"
device_of() { field "$1" '.metadata.annotations.tencent\.com/predicate-gpu-idx-0' -n free; }
expect "devices of who is there" "0 1" "$(printf '%s\n' "$(device_of pod/high)" "$(device_of "$left")" | sort | xargs)"
expect_like "preempt calls" '^[1-9]' "$(metric 'gpu_admission_requests_total{result="done",verb="preempt"}')"
stop_scheduler extender

step "the manifests that are applied by choice are accepted; the guide's commands delete what was made"
kubectl create namespace volcano-system >/dev/null
kubectl apply --dry-run=server -f "$MANIFESTS/v1beta2" -f "$MANIFESTS/samples" -f "$MANIFESTS/volcano" >/dev/null
# Word by word from the guide.
{
  kubectl delete deployment gpu-admission -n kube-stack
  kubectl delete service gpu-admission -n kube-stack
  kubectl delete deployment gpu-scheduler -n kube-stack
  kubectl delete ConfigMap gpu-scheduler-config -n kube-stack
  kubectl delete serviceaccount gpu-scheduler-sa -n kube-stack
  kubectl delete clusterrolebinding gpu-scheduler-clusterrolebinding -n kube-stack
} >/dev/null 2>>"$CASE_DIR/kubectl.log" # warns that a ClusterRoleBinding has no namespace
kubectl delete -f "$MANIFESTS/" --ignore-not-found >/dev/null
eventually "what is left of them" "" kubectl get deployments,services,pods -n kube-stack -o name
