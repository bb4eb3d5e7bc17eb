# shellcheck shell=bash disable=SC2016 # what pods expand
# Real server only: pods run.
# Needs: nodes
# Two real nodes, a kubelet and a containerd each, and pods that gpu-scheduler places there; GPUs are made up. Containers see
# what they were given. Kubelet and containerd are killed: no pod loses its GPUs or its container by it, and those that
# were placed meanwhile start afterwards. A GPU is given again when the container that had it has ended.

# What a claim pod's manifest says without the webhook.
FROM_ANNOTATION='{name: CUDA_VISIBLE_DEVICES, valueFrom: {fieldRef: {fieldPath: "metadata.annotations['"'gpu.scheduling/visible-devices'"']"}}}'
SLEEP='exec sleep 1000000'
seen_by() { kubectl exec "$1" -- sh -c "echo \$CUDA_VISIBLE_DEVICES"; }
output() { kubectl logs "$1"; }
# end_kubectl NAME: a helper that is kubectl itself.
end_kubectl() {
  kill -s TERM "$(<"$CASE_DIR/$1.pid")"
  finish_job "$1" 143
}

step "two nodes with kubelets are Ready, and have the guides' GPUs"
new_cluster --kubelets 2
for node in node-a node-b; do eventually "Ready of $node" True readiness_of $node; done
gpus() { kubectl get nodes -o jsonpath='{range .items[*]}{.status.allocatable.nvidia\.com/gpu} {end}'; }
expect "GPUs of the nodes" "4 8 " "$(gpus)"
note "$(sed -n 's/^testbed: ready at [^ ]* after/up after/p' "$CASE_DIR/up.log")"
run_scheduler scheduler

step "a pod runs: its output is read, also while it is written; commands run in it, and it reads what is typed"
pod talks '' command 'trap "exit 0" TERM; n=0; while true; do n=$((n + 1)); echo "line $n"; sleep 0.1; done' | create
pod listens '' command 'read -r line; echo "heard $line"' spec 'restartPolicy: Never' |
  sed 's/{name: main,/{name: main, stdin: true, stdinOnce: true,/' | create
runs talks
run_job follow kubectl logs -f talks
run_helper attach kubectl attach talks
eventually_like "kubectl logs -f" $'^line 1\nline 2\n.*line 20\n' cat "$CASE_DIR/follow.log"
eventually_like "kubectl attach" 'line [0-9]+' cat "$CASE_DIR/attach.log"
expect "hostname in the pod" talks "$(kubectl exec talks -- hostname)"
runs listens
kubectl attach -i listens <<<"a word" >"$CASE_DIR/listens.log" 2>&1
eventually "what was typed" "heard a word" output listens
end_kubectl attach

step "it is reached by port-forward, by pods of the other node, and reaches the API server as its account"
pod web '' command 'mkdir /www && hostname >/www/index.html && exec httpd -f -p 8080 -h /www' spec 'nodeSelector: {kubernetes.io/hostname: node-b}' |
  kubectl label -f - --local --dry-run=client -o yaml app=web | create
pod visits '' command "$SLEEP" spec 'nodeSelector: {kubernetes.io/hostname: node-a}' | create
kubectl expose pod web --port=80 --target-port=8080 >/dev/null
runs web
runs visits
run_helper forward kubectl port-forward svc/web 18080:80
eventually "the page by port-forward" web curl --silent --max-time 5 http://127.0.0.1:18080/
end_kubectl forward
expect "the page by a pod of the other node" web "$(kubectl exec visits -- wget -qO- "http://$(field pod/web .status.podIP):8080/")"
whoami='wget -qO- --no-check-certificate --header "Authorization: Bearer $(cat /var/run/secrets/kubernetes.io/serviceaccount/token)" \
  --header "Content-Type: application/json" --post-data "{\"apiVersion\": \"authentication.k8s.io/v1\", \"kind\": \"SelfSubjectReview\"}" \
  "https://$KUBERNETES_SERVICE_HOST/apis/authentication.k8s.io/v1/selfsubjectreviews"'
expect "who the pod is" system:serviceaccount:default:default "$(kubectl exec visits -- sh -c "$whoami" | jq -r .status.userInfo.username)"
delete_pods visits web listens
kubectl delete pod talks >/dev/null
finish_job follow
expect_like "the last line that kubectl logs -f said" '^line [0-9]+$' "$(tail -n 1 "$CASE_DIR/follow.log")"

step "a claim pod's container sees its GPUs"
for node in node-a node-b; do claim "one-$node" 'count: 1' "$(on $node)" | create; done
pod holds one-node-a command "$SLEEP" env "$FROM_ANNOTATION" | create
expect_allocated holds node-a:0
runs holds
expect "CUDA_VISIBLE_DEVICES in its container" 0 "$(seen_by holds)"

step "the webhook, on node-b, is asked through its Service: so does one whose manifest says nothing"
kubectl apply -f "$REPO/deploy/webhook/rbac.yaml" -f "$REPO/deploy/webhook/configurations.yaml" >/dev/null
provider_kubeconfig default gpu-scheduler-webhook >"$CASE_DIR/webhook.kubeconfig"
create <<'YAML'
apiVersion: v1
kind: Service
metadata: {name: gpu-scheduler-webhook, namespace: default}
spec: {ports: [{name: https, port: 443, targetPort: 8443}]}
---
apiVersion: v1
kind: Endpoints
metadata: {name: gpu-scheduler-webhook, namespace: default}
subsets: [{addresses: [{ip: 10.250.0.12}], ports: [{name: https, port: 8443}]}]
YAML
run_helper webhook "$TESTBED/on-node" "$CASE_DIR/cluster" node-b "$GS_BIN/gpu-scheduler-webhook" \
  --kubeconfig="$CASE_DIR/webhook.kubeconfig" --addr=0.0.0.0:8443 --metrics-address=0.0.0.0:9443
eventually "/readyz of the webhook" 200 curl --silent --max-time 5 --output /dev/null --write-out '%{http_code}' http://10.250.0.12:9443/readyz
told() {
  kubectl delete pod told --force --grace-period=0 >/dev/null 2>&1 || true # it may not be there
  pod told one-node-b command "$SLEEP" | create
  field pod/told '.spec.containers[0].env[*].name'
}
eventually "environment of a claim pod" "CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER" told
runs told
expect "CUDA_VISIBLE_DEVICES in its container" "$(allocated told)" "node-b:$(seen_by told)"

step "the kubelet is killed: its pod runs on and keeps its lease; one that was just placed there waits for it"
holds=$(container_of holds)
provider_component kill kubelet-node-a
killed=${EPOCHREALTIME/./}
pod late one-node-a command "$SLEEP" | create
expect_allocated late node-a:1
eventually "Ready of node-a" Unknown readiness_of node-a
note "node-a is not Ready $(elapsed_ms "$killed") ms after its kubelet was killed"
pod later one-node-a command "$SLEEP" | create
expect_told WaitsForNode later 'node'
note "a new pod waits: $(why later)"
expect "phase of the one that was placed" Pending "$(field pod/late .status.phase)"
expect "the container" RUNNING "$(task_of node-a "$holds")"
expect_like "leases" '^gpu-node-a-0 gpu-node-a-1 ' "$(gpu_leases)"

step "the kubelet is started again: both are placed and run, and the first has the same container"
provider_component start kubelet-node-a
eventually "Ready of node-a" True readiness_of node-a
runs late
expect "CUDA_VISIBLE_DEVICES in its container" 1 "$(seen_by late)"
expect_allocated later node-a:2
runs later
expect "container of the first, and its starts" "$holds" "$(container_of holds)"

step "containerd is killed: containers run on; a pod that was placed meanwhile starts when it is there again"
provider_component kill containerd-node-a
pod between one-node-a command "$SLEEP" | create
expect_allocated between node-a:3
expect "leases on node-a" "gpu-node-a-0 gpu-node-a-1 gpu-node-a-2 gpu-node-a-3 " "$(gpu_leases | tr ' ' '\n' | grep node-a | tr '\n' ' ')"
provider_component start containerd-node-a
runs between
expect "CUDA_VISIBLE_DEVICES in its container" 3 "$(seen_by between)"
expect "container of the first, and its starts" "$holds" "$(container_of holds)"
expect "the container" RUNNING "$(task_of node-a "$holds")"
expect "what it sees" 0 "$(seen_by holds)"

step "a pod that is deleted and ends slowly keeps its GPUs until its container has ended"
claim all-node-b 'count: 8' "$(on node-b)" | create
delete_pods told
pod slow all-node-b command 'trap "sleep 2; exit 0" TERM; while true; do sleep 0.1; done' | create
runs slow
slow=$(container_of slow)
pod next all-node-b command "$SLEEP" | create
expect_told WaitsForNode next 'need 8'
kubectl delete pod slow --wait=false >/dev/null
at=${EPOCHREALTIME/./}
eventually "node of the next" node-b node_of next
note "the next one is placed $(elapsed_ms "$at") ms after the slow one was deleted"
expect_output_like "the slow one's container" '^(STOPPED)?$' task_of node-b "$slow"
runs next

# (`exec sleep` is process 1 of its container, and such a one does not end by SIGTERM.)
step "a pod that is deleted by force gives its GPUs back at once, for no agent looks; its container ends later"
forced=$(container_of next)
delete_pods next
at=${EPOCHREALTIME/./}
pod after all-node-b command "$SLEEP" | create
expect_allocated after node-b:0,1,2,3,4,5,6,7
note "the next one is placed $(elapsed_ms "$at") ms after it was deleted; its container is $(task_of node-b "$forced")"
eventually_like "the forced one's container" '^(STOPPED)?$' task_of node-b "$forced"
note "and has ended $(elapsed_ms "$at") ms after"
runs after

step "the same while no kubelet stops the container: two have the GPUs, until the kubelet is there again"
forced=$(container_of after)
provider_component kill kubelet-node-b
delete_pods after
pod again all-node-b command "$SLEEP" | create
expect_allocated again node-b:0,1,2,3,4,5,6,7
# Without an agent nobody can know. With one the next pod waits, in the case `chart`.
expect "the forced one's container" RUNNING "$(task_of node-b "$forced")"
provider_component start kubelet-node-b
eventually_like "the forced one's container" '^(STOPPED)?$' task_of node-b "$forced"
runs again
expect_sound
