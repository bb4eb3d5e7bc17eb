// Requests: who is asked for what, and which node it gets. What comes of it is in grants.cc.
#include "extender/extender.h"

#include <fmt/format.h>
#include <algorithm>
#include <set>
#include <tuple>

#include "extender/protocol/reasons.h"
#include "kapi/kinds.h"
#include "kapi/retry_wait.h"
#include "kapi/write.h"
#include "sched/doors/vcuda.h"
#include "sched/placement/what_if.h"

namespace gs::extender {
namespace {

using Kind = Answer::Kind;

constexpr const char* kStopping = "this replica is stopping";
constexpr const char* kNotConfirmed = "its Binding was not confirmed; ask again";
constexpr const char* kBindsAlready = "a Binding of this pod is under way";

bool fitsShares(const sched::NodeState& node, const sched::PodRequest& request, const model::Uid& self,
                sched::Meter* /*meter*/) {
  return sched::fitShares(node, request, self).has_value();
}

/// A Binding that came to nothing, perhaps for its node: not for the pod's version, nor since it is gone, nor
/// since the API server is busy.
bool isOfTheNode(const kapi::Outcome& outcome) {
  return outcome.result != kapi::CallResult::Applied && outcome.result != kapi::CallResult::NotSent &&
         outcome.http != 404 && outcome.http != 409 && outcome.http != 429;
}

}  // namespace

Extender::Extender(engine::Engine& engine, Config config, Rng rng)
    : c_{engine, std::move(config), rng}, preemption_{engine, fitsShares} {
  c_.engine.noteShares();
}

void Extender::lead(Now now) {
  c_.now = now;
  leading_ = true;
  quotas_unread_ = c_.engine.quota().awaited();
  std::vector<const model::Pod*> claimants;
  for (const auto& [uid, pod] : c_.engine.cache().pods()) {
    if (grantOf(uid) == nullptr && claims(*pod)) { claimants.push_back(pod.get()); }
  }
  adoptAll(claimants);
  for (const model::Pod* pod : claimants) { plan(pod->uid); }
}

void Extender::stopTaking() {
  taking_ = false;
  why_not_ = kStopping;
}

void Extender::giveUp() {
  stopTaking();
  standBy(kStopping);
}

void Extender::standBy(std::string why) {
  leading_ = false;
  why_not_ = std::move(why);
  const auto refuse = [&](const std::vector<Caller>& waiting) {
    for (const Caller& w : waiting) { c_.answer(w, Kind::Unavailable, why_not_); }
  };
  for (auto& [uid, grant] : grants_) { refuse(grant.callers.takeAll()); }
  refuse(binding_.takeAll());
  grants_.clear();
  due_.clear();
  calls_.clear();
  troubles_.reset();
  c_.log.reset();
  chooser_.reset();
  slots_.clear();
  refusals_.reset();
  (void)preemption_.drop();
  for (const auto& [id, w] : std::exchange(preempting_, {})) { c_.answer(w, Kind::Unavailable, why_not_); }
  taken_back_.clear();
}

bool Extender::usesThisTable(const Caller& w) {
  if (w.request.candidates.table == table()) { return true; }
  Answer a;
  a.kind = Kind::NewTable;
  a.table = table();
  c_.answer(w, std::move(a));
  return false;
}

void Extender::ask(RequestId request_id, Request request, Now now) {
  c_.now = now;
  const Mono asked = request.asked == Mono{} ? now.mono : std::min(request.asked, now.mono);
  Caller w{request_id, std::move(request), asked + c_.config.answer_within};
  if (!leading_ || !taking_) { return c_.answer(w, Kind::Unavailable, why_not_); }
  const Verb verb = w.request.verb;
  // Its caller may have asked somebody else since, and a late decision would undo that one.
  if (now.mono >= w.until) { return c_.answer(w, Kind::Unavailable, "this was asked too long ago"); }
  if (verb == Verb::Deallocate) { return deallocate(w); }
  if (!usesThisTable(w)) { return; }
  if (auto lacking = chooser_.lackingObjects(w.request.candidates); !lacking.empty()) {
    Answer a;
    a.kind = Kind::SendObjects;
    a.kept = std::move(lacking);
    return c_.answer(w, std::move(a));
  }
  const model::Uid uid = verb == Verb::Rank ? model::Uid{} : w.request.pod->uid;
  switch (verb) {
    case Verb::Filter:
    case Verb::Predicate:
    case Verb::Allocate: place(std::move(w)); break;
    case Verb::Look: look(w); break;
    case Verb::Rank: c_.answer(w, chooser_.rank(w.request.candidates)); break;
    case Verb::Preempt: preempt(std::move(w)); break;
    case Verb::Bind: bind(std::move(w)); break;
    case Verb::Deallocate: break;
  }
  plan(uid);
}

bool Extender::isAnswered(const Caller& w, const model::Pod& pod) {
  const auto fail = [&](std::string why) {
    c_.answer(w, Kind::Failed, std::move(why));
    return true;
  };
  if (!c_.wants(pod)) {
    c_.answer(w, Kind::Untouched);
    return true;
  }
  if (c_.isOwnSchedulers(pod)) { return fail(c_.ownSchedulersText(pod)); }
  if (c_.engine.quota().awaited()) { return fail(kQuotaAwaited); }
  if (c_.config.strict && w.request.verb != Verb::Bind && model::wasPredicated(pod.annotations)) {
    return fail(fmt::format("pod {} had been predicated!", pod.key.name));
  }
  if (c_.engine.cache().knownGone(pod.uid) || pod.deleting || pod.finished()) {
    return fail(fmt::format("{} has ended or is being deleted", nameOf(pod)));
  }
  if (!pod.bound()) { return false; }
  const auto position = positionOf(w.request.candidates, pod.node);
  if (!position) { return fail(fmt::format("{} is bound to {}", nameOf(pod), pod.node.text)); }
  Answer a;
  a.kind = w.request.verb == Verb::Bind ? Kind::Done : Kind::Chosen;
  a.chosen = *position;
  c_.answer(w, std::move(a));
  return true;
}

void Extender::place(Caller w) {
  if (!usesThisTable(w)) { return; }  // it waited, and its numbers may mean other nodes by now
  w.request.pod = c_.newest(w.request.pod);
  const model::PodPtr pod = w.request.pod;
  refusals_.asked(pod->uid);
  if (isAnswered(w, *pod)) { return; }
  Grant* grant = grantOf(pod->uid);
  if (grant == nullptr) { return choose(std::move(w), *pod); }
  grant->asked = c_.now.mono;
  grant->given_up.reset();
  if (grant->callers.awaitDecision()) {
    grant->callers.awaitDecision(std::move(w));  // in order: who asked last decides
    return;
  }
  const auto position = positionOf(w.request.candidates, grant->note.node);
  const bool stands = !grant->write.isRemoving();
  if (stands && w.request.verb == Verb::Predicate && !isTold(*grant, w, position.has_value())) { return; }
  if (position && stands && holdsUp(*grant, *pod) && !isTriedElsewhere(*grant, w, *pod)) {
    if (grant->adopted) { write(*grant); }
    return join(*grant, std::move(w), *position);
  }
  if (grant->write.isUnderWay() && !isShowing(*grant)) {
    grant->callers.awaitDecision(std::move(w));  // one write of a pod at a time
    return;
  }
  choose(std::move(w), *pod);
}

/// Of a pod that has a node, asked about one node after the other, in any order: false where this one was
/// told not to fit.
bool Extender::isTold(Grant& g, const Caller& w, bool its_node) {
  const auto refuse = [&](const char* why) {
    Answer a;
    a.kind = Kind::Nowhere;
    a.text = fmt::format("pod {} {}", g.uid.text, why);
    c_.answer(w, std::move(a));
    return false;
  };
  constexpr const char* kInVain = "was not bound to this node; another one is tried";
  if (its_node) { return g.turns.ownFits(g.note.node, c_.now.mono) || refuse(kInVain); }
  switch (g.turns.otherFits(nodeAt(w.request.candidates, 0), c_.now.mono)) {
    case NodeTurns::Other::Fits: return true;
    case NodeTurns::Other::Held: return refuse("has already been matched to another node");
    case NodeTurns::Other::InVain: return refuse(kInVain);
  }
  return true;
}

/// Its scheduler was told the node that it has, and says that the pod is not scheduled, or asks again and
/// again. Not of a gang: there the others may be what is waited for.
void Extender::noteIfInVain(Grant& g, const model::Pod& pod) {
  if (!chooser_.gangOf(pod).empty() || !g.promises.inVain(pod.scheduled)) { return; }
  chooser_.triedInVain(g.uid, g.note.node, false, c_.now.mono);
  g.promises = {};
}

/// Whether another candidate is to be tried, since nothing came of the node that it has, by that or by a
/// Binding that was refused there.
bool Extender::isTriedElsewhere(Grant& g, const Caller& w, const model::Pod& pod) {
  if (w.request.verb != Verb::Filter || !g.write.isWritten()) { return false; }
  noteIfInVain(g, pod);
  if (!chooser_.isLeftOut(g.uid, g.note.node, c_.now.mono)) { return false; }
  const auto door = chooser_.requestOf(pod);
  const auto* request = std::get_if<sched::PodRequest>(&door);
  if (request == nullptr) { return false; }
  const Candidates& c = w.request.candidates;
  const Aside own = setOwnAside(pod);
  const auto best = chooser_.bestInTurn(c, *request, g.uid, c_.now.mono);
  return best && nodeAt(c, *best) != g.note.node;
}

/// An orphan that shows whether its pod can be written: who asks about that is not kept waiting.
bool Extender::isShowing(const Grant& g) const {
  return g.write.isOrphan() && (g.write.failures() > 0 || troubles_.stuckIn(g.pod.ns) != nullptr);
}

/// Whether a write of the pod is to go through before it is given anything, which others could have
/// meanwhile: where none of its namespace does, or its own came to nothing. Of what its scheduler was told
/// that write is its removal, so that it does not hold two places.
bool Extender::mustShow(const Grant* before, const model::Pod& pod) const {
  if (troubles_.stuckIn(pod.key.ns) != nullptr && !troubles_.hasShown(pod.uid)) { return true; }
  if (before == nullptr || before->write.failures() == 0) { return false; }
  return before->write.isOrphan() || (wasTold(*before) && before->write.isRemoving());
}

void Extender::showFirst(const Caller& w, const model::Pod& pod) {
  const bool others_follow = w.request.verb == Verb::Predicate;
  c_.answer(w, Kind::Failed, notWrittenText(pod.key));
  Grant& g = grants_[pod.uid];
  g.uid = pod.uid;
  g.pod = pod.key;
  g.asked = c_.now.mono;
  if (wasTold(g)) {
    reserve(g, pod);
    if (!others_follow) { remove(g, true); }
  } else if (!g.write.isOrphan()) {
    g.seen = w.request.pod;
    c_.failAll(g.callers.takeForWrite(), notWrittenText(pod.key));
    letGo(g);
  }
  g.write.hurry();
  advance(g);
}

/// A decision. What the pod holds of an earlier one does not stand in its own way.
void Extender::choose(Caller w, const model::Pod& pod) {
  const Candidates& c = w.request.candidates;
  Grant* before = grantOf(pod.uid);
  if (before != nullptr) { before->holds.clear(); }
  auto [request, a, best] = chooser_.choose(c, pod, c_.now.mono);
  if (best && c_.engine.ledger().isReserved(nodeAt(c, *best), pod.uid)) {
    if (before != nullptr) { reserve(*before, pod); }
    return c_.answer(w, Kind::Failed, fmt::format("{} is being placed by gpu-scheduler", nameOf(pod)));
  }
  if (const std::string* why = best ? troubles_.rejectionOf(pod.uid, c_.now.mono) : nullptr) {
    if (before != nullptr) { reserve(*before, pod); }
    return c_.answer(w, Kind::Failed, *why);
  }
  if (best && mustShow(before, pod)) { return showFirst(w, pod); }
  if (best) {
    a.kind = Kind::Chosen;
    a.chosen = *best;
    a.chosen_standing = *standingAt(a, c, *best);
    return grant(std::move(w), pod, *request, a);
  }
  a.kind = Kind::Nowhere;
  if (request && w.request.verb == Verb::Filter) {  // Volcano asks again by itself
    refusals_.refused(pod, *request, c, a, c_.now.mono);
  }
  const bool others_follow = w.request.verb == Verb::Predicate;  // this node was one of many
  c_.answer(w, std::move(a));
  if (before == nullptr) { return; }
  reserve(*before, pod);
  if (!others_follow) { remove(*before); }  // the node that it had is none of those that it may have now
  if (before->write.isOrphan() && before->write.hasFailed()) {  // each time that it was asked for, perhaps
    before->write.hurry();
    advance(*before);
  }
}

Extender::Aside Extender::setOwnAside(const model::Pod& pod) {
  Grant* own = grantOf(pod.uid);
  if (own != nullptr) { own->holds.clear(); }
  return {*this, own, pod};
}

Extender::Aside::~Aside() {
  if (own != nullptr) { extender.reserve(*own, pod); }
}

void Extender::look(const Caller& w) {
  const model::PodPtr pod = c_.newest(w.request.pod);
  if (isAnswered(w, *pod)) { return; }
  const Aside own = setOwnAside(*pod);
  c_.answer(w, chooser_.look(w.request.candidates, *pod));
}

void Extender::deallocate(const Caller& w) {
  const model::Uid uid = w.request.pod->uid;
  if (Grant* grant = grantOf(uid)) {
    if (const model::Pod* pod = c_.engine.cache().pod(uid)) { chooser_.givenBack(*pod); }
    remove(*grant);
  }
  c_.answer(w, Kind::Done);
  plan(uid);
}

// ---- Bindings

/// Its annotations are written first, when it has none of that node.
void Extender::bind(Caller w) {
  const model::Uid uid = w.request.pod->uid;
  const model::NodeName node = w.request.node;
  const model::Pod* pod = c_.engine.cache().pod(uid);
  if (binding_.underWay(uid)) { return c_.answer(w, Kind::Failed, kBindsAlready); }
  if (pod == nullptr) { return readForBind(std::move(w)); }
  if (c_.isOwnSchedulers(*pod)) { return c_.answer(w, Kind::Failed, c_.ownSchedulersText(*pod)); }
  if (c_.config.is_bound_by_others && c_.config.is_bound_by_others(*pod)) {
    handed_back_.push_back(std::move(w));
    return;
  }
  if (pod->bound()) {
    const bool there = pod->node == node;
    return c_.answer(w, there ? Kind::Done : Kind::Failed,
                     there ? "" : fmt::format("{} is bound to {}", nameOf(*pod), pod->node.text));
  }
  const Grant* grant = grantOf(uid);
  const bool has_it =
      grant != nullptr && grant->write.isWritten() && !grant->adopted && grant->note.node == node;
  if (c_.wants(*pod) && !has_it) {
    w.request.pod = std::make_shared<const model::Pod>(*pod);
    return place(std::move(w));  // comes back once it has
  }
  sendBinding(std::move(w), *pod);
}

void Extender::readForBind(Caller w) {
  const model::Uid uid = w.request.pod->uid;
  if (c_.now.mono >= w.until) { return c_.answer(w, Kind::Failed, kNotConfirmed); }
  if (binding_.underWay(uid)) { return c_.answer(w, Kind::Failed, kBindsAlready); }
  call(kapi::getObject(kapi::kPod, w.request.pod->key), Purpose::ReadForBind, uid);
  binding_.await(uid, std::move(w));
}

void Extender::sendBinding(Caller w, const model::Pod& pod) {
  const Grant* grant = grantOf(pod.uid);
  const auto annotations = grant != nullptr ? model::printVcudaNote(grant->note) : model::Annotations{};
  call(kapi::bindPod(pod, w.request.node, annotations), Purpose::Bind, pod.uid);
  binding_.await(pod.uid, std::move(w));
}

std::string Extender::whyNotBound(const Pending& pending, const kapi::Outcome& outcome) const {
  if (pending.purpose == Purpose::Bind) {
    return fmt::format("its Binding was not confirmed: {} {}", outcome.http, outcome.message);
  }
  const auto pod = outcome.object.as<model::Pod>();
  if (pod != nullptr && pod->uid != pending.uid) {
    return fmt::format("it is gone; the pod of that name has the uid {} and not {}", pod->uid.text,
                       pending.uid.text);
  }
  if (outcome.result == kapi::CallResult::Applied && pod != nullptr) {
    return kNotConfirmed;
  }  // it came too late
  if (outcome.http >= 200 && outcome.http < 300) {
    return fmt::format(
        "it cannot be read: the API server answered {} with a body that is no pod: {}; ask again",
        outcome.http, outcome.message.empty() ? "it holds none" : outcome.message);
  }
  return fmt::format("it cannot be read: {} {}", outcome.http, outcome.message);
}

void Extender::bindAnswered(const Pending& pending, const kapi::Outcome& outcome) {
  if (Grant* grant = grantOf(pending.uid)) { (void)grant->write.answered(outcome.token); }
  auto w = binding_.take(pending.uid);
  if (!w) { return; }
  const bool done = outcome.result == kapi::CallResult::Applied;
  const bool is_there = c_.engine.cache().pod(pending.uid) != nullptr;  // else nobody would have it forgotten
  if (pending.purpose == Purpose::Bind && is_there && isOfTheNode(outcome)) {
    chooser_.triedInVain(pending.uid, w->request.node, true, c_.now.mono);
  }
  if (done) { c_.engine.learn(outcome.object, c_.now.mono); }
  const bool waits = c_.now.mono < w->until;  // else its caller may have asked for another node since
  const bool read = done && waits && pending.purpose == Purpose::ReadForBind &&
                    c_.engine.cache().pod(pending.uid) != nullptr;
  // The pod is bound already and the watch has not said so, or another version of it: what there is decides.
  const bool conflict = waits && pending.purpose == Purpose::Bind && outcome.http == 409;
  if (read) {
    bind(*std::move(w));
  } else if (conflict) {
    const Mono at = std::min(w->until, c_.now.mono + kapi::retryWait(++w->conflicts, {}));
    binding_.tryLater(at, *std::move(w));
  } else if (done && pending.purpose == Purpose::Bind) {
    c_.answer(*w, Kind::Done);
  } else {
    c_.answer(*w, Kind::Failed,
              fmt::format("pod {}: {}", w->request.pod->key.text(), whyNotBound(pending, outcome)));
  }
}

}  // namespace gs::extender
