# shellcheck shell=bash
# For cases with two versions of us: this one, and one before it whose leases have another format and whose CRDs have less
# in them (bin/previous). Both are installed by Helm on two real nodes; the GPUs are those of made-up ones, which kwok plays.
# Sourced by them; needs churn.sh.

CHART=$REPO/charts/gpu-scheduler
BEFORE=0.0.9 # the version of the one before
AFTER=$(sed -n 's/^appVersion: //p' "$CHART/Chart.yaml")
SCHEDULER_ACCOUNT=system:serviceaccount:default:gpu-scheduler
PATIENCE=180      # a Deployment of four is replaced pod by pod, while others compile

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
  for program in "$GS_BIN"/{gpu,gkm}-* "$GS_BIN"/previous/gpu-*; do ln -sf "$program" "$CASE_DIR/bin/"; done
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
  command helm install gpu-scheduler "$CASE_DIR/chart-before" -f "$CASE_DIR/values.yaml" >>"$CASE_DIR/helm.log" 2>&1 ||
    fail "helm install: $(tail -n 5 "$CASE_DIR/helm.log")"
  eventually_served gpuclaims.gpu.scheduling
  eventually_served gpunodestatuses.gpu.scheduling
  "$TESTBED/nodes" --count 40 --prefix sim-
  eventually_up
  claim keeps 'count: 2' "$(on node-a)" | create
  pod keeper keeps command 'exec sleep 1000000' spec 'tolerations: [{operator: Exists}]' | create
  runs keeper
  KEPT="$(allocated keeper) $(container_of keeper)"
  expect_like "the GPUs and the container of a pod that runs all the time" '^node-a:[0-9],[0-9] .' "$KEPT"
}
# What helm prints goes into helm.log, its complaints too.
upgrade() { helm upgrade gpu-scheduler "$CHART" -f "$CASE_DIR/values.yaml" --history-max 0 >>"$CASE_DIR/helm.log" 2>&1; }
# (Helm keeps ten revisions of a release; one that is tried again and again may need more.)
roll_back() { helm rollback gpu-scheduler 1 --history-max 0 >>"$CASE_DIR/helm.log" 2>&1; }
expect_keeper() { eventually "the GPUs and the container of a pod that runs all the time" "$KEPT" kept; }
kept() { echo "$(allocated keeper) $(container_of keeper)"; }

eventually_up() { # until all our pods are those that were asked for last, and ready
  local each
  for each in deployment/gpu-scheduler deployment/gpu-scheduler-webhook daemonset/gpu-scheduler-agent; do
    eventually_like "$each" 'successfully rolled out' kubectl rollout status "$each" --watch=false
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
leader_version() { field "pod/$(leader_pod)" '.spec.containers[0].image' 2>/dev/null | sed 's/.*://' || true; } # it may be gone by now

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

# format_of VERSION: of the leases that it writes.
format_of() { if [[ $1 == "$BEFORE" ]]; then echo 2; else echo 1; fi; }
# leases_since MOMENT FORMAT: how many leases of that format were made since then.
leases_since() {
  kubectl get leases -l gpu.scheduling/managed=true -o json | jq --argjson since "$(($1 / 1000000))" --arg format "$2" '[.items[]
    | select((.metadata.creationTimestamp | fromdate) > $since and .metadata.annotations["gpu.scheduling/format"] == $format)] | length'
}
formats() { # how many leases have each format
  kubectl get leases -l gpu.scheduling/managed=true -o json |
    jq -r '[.items[].metadata.annotations["gpu.scheduling/format"]] | group_by(.) | map("\(length) of format \(.[0])") | join(", ")'
}

# Pods that are none of our business, one every half a second, until the file is there: none may be refused. (An API server that is
# too busy to answer refuses nobody; such a pod is tried again.)
foreign_pods() {
  local i said again=0
  for ((i = 0; ; i++)); do
    [[ ! -f $CASE_DIR/no-more-foreign ]] || break
    until said=$(pod "foreign-$i" | sed 's/schedulerName: gpu-scheduler, //' | kubectl create -f - 2>&1) || [[ $said == *AlreadyExists* ]]; do
      if [[ $said =~ forbidden|'denied the request'|webhook ]]; then fail "a foreign pod: $said"; fi
      again=$((again + 1))
      sleep 1
    done
    if ((i >= 20)); then delete_pods --ignore-not-found "foreign-$((i - 20))" || again=$((again + 1)); fi
    sleep 0.5
  done
  echo "$i foreign pods, none refused ($again calls without an answer)"
}
