#!/usr/bin/env bash
# validate-applicationset.sh: whether what this folder has would work on the cluster of the current kubeconfig, where Argo CD runs and
# local-cluster-secret.yaml was applied. Needs kubectl, helm and jq. Nothing is changed. Ends with 1 at the first thing that
# is wrong, and says what to do.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

SETS=(gpu-scheduler-complete-applicationset.yaml gpu-scheduler-applicationset.yaml gpu-scheduler-check-applicationset.yaml)
FILES=(gpu-scheduler-project.yaml local-cluster-secret.yaml "${SETS[@]}")
EXAMPLE=git.example.com
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "validate-applicationset: $*" >&2; exit 1; }
# none WHAT: what stdin has, if anything, is wrong.
none() {
  local wrong
  wrong=$(cat)
  [[ -z $wrong ]] || fail "$1: $(head -n 1 <<<"$wrong")"
}
# json FILE...: their objects, one a line.
json() { kubectl create --dry-run=client --validate=false -o json "${@/#/--filename=}" | jq -c 'if .kind == "List" then .items[] else . end'; }

# Before anything else can be asked.
check_prerequisites() {
  local tool kind
  for tool in kubectl helm jq; do
    command -v "$tool" >/dev/null || fail "$tool is not there; install it"
  done
  kubectl get --raw /version >/dev/null 2>&1 || fail "no cluster answers; set KUBECONFIG, or start the cluster"
  kubectl get crds -o name >"$work/crds"
  for kind in applications applicationsets appprojects; do
    grep -q "/$kind.argoproj.io\$" "$work/crds" || fail "the cluster has no kind $kind.argoproj.io; install Argo CD first"
  done
  kubectl get namespace argocd >/dev/null 2>&1 || fail "the cluster has no namespace argocd; install Argo CD there"
}

# The server looks at each object, and says which field it does not know.
check_yaml() {
  local file said
  for file in "${FILES[@]}"; do
    [[ -f $file ]] || fail "argocd/$file is missing; take it from Git"
  done
  said=$(kubectl apply --server-side --field-manager=validate --force-conflicts --dry-run=server "${FILES[@]/#/--filename=}" 2>&1 >/dev/null) || fail "argocd: $said"
  json "${FILES[@]}" >"$work/files"
  jq -c 'select(.kind == "AppProject")' "$work/files" >"$work/project"
  jq -c 'select(.kind == "Secret")' "$work/files" >"$work/secret"
  jq -c 'select(.kind == "ApplicationSet")' "$work/files" >"$work/sets"
  # What each Application deploys: a chart, where to, under which name, and with which values.
  jq -c 'select(.metadata.name != "gpu-scheduler-parent") | .spec as $set | ($set.generators[].matrix.generators[]?.list.elements // empty | .[])
    // ($set.template | {chart: (.spec.source.path // "" | ltrimstr("charts/")), namespace: .spec.destination.namespace,
        release: .spec.source.helm.releaseName, component: .metadata.labels["app.kubernetes.io/component"], text: (.spec.source.helm.values // "{}")})' \
    "$work/sets" >"$work/deployed"
}

# Clusters are found by their Secrets' labels, and what is deployed to them is there.
check_generators() {
  jq -r 'select([.. | objects | .clusters? // empty | select((.selector.matchLabels // .selector.matchExpressions) != null)] == [])
    | "\(.metadata.name) has no clusters generator with a selector; select clusters by the label environment"' "$work/sets" | none ApplicationSet
  jq -r --slurpfile secret "$work/secret" '.metadata.name as $name
    | .. | objects | .clusters? // empty | (.selector.matchLabels // {}) | to_entries[]
    | select($secret[0].metadata.labels[.key] != .value)
    | "\($name) selects clusters by the label \(.key)=\(.value), which argocd/local-cluster-secret.yaml does not have; add it there"' \
    "$work/sets" | none ApplicationSet
  jq -r 'select(.metadata.labels["argocd.argoproj.io/secret-type"] != "cluster") | "needs the label argocd.argoproj.io/secret-type=cluster"' \
    "$work/secret" | none argocd/local-cluster-secret.yaml
  jq -r --arg example $EXAMPLE '.metadata.annotations["gpu.scheduling/repository"] // "" | select(. == "" or contains($example))
    | "annotation gpu.scheduling/repository is \"\(.)\"; set the URL of your repository there"' "$work/secret" | none argocd/local-cluster-secret.yaml
  # Of the Secrets nothing else is looked at.
  kubectl get secrets -n argocd -l argocd.argoproj.io/secret-type=cluster,environment=gpu-enabled \
    -o jsonpath='{range .items[*]}{.metadata.name} {.metadata.annotations.gpu\.scheduling/repository}{"\n"}{end}' >"$work/clusters"
  [[ -s $work/clusters ]] || fail "no cluster has the label environment=gpu-enabled; kubectl apply -f argocd/local-cluster-secret.yaml"
  awk 'NF < 2 { print $1 " has no annotation gpu.scheduling/repository; kubectl annotate secret -n argocd " $1 " gpu.scheduling/repository=URL" }' \
    "$work/clusters" | none "Secret argocd"
  local deployed chart
  while read -r deployed; do
    chart=$(jq -r .chart <<<"$deployed")
    [[ -f ../charts/$chart/Chart.yaml ]] || fail "there is no chart charts/$chart, which an ApplicationSet deploys; correct its path"
    jq -r '.text // (.chartValues | tojson)' <<<"$deployed" >"$work/values.yaml"
    helm template "$(jq -r .release <<<"$deployed")" "../charts/$chart" --namespace "$(jq -r .namespace <<<"$deployed")" --include-crds \
      -f "$work/values.yaml" >>"$work/rendered.yaml" 2>"$work/said" || fail "charts/$chart: $(grep -m 1 '^- at\|^Error: [^v]' "$work/said" || tail -n 1 "$work/said")"
  done <"$work/deployed"
  json "$work/rendered.yaml" >"$work/objects"
}

# The project allows all of it, and nothing that does not exist.
check_project() {
  jq -rs --slurpfile project "$work/project" '$project[0].spec as $allowed | unique_by(.apiVersion, .kind, .metadata.namespace)[]
    | (if (.apiVersion | contains("/")) then .apiVersion | split("/")[0] else "" end) as $group | .kind as $kind | .metadata.namespace as $namespace
    | (if $namespace == null then "clusterResourceWhitelist" else "namespaceResourceWhitelist" end) as $list
    | if any($allowed[$list][]; .group == $group and .kind == $kind) | not
      then "does not permit \($kind) of \(if $group == "" then "the core group" else $group end); add it to \($list)"
      elif $namespace != null and (any($allowed.destinations[]; .namespace == $namespace) | not)
      then "has no destination \($namespace); add it" else empty end' "$work/objects" | none "project gpu-scheduler"
  { kubectl api-resources --no-headers 2>/dev/null || true; } | # where an API server of others does not answer it fails, and lists the rest
    awk '{ print $(NF - 2), $NF }' | sed -E 's|^([^/ ]+)/[^ ]+|\1|; s|^v1 | |' >"$work/kinds"
  # Of groups that the server knows: others may be installed later.
  jq -r '.spec | .clusterResourceWhitelist[], .namespaceResourceWhitelist[] | "\(.group) \(.kind)"' "$work/project" |
    awk 'NR == FNR { group = $0; sub(/ .*/, "", group); groups[group]; kinds[$0]; next }
      { group = $0; sub(/ .*/, "", group) } (group in groups) && !($0 in kinds) { print "permits " $0 ", a kind that is not there; correct its name" }' \
      "$work/kinds" - | none "project gpu-scheduler"
  jq -r '.metadata.name as $project | .spec.roles[] | .name as $role | .policies[]
    | select(test("^p, proj:\($project):\($role), [a-z]+, [a-z/*]+, \($project)/[^ ]+, (allow|deny)$") | not)
    | "role \($role): \"\(.)\" is no policy of it; write p, proj:\($project):\($role), applications, ACTION, \($project)/*, allow"' \
    "$work/project" | none "project gpu-scheduler"
}

# Synced by itself, as the guide says, and in order.
check_policies() {
  jq -r '.metadata.name as $name | .spec.template.spec.syncPolicy | def wrong($what): "\($name): \($what)";
    if .automated.prune != true or .automated.selfHeal != true then wrong("syncPolicy.automated needs prune and selfHeal")
    elif .automated.allowEmpty == true then wrong("syncPolicy.automated.allowEmpty would delete all when Git is empty; set it to false")
    elif (.syncOptions // [] | index("ServerSideApply=true")) == null then wrong("syncPolicy.syncOptions needs ServerSideApply=true")
    elif .retry.limit != 5 then wrong("syncPolicy.retry.limit is \(.retry.limit); the guide says 5") else empty end' "$work/sets" | none ApplicationSet
  jq -r 'select(.metadata.name == "gpu-scheduler-complete")
    | [.spec.generators[].matrix.generators[]?.list.elements // empty | sort_by(.wave)[].component] as $waves
    | [.spec.strategy | select(.type == "RollingSync") | .rollingSync.steps[].matchExpressions[].values[]] as $steps
    | select($waves != $steps) | "gpu-scheduler-complete brings up \($steps | join(", ")), and its waves are \($waves | join(", ")); give each a step of strategy.rollingSync, in that order"' \
    "$work/sets" | none ApplicationSet
  local controller=argocd-applicationset-controller
  if kubectl get deployment -n argocd $controller -o json >"$work/controller" 2>/dev/null; then
    jq -e '.spec.template.spec.containers[0] | any((.args // []) + (.command // []) | .[]; . == "--enable-progressive-syncs")' "$work/controller" >/dev/null ||
      [[ $(kubectl get configmap -n argocd argocd-cmd-params-cm -o jsonpath='{.data.applicationsetcontroller\.enable\.progressive\.syncs}' 2>/dev/null) == true ]] ||
      fail "$controller runs without --enable-progressive-syncs, so nothing orders the waves; set applicationsetcontroller.enable.progressive.syncs: \"true\" in the ConfigMap argocd-cmd-params-cm and restart it"
  fi
}

check_docs() {
  local file
  for file in "${FILES[@]}" "$(basename "${BASH_SOURCE[0]}")"; do
    grep -qF "$file" ../docs/use/argocd.md || fail "docs/use/argocd.md does not mention $file; say there what it is for"
  done
}

check_prerequisites
check_yaml
echo "YAML validation passed ✓"
check_generators
echo "ApplicationSet generator syntax correct ✓"
check_project
echo "Project RBAC configured properly ✓"
check_policies
echo "Sync policies validated ✓"
check_docs
echo "Documentation complete ✓"
