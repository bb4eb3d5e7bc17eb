// Holds: GPUs that are kept for a pod for some seconds, on the node where its kube-scheduler is expected to
// bind it. A part of the scheduler's; one thread.
//
// Why: kube-scheduler filters many pods before the first of them is bound, and all would be shown the same
// free GPUs. And a pod that was woken because there is room should find that room. A hold is a reservation
// in the ledger (Source::Reservation): nobody else is given these GPUs, and nothing is written to the API.
// A hold is a courtesy and no right, since a pod that is filtered may never be bound (its volume cannot be,
// for example). So
//   - there are kAtOnce holds at most, and no namespace has more than it leaves free
//     (controller/fair_share.h);
//   - a hold lasts for kHeld at most, whatever the pod's kube-scheduler asks meanwhile;
//   - the pod's next hold comes 5 s later, then 10 s, up to 5 minutes, until the pod is bound;
//   - after a hold came to nothing, no hold begins on that node for kRests, which is longer than any hold
//     lasts. So a pod that needs all GPUs of the node finds all of them free at once. If a quota applies to
//     the pod, none begins for its namespace either, on any node;
//   - a pod that is to be bound on that node takes what it needs of them at once (yield()).
// Invariant (R80): because of holds nobody waits for longer than 2 * kHeld. One of the holds on a node
// comes to nothing within kHeld, the others within another kHeld, and no new one begins.
// The GPUs of a pod that comes to be bound, and waits for a slot, are held too (inLine()): for kHeldInLine,
// and other pods do not take them.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "controller/backoff.h"
#include "controller/fair_share.h"
#include "sched/ledger/ledger.h"
#include "scheduler/core/context.h"

namespace gs::scheduler {

class Holds {
 public:
  static constexpr Duration kHeld = std::chrono::seconds{3};
  static constexpr Duration kHeldInLine = std::chrono::seconds{1};
  static constexpr Duration kRests = std::chrono::seconds{12};
  static constexpr int kAtOnce = 16;
  /// Between two holds of a pod.
  static constexpr kapi::RetryTerms kTerms{std::chrono::seconds{5}, std::chrono::minutes{5}};

  explicit Holds(Context& context) : c_{context}, given_{kTerms} {}

  /// It is expected to be bound there. True: its GPUs are held.
  bool begin(const model::Pod& pod, const sched::PodRequest& request, const model::NodeName& node);
  /// It is to be bound there, and waits for its turn.
  bool inLine(const model::Pod& pod, const sched::PodRequest& request, const model::NodeName& node);

  /// Taken off while its pod is looked at: what it holds counts for its node and its quota, too.
  struct Suspended {
    model::NodeName node;
    Mono until{};
    bool yields = true;
    std::string quota_of{};  // the namespace, if a quota binds it
  };
  [[nodiscard]] std::optional<Suspended> suspend(const model::Uid& uid);
  /// Goes on, there or on another node; where it cannot it has come to nothing.
  void resume(const model::Pod& pod, const sched::PodRequest& request, const Suspended& hold,
              const model::NodeName& node);
  /// It has come to nothing.
  void end(const Suspended& hold) { rest(hold.node, hold.quota_of); }
  void end(const model::Uid& uid) {
    if (const auto was = suspend(uid)) { end(*was); }
  }
  /// Its kube-scheduler comes to bind it: nobody waited for nothing.
  void release(const model::Uid& uid) { (void)suspend(uid); }
  /// Who is to be bound on that node comes first: as many of those holds end as it takes until `fits`, the
  /// oldest first; none where it does not fit all the same.
  bool yield(const model::NodeName& node, const std::function<bool()>& fits);
  /// It is bound, or gone.
  void forget(const model::Uid& uid);

  // Nominator calls these as its own.
  void tick(Mono now);
  [[nodiscard]] std::optional<Mono> nextDue() const;
  void reset();
  [[nodiscard]] bool has(const model::Uid& uid) const { return held_.contains(uid); }
  /// What is held for it there is others' when one of them is to be bound, or in a moment.
  [[nodiscard]] bool makesRoom(const model::Uid& uid, const model::NodeName& node) const {
    const auto held = held_.find(uid);
    return held != held_.end() && held->second.node == node && held->second.yields;
  }
  [[nodiscard]] std::size_t size() const {
    return held_.size() + rests_.size() + quotas_rest_.size() + given_.size();
  }

 private:
  struct Held {
    std::string ns;
    model::NodeName node;
    Mono until{};
    bool yields = true;  // to who is to be bound
    sched::PodRequest request;
    sched::Reservation reservation;
    [[nodiscard]] std::string quotaOf() const { return request.quota ? ns : std::string{}; }
  };
  using All = std::map<model::Uid, Held>;
  [[nodiscard]] bool mayBegin(const std::string& ns, const model::NodeName& node) const;
  bool hold(const model::Pod& pod, const sched::PodRequest& request, const model::NodeName& node, Mono until,
            bool yields);
  All::iterator erase(All::iterator held);
  void rest(const model::NodeName& node, const std::string& quota_of);

  Context& c_;
  All held_;
  controller::FairShare of_{kAtOnce};
  controller::Backoff<model::Uid> given_;
  std::map<model::NodeName, Mono> rests_;    // until when
  std::map<std::string, Mono> quotas_rest_;  // by namespace
};

}  // namespace gs::scheduler
