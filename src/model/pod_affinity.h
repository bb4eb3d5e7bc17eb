// What a pod says of the pods that it wants near it, or not, as values (core/v1 PodAffinityTerm,
// TopologySpreadConstraint, ContainerPort.hostPort).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/label_selector.h"

namespace gs::model {

/// spec.affinity.podAffinity and podAntiAffinity. matchLabelKeys and mismatchLabelKeys are in `pods` already:
/// the API server merges them when the pod is created.
struct PodTerm {
  std::string topology_key;
  /// Of the pods that it means: these, and those that `namespace_selector` selects. Sorted, unique. Where the
  /// pod names none and selects none, its own.
  std::vector<std::string> namespaces;
  std::optional<LabelSelector> namespace_selector;  // with no requirement: every namespace
  std::optional<LabelSelector> pods;                // nullopt: it means nobody
  friend auto operator<=>(const PodTerm&, const PodTerm&) = default;
};
/// As anti-affinity of a pod that is on a node; nullopt: it means nobody.
[[nodiscard]] std::optional<AntiAffinityTerm> keptAwayBy(PodTerm term);

struct PreferredPodTerm {
  std::int32_t weight = 0;  // 1 to 100; of podAntiAffinity negative
  PodTerm term;
  friend auto operator<=>(const PreferredPodTerm&, const PreferredPodTerm&) = default;
};
struct PodAffinity {
  std::vector<PodTerm> near;                // required podAffinity
  std::vector<PodTerm> apart;               // required podAntiAffinity
  std::vector<PreferredPodTerm> preferred;  // sorted; what is said twice counts twice
  friend auto operator<=>(const PodAffinity&, const PodAffinity&) = default;
};
/// What a pod that is on a node would like of those that come: what it prefers itself, and the pods that it
/// had to be near (kube-scheduler's hardPodAffinityWeight, 1). Sorted.
[[nodiscard]] std::vector<PreferredPodTerm> likedWhenThere(const PodAffinity& affinity);

/// spec.topologySpreadConstraints[].
struct SpreadConstraint {
  std::string topology_key;
  std::int32_t max_skew = 1;
  bool is_required = true;                    // DoNotSchedule; else ScheduleAnyway
  std::optional<std::int32_t> min_domains;    // DoNotSchedule only
  bool honors_affinity = true;                // nodeAffinityPolicy
  bool honors_taints = false;                 // nodeTaintsPolicy
  std::optional<LabelSelector> pods;          // of its own namespace; nullopt: nobody
  std::vector<std::string> match_label_keys;  // that the API server did not merge into `pods`
  friend auto operator<=>(const SpreadConstraint&, const SpreadConstraint&) = default;
};

inline constexpr const char* kEveryIp = "0.0.0.0";

/// A port of its node that a container takes.
struct HostPort {
  std::int32_t port = 0;
  std::string protocol;  // TCP, UDP, SCTP
  std::string ip;        // kEveryIp: all of the node's
  friend auto operator<=>(const HostPort&, const HostPort&) = default;
};

}  // namespace gs::model
