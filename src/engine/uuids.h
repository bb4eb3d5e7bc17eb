// Which UUIDs stand more than once: at two GPUs of one node, or at those of two nodes? (R79)
//
// Problem: a device is its UUID (R2). Where one stands at two, both may be the same GPU: a status that was
// copied, a machine that is known by two Nodes, a card that was moved and is listed at both ends. Two pods
// that are given both would have one GPU. Nobody knows which of the places is right, so none of them is given
// (sched::DeviceState::twice) until one goes. Nodes count while their object is there.
// Cost: what changed, and a look at each node that this concerns. It keeps a few words for each device.
// One thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "model/ids.h"
#include "model/node.h"
#include "sched/ledger/ledger.h"

namespace gs::engine {

class Uuids {
 public:
  using Place = std::pair<model::NodeName, int>;
  using Places = std::set<Place>;

  explicit Uuids(sched::Ledger& ledger) : ledger_{ledger} {}

  /// A node whose object is there listed these GPUs, and lists those now. nullptr: none. The Ledger lists the
  /// latter already, and still while these are none.
  void changed(const model::NodeName& node, const model::GpuNodeStatus* before,
               const model::GpuNodeStatus* after);
  /// Those that stand more than once.
  [[nodiscard]] const std::map<std::string, Places>& twice() const { return twice_; }
  /// UUIDs of which twice() has changed since the last call.
  [[nodiscard]] std::set<std::string> takeChanged() { return std::exchange(changed_, {}); }

 private:
  using Touched = std::set<model::NodeName>;
  void add(const model::NodeName& node, const model::Device& device, Touched& touched);
  void remove(const model::NodeName& node, const model::Device& device, Touched& touched);
  void mark(const std::string& uuid, const Place& place, Touched& touched);
  void unmark(const std::string& uuid, const Place& place, Touched& touched);

  sched::Ledger& ledger_;
  /// Where those that stand once do, by their hash; the Ledger has the UUID itself.
  std::unordered_multimap<std::uint64_t, std::pair<sched::Ledger::NodeIndex, std::int32_t>> once_;
  std::map<std::string, Places> twice_;
  std::map<model::NodeName, std::set<int>> marked_;  // the same by node
  std::set<std::string> changed_;
};

}  // namespace gs::engine
