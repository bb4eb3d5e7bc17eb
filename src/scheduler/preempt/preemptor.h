// The preemptor: pods that fit nowhere, and for which pods of lower priority go. It has the search choose a
// node (sched/preemption/search.h), nominates the pod to it, tells the victims to go, and waits until their
// GPUs are free (R21); then the pod is placed as any other. preemption_step.h says what is done when.
//
// A nominated pod's room is kept: admits() says whether a less important pod may be placed on a node beside
// those that are nominated there. That is what ends the loop in which a victim's controller makes it anew, it
// takes the room, and has to go again: nobody who has to go for a pod is more important than it, and whoever
// is not may not take its room.
// Who was nominated somewhere by an earlier leader goes on from there (consider()). Who is less important and
// nominated to a node that a more important pod is nominated to loses that, and is looked at anew.
// Bounds: kAtOnce pods at a time. A pod whose preemption came to nothing, or for which there is nobody, is
// looked at again later each time (kTerms). A search takes turns, one at each event.
// A part of the scheduler's; one thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "controller/backoff.h"
#include "controller/keyed_calls.h"
#include "sched/preemption/search.h"
#include "scheduler/core/context.h"
#include "scheduler/preempt/preemption_step.h"

namespace gs::scheduler {

class Preemptor : public controller::Part {
 public:
  static constexpr std::size_t kAtOnce = 64;
  static constexpr std::uint64_t kCostPerTurn = 20'000;
  /// So long a pod waits for what leaves its node by itself, before others have to go for it; for those that
  /// were told to go until they are gone.
  static constexpr Duration kAwaited = std::chrono::seconds{40};
  static constexpr kapi::RetryTerms kTerms{std::chrono::seconds{5}, std::chrono::minutes{5}};

  /// What a waiting pod asks for.
  struct Asks {
    sched::PodRequest request;
    std::int64_t milli = 0;
    std::optional<sched::QuotaRoom> quota{};
  };
  struct Beside {
    /// nullopt: it is not to be placed now (blocked, no lease can be written, its Bindings fail ...).
    std::function<std::optional<Asks>(const model::Pod&)> asks;
    /// Would some node take it as things are, and admits() it?
    std::function<bool(const model::Pod&)> fits_now;
    /// It has a binding cycle: what comes of that is waited for.
    std::function<bool(const model::Uid&)> is_being_placed;
  };
  Preemptor(Context& context, Beside beside);

  // What is known, whether we lead or not.
  void podSeen(const model::PodPtr& pod);
  void podGone(const model::Uid& uid) { residents_.remove(uid); }
  [[nodiscard]] sched::Budgets& budgets() { return budgets_; }

  /// It fits nowhere: others may go for it.
  void wanted(const model::Pod& pod);
  /// An unbound pod of ours, which may have changed.
  void consider(const model::Pod& pod);
  /// One turn: whose preemption has something to do, and some of a search.
  void work();
  [[nodiscard]] bool hasMore() const { return searching_.has_value() || mayBegin(); }
  /// May this pod be placed there, beside those that are nominated there?
  [[nodiscard]] bool admits(const sched::NodeState& node, const model::Pod& pod,
                            const sched::PodRequest& request) const;
  /// A write of ours to that pod is under way: no Binding of it is composed.
  [[nodiscard]] bool writes(const model::Uid& uid) const { return calls_.open(uid); }
  [[nodiscard]] std::optional<model::NodeName> nominatedTo(const model::Uid& uid) const;

  void handle(const kapi::Outcome& outcome, Now now, kapi::Effects& out) override;
  void tick(Now now, kapi::Effects& out) override;
  [[nodiscard]] std::optional<Mono> nextDue() const override;
  void podEnded(const model::Uid& uid) override { forget(uid); }
  void podBound(const model::Pod& pod) override { forget(pod.uid); }
  void reset() override;
  [[nodiscard]] std::size_t size() const override { return cycles_.size() + waiting_.size() + tried_.size(); }

 private:
  struct Cycle {
    model::NodeName node;
    std::string fence;  // of the pod when it was chosen
    Mono since{};
    std::uint64_t looked_at = 0;  // NodeState::version then
    bool is_touched = true;       // something else changed since
    bool is_long = false;         // kAwaited is over
    std::set<model::Uid> marked;  // the API server said so
    std::set<model::Uid> deleted;
  };
  enum class Purpose : std::uint8_t { Nominate, Clear, Mark, Delete };
  struct What {
    Purpose purpose{};
    model::Uid pod;  // for which it is done
  };
  using Turn = std::tuple<std::int64_t, Wall, model::Uid>;  // the queue's order

  [[nodiscard]] static Turn turnOf(const model::Pod& pod) {
    return {-std::int64_t{pod.priority}, pod.created, pod.uid};
  }
  [[nodiscard]] bool mayBegin() const { return !waiting_.empty() && cycles_.size() < kAtOnce; }
  void search();
  void begin(const model::Pod& pod, const model::NodeName& node, const Asks& asks);
  void advance(const model::Uid& uid, Cycle& cycle);
  [[nodiscard]] bool awaits(const Cycle& cycle, const model::Pod& pod) const;
  [[nodiscard]] PreemptionFacts factsOf(Cycle& cycle, const model::PodPtr& pod,
                                        std::optional<sched::Candidate>& there);
  void nominate(const model::Pod& pod, const model::NodeName& node, Purpose purpose);
  void evict(const model::Pod& victim, const model::Pod& pod, const Cycle& cycle);
  void tellOf(const model::Uid& victim, const What& what);
  void touch(const model::Uid& pod);
  void touchAllOn(const model::NodeName& node);
  void giveUp(const model::Uid& uid, const char* why);
  void forget(const model::Uid& uid);
  [[nodiscard]] model::PodPtr podOf(const model::Uid& uid) const;

  Context& c_;
  Beside b_;
  sched::Residents residents_;
  sched::Budgets budgets_;
  sched::Nominations nominations_;
  sched::PreemptionSearch search_;
  controller::KeyedCalls<model::Uid, What> calls_;  // by whose object is written
  controller::Backoff<model::Uid> tried_{kTerms};
  std::set<Turn> waiting_;               // for a search
  std::optional<model::Uid> searching_;  // for whom
  std::map<model::Uid, Cycle> cycles_;
};

}  // namespace gs::scheduler
