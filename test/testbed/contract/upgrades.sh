# shellcheck shell=bash
# For cases with two versions of us: this one, and one before it whose leases have another format and whose CRDs have less
# in them (bin/previous). Both are installed by Helm on two real nodes; the GPUs are those of made-up ones, which kwok plays.
# Sourced by them; needs churn.sh.

CHART=$REPO/charts/gpu-scheduler
BEFORE=0.0.9 # the version of the one before
AFTER=$(sed -n 's/^appVersion: //p' "$CHART/Chart.yaml")
SCHEDULER_ACCOUNT=system:serviceaccount:default:gpu-scheduler
helm() { command helm "$@" 2> >(grep -v 'found symbolic link in path' >&2); } # templates/crds.yaml is one

# two_versions [UP-OPTION...]: the cluster, both images, both charts and their values; nothing is installed.
two_versions() {
  local program node
  # A container that was killed a few times would wait for minutes.
  mkdir -p "$CASE_DIR/kubelet.d"
  cat >"$CASE_DIR/kubelet.d/10-restarts.conf" <<'YAML'
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
featureGates: {KubeletCrashLoopBackOffMax: true}
crashLoopBackOff: {maxContainerRestartPeriod: 2s}
YAML
  provider_up --kubelets 2 --kwok --kube-scheduler --arg "kubelet-node-a=--config-dir=$CASE_DIR/kubelet.d" \
    --arg "kubelet-node-b=--config-dir=$CASE_DIR/kubelet.d" "$@" 2>>"$CASE_DIR/up.log"
  for node in node-a node-b; do
    eventually "Ready of $node" True readiness_of $node
    kubectl label node $node testbed/real=yes >/dev/null
    kubectl taint node $node testbed/real=yes:NoSchedule >/dev/null
  done

  mkdir -p "$CASE_DIR/bin"
  for program in "$GS_BIN"/gpu-* "$GS_BIN"/previous/gpu-*; do ln -sf "$program" "$CASE_DIR/bin/"; done
  "$REPO/tools/image" "$CASE_DIR/image.tar" >"$CASE_DIR/image.log"
  GS_BIN=$CASE_DIR/bin "$REPO/tools/image" "$CASE_DIR/image-before.tar" "gpu-scheduler:$BEFORE" >>"$CASE_DIR/image.log"
  provider_images "$CASE_DIR/image.tar" "$CASE_DIR/image-before.tar"
  rm "$CASE_DIR"/image*.tar

  cp -r "$CHART" "$CASE_DIR/chart-before"
  sed -i "s/^\(appV\|v\)ersion: .*/\1ersion: $BEFORE/" "$CASE_DIR/chart-before/Chart.yaml"
  "$GS_BIN/previous/gpu-scheduler" crds print >"$CASE_DIR/chart-before/crds/crds.yaml"
  cat >"$CASE_DIR/values.yaml" <<'YAML'
# Enough for both versions to stand side by side (hold).
replicaCount: 4
nodeSelector: {testbed/real: "yes"}
tolerations: [{operator: Exists}]
podDisruptionBudget: {enabled: false}
agent:
  nodeSelector: {testbed/real: "yes"}
  simulate: |
    nodes:
    - {name: node-a, gpus: {count: 4, model: NVIDIA-L40S}}
    - {name: node-b, gpus: {count: 4, model: NVIDIA-L40S}}
YAML
}

# install_before: the version before, and pods that keep their GPUs through all that follows.
install_before() {
  helm install gpu-scheduler "$CASE_DIR/chart-before" -f "$CASE_DIR/values.yaml" >"$CASE_DIR/helm.log"
  eventually_served gpuclaims.gpu.scheduling
  eventually_served gpunodestatuses.gpu.scheduling
  "$TESTBED/nodes" --count 40 --prefix sim-
  eventually_up
  claim keeps 'count: 2' "$(on node-a)" | create
  pod keeper keeps command 'exec sleep 1000000' spec 'tolerations: [{operator: Exists}]' | create
  runs keeper
  KEPT="$(allocated keeper) $(container_of keeper)"
}
upgrade() { helm upgrade gpu-scheduler "$CHART" -f "$CASE_DIR/values.yaml" >>"$CASE_DIR/helm.log"; }
roll_back() { helm rollback gpu-scheduler 1 >>"$CASE_DIR/helm.log"; }
expect_keeper() { eventually "the GPUs and the container of a pod that runs all the time" "$KEPT" kept; }
kept() { echo "$(allocated keeper) $(container_of keeper)"; }

eventually_up() { # until all our pods are those that were asked for last, and ready
  local each
  for each in deployment/gpu-scheduler deployment/gpu-scheduler-webhook daemonset/gpu-scheduler-agent; do
    kubectl rollout status "$each" --timeout="${PATIENCE}s" >>"$CASE_DIR/rollout.log" 2>&1 || fail "$each: $(tail -n 1 "$CASE_DIR/rollout.log")"
  done
}

# The versions of the schedulers that are ready, each once.
versions_ready() {
  kubectl get pods -l app=gpu-scheduler -o json | jq -r '[.items[]
    | select(any(.status.conditions[]?; .type == "Ready" and .status == "True") and .metadata.deletionTimestamp == null)
    | .spec.containers[0].image | split(":")[1]] | unique | join(" ")'
}
# Which pod leads, and its version; "" when nobody does.
leader_pod() { field lease/scheduler.gpu.scheduling .spec.holderIdentity | sed 's/_.*//'; }
leader_version() { field "pod/$(leader_pod)" '.spec.containers[0].image' 2>/dev/null | sed 's/.*://' || true; }

# lead VERSION: one of this version leads. Whoever leads now goes, and all of the other version with it: of those that stand
# by, only this version is left then. (Were only the leader deleted, chance would choose the next one.)
lead() {
  local version=$1 deadline=$((SECONDS + PATIENCE)) again=0
  until [[ $(leader_version) == "$version" ]]; do
    ((SECONDS < deadline)) || fail "expected a scheduler of $version to lead, but the leader is $(leader_pod), of version $(leader_version)"
    if ((SECONDS >= again)); then
      again=$((SECONDS + 20)) # time for a takeover on a loaded machine
      schedulers_not_of "$version" | xargs -r kubectl delete --wait=false >/dev/null 2>>"$CASE_DIR/kubectl.log" || true # one may be gone
    fi
    expect_running
    sleep 0.5
  done
}
schedulers_not_of() {
  kubectl get pods -l app=gpu-scheduler -o json |
    jq -r '.items[] | select(.spec.containers[0].image | endswith(":'"$1"'") | not) | "pod/" + .metadata.name'
}

# hold, release: an upgrade stops in the middle and goes on. What a pod needs to count as available, none of them has: with the
# chart's strategy (25 %) three of the version before and two of the other stand side by side until it is released.
hold() { kubectl patch deployment gpu-scheduler -p '{"spec": {"minReadySeconds": 86400, "progressDeadlineSeconds": 86401}}' >/dev/null; }
release() { kubectl patch deployment gpu-scheduler -p '{"spec": {"minReadySeconds": 0, "progressDeadlineSeconds": 600}}' >/dev/null; }

formats() { # how many leases have each format
  kubectl get leases -l gpu.scheduling/managed=true -o json |
    jq -r '[.items[].metadata.annotations["gpu.scheduling/format"]] | group_by(.) | map("\(length) of format \(.[0])") | join(", ")'
}

# Pods that are none of our business, one every half a second, until the file is there: none may be refused.
foreign_pods() {
  local i
  for ((i = 0; ; i++)); do
    [[ ! -f $CASE_DIR/no-more-foreign ]] || break
    pod "foreign-$i" | sed 's/schedulerName: gpu-scheduler, //' | kubectl create -f - >/dev/null
    if ((i >= 20)); then delete_pods "foreign-$((i - 20))"; fi
    sleep 0.5
  done
  echo "$i foreign pods, none refused"
}
