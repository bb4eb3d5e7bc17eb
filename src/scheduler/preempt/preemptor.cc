#include "scheduler/preempt/preemptor.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "kapi/kinds.h"
#include "kapi/write.h"
#include "sched/placement/fit.h"

namespace gs::scheduler {

Preemptor::Preemptor(Context& context, Beside beside)
    : c_{context},
      b_{std::move(beside)},
      search_{{context.engine.ledger(), residents_, budgets_, nominations_}},
      calls_{context.parts.add(*this)} {}

model::PodPtr Preemptor::podOf(const model::Uid& uid) const {
  const auto it = c_.cache().pods().find(uid);
  return it == c_.cache().pods().end() ? nullptr : it->second;
}

std::optional<model::NodeName> Preemptor::nominatedTo(const model::Uid& uid) const {
  const auto it = cycles_.find(uid);
  return it == cycles_.end() ? std::nullopt : std::optional{it->second.node};
}

bool Preemptor::admits(const sched::NodeState& node, const model::Pod& pod,
                       const sched::PodRequest& request) const {
  const auto before = nominations_.before(node.node.name, pod.uid, pod.priority);
  return before.empty() || sched::fitsOn(sched::withNominated(node, before), request, pod.uid);
}

void Preemptor::podSeen(const model::PodPtr& pod) {
  residents_.put(pod);
  touchAllOn(pod->node);
}

void Preemptor::wanted(const model::Pod& pod) {
  if (!pod.preempts || cycles_.contains(pod.uid) || searching_ == pod.uid) { return; }
  if (tried_.due(pod.uid, c_.now.mono)) { waiting_.insert(turnOf(pod)); }
}

void Preemptor::consider(const model::Pod& pod) {
  touch(pod.uid);
  if (pod.bound() || pod.nominated.empty() || cycles_.contains(pod.uid) || calls_.open(pod.uid)) { return; }
  if (!tried_.due(pod.uid, c_.now.mono) || b_.is_being_placed(pod.uid)) { return; }
  if (const auto asks = b_.asks(pod)) { return begin(pod, pod.nominated, *asks); }
  nominate(pod, {}, Purpose::Clear);
}

void Preemptor::work() {
  std::vector<model::Uid> due;
  for (auto& [uid, cycle] : cycles_) {
    const auto* node = c_.engine.ledger().find(cycle.node);
    const std::uint64_t version = node == nullptr ? 0 : static_cast<std::uint64_t>(node->version);
    if (!cycle.is_touched && version == cycle.looked_at) { continue; }
    cycle.is_touched = false;
    cycle.looked_at = version;
    due.push_back(uid);
  }
  for (const auto& uid : due) {
    const auto cycle = cycles_.find(uid);
    if (cycle != cycles_.end()) { advance(uid, cycle->second); }
  }
  search();
}

void Preemptor::search() {
  if (!searching_) {
    if (!mayBegin()) { return; }
    const model::Uid uid = std::get<2>(*waiting_.begin());
    waiting_.erase(waiting_.begin());
    const auto pod = podOf(uid);
    auto asks = pod != nullptr && !pod->bound() && !pod->deleting ? b_.asks(*pod) : std::nullopt;
    if (!asks || b_.fits_now(*pod)) { return; }
    searching_ = uid;
    search_.begin({pod, std::move(asks->request), asks->milli, std::move(asks->quota)});
  }
  if (!search_.work(kCostPerTurn)) { return; }
  const model::Uid uid = *std::exchange(searching_, std::nullopt);
  const auto pod = podOf(uid);
  if (pod == nullptr || pod->bound() || pod->deleting) { return; }
  const auto& best = search_.best();
  const auto asks = b_.asks(*pod);
  if (!best || !asks) {
    tried_.tried(uid, c_.now.mono);
    return;
  }
  begin(*pod, c_.engine.ledger().at(best->node).node.name, *asks);
}

void Preemptor::begin(const model::Pod& pod, const model::NodeName& node, const Asks& asks) {
  const auto less_important = nominations_.below(node, pod.priority);
  nominations_.put({pod.uid, node, pod.priority, asks.request, asks.milli});
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
      {pod, std::move(asks->request), asks->milli, std::move(asks->quota), awaits(cycle, *pod)}, *node);
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
      for (const auto& victim : there->victims) { evict(*victim, *pod, cycle); }
      return;
    case PreemptionStep::Wait:
    case PreemptionStep::Place: return;
  }
}

void Preemptor::nominate(const model::Pod& pod, const model::NodeName& node, Purpose purpose) {
  if (!calls_.due(pod.uid, c_.now.mono)) { return; }
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

void Preemptor::forget(const model::Uid& uid) {
  if (const auto pod = podOf(uid)) { waiting_.erase(turnOf(*pod)); }
  if (searching_ == uid) { searching_.reset(); }
  cycles_.erase(uid);
  nominations_.remove(uid);
  tried_.forget(uid);
  calls_.forget(uid);
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
  for (const auto& [uid, cycle] : cycles_) { nominations_.remove(uid); }
  cycles_.clear();
  waiting_.clear();
  searching_.reset();
  calls_.reset();
  tried_.reset();
}

}  // namespace gs::scheduler
