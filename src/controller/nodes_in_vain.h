// Nodes that a pod was tried on in vain, lately: it is tried on others first. A node is left out while any
// other may do, and for a while in any case: longer each time, and the longer the more of them there are, so
// that each has its turn. One thread.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "model/ids.h"

namespace gs::controller {

class NodesInVain {
 public:
  /// It was tried there. `refused`: the API server did not take a write, and the pod is told why. Returns
  /// until when the node is left out; nullopt: too many are already.
  std::optional<Mono> tried(const model::Uid& uid, const model::NodeName& node, bool refused, Mono now);
  /// Nothing else fits: it is tried there again, as the time of each is over. True: that is news, and the
  /// time of some may be over already.
  [[nodiscard]] bool nowhereElse(const model::Uid& uid);
  /// The nodes to leave out now. `all`: whether or not their time is over.
  [[nodiscard]] std::vector<model::NodeName> leftOut(const model::Uid& uid, bool all, Mono now) const;
  [[nodiscard]] bool contains(const model::Uid& uid) const { return pods_.contains(uid); }
  /// The last time the API server refused it.
  [[nodiscard]] bool refused(const model::Uid& uid) const;
  void forget(const model::Uid& uid) { pods_.erase(uid); }
  [[nodiscard]] std::size_t size() const { return pods_.size(); }
  void reset() { pods_.clear(); }

 private:
  struct Tries {
    int number = 0;
    Mono until{};
  };
  struct OfPod {
    std::map<model::NodeName, Tries> nodes;
    bool nowhere_else = false;
    bool refused = false;
  };
  std::map<model::Uid, OfPod> pods_;
};

}  // namespace gs::controller
