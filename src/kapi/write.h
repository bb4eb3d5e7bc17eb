// Builders of the writes and reads that our components make. Each returns a complete Call; the caller sets
// token, ordering key and timeout. Bodies carry their preconditions (uid, resourceVersion),
// so nobody can forget one.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kapi/call.h"
#include "model/crd.h"
#include "model/lease.h"
#include "model/pod.h"

namespace gs::kapi {

[[nodiscard]] Call getObject(Kind kind, model::ObjectKey key);
/// `limit` 0: none. See Selectors.
[[nodiscard]] Call listObjects(Kind kind, std::string ns, int limit, const std::string& continue_token = {},
                               const Selectors& selectors = {});

/// POST pods/p/binding with metadata.uid, metadata.resourceVersion and the annotations (R8 and R29).
[[nodiscard]] Call bindPod(const model::Pod& pod, const model::NodeName& node,
                           const std::map<std::string, std::string>& annotations);
/// PATCH pods/p/status (merge) with the uid, setting gpu.scheduling/fence.
[[nodiscard]] Call fencePod(const model::ObjectKey& key, const model::Uid& uid, const std::string& value);
/// PATCH pods/p/status (merge) with the uid and the resourceVersion of `pod`: sets some annotations and
/// removes others.
[[nodiscard]] Call annotatePod(const model::Pod& pod, const std::map<std::string, std::string>& set,
                               const std::vector<std::string>& remove);
/// annotatePod() that changes gpu.scheduling/wake: kube-scheduler looks at the pod again.
[[nodiscard]] Call wakePod(const model::Pod& pod, const std::string& value);
/// PATCH pods/p/status (strategic) with the uid: condition PodScheduled=False.
[[nodiscard]] Call setUnschedulable(const model::Pod& pod, const std::string& reason,
                                    const std::string& message, Wall now);
/// PATCH pods/p/status (merge) with the uid and the resourceVersion of `pod`: status.nominatedNodeName, the
/// node on which others go for it; "": none any more.
[[nodiscard]] Call nominatePod(const model::Pod& pod, const model::NodeName& node);
/// PATCH pods/p/status (strategic) with the uid: condition DisruptionTarget=True, as kube-scheduler writes it
/// before it deletes a pod for one of higher priority. `scheduler`: of the pod that comes.
[[nodiscard]] Call markPreempted(const model::Pod& victim, const std::string& scheduler, Wall now);
/// DELETE with the uid, and the pod's own grace.
[[nodiscard]] Call deletePod(const model::ObjectKey& key, const model::Uid& uid);

/// A new lease of format 1; `lease.key`, annotations and holder as in the value.
/// Create carries no preconditions.
[[nodiscard]] Call createLease(const model::Lease& lease);
/// PUT with uid and resourceVersion of `lease`.
[[nodiscard]] Call updateLease(const model::Lease& lease);
/// These leave a shared lease that was not read in full (`lease.as_written`), and all else in it stays as it
/// was written. PUT with its uid and resourceVersion; DELETE when nobody is left in it.
[[nodiscard]] Call leaveLease(const model::Lease& lease, const std::set<model::Uid>& who);
/// DELETE with preconditions uid and resourceVersion.
[[nodiscard]] Call deleteLease(const model::ObjectKey& key, const model::Uid& uid, model::Revision revision);

struct ClaimAllocation {
  std::string pod;
  model::Uid uid;
  model::NodeName node;
  std::vector<int> ids;
  Wall bound_at{};
  friend bool operator==(const ClaimAllocation&, const ClaimAllocation&) = default;
};
/// As many pods are listed by name: an object has a limit.
inline constexpr std::size_t kMaxAllocations = 256;
/// What a claim's status says; fields as in the CRD. Empty members are left out (server-side apply then
/// clears them).
struct ClaimStatus {
  std::string phase;  // Pending, Reserved, Bound, Failed
  std::string message;
  std::vector<ClaimAllocation> allocations;  // the first kMaxAllocations by (bound_at, uid), in this order
  std::size_t total = 0;                     // of all
  friend bool operator==(const ClaimStatus&, const ClaimStatus&) = default;
};
/// The text of status.allocated: up to 8 joined by "; ", then " (+N more)" of `total`.
[[nodiscard]] std::string allocatedText(const std::vector<ClaimAllocation>& sorted, std::size_t total);
/// Server-side apply of gpuclaims/status, field manager gpu-scheduler, force.
/// `uid` and `revision` (0: none) keep a write that lands late from putting an older status over a newer one.
[[nodiscard]] Call applyClaimStatus(const model::ObjectKey& claim, const model::Uid& uid,
                                    model::Revision revision, const ClaimStatus& status);

/// Create (POST) or Update (PUT with uid and resourceVersion) of a leader election record: spec
/// holderIdentity, leaseDurationSeconds, acquireTime, renewTime, leaseTransitions from `lease`; its address
/// as an annotation. No managed label.
[[nodiscard]] Call writeElection(const model::Lease& lease, bool create);

/// PATCH (merge) of the CRD with its resourceVersion: the record of the lease namespace, of whose it is, and
/// of the term that it was written in, so that it always changes.
[[nodiscard]] Call recordLeaseNamespace(const model::Crd& crd, const std::string& ns,
                                        const std::string& scheduler, const std::string& term);

}  // namespace gs::kapi
