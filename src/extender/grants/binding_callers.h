// Who waits for a Binding of a pod, or for the read before it: one at a time for a pod. A Binding that met a
// conflict is tried again after a while; until then its caller waits here,
// and the pod's next caller need not.
// Who is taken is no more here, and is answered by who took it. One thread.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "extender/protocol/caller.h"

namespace gs::extender {

class BindingCallers {
 public:
  /// A call for this pod is under way.
  [[nodiscard]] bool underWay(const model::Uid& pod) const { return under_way_.contains(pod); }
  /// The call was sent. Not underWay() before.
  void await(const model::Uid& pod, Caller caller) { under_way_.emplace(pod, std::move(caller)); }
  /// Its call has been answered. nullopt: nobody waits for it.
  [[nodiscard]] std::optional<Caller> take(const model::Uid& pod) {
    auto node = under_way_.extract(pod);
    return node.empty() ? std::nullopt : std::optional{std::move(node.mapped())};
  }
  void tryLater(Mono at, Caller caller) { later_.emplace(at, std::move(caller)); }
  /// One that is due; nullopt: none is. Of equal times who came first.
  [[nodiscard]] std::optional<Caller> takeDue(Mono now) {
    if (later_.empty() || later_.begin()->first > now) { return std::nullopt; }
    return std::move(later_.extract(later_.begin()).mapped());
  }
  /// Mono::max(): nothing is to be tried again.
  [[nodiscard]] Mono nextDue() const { return later_.empty() ? Mono::max() : later_.begin()->first; }
  [[nodiscard]] std::vector<Caller> takeAll() {
    std::vector<Caller> out;
    for (auto& [pod, caller] : std::exchange(under_way_, {})) { out.push_back(std::move(caller)); }
    for (auto& [at, caller] : std::exchange(later_, {})) { out.push_back(std::move(caller)); }
    return out;
  }

 private:
  std::map<model::Uid, Caller> under_way_;
  std::multimap<Mono, Caller> later_;
};

}  // namespace gs::extender
