#include "scheduler/preempt/preemptor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "base/mutant.h"
#include "kapi/kinds.h"
#include "kapi/write.h"
#include "sched/placement/fit.h"
#include "sched/preemption/request_if.h"
#include "scheduler/core/metrics.h"

namespace gs::scheduler {
namespace {

/// Whose priority lets others go for a pod of this one: only lower ones do.
std::int32_t goesBelow(const model::Pod& pod) {
  return GS_MUTANT(PreemptsEquals) ? pod.priority + 1 : pod.priority;
}

/// For a search: the pod for which others may go.
model::PodPtr asImportant(const model::PodPtr& pod) {
  if (goesBelow(*pod) == pod->priority) { return pod; }
  model::Pod raised = *pod;
  raised.priority = goesBelow(*pod);
  return std::make_shared<const model::Pod>(std::move(raised));
}

}  // namespace

Preemptor::Preemptor(Context& context, Beside beside)
    : c_{context},
      b_{std::move(beside)},
      residents_{context.engine.residents()},
      search_{{context.engine.ledger(), residents_, context.engine.budgets(), nominations_,
               context.engine.podsThere()}},
      calls_{context.parts.add(*this)} {
  c_.engine.keepResidents();
}

model::PodPtr Preemptor::podOf(const model::Uid& uid) const {
  const auto it = c_.cache().pods().find(uid);
  return it == c_.cache().pods().end() ? nullptr : it->second;
}

std::optional<model::NodeName> Preemptor::nominatedTo(const model::Uid& uid) const {
  const auto it = cycles_.find(uid);
  return it == cycles_.end() ? std::nullopt : std::optional{it->second.node};
}

std::string Preemptor::saidOf(const model::Uid& uid) const {
  const auto it = cycles_.find(uid);
  return it == cycles_.end() ? std::string{} : it->second.said;
}

bool Preemptor::admits(const sched::NodeState& node, const model::Pod& pod,
                       const sched::PodRequest& request) const {
  const auto before =
      sched::awaitedBefore(nominations_, c_.engine.ledger(), node.node.name, pod.uid, pod.priority);
  if (before.empty() || GS_MUTANT(TakesKeptRoom)) { return true; }
  sched::RequestIf asked{request, node, c_.engine.podsThere()};
  for (const auto* other : before) {
    if (other->pod != nullptr) { asked.come(*other->pod, pod); }
  }
  return !asked.isKeptAway() && sched::fitsOn(sched::withNominated(node, before), asked.request(), pod.uid);
}

std::vector<model::NodeName> Preemptor::keptFrom(const model::Pod& pod,
                                                 const sched::PodRequest& request) const {
  std::vector<model::NodeName> out;
  for (auto& name : nominations_.nodes()) {
    const auto* node = c_.engine.ledger().find(name);
    if (node == nullptr || !sched::fitsOn(*node, request, pod.uid)) { continue; }
    if (!admits(*node, pod, request)) { out.push_back(std::move(name)); }
  }
  return out;
}

void Preemptor::wanted(const model::Pod& pod) {
  if (!pod.preempts && !GS_MUTANT(PreemptsPolitely)) { return; }
  if (!residents_.anyBelow(goesBelow(pod))) { return; }
  if (cycles_.contains(pod.uid) || searching_ == pod.uid) { return; }
  if (tried_.due(pod.uid, c_.now.mono)) { waiting_.insert(turnOf(pod)); }
}

void Preemptor::consider(const model::Pod& pod) {
  touch(pod.uid);
  if (pod.bound() || pod.nominated.empty() || cycles_.contains(pod.uid) || calls_.open(pod.uid)) { return; }
  if (!tried_.due(pod.uid, c_.now.mono) || b_.is_being_placed(pod.uid)) { return; }
  const auto asks = b_.asks(pod);
  if (!asks) { return nominate(pod, {}, Purpose::Clear); }
  if (cycles_.size() < kAtOnce) { begin(pod, pod.nominated, *asks); }
}

void Preemptor::theirs(const model::Pod& pod) {
  if (pod.nominated.empty() || pod.deleting) { return nominations_.remove(pod.uid); }
  const auto* known = nominations_.of(pod.uid);
  const bool is_same = known != nullptr && known->node == pod.nominated && known->priority == pod.priority &&
                       known->pod != nullptr && known->pod->revision == pod.revision;
  if (is_same) { return; }
  sched::PodRequest request;
  request.resources = pod.requests;
  request.host_ports = pod.host_ports;
  const std::int64_t gpus = pod.requests.get(model::kNvidiaGpu);
  if (gpus > 0) {
    request.devices.emplace();
    request.devices->count = gpus;
  }
  nominations_.put({pod.uid, pod.nominated, pod.priority, std::move(request), 0, podOf(pod.uid)});
}

/// Whose node has other pods now is to be looked at.
void Preemptor::noteResidents() {
  const auto& changes = residents_.changes();
  const bool is_late = residents_position_ < changes.begin();
  for (auto at = std::max(residents_position_, changes.begin()); at < changes.end(); ++at) {
    if (cycles_.empty()) { break; }
    touchAllOn(changes.at(at));
  }
  residents_position_ = changes.end();
  if (!is_late) { return; }
  for (auto& [uid, cycle] : cycles_) { cycle.is_touched = true; }
}

/// Those with something to do, in turn: the next event goes on after the last one.
std::vector<model::Uid> Preemptor::dueCycles() {
  std::vector<model::Uid> due;
  for (auto& [uid, cycle] : cycles_) {
    const auto* node = c_.engine.ledger().find(cycle.node);
    const std::uint64_t version =
        node == nullptr ? 0 : std::max(static_cast<std::uint64_t>(node->version), node->closed_version);
    if (std::exchange(cycle.looked_at, version) != version) { cycle.is_touched = true; }
    if (cycle.is_touched) { due.push_back(uid); }
  }
  std::rotate(due.begin(), std::upper_bound(due.begin(), due.end(), last_), due.end());
  return due;
}

void Preemptor::work() {
  noteResidents();
  const std::uint64_t until = search_.cost() + kCostPerTurn;
  is_behind_ = false;
  for (const auto& uid : dueCycles()) {
    const auto cycle = cycles_.find(uid);
    if (cycle == cycles_.end()) { continue; }
    is_behind_ = search_.cost() >= until;
    if (is_behind_) { return; }
    last_ = uid;
    cycle->second.is_touched = false;
    advance(uid, cycle->second);
  }
  searchSome();
}

void Preemptor::searchSome() {
  const std::uint64_t until = search_.cost() + kCostPerTurn;
  for (int left = kMostPerTurn; left > 0 && search_.cost() < until; --left) {
    if (!searching_ && !beginSearch()) {
      if (!mayBegin()) { return; }
      continue;
    }
    if (!search_.work(until - search_.cost())) { return; }
    endSearch();
  }
}

/// False: not for the first of those that wait.
bool Preemptor::beginSearch() {
  if (!mayBegin()) { return false; }
  const model::Uid uid = std::get<2>(*waiting_.begin());
  waiting_.erase(waiting_.begin());
  const auto pod = podOf(uid);
  auto asks = pod != nullptr && !pod->bound() && !pod->deleting ? b_.asks(*pod) : std::nullopt;
  if (!asks || b_.is_being_placed(uid) || b_.fits_now(*pod)) { return false; }
  if (hasNobody(*pod, *asks)) {
    tried_.tried(uid, c_.now.mono);
    return false;
  }
  c_.count(kPreemptionAttempts);
  searching_ = uid;
  nobody_ = nobodyFor(*pod, *asks);  // until somebody is found
  search_.begin({asImportant(pod), std::move(asks->request), asks->milli, std::move(asks->quota)});
  return true;
}

void Preemptor::endSearch() {
  const model::Uid uid = *std::exchange(searching_, std::nullopt);
  const auto& best = search_.best();
  if (best) { nobody_.reset(); }
  const auto pod = podOf(uid);
  if (pod == nullptr || pod->bound() || pod->deleting) { return; }
  const auto asks = b_.asks(*pod);
  if (!best || !asks) {
    tried_.tried(uid, c_.now.mono);
    return;
  }
  begin(*pod, c_.engine.ledger().at(best->node).node.name, *asks);
}

Preemptor::Nobody Preemptor::nobodyFor(const model::Pod& pod, const Asks& asks) const {
  const auto& ledger = c_.engine.ledger();
  const std::uint64_t volumes = asks.request.volumes == nullptr ? 0 : asks.request.volumes->moment();
  return {asks.request,
          asks.milli,
          pod.key.ns,
          pod.priority,
          {ledger.changes().end(), ledger.closings().end(), ledger.wideChanges(), ledger.gpuUseVersion(),
           residents_.changes().end(), nominations_.version(), volumes}};
}

/// As was found a moment ago for one that asks for the same and is as important.
bool Preemptor::hasNobody(const model::Pod& pod, const Asks& asks) const {
  if (!nobody_ || nobody_->priority < pod.priority || nobody_->ns != pod.key.ns) { return false; }
  const Nobody now = nobodyFor(pod, asks);
  return nobody_->moments == now.moments && nobody_->milli == now.milli && nobody_->request == now.request;
}

void Preemptor::begin(const model::Pod& pod, const model::NodeName& node, const Asks& asks) {
  const auto less_important = nominations_.below(node, pod.priority);
  nominations_.put({pod.uid, node, pod.priority, asks.request, asks.milli, podOf(pod.uid)});
  Cycle cycle;
  cycle.node = node;
  cycle.fence = fenceOf(pod);
  cycle.since = c_.now.mono;
  cycles_.insert_or_assign(pod.uid, std::move(cycle));
  for (const auto& uid : less_important) {
    giveUp(uid, "a pod of higher priority was nominated to its node");
  }
}

bool Preemptor::awaits(const Cycle& cycle, const model::Pod& pod) const {
  if (c_.now.mono < cycle.since + kAwaited) { return true; }
  const auto& there = residents_.on(cycle.node);
  return std::any_of(there.begin(), there.end(), [&](const auto& one) {
    const model::Pod& other = *one.second;
    return other.priority < pod.priority && other.deleting && other.preempted;
  });
}

PreemptionFacts Preemptor::factsOf(Cycle& cycle, const model::PodPtr& pod,
                                   std::optional<sched::Candidate>& there) {
  PreemptionFacts facts;
  const bool is_the_same = pod != nullptr && !pod->bound() && !pod->deleting && fenceOf(*pod) == cycle.fence;
  if (is_the_same && b_.is_being_placed(pod->uid)) {
    facts.waits = facts.fits_now = true;
    return facts;
  }
  auto asks = is_the_same ? b_.asks(*pod) : std::nullopt;
  facts.waits = asks.has_value();
  if (!facts.waits) { return facts; }
  facts.fits_now = b_.fits_now(*pod);
  facts.nominated = pod->nominated == cycle.node;
  const auto node = c_.engine.ledger().indexOf(cycle.node);
  if (facts.fits_now || !node) { return facts; }
  there = search_.lookAt(
      {asImportant(pod), std::move(asks->request), asks->milli, std::move(asks->quota), awaits(cycle, *pod)},
      *node);
  facts.has_room = there.has_value();
  facts.all_go =
      there && std::all_of(there->victims.begin(), there->victims.end(), [&](const auto& victim) {
        return nextStep(*victim, false, cycle.deleted.contains(victim->uid)) == VictimStep::Nothing;
      });
  return facts;
}

void Preemptor::advance(const model::Uid& uid, Cycle& cycle) {
  const model::PodPtr pod = podOf(uid);
  std::optional<sched::Candidate> there;
  const PreemptionFacts facts = factsOf(cycle, pod, there);
  switch (nextStep(facts)) {
    case PreemptionStep::GiveUp: return giveUp(uid, whyGivenUp(facts));
    case PreemptionStep::Nominate: return nominate(*pod, cycle.node, Purpose::Nominate);
    case PreemptionStep::Evict:
      if (!std::exchange(cycle.is_counted, true)) {
        c_.out.emplace_back(kapi::Metric{
            kapi::MetricOp::Observe, kPreemptionVictims, {}, static_cast<double>(there->victims.size())});
      }
      say(uid, cycle, there->victims);
      for (const auto& victim : there->victims) {
        cycle.is_touched = calls_.underWay() >= kWritesAtOnce;
        if (cycle.is_touched) { return; }  // an answer of another one is an event
        evict(*victim, *pod, cycle);
      }
      return;
    case PreemptionStep::Wait: return say(uid, cycle, there->victims);
    case PreemptionStep::Place: return;
  }
}

void Preemptor::nominate(const model::Pod& pod, const model::NodeName& node, Purpose purpose) {
  if (!calls_.due(pod.uid, c_.now.mono) || b_.is_being_written(pod.uid)) { return; }
  c_.sendAbout(pod.uid, kapi::nominatePod(pod, node), calls_.begin(pod.uid, {purpose, pod.uid}));
}

void Preemptor::evict(const model::Pod& victim, const model::Pod& pod, const Cycle& cycle) {
  const model::Uid& uid = victim.uid;
  if (!calls_.due(uid, c_.now.mono)) { return; }
  switch (nextStep(victim, cycle.marked.contains(uid), cycle.deleted.contains(uid))) {
    case VictimStep::Nothing: return;
    case VictimStep::Mark:
      return c_.sendAbout(uid, kapi::markPreempted(victim, pod.scheduler_name, c_.now.wall),
                          calls_.begin(uid, {Purpose::Mark, pod.uid}));
    case VictimStep::Delete:
      return c_.sendAbout(uid, kapi::deletePod(victim.key, uid),
                          calls_.begin(uid, {Purpose::Delete, pod.uid}));
  }
}

void Preemptor::handle(const kapi::Outcome& outcome, Now now, kapi::Effects& /*out*/) {
  const auto call = calls_.answered(outcome.token);
  if (!call) { return; }
  touch(call->what.pod);
  const bool is_applied = outcome.result == kapi::CallResult::Applied;
  const auto answered = outcome.object.as<model::Pod>();
  if (is_applied && answered != nullptr && answered->uid == call->key) {
    c_.engine.learn(outcome.object, now.mono);
  }
  const auto cycle = cycles_.find(call->what.pod);
  const bool has_cycle = cycle != cycles_.end();
  if (is_applied && call->what.purpose == Purpose::Delete) {
    tellOf(call->key, call->what);
    if (has_cycle) { cycle->second.deleted.insert(call->key); }
  }
  if (call->stale) { return; }
  c_.reconciles.add(call->key);
  // A server that does not write down the node is asked again later.
  const bool is_ignored = is_applied && call->what.purpose == Purpose::Nominate && has_cycle &&
                          (answered == nullptr || answered->nominated != cycle->second.node);
  if (!is_applied || is_ignored) {
    if (outcome.notFound()) { c_.engine.podGone(call->key, now.mono); }
    calls_.failed(call->key, now.mono, outcome.retry_after);
    return;
  }
  calls_.worked(call->key);
  if (call->what.purpose == Purpose::Mark && has_cycle) { cycle->second.marked.insert(call->key); }
}

/// As kube-scheduler says it.
void Preemptor::tellOf(const model::Uid& victim, const What& what) {
  const auto pod = podOf(victim);
  const auto node = nominatedTo(what.pod);
  if (pod == nullptr) { return; }
  const std::string note =
      fmt::format("Preempted by pod {} on node {}", what.pod.text, node ? node->text : pod->node.text);
  c_.events.send({kapi::kPod, pod->key, victim, pod->revision, false, "Preempted", "Preempting", note},
                 c_.now, c_.out);
  c_.log(kapi::Level::Info, "a pod was told to go for one of higher priority",
         {{"pod", pod->key.text()}, {"node", pod->node.text}, {"for", what.pod.text}});
}

/// Who goes already is not asked for any more, and is named all the same.
void Preemptor::say(const model::Uid& uid, Cycle& cycle, const std::vector<model::PodPtr>& victims) {
  constexpr std::size_t kNamed = 5;
  std::vector<std::string> names;
  names.reserve(victims.size());
  for (const auto& victim : victims) { names.push_back(victim->key.text()); }
  for (const auto& [other, pod] : residents_.on(cycle.node)) {
    const bool is_named = std::find(names.begin(), names.end(), pod->key.text()) != names.end();
    if (pod->deleting && !is_named) { names.push_back(pod->key.text()); }
  }
  const std::size_t all = names.size();
  std::sort(names.begin(), names.end());
  names.resize(std::min(all, kNamed));
  std::string text = fmt::format("Nominated to node {}, where", cycle.node.text);
  if (all == 0) {
    text += " what it needs is about to be free.";
  } else {
    text += fmt::format(" it waits for the end of {}{}.", fmt::join(names, ", "),
                        all > kNamed ? fmt::format(" and {} more", all - kNamed) : "");
  }
  if (std::exchange(cycle.said, text) != text) { said_.insert(uid); }
}

void Preemptor::touch(const model::Uid& pod) {
  const auto cycle = cycles_.find(pod);
  if (cycle != cycles_.end()) { cycle->second.is_touched = true; }
}

void Preemptor::touchAllOn(const model::NodeName& node) {
  for (auto& [uid, cycle] : cycles_) { cycle.is_touched = cycle.is_touched || cycle.node == node; }
}

void Preemptor::giveUp(const model::Uid& uid, const char* why) {
  const auto cycle = cycles_.find(uid);
  if (cycle == cycles_.end()) { return nominations_.remove(uid); }
  const model::NodeName node = cycle->second.node;
  if (!cycle->second.said.empty()) { said_.insert(uid); }
  cycles_.erase(cycle);
  nominations_.remove(uid);
  tried_.tried(uid, c_.now.mono);
  c_.log(kapi::Level::Info, "room is not made for a pod any more",
         {{"uid", uid.text}, {"node", node.text}, {"why", why}});
  const auto pod = podOf(uid);
  if (pod != nullptr && !pod->bound() && !pod->deleting && !pod->nominated.empty()) {
    nominate(*pod, {}, Purpose::Clear);
  }
}

/// Of it as of one for which others go. It may be a victim of another one's: what is written to it goes on.
void Preemptor::forget(const model::Uid& uid) {
  if (!waiting_.empty()) {
    if (const auto pod = podOf(uid)) { waiting_.erase(turnOf(*pod)); }
  }
  if (searching_ == uid) {
    searching_.reset();
    nobody_.reset();  // that is not known
  }
  cycles_.erase(uid);
  nominations_.remove(uid);
  tried_.forget(uid);
  said_.erase(uid);
}

void Preemptor::tick(Now now, kapi::Effects& /*out*/) {
  for (const auto& uid : calls_.takeDue(now.mono)) {
    touch(uid);
    if (const auto pod = podOf(uid)) { touchAllOn(pod->node); }  // a victim's
    c_.reconciles.add(uid);
  }
  for (const auto& uid : tried_.takeDue(now.mono)) {
    const auto pod = podOf(uid);
    if (pod == nullptr || pod->bound()) { continue; }
    consider(*pod);
    wanted(*pod);
  }
  for (auto& [uid, cycle] : cycles_) {
    if (cycle.is_long || now.mono < cycle.since + kAwaited) { continue; }
    cycle.is_long = cycle.is_touched = true;
  }
}

std::optional<Mono> Preemptor::nextDue() const {
  auto due = sooner(calls_.nextDue(), tried_.nextDue());
  for (const auto& [uid, cycle] : cycles_) {
    if (!cycle.is_long) { due = sooner(due, cycle.since + kAwaited); }
  }
  return due;
}

/// Whoever leads next goes on from what the pods' objects say.
void Preemptor::reset() {
  nominations_.clear();
  cycles_.clear();
  waiting_.clear();
  searching_.reset();
  nobody_.reset();
  said_.clear();
  is_behind_ = false;
  calls_.reset();
  tried_.reset();
}

}  // namespace gs::scheduler
