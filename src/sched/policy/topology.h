// How up to 64 devices hang together: their islands and the bandwidth of every pair (R5). An
// immutable value; nodes of the same make share one (TopologyPool), so a cluster of equal nodes keeps it
// once. Devices are bits: bit i is the i-th device by ascending id. A device that names no island is in the
// island "".
#pragma once

#include <bit>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "model/node.h"

namespace gs::sched {

/// A set of devices of one Topology.
using Mask = std::uint64_t;
inline constexpr int kMaxDevices = 64;

[[nodiscard]] inline int countOf(Mask m) { return std::popcount(m); }
[[nodiscard]] inline Mask bit(int i) { return Mask{1} << i; }
[[nodiscard]] inline int lowestOf(Mask m) { return std::countr_zero(m); }
[[nodiscard]] inline std::vector<int> ascending(Mask m) {
  std::vector<int> out;
  for (; m != 0; m &= m - 1) { out.push_back(lowestOf(m)); }
  return out;
}
/// The n lowest bits of m; m when it has no more.
[[nodiscard]] inline Mask lowest(Mask m, int n) {
  Mask out = 0;
  for (; n > 0 && m != 0; --n, m &= m - 1) { out |= m & -m; }
  return out;
}
/// The tie rule: of two sets of equal size, does `a` come first when their ascending ids are compared?
[[nodiscard]] inline bool idsBefore(Mask a, Mask b) { return (a & (a ^ b) & -(a ^ b)) != 0; }

/// How well a set is connected: by its worst pair, then by the sum over all pairs. No pair: both 0.
struct Connection {
  std::int64_t worst = 0;
  std::int64_t sum = 0;
  friend auto operator<=>(const Connection&, const Connection&) = default;
};

/// GB/s between two devices of one node: what the links of either say (the smaller if both do, 0 if neither),
/// or where neither has links the island's bandwidth, 0 across islands.
[[nodiscard]] std::int64_t pairGbps(const model::Device& a, const model::Device& b);

class Topology {
 public:
  /// At most kMaxDevices, ascending by id or descending: of equally good sets the first in this order wins.
  using Devices = std::vector<const model::Device*>;

  explicit Topology(const Devices& devices);

  [[nodiscard]] int size() const { return static_cast<int>(ids_.size()); }
  [[nodiscard]] int id(int i) const { return ids_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] std::vector<int> ids(Mask set) const;  // ascending
  /// The bit of a device, -1 when it is not one of these.
  [[nodiscard]] int find(int id) const;
  [[nodiscard]] Mask all() const { return size() == kMaxDevices ? ~Mask{0} : bit(size()) - 1; }

  /// Disjoint, ordered by their lowest bit.
  [[nodiscard]] const std::vector<Mask>& islands() const { return islands_; }
  [[nodiscard]] Mask islandOf(int i) const { return islands_[island_of_[static_cast<std::size_t>(i)]]; }
  [[nodiscard]] bool inOneIsland(Mask set) const { return set == 0 || (set & ~islandOf(lowestOf(set))) == 0; }
  /// Bits whose predecessor has the id next to theirs and is in the same island: a run of them, and the bit
  /// before, is consecutive.
  [[nodiscard]] Mask joined() const { return joined_; }

  [[nodiscard]] std::int64_t gbps(int a, int b) const {
    return gbps_[static_cast<std::size_t>(a) * ids_.size() + static_cast<std::size_t>(b)];
  }
  [[nodiscard]] Connection connectionOf(Mask set) const;
  /// Known to have the same bandwidth for each of its pairs (so any subset is as good as another of its
  /// size).
  [[nodiscard]] bool isEven(Mask set) const;

  /// The same devices with nothing known of them: one island, no bandwidth.
  [[nodiscard]] Topology flat() const;

  /// Everything that decides is in here: equal keys, equal topologies.
  [[nodiscard]] const std::vector<std::int32_t>& key() const { return key_; }
  /// Never two different topologies of one pool; 0 outside a pool.
  [[nodiscard]] std::uint64_t serial() const { return serial_; }

 private:
  friend class TopologyPool;
  Topology() = default;
  void readPairs(const Devices& devices);
  void finish();

  std::vector<int> ids_;
  std::vector<std::uint8_t> island_of_;
  std::vector<Mask> islands_;
  std::vector<bool> even_;  // per island
  std::vector<std::int32_t> gbps_;
  Mask joined_ = 0;
  std::vector<std::int32_t> key_;
  std::uint64_t serial_ = 0;
};

using TopologyPtr = std::shared_ptr<const Topology>;

/// Hands out one Topology for equal devices. Forgets those that nobody uses. One thread.
class TopologyPool {
 public:
  TopologyPtr share(const Topology::Devices& devices);

 private:
  std::map<std::vector<std::int32_t>, std::weak_ptr<const Topology>> known_;
  std::size_t sweep_at_ = 64;
  std::uint64_t next_serial_ = 1;
};

}  // namespace gs::sched
