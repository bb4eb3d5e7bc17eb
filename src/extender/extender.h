// Extender: answers other schedulers, kube-scheduler or Volcano, about pods that ask for shares of GPUs:
// which node, and which shares of which of its devices (R53-R58). A machine without I/O over an engine that
// somebody else feeds. Requests (over a FrontDesk), answers to its API calls and the time go in; calls and
// answers to requests come out.
//
// A pod that was given a node has a Grant until it is bound, gone, or given up. That is a reservation in the
// ledger, and annotations on the pod. The annotations outlive this process: a new leader reads those of
// unbound pods, and takes over the ones that it believes (FoundNotes).
//
// It puts its parts together, and decides nothing itself: what may be asked and when (lead(), standBy()), to
// which part a request or an answer goes, and in which order the parts go on.
//
//   Placer           a pod is to be given a node, or asks where it would fit
//   Bindings         a pod is to be bound
//   PreemptRequests  who would have to leave
//   ShareChooser     which of the candidates is best, and why not the others
//   NoteWriter       from a grant to its annotations, and their end
//   FoundNotes       annotations that this process did not write
//   Reviews          what becomes of grants as pods change and time passes
//   Wakes            pods that found no node, and may find one now
//   grants/          what all of them share: the grants, calls, and who waits for what
//
// It decides only between lead() and standBy(). One thread; the engine must outlive it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "controller/event.h"
#include "engine/engine.h"
#include "extender/bindings.h"
#include "extender/found_notes.h"
#include "extender/grants/config.h"
#include "extender/grants/context.h"
#include "extender/grants/coordinator.h"
#include "extender/grants/grants.h"
#include "extender/grants/pod_calls.h"
#include "extender/note_writer.h"
#include "extender/placer.h"
#include "extender/preempt_requests.h"
#include "extender/protocol/front_desk.h"
#include "extender/protocol/request.h"
#include "extender/reviews.h"
#include "extender/share_chooser.h"
#include "extender/wakes.h"
#include "kapi/call.h"

namespace gs::extender {

class Extender : public Answerer, private Coordinator {
 public:
  Extender(engine::Engine& engine, Config config, Rng rng, controller::Owners owners = {});
  Extender(const Extender&) = delete;
  Extender& operator=(const Extender&) = delete;

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
  /// The number that its calls carry.
  [[nodiscard]] std::uint8_t owner() const { return calls_.owner(); }
  /// Why requests are refused now; "" they are not.
  [[nodiscard]] std::string refusesBecause() const override { return leading_ && taking_ ? "" : why_not_; }
  /// Some write has not come to its end.
  [[nodiscard]] bool underWay() const { return grants().writing > 0 || calls_.underWay(); }
  [[nodiscard]] const Config& config() const { return c_.config; }

  // By FrontDesk.
  [[nodiscard]] bool readsNodes(Verb verb) const override { return verb != Verb::Deallocate; }
  void serve(Caller caller, Now now) override;
  void refuse(const Caller& caller, Answer answer) override { c_.answer(caller, std::move(answer)); }

  /// False: it is no answer to a call of ours.
  bool handle(const kapi::Outcome& outcome, Now now);
  /// After every event: pods that changed, what is due.
  void settle(Now now);

  [[nodiscard]] kapi::Effects takeEffects() { return std::exchange(c_.out, {}); }
  [[nodiscard]] std::vector<std::pair<RequestId, Answer>> takeAnswers() { return c_.replies.take(); }
  /// Requests for a Binding of a pod that turned out to be another's (Config::is_bound_by_others).
  [[nodiscard]] std::vector<Caller> takeHandedBack() { return bindings_.takeHandedBack(); }
  /// Events for users, to be sent.
  [[nodiscard]] std::vector<controller::EventNote> takeNotes() { return reviews_.takeNotes(); }
  [[nodiscard]] std::optional<Mono> nextDue() const;
  /// For reading names of nodes.
  [[nodiscard]] const NodeTablePtr& table() override { return chooser_.table(); }

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
  void place(Caller w) override;
  void written(Grant& grant, const model::Pod& pod) override { placer_.written(grant, pod); }
  void review(const model::Uid& uid) override { reviews_.review(uid); }
  void endedUnwritten(const model::Uid& uid) override;

  void deallocate(const Caller& w);
  void tick();

  Context c_;
  bool leading_ = false;
  bool taking_ = true;
  std::string why_not_ = "this extender does not lead yet";
  Grants grants_{c_.engine, c_.config.strict};
  PodCalls calls_;
  ShareChooser chooser_{c_.engine, c_.config.strict};
  NoteWriter writer_{c_, grants_, calls_, *this};
  FoundNotes found_{c_, grants_, chooser_, writer_};
  Wakes wakes_{c_, grants_, calls_, writer_.troubles()};
  Reviews reviews_{c_, grants_, {chooser_, writer_, found_, wakes_, *this}};
  Bindings bindings_{c_, grants_, calls_, chooser_, *this};
  PreemptRequests preempt_requests_{c_, grants_, chooser_};
  Placer placer_{c_, grants_, {chooser_, writer_, found_, wakes_, reviews_, bindings_, *this}};
};

}  // namespace gs::extender
