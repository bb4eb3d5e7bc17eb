// What a pod asks for, after its front door has read it: everything that decides where it may run, and
// nothing else. Two pods with equal requests get equal verdicts, so they share their work (sched/decider.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/claim.h"
#include "model/lease.h"
#include "model/pod.h"
#include "model/resources.h"

namespace gs::sched {

enum class Door : std::uint8_t { None, Claim, Plain };  // Map and Vcuda come with their doors

/// Who hands devices to containers on a node (design 1).
enum class Enforcer : std::uint8_t { Agent, Kubelet, GpuManager, Hami, Gpushare };
[[nodiscard]] const char* enforcerName(Enforcer e);

struct DeviceRequest {
  std::int64_t count = 1;
  model::Policy policy = model::Policy::Contiguous;
  std::vector<int> prefer_ids;
  /// Exclusive takes whole devices; Shared without amounts takes 0 milli and excludes Exclusive holders.
  bool shared = false;
  std::size_t max_sharers = model::kMaxSharers;  // of one device; Shared only
  std::optional<model::TopologyMode> topology;   // see model::GpuClaim
  std::int64_t min_bandwidth_gbps = 0;
  friend auto operator<=>(const DeviceRequest&, const DeviceRequest&) = default;
};

struct PodRequest {
  Door door = Door::None;
  /// Claim: always. Plain: the count of nvidia.com/gpu; a node without a GpuNodeStatus then counts the
  /// resource only.
  std::optional<DeviceRequest> devices;
  model::Resources resources;
  std::map<std::string, std::string> node_selector;  // the pod's
  std::map<std::string, std::string> match_labels;   // the claim's selector
  std::vector<model::Toleration> tolerations;        // sorted, unique
  std::vector<model::TermId> kept_away_by;           // terms of bound pods that mean this one; sorted
  friend bool operator==(const PodRequest&, const PodRequest&) = default;
};

}  // namespace gs::sched
