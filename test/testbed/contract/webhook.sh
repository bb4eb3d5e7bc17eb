# shellcheck shell=bash
# What the cases with gpu-scheduler-webhook share; sourced by them, and by nobody else. It runs on this machine, with the
# rights of deploy/webhook/.

WEBHOOK=$REPO/deploy/webhook

# webhook_cluster PORT [ADDRESS]: its account and configurations; the API server asks at this machine's port.
webhook_cluster() {
  kubectl apply -f "$WEBHOOK/rbac.yaml" -f "$WEBHOOK/configurations.yaml" >/dev/null
  serve_at "$@"
  provider_kubeconfig default gpu-scheduler-webhook >"$CASE_DIR/webhook.kubeconfig"
}

# run_webhook NAME PORT [FLAG...]
run_webhook() {
  run_helper "$1" "$GS_BIN/gpu-scheduler-webhook" --kubeconfig="$CASE_DIR/webhook.kubeconfig" --addr="0.0.0.0:$2" \
    --metrics-address="127.0.0.1:$(($2 + 1000))" "${@:3}"
  eventually "/readyz of $1" 200 webhook_ready "$2"
}
webhook_ready() { curl --silent --max-time 5 --output /dev/null --write-out '%{http_code}' "http://127.0.0.1:$(($1 + 1000))/readyz"; }
# serve_at PORT [ADDRESS]: where the API server asks. With nodes it goes to addresses of endpoints only, by EndpointSlices (older
# ones by Endpoints), which name no loopback address.
serve_at() {
  local spec="{type: ExternalName, externalName: localhost, ports: [{name: https, port: $1}]}"
  if (($# > 1)); then
    spec="{ports: [{name: https, port: $1}]}"
    kubectl apply -f - >/dev/null 2>>"$CASE_DIR/kubectl.log" <<YAML
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: gpu-scheduler-webhook, namespace: default, labels: {kubernetes.io/service-name: gpu-scheduler-webhook}}
addressType: IPv4
ports: [{name: https, port: $1}]
endpoints: [{addresses: ["$2"], conditions: {ready: true}}]
---
apiVersion: v1
kind: Endpoints
metadata: {name: gpu-scheduler-webhook, namespace: default, labels: {endpointslice.kubernetes.io/skip-mirror: "true"}}
subsets: [{addresses: [{ip: "$2"}], ports: [{name: https, port: $1}]}]
YAML
  fi
  kubectl apply -f - >/dev/null <<YAML
apiVersion: v1
kind: Service
metadata: {name: gpu-scheduler-webhook, namespace: default}
spec: $spec
YAML
  for kind in mutating validating; do
    kubectl patch "${kind}webhookconfiguration" gpu-scheduler-webhook --type=json \
      -p '[{"op": "replace", "path": "/webhooks/0/clientConfig/service/port", "value": '"$1"'}]' >/dev/null
  done
}
