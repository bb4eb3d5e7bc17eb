#include "extender/reviews.h"

#include <fmt/format.h>

#include "extender/grants/metrics.h"
#include "sched/doors/vcuda.h"

namespace gs::extender {
namespace {

using Kind = Answer::Kind;

constexpr int kManyRewrites = 3;

/// On the devices that its annotations name, of whole GPUs on any; when they name none any more, gpu-manager
/// finds some.
bool fitsBesideOthers(const sched::NodeState& node, const model::Pod& pod) {
  const sched::SharePicks picks = sched::movedToUntouched(node, pod.uid, sched::vcudaPicks(pod));
  if (sched::isComplete(picks)) { return sched::haveRoom(node, pod.uid, picks); }
  std::vector<sched::ContainerShare> asked;
  for (const sched::SharePick& pick : picks) { asked.push_back(pick.asked); }
  return sched::tightestFit(sched::freeShares(node, pod.uid), asked).has_value();
}

}  // namespace

void Reviews::review(const model::Uid& uid) {
  const model::Pod* pod = c_.engine.cache().pod(uid);
  Grant* g = grants_.find(uid);
  if (pod != nullptr && pod->bound()) { bound(g, *pod); }
  if (pod == nullptr || pod->bound() || pod->finished()) {
    b_.writer.forget(uid);
    b_.wakes.refusals().forget(uid);
    b_.chooser.forget(uid);
    c_.log.forget(uid);
  }
  if (g == nullptr) {
    if (pod != nullptr) { b_.found.takeOff(*pod); }
    return;
  }
  if (pod != nullptr && !pod->bound() && !pod->finished()) { return reviewUnbound(*g, *pod); }
  if (pod == nullptr && !c_.engine.cache().knownGone(uid)) { return; }  // its caller saw it before us
  auto waiting = g->callers.takeAll();
  b_.writer.end(uid);  // what a bound pod holds, the engine knows
  if (pod == nullptr) { return c_.failAll(waiting, "the pod is gone"); }
  b_.coordinator.placeAll(std::move(waiting));  // it is bound: answered at once
}

/// Other schedulers' Bindings cannot be fenced: one may come after its reservation was ended, or for a node
/// that the pod had before it moved.
void Reviews::bound(const Grant* g, const model::Pod& pod) {
  const bool late =
      g != nullptr && !g->write.isOrphan() ? g->note.node != pod.node : b_.writer.hasTakenBack(pod.uid);
  if (!late) { return; }
  c_.out.emplace_back(kapi::Metric{kapi::MetricOp::Add, kLateForeignBinds, {}, 1});
  const sched::NodeState* node = c_.engine.ledger().find(pod.node);
  if (node != nullptr && fitsBesideOthers(*node, pod)) { return; }
  notes_.push_back({.object = pod.key,
                    .uid = pod.uid,
                    .revision = pod.revision,
                    .warning = true,
                    .reason = "LateForeignBinding",
                    .action = "Binding",
                    .note = fmt::format("Bound to {} by its scheduler after its GPU shares were given up; "
                                        "they are held by other pods as well. Delete one of the pods.",
                                        pod.node.text)});
}

/// By hand, by what landed late, or by another extender, which does the same. Once it is mended at once, then
/// ever more slowly.
void Reviews::changedByOthers(Grant& g) {
  if (g.contested) { return b_.writer.remove(g); }
  g.adopted = false;
  g.note.assigned = false;
  if (g.write.changedByOthers(c_.now.mono) <= kManyRewrites) { return; }
  c_.out.emplace_back(kapi::Log{
      kapi::Level::Warn,
      fmt::format(
          "somebody else changes the annotations of pod {} again and again; does a second extender run?",
          g.pod.text()),
      {}});
}

void Reviews::lookWhetherGivenUp(Grant& g, const model::Pod& pod) const {
  if (!g.given_up && pod.scheduled->status == "False" && !(pod.scheduled == g.told)) {
    g.given_up = c_.now.mono;
  }
}

void Reviews::reviewUnbound(Grant& g, const model::Pod& pod) {
  if (c_.isOwnSchedulers(pod) || !asksFor(g, pod)) { return drop(g, pod); }
  const bool is_left = g.write.isOrphan() && !g.write.isUnderWay() && !g.write.isUnsettled();
  if (is_left && !g.callers.awaitDecision() && !b_.found.isNoted(pod)) {
    return b_.writer.end(g.uid);  // they went by themselves
  }
  if (g.write.isWritten() && noteOn(pod) != g.note) { changedByOthers(g); }
  if (g.write.isWritten()) { lookWhetherGivenUp(g, pod); }
  b_.writer.advance(g);
}

void Reviews::drop(Grant& g, const model::Pod& pod) {
  const bool own = c_.isOwnSchedulers(pod);
  const std::string why =
      own ? c_.ownSchedulersText(pod) : "the request says other limits than the pod has; ask again";
  c_.failAll(g.callers.takeAll(), why);
  g.seen.reset();
  const bool unwritten =
      g.write.isWriting() && !g.write.isUnsettled() && !g.write.isUnderWay() && g.noted.node.empty();
  if (own || unwritten) { return b_.writer.end(g.uid); }
  b_.writer.remove(g);
}

void Reviews::noteIfInVain(Grant& g, const model::Pod& pod) {
  if (!b_.chooser.gangOf(pod).empty() || !g.promises.inVain(pod.scheduled)) { return; }
  b_.chooser.triedInVain(g.uid, g.note.node, false, c_.now.mono);
  g.promises = {};
}

void Reviews::tick(Grant& g) {
  const model::Uid uid = g.uid;  // the grant may end
  const model::Pod* pod = c_.engine.cache().pod(uid);
  if (pod != nullptr && pod->bound()) { return review(uid); }  // one that asks for no GPU had none
  c_.failAll(g.callers.takeLate(c_.now.mono),
             fmt::format("the annotations of pod {} are not written yet; ask again", g.pod.text()));
  const bool given_up = g.given_up && c_.now.mono >= *g.given_up + kGivenUpAfter;
  const bool over = g.write.isWritten() && (given_up || (g.contested && c_.now.mono >= *g.contested));
  const bool forgotten =
      !g.write.isRemoving() && g.callers.empty() && c_.now.mono >= g.asked + kForgottenAfter;
  if (given_up && pod != nullptr) { noteIfInVain(g, *pod); }
  if (!g.write.isUnderWay() && (over || forgotten)) { b_.writer.remove(g, true); }
  b_.writer.goOn(uid);
}

}  // namespace gs::extender
