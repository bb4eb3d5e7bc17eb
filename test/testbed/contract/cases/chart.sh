# shellcheck shell=bash
# Real server only: pods run.
# Needs: nodes kube-scheduler helm
# The usage guide, from nothing to running pods, on two real nodes: all is installed by Helm, from an image that has our programs
# and nothing else. The agents publish made-up GPUs, and look at the real containers. Then what breaks: the agent, the kubelet
# and containerd are killed, a pod is deleted by force while its container ends slowly. Upgrade, rollback, uninstall.

SCHEDULER_ACCOUNT=system:serviceaccount:default:gpu-scheduler-agent # whose requests are looked at
CHART=$REPO/charts/gpu-scheduler
NAMESPACE=default
SLEEP='exec sleep 1000000'
# Helm says each time that templates/crds.yaml is a link.
helm() { command helm "$@" 2> >(grep -v 'found symbolic link in path' >&2); }
eventually_up() { # until all pods are those that were asked for last, and ready
  local each
  for each in deployment/gpu-scheduler deployment/gpu-scheduler-webhook daemonset/gpu-scheduler-agent; do
    kubectl rollout status "$each" --timeout="${PATIENCE}s" >>"$CASE_DIR/rollout.log" 2>&1 || fail "$each: $(tail -n 1 "$CASE_DIR/rollout.log")"
  done
}
output() { kubectl logs "$@"; }
environment() { kubectl exec "$1" -- env | grep '^CUDA' | sort | tr '\n' ' '; }
users_of() { field "gns/$1" '.status.devices[*].inUseBy'; } # as text: [] where nobody
observed_on() { field "gns/$1" .status.observedTime; }
# looked_again NODE TIME: whether its agent has looked since it said TIME.
looked_again() { if [[ $(observed_on "$1") == "$2" ]]; then echo no; else echo yes; fi; }
agent_on() { kubectl get pods -l app=gpu-scheduler-agent --field-selector "spec.nodeName=$1" -o name; }
# name_image IMAGE AS: the guide's images are the testbed's here.
name_image() {
  local node
  for node in node-a node-b; do provider_on_node $node ctr images tag --force "docker.io/library/$1:testbed" "docker.io/$2" >/dev/null 2>&1; done
}

step "two nodes, and an image of our programs"
provider_up --kubelets 2 --kube-scheduler 2>>"$CASE_DIR/up.log"
for node in node-a node-b; do eventually "Ready of $node" True readiness_of $node; done
"$REPO/tools/image" "$CASE_DIR/image.tar" >"$CASE_DIR/image.log"
note "$(<"$CASE_DIR/image.log")"
provider_images "$CASE_DIR/image.tar"
rm "$CASE_DIR/image.tar"
name_image work nvidia/cuda:12.4.1-runtime-ubuntu22.04
name_image work pytorch/pytorch:2.0.0-cuda11.7-cudnn8-runtime
# What a device plugin says, and how an administrator labels.
for each in node-a:4:l40s:pcie node-b:8:a100:nvlink; do
  IFS=: read -r node count type topology <<<"$each"
  kubectl label node "$node" "gpu-type=$type" "topology=$topology" >/dev/null
  kubectl patch node "$node" --subresource=status --type=json \
    -p '[{"op": "add", "path": "/status/capacity/nvidia.com~1gpu", "value": "'"$count"'"}]' >/dev/null
done
cat >"$CASE_DIR/values.yaml" <<'YAML'
agent:
  simulate: |
    nodes:
    - {name: node-a, gpus: {count: 4, model: NVIDIA-L40S}}
    - name: node-b
      gpus: {count: 8, model: NVIDIA-A100-SXM4-80GB, islands: [{ids: [0, 1, 2, 3, 4, 5, 6, 7], bandwidthGBps: 600}]}
YAML

step "usage guide, steps 1 to 4: CRDs, certificate, Helm, and all components run"
kubectl apply -f "$CHART/templates/crds.yaml" >/dev/null
expect_like "the script's last line" 'Secret created: gpu-scheduler-webhook-cert \(namespace: default\)$' "$(bash -s -- $NAMESPACE <"$REPO/hack/gen-webhook-certs.sh" 2>>"$CASE_DIR/kubectl.log")"
at=${EPOCHREALTIME/./}
helm install gpu-scheduler "$CHART" -f "$CASE_DIR/values.yaml" >"$CASE_DIR/helm.log"
eventually_up
note "all pods are ready $(elapsed_ms "$at") ms after helm install"
expect "kubectl get deploy gpu-scheduler" gpu-scheduler "$(kubectl get deploy gpu-scheduler -o name | sed 's|.*/||')"
expect "nodes of the schedulers" "node-a node-b" "$(kubectl get pods -l app=gpu-scheduler -o jsonpath='{.items[*].spec.nodeName}' | tr ' ' '\n' | sort | xargs)"
expect_words "kubectl get gns" 'NAME NODE DEVICES FREE HEALTHY MODEL ENFORCEMENT AGE
node-a node-a 4 4 4 NVIDIA-L40S env AGE
node-b node-b 8 8 8 NVIDIA-A100-SXM4-80GB env AGE' "$(eventually "free GPUs" "4 8" field gns '.items[*].status.total' && kubectl get gpunodestatus)"
helm test gpu-scheduler >"$CASE_DIR/helm-test.log"

step "Example 1: a GPU, and the pod's log says which"
kubectl apply -f "$REPO/examples/single-gpu.yaml" >/dev/null
eventually "allocation of gpu-test" node-a:0 allocated gpu-test
eventually "log of gpu-test" "CUDA_VISIBLE_DEVICES=0 CUDA_DEVICE_ORDER=PCI_BUS_ID" output gpu-test
eventually "phase of gpu-test" Succeeded field pod/gpu-test .status.phase
eventually_leases ""

step "Examples 2 to 4: neighbours, wished ids, a chosen node; containers see what was given"
for example in multi-gpu pinned-gpus specific-node; do kubectl apply -f "$REPO/examples/$example.yaml" >/dev/null; done
for each in training-job=node-b:0,1,2,3 pinned-job=node-a:0,1; do eventually "allocation of ${each%%=*}" "${each#*=}" allocated "${each%%=*}"; done
expect_waiting big-job 'need 8 and most free is 4'
runs training-job
runs pinned-job
expect "environment of training-job" "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=0,1,2,3 " "$(environment training-job)"
expect "environment of pinned-job" "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=0,1 " "$(environment pinned-job)"
expect_words "kubectl get gclaim" 'NAME REQ POLICY TOPOLOGY ALLOCATED
multi-gpu 4 contiguous Preferred node-b:0,1,2,3
pinned-gpus 2 preferIds node-a:0,1
single-gpu 1 contiguous
specific-node 8 contiguous' "$(eventually "claims" "node-b:0,1,2,3 node-a:0,1" field gclaim '.items[*].status.allocated' && kubectl get gclaim)"
expect_like "kubectl get leases | grep gpu-" '^gpu-node-a-0 ' "$(kubectl get leases | grep gpu-)"
kubectl delete pod training-job --wait=false >/dev/null
eventually "allocation of big-job" node-b:0,1,2,3,4,5,6,7 allocated big-job
runs big-job

step "Troubleshooting: what the guide asks is answered"
expect_like "kubectl logs -l app=gpu-scheduler" 'msg=deciding' "$(kubectl logs -l app=gpu-scheduler)"
expect_like "kubectl logs -l app=gpu-scheduler-webhook" 'msg=running' "$(kubectl logs -l app=gpu-scheduler-webhook)"
expect_like "the annotations" '"gpu.scheduling/allocated":"node-a:0,1".*"gpu.scheduling/claim":"pinned-gpus"' \
  "$(kubectl get pod pinned-job -o jsonpath='{.metadata.annotations}' | jq -Sc .)"
expect "the Secret" gpu-scheduler-webhook-cert "$(kubectl get secret gpu-scheduler-webhook-cert -o name | sed 's|.*/||')"
kubectl delete lease gpu-node-a-0 >/dev/null # written again: its pod runs
eventually_like "leases" '^gpu-node-a-0 gpu-node-a-1 ' gpu_leases
kubectl delete pod pinned-job big-job --force --grace-period=0 >/dev/null 2>&1
eventually_leases ""

step "the agent is killed in mid-run: GPUs and pods stay, and who uses them is known again"
claim one-a 'count: 1' "$(on node-a)" | create
pod holds one-a command "$SLEEP" | create
runs holds
holder=$(uid_of pod/holds)
eventually_like "who uses GPU 0 of node-a" "$holder" users_of node-a
before=$(agent_on node-a)
provider_on_node node-a pkill -KILL -f '^gpu-scheduler-agent' # as when it crashes; nodes share their processes, so on both
seen=$(observed_on node-a)
eventually "starts of the agent" "1" field "$before" '.status.containerStatuses[0].restartCount'
eventually_up
eventually "a look of the agent's since" yes looked_again node-a "$seen"
expect_like "who uses GPU 0 of node-a" "$holder" "$(users_of node-a)"
pod next one-a command "$SLEEP" | create
expect_allocated next node-a:1

step "kubelet and containerd are killed in mid-bind: what was placed runs afterwards, and no GPU is given twice"
held=$(container_of holds)
provider_component kill containerd-node-a
provider_component kill kubelet-node-a
pod between one-a command "$SLEEP" | create
expect_allocated between node-a:2
provider_component start containerd-node-a
# A kubelet that finds no runtime yet ends; on a machine systemd starts it again.
with_kubelet() {
  provider_component start kubelet-node-a >/dev/null 2>&1 || true # it may have ended at once
  state_of_pod between
}
eventually "state of pod between" "Running true" with_kubelet
eventually "Ready of node-a" True readiness_of node-a
expect "environment of between" "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=2 " "$(environment between)"
expect "container of the first, and its starts" "$held" "$(container_of holds)"
expect_sound

step "a pod that is deleted by force while its container ends slowly: its GPU is not given before that has ended"
claim last-a 'count: 2' "$(on node-a)" | create
pod slow one-a command 'trap "" TERM; while true; do sleep 1; done' | create
runs slow
expect_allocated slow node-a:3
slow=$(container_of slow) uid=$(uid_of pod/slow)
eventually_like "who uses the GPUs of node-a" "$uid" users_of node-a
provider_component kill kubelet-node-a # nobody stops the container
delete_pods slow
pod after one-a command "$SLEEP" | create
expect_told WaitsForNode after 'too few free GPUs: need 1 and most free is 0'
# By two looks of the agent's that do not show it a pod that nobody says has ended would be taken for gone.
for look in first second; do
  seen=$(observed_on node-a)
  eventually "the $look look since then" yes looked_again node-a "$seen"
done
expect "the slow one's container" RUNNING "$(task_of node-a "$slow")"
expect_output "node of the next one" "" node_of after
provider_component start kubelet-node-a
eventually "allocation of the next one" node-a:3 allocated after
expect_output_like "the slow one's container by then" '^(STOPPED)?$' task_of node-a "$slow"
runs after
expect_sound

step "the leader is killed: another one leads once its kubelet says so, while its lease has minutes to go"
helm upgrade gpu-scheduler "$CHART" --reset-then-reuse-values --set leaderElection.leaseDuration=300s --set leaderElection.renewDeadline=200s >"$CASE_DIR/upgrade.log"
eventually_up
holder() { field lease/scheduler.gpu.scheduling .spec.holderIdentity; }
leads_for_seconds() { kubectl get lease scheduler.gpu.scheduling -o json | jq 'now - (.spec.acquireTime | sub("\\.[0-9]+"; "") | fromdate) | floor'; }
is_led_by_another() { case $(holder) in "" | "$led") echo no ;; *) echo yes ;; esac; }
eventually_like "duration of the lease" '^300 gpu-scheduler-' field lease/scheduler.gpu.scheduling '.spec.leaseDurationSeconds} {.spec.holderIdentity'
eventually_at_least "seconds for which it leads" 3 leads_for_seconds
led=$(holder)
for pid in $(pgrep -f '^gpu-scheduler --'); do
  if [[ $(nsenter --target "$pid" --uts hostname) == "${led%%_*}" ]]; then kill -s KILL "$pid"; fi
done
eventually "whether another one leads" yes is_led_by_another
eventually_up

step "upgrade and rollback: the CRDs follow, pods and GPUs stay"
kubectl patch crd gpuclaims.gpu.scheduling --type=json -p '[{"op": "remove", "path": "/spec/versions/0/additionalPrinterColumns"}]' >/dev/null
helm upgrade gpu-scheduler "$CHART" --reset-then-reuse-values --set scheduler.logLevel=debug >"$CASE_DIR/upgrade.log"
expect "columns of the CRD" 7 "$(kubectl get crd gpuclaims.gpu.scheduling -o json | jq '.spec.versions[0].additionalPrinterColumns | length')"
eventually_up
helm rollback gpu-scheduler 1 >/dev/null
eventually_up
expect "container of the first, and its starts" "$held" "$(container_of holds)"
eventually_like "leases" '^gpu-node-a-0 gpu-node-a-1 gpu-node-a-2 gpu-node-a-3 ' gpu_leases

step "the agent's rights are those that it used"
allowed() {
  kubectl get clusterrole/gpu-scheduler-agent -o json | jq -r '.rules[]
    | .verbs[] as $verb | .apiGroups[] as $group | .resources[] | split("/") as [$resource, $sub]
    | [$verb, $resource + (if $group == "" then "" else "." + $group end), $sub // "-"] | join(" ")' | sort -u
}
# A server-side apply of what is not there is a patch to the audit log, and needs create besides.
used() { (provider_audit | awk '{ print $1, $2, $3 }' && echo "create gpunodestatuses.gpu.scheduling -") | sort -u; }
allowed >"$CASE_DIR/allowed"
used >"$CASE_DIR/used"
expect_output "left: allowed and never used, right: used and not allowed" "" comm -3 "$CASE_DIR/allowed" "$CASE_DIR/used"
expect_output "requests answered 401 or 403" "" forbidden_requests
SCHEDULER_ACCOUNT=nobody # from now on: its rights go with the release, before it does

step "uninstall: claims, leases and pods stay; nothing of ours holds up new pods"
helm uninstall gpu-scheduler >/dev/null
left() { kubectl get -A pod,job,secret,deployment,daemonset,service,configmap,serviceaccount,networkpolicy,poddisruptionbudget,role,rolebinding,clusterrole,clusterrolebinding -l app.kubernetes.io/instance=gpu-scheduler -o name; }
eventually "what is left of the release" "" left
expect_output "webhook configurations" "" kubectl get mutatingwebhookconfiguration,validatingwebhookconfiguration,validatingadmissionpolicy -o name
expect "phase of a pod that has GPUs" Running "$(field pod/holds .status.phase)"
expect_like "leases" '^gpu-node-a-0 ' "$(gpu_leases)"
pod plain | sed 's/schedulerName: gpu-scheduler, //' | create
runs plain
