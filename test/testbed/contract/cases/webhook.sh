# shellcheck shell=bash
# Real server only: the sandbox asks no webhook over the wire.
# deploy/webhook/ as it is, but for the Service: no kubelet is there to run its pods, so it means this machine's port.
# Containers are told their GPUs, claims are checked, nobody else writes results, the certificate is made, trusted and
# renewed; and whatever becomes of the webhook, pods that do not ask for GPUs start as ever.

SCHEDULER_ACCOUNT=system:serviceaccount:default:gpu-scheduler-webhook # whose requests are looked at
# shellcheck source=../webhook.sh
source "$CONTRACT/webhook.sh"
PORT=8443 SECOND=8445

# asked PATH: reviews that were answered there, whatever came of them.
asked() {
  curl --silent --max-time 5 "http://127.0.0.1:$((PORT + 1000))/metrics" |
    awk -v path="path=\"$1\"" '/^gpu_scheduler_webhook_requests_total/ && index($1, path) { n += $2 } END { print n + 0 }'
}
# env_of POD [INDEX]: of that container.
env_of() { kubectl get "pod/$1" -o json | jq -c ".spec.containers[${2:-0}].env // [] | map({(.name): (.value // .valueFrom.fieldRef.fieldPath)}) | add // {}"; }
REFERENCE='{"CUDA_VISIBLE_DEVICES":"metadata.annotations['"'gpu.scheduling/visible-devices'"']","CUDA_DEVICE_ORDER":"PCI_BUS_ID"}'
# mutated NAME: a new claim pod's environment.
mutated() {
  kubectl delete pod "$1" --force --grace-period=0 >/dev/null 2>&1 || true # it may not be there
  pod "$1" one | kubectl create -f - >/dev/null
  env_of "$1"
}
# shown_at PORT: the fingerprint of the certificate.
shown_at() { openssl s_client -connect "127.0.0.1:$1" </dev/null 2>/dev/null | openssl x509 -noout -fingerprint; }
# As a user who may edit everything in the namespace.
as_user() { kubectl --as=alice "$@"; }
# In milliseconds, how long it takes to make an ordinary pod.
plain_takes() {
  local at=${EPOCHREALTIME/./}
  pod "$1" | sed 's/schedulerName: gpu-scheduler, //' | create
  elapsed_ms "$at"
}

step "a scheduler, the webhook with its account and configurations; it makes a certificate and has it trusted"
new_cluster
for node in node-a node-b; do # whose agents keep containers from no GPU
  patch_status "$node" '[{"op": "replace", "path": "/status/enforcement", "value": "off"}]'
done
kubectl create rolebinding alice --clusterrole=edit --user=alice >/dev/null
kubectl create rolebinding bob --clusterrole=view --user=bob >/dev/null
kubectl apply -f "$REPO/deploy/rbac/users.yaml" >/dev/null
run_scheduler scheduler
webhook_cluster $PORT
kubectl apply -f "$WEBHOOK/policy.yaml" >/dev/null
kubectl apply -f "$WEBHOOK/gpu-scheduler-webhook.yaml" --dry-run=server >/dev/null
run_webhook webhook $PORT
expect "keys of the secret" "ca.crt tls.crt tls.key" "$(field secret/gpu-scheduler-webhook-cert .data | jq -r 'keys | join(" ")')"
claim one 'count: 1' | create

step "a claim pod reads its annotation, a map pod has what its map says, another pod is never sent"
eventually "environment of a claim pod" "$REFERENCE" mutated first
expect_allocated first node-a:0
expect "what the reference will give" 0 "$(field pod/first '.metadata.annotations.gpu\.scheduling/visible-devices')"
pod sts-2 '' annotations 'gpu-scheduling-map: "0=node1:0,1\n2=node3:0,1,2"' | create
expect "environment of a map pod" '{"CUDA_VISIBLE_DEVICES":"0,1,2","CUDA_DEVICE_ORDER":"PCI_BUS_ID"}' "$(env_of sts-2)"
before=$(asked /mutate)
pod plain | create
expect "environment of another pod" '{}' "$(env_of plain)"
expect "reviews of pods" "$before" "$(asked /mutate)"

step "what is told stands first; an order of which ids are not is replaced, with a warning"
got=$(pod ordered one env '{name: MINE, value: "$(CUDA_VISIBLE_DEVICES)"}, {name: CUDA_DEVICE_ORDER, value: FASTEST_FIRST}' | kubectl create -f - 2>&1)
expect_like "the warning" 'Warning: container main sets CUDA_DEVICE_ORDER="FASTEST_FIRST"' "$got"
expect "its variables" "CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER MINE" "$(field pod/ordered '.spec.containers[0].env[*].name')"
expect "its order" PCI_BUS_ID "$(field pod/ordered '.spec.containers[0].env[1].value')"
delete_pods ordered

step "a container that kubectl debug adds is told too"
kubectl debug first --image=busybox --container=late -- true >/dev/null 2>&1
expect "its environment" "$REFERENCE" "$(kubectl get pod/first -o json | jq -c '.spec.ephemeralContainers[0].env | map({(.name): (.value // .valueFrom.fieldRef.fieldPath)}) | add')"
kubectl debug first --image=busybox --container=later -- true >/dev/null 2>&1
expect "the variables of both" "2 2" "$(kubectl get pod/first -o json | jq -r '[.spec.ephemeralContainers[].env | length | tostring] | join(" ")')"

step "who may edit a namespace may make claims there, and who may view it may see them"
may() { kubectl auth can-i --as="$1" "${@:2}" 2>/dev/null || true; }
eventually "alice makes claims" yes may alice create gpuclaims.gpu.scheduling # once a controller has put the roles together
eventually "bob sees them" yes may bob list gpuclaims.gpu.scheduling
expect "bob makes claims" no "$(may bob create gpuclaims.gpu.scheduling)"
expect "alice writes their status" no "$(may alice patch gpuclaims.gpu.scheduling --subresource=status)"
expect "alice says which GPUs a pod has" no "$(may alice write results.gpu.scheduling)"

step "a claim pod of another scheduler is made as it is, with a warning"
got=$(pod elsewhere one | sed 's/schedulerName: gpu-scheduler/schedulerName: other/' | kubectl create -f - 2>&1)
expect_like "the warning" "Warning: annotation gpu.scheduling/claim is read on pods with spec.schedulerName gpu-scheduler only" "$got"
expect "its environment" '{}' "$(env_of elsewhere)"

step "a claim that nobody could be placed by is refused; what is not followed is warned of"
expect_refused "a claim with MIG" 'denied the request: gpuclaim "mig" is invalid: spec.devices.exclusivity is "MIG"' \
  as_user create -f - <<<"$(claim mig 'count: 1, exclusivity: MIG')"
got=$(claim odd 'count: 1, preferIds: [1]' | as_user create -f - 2>&1)
expect_like "the warning" 'Warning: spec.devices.preferIds \[1\] is ignored' "$got"

step "a user who may edit pods cannot forge what only gpu-scheduler writes"
FORGED='written by gpu-scheduler alone'
forge() { pod forged '' annotations 'gpu.scheduling/allocated: "node-a:0,1"' spec 'nodeName: node-a' | as_user create -f -; }
eventually_like "a pod with results" "$FORGED" forge # the policy is read a moment after it was made
expect_refused "a running pod's results" "$FORGED" as_user annotate pod first --overwrite gpu.scheduling/allocated=node-b:7
expect_refused "their removal" "$FORGED" as_user annotate pod first gpu.scheduling/visible-devices-
as_user annotate pod first example.com/note=mine >/dev/null
# Who may bind pods, by either of the two ways, may not say what they have.
kubectl create clusterrole binder --verb=create --resource=pods/binding,bindings >/dev/null
kubectl create rolebinding binder --clusterrole=binder --user=alice >/dev/null
pod loose | sed 's/schedulerName: gpu-scheduler, /schedulerName: nobody, /' | create
binding() {
  echo '{"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "loose", "annotations": {"gpu.scheduling/allocated": "node-a:3"}},
    "target": {"kind": "Node", "name": "node-a"}}'
}
for path in pods/loose/binding bindings; do
  expect_refused "a Binding with results" "$FORGED" as_user create --raw "/api/v1/namespaces/default/$path" -f - <<<"$(binding)"
done
pod honest one | as_user create -f - >/dev/null
expect_allocated honest node-a:1

step "who is given the word may write results; a second policy of ours cuts nobody off"
sed 's/name: gpu-scheduler-results/name: second-results/; s/policyName: gpu-scheduler-results/policyName: second-results/' "$WEBHOOK/policy.yaml" | create
SECOND_SAYS='ValidatingAdmissionPolicy .second-results.'
deny_by_second() {
  kubectl delete validatingadmissionpolicybinding gpu-scheduler-results --wait=true --ignore-not-found >/dev/null
  forge 2>&1 || true # it fails, as it should; what is said is compared
}
eventually_like "what the second policy says" "$SECOND_SAYS.*$FORGED" deny_by_second
kubectl apply -f "$WEBHOOK/policy.yaml" >/dev/null
pod bound one | create
expect_allocated bound node-a:2
kubectl create rolebinding carol --clusterrole=edit --user=carol >/dev/null
kubectl create clusterrolebinding carol --clusterrole=gpu-scheduler-results --user=carol >/dev/null
as_carol() { kubectl --as=carol "$@"; }
as_carol annotate pod bound --overwrite gpu.scheduling/wake=1 >/dev/null
expect_refused "the same by alice" "$FORGED" as_user annotate pod bound --overwrite gpu.scheduling/wake=2

step "the scheduler's account changes no lease of others outside its namespace"
kubectl create namespace elsewhere >/dev/null
lease_elsewhere() { # NAME LABELS
  echo '{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "'"$1"'", "namespace": "elsewhere", "labels": {'"${2:-}"'}}}'
}
for each in theirs again; do lease_elsewhere $each | create; done
lease_elsewhere ancestors '"gpu.scheduling/managed": "true"' | create
as_scheduler() { kubectl --as=system:serviceaccount:default:gpu-scheduler -n elsewhere "$@"; }
take() { lease_elsewhere theirs | as_scheduler replace -f -; }
take >/dev/null # RBAC cannot tell them apart
kubectl apply -f "$REPO/deploy/rbac/lease-policy.yaml" >/dev/null
MANAGED='with the label gpu.scheduling/managed=true only'
eventually_like "what is said of a lease of others" "$MANAGED" take
relabel() { lease_elsewhere theirs '"gpu.scheduling/managed": "true"' | as_scheduler replace -f -; }
expect_refused "a label of ours on it" "$MANAGED" relabel
expect_refused "its deletion" "$MANAGED" as_scheduler delete lease theirs
expect_refused "the deletion of all" "$MANAGED" as_scheduler delete --raw /apis/coordination.k8s.io/v1/namespaces/elsewhere/leases/again
as_scheduler delete lease ancestors >/dev/null
kubectl create namespace gpu-kube >/dev/null
kubectl apply -f "$REPO/deploy/rbac/scheduler.yaml" -f "$REPO/deploy/kube-scheduler/rbac.yaml" >/dev/null
as_kube() { kubectl --as=system:serviceaccount:gpu-kube:gpu-scheduler "$@"; }
kubectl -n gpu-kube create -f - >/dev/null <<<'{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "own"}}'
as_kube -n gpu-kube delete lease own >/dev/null
expect_refused "the same by the account of deploy/kube-scheduler" "$MANAGED" as_kube -n elsewhere delete lease theirs
kubectl -n elsewhere patch lease theirs --type=merge -p '{"spec": {"holderIdentity": "mine"}}' >/dev/null # nobody else is kept from them
delete_pods bound
eventually_leases "gpu-node-a-0 gpu-node-a-1 "

step "a second replica shows the same certificate; when it is spoilt, both show a new one, and no review is lost"
run_webhook second $SECOND
expect "its certificate" "$(shown_at $PORT)" "$(shown_at $SECOND)"
old=$(shown_at $PORT)
kubectl patch secret gpu-scheduler-webhook-cert -p '{"data": {"tls.crt": "bm9uc2Vuc2U="}}' >/dev/null 2>&1 # it warns that this is no PEM
touch "$CASE_DIR/lost"
is_new() {
  if [[ $(mutated busy) != "$REFERENCE" ]]; then echo "a review" >>"$CASE_DIR/lost"; fi
  if [[ $(shown_at "$1") == "$old" ]]; then echo old; else echo new; fi
}
eventually "certificate of the first" new is_new $PORT
eventually "certificate of the second" "$(shown_at $PORT)" shown_at $SECOND
expect "environment of a claim pod" "$REFERENCE" "$(mutated busy)"
expect "reviews that were lost meanwhile" "" "$(<"$CASE_DIR/lost")"

step "while it runs, the script makes another one: that is shown by both in the end, and no review is lost"
"$REPO/hack/gen-webhook-certs.sh" >"$CASE_DIR/script.log" 2>&1
old=$(shown_at $PORT)
eventually "certificate of the first" new is_new $PORT
eventually "certificate of the second" "$(shown_at $PORT)" shown_at $SECOND
expect "environment of a claim pod" "$REFERENCE" "$(mutated busy)"
expect "reviews that were lost meanwhile" "" "$(<"$CASE_DIR/lost")"

step "the script's certificate is shown and trusted, in other namespaces too"
end_helper second
end_helper webhook
stored() { kubectl get secret gpu-scheduler-webhook-cert -n "$1" -o jsonpath='{.data.tls\.crt}' | base64 -d | openssl x509 -noout "${@:2}"; }
expect_like "the script's last line" 'Secret created: gpu-scheduler-webhook-cert \(namespace: gpu-system\)$' "$(bash -s -- gpu-system <"$REPO/hack/gen-webhook-certs.sh")"
expect_like "its names" 'DNS:gpu-scheduler-webhook.gpu-system.svc, DNS:gpu-scheduler-webhook.gpu-system.svc.cluster.local$' "$(stored gpu-system -ext subjectAltName)"
"$REPO/hack/gen-webhook-certs.sh" >"$CASE_DIR/script.log" 2>&1
# As an ancestor's script leaves it: no ca.crt, and nobody told the API server.
kubectl patch secret gpu-scheduler-webhook-cert --type=json -p '[{"op": "remove", "path": "/data/ca.crt"}]' >/dev/null
for kind in mutating validating; do
  kubectl patch "${kind}webhookconfiguration" gpu-scheduler-webhook --type=json -p '[{"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}]' >/dev/null
done
run_webhook webhook $PORT --inject-limits
expect "what is shown" "$(stored default -fingerprint)" "$(shown_at $PORT)"
told() { mutated trusting | jq -r 'keys | join(" ")'; }
eventually "environment of a claim pod" "CUDA_DEVICE_ORDER CUDA_VISIBLE_DEVICES" told

step "what was used is what its role allows"
limited() { mutated limited >/dev/null; field pod/limited '.spec.containers[0].resources'; }
eventually "resources of a claim pod" '{"limits":{"nvidia.com/gpu":"1"},"requests":{"nvidia.com/gpu":"1"}}' limited
allowed() {
  kubectl get clusterrole/gpu-scheduler-webhook role/gpu-scheduler-webhook -o json | jq -r '.items[].rules[]
    | .verbs[] as $verb | .apiGroups[] as $group | select($group != "resource.k8s.io") | .resources[] | [$verb, . + (if $group == "" then "" else "." + $group end)] | join(" ")' | sort -u
}
used() { provider_audit | awk '$2 !~ /[.]resource[.]k8s[.]io$/ { print $1, $2 }' | sort -u; } # that is for the case dra
allowed >"$CASE_DIR/allowed"
used >"$CASE_DIR/used"
expect_output "left: allowed and never used, right: used and not allowed" "" comm -3 "$CASE_DIR/allowed" "$CASE_DIR/used"

step "a webhook that hangs or is gone, or whose certificate is over, holds up no pod that does not ask for GPUs"
kill -s STOP "$(<"$CASE_DIR/webhook.pid")"
took=$(plain_takes beside-a-hung-one)
((took < 3000)) || fail "an ordinary pod took $took ms while the webhook hung"
expect "environment of a claim pod, which is made all the same" '{}' "$(mutated hung)"
kill -s CONT "$(<"$CASE_DIR/webhook.pid")"
end_helper webhook
expect "environment of a claim pod, which is made all the same" '{}' "$(mutated gone)"
plain_takes beside-none >/dev/null
eventually_like "what the scheduler says of it" 'Warning container main has no CUDA_VISIBLE_DEVICES .* so it may use any GPU of node node-[ab]' \
  events_of gone GpuEnvMissing
{
  openssl req -new -newkey rsa:2048 -nodes -keyout "$CASE_DIR/over.key" -out "$CASE_DIR/over.csr" \
    -subj /CN=gpu-scheduler-webhook.default.svc -addext subjectAltName=DNS:gpu-scheduler-webhook.default.svc
  openssl x509 -req -in "$CASE_DIR/over.csr" -signkey "$CASE_DIR/over.key" -copy_extensions copy -days -1 -out "$CASE_DIR/over.crt"
} 2>"$CASE_DIR/openssl.log"
for kind in mutating validating; do # it is trusted: that it is over is all that is wrong
  kubectl patch "${kind}webhookconfiguration" gpu-scheduler-webhook --type=json -p '[{"op": "replace",
    "path": "/webhooks/0/clientConfig/caBundle", "value": "'"$(base64 -w0 "$CASE_DIR/over.crt")"'"}]' >/dev/null
done
run_webhook over $PORT --tls-cert-file="$CASE_DIR/over.crt" --tls-private-key-file="$CASE_DIR/over.key"
expect "environment of a claim pod, which is made all the same" '{}' "$(mutated expired)"
plain_takes beside-an-old-one >/dev/null
