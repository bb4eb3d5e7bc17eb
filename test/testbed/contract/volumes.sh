# shellcheck shell=bash
# A class of storage whose volumes are made where pods go; sourced by cases. The provisioner's part is played with kubectl.

# provisioned_class NAME [ANNOTATION]: the StorageClass; ANNOTATION is the inside of YAML's {}.
provisioned_class() {
  create <<YAML
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: $1, annotations: {${2:-}}}
provisioner: contract.test/$1
volumeBindingMode: WaitForFirstConsumer
YAML
}

# start_provisioner CLASS: from now on each of its claims gets a volume made-CLAIM, on the node that a scheduler has selected for
# its pod.
start_provisioner() { run_job provisioner provision "$1"; }
end_provisioner() {
  : >"$CASE_DIR/provisioned"
  finish_job provisioner
}
provision() {
  local volume
  until [[ -f $CASE_DIR/provisioned ]]; do
    # Applied, since it may be there from the round before.
    while read -r volume; do kubectl apply --server-side -f - <<<"$volume"; done < <(kubectl get pvc -o json | jq -c --arg class "$1" '.items[]
      | select(.spec.storageClassName == $class and .status.phase == "Pending")
      | .metadata.annotations["volume.kubernetes.io/selected-node"] as $node | select($node != null)
      | {apiVersion: "v1", kind: "PersistentVolume", metadata: {name: "made-\(.metadata.name)"}, spec: {
          capacity: .spec.resources.requests, accessModes: .spec.accessModes, storageClassName: $class,
          claimRef: {namespace: .metadata.namespace, name: .metadata.name},
          hostPath: {path: "/var/lib/made/\(.metadata.name)", type: "DirectoryOrCreate"},
          nodeAffinity: {required: {nodeSelectorTerms: [
            {matchExpressions: [{key: "kubernetes.io/hostname", operator: "In", values: [$node]}]}]}}}}')
    sleep 0.2 # until it looks again
  done
}
