// A grant's way: reservation, annotations, and its end. Its calls are in writes.cc.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "extender/extender.h"
#include "extender/grants/metrics.h"
#include "kapi/retry_wait.h"
#include "sched/doors/vcuda.h"

namespace gs::extender {
namespace {

using Kind = Answer::Kind;

constexpr int kManyRewrites = 3;

std::uint64_t nanosecondsOf(Wall t) {
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(t.time_since_epoch()).count();
  return ns > 0 ? static_cast<std::uint64_t>(ns) : 0;
}

/// However often a pod was moved to and fro, it had those devices once.
void addOnce(sched::SharePicks& all, const sched::SharePicks& some) {
  if (std::search(all.begin(), all.end(), some.begin(), some.end()) != all.end()) { return; }
  all.insert(all.end(), some.begin(), some.end());
}

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

std::map<int, std::vector<int>> Extender::idsOf(const sched::SharePicks& picks) {
  std::map<int, std::vector<int>> ids;
  for (std::size_t i = 0; i < picks.size(); ++i) {
    if (!picks[i].ids.empty()) { ids[static_cast<int>(i)] = picks[i].ids; }
  }
  return ids;
}

Grant* Extender::grantOf(const model::Uid& uid) {
  const auto it = grants_.find(uid);
  return it == grants_.end() ? nullptr : &it->second;
}

Extender::Sizes Extender::grants() const {
  Sizes sizes;
  sizes.timers = due_.size();
  sizes.in_vain = chooser_.inVain();
  sizes.showed = troubles_.showed();
  for (const auto& [uid, grant] : grants_) {
    ++(grant.write.isWriting() ? sizes.writing : grant.write.isWritten() ? sizes.written : sizes.removing);
  }
  return sizes;
}

/// Under --compat=strict only bound pods count.
sched::GpuCharge Extender::chargeOf(const model::Pod& pod) const {
  return c_.config.strict ? sched::GpuCharge{} : sched::GpuCharge{pod.key.ns, sched::vcudaMilli(pod)};
}

/// The decision becomes the pod's grant, in the place of an earlier one.
void Extender::grant(Caller w, const model::Pod& pod, const sched::PodRequest& request,
                     const Answer& chosen) {
  const Candidates& c = w.request.candidates;
  const sched::NodeState node = chooser_.stateOf(c, chosen.chosen);
  Grant& g = grants_[pod.uid];
  c_.failAll(g.callers.takeForWrite(), "this pod was given another node since; ask again");
  if (!g.note.node.empty()) { addOnce(g.before[g.note.node], g.picks); }
  g.adopted = false;
  troubles_.isGiven(pod.uid);
  g.write.decided(troubles_.rejectionsOf(pod.uid));
  g.uid = pod.uid;
  g.pod = pod.key;
  g.picks = sched::picksOf(request.shares, *sched::fitShares(node, request));
  countIfUncertain(node, request);
  g.note = {node.node.name, idsOf(g.picks), nextTime(), false};
  reserve(g, pod);
  g.seen = w.request.pod;
  g.asked = c_.now.mono;
  g.turns.begin(c_.now.mono);
  g.promises = {};
  g.given_up.reset();
  w.answer = chosen;
  await(g, std::move(w));
  write(g);
}

/// It is answered once its pod's annotations are written; at once where no write of the namespace goes
/// through: until then its caller serves nobody else.
void Extender::await(Grant& g, Caller w) {
  const std::string* stuck = troubles_.stuckIn(g.pod.ns);
  const bool comes_too_late = g.write.hasFailed() && !g.write.isUnderWay() && g.write.due() >= w.until;
  if (stuck == nullptr && !comes_too_late) { return g.callers.awaitWrite(std::move(w)); }
  if (stuck == nullptr) { return c_.answer(w, Kind::Failed, notWrittenText(g.pod)); }
  g.write.nobodyWaits();
  c_.answer(
      w, Kind::Failed,
      fmt::format("the annotations of pod {} are not written yet, no write in its namespace goes through: "
                  "{}; ask again",
                  g.pod.text(), *stuck));
}

/// In a gang alone, and beside none of its members, it would have waited.
void Extender::countIfUncertain(const sched::NodeState& node, sched::PodRequest request) {
  if (request.gang.empty()) { return; }
  request.gang.clear();
  if (sched::fitShares(node, request)) { return; }
  c_.out.emplace_back(kapi::Metric{kapi::MetricOp::Add, kUncertainChoices, {}, 1});
}

/// Kubelets serve pods in this order, so no two are equal.
std::uint64_t Extender::nextTime() {
  last_time_ = std::max(nanosecondsOf(c_.now.wall), last_time_ + 1);
  return last_time_;
}

/// Its annotations are to be on the pod. Those of an earlier process are written again, so that a PATCH of it
/// that is still under way cannot take effect after somebody was answered.
void Extender::write(Grant& g) {
  if (std::exchange(g.adopted, false)) {
    g.note.time = nextTime();
    g.note.assigned = false;
  }
  g.contested.reset();
  g.write.begin();
  advance(g);
}

/// All that it has, and had before.
void Extender::reserve(Grant& g, const model::Pod& pod) {
  g.holds.clear();
  if (g.note.node.empty()) { return; }
  const std::string gang = pod.gang.empty() ? "" : fmt::format("{}/{}", pod.key.ns, pod.gang);
  sched::SharePicks here = g.picks;
  for (const auto& [node, picks] : g.before) {
    if (node == g.note.node) {
      here = picks;
      addOnce(here, g.picks);
    } else {
      reserveOn(g, node, picks, {}, gang);
    }
  }
  reserveOn(g, g.note.node, here, chargeOf(pod), gang);
}

void Extender::reserveOn(Grant& g, const model::NodeName& node, const sched::SharePicks& picks,
                         const sched::GpuCharge& charge, const std::string& gang) {
  if (c_.engine.ledger().isReserved(node, g.uid)) { return; }  // by gpu-scheduler
  g.holds.push_back(c_.engine.ledger().reserveShares(node, g.uid, picks, charge, gang));
}

/// Its node fits.
void Extender::tell(Grant& g, Caller w) {
  if (w.request.verb == Verb::Predicate) { g.turns.hold(c_.now.mono); }
  if (w.request.verb == Verb::Filter) { g.promises.made(w.request.pod->scheduled, c_.now.mono); }
  c_.answer(w, std::move(w.answer));
}

/// The same request again, of the same scheduler or another one.
void Extender::join(Grant& g, Caller w, std::size_t position) {
  w.answer = Answer{};
  w.answer.kind = Kind::Chosen;
  w.answer.chosen = position;
  if (g.write.isWritten()) {
    tell(g, std::move(w));
  } else {
    await(g, std::move(w));
    advance(g);  // somebody waits for it now
  }
}

void Extender::written(Grant& g, const model::Pod& pod) {
  g.write.written();
  g.noted = g.note;
  g.seen.reset();
  if (!asksFor(g, pod)) { return drop(g, pod); }
  if (!std::exchange(g.before, {}).empty()) { reserve(g, pod); }
  if (!g.callers.awaitWrite()) {
    lookWhetherGivenUp(g, pod);  // it may have been read, and say so already
  } else {
    g.told = pod.scheduled;  // was said before somebody asked who waits still
  }
  for (auto& w : g.callers.takeForWrite()) {
    if (w.request.verb == Verb::Bind) {
      bind(std::move(w));
    } else {
      tell(g, std::move(w));
    }
  }
  if (!g.write.isUnderWay()) { askAgain(g); }
}

// ---- The end

/// Its annotations are to go; the devices are free once they have.
void Extender::remove(Grant& g, bool idly) {
  if (g.write.isRemoving()) { return; }
  c_.failAll(g.callers.takeForWrite(), "what was reserved for this pod has been given up; ask again");
  if (idly) {
    g.write.removeIdly();
  } else {
    g.write.remove();
  }
  advance(g);
}

/// What was to be written is not: it has what its annotations say still, if we wrote them.
void Extender::restore(Grant& g) {
  const model::Uid uid = g.uid;
  const model::Pod* pod = c_.engine.cache().pod(uid);
  const bool had_some = !g.noted.node.empty() && pod != nullptr &&
                        model::readVcudaNote(pod->annotations, pod->share_limits.size()) == g.noted &&
                        asksFor(g, *pod);
  if (had_some) {
    g.note = g.noted;
    g.picks = sched::vcudaPicks(*pod);
    g.before.clear();
    g.write.stands();
    return reserve(g, *pod);
  }
  end(uid);
  if (pod != nullptr && claims(*pod)) { takeOff(*pod); }
}

void Extender::end(const model::Uid& uid) {
  const auto grant = grants_.extract(uid);
  slots_.forget(grant.mapped().pod.ns, uid);
  if (const auto due = grant.mapped().due) { due_.erase({*due, uid}); }
}

/// Requests that had to wait for a write of this pod.
void Extender::askAgain(Grant& g) {
  for (auto& w : g.callers.takeForDecision()) { place(std::move(w)); }
}

// ---- Reviews

void Extender::review(const model::Uid& uid) {
  const model::Pod* pod = c_.engine.cache().pod(uid);
  Grant* g = grantOf(uid);
  if (pod != nullptr && pod->bound()) { bound(g, *pod); }
  if (pod == nullptr || pod->bound() || pod->finished()) {
    taken_back_.erase(uid);
    troubles_.forget(uid);
    refusals_.forget(uid);
    chooser_.forget(uid);
    c_.log.forget(uid);
  }
  if (g == nullptr) {
    if (pod != nullptr && claims(*pod)) { takeOff(*pod); }
    return;
  }
  if (pod != nullptr && !pod->bound() && !pod->finished()) { return reviewUnbound(*g, *pod); }
  if (pod == nullptr && !c_.engine.cache().knownGone(uid)) { return; }  // its caller saw it before us
  auto waiting = g->callers.takeAll();
  const model::NodeName node = g->note.node;
  end(uid);  // what a bound pod holds, the engine knows
  for (auto& w : waiting) {
    if (pod == nullptr) {
      c_.answer(w, Kind::Failed, "the pod is gone");
    } else {
      place(std::move(w));  // it is bound: answered at once
    }
  }
}

/// Other schedulers' Bindings cannot be fenced: one may come after its reservation was ended, or for a node
/// that the pod had before it moved.
void Extender::bound(const Grant* g, const model::Pod& pod) {
  const bool late =
      g != nullptr && !g->write.isOrphan() ? g->note.node != pod.node : taken_back_.contains(pod.uid);
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
void Extender::changedByOthers(Grant& g) {
  if (g.contested) { return remove(g); }
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

/// Its scheduler said since its annotations were written that it is not scheduled.
void Extender::lookWhetherGivenUp(Grant& g, const model::Pod& pod) {
  if (!g.given_up && pod.scheduled.status == "False" && pod.scheduled != g.told) { g.given_up = c_.now.mono; }
}

void Extender::reviewUnbound(Grant& g, const model::Pod& pod) {
  if (c_.isOwnSchedulers(pod) || !asksFor(g, pod)) { return drop(g, pod); }
  const bool is_left = g.write.isOrphan() && !g.write.isUnderWay() && !g.write.isUnsettled();
  if (is_left && !g.callers.awaitDecision() && !claims(pod)) {
    return end(g.uid);  // they went by themselves
  }
  if (g.write.isWritten() && model::readVcudaNote(pod.annotations, pod.share_limits.size()) != g.note) {
    changedByOthers(g);
  }
  if (g.write.isWritten()) { lookWhetherGivenUp(g, pod); }
  advance(g);
}

// ---- Time

Mono Extender::dueOf(const Grant& g) {
  Mono due = g.callers.nextLate();
  if (g.write.isUnderWay()) { return due; }
  due = std::min(due, g.write.due());
  if (!g.write.isRemoving() && g.callers.empty()) { due = std::min(due, g.asked + kForgottenAfter); }
  if (g.write.isWritten()) {
    if (g.given_up) { due = std::min(due, *g.given_up + kGivenUpAfter); }
    if (g.contested) { due = std::min(due, *g.contested); }
  }
  return due;
}

/// After anything was done with this pod's grant.
void Extender::plan(const model::Uid& uid) {
  Grant* g = grantOf(uid);
  if (g == nullptr) { return; }
  const Mono due = dueOf(*g);
  if (g->due == due) { return; }
  if (g->due) { due_.erase({*g->due, uid}); }
  g->due = due;
  due_.emplace(due, uid);
}

std::optional<Mono> Extender::nextDue() const {
  Mono due = due_.empty() ? Mono::max() : due_.begin()->first;
  due = std::min(due, binding_.nextDue());
  if (taking_) { due = std::min(due, refusals_.nextDue().value_or(Mono::max())); }
  if (preemption_.next() != nullptr) { due = std::min(due, c_.now.mono); }
  return due == Mono::max() ? std::nullopt : std::optional{due};
}

void Extender::tick(Grant& g) {
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
  if (!g.write.isUnderWay() && (over || forgotten)) { remove(g, true); }
  goOn(uid);
}

void Extender::tick() {
  while (!due_.empty() && due_.begin()->first <= c_.now.mono) {
    const model::Uid uid = due_.extract(due_.begin()).value().second;
    Grant* g = grantOf(uid);
    if (g == nullptr) { continue; }  // it has ended since
    g->due.reset();
    tick(*g);
    plan(uid);
    if (Grant* still = grantOf(uid); still != nullptr && still->due && *still->due <= c_.now.mono) { break; }
  }
  while (auto w = binding_.takeDue(c_.now.mono)) { readForBind(*std::move(w)); }
  preemptSome();
}

void Extender::settle(Now now) {
  c_.now = now;
  const auto touched = c_.engine.takeTouchedShares();
  if (!leading_) { return; }
  for (const auto& uid : touched) {
    review(uid);
    plan(uid);
  }
  recheckQuotas();
  tick();
  tellTheNext();
  wakeSomebody();
}

}  // namespace gs::extender
