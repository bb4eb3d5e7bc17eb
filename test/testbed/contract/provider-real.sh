# shellcheck shell=bash
# The provider `real`: kube-apiserver, kube-controller-manager and etcd of ../up. A provider is what differs between
# the servers that the contract runs against; all else only needs $KUBECONFIG. It defines:
#   provider_up [UP-OPTION...]    an empty cluster; sets KUBECONFIG (may do everything) and puts a kubectl into PATH
#   provider_stop_api             the API server answers nothing, and its connections are closed
#   provider_start_api            returns when it answers again, with the objects of before
#   provider_stop_store           what the API server keeps its objects in is killed (real only)
#   provider_start_store          returns when the API server is ready again, with the objects of before
#   provider_forget_history       every watch from a resourceVersion of before is answered 410
#   provider_delay_bindings N     from now on a Binding takes effect N seconds after it was sent (1 to 30)
#   provider_bindings_at_once     no longer so; those under way stay as late as they are
#   provider_delay_writes N NAME:GROUP:OPERATION:RESOURCE...   the same of several kinds of writes, of which one is named binding
#                                 (real only; provider_bindings_at_once ends it)
#   provider_delayed NAME         prints how many such writes of the account under test have begun (real only)
#   provider_kubeconfig [NAMESPACE NAME]   prints a kubeconfig for that ServiceAccount (default gpu-scheduler)
#   provider_audit                prints "verb resource.group subresource namespace name code" of each request of that
#                                 account, "-" for what it has not; fails where requests aren't recorded
#   provider_created_by FILE      prints "resource subresource name" of each object that was created by the token in FILE,
#                                 "-" for no subresource (real only)
#   provider_component ACTION NAME   ctl: kill, start ... a component such as kubelet-node-a (real only, as all about nodes)
#   provider_on_node NODE CMD...  runs CMD on a node that has a kubelet (on-node)
#   provider_images TAR...        gives every such node the images of these files
#   provider_save                 keeps what helps to understand a failure, and throws away what is big
# What they are given: CASE_DIR, an empty folder; TESTBED.

SCHEDULER_ACCOUNT=system:serviceaccount:default:gpu-scheduler # the account under test; a case may name another one

provider_up() {
  "$TESTBED/up" "$CASE_DIR/cluster" --audit-user "$SCHEDULER_ACCOUNT" "$@"
  export KUBECONFIG=$CASE_DIR/cluster/admin.kubeconfig
  PATH=$(dirname "$(tool kubectl)"):$(dirname "$(tool helm)"):$PATH # helm is there in a case that says so at its head
}

provider_component() { "$TESTBED/ctl" "$CASE_DIR/cluster" "$@"; }
provider_on_node() { "$TESTBED/on-node" "$CASE_DIR/cluster" "$@"; }
provider_images() { "$TESTBED/image-import" "$CASE_DIR/cluster" "$@"; }

provider_stop_api() { "$TESTBED/ctl" "$CASE_DIR/cluster" kill apiserver; }
provider_start_api() { start_and_note apiserver; }
# start_and_note COMPONENT: with the seconds in which the API server was not ready.
start_and_note() {
  local from
  from=$(date +%s)
  "$TESTBED/ctl" "$CASE_DIR/cluster" start "$1"
  echo "[$from,$(date +%s)]" >>"$CASE_DIR/cluster/api-starts"
}

provider_stop_store() { "$TESTBED/ctl" "$CASE_DIR/cluster" kill etcd; }
provider_start_store() { start_and_note etcd; }

# etcd forgets all but its newest revision; the API server's own memory of changes goes with a restart.
provider_forget_history() {
  local etcd=http://127.0.0.1:2379/v3/kv revision
  revision=$(curl --silent --fail --data '{"key": "AA=="}' "$etcd/range" | jq -r .header.revision)
  curl --silent --fail --output /dev/null --data '{"revision": "'"$revision"'", "physical": true}' "$etcd/compaction"
  provider_stop_api
  provider_start_api
}

# By validating webhooks that never answer and may be ignored when their time is over. They shake hands: for who does not, the
# API server waits 10 s only.
provider_delay_writes() {
  local port=8444 pki=$CASE_DIR/cluster/pki seconds=$1 before tries hook name group operation resource
  if [[ -z ${HELPER[mute]:-} ]]; then
    run_helper mute "$CONTRACT/mute.py" $port "$pki/apiserver.crt" "$pki/apiserver.key"
    eventually_like "the mute webhook" listens cat "$CASE_DIR/mute.log"
  fi
  before=$(times_asked binding)
  {
    printf '%s\n' 'apiVersion: admissionregistration.k8s.io/v1' 'kind: ValidatingWebhookConfiguration' 'metadata: {name: mute}' 'webhooks:'
    for hook in "${@:2}"; do
      IFS=: read -r name group operation resource <<<"$hook"
      cat <<YAML
- name: $name.example.com
  clientConfig: {url: "https://127.0.0.1:$port/$name", caBundle: $(base64 -w0 "$pki/ca.crt")}
  rules: [{apiGroups: ["$group"], apiVersions: [v1], operations: [$operation], resources: [$resource]}]
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Ignore
  timeoutSeconds: $seconds
YAML
    done
  } | kubectl apply -f - >/dev/null
  # It works once the Binding of a pod that is not there comes to the webhook.
  for ((tries = 0; tries < 300; tries++)); do
    timeout 1 kubectl create --raw /api/v1/namespaces/default/pods/nobody/binding -f - >/dev/null 2>&1 <<<'{
      "apiVersion": "v1", "kind": "Binding", "metadata": {"name": "nobody"}, "target": {"kind": "Node", "name": "none"}}' || true # refused, or not answered in time: both are as they should be
    if (($(times_asked binding) > before)); then return; fi
  done
  fail "Bindings are not delayed"
}
provider_delay_bindings() { provider_delay_writes "$1" binding::CREATE:pods/binding; }
provider_delayed() { times_asked "$1 $SCHEDULER_ACCOUNT"; }
times_asked() { grep -c "asked /$1" "$CASE_DIR/mute.log" || true; } # where it finds none it prints 0, and fails
provider_bindings_at_once() { kubectl delete validatingwebhookconfiguration mute >/dev/null; }

provider_kubeconfig() { "$TESTBED/kubeconfig-for" "$CASE_DIR/cluster" serviceaccount "${1:-default}" "${2:-gpu-scheduler}"; }

provider_audit() {
  if [[ ! -s $CASE_DIR/cluster/audit.log ]]; then echo "the API server has written no audit log" >&2; return 1; fi
  # -R: the last line may be half written. An API server that has just been started again answers 403 to everybody until
  # it has read the roles: those until 10 s after it was ready say nothing about ours.
  local starts=[]
  [[ ! -f $CASE_DIR/cluster/api-starts ]] || starts=[$(paste -sd, "$CASE_DIR/cluster/api-starts")]
  jq -rR --argjson starts "$starts" 'fromjson?
    | (.requestReceivedTimestamp | sub("[.][0-9]+Z$"; "Z") | fromdateiso8601) as $at
    | select((.responseStatus.code == 403 and any($starts[]; .[0] <= $at and $at < .[1] + 10)) | not)
    | select(.stage == "ResponseComplete" or .stage == "ResponseStarted" and .verb == "watch")
    | select(.user.username == "'"$SCHEDULER_ACCOUNT"'" and .objectRef != null)
    | [.verb, ([.objectRef.resource, .objectRef.apiGroup // empty] | join(".")), .objectRef.subresource // "-", .objectRef.namespace // "-", .objectRef.name // "-",
       .responseStatus.code // 0] | join(" ")' "$CASE_DIR/cluster/audit.log"
}

provider_created_by() {
  local id
  id=$(jq -rR 'split(".")[1] | gsub("-"; "+") | gsub("_"; "/") | @base64d | fromjson | .jti' "$1")
  jq -rR --arg id "JTI=$id" 'fromjson?
    | select(.stage == "ResponseComplete" and .verb == "create" and .responseStatus.code == 201)
    | select(.user.extra["authentication.kubernetes.io/credential-id"] == [$id])
    | [.objectRef.resource, .objectRef.subresource // "-", .objectRef.name] | join(" ")' "$CASE_DIR/cluster/audit.log"
}

provider_save() {
  if alive "$CASE_DIR/cluster" apiserver; then
    timeout 20 kubectl get nodes,pods,leases,events -A -o yaml >"$CASE_DIR/objects.yaml" 2>&1 || true # the case is over: a server half gone changes no verdict
    timeout 20 kubectl get gpuclaims,gpunodestatuses -A -o yaml >"$CASE_DIR/objects-of-ours.yaml" 2>&1 || true # not every case has our kinds
    if [[ ${GS_KUBERNETES:-} == newest ]]; then
      timeout 20 kubectl get deviceclasses,resourceslices,resourceclaims -A -o yaml >"$CASE_DIR/objects-of-dra.yaml" 2>&1 || true
    fi
  fi
  local logs
  for logs in "$CASE_DIR"/cluster/node-?/var/log/pods; do
    # What its pods said is gone with the node.
    if [[ -d $logs ]]; then cp -r "$logs" "$CASE_DIR/pods-of-$(basename "${logs%/var/log/pods}")" 2>/dev/null || true; fi # they may be writing still
  done
  rm -rf "$CASE_DIR/cluster/etcd"
}
