#!/usr/bin/env bash
# dev.sh [HELM-ARG...]: gpu-scheduler of this checkout into the cluster of the current kubectl context, by Helm. Run
# again, it upgrades.
#   NAMESPACE  where to (default: default); it is made
#   RELEASE    the release's name (default: gpu-scheduler)
#   IMAGE      REPOSITORY:TAG of an image that the nodes have or can pull; without it the chart's
# To take it away: helm uninstall RELEASE -n NAMESPACE
set -euo pipefail
cd "$(dirname "$0")/.."

namespace=${NAMESPACE:-default}
release=${RELEASE:-gpu-scheduler}
for tool in helm kubectl; do
  command -v "$tool" >/dev/null || { echo "$tool is not in PATH: install it" >&2; exit 1; }
done

image=()
if [[ -n ${IMAGE:-} ]]; then
  if ! [[ $IMAGE =~ ^(.+):([^:/]+)$ ]]; then
    echo "IMAGE is '$IMAGE': write REPOSITORY:TAG" >&2
    exit 2
  fi
  image=(--set "image.repository=${BASH_REMATCH[1]}" --set-string "image.tag=${BASH_REMATCH[2]}")
fi

echo "1/3 the kinds GpuClaim and GpuNodeStatus"
kubectl apply --server-side --force-conflicts -f charts/gpu-scheduler/crds/crds.yaml
# Not by `kubectl wait`, which fails on one that has no conditions yet.
served() {
  kubectl get crd gpuclaims.gpu.scheduling gpunodestatuses.gpu.scheduling \
    -o 'jsonpath={.items[*].status.conditions[?(@.type=="Established")].status}'
}
for ((tries = 0; tries < 60; tries++)); do
  if [[ $(served) == "True True" ]]; then break; fi
  sleep 1
done
[[ $(served) == "True True" ]] || { echo "the kinds are not served after 60 s: kubectl describe crd gpuclaims.gpu.scheduling" >&2; exit 1; }
echo "2/3 release $release in namespace $namespace"
helm upgrade --install "$release" charts/gpu-scheduler --namespace "$namespace" --create-namespace ${image[@]+"${image[@]}"} "$@"
echo "3/3 waiting until it runs"
all=$(kubectl get deployment,daemonset -n "$namespace" -l "app.kubernetes.io/instance=$release" -o name)
for what in $all; do
  kubectl rollout status -n "$namespace" "$what" --timeout=180s
done
