// GPUs that are held for a pod on the node where its kube-scheduler is expected to bind it soon. A part of
// the scheduler's; one thread.
//
// Many pods are filtered before the first is bound, and who was woken is to find what it was woken for. So
// GPUs are held for a moment: a reservation of the ledger (Source::Reservation), which nobody else is given
// and of which nothing is written. A hold is a courtesy and no right, since a pod that is filtered may never
// be bound (a volume that never binds, say):
//   - of all that are held a namespace has half of what it leaves to others (controller/fair_share.h);
//   - it lasts kHeld at most, whatever its pod's kube-scheduler asks meanwhile;
//   - the pod's next one comes 5 s later, then 10 s, up to 5 minutes, until it is bound;
//   - on a node where a hold came to nothing none begins for kRests, which is longer than any lasts. So who
//     needs all GPUs of a node finds all of them free at once. So it is with a namespace that has a quota, on
//     whatever nodes they are;
//   - who is to be bound on that node takes what it needs of them at once (yield()).
// Invariant (R80): nobody waits because of holds for longer than 2 * kHeld: one of those on a node comes to
// nothing within kHeld, and then the others do, and no new one begins.
// A pod that comes to be bound and waits for a slot has its GPUs held, too, as whoever came first (inLine()):
// shorter, and others do not take them.
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
