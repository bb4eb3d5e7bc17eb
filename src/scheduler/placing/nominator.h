// Pods for which a kube-scheduler found no node, or of which it has not asked for long: they are woken. A
// part of the scheduler's; one thread.
//
// kube-scheduler looks at a pod again when something changes that it watches. GPUs that are free again are
// nothing of that. So a pod that found none waits in our queue as pods of our own do. When its turn comes, an
// annotation of it is written, which wakes its kube-scheduler, and GPUs are held for it for a moment, as
// holds.h says: by courtesy, so that nobody waits because of them. kube-scheduler may refuse the node for
// reasons of its own, so each time the pod waits longer before.
// Few are woken at a time (controller/woken_pods.h): of those that found nothing, until their kube-scheduler
// asks or kAwaited is over, a namespace has half of what it leaves to others; so it has of the writes that
// are under way. Who is refused by kube-scheduler for ever, or cannot be written, takes no more than that.
// The others stand in line (controller/wake_line.h), and so many a second have their turn. The extender wakes
// pods by the same (extender/grants/refusals.h).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "controller/fair_share.h"
#include "controller/keyed_calls.h"
#include "controller/wake_line.h"
#include "controller/woken_pods.h"
#include "scheduler/core/context.h"
#include "scheduler/placing/holds.h"

namespace gs::scheduler {

class Nominator : public controller::Part {
 public:
  Nominator(Context& context, Holds& holds);

  /// Its kube-scheduler asked about it, and found a node or none: then it does not look again by itself.
  void asked(const model::Uid& uid, bool fits);
  /// An unbound pod of a kube-scheduler that asks for GPUs. Where it was not asked about for long, an earlier
  /// leader may have refused it, or its kube-scheduler has other reasons: it is woken, and nothing is held.
  void seen(const model::Pod& pod);
  /// It is to be woken once it fits.
  [[nodiscard]] bool isToBeWoken(const model::Uid& uid) const {
    const auto waits = waiting_.find(uid);
    return waits != waiting_.end() && !waits->second.in_line && calls_.due(uid, c_.now.mono);
  }
  /// It fits there: it is woken, or stands in line.
  void wake(const model::Pod& pod, const sched::PodRequest& request, const model::NodeName& node);

  void podEnded(const model::Uid& uid) override { forget(uid); }
  void podBound(const model::Pod& pod) override { forget(pod.uid); }

  void handle(const kapi::Outcome& outcome, Now now, kapi::Effects& out) override;
  void tick(Now now, kapi::Effects& out) override;
  [[nodiscard]] std::optional<Mono> nextDue() const override;
  void reset() override;
  [[nodiscard]] std::size_t size() const override {
    return asked_.size() + calls_.size() + lines_[0].size() + lines_[1].size();
  }

 private:
  void forget(const model::Uid& uid);
  enum class Why : std::uint8_t { Refused, Forgotten };
  struct Waits {
    Why why{};
    bool in_line = false;      // it fits, and others come first
    Mono turn_until{};         // it stood there
    std::uint64_t ticket = 0;  // its place
  };
  struct Wake {
    Why why{};
    std::string ns;
  };
  using Line = controller::WakeLine<>;
  [[nodiscard]] Line& lineOf(Why why) { return lines_.at(static_cast<std::size_t>(why)); }
  [[nodiscard]] bool hasRoom(Why why, const std::string& ns) const;
  /// False: it stands in line now.
  [[nodiscard]] bool mayWake(const model::Pod& pod, Waits& waits);
  void letIn(Why why);
  void waitsNoMore(const model::Uid& uid);
  /// Its kube-scheduler asked, or will not.
  void wokenIsOver(const model::Uid& uid);

  Context& c_;
  Holds& holds_;
  controller::KeyedCalls<model::Uid, Wake> calls_;
  controller::FairShare calls_of_{controller::WokenPods::kAtOnce};  // by namespace
  std::map<model::Uid, Mono> asked_;                                // when last, or first seen
  std::map<model::Uid, Waits> waiting_;
  std::array<Line, 2> lines_;    // by Why
  controller::WokenPods woken_;  // of those that found nothing
};

}  // namespace gs::scheduler
