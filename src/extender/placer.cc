#include "extender/placer.h"

#include <fmt/format.h>

#include "extender/grants/metrics.h"

namespace gs::extender {
namespace {

using Kind = Answer::Kind;

}  // namespace

bool Placer::isAnswered(const Caller& w, const model::Pod& pod) {
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

void Placer::place(Caller w) {
  w.request.pod = c_.newest(w.request.pod);
  const model::PodPtr pod = w.request.pod;
  b_.wakes.refusals().asked(pod->uid);
  if (isAnswered(w, *pod)) { return; }
  Grant* grant = grants_.find(pod->uid);
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
  if (position && stands && b_.found.holdsUp(*grant, *pod) && !isTriedElsewhere(*grant, w, *pod)) {
    if (grant->adopted) { b_.writer.write(*grant); }
    return join(*grant, std::move(w), *position);
  }
  if (grant->write.isUnderWay() && !b_.writer.isShowing(*grant)) {
    grant->callers.awaitDecision(std::move(w));  // one write of a pod at a time
    return;
  }
  choose(std::move(w), *pod);
}

/// Of a pod that has a node, asked about one node after the other, in any order: false where this one was
/// told not to fit.
bool Placer::isTold(Grant& g, const Caller& w, bool its_node) {
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

/// Whether another candidate is to be tried, since nothing came of the node that it has, by that or by a
/// Binding that was refused there.
bool Placer::isTriedElsewhere(Grant& g, const Caller& w, const model::Pod& pod) {
  if (w.request.verb != Verb::Filter || !g.write.isWritten()) { return false; }
  b_.reviews.noteIfInVain(g, pod);
  if (!b_.chooser.isLeftOut(g.uid, g.note.node, c_.now.mono)) { return false; }
  const auto door = b_.chooser.requestOf(pod);
  const auto* request = std::get_if<sched::PodRequest>(&door);
  if (request == nullptr) { return false; }
  const Candidates& c = w.request.candidates;
  const Grants::Aside own = grants_.setAside(pod);
  const auto best = b_.chooser.bestInTurn(c, *request, g.uid, c_.now.mono);
  return best && nodeAt(c, *best) != g.note.node;
}

/// A decision. What the pod holds of an earlier one does not stand in its own way.
void Placer::choose(Caller w, const model::Pod& pod) {
  const Candidates& c = w.request.candidates;
  Grant* before = grants_.find(pod.uid);
  if (before != nullptr) { before->holds.clear(); }
  ShareChooser::Choice choice = b_.chooser.choose(c, pod, c_.now.mono);
  if (!choice.best) { return refuse(w, pod, std::move(choice)); }
  const auto fail = [&](std::string why) {
    if (before != nullptr) { grants_.reserve(*before, pod); }
    c_.answer(w, Kind::Failed, std::move(why));
  };
  if (c_.engine.ledger().isReserved(nodeAt(c, *choice.best), pod.uid)) {
    return fail(fmt::format("{} is being placed by gpu-scheduler", nameOf(pod)));
  }
  if (const std::string* why = b_.writer.troubles().rejectionOf(pod.uid, c_.now.mono)) { return fail(*why); }
  if (b_.writer.mustShow(before, pod)) { return showFirst(w, pod); }
  Answer& a = choice.answer;
  a.kind = Kind::Chosen;
  a.chosen = *choice.best;
  a.chosen_standing = *standingAt(a, c, *choice.best);
  grant(std::move(w), pod, *choice.request, a);
}

/// No candidate fits.
void Placer::refuse(const Caller& w, const model::Pod& pod, ShareChooser::Choice choice) {
  Answer& a = choice.answer;
  a.kind = Kind::Nowhere;
  if (choice.request && w.request.verb == Verb::Filter) {  // Volcano asks again by itself
    b_.wakes.refusals().refused(pod, *choice.request, w.request.candidates, a, c_.now.mono);
  }
  const bool others_follow = w.request.verb == Verb::Predicate;  // this node was one of many
  c_.answer(w, std::move(a));
  Grant* before = grants_.find(pod.uid);
  if (before == nullptr) { return; }
  grants_.reserve(*before, pod);
  if (!others_follow) { b_.writer.remove(*before); }  // the node that it had is none of those it may have now
  if (before->write.isOrphan() && before->write.hasFailed()) {  // each time that it was asked for, perhaps
    before->write.hurry();
    b_.writer.advance(*before);
  }
}

/// Its own write is to go through first: meanwhile others could have what it would be given.
void Placer::showFirst(const Caller& w, const model::Pod& pod) {
  const bool others_follow = w.request.verb == Verb::Predicate;
  c_.answer(w, Kind::Failed, b_.writer.notWrittenText(pod.key));
  Grant& g = grants_.of(pod.uid, pod.key);
  g.asked = c_.now.mono;
  if (wasTold(g)) {
    grants_.reserve(g, pod);
    if (!others_follow) { b_.writer.remove(g, true); }
  } else if (!g.write.isOrphan()) {
    g.seen = w.request.pod;
    c_.failAll(g.callers.takeForWrite(), b_.writer.notWrittenText(pod.key));
    b_.writer.letGo(g);
  }
  g.write.hurry();
  b_.writer.advance(g);
}

void Placer::look(const Caller& w) {
  const model::PodPtr pod = c_.newest(w.request.pod);
  if (isAnswered(w, *pod)) { return; }
  const Grants::Aside own = grants_.setAside(*pod);
  c_.answer(w, b_.chooser.look(w.request.candidates, *pod));
}

// ---- What was decided

/// The decision becomes the pod's grant, in the place of an earlier one.
void Placer::grant(Caller w, const model::Pod& pod, const sched::PodRequest& request, const Answer& chosen) {
  const sched::NodeState node = b_.chooser.stateOf(w.request.candidates, chosen.chosen);
  Grant& g = grants_.of(pod.uid, pod.key);
  c_.failAll(g.callers.takeForWrite(), "this pod was given another node since; ask again");
  Grants::moves(g);
  g.adopted = false;
  b_.writer.troubles().isGiven(pod.uid);
  g.write.decided(b_.writer.troubles().rejectionsOf(pod.uid));
  g.picks = sched::picksOf(request.shares, *sched::fitShares(node, request));
  countIfUncertain(node, request);
  g.note = {node.node.name, idsOf(g.picks), b_.writer.nextTime(), false};
  grants_.reserve(g, pod);
  g.seen = w.request.pod;
  g.asked = c_.now.mono;
  g.turns.begin(c_.now.mono);
  g.promises = {};
  g.given_up.reset();
  w.answer = chosen;
  await(g, std::move(w));
  b_.writer.write(g);
}

/// In a gang alone, and beside none of its members, it would have waited.
void Placer::countIfUncertain(const sched::NodeState& node, sched::PodRequest request) {
  if (request.gang.empty()) { return; }
  request.gang.clear();
  if (sched::fitShares(node, request)) { return; }
  c_.out.emplace_back(kapi::Metric{kapi::MetricOp::Add, kUncertainChoices, {}, 1});
}

/// The same request again, of the same scheduler or another one.
void Placer::join(Grant& g, Caller w, std::size_t position) {
  w.answer = Answer{};
  w.answer.kind = Kind::Chosen;
  w.answer.chosen = position;
  if (g.write.isWritten()) {
    tell(g, std::move(w));
  } else {
    await(g, std::move(w));
    b_.writer.advance(g);  // somebody waits for it now
  }
}

/// It is answered once its pod's annotations are written; at once where no write of the namespace goes
/// through: until then its caller serves nobody else.
void Placer::await(Grant& g, Caller w) {
  const std::string* stuck = b_.writer.troubles().stuckIn(g.pod.ns);
  const bool comes_too_late = g.write.hasFailed() && !g.write.isUnderWay() && g.write.due() >= w.until;
  if (stuck == nullptr && !comes_too_late) { return g.callers.awaitWrite(std::move(w)); }
  if (stuck == nullptr) { return c_.answer(w, Kind::Failed, b_.writer.notWrittenText(g.pod)); }
  g.write.nobodyWaits();
  c_.answer(w, Kind::Failed,
            fmt::format("the annotations of pod {} are not written yet, no write in its namespace goes "
                        "through: {}; ask again",
                        g.pod.text(), *stuck));
}

/// Its node fits.
void Placer::tell(Grant& g, Caller w) {
  if (w.request.verb == Verb::Predicate) { g.turns.hold(c_.now.mono); }
  if (w.request.verb == Verb::Filter) { g.promises.made(w.request.pod->scheduled, c_.now.mono); }
  c_.answer(w, std::move(w.answer));
}

void Placer::written(Grant& g, const model::Pod& pod) {
  g.write.written();
  g.noted = g.note;
  g.seen.reset();
  if (!asksFor(g, pod)) { return b_.reviews.drop(g, pod); }
  if (!std::exchange(g.before, {}).empty()) { grants_.reserve(g, pod); }
  if (!g.callers.awaitWrite()) {
    b_.reviews.lookWhetherGivenUp(g, pod);  // it may have been read, and say so already
  } else {
    g.told = pod.scheduled;  // was said before somebody asked who waits still
  }
  for (auto& w : g.callers.takeForWrite()) {
    if (w.request.verb == Verb::Bind) {
      b_.bindings.bind(std::move(w));
    } else {
      tell(g, std::move(w));
    }
  }
  if (!g.write.isUnderWay()) { b_.coordinator.placeAll(g.callers.takeForDecision()); }
}

}  // namespace gs::extender
