# shellcheck shell=bash
# Pods that are deleted between reserve and bind. No client can hit that moment for sure, so many are created and
# deleted as fast as the API server allows, while others keep the scheduler busy.

step "a control plane with 4 nodes of 8 GPUs, and a scheduler"
provider_up 2>>"$CASE_DIR/up.log"
install_crds "$CRDS"
"$TESTBED/nodes" --count 4
scheduler_account
run_scheduler scheduler
claim one 'count: 1' | create

# Until the file is there: deletes whatever exists, over and over.
delete_on_sight() {
  until [[ -f $CASE_DIR/all-created ]]; do delete_pods --all; done
}

step "300 pods deleted while they are being placed"
delete_on_sight 3>&- &
deleter=$!
"$TESTBED/load" pods --claim one --count 300 --prefix brief- --connections 2 >>"$CASE_DIR/load.log"
: >"$CASE_DIR/all-created"
wait "$deleter"
delete_pods --all
eventually "pods left" "" kubectl get pods -o name
placed=$(kubectl get events --field-selector reason=Scheduled -o name | wc -l)
refused=$(provider_audit | awk '$2 == "pods" && $3 == "binding" && $6 != 201' | wc -l)
note "$placed of 300 were bound before they were deleted, $refused were gone when their Binding came"

step "no lease is left of any of them"
eventually_leases ""
expect_sound

step "the same names again, deleted while they wait for GPUs"
"$TESTBED/load" pods --claim one --count 80 --prefix brief- >>"$CASE_DIR/load.log"
eventually "pods bound" 32 bound_count
delete_pods --all
eventually_leases ""

step "every GPU can still be given: 32 pods for 32 GPUs"
"$TESTBED/load" pods --claim one --count 32 --prefix last- >>"$CASE_DIR/load.log"
eventually "pods bound" 32 bound_count
eventually "leases" 32 lease_count
expect_sound
