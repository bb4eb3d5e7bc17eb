// Extender: answers other schedulers, kube-scheduler or Volcano, about pods that ask for shares of GPUs:
// which node, and which shares of which of its devices (R53-R58). A machine without I/O over an engine that
// somebody else feeds: requests (`Request`s), answers to its own API calls and the time go in; API calls
// and answers to requests come out.
//
// A pod that was given a node has a Grant until it is bound, gone, or given up. That is a reservation in
// the ledger, and annotations on the pod. The annotations outlive this process: a new leader reads those of
// unbound pods, and takes over the ones that it believes (claims.cc).
//
// How it writes annotations:
//   - Every PATCH carries the uid and the resourceVersion of a version of the pod that was unbound. So of
//     several only one can take effect, and none after a Binding. Where the outcome of one is unknown,
//     another one that changes the pod settles it.
//   - A caller is answered once its pod's annotations are known to be written. If nobody waits any more for
//     annotations that could not be written, nobody was told of them: their devices are free for others,
//     and if the write lands after all, it is taken off again. Until a write of such a pod goes through,
//     the pod is given nothing.
//   - One write of a pod is under way at a time; a request that needs another one waits for it. No write is
//     tried again at once: the more failed in a row, the later. Writes that nobody waits for share a few
//     slots, by namespace.
//
// Kept elsewhere: who waits for a pod's annotations (callers.h) or for its Binding (binding_callers.h), the
// answers and until when they are good (replies.h), what is logged of them (request_log.h), what the API
// server makes of failed writes (write_troubles.h), calls that nobody waits for (slots.h), Volcano's nodes
// (node_turns.h), how far a pod's annotations are written (note_write.h), which pods of a kube-scheduler
// found no node, and which of them to wake (refusals.h).
// It decides only between lead() and standBy(). One thread; the engine must outlive it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/random.h"
#include "controller/event.h"
#include "controller/parts.h"
#include "engine/engine.h"
#include "engine/preemption.h"
#include "extender/grants/binding_callers.h"
#include "extender/grants/config.h"
#include "extender/grants/context.h"
#include "extender/grants/grant.h"
#include "extender/grants/refusals.h"
#include "extender/grants/slots.h"
#include "extender/grants/write_troubles.h"
#include "extender/protocol/request.h"
#include "extender/share_chooser.h"
#include "kapi/call.h"
#include "model/vcuda.h"
#include "sched/doors/vcuda.h"

namespace gs::extender {

class Extender {
 public:
  static constexpr std::uint8_t kOwner = controller::kExtenderOwner.first;

  Extender(engine::Engine& engine, Config config, Rng rng);

  void lead(Now now);
  /// What is under way is forgotten; every request is answered Unavailable with this.
  void standBy(std::string why);
  /// From then on nothing is promised to anybody, unless it is said again. Without it: for ever.
  void leadUntil(Mono until) { c_.replies.leadUntil(until); }
  /// No new requests; those that were asked before are answered once their writes are.
  void stopTaking();
  /// After stopTaking(): whoever still waits is refused.
  void giveUp();
  [[nodiscard]] bool leading() const { return leading_; }
  /// Why requests are refused now; "" they are not.
  [[nodiscard]] std::string refusesBecause() const { return leading_ && taking_ ? "" : why_not_; }
  /// Some write has not come to its end.
  [[nodiscard]] bool underWay() const { return grants().writing > 0 || !calls_.empty(); }
  [[nodiscard]] const Config& config() const { return c_.config; }

  void ask(RequestId request_id, Request request, Now now);
  /// False: it is no answer to a call of ours.
  bool handle(const kapi::Outcome& outcome, Now now);
  /// After every event: pods that changed, what is due.
  void settle(Now now);

  [[nodiscard]] kapi::Effects takeEffects() { return std::exchange(c_.out, {}); }
  [[nodiscard]] std::vector<std::pair<RequestId, Answer>> takeAnswers() { return c_.replies.take(); }
  /// Requests for a Binding of a pod that turned out to be another's (Config::is_bound_by_others).
  [[nodiscard]] std::vector<Caller> takeHandedBack() { return std::exchange(handed_back_, {}); }
  /// Events for users, to be sent.
  [[nodiscard]] std::vector<controller::EventNote> takeNotes() { return std::exchange(notes_, {}); }
  [[nodiscard]] std::optional<Mono> nextDue() const;
  /// For reading names of nodes.
  [[nodiscard]] const NodeTablePtr& table() { return chooser_.table(); }

  struct Sizes {
    std::size_t writing = 0;
    std::size_t written = 0;
    std::size_t removing = 0;
    std::size_t timers = 0;   // of all of them
    std::size_t in_vain = 0;  // pods whose tries in vain are known
    std::size_t showed = 0;   // pods that showed that they can be written, and were given nothing since
  };
  [[nodiscard]] Sizes grants() const;

 private:
  enum class Purpose : std::uint8_t { Write, Remove, Read, ReadForBind, Bind, Wake };
  struct Pending {
    Purpose purpose{};
    model::Uid uid;
    std::string slot{};  // namespace whose slot it has, if any
  };

  // extender.cc: requests
  bool usesThisTable(const Caller& w);
  void place(Caller w);
  void look(const Caller& w);
  // preempt.cc
  void preempt(Caller w);
  void preemptSome();
  void tellPreemptions();
  // extender.cc
  void deallocate(const Caller& w);
  void bind(Caller w);
  void readForBind(Caller w);
  void sendBinding(Caller w, const model::Pod& pod);
  [[nodiscard]] std::string whyNotBound(const Pending& pending, const kapi::Outcome& outcome) const;
  void bindAnswered(const Pending& pending, const kapi::Outcome& outcome);
  /// Answers for a pod that cannot or need not be given anything; false: it can.
  bool isAnswered(const Caller& w, const model::Pod& pod);
  bool isTold(Grant& grant, const Caller& w, bool its_node);
  void noteIfInVain(Grant& grant, const model::Pod& pod);
  [[nodiscard]] bool isTriedElsewhere(Grant& grant, const Caller& w, const model::Pod& pod);
  /// What the pod holds of an earlier decision, devices and quota, is free for it while this lives.
  struct Aside {
    Aside(Extender& e, Grant* o, const model::Pod& p) : extender{e}, own{o}, pod{p} {}
    Aside(const Aside&) = delete;
    Aside& operator=(const Aside&) = delete;
    ~Aside();
    Extender& extender;
    Grant* own;
    const model::Pod& pod;
  };
  [[nodiscard]] Aside setOwnAside(const model::Pod& pod);
  [[nodiscard]] bool isShowing(const Grant& grant) const;
  [[nodiscard]] bool mustShow(const Grant* before, const model::Pod& pod) const;
  void showFirst(const Caller& w, const model::Pod& pod);
  void choose(Caller w, const model::Pod& pod);

  // claims.cc: what unbound pods say of themselves
  [[nodiscard]] bool claims(const model::Pod& pod) const;
  [[nodiscard]] bool mayBeTrue(const model::Pod& pod) const;
  void adoptAll(std::vector<const model::Pod*> claimants);
  /// As they are annotated.
  [[nodiscard]] static std::map<int, std::vector<int>> idsOf(const sched::SharePicks& picks);
  bool adopt(const model::Pod& pod, bool is_overtaken);
  [[nodiscard]] sched::SharePicks ontoClaimed(const sched::NodeState& node, sched::SharePicks picks) const;
  void contest(const std::set<std::pair<model::NodeName, int>>& devices);
  void takeOff(const model::Pod& pod);
  void recheckQuotas();
  [[nodiscard]] bool holdsUp(const Grant& grant, const model::Pod& pod);
  [[nodiscard]] bool isAllowed(const Grant& grant, const model::Pod& pod) const;
  [[nodiscard]] bool isPickedOtherwise(const Grant& grant, const model::Pod& pod) const;
  [[nodiscard]] bool asksFor(const Grant& grant, const model::Pod& pod) const;
  void drop(Grant& grant, const model::Pod& pod);

  // grants.cc: from a decision to the annotations, and their end
  Grant* grantOf(const model::Uid& uid);
  [[nodiscard]] sched::GpuCharge chargeOf(const model::Pod& pod) const;
  void grant(Caller w, const model::Pod& pod, const sched::PodRequest& request, const Answer& chosen);
  void countIfUncertain(const sched::NodeState& node, sched::PodRequest request);
  void write(Grant& grant);
  [[nodiscard]] std::uint64_t nextTime();
  void reserve(Grant& grant, const model::Pod& pod);
  void reserveOn(Grant& grant, const model::NodeName& node, const sched::SharePicks& picks,
                 const sched::GpuCharge& charge, const std::string& gang);
  void join(Grant& grant, Caller w, std::size_t position);
  void await(Grant& grant, Caller w);
  void tell(Grant& grant, Caller w);
  void written(Grant& grant, const model::Pod& pod);
  void restore(Grant& grant);
  void remove(Grant& grant, bool idly = false);
  void end(const model::Uid& uid);
  void askAgain(Grant& grant);
  void review(const model::Uid& uid);
  void bound(const Grant* grant, const model::Pod& pod);
  void reviewUnbound(Grant& grant, const model::Pod& pod);
  void lookWhetherGivenUp(Grant& grant, const model::Pod& pod);
  void changedByOthers(Grant& grant);
  void tick();
  void tick(Grant& grant);
  [[nodiscard]] static Mono dueOf(const Grant& grant);
  void plan(const model::Uid& uid);

  // writes.cc: calls, and what becomes of them
  void call(kapi::Call c, Purpose purpose, const model::Uid& uid, std::string slot = {});
  [[nodiscard]] const model::Pod* versionOf(const Grant& grant) const;
  void advance(Grant& grant);
  [[nodiscard]] kapi::Call nextCall(Grant& grant, const model::Pod* pod, Purpose& purpose);
  void tellTheNext();
  void writeAnswered(Grant& grant, const kapi::Outcome& outcome);
  void removeAnswered(Grant& grant, const kapi::Outcome& outcome);
  void readAnswered(Grant& grant, const kapi::Outcome& outcome);
  void isOfAnother(Grant& grant);
  void nameIsGone(Grant& grant);
  [[nodiscard]] bool isForgotten(const Grant& grant, const kapi::Outcome& outcome) const;
  bool failed(Grant& grant, const kapi::Outcome& outcome);
  void refused(Grant& grant, std::string why);
  void tryLater(Grant& grant, Duration at_least);
  void noteWorked(const Grant& grant);
  [[nodiscard]] std::string notWrittenText(const model::ObjectKey& pod) const;
  [[nodiscard]] static bool wasTold(const Grant& grant);
  [[nodiscard]] static bool isInVain(const Grant& grant);
  void letGo(Grant& grant);
  void moveBack(Grant& grant, const model::Pod& pod);
  void goOn(const model::Uid& uid);
  void wakeSomebody();
  void wakeAnswered(const model::Uid& uid, const kapi::Outcome& outcome);

  Context c_;
  ShareChooser chooser_{c_.engine, c_.config.strict};
  bool leading_ = false;
  bool taking_ = true;
  std::string why_not_ = "this extender does not lead yet";
  std::map<model::Uid, Grant> grants_;
  std::unordered_map<kapi::Token, Pending> calls_;
  BindingCallers binding_;
  std::set<std::pair<Mono, model::Uid>> due_;  // when something of a grant is to be done
  std::set<model::Uid> taken_back_;            // unbound pods whose reservation was ended
  WriteTroubles troubles_;
  Slots slots_{kIdleCalls, kIdleCallsOfNamespace};
  Refusals refusals_{c_.engine};
  engine::Preemption preemption_;
  std::map<RequestId, Caller> preempting_;
  bool quotas_unread_ = false;   // when this one began to lead
  std::uint64_t last_time_ = 0;  // of a note, nanoseconds
  std::uint64_t next_ = 1;
  std::vector<controller::EventNote> notes_;
  std::vector<Caller> handed_back_;
};

}  // namespace gs::extender
