// The preemptor: pods that fit nowhere, and for which pods of lower priority go. It has the search choose a
// node (sched/preemption/search.h), nominates the pod to it, tells the victims to go, and waits until their
// GPUs are free (R21); then the pod is placed as any other. preemption_step.h says what is done when.
//
// A nominated pod's room is kept: admits() says whether another pod may be placed on a node beside those that
// are nominated there and not less important; another scheduler's nominated pods count as ours (theirs()).
// That is what ends the loop in which a victim's controller makes it anew, it takes the room, and has to go
// again: nobody who has to go for a pod is more important than it, and whoever is not may not take its room.
// Who was nominated somewhere by an earlier leader goes on from there (consider()). Who is less important and
// nominated to a node that a more important pod is nominated to loses that, and is looked at anew.
// What goes is waited for: kAwaited, and for those that were told to go until they are gone, kMostAwaited at
// most. Who is not gone then counts as staying, for some minutes (kStuck): else its node, where nobody has
// to be told to go, would be the best one each time.
// A pod that is not to be placed for a moment (a claim of it is not known yet, say) keeps its room for
// kBlocked. Others that come to where room was made (schedulers that do not know of it bind them) are told
// to go, too, but later each time (kTerms).
// Bounds: see PreemptionLine for how many pods at a time. A pod whose preemption came to nothing, or for
// which there is nobody, is looked at again later each time (kTerms); where nothing changed since, who asks
// for the same has the same answer. What all of this costs is spread over events, kCostPerTurn at each.
// A part of the scheduler's; one thread. The engine keeps residents for it (Engine::keepResidents()).
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "controller/backoff.h"
#include "controller/keyed_calls.h"
#include "sched/preemption/search.h"
#include "scheduler/core/context.h"
#include "scheduler/preempt/preemption_line.h"
#include "scheduler/preempt/preemption_step.h"

namespace gs::scheduler {

class Preemptor : public controller::Part {
 public:
  static constexpr std::uint64_t kCostPerTurn = 20'000;
  static constexpr std::size_t kWritesAtOnce = 64;
  static constexpr int kMostPerTurn = 64;  // pods that were found to have nobody
  /// So long a pod waits for what leaves its node by itself, before others have to go for it; for those that
  /// were told to go until they are gone.
  static constexpr Duration kAwaited = std::chrono::seconds{40};
  static constexpr Duration kMostAwaited = std::chrono::minutes{15};
  static constexpr kapi::RetryTerms kStuck{std::chrono::minutes{10}, std::chrono::hours{1}};
  static constexpr Duration kBlocked = std::chrono::seconds{10};
  static constexpr kapi::RetryTerms kTerms{std::chrono::seconds{5}, std::chrono::minutes{1}};

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
    /// Something else is being written to it.
    std::function<bool(const model::Uid&)> is_being_written;
  };
  Preemptor(Context& context, Beside beside);

  /// It fits nowhere: others may go for it, if there are any.
  void wanted(const model::Pod& pod);
  /// An unbound pod of ours, which may have changed.
  void consider(const model::Pod& pod);
  /// An unbound pod that another scheduler places: where that one nominated it to, it counts.
  void theirs(const model::Pod& pod);
  /// One turn: whose preemption has something to do, and some of a search.
  void work();
  [[nodiscard]] bool hasMore() const { return searching_.has_value() || is_behind_ || line_.any(); }
  /// May this pod be placed there, beside those that are nominated there?
  [[nodiscard]] bool admits(const sched::NodeState& node, const model::Pod& pod,
                            const sched::PodRequest& request) const;
  /// Nodes that would take it, and do not admit it: among those that somebody is nominated to, kMostKeptFrom
  /// of them, from that name on.
  [[nodiscard]] std::vector<model::NodeName> keptFrom(const model::Pod& pod, const sched::PodRequest& request,
                                                      const model::NodeName& from) const;
  static constexpr std::size_t kMostKeptFrom = 128;
  /// Somebody is nominated there who comes before this pod.
  [[nodiscard]] bool isKept(const model::NodeName& node, const model::Pod& pod) const {
    return nominations_.anyBefore(node, pod.uid, pod.priority);
  }
  /// A write of ours to that pod is under way: no Binding of it is composed.
  [[nodiscard]] bool writes(const model::Uid& uid) const { return calls_.open(uid); }
  [[nodiscard]] std::optional<model::NodeName> nominatedTo(const model::Uid& uid) const;
  /// For whom it waits there, in words, or that there is nobody who could go for it; "" nothing of both.
  [[nodiscard]] std::string saidOf(const model::Uid& uid) const;
  /// Pods of which that is another text than when this was last asked.
  [[nodiscard]] std::set<model::Uid> takeSaid() { return std::exchange(said_, {}); }

  void handle(const kapi::Outcome& outcome, Now now, kapi::Effects& out) override;
  void tick(Now now, kapi::Effects& out) override;
  [[nodiscard]] std::optional<Mono> nextDue() const override;
  void podEnded(const model::Uid& uid) override {
    forget(uid);
    calls_.forget(uid);
  }
  void podBound(const model::Pod& pod) override { forget(pod.uid); }
  void reset() override;
  [[nodiscard]] std::size_t size() const override {
    return cycles_.size() + line_.size() + tried_.size() + nobody_said_.size();
  }

 private:
  struct Cycle {
    model::NodeName node;
    std::string ns;
    std::int32_t priority = 0;
    std::string fence;                    // of the pod when it was chosen
    Mono since{};                         // from then on it is waited for what leaves by itself
    Mono told_at{};                       // somebody was told to go, or it began
    std::optional<Mono> blocked_since{};  // it is not to be placed
    Mono wake = Mono::max();              // it is to be looked at then
    bool are_told = false;                // some who were told to go were there yet, the last time
    bool is_counted = false;              // as one that evicts
    int rounds = 0;                       // in which others were told to go than before
    Mono next_round{};
    std::string said{};           // who goes
    std::set<model::Uid> told;    // the victims of all rounds
    std::set<model::Uid> marked;  // the API server said so
    std::set<model::Uid> deleted;
  };
  using Cycles = std::map<model::Uid, Cycle>;
  enum class Purpose : std::uint8_t { Nominate, Clear, Mark, Delete };
  struct What {
    Purpose purpose{};
    model::Uid pod;  // for which it is done
  };
  /// Nobody's going made room for such a pod, when all was as of these.
  struct Nobody {
    sched::PodRequest request;
    std::int64_t milli = 0;
    std::string ns;
    std::int32_t priority = 0;
    std::array<std::uint64_t, 8> moments{};
    std::shared_ptr<const std::string> text{};  // that is said then
  };

  void searchSome();
  [[nodiscard]] bool beginSearch();
  void endSearch();
  [[nodiscard]] Nobody nobodyFor(const model::Pod& pod, const Asks& asks) const;
  [[nodiscard]] bool hasNobody(const model::Pod& pod, const Asks& asks) const;
  void saidNobody(const model::Uid& uid, const std::shared_ptr<const std::string>& text);
  void noteChanges();
  [[nodiscard]] std::vector<model::Uid> dueCycles() const;
  void begin(const model::Pod& pod, const model::NodeName& node, const Asks& asks);
  void advance(const model::Uid& uid, Cycle& cycle);
  void endCycle(Cycles::iterator cycle);
  void wakeAt(const model::Uid& uid, Cycle& cycle, Mono at);
  void keepRoom(const Cycle& cycle, const model::PodPtr& pod, const Asks& asks);
  [[nodiscard]] bool awaits(Cycle& cycle, const model::Pod& pod);
  [[nodiscard]] bool isStuck(const model::Uid& uid) const { return !stuck_.due(uid, c_.now.mono); }
  void noteStuck(const Cycle& cycle, const model::Pod& pod, bool lower_too);
  [[nodiscard]] bool mayTell(const model::Uid& uid, Cycle& cycle, const std::vector<model::PodPtr>& victims);
  [[nodiscard]] PreemptionFacts factsOf(Cycle& cycle, const model::PodPtr& pod,
                                        std::optional<sched::Candidate>& there);
  void nominate(const model::Pod& pod, const model::NodeName& node, Purpose purpose);
  void evict(const model::Pod& victim, const model::Pod& pod, const Cycle& cycle);
  void tellOf(const model::Uid& victim, const What& what);
  void say(const model::Uid& uid, Cycle& cycle, const std::vector<model::PodPtr>& victims);
  void touch(const model::Uid& pod);
  void touchAllOn(const model::NodeName& node);
  void giveUp(const model::Uid& uid, const char* why);
  void forget(const model::Uid& uid);
  [[nodiscard]] model::PodPtr podOf(const model::Uid& uid) const;

  Context& c_;
  Beside b_;
  const sched::Residents& residents_;
  sched::Nominations nominations_;
  sched::PreemptionSearch search_;
  controller::KeyedCalls<model::Uid, What> calls_;  // by whose object is written
  controller::Backoff<model::Uid> tried_{kTerms};
  controller::Backoff<model::Uid> stuck_{kStuck, kStuck.longest};  // who goes, and was waited for in vain
  std::uint64_t unstuck_ = 0;                                      // how often that was over
  PreemptionLine line_;
  std::optional<model::Uid> searching_;  // for whom
  std::optional<Nobody> nobody_;         // the last one
  std::map<model::Uid, std::shared_ptr<const std::string>> nobody_said_;
  Cycles cycles_;
  std::map<model::NodeName, std::set<model::Uid>> cycles_on_;  // none is empty
  std::set<model::Uid> touched_;                   // of these: something changed since they were looked at
  std::set<std::pair<Mono, model::Uid>> wake_at_;  // Cycle::wake
  model::Uid last_;                                // of these, that was looked at
  bool is_behind_ = false;                         // some are to be looked at yet
  // Changes up to which they were touched.
  std::uint64_t residents_position_ = 0;
  std::uint64_t changes_position_ = 0;
  std::uint64_t closings_position_ = 0;
  std::set<model::Uid> said_;
};

}  // namespace gs::scheduler
