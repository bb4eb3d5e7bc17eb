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

bool mayPreempt(const model::Pod& pod) { return pod.preempts || GS_MUTANT(PreemptsPolitely); }

/// As far as the pod itself says it: of those whose doors are not ours to read, or not known yet.
sched::PodRequest requestAsWritten(const model::Pod& pod) {
  sched::PodRequest request;
  request.resources = pod.requests;
  request.host_ports = pod.host_ports;
  const std::int64_t gpus = pod.requests.get(model::kNvidiaGpu);
  if (gpus > 0) {
    request.devices.emplace();
    request.devices->count = gpus;
  }
  return request;
}

}  // namespace

Preemptor::Preemptor(Context& context, Beside beside)
    : c_{context},
      b_{std::move(beside)},
      residents_{context.engine.residents()},
      search_{{context.engine.ledger(), residents_, context.engine.budgets(), nominations_,
               context.engine.podsThere(), [this](const model::Uid& uid) { return isStuck(uid); }}},
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
  if (it != cycles_.end()) { return it->second.said; }
  const auto nobody = nobody_said_.find(uid);
  return nobody == nobody_said_.end() ? std::string{} : *nobody->second;
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

std::vector<model::NodeName> Preemptor::keptFrom(const model::Pod& pod, const sched::PodRequest& request,
                                                 const model::NodeName& from) const {
  std::vector<model::NodeName> out;
  for (auto& name : nominations_.nodesFrom(from, kMostKeptFrom)) {
    const auto* node = c_.engine.ledger().find(name);
    if (node == nullptr || !sched::fitsOn(*node, request, pod.uid)) { continue; }
    if (!admits(*node, pod, request)) { out.push_back(std::move(name)); }
  }
  return out;
}

void Preemptor::wanted(const model::Pod& pod) {
  if (!mayPreempt(pod) || !residents_.anyBelow(goesBelow(pod))) { return; }
  if (cycles_.contains(pod.uid) || searching_ == pod.uid) { return; }
  if (tried_.due(pod.uid, c_.now.mono)) { line_.add(pod, tried_.tries(pod.uid)); }
}

/// Who is not to be placed now has kBlocked, too: what it asks for may be read a moment later than the pod.
void Preemptor::consider(const model::Pod& pod) {
  touch(pod.uid);
  if (pod.bound() || pod.nominated.empty() || cycles_.contains(pod.uid) || calls_.open(pod.uid)) { return; }
  if (!tried_.due(pod.uid, c_.now.mono) || b_.is_being_placed(pod.uid)) { return; }
  if (!line_.hasRoom(pod.key.ns, pod.priority)) { return; }
  const auto asks = b_.asks(pod);
  begin(pod, pod.nominated, asks ? *asks : Asks{requestAsWritten(pod)});
}

void Preemptor::theirs(const model::Pod& pod) {
  if (pod.nominated.empty() || pod.deleting) { return nominations_.remove(pod.uid); }
  const auto* known = nominations_.of(pod.uid);
  const bool is_same = known != nullptr && known->node == pod.nominated && known->priority == pod.priority &&
                       known->pod != nullptr && known->pod->revision == pod.revision;
  if (is_same) { return; }
  nominations_.put({pod.uid, pod.nominated, pod.priority, requestAsWritten(pod), 0, podOf(pod.uid)});
}

/// Whose node changed, or has other pods now, is to be looked at.
void Preemptor::noteChanges() {
  const auto& ledger = c_.engine.ledger();
  bool is_late = false;
  const auto follow = [&](const auto& log, std::uint64_t& from, const auto& name_of) {
    is_late = is_late || from < log.begin();
    const bool is_any = !cycles_.empty();
    for (auto at = std::max(from, log.begin()); is_any && at < log.end(); ++at) {
      touchAllOn(name_of(log.at(at)));
    }
    from = log.end();
  };
  const auto by_index = [&](sched::Ledger::NodeIndex i) -> const model::NodeName& {
    return ledger.at(i).node.name;
  };
  follow(residents_.changes(), residents_position_,
         [](const model::NodeName& name) -> const model::NodeName& { return name; });
  follow(ledger.changes(), changes_position_, by_index);
  follow(ledger.closings(), closings_position_, by_index);
  if (!is_late) { return; }
  for (const auto& [uid, cycle] : cycles_) { touched_.insert(uid); }
}

/// Those with something to do, in turn: the next event goes on after the last one.
std::vector<model::Uid> Preemptor::dueCycles() const {
  std::vector<model::Uid> due{touched_.upper_bound(last_), touched_.end()};
  due.insert(due.end(), touched_.begin(), touched_.upper_bound(last_));
  return due;
}

void Preemptor::work() {
  noteChanges();
  const std::uint64_t until = search_.cost() + kCostPerTurn;
  is_behind_ = false;
  for (const auto& uid : dueCycles()) {
    const auto cycle = cycles_.find(uid);
    if (cycle == cycles_.end()) { continue; }
    is_behind_ = search_.cost() >= until;
    if (is_behind_) { return; }
    last_ = uid;
    touched_.erase(uid);
    advance(uid, cycle->second);
  }
  searchSome();
}

void Preemptor::searchSome() {
  const std::uint64_t until = search_.cost() + kCostPerTurn;
  for (int left = kMostPerTurn; left > 0 && search_.cost() < until; --left) {
    if (!searching_ && !beginSearch()) {
      if (!line_.any()) { return; }
      continue;
    }
    if (!search_.work(until - search_.cost())) { return; }
    endSearch();
  }
}

/// False: not for the first of those that wait.
bool Preemptor::beginSearch() {
  const auto uid = line_.take();
  if (!uid) { return false; }
  const auto pod = podOf(*uid);
  auto asks = pod != nullptr && !pod->bound() && !pod->deleting ? b_.asks(*pod) : std::nullopt;
  if (!asks || b_.is_being_placed(*uid) || b_.fits_now(*pod)) { return false; }
  if (hasNobody(*pod, *asks)) {
    tried_.tried(*uid, c_.now.mono);
    saidNobody(*uid, nobody_->text);
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
  if (best) {
    nobody_.reset();
  } else if (nobody_) {
    nobody_->text = std::make_shared<const std::string>(search_.whyNobody());
  }
  const auto pod = podOf(uid);
  if (pod == nullptr || pod->bound() || pod->deleting) { return; }
  const auto asks = b_.asks(*pod);
  if (!best || !asks) {
    tried_.tried(uid, c_.now.mono);
    if (!best && nobody_) { saidNobody(uid, nobody_->text); }
    return;
  }
  begin(*pod, c_.engine.ledger().at(best->node).node.name, *asks);
}

void Preemptor::saidNobody(const model::Uid& uid, const std::shared_ptr<const std::string>& text) {
  auto& said = nobody_said_[uid];
  if (said == nullptr || *said != *text) { said_.insert(uid); }
  said = text;
}

Preemptor::Nobody Preemptor::nobodyFor(const model::Pod& pod, const Asks& asks) const {
  const auto& ledger = c_.engine.ledger();
  const std::uint64_t volumes = asks.request.volumes == nullptr ? 0 : asks.request.volumes->moment();
  return {asks.request,
          asks.milli,
          pod.key.ns,
          pod.priority,
          {ledger.changes().end(), ledger.closings().end(), ledger.wideChanges(), ledger.gpuUseVersion(),
           residents_.changes().end(), nominations_.version(), volumes, unstuck_}};
}

/// As was found a moment ago for one that asks for the same and is as important.
bool Preemptor::hasNobody(const model::Pod& pod, const Asks& asks) const {
  if (!nobody_ || nobody_->text == nullptr) { return false; }
  if (nobody_->priority < pod.priority || nobody_->ns != pod.key.ns) { return false; }
  const Nobody now = nobodyFor(pod, asks);
  return nobody_->moments == now.moments && nobody_->milli == now.milli && nobody_->request == now.request;
}

void Preemptor::begin(const model::Pod& pod, const model::NodeName& node, const Asks& asks) {
  if (const auto known = cycles_.find(pod.uid); known != cycles_.end()) { endCycle(known); }
  const auto less_important = nominations_.below(node, pod.priority);
  nominations_.put({pod.uid, node, pod.priority, asks.request, asks.milli, podOf(pod.uid)});
  line_.remove(pod.uid);
  line_.hold(pod.key.ns, pod.priority);
  nobody_said_.erase(pod.uid);
  Cycle cycle;
  cycle.node = node;
  cycle.ns = pod.key.ns;
  cycle.priority = pod.priority;
  cycle.fence = fenceOf(pod);
  cycle.since = cycle.told_at = c_.now.mono;
  cycles_.emplace(pod.uid, std::move(cycle));
  cycles_on_[node].insert(pod.uid);
  touched_.insert(pod.uid);
  for (const auto& uid : less_important) {
    giveUp(uid, "a pod of higher priority was nominated to its node");
  }
}

void Preemptor::endCycle(Cycles::iterator cycle) {
  const auto& [uid, of] = *cycle;
  line_.giveBack(of.ns, of.priority);
  wake_at_.erase({of.wake, uid});
  touched_.erase(uid);
  nominations_.remove(uid);
  const auto there = cycles_on_.find(of.node);
  there->second.erase(uid);
  if (there->second.empty()) { cycles_on_.erase(there); }
  cycles_.erase(cycle);
}

void Preemptor::wakeAt(const model::Uid& uid, Cycle& cycle, Mono at) {
  at = std::max(at, c_.now.mono + std::chrono::seconds{1});
  if (cycle.wake <= at) { return; }
  wake_at_.erase({cycle.wake, uid});
  cycle.wake = at;
  wake_at_.emplace(at, uid);
}

/// Who leaves by itself is waited for. What those leave behind who were told to go (GPUs that are not free
/// yet) has its time, too, however long they took.
bool Preemptor::awaits(Cycle& cycle, const model::Pod& pod) {
  const Mono now = c_.now.mono;
  if (now >= cycle.told_at + kMostAwaited) { noteStuck(cycle, pod, true); }
  const auto& there = residents_.on(cycle.node);
  const bool are_told = std::any_of(there.begin(), there.end(), [&](const auto& one) {
    const model::Pod& other = *one;
    return other.priority < pod.priority && other.deleting && other.preempted && !isStuck(other.uid);
  });
  if (std::exchange(cycle.are_told, are_told) || are_told) { cycle.since = now; }
  const Mono until = cycle.since + kAwaited;
  wakeAt(pod.uid, cycle, are_told ? cycle.told_at + kMostAwaited : until);
  if (now < until) { return true; }
  noteStuck(cycle, pod, false);
  wakeAt(pod.uid, cycle, cycle.told_at + kMostAwaited);
  return false;
}

/// It goes, and was waited for in vain. Not those of lower priority, unless `lower_too`: they are its
/// victims.
void Preemptor::noteStuck(const Cycle& cycle, const model::Pod& pod, bool lower_too) {
  const Mono now = c_.now.mono;
  const auto note = [&](const model::Uid& uid) {
    if (stuck_.due(uid, now)) { stuck_.tried(uid, now); }
  };
  const auto& there = residents_.on(cycle.node);
  for (const auto& other : there) {
    if (other->deleting && (lower_too || other->priority >= pod.priority)) { note(other->uid); }
  }
  const auto& ledger = c_.engine.ledger();
  const auto* node = ledger.find(cycle.node);
  if (node == nullptr) { return; }
  const sched::NodeWithout all{*node};
  for (const auto& [uid, holding] : all.holdings()) {
    if (!there.contains(uid) && sched::isLeftOver(ledger, cycle.node, uid, holding.ended)) { note(uid); }
  }
}

/// For what it asks now.
void Preemptor::keepRoom(const Cycle& cycle, const model::PodPtr& pod, const Asks& asks) {
  const auto* known = nominations_.of(pod->uid);
  const bool is_same = known != nullptr && known->milli == asks.milli && known->request == asks.request &&
                       known->pod != nullptr && known->pod->labels == pod->labels;
  if (!is_same) { nominations_.put({pod->uid, cycle.node, pod->priority, asks.request, asks.milli, pod}); }
}

PreemptionFacts Preemptor::factsOf(Cycle& cycle, const model::PodPtr& pod,
                                   std::optional<sched::Candidate>& there) {
  PreemptionFacts facts;
  facts.waits = pod != nullptr && !pod->bound() && !pod->deleting && fenceOf(*pod) == cycle.fence;
  if (!facts.waits) { return facts; }
  if (b_.is_being_placed(pod->uid)) {
    facts.fits_now = true;
    return facts;
  }
  auto asks = b_.asks(*pod);
  if (!asks) {
    const Mono until = cycle.blocked_since.value_or(c_.now.mono) + kBlocked;
    if (!cycle.blocked_since) { cycle.blocked_since = c_.now.mono; }
    facts.waits = facts.blocked = c_.now.mono < until;
    wakeAt(pod->uid, cycle, until);
    return facts;
  }
  cycle.blocked_since.reset();
  keepRoom(cycle, pod, *asks);
  facts.fits_now = b_.fits_now(*pod);
  facts.nominated = pod->nominated == cycle.node;
  const auto node = c_.engine.ledger().indexOf(cycle.node);
  if (facts.fits_now || !node) { return facts; }
  there = search_.lookAt(
      {asImportant(pod), std::move(asks->request), asks->milli, std::move(asks->quota), awaits(cycle, *pod)},
      *node);
  if (there && !there->victims.empty() && !mayPreempt(*pod)) { there.reset(); }  // whoever nominated it
  facts.has_room = there.has_value();
  facts.all_go =
      there && std::all_of(there->victims.begin(), there->victims.end(), [&](const auto& victim) {
        return nextStep(*victim, false, cycle.deleted.contains(victim->uid)) == VictimStep::Nothing;
      });
  return facts;
}

/// Where others came than those that were told to go, these are told later each time.
bool Preemptor::mayTell(const model::Uid& uid, Cycle& cycle, const std::vector<model::PodPtr>& victims) {
  const bool are_others = std::any_of(victims.begin(), victims.end(),
                                      [&](const auto& one) { return !cycle.told.contains(one->uid); });
  if (!are_others) { return true; }
  if (c_.now.mono < cycle.next_round) {
    wakeAt(uid, cycle, cycle.next_round);
    return false;
  }
  for (const auto& victim : victims) { cycle.told.insert(victim->uid); }
  cycle.next_round = c_.now.mono + kapi::retryWait(++cycle.rounds, {}, kTerms);
  return true;
}

void Preemptor::advance(const model::Uid& uid, Cycle& cycle) {
  const model::PodPtr pod = podOf(uid);
  std::optional<sched::Candidate> there;
  const PreemptionFacts facts = factsOf(cycle, pod, there);
  switch (nextStep(facts)) {
    case PreemptionStep::GiveUp: return giveUp(uid, whyGivenUp(facts));
    case PreemptionStep::Nominate: return nominate(*pod, cycle.node, Purpose::Nominate);
    case PreemptionStep::Evict: {
      if (!std::exchange(cycle.is_counted, true)) {
        c_.out.emplace_back(kapi::Metric{
            kapi::MetricOp::Observe, kPreemptionVictims, {}, static_cast<double>(there->victims.size())});
      }
      say(uid, cycle, there->victims);
      const bool others_too = mayTell(uid, cycle, there->victims);
      for (const auto& victim : there->victims) {
        if (!others_too && !cycle.told.contains(victim->uid)) { continue; }
        if (calls_.underWay() >= kWritesAtOnce) {
          touched_.insert(uid);  // an answer of another one is an event
          return;
        }
        evict(*victim, *pod, cycle);
      }
      return;
    }
    case PreemptionStep::Wait:
      if (there) { say(uid, cycle, there->victims); }
      return;
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
    if (has_cycle) {
      cycle->second.deleted.insert(call->key);
      cycle->second.told_at = now.mono;
    }
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
  for (const auto& pod : residents_.on(cycle.node)) {
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
  if (cycles_.contains(pod)) { touched_.insert(pod); }
}

void Preemptor::touchAllOn(const model::NodeName& node) {
  const auto there = cycles_on_.find(node);
  if (there != cycles_on_.end()) { touched_.insert(there->second.begin(), there->second.end()); }
}

void Preemptor::giveUp(const model::Uid& uid, const char* why) {
  const auto cycle = cycles_.find(uid);
  if (cycle == cycles_.end()) { return nominations_.remove(uid); }
  const model::NodeName node = cycle->second.node;
  if (!cycle->second.said.empty()) { said_.insert(uid); }
  endCycle(cycle);
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
  line_.remove(uid);
  nobody_said_.erase(uid);
  if (searching_ == uid) {
    searching_.reset();
    nobody_.reset();  // that is not known
  }
  const auto cycle = cycles_.find(uid);
  if (cycle != cycles_.end()) { endCycle(cycle); }
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
  for (const auto& uid : stuck_.takeDue(now.mono)) {
    ++unstuck_;
    if (podOf(uid) == nullptr) { stuck_.forget(uid); }
  }
  while (!wake_at_.empty() && wake_at_.begin()->first <= now.mono) {
    const model::Uid uid = wake_at_.extract(wake_at_.begin()).value().second;
    cycles_.at(uid).wake = Mono::max();
    touched_.insert(uid);
  }
}

std::optional<Mono> Preemptor::nextDue() const {
  auto due = soonest({calls_.nextDue(), tried_.nextDue(), stuck_.nextDue()});
  if (!wake_at_.empty()) { due = sooner(due, wake_at_.begin()->first); }
  return due;
}

/// Whoever leads next goes on from what the pods' objects say.
void Preemptor::reset() {
  nominations_.clear();
  cycles_.clear();
  cycles_on_.clear();
  touched_.clear();
  wake_at_.clear();
  line_.reset();
  nobody_said_.clear();
  stuck_.reset();
  searching_.reset();
  nobody_.reset();
  said_.clear();
  is_behind_ = false;
  calls_.reset();
  tried_.reset();
}

}  // namespace gs::scheduler
