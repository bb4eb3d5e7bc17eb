// Nudges: pods whose devices a DRA driver could not prepare are tried again soon.
//
// A kubelet that could not have a pod's devices prepared tries again by itself only after 60 to 90 s, though
// the cause is often gone at once: the API server's Node authorizer did not know yet that the pod's claim is
// that node's, say, or the driver was being started. Any change of the pod has the kubelet try at once. So a
// bound pod of ours that waits there (Pod::awaits_devices) gets an annotation by PATCH: a second after it was
// seen to wait, then later each time, and kMost times; then the kubelet is left to itself.
// A driver that is away for longer than half a minute has its ResourceSlices taken by the kubelet, and
// publishes them when it is back: from then on it is as if the pod had just begun to wait.
// At most kAtOnce such writes are under way. A part of the scheduler's; one thread.
#pragma once

#include <cstddef>
#include <map>
#include <set>

#include "controller/keyed_calls.h"
#include "scheduler/core/context.h"

namespace gs::scheduler {

class Nudges : public controller::Part {
 public:
  static constexpr int kMost = 8;
  static constexpr std::size_t kAtOnce = 16;

  explicit Nudges(Context& context)
      : c_{context}, calls_{c_.parts.add(*this), {std::chrono::seconds{1}, std::chrono::seconds{30}}} {}

  /// A bound pod of ours.
  void see(const model::Pod& pod);
  /// Something may have changed about the GPUs of these nodes: pods whose driver went, or is back, are
  /// reconciled.
  void look(const std::set<model::NodeName>& nodes);
  void podEnded(const model::Uid& uid) override { forget(uid); }

  void handle(const kapi::Outcome& outcome, Now now, kapi::Effects& out) override;
  void tick(Now now, kapi::Effects& out) override;
  [[nodiscard]] std::optional<Mono> nextDue() const override { return calls_.nextDue(); }
  void reset() override;
  [[nodiscard]] std::size_t size() const override { return waiting_.size(); }

 private:
  struct Waiting {
    model::NodeName node;
    Mono since{};
    int sent = 0;
    bool is_away = false;  // no driver publishes GPUs of its node
  };
  void begins(const model::Uid& uid, Waiting& one);
  void nudge(const model::Pod& pod, Waiting& one);
  void forget(const model::Uid& uid);
  [[nodiscard]] bool isAway(const model::NodeName& node) const {
    return !c_.engine.nodeDevices().isPublished(node);
  }

  Context& c_;
  controller::KeyedCalls<model::Uid> calls_;
  std::map<model::Uid, Waiting> waiting_;
};

}  // namespace gs::scheduler
