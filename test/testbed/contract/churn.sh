# shellcheck shell=bash
# For cases in which `load churn` makes pods: how far it is. Sourced by them.

now() { echo "${EPOCHREALTIME/./}"; }

# newest_pod [JSONPATH-FILTER]: the highest number of a pod of the churn; they are created in this order.
newest_pod() {
  kubectl get pods -l testbed/churn -o jsonpath="{range .items[${1:-*}]}{.metadata.name}{\"\n\"}{end}" |
    sed 's/churn-//' | sort -n | tail -n 1
}
newest_bound() { newest_pod '?(@.spec.nodeName)'; }

# placed_since MOMENT: pods are created and placed again, 20 of them; it reports when.
placed_since() {
  local newest='' wanted='' deadline=$((SECONDS + PATIENCE))
  until [[ -n $wanted ]] && ((newest >= wanted)); do
    ((SECONDS < deadline)) || fail "expected pods to be placed up to churn-${wanted:-?}, but the newest that is bound is churn-${newest:-?}"
    expect_running
    sleep 0.15
    # An API server that has just come back may refuse.
    if [[ -z $wanted ]] && newest=$(newest_pod 2>>"$CASE_DIR/kubectl.log"); then wanted=$((newest + 20)); fi
    newest=$(newest_bound 2>>"$CASE_DIR/kubectl.log") || newest=''
  done
  note "churn-$newest is placed, $(elapsed_ms "$1") ms after it"
}
