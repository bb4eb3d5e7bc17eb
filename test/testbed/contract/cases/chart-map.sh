# shellcheck shell=bash
# Real server only: pods run.
# Needs: nodes kube-scheduler helm
# The map scheduler's chart guide on two real nodes: the scheduler alone, then with its webhook beside it and the certificate of
# generate-webhook-certs.sh; a StatefulSet with a map; the check chart; health, logs, environment; upgrade, uninstall. Nodes have no
# GpuNodeStatus: which GPUs they have is not known.

NAMESPACE=gpu-scheduler-system
SCHEDULER_ACCOUNT=system:serviceaccount:$NAMESPACE:gpu-scheduler
CHART=$REPO/charts/gpu-scheduler
# shellcheck source=../guides.sh
source "$CONTRACT/guides.sh"
helm() { command helm "$@" 2> >(grep -v 'found symbolic link in path' >&2); }
in_system() { kubectl -n "$NAMESPACE" "$@"; }
# Until its pods are the new ones, and ready.
eventually_rolled_out() { in_system rollout status deployment/gpu-scheduler --timeout="${PATIENCE}s" >>"$CASE_DIR/rollout.log" 2>&1 || fail "$(tail -n 1 "$CASE_DIR/rollout.log")"; }
# upgrade VALUE...: as the guide does, and until it is there.
upgrade() {
  helm upgrade --install gpu-scheduler "$CHART" --namespace $NAMESPACE --create-namespace --set agent.enabled=false \
    --set image.repository=gpu-scheduler --set image.tag=0.1.0 "$@" >>"$CASE_DIR/helm.log"
  eventually_rolled_out
}
environment() { kubectl exec "$1" -- env | sed -n '/^CUDA/p' | sort | tr '\n' ' '; }
output() { kubectl logs "$@"; }
placed() { kubectl get pods "$@" -o jsonpath='{range .items[*]}{.metadata.name}={.metadata.annotations.gpu\.scheduling/allocated} {end}'; }
# stateful NAME REPLICAS MAP-LINES CONTAINER
stateful() {
  kubectl apply -f - >/dev/null <<YAML
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: $1}
spec:
  replicas: $2
  serviceName: $1
  selector: {matchLabels: {app: $1}}
  template:
    metadata:
      labels: {app: $1}
      annotations:
        gpu-scheduling-map: |
$(sed 's/^/          /' <<<"$3")
    spec:
      schedulerName: gpu-scheduler
      terminationGracePeriodSeconds: 1
      containers:
      - $4
YAML
}
SLEEPS='{name: worker, image: "busybox:testbed", command: [sleep, "1000000"]}'

step "two nodes that carry the names node1 and node2, and an image of our programs"
provider_up --kubelets 2 --kube-scheduler 2>>"$CASE_DIR/up.log"
for node in node-a node-b; do eventually "Ready of $node" True readiness_of $node; done
"$REPO/tools/image" "$CASE_DIR/image.tar" >"$CASE_DIR/image.log"
provider_images "$CASE_DIR/image.tar"
rm "$CASE_DIR/image.tar"
kubectl label node node-a gpu-node-name=node1 >/dev/null
kubectl label node node-b gpu-node-name=node2 >/dev/null

step "Basic Deployment: the scheduler alone places by the map"
upgrade --set webhook.enabled=false
stateful my-app 2 $'0=node1:0,1\n1=node2:2' "$SLEEPS"
eventually "pods" "my-app-0=node-a:0,1 my-app-1=node-b:2 " placed -l app=my-app
runs my-app-1
expect_output "environment without the webhook" "" environment my-app-1
expect "GPU leases" "gpu-node-a-0 gpu-node-a-1 gpu-node-b-2 " "$(gpu_leases -n $NAMESPACE)"
kubectl delete statefulset my-app --cascade=foreground >/dev/null
eventually "GPU leases" "" gpu_leases -n $NAMESPACE

step "Full Deployment, in one pod as the guide has it: the webhook beside it, with the certificate that the script made"
FULL=(--set webhook.enabled=true --set webhook.placement=Sidecar)
(cd "$CASE_DIR" && "$REPO/gpu-scheduler/generate-webhook-certs.sh" >"$CASE_DIR/script.log" 2>&1)
expect_like "what the script says" 'Certificates generated successfully!' "$(<"$CASE_DIR/script.log")"
kubectl apply -f "$CASE_DIR/certs/webhook-tls-secret.yaml" >/dev/null 2>>"$CASE_DIR/kubectl.log" # it warns that Helm made the namespace
upgrade "${FULL[@]}" --set "webhook.caBundle=$(base64 -w 0 "$CASE_DIR/certs/ca.crt")"
expect "containers of a pod" "scheduler webhook" "$(in_system get deployment gpu-scheduler -o jsonpath='{.spec.template.spec.containers[*].name}')"
expect_words "kubectl get mutatingwebhookconfiguration" "NAME WEBHOOKS AGE
gpu-scheduler-webhook 1 AGE" "$(kubectl get mutatingwebhookconfiguration gpu-scheduler-webhook)"

step "the guide's StatefulSet: containers see what the map says; who names no node waits, and is told"
stateful gpu-workload 3 $'0=node1:0,1\n1=node2:2\n2=node3:0,1,2' "$SLEEPS"
eventually_like "pods" '^gpu-workload-0=node-a:0,1 gpu-workload-1=node-b:2 ' placed -l app=gpu-workload
for each in "0=0,1" "1=2"; do
  runs "gpu-workload-${each%%=*}"
  expect "environment of gpu-workload-${each%%=*}" "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=${each#*=} " "$(environment "gpu-workload-${each%%=*}")"
done
expect_told WaitsForNode gpu-workload-2 'node3'
note "gpu-workload-2 waits: $(why gpu-workload-2)"
kubectl label node node-b --overwrite gpu-node-name=node3 >/dev/null
eventually "allocation of gpu-workload-2" node-b:0,1,2 allocated gpu-workload-2
runs gpu-workload-2

step "the check chart: each of its five pods logs the ids of its row, and no others; two nodes are four by their names, in turn"
CHECKS=gpu-scheduler-tests
in_checks() { kubectl -n $CHECKS "$@"; }
check_pod() { echo "gpu-test-gpu-scheduler-check-$1"; }
for name in node-a=node1 node-b=node2; do kubectl label node "${name%=*}" --overwrite "gpu-node-name=${name#*=}" >/dev/null; done
helm install gpu-test "$REPO/charts/gpu-scheduler-check" --namespace $CHECKS --create-namespace --set logInterval=1 >"$CASE_DIR/check.log"
for index in 0 1; do runs "$(check_pod $index)" -n $CHECKS; done
for index in 2 3 4; do expect_told WaitsForNode "$(check_pod $index)" 'node[34]' -n $CHECKS; done
for name in node-a=node3 node-b=node4; do kubectl label node "${name%=*}" --overwrite "gpu-node-name=${name#*=}" >/dev/null; done
for index in 2 3 4; do runs "$(check_pod $index)" -n $CHECKS; done
# What a pod said of itself, whatever the times.
said() { in_checks logs "$1" | sed -E 's/^[-0-9]+ [:0-9]+,[0-9]+ //' | awk '!seen[$0]++'; }
for row in "0 node-a 0,1" "1 node-b 2" "2 node-a 0,1,2" "3 node-b 3" "4 node-b 3"; do
  read -r index node ids <<<"$row"
  eventually "log of $(check_pod "$index")" "- __main__ - INFO - GPU Scheduler Check service starting...
- __main__ - INFO - Log interval: 1 seconds
- __main__ - INFO - Environment validation passed
- __main__ - INFO - Node: $node, CUDA_VISIBLE_DEVICES: $ids" said "$(check_pod "$index")"
  note "$(check_pod "$index"): $(said "$(check_pod "$index")" | tail -n 1)"
done
expect "holders of GPU 3 of node-b" 2 "$(holders_of gpu-node-b-3 -n $NAMESPACE | wc -l)"
follow check

step "helm test: one more pod of the map's first row was told its ids; where the webhook leaves it out, it says so"
kubectl label node node-a --overwrite gpu-node-name=node1 >/dev/null
tested() { if helm test gpu-test -n $CHECKS >>"$CASE_DIR/check.log" 2>&1; then echo passed; else output "$(check_pod test-0)" -n $CHECKS; fi; }
# change_excluded JSON-PATCH-OF-ONE: the namespaces that the webhook leaves out.
change_excluded() {
  kubectl patch mutatingwebhookconfiguration gpu-scheduler-webhook --type=json >/dev/null \
    -p "[$(jq -c '.path = "/webhooks/0/namespaceSelector/matchExpressions/0/values/" + .path' <<<"$1")]"
}
expect "helm test" passed "$(tested)"
change_excluded '{"op": "add", "path": "-", "value": "'$CHECKS'"}'
eventually_like "helm test" "CUDA_VISIBLE_DEVICES is not set, and '0,1' was expected; is gpu-scheduler's webhook installed?" tested
change_excluded '{"op": "remove", "path": "3"}'
helm uninstall gpu-test -n $CHECKS >/dev/null
eventually_leases "gpu-node-a-0 gpu-node-a-1 gpu-node-b-0 gpu-node-b-1 gpu-node-b-2 " -n $NAMESPACE

step "health and logs, as the guide asks for them"
run_helper forward kubectl port-forward svc/gpu-scheduler 18080:8080 -n $NAMESPACE
eventually "/health" '{"service":"gpu-scheduler","status":"healthy"}' curl --silent --max-time 5 http://127.0.0.1:18080/health
expect "/ready" '{"service":"gpu-scheduler","status":"ready"}' "$(curl --silent --max-time 5 http://127.0.0.1:18080/ready)"
kill -s TERM "$(<"$CASE_DIR/forward.pid")"
finish_job forward 143
expect_like "kubectl logs ... -c scheduler" 'msg=running program=gpu-scheduler-' "$(in_system logs -l app.kubernetes.io/name=gpu-scheduler -c scheduler)"
expect_like "kubectl logs ... -c webhook" 'msg=running program=gpu-scheduler-webhook-' "$(in_system logs -l app.kubernetes.io/name=gpu-scheduler -c webhook)"

step "the webhook's certificate goes away: the scheduler beside it goes on"
in_system delete secret gpu-scheduler-webhook-tls >/dev/null
in_system rollout restart deployment/gpu-scheduler >/dev/null
pod plain '' spec 'terminationGracePeriodSeconds: 1' | create
runs plain
in_system apply -f "$CASE_DIR/certs/webhook-tls-secret.yaml" >/dev/null 2>>"$CASE_DIR/kubectl.log"
eventually_rolled_out

step "Upgrade, Uninstall, and the Secret is removed"
upgrade "${FULL[@]}" --set "webhook.caBundle=$(base64 -w 0 "$CASE_DIR/certs/ca.crt")" --set resources.limits.cpu=1000m
expect_output "requests answered 401 or 403" "" forbidden_requests
SCHEDULER_ACCOUNT=nobody # from now on: its rights go with the release, before it does
helm uninstall gpu-scheduler -n $NAMESPACE >/dev/null
in_system delete secret gpu-scheduler-webhook-tls >/dev/null
expect "phase of a pod that has GPUs" Running "$(field pod/gpu-workload-0 .status.phase)"
expect_output "webhook configurations" "" kubectl get mutatingwebhookconfiguration,validatingwebhookconfiguration -o name
