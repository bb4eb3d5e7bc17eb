# shellcheck shell=bash
# The provider `real`: kube-apiserver, kube-controller-manager and etcd of ../up. A provider is what differs between
# the servers that the contract runs against; all else only needs $KUBECONFIG. It defines:
#   provider_up [UP-OPTION...]    an empty cluster; sets KUBECONFIG (may do everything) and puts a kubectl into PATH
#   provider_stop_api             the API server answers nothing, and its connections are closed
#   provider_start_api            returns when it answers again, with the objects of before
#   provider_forget_history       every watch from a resourceVersion of before is answered 410
#   provider_kubeconfig           prints a kubeconfig for ServiceAccount default/gpu-scheduler
#   provider_audit                prints "verb resource.group subresource namespace name code" of each request of that
#                                 account, "-" for what it has not; nothing where requests aren't recorded
#   provider_save                 keeps what helps to understand a failure, and throws away what is big
# What they are given: CASE_DIR, an empty folder; TESTBED.

SCHEDULER_ACCOUNT=system:serviceaccount:default:gpu-scheduler

provider_up() {
  "$TESTBED/up" "$CASE_DIR/cluster" --audit-user "$SCHEDULER_ACCOUNT" "$@"
  export KUBECONFIG=$CASE_DIR/cluster/admin.kubeconfig
  PATH=$(dirname "$(tool kubectl)"):$PATH
}

provider_stop_api() { "$TESTBED/ctl" "$CASE_DIR/cluster" kill apiserver; }
provider_start_api() { "$TESTBED/ctl" "$CASE_DIR/cluster" start apiserver; }

# etcd forgets all but its newest revision; the API server's own memory of changes goes with a restart.
provider_forget_history() {
  local etcd=http://127.0.0.1:2379/v3/kv revision
  revision=$(curl --silent --fail --data '{"key": "AA=="}' "$etcd/range" | jq -r .header.revision)
  curl --silent --fail --output /dev/null --data '{"revision": "'"$revision"'", "physical": true}' "$etcd/compaction"
  provider_stop_api
  provider_start_api
}

provider_kubeconfig() { "$TESTBED/kubeconfig-for" "$CASE_DIR/cluster" serviceaccount default gpu-scheduler; }

provider_audit() {
  [[ -f $CASE_DIR/cluster/audit.log ]] || return 0
  # -R: the last line may be half written.
  jq -rR 'fromjson? | select(.stage == "ResponseComplete" or .stage == "ResponseStarted" and .verb == "watch")
    | select(.user.username == "'"$SCHEDULER_ACCOUNT"'" and .objectRef != null)
    | [.verb, ([.objectRef.resource, .objectRef.apiGroup // empty] | join(".")), .objectRef.subresource // "-", .objectRef.namespace // "-", .objectRef.name // "-",
       .responseStatus.code // 0] | join(" ")' "$CASE_DIR/cluster/audit.log"
}

provider_save() {
  if alive "$CASE_DIR/cluster" apiserver; then
    timeout 20 kubectl get nodes,pods,leases,gpuclaims,gpunodestatuses,events -A -o yaml >"$CASE_DIR/objects.yaml" 2>&1 || true
  fi
  rm -rf "$CASE_DIR/cluster/etcd"
}
