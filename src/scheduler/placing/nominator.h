// GPUs that are held for a while for a pod that a kube-scheduler places, on the node where it is expected to
// bind it; and the pods for which it found no node. A part of the scheduler's; one thread.
//
// kube-scheduler looks at a pod again when something changes that it watches. GPUs that are free again are
// nothing of that. So a pod that found none waits in our queue as pods of our own do. When its turn comes,
// GPUs are held for it and an annotation of it is written, which wakes its kube-scheduler. That may refuse
// the node for reasons of its own, so each time the pod waits longer before. What is held is a reservation
// of the ledger (Source::Reservation): nobody else is given it, and nothing of it is written. It ends with
// the pod's next request, which may hold anew, or after its time.
// Of those that were woken few have something at a time, and of one namespace half of what it leaves to
// others: who asks for GPUs and is refused by kube-scheduler for ever takes no more than that
// (controller/woken_pods.h). The others stand in line (controller/wake_line.h), and so many a second have
// their turn. The extender wakes pods by the same (extender/grants/refusals.h), and holds nothing for them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "controller/keyed_calls.h"
#include "controller/wake_line.h"
#include "controller/woken_pods.h"
#include "sched/ledger/ledger.h"
#include "scheduler/core/context.h"

namespace gs::scheduler {

class Nominator : public controller::Part {
 public:
  explicit Nominator(Context& context);

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
  /// It fits there: see above.
  void wake(const model::Pod& pod, const sched::PodRequest& request, const model::NodeName& node);

  /// Until then. False: it does not fit there.
  bool hold(const model::Pod& pod, const sched::PodRequest& request, const model::NodeName& node, Mono until);
  struct Was {
    model::NodeName node;
    Mono until{};
  };
  /// What is held for it is free again; it is told what that was.
  std::optional<Was> release(const model::Uid& uid);
  /// It is gone, or bound.
  void forget(const model::Uid& uid);

  void handle(const kapi::Outcome& outcome, Now now, kapi::Effects& out) override;
  void tick(Now now, kapi::Effects& out) override;
  [[nodiscard]] std::optional<Mono> nextDue() const override;
  void reset() override;
  [[nodiscard]] std::size_t size() const {
    return asked_.size() + held_.size() + calls_.size() + lines_[0].size() + lines_[1].size();
  }

 private:
  enum class Why : std::uint8_t { Refused, Forgotten };
  struct Waits {
    Why why{};
    bool in_line = false;      // it fits, and others come first
    Mono turn_until{};         // it stood there
    std::uint64_t ticket = 0;  // its place
  };
  using Line = controller::WakeLine<>;
  [[nodiscard]] Line& lineOf(Why why) { return lines_.at(static_cast<std::size_t>(why)); }
  [[nodiscard]] bool hasRoom(Why why, const std::string& ns) const;
  /// False: it stands in line now.
  [[nodiscard]] bool mayWake(const model::Pod& pod, Waits& waits);
  void letIn(Why why);
  void waitsNoMore(const model::Uid& uid);
  /// What was held for it since it was woken is over.
  void wokenIsOver(const model::Uid& uid);
  struct Held {
    model::NodeName node;
    sched::Reservation hold;
    Mono until{};
  };
  Context& c_;
  controller::KeyedCalls<model::Uid, Why> calls_;
  std::map<model::Uid, Mono> asked_;  // when last, or first seen
  std::map<model::Uid, Waits> waiting_;
  std::array<Line, 2> lines_;  // by Why
  std::map<model::Uid, Held> held_;
  controller::WokenPods woken_;  // those whose GPUs are held since they were woken
};

}  // namespace gs::scheduler
