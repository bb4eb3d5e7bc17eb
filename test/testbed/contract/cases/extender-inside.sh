# shellcheck shell=bash disable=SC2034 # names for lib.sh
# gpu-scheduler --extender-address: the scheduler of claim pods and the extender for vcuda pods in one process, on one
# ledger, under one table of quotas; and both after kill -9. This case plays kube-scheduler and the kubelets.
# shellcheck source=../extender.sh
source "$CONTRACT/extender.sh"

SCHEDULER_ACCOUNT=system:serviceaccount:default:gpu-scheduler
EXTENDER=http://127.0.0.1:3456

# vcuda POD CORES MEMORY: for another scheduler, which asks the extender.
vcuda() {
  create <<YAML
apiVersion: v1
kind: Pod
metadata: {name: $1}
spec:
  schedulerName: somebody
  containers: [{name: main, image: pause, resources: {limits: {tencent.com/vcuda-core: "$2", tencent.com/vcuda-memory: "$3"}}}]
YAML
}
ask() { ask_at "$EXTENDER" "$1" claims shares; } # POD
metric() { page scheduler /metrics | awk -v name="$1" '$1 == name { print $2 }'; }
used() { metric 'gpu_admission_quota_used_gpus{model="M40",namespace="default"}'; }
held() { metric "gpu_scheduler_devices{node=\"$1\",state=\"held\"}"; } # NODE
reserved() { metric 'gpu_admission_reservations{state="written"}'; }
quota() {
  kubectl create configmap gpuquota -n kube-system --from-literal=gpu_quota="{\"default\": {\"quota\": {\"M40\": $1}}}" \
    --dry-run=client -o yaml | kubectl apply -f - >/dev/null
  eventually "limit" "$1" metric 'gpu_admission_quota_limit_gpus{model="M40",namespace="default"}'
}

step "a node with a GpuNodeStatus, one of gpu-manager, both M40; one gpu-scheduler with --extender-address and --quota-config"
provider_up 2>>"$CASE_DIR/up.log"
install_crds "$CRDS"
"$TESTBED/load" nodes --name claims --gpus 4 --label gaia.tencent.com/gpu-model=M40
"$TESTBED/load" nodes --name shares --gpus 3 --vcuda --label gaia.tencent.com/gpu-model=M40
scheduler_account
kubectl apply -f "$REPO/deploy/rbac/quota.yaml" >/dev/null
extender_config >"$CASE_DIR/quota.json"
SCHEDULER_FLAGS=(--extender-address="${EXTENDER#http://}" --quota-config="$CASE_DIR/quota.json")
run_scheduler scheduler
quota 4
eventually "gpu_admission_leading" 1 metric gpu_admission_leading
expect "/healthz where schedulers ask" ok "$(curl --silent "$EXTENDER/healthz")"

step "a claim pod, a vcuda pod that runs and one that is given a node count together"
claim two-gpus 'count: 2' | create
pod claimed two-gpus | create
expect_allocated claimed claims:0,1
eventually "GPUs of the quota in use" 2 used
vcuda runs 100 0
expect "answer for a whole GPU" "200 shares" "$(ask runs)"
bind runs shares
kubelet_takes runs
vcuda given 50 2
eventually "answer for half a GPU" "200 shares" ask given
eventually "GPUs of the quota in use" 3.5 used
expect "reservations" 1 "$(reserved)"
expect "devices that are held" "2 2" "$(held claims) $(held shares)"
given=$(annotations_of given)

step "one table refuses both kinds of a namespace, and not another namespace"
claim one-gpu 'count: 1' | create
pod refused one-gpu | create
expect_told QuotaExceeded refused 'ExceedsGPUQuota'
vcuda over 60 2
expect_like "answer for 60 cores more" '^200 ExceedsGPUQuota: ' "$(ask over)"
vcuda within 50 2
eventually "answer for 50 cores more" "200 shares" ask within
eventually "GPUs of the quota in use" 4 used
claim free 'count: 1' | create -n kube-public
pod free free | create -n kube-public
expect_allocated free claims:2 -n kube-public
kubectl delete pod within --force --grace-period=0 >/dev/null 2>>"$CASE_DIR/kubectl.log"
eventually "GPUs of the quota in use" 3.5 used

step "kill -9: the next one knows all of it from the API"
kill_scheduler scheduler
run_scheduler scheduler
expect "answer for who was given a node before" "200 shares" "$(ask given)"
expect_output "node of the pod that the quota refused" "" node_of refused
eventually "GPUs of the quota in use" 3.5 used
expect "devices that are held" "3 2" "$(held claims) $(held shares)"
expect "its devices" "$(jq -c 'del(.["tencent.com/predicate-time"])' <<<"$given")" \
  "$(annotations_of given | jq -c 'del(.["tencent.com/predicate-time"])')"
expect_allocated claimed claims:0,1
expect_like "answer for 60 cores more" '^200 ExceedsGPUQuota: ' "$(ask over)"
expect_told QuotaExceeded refused 'ExceedsGPUQuota'

step "a second replica sends on what it is asked to the one that leads"
STANDBY=http://127.0.0.1:3457
SCHEDULER_FLAGS=(--extender-address="${STANDBY#http://}" --quota-config="$CASE_DIR/quota.json")
start_scheduler standby
expect_ready standby
expect "gpu_admission_leading of it" 0 "$(page standby /metrics | awk '$1 == "gpu_admission_leading" { print $2 }')"
expect "its answer for who was given a node before" "200 shares" "$(ask_at "$STANDBY" given claims shares)"
expect_like "its answer for 60 cores more" '^200 ExceedsGPUQuota: ' "$(ask_at "$STANDBY" over claims shares)"
stop_scheduler standby

step "what a claim pod gives back, vcuda pods and claim pods get"
delete_pods claimed
eventually_like "allocation of the pod that was refused" '^claims:[0-3]$' allocated refused
bind given shares
kubelet_takes given # until then who comes next is not certain to get its own device
eventually "answer for 60 cores more" "200 shares" ask over
eventually "GPUs of the quota in use" 3.1 used
expect_sound
stop_scheduler scheduler
