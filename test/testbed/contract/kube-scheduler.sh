# shellcheck shell=bash disable=SC2034 # names for lib.sh
# What the cases with a real kube-scheduler share; sourced by them. gpu-scheduler and kube-scheduler run with the flags, the
# configuration and the accounts of deploy/kube-scheduler/, of which only the addresses are changed.

KUBE=$REPO/deploy/kube-scheduler
EXTENDER=127.0.0.1:3456 # where kube-scheduler asks

# extender_flags ADDRESS: gpu-scheduler's, one a line.
extender_flags() { sed -n "s|0.0.0.0:3456|$1|; s/^ *- \(--extender-.*\)/\1/p" "$KUBE/gpu-scheduler.yaml"; }

# start_kube_scheduler [SED-SCRIPT]: with its configuration changed by that.
start_kube_scheduler() {
  local dir=$CASE_DIR/cluster config=$CASE_DIR/cluster/kube-scheduler.yaml
  kubectl create namespace gpu-kube --dry-run=client -o yaml | kubectl apply -f - >/dev/null # of an account there
  kubectl apply -f "$KUBE/rbac.yaml" >/dev/null
  {
    embedded "$KUBE/kube-scheduler-config.yaml" config.yaml |
      sed "s|gpu-scheduler-extender.gpu-kube.svc:3456|$EXTENDER|; ${1:-}"
    echo "clientConnection: {kubeconfig: $dir/kube-scheduler.kubeconfig}"
  } >"$config"
  provider_kubeconfig kube-system gpu-kube-scheduler >"$dir/kube-scheduler.kubeconfig"
  define "$dir" kube-scheduler "$(tool kube-scheduler)" --config="$config" --secure-port=0
  start "$dir" kube-scheduler
}
kill_kube_scheduler() { "$TESTBED/ctl" "$CASE_DIR/cluster" kill kube-scheduler; }
again_kube_scheduler() { "$TESTBED/ctl" "$CASE_DIR/cluster" start kube-scheduler; }

# kube_pod NAME [CLAIM [OPTION VALUE]...]: as pod, for that kube-scheduler.
kube_pod() { pod "$@" | to_kube; }
to_kube() { sed 's/schedulerName: gpu-scheduler/schedulerName: gpu-kube/'; }
# binds RESULT [SCHEDULER]: how many ended so.
binds() {
  page "${2:-scheduler}" /metrics |
    awk -v name="gpu_scheduler_extender_binds_total{result=\"$1\"}" '$1 == name { print $2 }'
}
# Both kinds of pods.
expect_all_sound() {
  expect_sound
  "$TESTBED/load" judge --scheduler gpu-kube --within 90s >"$CASE_DIR/judge.log" 2>&1 || fail "the judge: $(<"$CASE_DIR/judge.log")"
}
