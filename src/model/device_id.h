// DeviceId: which device of a node: a GPU by its id, or a partition of it (MIG). Printed and read as `3` and
// `3/1` (R8). Ordered by GPU, then a whole GPU before its partitions, then by partition. Pure.
#pragma once

#include <compare>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gs::model {

struct DeviceId {
  static constexpr int kWhole = -1;
  static constexpr int kMostGpu = 1023;       // ids are 0 .. 1023
  static constexpr int kMostPartition = 127;  // and partitions 0 .. 127

  int gpu = 0;
  int partition = kWhole;

  [[nodiscard]] constexpr bool isWhole() const { return partition == kWhole; }
  /// The GPU that it is, or is a partition of.
  [[nodiscard]] constexpr DeviceId parent() const { return {gpu, kWhole}; }
  friend constexpr auto operator<=>(const DeviceId&, const DeviceId&) = default;
};

/// "3" or "3/1". Error Invalid: names the value and the grammar.
[[nodiscard]] Result<DeviceId> parseDeviceId(std::string_view text);
[[nodiscard]] std::string print(DeviceId id);

}  // namespace gs::model

template <>
struct std::hash<gs::model::DeviceId> {
  std::size_t operator()(gs::model::DeviceId id) const noexcept {
    return std::hash<int>{}(id.gpu * 129 + id.partition + 1);
  }
};
