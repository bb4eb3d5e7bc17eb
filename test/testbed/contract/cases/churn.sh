# shellcheck shell=bash
# Pods that are deleted between reserve and bind: some while their Binding is held up on its way, and many that are
# created and deleted as fast as the API server allows.

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
run_job deleter delete_on_sight
"$TESTBED/load" pods --claim one --count 300 --prefix brief- --connections 2 >>"$CASE_DIR/load.log"
: >"$CASE_DIR/all-created"
finish_job deleter
delete_pods --all
eventually "pods left" "" kubectl get pods -o name
placed=$(kubectl get events --field-selector reason=Scheduled -o name | wc -l)
refused=$(provider_audit | awk '$2 == "pods" && $3 == "binding" && $6 != 201' | wc -l)
note "$placed of 300 were bound first, $refused were gone when their Binding came"

step "no lease is left of any of them"
eventually_leases ""
expect_sound

# refused_bindings POD CODE: how many Bindings of it were answered so.
refused_bindings() { provider_audit | awk '$2 == "pods" && $3 == "binding" && $5 == "'"$1"'" && $6 == '"$2" | wc -l; }

step "a pod that is deleted while its Binding is on its way leaves nothing behind"
provider_delay_bindings 4
pod deleted one | create
eventually "leases" 1 lease_count
delete_pods deleted
eventually_leases ""
expect_sound

step "and one that is created anew under its name gets GPUs of its own"
pod twin one | create
eventually "leases" 1 lease_count
delete_pods twin
pod twin one | create
provider_bindings_at_once
eventually_like "allocation" '^node-' allocated twin
eventually "the one lease" "$(uid_of pod/twin)" field lease '.items[*].spec.holderIdentity' -l gpu.scheduling/managed=true
note "$(refused_bindings deleted 404) Bindings came to a pod that was gone, $(refused_bindings twin 409) to another of its name"
expect_sound
delete_pods twin
eventually_leases ""

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
