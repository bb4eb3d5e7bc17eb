// Remembers device choices: chooseWhole() is a function of topology, free devices and request, and nodes of
// one make with the same devices free are common. Bounded: starts over when it is full. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>

#include "sched/placement/placement.h"

namespace gs::sched {

class ChoiceMemo {
 public:
  using ShapeId = std::uint32_t;
  static constexpr std::size_t kMost = 1U << 16;

  /// Counts the users of a request; leave() once for each join().
  ShapeId join(const DeviceRequest& request);
  void leave(const DeviceRequest& request);

  /// As chooseWhole(). Topologies outside a pool (serial 0) are not remembered.
  std::optional<Choice> choose(ShapeId shape, const DeviceRequest& request, const Topology& t, Mask free,
                               Meter* meter = nullptr);

 private:
  struct Shape {
    ShapeId id = 0;
    std::size_t users = 0;
  };
  struct Key {
    std::uint64_t topology = 0;
    Mask free = 0;
    ShapeId shape = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    std::size_t operator()(const Key& k) const noexcept {
      std::uint64_t h = (k.free ^ (k.topology << 32 | k.shape)) * 0x9e3779b97f4a7c15ULL;
      h ^= h >> 29;
      return h * 0xbf58476d1ce4e5b9ULL;
    }
  };

  std::map<DeviceRequest, Shape> shapes_;
  ShapeId next_ = 0;
  std::unordered_map<Key, std::optional<Choice>, Hash> known_;
};

}  // namespace gs::sched
