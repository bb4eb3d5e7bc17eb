// What the API server requires of the content of each built-in kind, beyond its types and its metadata; and
// what it adds to new objects of a kind. With kube-apiserver's words.
#pragma once

#include <string>
#include <vector>

#include "apiserver/meta/answer.h"
#include "apiserver/registry/resources.h"
#include "base/clock.h"
#include "json/value.h"

namespace gs::apiserver {

/// `old` null: a new object. Events come in the form of the resource that they are written by.
[[nodiscard]] FieldErrors checkKind(const Resource& resource, const json::Value& object,
                                    const json::Value& old);
/// What is looked at before all else: where it is wrong, nothing more is said.
[[nodiscard]] FieldErrors checkFirst(const Resource& resource, const json::Value& object);
/// The defaults of a built-in kind: for new objects and for what a write makes of old ones,
/// before it is decoded.
void defaultKind(const Resource& resource, json::Value& object);
/// What the server itself counts in an object that becomes another one.
void keepKind(const Resource& resource, const json::Value& old, json::Value& next);
/// What a write of its status leaves as it was in spite of what it says, or takes along.
void keepStatus(const Resource& resource, const json::Value& old, json::Value& next);
/// What a new object begins with beside its defaults: its first status.
void beginKind(const Resource& resource, json::Value& object, Now now);

// Pods (pod_checks.cc and the parts of pod_parts.h, pod_update_checks.cc, pod_defaults.cc).
[[nodiscard]] FieldErrors checkPod(const json::Value& pod);
/// The template of a pod, whose spec is `field` ("spec.template.spec").
[[nodiscard]] FieldErrors checkPodSpec(const json::Value& spec, const std::string& field);
/// The spec of a pod, new or not.
[[nodiscard]] FieldErrors checkPodContent(const json::Value& pod);
/// Annotations that the API server itself reads, of a pod or a template; they are `field`.
[[nodiscard]] FieldErrors checkPodNotes(const json::Value& pod, const std::string& field);
/// Those of a pod that an update makes of `old`.
[[nodiscard]] FieldErrors checkChangedPodNotes(const json::Value& pod, const json::Value& old);
[[nodiscard]] FieldErrors checkPodUpdate(const json::Value& pod, const json::Value& old);
/// The claims that its status names (pod_claim_checks.cc).
[[nodiscard]] FieldErrors checkPodClaimStatus(const json::Value& pod);
/// They are replaced, and not lost where a client knows nothing of them.
void keepPodClaimStatus(const json::Value& old, json::Value& next);
void defaultPod(json::Value& pod);
/// What templates get too.
void defaultPodSpec(json::Value& spec);
void beginPod(json::Value& pod, Now now);
/// Guaranteed, Burstable or BestEffort.
[[nodiscard]] const char* qosClass(const json::Value& pod);

// What has a pod template: Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs; and ControllerRevisions
// and Scales (workload_checks.cc, job_checks.cc, workload_defaults.cc).
[[nodiscard]] FieldErrors checkWorkload(const Resource& resource, const json::Value& object,
                                        const json::Value& old);
[[nodiscard]] FieldErrors checkJob(const json::Value& job, const json::Value& old);
[[nodiscard]] FieldErrors checkRevision(const json::Value& revision, const json::Value& old);
[[nodiscard]] FieldErrors checkScale(const json::Value& scale);
void defaultWorkload(const Resource& resource, json::Value& object);
void beginWorkload(const Resource& resource, json::Value& object);
/// A DaemonSet's template has a number, which goes up as it changes.
void keepWorkload(const Resource& resource, const json::Value& old, json::Value& next);
/// What users are warned of in a new one.
[[nodiscard]] std::vector<std::string> workloadWarnings(const Resource& resource, const json::Value& object);

// MutatingWebhookConfigurations and ValidatingWebhookConfigurations (webhook_checks.cc).
[[nodiscard]] FieldErrors checkWebhooks(const json::Value& configuration);
/// One rule of a webhook or a policy: operations, groups, versions, resources.
void checkAdmissionRule(const json::Value& rule, const std::string& at, FieldErrors& errors);
void defaultWebhooks(const Resource& resource, json::Value& configuration);
/// What is new in it and not followed by admission (apiserver/webhooks/hooks.h). `old` null: all is.
[[nodiscard]] std::vector<std::string> webhookWarnings(const json::Value& configuration,
                                                       const json::Value& old);

// ValidatingAdmissionPolicies and their bindings (policy_checks.cc), NetworkPolicies (network_checks.cc),
// Nodes (node_checks.cc).
[[nodiscard]] FieldErrors checkAdmissionPolicy(const Resource& resource, const json::Value& object);
void defaultAdmissionPolicy(const Resource& resource, json::Value& object);
[[nodiscard]] std::vector<std::string> policyWarnings(const Resource& resource, const json::Value& object);
[[nodiscard]] FieldErrors checkNetworkPolicy(const json::Value& policy);
void defaultNetworkPolicy(json::Value& policy);
[[nodiscard]] FieldErrors checkNode(const json::Value& node, const json::Value& old);
void defaultNode(json::Value& node);
/// Amounts are kept in thousandths, rounded up.
void defaultAmounts(json::Value& owner, const char* part);

// PodDisruptionBudgets and PriorityClasses (budget_checks.cc), Roles, ClusterRoles and their bindings
// (rbac_checks.cc).
[[nodiscard]] FieldErrors checkBudget(const json::Value& budget);
[[nodiscard]] FieldErrors checkPriorityClass(const json::Value& priority_class, const json::Value& old);
void defaultPriorityClass(json::Value& priority_class);
[[nodiscard]] FieldErrors checkRole(const Resource& resource, const json::Value& role);
[[nodiscard]] FieldErrors checkRoleBinding(const Resource& resource, const json::Value& binding,
                                           const json::Value& old);
void defaultRole(json::Value& role);
void defaultRoleBinding(json::Value& binding);

// ConfigMaps and Secrets (secret_checks.cc), Services (service_checks.cc), EndpointSlices
// (endpoint_checks.cc).
[[nodiscard]] FieldErrors checkConfigMap(const json::Value& map, const json::Value& old);
[[nodiscard]] FieldErrors checkSecret(const json::Value& secret, const json::Value& old);
[[nodiscard]] FieldErrors checkService(const json::Value& service);
/// Its clusterIPs and their families, which a real server looks at as it gives them.
[[nodiscard]] FieldErrors checkServiceAddresses(const json::Value& service);
[[nodiscard]] FieldErrors checkEndpoints(const json::Value& slice, const json::Value& old);
void defaultSecret(json::Value& secret);
void defaultService(json::Value& service);
void defaultEndpoints(json::Value& slice);
void beginService(json::Value& service);
void keepService(const json::Value& old, json::Value& next);
void beginEndpoints(json::Value& slice);

// PersistentVolumes (storage_checks.cc) and PersistentVolumeClaims (claim_checks.cc).
[[nodiscard]] FieldErrors checkPersistentVolume(const json::Value& volume, const json::Value& old);
[[nodiscard]] FieldErrors checkPersistentVolumeClaim(const json::Value& claim, const json::Value& old);
void defaultPersistentVolume(json::Value& volume);
void defaultPersistentVolumeClaim(json::Value& claim);
/// Their first status, and the finalizer that keeps them while they are in use.
void beginStorage(const Resource& resource, json::Value& object, Now now);
void keepStorage(const Resource& resource, const json::Value& old, json::Value& next);

// Kinds of storage.k8s.io (storage_group.cc).
[[nodiscard]] FieldErrors checkStorageGroup(const Resource& resource, const json::Value& object,
                                            const json::Value& old);
void defaultStorageGroup(const Resource& resource, json::Value& object);
void beginStorageGroup(const Resource& resource, json::Value& object);
void keepStorageGroup(const Resource& resource, const json::Value& old, json::Value& next);

// Kinds of resource.k8s.io (device_kinds.cc).
[[nodiscard]] FieldErrors checkDeviceKind(const Resource& resource, const json::Value& object,
                                          const json::Value& old);
void defaultDeviceKind(const Resource& resource, json::Value& object);
void beginDeviceKind(const Resource& resource, json::Value& object);
void keepDeviceKind(const Resource& resource, json::Value& next);
/// A taint of a device that says no time is as old as the write.
void defaultTaintTimes(const Resource& resource, json::Value& object, Now now);
/// The taint of a rule that gets another effect is as old as the write.
void keepTaintTime(const Resource& resource, const json::Value& old, json::Value& next, Now now);
/// What drivers said of devices that are no longer allocated goes.
void keepClaimStatus(const json::Value& old, json::Value& next);
[[nodiscard]] std::vector<std::string> deviceWarnings(const Resource& resource, const json::Value& object);

// Custom resource definitions (crd_checks.cc).
[[nodiscard]] FieldErrors checkCrd(const json::Value& crd, const json::Value& old);
void defaultCrd(json::Value& crd);
void beginCrd(json::Value& crd);
/// The status once the names are accepted and it is served.
[[nodiscard]] json::Value establishedStatus(const json::Value& crd, Now now);

}  // namespace gs::apiserver
