"""When each event comes, and what to do about it: what docs/reference/events.md says besides what the code says."""

# (program, reason): when it comes; what to do.
WHEN = {
    ("gpu-scheduler", "Scheduled"): ("the pod was bound. Of a pod that a kube-scheduler places, that one says it", ""),
    ("gpu-scheduler", "FailedScheduling"): (
        "the pod has found no node; the condition PodScheduled says the same. Also when its status cannot be written",
        "[why a pod waits](../use/scheduler.md#why-a-pod-waits)"),
    ("gpu-scheduler", "Preempted"): (
        "the pod was told to go for one of higher priority that fits nowhere else; its condition DisruptionTarget says so too",
        "[how preemption chooses](../use/scheduler.md#preemption); a PodDisruptionBudget, or a higher priority, keeps it longer"),
    ("gpu-scheduler", "DevicePluginPicks"): (
        "a pod of a claim or a map has limits of nvidia.com/gpu besides, on a node whose device plugin picks GPUs for these: the "
        "container may have others than it is told",
        "take the limit out of the pod"),
    ("gpu-scheduler", "GpuAnnotationChanged"): ("somebody changed `gpu.scheduling/allocated` of a running pod; once",
                                                "put the annotation back, or delete the pod"),
    ("gpu-scheduler", "GpuEnvMissing"): (
        "a container of a pod of a claim or a map is not told its GPUs, and the node's agent does not keep it from others",
        "the pod was created while the webhook was away, or is not installed: run [gpu-scheduler-webhook](../use/webhook.md) and "
        "create it again; with `--require-injection` such pods wait instead"),
    ("gpu-scheduler", "GpuHeldByForeignPod"): ("a pod of another scheduler carries that annotation; once",
                                               "nothing, where the pod has those GPUs; they count as held until it ends"),
    ("gpu-scheduler", "GpuHeldByOther"): ("the pod's annotation names a GPU that another pod's lease holds, and the lease wins; or a "
                                          "ResourceClaim of somebody else was allocated a GPU that the pod has already",
                                          "delete one of the two"),
    ("gpu-scheduler", "GpuInUseByOther"): (
        "the agent sees containers of one pod on a GPU of which another one has the lease; on both pods and the node, once "
        "until it is over", "delete one of the two; keep pods that a device plugin serves on other nodes than pods with claims"),
    ("gpu-scheduler", "GpuLeaseRewritten"): ("a lease of a running pod was deleted; once for each pod",
                                             "nothing; to free its GPU, end the pod"),
    ("gpu-scheduler", "GpuOrderDiffers"): (
        "a container that is told ids sets CUDA_DEVICE_ORDER to another order than PCI_BUS_ID, and the node's agent does not "
        "keep it from other GPUs: on a node with two models it may use GPUs of other pods",
        "run [gpu-scheduler-webhook](../use/webhook.md), or take that entry out of the pod"),
    ("gpu-scheduler", "GpuUnhealthy"): ("a GPU that the pod has is reported Unhealthy: nobody else is given it, the pod keeps it; on the pod and the node",
                                        "delete the pod, so that it gets another GPU; repair the GPU, or drain the node"),
    ("gpu-scheduler", "GpuUuidTwice"): (
        "one UUID stands at two GPUs, which may be one: none of them is given any more; on the nodes, and on pods that have one",
        "delete the Node or the GpuNodeStatus that is wrong, or restart the agent of that node"),
    ("gpu-scheduler", "ClaimFieldIgnored"): ("a field of the claim does nothing as the claim is written",
                                             "do what the event says, or remove the field"),
    ("gpu-scheduler", "ClaimFieldOnlyPreferred"): (
        "`spec.topology.minBandwidthGBps` without `mode: Required`: slower GPUs are given where no such are free",
        "set `mode: Required`, to wait for them"),
    ("gpu-scheduler", "ClaimCountNotFollowed"): ("`spec.devices.count` was changed, and pods run with another number of GPUs",
                                                 "delete these pods and create them again"),
    ("gpu-scheduler", "ClaimDeletedInUse"): ("the claim was deleted while pods have GPUs by it",
                                             "create it again, if other pods name it"),
    ("gpu-scheduler", "InvalidQuota"): ("the ConfigMap of the quotas cannot be read as such",
                                        "mend the ConfigMap: [quotas](../use/extender.md#quotas-by-gpu-model)"),
    ("gpu-scheduler-agent", "GpuRefused"): (
        "a container was not made: it is not sure that it would have its pod's GPUs and no other pod's. The kubelet tries again",
        "what stands in the event; [enforcement](../use/agent.md#enforcement)"),
    ("gpu-scheduler-agent", "GpuMoved"): (
        "the device plugin gave a container a GPU that a lease of another pod holds, and it has a free one in its place",
        "nothing; pods with claims for all of them, or nodes of their own, keep the device plugin from picking"),
    ("gpu-scheduler-agent", "GpuMismatch"): (
        "a container has other GPUs than its pod was given, or one that a lease of another pod holds: it was made while nobody answered "
        "the container runtime. On the Node too, where its pod was given none",
        "delete the pod; with `--on-mismatch=evict` the agent has it evicted"),
    ("gpu-scheduler-agent", "GpuSetUnknown"): (
        "a pod that was given GPUs has limits of nvidia.com/gpu, on a node whose device plugin picks GPUs for these, and no agent "
        "with `--enforce=devices` sets that right",
        "run the agent with `--enforce=devices`, or take the limit out of the pod"),
    ("gpu-admission", "InvalidQuota"): ("the ConfigMap of the quotas cannot be read as such",
                                        "mend the ConfigMap: [quotas](../use/extender.md#quotas-by-gpu-model)"),
    ("gpu-admission", "LateForeignBinding"): (
        "another scheduler's Binding came after the pod's shares had been given up, and others hold them", "delete one of the pods"),
    ("gkm-operator", "Deleting"): ("a cache was deleted, and nodes still have it; once",
                                   "wait; where a node is gone for good, delete its Node"),
    ("gkm-operator", "Error"): ("a node could not extract the cache; again when the first node's cause changes, one a minute",
                                "the cause is named; it is tried again"),
    ("gkm-operator", "UnloadError"): ("a node could not remove an image of the cache; likewise", "the cause is named; it is tried again"),
    ("gkm-operator", "Outdated"): ("pods have an older image of the cache mounted; likewise", "restart these pods, to have the newer one"),
    ("gkm-agent", "Created"): ("the node's object was made", ""),
    ("gkm-agent", "CacheUsed"): ("a pod mounted a cache", ""),
    ("gkm-agent", "CacheRelease"): ("a pod has a cache no longer mounted", ""),
    ("gkm-agent", "Incompatible"): ("a pod mounted a cache that was compiled for none of the node's GPUs",
                                    "make the cache for these GPUs, or place the pod elsewhere"),
    ("gkm-agent", "Error"): ("a cache could not be fetched, or a file of it is damaged; when the cause is another one than before",
                             "the cause is named; it is tried again"),
}
