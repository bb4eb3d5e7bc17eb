// What a pod asks for, after its front door has read it: everything that decides where it may run, and
// nothing else. Two pods with equal requests get equal verdicts, so they share their work
// (sched/placement/decider.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/claim.h"
#include "model/lease.h"
#include "model/pod.h"
#include "model/resources.h"
#include "sched/request/near_rules.h"
#include "sched/request/selection.h"
#include "sched/request/volume_selection.h"

namespace gs::sched {

struct Door;  // sched/doors/door.h

/// Who hands devices to containers on a node (R4).
enum class Enforcer : std::uint8_t { Agent, Kubelet, GpuManager, Hami, Gpushare };
[[nodiscard]] const char* enforcerName(Enforcer e);
using Enforcers = std::uint8_t;  // bits
[[nodiscard]] constexpr Enforcers bitOf(Enforcer e) {
  return static_cast<Enforcers>(1U << static_cast<unsigned>(e));
}
/// Those who give what this scheduler writes on a pod.
inline constexpr Enforcers kOurEnforcers = bitOf(Enforcer::Agent) | bitOf(Enforcer::Kubelet);

struct DeviceRequest {
  std::int64_t count = 1;
  model::Policy policy = model::Policy::Contiguous;
  std::vector<int> prefer_ids;  // the most wanted first; none where the policy reads none
  /// These and no others, ascending, `count` of them; empty: any. On a node without a GpuNodeStatus they are
  /// taken as given.
  std::vector<int> exact;
  /// Exclusive takes whole devices; Shared without amounts takes 0 milli and excludes Exclusive holders.
  bool shared = false;
  std::size_t max_sharers = model::kMaxSharers;  // of one device; Shared only
  std::optional<model::TopologyMode> topology;   // see model::GpuClaim
  std::int64_t min_bandwidth_gbps = 0;
  /// It says which, and how many; nothing above counts then but `count`, which is the most that it takes.
  std::shared_ptr<const DeviceSelection> selection{};
  friend auto operator<=>(const DeviceRequest&, const DeviceRequest&) = default;
};

/// What a container asks for: whole devices, or a share of one, or (all zero) nothing.
struct ContainerShare {
  std::int64_t whole = 0;
  std::int64_t milli = 0;
  std::int64_t mib = 0;
  friend auto operator<=>(const ContainerShare&, const ContainerShare&) = default;
};

/// And the devices that it gets, in the order in which they were chosen.
struct SharePick {
  ContainerShare asked;
  std::vector<int> ids;
  friend bool operator==(const SharePick&, const SharePick&) = default;
};
using SharePicks = std::vector<SharePick>;  // by container

/// Nodes that the quota of the pod's namespace leaves to it now (sched/ledger/quota.h). Sorted.
struct QuotaTerms {
  std::string model_label;
  std::vector<std::string> models;
  std::string pool_label;
  std::vector<std::string> pools;  // empty: any
  friend bool operator==(const QuotaTerms&, const QuotaTerms&) = default;
};

/// The quota that binds a pod. Pods of one namespace that count equally are bound alike; `terms` follow what
/// is used, so they are no part of what makes two requests equal (Decider::followQuotas keeps them).
struct QuotaBound {
  std::string ns;
  std::int64_t milli = 0;  // that the pod counts
  QuotaTerms terms;
  friend bool operator==(const QuotaBound& a, const QuotaBound& b) {
    return a.ns == b.ns && a.milli == b.milli;
  }
};

struct PodRequest {
  const Door* door = nullptr;  // at which it asks; nullptr: for no GPU
  /// A node without a GpuNodeStatus counts nvidia.com/gpu only, which is not enough for every door.
  std::optional<DeviceRequest> devices;
  // Of those who ask for shares.
  std::vector<ContainerShare> shares;  // by container
  bool only_certain = true;            // see sched/ledger/shares.h
  std::string gang{};                  // the namespace and name of the gang that the pod is placed with
  std::string on_node{};               // the node that maps mean by that name (Ledger::named()); "": any
  bool theirs = false;                 // another scheduler places it, and asks us
  bool mapped = false;                 // its limits are mapped to a ResourceClaim, which nothing undoes
  /// Devices that a ResourceClaim for its limits would name, where these are more than one may; else 0.
  std::int64_t too_many_results = 0;
  std::optional<QuotaBound> quota;  // when the pod's namespace has one and the pod asks for GPUs
  model::Resources resources;
  std::map<std::string, std::string> node_selector;  // the pod's
  model::NodeAffinity node_affinity{};               // the pod's
  std::vector<model::HostPort> host_ports{};         // sorted, unique
  std::vector<std::string> node_features{};          // that the node must declare; sorted, unique
  std::map<std::string, std::string> match_labels;   // the claim's selector
  std::vector<model::Toleration> tolerations;        // sorted, unique
  std::vector<model::TermId> kept_away_by;           // terms of bound pods that mean this one; sorted
  NearAsked near{};                                  // what it says of other pods itself
  std::shared_ptr<const VolumeSelection> volumes{};  // of a pod that mounts some
  std::vector<model::NodeName> not_on;               // where it was tried in vain a moment ago; sorted, few
  std::vector<model::NodeName> kept_off;             // whose room is kept for others (nominated); sorted
  std::vector<model::ObjectKey> better_with;         // see BonusOf; sorted, few
  friend bool operator==(const PodRequest&, const PodRequest&) = default;
};

/// What a node is better for that has nothing to do with GPUs, as a number: it counts as having so many free
/// GPUs fewer when equally good nodes are told apart by how full they are. `better_with`: what a pod would
/// like to find there; what that is only whoever gives this function knows. 0: nothing of it is there.
/// A function of its arguments and of a state of which Decider::bonusChanged() is told where it changed.
using BonusOf = std::function<std::int32_t(const std::vector<model::ObjectKey>& better_with,
                                           const model::NodeName& node)>;

/// Of all that makes two requests differ: one user's many that were alike to it would be compared one by one.
[[nodiscard]] std::size_t hashOf(const PodRequest& request);

}  // namespace gs::sched
