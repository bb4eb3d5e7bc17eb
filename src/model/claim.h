// A GpuClaim as a value: the spec after CRD defaults, plus what of it is invalid.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/ids.h"

namespace gs::model {

enum class Policy : std::uint8_t { Contiguous, Spread, PreferIds };
/// As claims write them (spec.devices.policy), by Policy.
inline constexpr std::array<std::string_view, 3> kPolicyNames{"contiguous", "spread", "preferIds"};
/// spec.devices.preferIds means something to it.
[[nodiscard]] constexpr bool readsIds(Policy policy) { return policy == Policy::PreferIds; }
enum class Exclusivity : std::uint8_t { Exclusive, Shared, Mig };
enum class TopologyMode : std::uint8_t { Ignore, Preferred, Required };

struct GpuClaim {
  ObjectKey key;
  Uid uid;
  Revision revision = 0;
  std::map<std::string, std::string> match_labels;
  std::int64_t count = 1;
  Policy policy = Policy::Contiguous;
  std::vector<int> prefer_ids;  // in the order given
  Exclusivity exclusivity = Exclusivity::Exclusive;
  /// Absent topology: like Preferred for scoring (contiguous still prefers one island),
  /// never a reason to refuse.
  std::optional<TopologyMode> topology;
  std::int64_t min_bandwidth_gbps = 0;
  std::string gang_ref;
  /// "" or one sentence naming field, value and fix: the claim is Failed and its pods wait.
  std::string invalid;
  friend bool operator==(const GpuClaim&, const GpuClaim&) = default;
  /// Equal but for the revision.
  [[nodiscard]] bool sameBut(GpuClaim other) const {
    other.revision = revision;
    return *this == other;
  }
};

}  // namespace gs::model
