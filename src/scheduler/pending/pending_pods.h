// Pods that wait for a node: which stand in the queue, which are held back because their namespace has no
// slot, when one may be tried again, and what each was told. A part of the scheduler's; one thread.
//
// Invariant: a pod stands in the queue or is held back, never both; only pods that stand there are popped.
// What a pod is told goes to its condition (Reporter) and to its claim's status.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "controller/backoff.h"
#include "controller/nodes_in_vain.h"
#include "sched/doors/door.h"
#include "sched/request/pod_reason.h"
#include "scheduler/core/context.h"
#include "scheduler/pending/binding_cycle.h"
#include "scheduler/pending/held_back.h"
#include "scheduler/report/claim_status.h"
#include "scheduler/report/reporter.h"

namespace gs::scheduler {

/// What a waiting pod is told.
struct Rejection {
  std::string kind;  // stable over numbers
  std::shared_ptr<const std::string> text;
  std::optional<sched::PodReason> pod_reason{};  // as nodes say it; nullopt: that of its kind
};

/// What is said of it after that. `kind`: which kind of news that is besides; "" none, and it is only said
/// after what nodes say.
struct AlsoSaid {
  std::string text;
  std::string kind;
};

class PendingPods : public controller::Part {
 public:
  using Item = sched::Queue::Item;

  explicit PendingPods(Context& context);

  /// What it asks for, or why it cannot be placed at all now.
  [[nodiscard]] sched::DoorResult readDoor(const model::Pod& pod) const;
  /// It is there, unbound: its latency counts from now.
  void seen(const model::Uid& uid) { first_seen_.try_emplace(uid, c_.now.mono); }
  /// Into the queue, or told why not. Returns its class when all of that class are unschedulable, so that it
  /// is to be told the same.
  std::optional<sched::EquivalenceClass> enqueue(const model::Pod& pod);
  /// Into the queue for later.
  void backOff(const Item& item, Mono until);
  /// Into the queue as it was.
  void putBack(const Item& item);
  void dequeue(const model::Uid& uid);
  /// It is being decided on: it waits no more, unless it is put back.
  void leave(const model::Uid& uid) { queued_.erase(uid); }
  /// It stands in the queue, or is held back, with this class.
  [[nodiscard]] bool waitsAs(const model::Uid& uid, sched::EquivalenceClass pod_class) const;
  [[nodiscard]] std::unordered_set<sched::EquivalenceClass> classes() const;
  /// The class with which it stands there; nullopt: it does not.
  [[nodiscard]] std::optional<sched::EquivalenceClass> classOf(const model::Uid& uid) const;

  /// What is free for it on these nodes, one at least, is kept for others: it asks for another one, and is
  /// read anew.
  void keepOff(const model::Uid& uid, const std::vector<model::NodeName>& nodes);
  /// Who was kept off a node, and either its room is not kept from it any more or the node is another since,
  /// is read anew; so many at a time are looked at, and fewer of them read anew, in turn.
  void keepOffOnly(const std::function<bool(const model::Pod&, const model::NodeName&)>& is_kept);
  [[nodiscard]] bool keepsOffSome() const { return !kept_off_.empty(); }
  /// What is said of a pod besides why no node takes it; its text is "": nothing.
  void alsoSaid(std::function<AlsoSaid(const model::Uid&)> said) { also_said_ = std::move(said); }

  /// Its namespace has no slot now: others go on without it. `last`: after those of its namespace that
  /// nothing was tried with.
  void holdBack(const Item& item, const std::string& ns, bool last);
  [[nodiscard]] std::vector<std::string> namespacesHeldBack() const { return held_back_.namespaces(); }
  /// The next one of that namespace stands in the queue again.
  [[nodiscard]] std::optional<Item> bringBack(const std::string& ns);
  [[nodiscard]] std::size_t heldBack() const { return held_back_.size(); }

  /// In its condition, an event and its claim's status; and once for each kind in the log.
  void tell(const model::Pod& pod, const Rejection& rejection);
  [[nodiscard]] std::string whyWaiting(const model::Uid& uid) const;
  /// It is unschedulable, so nothing fits but where it was tried. True: that is news.
  bool nowhereElse(const model::Uid& uid) {
    const bool is_news = in_vain_.nowhereElse(uid);
    if (is_news) { c_.reconciles.add(uid); }
    return is_news;
  }
  /// It is kept from nodes that refused it a moment ago, and what they answered says more than that nothing
  /// fits.
  [[nodiscard]] bool knowsMore(const model::Uid& uid, sched::EquivalenceClass pod_class) const;

  /// It may be tried again later, not before the server asked for.
  void tryLater(const model::Uid& uid, Duration asked_for) { attempts_.tried(uid, c_.now.mono, asked_for); }
  [[nodiscard]] int attempts(const model::Uid& uid) const { return attempts_.tries(uid); }
  [[nodiscard]] bool mayTry(const model::Uid& uid) const { return attempts_.due(uid, c_.now.mono); }
  void triedInVain(const BindingCycle& cycle);
  /// It is bound: when it was first seen, where that is known.
  std::optional<Mono> placed(const model::Uid& uid);
  void podBound(const model::Pod& pod) override {
    dequeue(pod.uid);
    kept_off_.erase(pod.uid);
  }
  /// It is bound to what it was to have, or is nobody's to place: nothing more is said of it.
  void over(const model::Uid& uid);
  void podEnded(const model::Uid& uid) override;

  void tick(Now now, kapi::Effects& out) override;
  [[nodiscard]] std::optional<Mono> nextDue() const override { return attempts_.nextDue(); }
  void reset() override;

  /// It is being placed: nothing is said of it until it waits again.
  void placing(const model::Uid& uid) { reporter_.silent(uid, false); }
  /// Its condition, or for which node it is nominated, is being written: the answer brings a newer version.
  [[nodiscard]] bool isBeingTold(const model::Uid& uid) const {
    return reporter_.writing(uid) || (also_writes_ && also_writes_(uid));
  }
  /// Somebody else writes to pods that wait, and has them reconciled after that.
  void alsoWrites(std::function<bool(const model::Uid&)> writes) { also_writes_ = std::move(writes); }
  /// Pods that were told something, and what the answers say of them.
  [[nodiscard]] std::vector<std::pair<model::Uid, model::Object>> takeTold() {
    return reporter_.takeWritten();
  }
  void claimTouched(const model::ObjectKey& claim) { claims_.touched(claim); }
  /// Writes what pods and claims are to be told. `open(uid)`: a Binding or fence of that pod is open.
  void pump(const std::function<bool(const model::Uid&)>& open) {
    reporter_.pump(c_.now.mono, c_.now, open, c_.out);
    claims_.pump(c_.now.mono, c_.out);
  }
  void touchClaimOf(const model::Uid& uid);
  /// Whether its claim says Reserved.
  void reservedBy(std::function<bool(const model::Uid&)> reserved) { reserved_ = std::move(reserved); }
  [[nodiscard]] std::size_t size() const override {
    return queued_.size() + waiting_text_.size() + first_seen_.size() + begun_since_.size() +
           held_back_.size() + attempts_.size() + in_vain_.size() + blocked_.size() + logged_.size() +
           kept_off_.size();
  }
  /// Pods that do not stand in the queue: those that nobody can place as they are (a claim is missing or
  /// invalid, say), and those behind scheduling gates.
  [[nodiscard]] std::size_t blocked() const { return blocked_.size() - gated_; }
  [[nodiscard]] std::size_t gated() const { return gated_; }
  /// How often a pod was told why it waits.
  [[nodiscard]] std::uint64_t told() const { return told_; }

 private:
  [[nodiscard]] std::uint64_t versionOf(const model::NodeName& name) const;
  [[nodiscard]] std::optional<sched::Blocked> uncountable(const model::Pod& pod,
                                                          const sched::PodRequest& request) const;
  void say(const model::Pod& pod, const Rejection& rejection);
  void block(const model::Uid& uid, bool gated);
  void unblock(const model::Uid& uid);
  bool waitsForTheFirst(const model::Uid& uid, const sched::Blocked& blocked);

  Context& c_;
  std::function<bool(const model::Uid&)> reserved_;
  std::function<AlsoSaid(const model::Uid&)> also_said_;
  std::function<bool(const model::Uid&)> also_writes_;
  Reporter reporter_;
  ClaimStatusWriter claims_;
  std::unordered_map<model::Uid, Item> queued_;                                      // those held back, too
  std::unordered_map<model::Uid, std::shared_ptr<const std::string>> waiting_text_;  // for its claim's status
  std::unordered_map<model::Uid, Mono> first_seen_;  // unbound pods of ours, for the latency metric
  std::unordered_map<model::Uid, Mono>
      begun_since_;  // who waits for another pod's allocation of a claim of both
  controller::Backoff<model::Uid> attempts_{{std::chrono::seconds{1}, std::chrono::seconds{10}}};
  controller::NodesInVain in_vain_;
  HeldBack held_back_;
  using KeptOff = std::map<model::NodeName, std::uint64_t>;  // and NodeState::version when it was
  std::map<model::Uid, KeptOff> kept_off_;                   // none is empty
  model::Uid last_let_go_;
  std::unordered_map<model::Uid, bool> blocked_;  // true: by scheduling gates
  std::size_t gated_ = 0;                         // of these
  OncePerPod logged_;                             // kinds of rejection
  std::uint64_t told_ = 0;
};

}  // namespace gs::scheduler
