# shellcheck shell=bash
# Real server only: Argo CD's kinds.
# Needs: helm crds argocd
# The Argo CD guide, with argocd/ as it is but for the repository's URL: Argo CD's own ApplicationSet controller, under its own
# rights, makes the Applications. Its application controller is played: when an Application is told to sync, this renders the chart with
# the Application's values, asks Argo CD's own rules of the project, and applies it; then it says that all is healthy.

SCHEDULER_ACCOUNT=system:serviceaccount:argocd:argocd-applicationset-controller # whose requests are looked at
TREE=$CASE_DIR/tree
URL=https://git.example.org/ml/gpu-scheduler.git
SERVER=https://kubernetes.default.svc
SCHEDULER=local-cluster-gpu-scheduler CHECK=local-cluster-gpu-test-service
# shellcheck source=../guides.sh
source "$CONTRACT/guides.sh"

# Helm says each time that templates/crds.yaml is a link.
helm() { command helm "$@" 2> >(grep -v 'found symbolic link in path' >&2); }
in_argo() { kubectl -n argocd "$@"; }
validate() { "$TREE/argocd/validate-applicationset.sh" 2>&1; }
# cluster NAME [LABEL]: the Secret of one more cluster, without annotations.
cluster() {
  in_argo create secret generic "$1" --from-literal=name="$1" --from-literal=server="https://$1.example.org" --from-literal=config='{}' >/dev/null
  in_argo label "secret/$1" argocd.argoproj.io/secret-type=cluster ${2:+"$2"} >/dev/null
}
applications() { in_argo get applications -o name | sed 's|.*/||' | tr '\n' ' '; }
application() { in_argo get "application/$1" -o json | jq -r "$2"; }
# Of an ApplicationSet: its condition's status and message.
condition() { in_argo get "applicationset/$1" -o json | jq -r '.status.conditions[]? | select(.type == "'"$2"'") | "\(.status) \(.message)"'; }
# Where the two waves stand, as the controller says.
rollout() { in_argo get applicationset/gpu-scheduler-complete -o json | jq -r '[.status.applicationStatus // [] | sort_by(.step)[] | "\(.application)=\(.status)"] | join(" ")'; }
told_to_sync() { application "$1" 'if .operation.sync then "yes" else "no" end'; }
# said NAME HEALTH SYNC [PHASE]: what the application controller writes of an Application.
said() {
  local phase=null
  if (($# > 3)); then phase='{"phase": "'$4'", "operation": {"sync": {}}, "startedAt": "2026-01-01T00:00:00Z"}'; fi
  in_argo patch "application/$1" --type=merge >/dev/null -p '{"operation": null, "status":
    {"health": {"status": "'"$2"'"}, "sync": {"status": "'"$3"'", "revision": "0123456789abcdef"}, "operationState": '"$phase"'}}'
}

# objects NAMESPACE CHART HELM-OPTION...: what it renders, with hooks, an object a line.
objects() {
  helm template "${RELEASE:-gpu-scheduler}" "$TREE/charts/$2" --namespace "$1" "${@:3}" |
    kubectl create --dry-run=client --validate=false -o json -f - | jq -c 'if .kind == "List" then .items[] else . end'
}
# refused_by_project [PROJECT-FILE]: those of stdin's objects that the project's rules refuse, by Argo CD's own code.
refused_by_project() { "$(tool argocd)" permits "${1:-$CASE_DIR/project.json}" $SERVER; }
stored_project() { in_argo get appproject/gpu-scheduler -o json >"$CASE_DIR/project.json"; }

# sync_application NAME: as the application controller would, by what the Application says and nothing else.
sync_application() {
  local namespace chart
  application "$1" .spec.source.helm.values >"$CASE_DIR/values.yaml"
  namespace=$(application "$1" .spec.destination.namespace) chart=$(application "$1" '.spec.source.path | ltrimstr("charts/")')
  RELEASE=$(application "$1" .spec.source.helm.releaseName) objects "$namespace" "$chart" -f "$CASE_DIR/values.yaml" |
    jq -c 'select(.metadata.annotations["helm.sh/hook"] != "test")' >"$CASE_DIR/$1.json"
  expect_output "what the project refuses of $1" "" refused_by_project <"$CASE_DIR/$1.json"
  kubectl create namespace "$namespace" >/dev/null
  # Its hook before the sync.
  if jq -e 'select(.kind == "Job")' "$CASE_DIR/$1.json" >/dev/null; then "$GS_BIN/gpu-scheduler" crds apply >/dev/null; fi
  jq -c 'select(.metadata.annotations["helm.sh/hook"] | not)' "$CASE_DIR/$1.json" | kubectl apply --server-side -f - >"$CASE_DIR/$1.log"
  note "$1: $(wc -l <"$CASE_DIR/$1.log") objects in $namespace and the cluster"
}

mkdir "$TREE"
cp -r "$REPO"/{argocd,charts,docs} "$TREE"

step "a cluster without Argo CD: validate-applicationset.sh says so"
provider_up 2>>"$CASE_DIR/up.log"
expect_refused "no Argo CD" 'the cluster has no kind applications.argoproj.io; install Argo CD first' validate
crds=$(foreign_crds)
kubectl apply --server-side -f "$crds/application-crd.yaml" -f "$crds/applicationset-crd.yaml" -f "$crds/appproject-crd.yaml" \
  -f "$crds/cert-manager.io_certificates.yaml" -f "$crds/cert-manager.io_issuers.yaml" \
  -f "$crds/monitoring.coreos.com_servicemonitors.yaml" -f "$crds/monitoring.coreos.com_podmonitors.yaml" >/dev/null
for name in applications applicationsets appprojects; do eventually_served "$name.argoproj.io"; done
for name in certificates.cert-manager.io issuers.cert-manager.io servicemonitors.monitoring.coreos.com podmonitors.monitoring.coreos.com; do
  eventually_served $name
done
expect_refused "no namespace" 'the cluster has no namespace argocd' validate
expect_refused "no cluster" 'no cluster answers' env KUBECONFIG="$CASE_DIR/none" "$TREE/argocd/validate-applicationset.sh"

step "Argo CD's ApplicationSet controller runs, under its own rights"
kubectl create namespace argocd >/dev/null
in_argo apply -f "$crds/argocd-applicationset-controller-role.yaml" -f "$crds/argocd-applicationset-controller-rolebinding.yaml" \
  -f "$crds/argocd-applicationset-controller-sa.yaml" >/dev/null
in_argo create configmap argocd-cm >/dev/null
in_argo create secret generic argocd-secret --from-literal=server.secretkey=none >/dev/null
in_argo label configmap/argocd-cm secret/argocd-secret app.kubernetes.io/part-of=argocd >/dev/null
provider_kubeconfig argocd argocd-applicationset-controller >"$CASE_DIR/argo.kubeconfig"
run_helper controller env KUBECONFIG="$CASE_DIR/argo.kubeconfig" "$(tool argocd)" --namespace argocd --enable-progressive-syncs \
  --logformat text --metrics-addr 127.0.0.1:18090 --probe-addr 127.0.0.1:18091 --webhook-addr 127.0.0.1:18092

step "without the cluster's Secret nothing is made"
in_argo apply -f "$TREE/argocd/gpu-scheduler-complete-applicationset.yaml" >/dev/null
eventually "what the set says of itself" 'True Successfully generated parameters for all Applications' condition gpu-scheduler-complete ParametersGenerated
eventually "whether all is made" 'True All applications have been generated successfully' condition gpu-scheduler-complete ResourcesUpToDate
expect_output "Applications" "" applications
expect_like "the controller's log" 'generated 0 applications' "$(<"$CASE_DIR/controller.log")"
in_argo delete -f "$TREE/argocd/gpu-scheduler-complete-applicationset.yaml" >/dev/null

step "repository and revision are set in one place; then the guide's commands do what it shows; there is a cluster that is none of our business"
cluster others
expect "files that name the repository" "argocd/local-cluster-secret.yaml" "$(cd "$TREE" && grep -rlE '(git|https?)[:@].*\.git|repoURL: [^{]*$' --include=*.yaml argocd | grep -v "'{{")"
in_argo apply -f "$TREE/argocd/local-cluster-secret.yaml" >/dev/null
expect_refused "the example's URL" 'gpu.scheduling/repository is "https://git.example.com/gpu-scheduler.git"; set the URL' validate
in_argo delete -f "$TREE/argocd/local-cluster-secret.yaml" >/dev/null
sed -i "s|https://git.example.com/gpu-scheduler.git|$URL|" "$TREE/argocd/local-cluster-secret.yaml"
follow argocd "$TREE"

step "the set makes two Applications, waves 1 and 2, and their parent"
eventually "Applications" "gpu-scheduler-complete $SCHEDULER $CHECK " applications
# shape NAME: what it deploys, where to, and who made it.
shape() {
  application "$1" '"\(.metadata.annotations["argocd.argoproj.io/sync-wave"]) \(.spec.project) \(.spec.source.path) \(.spec.source.helm.releaseName)
    \(.spec.destination.server) \(.spec.destination.namespace) \(.metadata.ownerReferences[0].name)"' | tr -s ' \n' ' '
}
expect "the scheduler's" "1 gpu-scheduler charts/gpu-scheduler gpu-scheduler $SERVER gpu-scheduler-system gpu-scheduler-complete " "$(shape $SCHEDULER)"
expect "the check's" "2 gpu-scheduler charts/gpu-scheduler-check gpu-test-service $SERVER gpu-scheduler-tests gpu-scheduler-complete " "$(shape $CHECK)"
expect "the parent's" "null gpu-scheduler argocd null $SERVER argocd gpu-scheduler-parent " "$(shape gpu-scheduler-complete)"
expect "what the parent reads there" gpu-scheduler-complete-applicationset.yaml "$(application gpu-scheduler-complete .spec.source.directory.include)"
for name in $SCHEDULER $CHECK gpu-scheduler-complete; do
  expect "repository and revision of $name" "$URL main" "$(application "$name" '"\(.spec.source.repoURL) \(.spec.source.targetRevision)"')"
done
expect "the scheduler's values, and who brings its CRDs" "{} true" "$(application $SCHEDULER '"\(.spec.source.helm.values) \(.spec.source.helm.skipCrds)"')"
expect_like "the check's values" '^gpuScheduling: schedulingMap: - gpuDevices: 0,1 nodeName: node1 podIndex: 0 - ' "$(application $CHECK .spec.source.helm.values | tr -s ' \n' ' ')"
expect "options of a sync" "CreateNamespace=true PrunePropagationPolicy=foreground PruneLast=true ApplyOutOfSyncOnly=true ServerSideApply=true" \
  "$(application $SCHEDULER '.spec.syncPolicy.syncOptions | join(" ")')"
expect "retries" '5 5s 2 3m' "$(application $CHECK '.spec.syncPolicy.retry | "\(.limit) \(.backoff.duration) \(.backoff.factor) \(.backoff.maxDuration)"')"
stored_project
in_argo get applications -o json | jq -c '.items[]' >"$CASE_DIR/objects.json"
expect_output "what the project refuses of the Applications" "" refused_by_project <"$CASE_DIR/objects.json"

step "the pods that check it are synced only once the scheduler is healthy"
for name in $SCHEDULER $CHECK; do said "$name" Missing OutOfSync; done
eventually "rollout" "$SCHEDULER=Pending $CHECK=Waiting" rollout
eventually "whether the scheduler is told to sync" yes told_to_sync $SCHEDULER
expect "whether it prunes" true "$(application $SCHEDULER .operation.sync.prune)"
transcript() { note "$(rollout); the set: $(condition gpu-scheduler-complete RolloutProgressing)"; }
transcript
sync_application $SCHEDULER
said $SCHEDULER Progressing Synced Running
eventually "rollout" "$SCHEDULER=Progressing $CHECK=Waiting" rollout
transcript
# The controller looks at all that the set made, and takes this annotation away at the end.
looked_at() {
  in_argo annotate applicationset/gpu-scheduler-complete argocd.argoproj.io/application-set-refresh=true >/dev/null
  eventually "whether the controller is asked to look" "" field applicationset/gpu-scheduler-complete \
    '.metadata.annotations.argocd\.argoproj\.io/application-set-refresh' -n argocd
}
said $SCHEDULER Progressing Synced Succeeded # all is applied, and pods come up
looked_at
said $SCHEDULER Degraded Synced Succeeded
looked_at
expect "rollout" "$SCHEDULER=Progressing $CHECK=Waiting" "$(rollout)"
expect "what the set says" 'True ApplicationSet is performing rollout of step 1' "$(condition gpu-scheduler-complete RolloutProgressing)"
expect "whether the check is told to sync" no "$(told_to_sync $CHECK)"
said $SCHEDULER Healthy Synced Succeeded
eventually "rollout" "$SCHEDULER=Healthy $CHECK=Pending" rollout
eventually "whether the check is told to sync" yes told_to_sync $CHECK
transcript
sync_application $CHECK
said $CHECK Progressing Synced Running
eventually "rollout" "$SCHEDULER=Healthy $CHECK=Progressing" rollout
transcript
said $CHECK Healthy Synced Succeeded
eventually "rollout" "$SCHEDULER=Healthy $CHECK=Healthy" rollout
eventually "what the set says" 'False ApplicationSet Rollout has completed' condition gpu-scheduler-complete RolloutProgressing
transcript
expect "the CRDs, by the hook" "customresourcedefinition.apiextensions.k8s.io/gpuclaims.gpu.scheduling" "$(kubectl get crd gpuclaims.gpu.scheduling -o name)"
expect "the map of the StatefulSet" "0=node1:0,1 1=node2:2 2=node3:0,1,2" \
  "$(kubectl get statefulset -n gpu-scheduler-tests gpu-test-service-gpu-scheduler-check -o jsonpath='{.spec.template.metadata.annotations.gpu-scheduling-map}' | tr '\n' ' ' | sed 's/ $//')"

step "the project permits every kind that the charts render, and no other"
permitted=() # kinds that were seen
for chart in gpu-scheduler gpu-scheduler-check; do
  namespace=gpu-scheduler-system
  if [[ $chart == *check ]]; then namespace=gpu-scheduler-tests; fi
  for values in "$TREE/charts/$chart/"{values.yaml,ci/*-values.yaml}; do
    # Values of an ancestor name the namespace that they are installed in.
    objects $namespace $chart --include-crds -f <(sed '/^namespace:/d' "$values") >"$CASE_DIR/objects.json"
    expect_output "what it refuses of $chart with $(basename "$values")" "" refused_by_project <"$CASE_DIR/objects.json"
    mapfile -t -O ${#permitted[@]} permitted < <(jq -r '"\(if .apiVersion | contains("/") then .apiVersion | split("/")[0] else "" end) \(.kind)"' "$CASE_DIR/objects.json" | sort -u)
  done
done
listed() { jq -r '.spec | .clusterResourceWhitelist[], .namespaceResourceWhitelist[] | "\(.group) \(.kind)"' "$CASE_DIR/project.json" | sort; }
expect "left: what the charts render, right: what the project lists" $'\t Namespace\n\targoproj.io ApplicationSet' \
  "$(comm -3 <(printf '%s\n' "${permitted[@]}" | sort -u) <(listed))"
note "$(listed | wc -l) kinds"
in_argo get applicationsets -o json | jq -c '.items[]' >"$CASE_DIR/objects.json"
expect_output "what it refuses of the parent's objects" "" refused_by_project <"$CASE_DIR/objects.json"
# foreign APIVERSION KIND NAMESPACE
foreign() { jq -nc --arg v "$1" --arg k "$2" --arg n "$3" '{apiVersion: $v, kind: $k, metadata: ({name: "x"} + if $n == "" then {} else {namespace: $n} end)}' | refused_by_project "${@:4}"; }
expect "a Secret" "Secret gpu-scheduler-system/x: kind not permitted" "$(foreign v1 Secret gpu-scheduler-system)"
expect "a Node" "Node /x: kind not permitted" "$(foreign v1 Node '')"
expect "a Deployment elsewhere" "Deployment.apps default/x: namespace not permitted" "$(foreign apps/v1 Deployment default)"
expect_output "a Deployment of the namespace" "" foreign apps/v1 Deployment gpu-scheduler-tests
# An ancestor's project named kinds that are none.
sed 's/MutatingWebhookConfiguration/MutatingAdmissionWebhook/' "$CASE_DIR/project.json" >"$CASE_DIR/ancestor.json"
expect "a webhook's configuration, by the ancestor's project" "MutatingWebhookConfiguration.admissionregistration.k8s.io /x: kind not permitted" \
  "$(foreign admissionregistration.k8s.io/v1 MutatingWebhookConfiguration '' "$CASE_DIR/ancestor.json")"

step "validate-applicationset.sh finds each of its errors"
# wrong FILE SED REGEX: with that change it fails, and says so.
wrong() {
  cp -r "$TREE" "$CASE_DIR/broken"
  sed -i -E "$2" "$CASE_DIR/broken/$1"
  ! diff -q "$TREE/$1" "$CASE_DIR/broken/$1" >/dev/null || fail "'$2' changes nothing in $1"
  expect_refused "$2" "$3" "$CASE_DIR/broken/argocd/validate-applicationset.sh"
  rm -r "$CASE_DIR/broken"
  errors=$((errors + 1))
}
errors=0
complete=argocd/gpu-scheduler-complete-applicationset.yaml project=argocd/gpu-scheduler-project.yaml secret=argocd/local-cluster-secret.yaml
wrong $project 's/^spec:/spec: [/' 'argocd: error: error parsing gpu-scheduler-project.yaml'
wrong $complete 's/repoURL:/repoUrl:/' 'gpu-scheduler-complete.*[.]spec.template.spec.source.repoUrl: field not declared in schema'
wrong $secret 's/environment: .*/environment: other/' 'selects clusters by the label environment=gpu-enabled, which argocd/local-cluster-secret.yaml does not have'
wrong $secret 's/secret-type: cluster/secret-type: repository/' 'needs the label argocd.argoproj.io/secret-type=cluster'
wrong $secret 's/^.*gpu.scheduling.repository.*$//' 'annotation gpu.scheduling/repository is ""'
wrong argocd/gpu-scheduler-applicationset.yaml '/selector:|matchLabels:/d' 'gpu-scheduler has no clusters generator with a selector'
wrong $complete 's/chart: gpu-scheduler$/chart: gpu-scheduler-chart/' 'there is no chart charts/gpu-scheduler-chart'
wrong $complete 's/chartValues: \{\}/chartValues: {crds: {upgrad: true}}/' "charts/gpu-scheduler: - at '/crds': additional properties 'upgrad' not allowed"
wrong charts/gpu-scheduler-check/templates/statefulset.yaml 's/replicas:/replicas: {/' 'charts/gpu-scheduler-check: Error: YAML parse error on gpu-scheduler-check/templates/statefulset.yaml'
wrong $project 's/kind: MutatingWebhookConfiguration/kind: MutatingAdmissionWebhook/' 'does not permit MutatingWebhookConfiguration of admissionregistration.k8s.io; add it to clusterResourceWhitelist'
wrong $project '/kind: StatefulSet/d' 'does not permit StatefulSet of apps; add it to namespaceResourceWhitelist'
wrong $project '/namespace: gpu-scheduler-tests/d' 'has no destination gpu-scheduler-tests'
wrong $project 's/^( *)- .*kind: Job\}/&\n\1- {group: batch, kind: Jop}/' 'permits batch Jop, a kind that is not there'
wrong $project 's/proj:gpu-scheduler:gpu-scheduler-readonly, logs/proj:other:gpu-scheduler-readonly, logs/' 'is no policy of it'
wrong $complete 's/prune: true/prune: false/' 'gpu-scheduler-complete: syncPolicy.automated needs prune and selfHeal'
wrong $complete 's/allowEmpty: false/allowEmpty: true/' 'allowEmpty would delete all when Git is empty'
wrong $complete 's/ServerSideApply=true/ServerSideApply=false/' 'syncPolicy.syncOptions needs ServerSideApply=true'
wrong $complete 's/limit: 5/limit: 7/' 'syncPolicy.retry.limit is 7'
wrong $complete 's/type: RollingSync/type: AllAtOnce/' 'give each a step of strategy.rollingSync'
wrong docs/use/argocd.md 's/validate-applicationset.sh/a script/' 'docs/use/argocd.md does not mention validate-applicationset.sh'
mv "$TREE/argocd/gpu-scheduler-check-applicationset.yaml" "$CASE_DIR/away.yaml"
expect_refused "a file that is gone" 'argocd/gpu-scheduler-check-applicationset.yaml is missing' validate
mv "$CASE_DIR/away.yaml" "$TREE/argocd/gpu-scheduler-check-applicationset.yaml"
in_argo create deployment argocd-applicationset-controller --image=none --replicas=0 >/dev/null
expect_refused "a controller without progressive syncs" 'runs without --enable-progressive-syncs' validate
in_argo create configmap argocd-cmd-params-cm --from-literal=applicationsetcontroller.enable.progressive.syncs=true >/dev/null
expect_like "what it says of the tree as it is" $'Sync policies validated ✓\nDocumentation complete ✓$' "$(validate)"

# Without one of the programs that it needs.
mkdir "$CASE_DIR/programs"
for name in bash cat dirname env helm kubectl mktemp rm; do ln -s "$(type -P $name)" "$CASE_DIR/programs/"; done
expect_refused "no jq" 'jq is not there; install it' env PATH="$CASE_DIR/programs" "$TREE/argocd/validate-applicationset.sh"
cluster forgotten environment=gpu-enabled
expect_refused "a cluster that does not say where the charts are" 'Secret argocd: forgotten has no annotation gpu.scheduling/repository' validate
in_argo delete secret forgotten >/dev/null
# An API server of others that does not answer is none of our business: kubectl lists the rest, and ends with 1.
mkdir "$CASE_DIR/one-away"
cat >"$CASE_DIR/one-away/kubectl" <<SH
#!/usr/bin/env bash
"$(type -P kubectl)" "\$@" || exit
[[ \$1 != api-resources ]] || { echo "error: unable to retrieve the complete list of server APIs" >&2; exit 1; }
SH
chmod +x "$CASE_DIR/one-away/kubectl"
expect_like "what it says beside a broken API" $'Sync policies validated ✓\nDocumentation complete ✓$' \
  "$(PATH=$CASE_DIR/one-away:$PATH validate)"
note "$errors kinds of errors in files are found"

step "a cluster whose Secret loses the label loses the Applications; the parent stays"
# What an Application deploys, but for who syncs it.
deployed() { application "$1" '.spec | del(.syncPolicy.automated, .source.helm.values) | tojson'; }
before="$(deployed $SCHEDULER) $(deployed $CHECK)"
# let_go NAME...: the application controller has removed what they deployed.
let_go() {
  local name
  for name in "$@"; do in_argo patch "application/$name" --type=merge -p '{"metadata": {"finalizers": null}}' >/dev/null; done
}
going() { in_argo get applications -o json | jq -r '[.items[] | select(.metadata.deletionTimestamp != null).metadata.name] | join(" ")'; }
in_argo label secret local-cluster environment- >/dev/null
expect_refused "no cluster with the label" 'no cluster has the label environment=gpu-enabled' validate
eventually "Applications that go" "$SCHEDULER $CHECK" going
let_go $SCHEDULER $CHECK
eventually "Applications" "gpu-scheduler-complete " applications
in_argo delete -f "$TREE/argocd/gpu-scheduler-complete-applicationset.yaml" >/dev/null
eventually "Applications that go" gpu-scheduler-complete going
let_go gpu-scheduler-complete

step "Option B: the single sets make the same Applications, synced by themselves, on each cluster of its own revision"
in_argo label secret local-cluster environment=gpu-enabled >/dev/null
for name in gpu-scheduler gpu-scheduler-check; do in_argo apply -f "$TREE/argocd/$name-applicationset.yaml" >/dev/null; done
eventually "Applications" "$SCHEDULER $CHECK " applications
expect "what they deploy" "$before" "$(deployed $SCHEDULER) $(deployed $CHECK)"
for name in $SCHEDULER $CHECK; do
  application "$name" .spec.source.helm.values >"$CASE_DIR/values.yaml"
  RELEASE=$(application "$name" .spec.source.helm.releaseName) objects "$(application "$name" .spec.destination.namespace)" \
    "$(application "$name" '.spec.source.path | ltrimstr("charts/")')" -f "$CASE_DIR/values.yaml" |
    jq -c 'select(.metadata.annotations["helm.sh/hook"] != "test")' >"$CASE_DIR/objects.json"
  expect "objects of $name" "$(<"$CASE_DIR/$name.json")" "$(<"$CASE_DIR/objects.json")"
  expect "whether $name syncs by itself" '{"prune":true,"selfHeal":true}' "$(application "$name" '.spec.syncPolicy.automated | tojson')"
done
cluster forgotten environment=gpu-enabled
eventually "Applications" "forgotten-gpu-scheduler forgotten-gpu-test-service $SCHEDULER $CHECK " applications
expect "where a cluster's charts are that does not say" "https://secret-without-annotation.invalid/gpu.scheduling/repository HEAD" \
  "$(application forgotten-gpu-scheduler '"\(.spec.source.repoURL) \(.spec.source.targetRevision)"')"
sed -e 's/local-cluster/staging/; s|https://kubernetes.default.svc|https://staging.example.org|; s/revision: main.*/revision: v0.1.0/' \
  "$TREE/argocd/local-cluster-secret.yaml" | in_argo apply -f - >/dev/null
eventually "Applications" "forgotten-gpu-scheduler forgotten-gpu-test-service $SCHEDULER $CHECK staging-gpu-scheduler staging-gpu-test-service " applications
expect "revisions" "main v0.1.0" "$(application $SCHEDULER .spec.source.targetRevision) $(application staging-gpu-scheduler .spec.source.targetRevision)"
