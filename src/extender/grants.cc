// A grant's way: reservation, annotations, and its end.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "extender/extender.h"
#include "extender/metrics.h"
#include "kapi/write.h"
#include "model/annotations.h"
#include "sched/doors/door.h"
#include "sched/quota.h"

namespace gs::extender {
namespace {

using Kind = Answer::Kind;

constexpr Duration kRetry = std::chrono::milliseconds{200};
constexpr Duration kSlowRetry = std::chrono::seconds{5};
constexpr int kRewrites = 3;                                // at once; then slowly
constexpr auto kClocksApart = std::chrono::minutes{5};      // those of replicas
constexpr Duration kCallTimeout = std::chrono::seconds{3};  // a waiting scheduler gives up after 5

std::uint64_t nanosecondsOf(Wall t) {
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(t.time_since_epoch()).count();
  return ns > 0 ? static_cast<std::uint64_t>(ns) : 0;
}

std::map<int, std::vector<int>> idsOf(const sched::SharePicks& picks) {
  std::map<int, std::vector<int>> ids;
  for (std::size_t i = 0; i < picks.size(); ++i) {
    if (!picks[i].ids.empty()) { ids[static_cast<int>(i)] = picks[i].ids; }
  }
  return ids;
}

/// However often a pod was moved to and fro, it had those devices once.
void addOnce(sched::SharePicks& all, const sched::SharePicks& some) {
  if (std::search(all.begin(), all.end(), some.begin(), some.end()) != all.end()) { return; }
  all.insert(all.end(), some.begin(), some.end());
}

/// Every container has as many devices as it asks for.
bool isComplete(const sched::SharePicks& picks) {
  return std::all_of(picks.begin(), picks.end(), [](const sched::SharePick& pick) {
    const bool is_share = pick.asked.milli > 0;
    const std::set<int> ids{pick.ids.begin(), pick.ids.end()};
    return static_cast<std::int64_t>(ids.size()) == (is_share ? 1 : pick.asked.whole) &&
           ids.size() == pick.ids.size();
  });
}

/// On the devices that its annotations name; when they name none any more, gpu-manager finds some.
bool fitsBesideOthers(const sched::NodeState& node, const model::Pod& pod) {
  const sched::SharePicks picks = sched::vcudaPicks(pod);
  if (isComplete(picks)) { return sched::haveRoom(node, pod.uid, picks); }
  std::vector<sched::ContainerShare> asked;
  for (const sched::SharePick& pick : picks) { asked.push_back(pick.asked); }
  return sched::tightestFit(sched::freeShares(node, pod.uid), asked).has_value();
}

bool isGone(const kapi::Outcome& outcome, const model::Uid& uid) {
  if (outcome.notFound()) { return true; }
  const auto* pod = std::get_if<model::PodPtr>(&outcome.object);
  return pod != nullptr && (*pod)->uid != uid;
}

}  // namespace

Extender::Grant* Extender::grantOf(const model::Uid& uid) {
  const auto it = grants_.find(uid);
  return it == grants_.end() ? nullptr : &it->second;
}

Extender::Sizes Extender::grants() const {
  Sizes sizes;
  sizes.timers = due_.size();
  for (const auto& [uid, grant] : grants_) {
    ++(grant.stage == Stage::Writing   ? sizes.writing
       : grant.stage == Stage::Written ? sizes.written
                                       : sizes.removing);
  }
  return sizes;
}

/// Under --compat=strict only bound pods count.
sched::GpuCharge Extender::chargeOf(const model::Pod& pod) const {
  return config_.strict ? sched::GpuCharge{} : sched::GpuCharge{pod.key.ns, sched::vcudaMilli(pod)};
}

/// The decision becomes the pod's grant, in the place of an earlier one.
void Extender::grant(Waiting w, const model::Pod& pod, const sched::PodRequest& request,
                     const Answer& chosen) {
  const Candidates& c = w.question.candidates;
  const sched::NodeState node = stateOf(c, chosen.chosen);
  taken_back_.erase(pod.uid);
  Grant& g = grants_[pod.uid];
  failAll(std::exchange(g.joined, {}), "this pod was given another node since; ask again");
  if (!g.note.node.empty()) { addOnce(g.before[g.note.node], g.picks); }
  g.uid = pod.uid;
  g.pod = pod.key;
  g.picks = sched::picksOf(request.shares, *sched::fitShares(node, request));
  g.note = {node.node.name, idsOf(g.picks), nextTime(), false};
  reserve(g, pod);
  g.seen = w.question.pod;
  g.asked = now_.mono;
  g.held_until = g.turn_until = now_.mono + kHeldForPredicate;
  g.rests_until = {};
  g.turns = 1;
  g.given_up.reset();
  w.answer = chosen;
  g.joined.push_back(std::move(w));
  write(g);
}

/// Kubelets serve pods in this order, so no two are equal.
std::uint64_t Extender::nextTime() {
  last_time_ = std::max(nanosecondsOf(now_.wall), last_time_ + 1);
  return last_time_;
}

/// Its annotations are to be on the pod. Those of an earlier process are written again, so that a PATCH of it that is still
/// under way cannot take effect after somebody was answered.
void Extender::write(Grant& g) {
  if (std::exchange(g.adopted, false)) {
    g.note.time = nextTime();
    g.note.assigned = false;
  }
  g.stage = Stage::Writing;
  g.failures = 0;
  g.not_before = {};
  advance(g);
}

/// An unbound pod with annotations and no grant: an earlier process of ours, or an ancestor, chose that.
void Extender::adopt(const model::Pod& pod) {
  const model::VcudaNote note = model::readVcudaNote(pod.annotations);
  if (note.node.empty() || pod.bound() || pod.finished() || !sched::wantsVcuda(pod)) { return; }
  Grant& g = grants_[pod.uid];
  g.uid = pod.uid;
  g.pod = pod.key;
  g.picks = sched::vcudaPicks(pod);
  g.note = note;
  reserve(g, pod);
  g.stage = Stage::Written;
  g.adopted = true;
  g.asked = now_.mono;
  g.held_until = now_.mono + kHeldForPredicate;  // some session of the earlier process may go on
  g.told = pod.scheduled;
  const std::uint64_t written = note.time.value_or(0);
  if (written <= nanosecondsOf(now_.wall + kClocksApart)) { last_time_ = std::max(last_time_, written); }
}

/// All that it has, and had before.
void Extender::reserve(Grant& g, const model::Pod& pod) {
  g.holds.clear();
  sched::SharePicks here = g.picks;
  for (const auto& [node, picks] : g.before) {
    if (node == g.note.node) {
      here = picks;
      addOnce(here, g.picks);
    } else {
      reserveOn(g, node, picks, {});
    }
  }
  reserveOn(g, g.note.node, here, chargeOf(pod));
}

void Extender::reserveOn(Grant& g, const model::NodeName& node, const sched::SharePicks& picks,
                         const sched::GpuCharge& charge) {
  if (engine_.ledger().isReserved(node, g.uid)) { return; }  // by gpu-scheduler
  g.holds.push_back(engine_.ledger().reserveShares(node, g.uid, picks, charge));
}

/// Its devices are there and have room for it beside all others. What we did not decide ourselves anybody may have written who
/// makes pods: it must be what could be decided now.
bool Extender::holdsUp(const Grant& g, const model::Pod& pod) {
  const sched::NodeState* node = engine_.ledger().find(g.note.node);
  if (node == nullptr || !isComplete(g.picks) || !sched::haveRoom(*node, g.uid, g.picks)) { return false; }
  if (!g.adopted) { return true; }
  const Aside own = setOwnAside(pod);
  return isAllowed(g, pod);
}

bool Extender::isAllowed(const Grant& g, const model::Pod& pod) const {
  const auto door = readDoor(pod);
  const auto* request = std::get_if<sched::PodRequest>(&door);
  const sched::NodeState* node = engine_.ledger().find(g.note.node);
  if (request == nullptr || node == nullptr || node->enforcer != sched::Enforcer::GpuManager) {
    return false;
  }
  return !request->quota || sched::passesQuota(node->node, request->quota->terms);
}

/// Its node fits.
void Extender::tell(Grant& g, Waiting w) {
  if (w.question.verb == Verb::Predicate) { g.held_until = now_.mono + kHeldForPredicate; }
  answer(w.ticket, std::move(w.answer));
}

/// The same question again, of the same scheduler or another one.
void Extender::join(Grant& g, Waiting w, std::size_t position) {
  w.answer = Answer{};
  w.answer.kind = Kind::Chosen;
  w.answer.chosen = position;
  if (g.stage == Stage::Written) {
    tell(g, std::move(w));
  } else {
    g.joined.push_back(std::move(w));
  }
}

// ---- Writes

void Extender::call(kapi::Call c, Purpose purpose, const model::Uid& uid) {
  c.token = kapi::makeToken(kOwner, next_++);
  c.timeout = kCallTimeout;
  c.guarded = c.verb != kapi::Verb::Get;
  if (c.guarded) { c.lane = "pod/" + uid.text; }
  calls_[c.token] = {purpose, uid};
  if (Grant* g = grantOf(uid); g != nullptr && purpose != Purpose::ReadForBind) { g->call = c.token; }
  out_.emplace_back(std::move(c));
}

/// The version that the next write is based on: the newest that is known.
const model::Pod* Extender::versionOf(const Grant& g) const {
  const model::Pod* known = engine_.cache().pod(g.uid);
  const model::Pod* seen = g.seen.get();
  return known == nullptr || (seen != nullptr && seen->revision > known->revision) ? seen : known;
}

/// The next write, unless one is under way.
void Extender::advance(Grant& g) {
  if (g.call != 0 || g.stage == Stage::Written || now_.mono < g.not_before) { return; }
  const model::Pod* pod = versionOf(g);
  if (g.read_first || pod == nullptr || pod->revision == 0) {
    return call(kapi::getObject(model::Kind::Pod, g.pod), Purpose::Read, g.uid);
  }
  if (pod->bound()) { return; }  // its review ends the grant
  if (g.stage == Stage::Writing) {
    const model::Annotations note = model::printVcudaNote(g.note);
    g.told = pod->scheduled;  // the PATCH is of this version
    return call(kapi::annotatePod(*pod, note, model::vcudaKeys(pod->annotations, note)), Purpose::Write,
                g.uid);
  }
  // With a PATCH that may still land something has to change, so that it cannot.
  model::Annotations fence;
  if (g.unsettled) { fence[model::kFenceKey] = rng_.uuid(); }
  call(kapi::annotatePod(*pod, fence, model::vcudaKeys(pod->annotations)), Purpose::Remove, g.uid);
}

bool Extender::handle(const kapi::Outcome& outcome, Now now) {
  if (kapi::tokenOwner(outcome.token) != kOwner) { return false; }
  now_ = now;
  const auto it = calls_.find(outcome.token);
  if (it == calls_.end()) { return true; }  // of an earlier term
  const Pending pending = it->second;
  calls_.erase(it);
  if (pending.purpose == Purpose::Bind || pending.purpose == Purpose::ReadForBind) {
    bindAnswered(pending, outcome);
    if (Grant* g = grantOf(pending.uid); g != nullptr && g->call == 0) { askAgain(*g); }
    if (Grant* still = grantOf(pending.uid)) { advance(*still); }
    plan(pending.uid);
    return true;
  }
  Grant* g = grantOf(pending.uid);
  if (g == nullptr || g->call != outcome.token) { return true; }
  g->call = 0;
  switch (pending.purpose) {
    case Purpose::Write: writeAnswered(*g, outcome); break;
    case Purpose::Remove: removeAnswered(*g, outcome); break;
    case Purpose::Read: readAnswered(*g, outcome); break;
    case Purpose::Bind:
    case Purpose::ReadForBind: break;
  }
  if (Grant* still = grantOf(pending.uid)) { advance(*still); }
  plan(pending.uid);
  return true;
}

void Extender::tryLater(Grant& g, Duration at_least) {
  const Duration wait = ++g.failures > 10 ? kSlowRetry : kRetry;
  g.not_before = now_.mono + std::max(wait, at_least);
}

/// What every write of ours may meet: true when it did not take effect, or may not have.
bool Extender::failed(Grant& g, const kapi::Outcome& outcome) {
  if (outcome.fate == kapi::Fate::Applied && std::holds_alternative<model::PodPtr>(outcome.object)) {
    g.unsettled = false;  // whatever was sent before carries a resourceVersion of the past
    g.failures = 0;
    return false;
  }
  if (outcome.fate == kapi::Fate::Refused && outcome.http != 429) {
    if (outcome.http == 409 || outcome.http == 404 || outcome.http == 422) {
      g.read_first = true;  // another version, another uid, or gone
      if (++g.failures > 3) { tryLater(g, {}); }
    } else {
      refused(g, fmt::format("cannot annotate pod {}: {} {}; the account needs patch on pods/status",
                             g.pod.text(), outcome.http, outcome.message));
    }
    return true;
  }
  if (outcome.fate != kapi::Fate::NotSent && outcome.http != 429) { g.unsettled = g.read_first = true; }
  tryLater(g, outcome.retry_after);
  return true;
}

/// The API server will not have it. What was never written needs no removal.
void Extender::refused(Grant& g, std::string why) {
  failAll(std::exchange(g.joined, {}), why);
  failAll(std::exchange(g.after, {}), why);
  out_.emplace_back(kapi::Log{kapi::Level::Error, std::move(why), {}});
  if (g.stage == Stage::Writing && !g.unsettled) {
    const model::Pod* pod = engine_.cache().pod(g.uid);
    end(g.uid);
    if (pod != nullptr) { adopt(*pod); }  // it may have annotations of an earlier decision
  } else {
    tryLater(g, kSlowRetry);
  }
}

void Extender::writeAnswered(Grant& g, const kapi::Outcome& outcome) {
  if (failed(g, outcome)) { return; }
  const auto& pod = std::get<model::PodPtr>(outcome.object);
  engine_.learn(outcome.object, now_.mono);
  if (g.stage == Stage::Writing && pod->uid == g.uid && !pod->bound()) {
    written(g, *pod);
  } else if (!g.after.empty()) {
    askAgain(g);
  }
}

void Extender::written(Grant& g, const model::Pod& pod) {
  g.stage = Stage::Written;
  g.seen.reset();
  if (!std::exchange(g.before, {}).empty()) { reserve(g, pod); }
  if (g.joined.empty()) {
    lookWhetherGivenUp(g, pod);  // it may have been read, and say so already
  } else {
    g.told = pod.scheduled;  // was said before somebody asked who waits still
  }
  for (auto& w : std::exchange(g.joined, {})) {
    if (w.question.verb == Verb::Bind) {
      bind(std::move(w));
    } else {
      tell(g, std::move(w));
    }
  }
  if (g.call == 0) { askAgain(g); }
}

void Extender::readAnswered(Grant& g, const kapi::Outcome& outcome) {
  if (isGone(outcome, g.uid)) {
    engine_.podGone(g.uid, now_.mono);
    return;  // its review ends the grant
  }
  const auto* pod = std::get_if<model::PodPtr>(&outcome.object);
  if (outcome.fate != kapi::Fate::Applied || pod == nullptr) { return tryLater(g, outcome.retry_after); }
  engine_.learn(outcome.object, now_.mono);
  g.read_first = false;
  if ((*pod)->bound()) { return; }
  if (g.stage == Stage::Writing && model::readVcudaNote((*pod)->annotations) == g.note) {
    g.unsettled = false;  // it has taken effect
    written(g, **pod);
  } else if (!g.after.empty()) {
    askAgain(g);
  }
}

// ---- The end

/// Its annotations are to go; the devices are free once they have.
void Extender::remove(Grant& g) {
  if (g.stage == Stage::Removing) { return; }
  failAll(std::exchange(g.joined, {}), "what was reserved for this pod has been given up; ask again");
  g.stage = Stage::Removing;
  g.failures = 0;
  g.not_before = {};
  advance(g);
}

void Extender::removeAnswered(Grant& g, const kapi::Outcome& outcome) {
  if (failed(g, outcome)) { return; }
  const auto& pod = std::get<model::PodPtr>(outcome.object);
  engine_.learn(outcome.object, now_.mono);
  if (pod->uid != g.uid || pod->bound()) { return; }
  auto after = std::move(g.after);
  taken_back_.insert(pod->uid);
  end(pod->uid);
  for (auto& w : after) { place(std::move(w)); }
}

void Extender::end(const model::Uid& uid) {
  const auto grant = grants_.extract(uid);
  if (const auto due = grant.mapped().due) { due_.erase({*due, uid}); }
}

void Extender::failAll(std::vector<Waiting> waiting, const std::string& why) {
  for (const auto& w : waiting) { answer(w.ticket, Kind::Failed, why); }
}

/// Questions that had to wait for a write of this pod.
void Extender::askAgain(Grant& g) {
  for (auto& w : std::exchange(g.after, {})) { place(std::move(w)); }
}

// ---- Reviews

void Extender::review(const model::Uid& uid) {
  const model::Pod* pod = engine_.cache().pod(uid);
  Grant* g = grantOf(uid);
  if (pod != nullptr && pod->bound()) { bound(g, *pod); }
  if (pod == nullptr || pod->bound() || pod->finished()) { taken_back_.erase(uid); }
  if (g == nullptr) {
    if (pod != nullptr && !pod->vcuda.empty()) { adopt(*pod); }
    return;
  }
  if (pod != nullptr && !pod->bound() && !pod->finished()) { return reviewUnbound(*g, *pod); }
  if (pod == nullptr && !engine_.cache().knownGone(uid)) { return; }  // its caller saw it before us
  auto waiting = std::move(g->joined);
  std::move(g->after.begin(), g->after.end(), std::back_inserter(waiting));
  const model::NodeName node = g->note.node;
  end(uid);  // what a bound pod holds, the engine knows
  for (auto& w : waiting) {
    if (pod == nullptr) {
      answer(w.ticket, Kind::Failed, "the pod is gone");
    } else {
      place(std::move(w));  // it is bound: answered at once
    }
  }
}

/// Other schedulers' Bindings cannot be fenced: one may come after its reservation was ended, or for a node that the pod had
/// before it moved.
void Extender::bound(const Grant* g, const model::Pod& pod) {
  const bool late = g != nullptr ? g->note.node != pod.node : taken_back_.contains(pod.uid);
  if (!late) { return; }
  out_.emplace_back(kapi::Metric{kapi::MetricOp::Add, kLateForeignBinds, {}, 1});
  const sched::NodeState* node = engine_.ledger().find(pod.node);
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

/// By hand, by what landed late, or by another extender, which does the same.
void Extender::changedByOthers(Grant& g) {
  g.stage = Stage::Writing;
  g.not_before = {};
  g.adopted = false;
  g.note.assigned = false;
  if (++g.changed_by_others <= kRewrites) { return; }
  g.not_before = now_.mono + kSlowRetry;
  out_.emplace_back(kapi::Log{
      kapi::Level::Warn,
      fmt::format(
          "somebody else changes the annotations of pod {} again and again; does a second extender run?",
          g.pod.text()),
      {}});
}

/// Its scheduler said since its annotations were written that it is not scheduled.
void Extender::lookWhetherGivenUp(Grant& g, const model::Pod& pod) {
  if (!g.given_up && pod.scheduled.status == "False" && pod.scheduled != g.told) { g.given_up = now_.mono; }
}

void Extender::reviewUnbound(Grant& g, const model::Pod& pod) {
  if (g.stage == Stage::Written && model::readVcudaNote(pod.annotations) != g.note) { changedByOthers(g); }
  if (g.stage == Stage::Written) { lookWhetherGivenUp(g, pod); }
  advance(g);
}

// ---- Time

Mono Extender::dueOf(const Grant& g) {
  Mono due = Mono::max();
  for (const auto* list : {&g.joined, &g.after}) {
    for (const auto& w : *list) { due = std::min(due, w.until); }
  }
  if (g.call == 0 && g.stage != Stage::Written) { due = std::min(due, g.not_before); }
  if (g.stage == Stage::Written && g.call == 0) {
    due = std::min(due, g.asked + kForgottenAfter);
    if (g.given_up) { due = std::min(due, *g.given_up + kGivenUpAfter); }
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
  return due_.empty() || due_.begin()->first == Mono::max() ? std::nullopt
                                                            : std::optional{due_.begin()->first};
}

void Extender::tick(Grant& g) {
  for (auto* list : {&g.joined, &g.after}) {
    const auto late = std::stable_partition(list->begin(), list->end(),
                                            [&](const Waiting& w) { return now_.mono < w.until; });
    failAll({std::make_move_iterator(late), std::make_move_iterator(list->end())},
            fmt::format("the annotations of pod {} are not written yet; ask again", g.pod.text()));
    list->erase(late, list->end());
  }
  const bool given_up = g.given_up && now_.mono >= *g.given_up + kGivenUpAfter;
  if (g.stage == Stage::Written && g.call == 0 && (given_up || now_.mono >= g.asked + kForgottenAfter)) {
    remove(g);
  }
  advance(g);
}

void Extender::tick() {
  while (!due_.empty() && due_.begin()->first <= now_.mono) {
    const model::Uid uid = due_.extract(due_.begin()).value().second;
    Grant* g = grantOf(uid);
    if (g == nullptr) { continue; }  // it has ended since
    g->due.reset();
    tick(*g);
    plan(uid);
    if (Grant* still = grantOf(uid); still != nullptr && still->due && *still->due <= now_.mono) { break; }
  }
}

void Extender::settle(Now now) {
  now_ = now;
  const auto touched = engine_.takeTouchedShares();
  if (!leading_) { return; }
  for (const auto& uid : touched) {
    review(uid);
    plan(uid);
  }
  tick();
}

}  // namespace gs::extender
