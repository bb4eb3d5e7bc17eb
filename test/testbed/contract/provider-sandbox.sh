# shellcheck shell=bash
# The provider `sandbox`: `gpu-sandbox serve --api-only`, the API server in memory. What each function promises stands in
# provider-real.sh. There is no authentication: the account is the name that the scheduler's token is, and the sandbox
# writes it into its log of requests.

SCHEDULER_ACCOUNT=system:serviceaccount:default:gpu-scheduler # the account under test; a case may name another one
SANDBOX_PORT=6443 # in a network namespace of its own

# UP-OPTIONs are about the real server's components.
provider_up() {
  [[ -x $GS_BIN/gpu-sandbox ]] || die "no $GS_BIN/gpu-sandbox: make build, or set GS_BIN"
  export KUBECONFIG=$CASE_DIR/admin.kubeconfig
  PATH=$(dirname "$("$TESTBED/kubectl-for-sandbox")"):$PATH
  provider_start_api
}

provider_start_api() {
  : >>"$CASE_DIR/requests.log"
  run_helper sandbox "$GS_BIN/gpu-sandbox" serve --api-only --address="127.0.0.1:$SANDBOX_PORT" --kubeconfig-out="$KUBECONFIG" \
    --data="$CASE_DIR/state.json" --request-log="$CASE_DIR/requests.log" --log-level=info
  # It serves a moment before it has written the kubeconfig.
  eventually "/readyz of the sandbox, and its kubeconfig" "200 written" sandbox_state
}
sandbox_state() {
  curl --silent --max-time 2 --output /dev/null --write-out '%{http_code} ' "http://127.0.0.1:$SANDBOX_PORT/readyz"
  if grep -q current-context "$KUBECONFIG"; then echo written; fi
}

# It writes its state when it is told to end.
provider_stop_api() { end_helper sandbox; }

# The history of changes is in memory only.
provider_forget_history() {
  provider_stop_api
  provider_start_api
}

late_bindings_by() {
  curl --silent --fail --output /dev/null --data "{\"seconds\": $1}" "http://127.0.0.1:$SANDBOX_PORT/sandbox/v1/faults/late-bindings"
}
provider_delay_bindings() { late_bindings_by "$1"; }
provider_bindings_at_once() { late_bindings_by 0; }

provider_kubeconfig() {
  local account=system:serviceaccount:${1:-default}:${2:-gpu-scheduler}
  cat <<YAML
apiVersion: v1
kind: Config
clusters: [{name: sandbox, cluster: {server: "http://127.0.0.1:$SANDBOX_PORT"}}]
contexts: [{name: sandbox, context: {cluster: sandbox, user: gpu-scheduler, namespace: default}}]
users: [{name: gpu-scheduler, user: {token: "$account"}}]
current-context: sandbox
YAML
}

provider_audit() {
  if [[ ! -f $CASE_DIR/requests.log ]]; then echo "the sandbox has written no log of requests" >&2; return 1; fi
  sed -n "s/^$SCHEDULER_ACCOUNT //p" "$CASE_DIR/requests.log"
}

provider_save() {
  if curl --silent --fail --max-time 2 --output /dev/null "http://127.0.0.1:$SANDBOX_PORT/readyz"; then
    timeout 20 kubectl get nodes,pods,leases,gpuclaims,gpunodestatuses,events -A -o yaml >"$CASE_DIR/objects.yaml" 2>&1 || true # the case is over: a server half gone changes no verdict
  fi
  rm -f "$CASE_DIR/state.json"
}
