// The scheduler component: pods of our schedulerName get exact devices, by way of leases and a Binding (design 3.1-3.11).
// A state machine without I/O: handle(Event, Now) -> Effects.
//
// Level-triggered: whatever happens, the pods it concerns are reviewed, and review(uid) does the next right thing for
// that pod from what is known now (its object, its leases, its grant). So events may be late, doubled or missing;
// the sweep reviews everybody every 30 s.
//   unbound, no leases of it       -> queued (doors, decider), then a Grant (grant.h)
//   unbound, leases without a grant -> adopted when the set is complete and fits, else fenced and deleted (design 3.4)
//   bound                          -> its leases are as `allocated` says: missing ones written, others deleted
//   ended                          -> its leases are deleted once its devices are drained (design 3.9)
// A standby applies all events and decides nothing; a new leader decides after the barrier (barrier.h, lease_record.h).
// Writes are sent guarded (kapi/call.h); after a loss of leadership everything under way is dropped and its outcomes ignored.
// One thread. Tokens: 0 own, 1..8 the feed's, 20.. the parts.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/random.h"
#include "controller/backoff.h"
#include "engine/engine.h"
#include "engine/feed.h"
#include "kapi/event.h"
#include "kapi/event_sender.h"
#include "sched/doors/door.h"
#include "scheduler/barrier.h"
#include "scheduler/claim_status.h"
#include "scheduler/config.h"
#include "scheduler/grant.h"
#include "scheduler/held_back.h"
#include "scheduler/lease_desk.h"
#include "scheduler/lease_record.h"
#include "scheduler/reporter.h"
#include "scheduler/slots.h"

namespace gs::scheduler {

using Event = kapi::MachineEvent;

/// What /readyz says: `what` -> "ok" or why not.
struct Readiness {
  bool ready = false;
  bool leading = false;
  std::vector<std::pair<std::string, std::string>> checks;
};

class Scheduler {
 public:
  Scheduler(Config config, Rng rng);

  [[nodiscard]] kapi::Effects start(Now now);
  [[nodiscard]] kapi::Effects handle(const Event& event, Now now);
  /// SIGTERM: no new decisions; what is under way goes on.
  void stopTaking() { taking_ = false; }
  /// `tell` is called each time that it begins to decide, before it does: who shares its engine adopts then, too.
  void beforeDeciding(std::function<void(Now)> tell) { before_deciding_ = std::move(tell); }
  /// Something that was decided has not come to its end yet: leases, a Binding, a fence.
  [[nodiscard]] bool underWay() const;

  [[nodiscard]] Readiness readiness() const;
  /// Why this process can do nothing more and must be restarted; "" while it can. It has stopped writing then.
  [[nodiscard]] const std::string& failure() const { return feed_.failure(); }
  [[nodiscard]] bool leading() const { return phase_ == Phase::Leading; }
  [[nodiscard]] const std::string& name() const { return config_.scheduler_name; }
  [[nodiscard]] const engine::Engine& engine() const { return engine_; }
  /// For another component on the same engine; after it changed anything, a TimerDue lets waiting pods see that.
  [[nodiscard]] engine::Engine& engine() { return engine_; }
  [[nodiscard]] sched::Queue::Sizes pending() const { return queue_sizes_; }
  /// Leases of running pods that are missing and cannot be written.
  [[nodiscard]] std::size_t leaseRepairsFailing() const { return failing_.size(); }
  /// How often reviews looked at a lease or an id of one, how many reviews there were, and how often a pod
  /// that waits was told why: what they cost, without a clock.
  struct Work {
    std::uint64_t reviews = 0;
    std::uint64_t looks = 0;
    std::uint64_t told = 0;
  };
  [[nodiscard]] Work workForTest() const { return {reviews_, looks_, told_}; }
  /// What is kept of pods beside the engine, for tests of what grows.
  [[nodiscard]] std::size_t rememberedForTest() const;

 private:
  enum class Phase : std::uint8_t { Standby, Recovering, Leading };
  using LeaseOf = std::pair<model::Uid, model::ObjectKey>;  // one pod's part of one lease
  using LeaseReservations = std::set<std::pair<model::ObjectKey, model::ReservationId>>;
  /// Leases of an unbound pod that are to be deleted: fence first.
  struct Repair {
    LeaseReservations leftovers;  // known when the fence was sent
    kapi::Token call = 0;
    std::string fence_value;
    bool fenced = false;
    int failures = 0;
    Mono not_before{};
  };
  /// Whether anything can be written about a pod: a fence, before it is given anything, where others are stuck (slots.h).
  enum class Probe : std::uint8_t { UnderWay, WentThrough, Failed };
  /// What a waiting pod is told.
  struct Refusal {
    std::string kind;  // stable over numbers
    std::shared_ptr<const std::string> text;
  };
  /// Nodes that a pod was tried on in vain, lately: it is tried on others first.
  struct NodesInVain {
    struct Tries {
      int number = 0;
      Mono until{};  // not there before
    };
    std::map<model::NodeName, Tries> nodes;
    bool nowhere_else = false;  // no other node has room: those whose time is over are tried again
    bool refused = false;       // the last time, and the pod is told why
  };
  enum class Purpose : std::uint8_t {
    Bind,
    ReadAfterConflict,
    FenceGrant,
    FenceRepair,
    Probe,
    ProveGone,
    ReadBound
  };
  struct Pending {
    Purpose purpose{};
    model::Uid uid;
  };

  // scheduler.cc: events in, effects out, leadership
  void route(const kapi::Outcome& outcome);
  void fed();
  void led(const kapi::Leadership& leadership);
  void begin();
  void expectBarrier();
  void recover();
  void dropUnderWay();
  void lose();
  void tick();
  void settle();
  void takeCensus(const Barrier::Census& census);
  void lookAtBlocked();
  void blockedLookedAt(const std::pair<model::NodeName, int>& device, const kapi::Outcome& outcome);
  void askStatusRevision();
  void statusRevisionTold(const kapi::Outcome& outcome);
  void wakeAtNextDue();
  void sayTrouble(const std::string& trouble);
  [[nodiscard]] kapi::Token nextToken() { return kapi::makeToken(0, next_++); }
  void call(kapi::Call c, Purpose purpose, const model::Uid& uid);
  void log(kapi::Level level, std::string message, std::vector<std::pair<std::string, std::string>> fields);
  void count(const char* metric, std::vector<std::pair<std::string, std::string>> labels = {}, double by = 1);
  void settleBoundPerhaps();
  void beginSweep();
  void sweepSome();
  void reviewSome(int& left);

  // review.cc: one pod, level-triggered
  void review(const model::Uid& uid);
  void reviewEnded(const model::Uid& uid);
  void reviewBound(const model::Pod& pod);
  void giveBut(const Grant& grant, const model::Pod& pod);
  void reviewUnbound(const model::Pod& pod);
  void keepLeases(const model::Pod& pod, const std::vector<int>& given, const std::vector<int>& held);
  [[nodiscard]] std::vector<int> leasable(const model::NodeName& node, const std::vector<int>& ids) const;
  void leaseRepaired(const model::Pod& pod, const LeaseNotice& notice);
  void forgetFailing(const model::Uid& uid, const std::set<model::ObjectKey>& but);
  [[nodiscard]] std::optional<std::vector<int>> devicesOf(const model::Pod& pod,
                                                          const std::optional<std::vector<int>>& told) const;
  [[nodiscard]] bool sharesDevices(const model::Pod& pod, const std::vector<int>& ids) const;
  [[nodiscard]] LeaseReservations reservationsOf(const model::Uid& uid) const;
  [[nodiscard]] bool anotherOfOursHas(const model::Pod& pod, int id,
                                      const std::function<bool(const model::Pod&)>& is) const;
  [[nodiscard]] bool anotherWasTold(const model::Pod& pod, int id) const;
  [[nodiscard]] std::string uuidGiven(const model::Pod& pod, const std::vector<int>& given, int id) const;
  void dropStrayLeases(const model::Pod& pod, const std::optional<std::vector<int>>& ids);
  void endBoundPerhaps(const model::Uid& uid);
  void proveGone(const model::Uid& uid);
  bool adopt(const model::Pod& pod);
  void repair(const model::Pod& pod);
  void goneProven(const model::Uid& uid, const kapi::Outcome& outcome);
  void repairFenced(const model::Uid& uid, const kapi::Outcome& outcome);
  void touchClaimOf(const model::Uid& uid);
  void warnOnce(const model::Pod& pod, const std::string& reason, const std::string& note);
  [[nodiscard]] bool warned(const model::Uid& uid, const std::string& reason) const;

  // placing.cc: queue and decisions
  void enqueue(const model::Pod& pod);
  void tell(const model::Pod& pod, const Refusal& refusal);
  void unparkFitting();
  void retireClasses();
  void scheduleSome();
  [[nodiscard]] bool holdBack(const sched::Queue::Item& item);
  void bringBack();
  void triedInVain(const Grant& grant);
  void fitsNowhereElse(const model::Uid& uid);
  void notOn(const model::Pod& pod, sched::PodRequest& request) const;
  void decideOne(const sched::Queue::Item& item);
  [[nodiscard]] bool probing(const model::Uid& uid) const;
  void probe(const model::Pod& pod);
  void probed(const model::Uid& uid, const kapi::Outcome& outcome);
  void endProbe(const model::Uid& uid);
  std::vector<model::Uid> park(sched::ClassId pod_class);
  void refuse(sched::ClassId pod_class);
  void refuse(sched::ClassId pod_class, sched::Refusal now);
  void tellSoon(sched::ClassId pod_class, std::vector<model::Uid> pods);
  void tellSome();
  [[nodiscard]] bool knowsMore(const model::Uid& uid, sched::ClassId pod_class);
  void refreshParked(bool numbers_too);
  void followQuotas();
  void grantTo(const model::Pod& pod, sched::ClassId pod_class, const sched::Placed& placed);
  void dequeue(const model::Uid& uid);
  [[nodiscard]] sched::DoorResult readDoor(const model::Pod& pod) const;

  // binding.cc: a grant's way to the Binding
  void advance(Grant& grant);
  void tryLater(Grant& grant, Duration retry_after);
  [[nodiscard]] bool waitShortly(Grant& grant, Duration retry_after);
  void takeLeases(Grant& grant, bool confirm);
  void noticed(const LeaseNotice& notice);
  [[nodiscard]] bool leasesFail(const Grant& grant) const;
  [[nodiscard]] bool isLeasingTooLong(const Grant& grant) const;
  [[nodiscard]] bool isOvertaken(const Grant& grant) const;
  void bindOrTakeAgain(Grant& grant);
  void bind(Grant& grant);
  void bindAnswered(Grant& grant, const kapi::Outcome& outcome);
  void bindLater(Grant& grant, const kapi::Outcome& outcome);
  void conflictRead(Grant& grant, const kapi::Outcome& outcome);
  void fence(Grant& grant);
  void fenceAnswered(Grant& grant, const kapi::Outcome& outcome);
  void bindApplied(Grant& grant);
  void release(Grant& grant, std::string why);
  void finishRelease(const Grant& grant);
  void judgeLivePod(Grant& grant, const model::Pod& pod, bool after_fence);
  [[nodiscard]] static bool boundAsDecided(const Grant& grant, const model::Pod& pod);
  void giveUp(Grant& grant, std::string why);
  struct Placing {
    model::NodeName node;
    std::vector<int> ids;
    bool shared = false;
    std::vector<std::string> uuids = {};  // of a Binding that was sent
  };
  [[nodiscard]] static Placing placingOf(const Grant& grant) {
    return {grant.node, grant.ids, grant.shared, grant.uuids};
  }
  [[nodiscard]] Claimant claimant(const model::Uid& uid, const model::ObjectKey& pod,
                                  const model::ReservationId& reservation, const Placing& placing,
                                  int id) const;
  [[nodiscard]] std::string gpuUuid(const model::NodeName& node, int id) const;
  [[nodiscard]] std::vector<std::string> gpuUuids(const model::NodeName& node,
                                                  const std::vector<int>& ids) const;
  [[nodiscard]] bool isRenumbered(const Grant& grant) const;
  [[nodiscard]] std::string visibleDevices(const Grant& grant) const;
  [[nodiscard]] model::ObjectKey leaseKey(const model::NodeName& node, int id) const;
  [[nodiscard]] std::string fenceOf(const model::Pod& pod) const;
  [[nodiscard]] bool ours(const model::Pod& pod) const {
    return pod.scheduler_name == config_.scheduler_name;
  }
  [[nodiscard]] bool podWriteOpen(const model::Uid& uid) const;
  void scheduledEvent(const Grant& grant);
  Grant* grantOf(const model::Uid& uid);
  /// Its Binding is unresolved for so long that the claim's phase says so (design 3.6).
  [[nodiscard]] bool reserved(const Grant& grant) const {
    return grant.binding_since != Mono{} && now_.mono - grant.binding_since >= kReservedAfter;
  }
  static constexpr Duration kReservedAfter = std::chrono::seconds{1};

  Config config_;
  Rng rng_;
  engine::Engine engine_;
  Barrier barrier_;
  LeaseRecord record_;
  LeaseDesk desk_;
  kapi::EventRecorder recorder_;
  kapi::EventSender events_;
  Reporter reporter_;
  ClaimStatusWriter claims_;
  engine::Feed feed_;

  Phase phase_ = Phase::Standby;
  std::uint64_t term_ = 0;
  bool taking_ = true;
  bool barrier_open_ = false;  // the barrier of this term was begun
  bool had_record_ = false;    // at the end of the barrier the record of the lease namespace was ours
  std::map<model::Uid, Grant> grants_;
  /// Where Bindings were sent whose grants are gone before anybody knew what came of them. Kept over a loss of leadership.
  std::map<model::Uid, Placing> bound_perhaps_;
  std::map<model::Uid, Repair> repairs_;
  std::unordered_map<model::Uid, sched::Queue::Item> queued_;
  std::map<sched::ClassId, Refusal> parked_;  // what pods of a class are told while it is parked; kept longer
  std::map<sched::ClassId, std::vector<model::Uid>> untold_;  // of those, who is to be told; no list is empty
  std::unordered_map<model::Uid, std::shared_ptr<const std::string>> waiting_text_;  // for its claim's status
  std::unordered_map<model::Uid, Mono> first_seen_;  // unbound pods of ours, for the latency metric
  std::unordered_map<model::Uid, std::set<std::string>> warned_;  // reasons, by pod
  std::map<model::Uid, std::string> unreadable_;  // leases that were complained about, and why
  std::set<model::Uid> proving_;                  // live GETs under way
  std::map<model::Uid, Probe> probes_;            // of unbound pods
  Slots slots_;
  HeldBack held_back_;
  bool brought_back_ = false;  // some of them, the last time
  controller::Backoff<model::Uid> attempts_{
      {std::chrono::seconds{1}, std::chrono::seconds{10}}};  // to place it
  controller::Backoff<model::Uid> proofs_;                   // that it is gone: live GETs
  controller::Backoff<LeaseOf> lease_repairs_{{std::chrono::milliseconds{200}, std::chrono::seconds{30}}};
  /// GPUs whose lease name somebody took: no watch says when that lease goes.
  controller::Backoff<std::pair<model::NodeName, int>> blocked_looks_{
      {std::chrono::seconds{1}, std::chrono::seconds{30}}};
  std::unordered_map<kapi::Token, std::pair<model::NodeName, int>> block_calls_;
  std::map<model::Uid, NodesInVain> in_vain_;
  std::uint64_t reviews_ = 0;
  mutable std::uint64_t looks_ = 0;
  std::uint64_t told_ = 0;
  std::map<LeaseOf, std::string> failing_;  // repairs of leases that failed, and why
  std::unordered_map<kapi::Token, Pending> calls_;
  sched::Queue::Sizes queue_sizes_{};
  std::uint64_t checked_changes_ = 0;  // ledger change position up to which parked classes were looked at
  std::uint64_t quota_version_ =
      0;  // of the table of quotas, and of what is used of them, as parked classes know them
  std::uint64_t gpu_use_version_ = 0;
  std::size_t unchecked_ = 0;  // parked classes that were not looked at since
  sched::ClassId last_checked_ = 0;
  sched::ClassId last_refreshed_ = 0;
  std::size_t unrefreshed_ = 0;    // parked classes that this round through their words has not come to
  bool refresh_numbers_ = false;   // as this round does
  bool words_are_old_ = false;     // the ledger changed since it began
  std::vector<model::Uid> sweep_;  // what is left of the sweep under way
  std::function<void(Now)> before_deciding_;
  bool adopted_ = false;  // the first sweep of this term is over: what was left is adopted, or being fenced
  std::set<model::Uid> review_;  // to be reviewed now, so many at each event
  model::Uid last_reviewed_;
  std::multimap<Mono, model::Uid> review_later_;  // a step of theirs is due then
  std::optional<Mono> refresh_at_;                // parked classes may be refused for another reason now
  kapi::Token status_call_ = 0;                   // asks what revision the statuses have now, in every phase
  std::uint64_t status_number_ = 0;               // for whom (engine::Drain)
  Mono status_call_not_before_{};
  int status_call_failures_ = 0;  // in a row
  Mono next_sweep_{};
  Mono next_census_{};
  Mono next_record_{};
  std::string trouble_;  // why we do not decide yet, as last logged
  std::uint64_t next_ = 1;
  Now now_{};
  kapi::Effects out_;
};

}  // namespace gs::scheduler
