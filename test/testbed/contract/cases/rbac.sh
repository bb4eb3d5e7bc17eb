# shellcheck shell=bash
# deploy/rbac/scheduler.yaml holds exactly the verbs that the scheduler uses: a run that makes it use them all is compared
# with the API server's audit log. Nothing is missing, and nothing is spare: each verb of each rule was used where no
# other rule would have allowed it. (What is for nodes with a DRA driver the case dra looks at.)

# "KIND-OF-ROLE verb resource.group subresource", one a line, of all that the two roles allow. (A rule for one object
# only is as good as another here: a request for a different one would be answered 403.)
allowed() {
  kubectl get clusterrole/gpu-scheduler role/gpu-scheduler -o json | jq -r '.items[] | .kind as $kind | .rules[]
    | .verbs[] as $verb | .apiGroups[] as $group | .resources[] | split("/") as [$resource, $sub]
    | select($group != "resource.k8s.io" and ($resource != "gpunodestatuses" or $verb == "list" or $verb == "watch"))
    | [$kind, $verb, $resource + (if $group == "" then "" else "." + $group end), $sub // "-"] | join(" ")' | sort
}

# The same of what was asked for. Only leases have two rules: in the lease namespace the Role is the one that counts.
used() {
  provider_audit | awk '$2 !~ /[.]resource[.]k8s[.]io$/ { print ($2 ~ /^leases/ && $4 == "default" ? "Role" : "ClusterRole"), $1, $2, $3 }' | sort -u
}

patched_events() { used | grep -c ' patch events' || true; } # it fails where there are none; the number is what counts

step "a former lease namespace whose scheduler died"
new_cluster
kubectl create namespace former >/dev/null
# As somebody else who may do everything: the audit log is about the run under the role.
run_scheduler former former "$KUBECONFIG"
{ claim shared 'count: 1, exclusivity: Shared' "$(on node-a)"; pod stays shared; } | create
expect_allocated stays node-a:0
for i in 1 2 3 4; do pod "filler-$i" shared; done | create
eventually "pods bound" 5 bound_count
kill_scheduler former
# A lease with two holders, one of which goes while nobody looks.
leaves=$(kubectl get pods -o json | jq -r '.items[] | select(.metadata.name != "stays"
  and .metadata.annotations["gpu.scheduling/allocated"] == "node-a:0").metadata.name')
expect_like "a second pod on GPU 0" '^filler-[1-4]$' "$leaves"
delete_pods "$leaves"
expect_output "requests on record" "" used

step "the scheduler takes its leases over, places a pod and lets one go"
run_scheduler scheduler
eventually_leases "gpu-node-a-0 gpu-node-a-1 gpu-node-a-2 gpu-node-a-3 "
eventually_leases "" -n former
{ claim one 'count: 1' "$(on node-b)"; pod placed one; } | create
expect_allocated placed node-b:0
delete_pods placed
eventually_leases "gpu-node-a-0 gpu-node-a-1 gpu-node-a-2 gpu-node-a-3 "

step "an event that repeats becomes a series"
pod waits missing | create
expect_told ClaimNotFound waits 'gpuclaim "missing" not found'
deadline=$((SECONDS + PATIENCE))
# Two reasons in turn: the second time a reason comes (not within 10 s) its event is patched.
until (($(patched_events) > 0)); do
  ((SECONDS < deadline)) || fail "expected a PATCH of an event, got none"
  claim missing 'count: 64' | create
  expect_waiting waits 'need 64'
  kubectl delete gclaim missing >/dev/null
  expect_told ClaimNotFound waits 'gpuclaim "missing" not found'
done

step "a pod of higher priority has another one evicted"
kubectl create priorityclass urgent --value=1000 >/dev/null
{ claim all-of-b 'count: 8' "$(on node-b)"; pod goes all-of-b; } | create
expect_allocated goes node-b:0,1,2,3,4,5,6,7
pod comes all-of-b spec 'priorityClassName: urgent' | create
eventually_like "when pod goes was told to go" '^20' field pod/goes .metadata.deletionTimestamp
delete_pods goes
expect_allocated comes node-b:0,1,2,3,4,5,6,7

step "a pod's volumes: one that is there gets its claim, one that is to be made is told its node"
create <<'YAML'
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: late}
provisioner: contract.test/nobody
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: there}
spec: {capacity: {storage: 2Gi}, accessModes: [ReadWriteOnce], storageClassName: late, hostPath: {path: /var/lib/there}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: there}
spec: {accessModes: [ReadWriteOnce], storageClassName: late, resources: {requests: {storage: 2Gi}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: made}
spec: {accessModes: [ReadWriteMany], storageClassName: late, resources: {requests: {storage: 1Gi}}}
YAML
pod stored '' spec 'volumes: [{name: a, persistentVolumeClaim: {claimName: there}}, {name: b, persistentVolumeClaim: {claimName: made}}]' | create
eventually "claim of the volume" there field pv/there .spec.claimRef.name
eventually_like "node for the other claim" '^node-' field pvc/made '.metadata.annotations.volume\.kubernetes\.io/selected-node'
stop_scheduler scheduler

step "what the roles allow is what was used, line by line"
allowed >"$CASE_DIR/allowed"
used >"$CASE_DIR/used"
expect_output "left: allowed and never used, right: used and not allowed" "" comm -3 "$CASE_DIR/allowed" "$CASE_DIR/used"
note "$(wc -l <"$CASE_DIR/allowed") verbs"
