# shellcheck shell=bash
# All GPU leases are in one namespace, which is recorded on the GpuClaim CRD. A second scheduler that is told another
# namespace waits while the first one lives, and takes over when it is gone.

record() { field crd/gpuclaims.gpu.scheduling '.metadata.annotations.gpu\.scheduling/lease-namespace'; }

# The Role of deploy/rbac for one more lease namespace.
allow_leases_in() {
  kubectl create namespace "$1" >/dev/null
  kubectl create role gpu-scheduler -n "$1" --verb=get,list,watch,create,update,delete --resource=leases.coordination.k8s.io >/dev/null
  kubectl create rolebinding gpu-scheduler -n "$1" --role=gpu-scheduler --serviceaccount=default:gpu-scheduler >/dev/null
}

step "the first scheduler records its lease namespace before it writes a lease"
new_cluster
allow_leases_in elsewhere
expect_output "record before" "" record
run_scheduler first
expect "record" default "$(record)"
{ claim two 'count: 2'; claim shared 'count: 1, exclusivity: Shared' "$(on node-b)"; pod a two; pod s1 shared; } | create
expect_allocated a node-a:0,1
expect_allocated s1 node-b:0
# Seven GPUs are shared by one pod each; the next pod joins the one with the lowest id.
for i in {2..8}; do pod "s$i" shared; done | create
eventually "pods bound" 9 bound_count
pod s9 shared | create
expect_allocated s9 node-b:0
expect_sound

step "a second scheduler with another lease namespace stays unready and says which one is taken"
start_scheduler second elsewhere
eventually_like "/readyz" 'lease-namespace: GPU leases are recorded in namespace default .*first' page second '/readyz?verbose'
expect "its status code" 503 "$(ready_code second)"
pod b two | create
eventually_like "the first still serves" '^node-' allocated b
expect "record" default "$(record)"
expect_output "GPU leases elsewhere" "" gpu_leases -n elsewhere
# Still so when the two lease durations for which it watches the first's leader lease are over.
eventually_like "/readyz after that" 'may be alive' page second '/readyz?verbose'
expect "status code of the second" 503 "$(ready_code second)"
expect "record" default "$(record)"

step "once the first is gone the second takes the record and the leases over"
held=$(gpu_leases)
kill_scheduler first
expect_leading second
expect_ready second
expect "record" elsewhere "$(record)"
eventually_leases "$held" -n elsewhere
eventually_leases "" -n default
expect "holder of a shared GPU's lease" shared "$(field lease/gpu-node-b-0 .spec.holderIdentity -n elsewhere)"
expect "its pods" "$(printf '%s\n' "$(uid_of pod/s1)" "$(uid_of pod/s9)" | sort)" "$(holders_of gpu-node-b-0 -n elsewhere)"
expect_sound

step "it serves new pods and frees the GPUs of those that end"
delete_pods a
{ claim four 'count: 2' "$(on node-a)"; pod c four; } | create
expect_allocated c node-a:0,1
expect_output "leases in the former namespace" "" gpu_leases -n default
expect_sound

step "the first, started again, waits in turn"
start_scheduler first
eventually_like "/readyz" 'lease-namespace: GPU leases are recorded in namespace elsewhere .*second' page first '/readyz?verbose'

step "a leader that ends in good order is followed too"
stop_scheduler second
expect_leading first
expect "record" default "$(record)"
eventually_leases "" -n elsewhere
expect_sound
