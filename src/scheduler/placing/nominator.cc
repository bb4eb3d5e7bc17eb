#include "scheduler/placing/nominator.h"

#include <algorithm>
#include <utility>

#include "base/mutant.h"
#include "kapi/write.h"
#include "model/annotations.h"
#include "sched/ledger/quota.h"
#include "sched/placement/fit.h"

namespace gs::scheduler {
namespace {

/// kube-scheduler waits 10 s at most between two tries of a pod (its podMaxBackoffSeconds).
constexpr Duration kAwaited = std::chrono::seconds{12};
constexpr Duration kForgotten = std::chrono::seconds{60};  // nobody asked about it for so long
constexpr std::size_t kWokenAtOnce = 8;
constexpr Duration kBetweenForgotten = std::chrono::milliseconds{200};

}  // namespace

void Nominator::asked(const model::Uid& uid, bool fits) {
  asked_[uid] = c_.now.mono;
  const bool changes = fits ? waiting_.erase(uid) > 0 : !waiting_.contains(uid);
  if (!fits) { waiting_[uid].why = Why::Refused; }
  if (changes) { c_.reconciles.add(uid); }
}

void Nominator::seen(const model::Pod& pod) {
  const Mono last = asked_.try_emplace(pod.uid, c_.now.mono).first->second;
  if (last + kForgotten <= c_.now.mono && pod.scheduling_gates.empty()) {
    waiting_.try_emplace(pod.uid, Waits{Why::Forgotten});
  }
}

/// What its next request finds is the truth; where none comes, seen() wakes it again.
void Nominator::wake(const model::Pod& pod, const sched::PodRequest& request, const model::NodeName& node) {
  const auto waits = waiting_.find(pod.uid);
  if (waits == waiting_.end() || !mayWake(pod.uid, waits->second)) { return; }
  calls_.failed(pod.uid, c_.now.mono);  // the next time is later, whatever comes of this one
  if (GS_MUTANT(WakesNobody)) { return; }
  if (waits->second.why == Why::Refused) {
    if (!hold(pod, request, node, c_.now.mono + kAwaited)) { return; }
    woken_.insert(pod.uid);
  }
  waiting_.erase(waits);
  asked_[pod.uid] = c_.now.mono;
  c_.sendAbout(pod.uid, kapi::annotatePod(pod, {{model::kWakeKey, c_.rng.uuid()}}, {}),
               calls_.begin(pod.uid));
}

std::size_t Nominator::room() const {
  const std::size_t busy = std::max(woken_.size(), calls_.underWay());
  return kWokenAtOnce - std::min(kWokenAtOnce, busy);
}

bool Nominator::mayWake(const model::Uid& uid, Waits& waits) {
  const bool forgotten = waits.why == Why::Forgotten;
  const bool has_turn = std::exchange(waits.has_turn, false);
  if (room() > 0 && (!forgotten || has_turn || c_.now.mono >= next_forgotten_)) {
    if (forgotten) { next_forgotten_ = c_.now.mono + kBetweenForgotten; }
    return true;
  }
  waits.in_line = true;
  (forgotten ? forgotten_line_ : line_).push_back(uid);
  return false;
}

std::size_t Nominator::letIn(std::deque<model::Uid>& line, std::size_t most) {
  std::size_t n = 0;
  for (; n < most && !line.empty(); line.pop_front()) {
    const auto waits = waiting_.find(line.front());
    if (waits == waiting_.end() || !waits->second.in_line) { continue; }
    waits->second = {waits->second.why, false, true};
    c_.reconciles.add(line.front());
    ++n;
  }
  return n;
}

bool Nominator::hold(const model::Pod& pod, const sched::PodRequest& request, const model::NodeName& node,
                     Mono until) {
  (void)release(pod.uid);
  sched::Ledger& ledger = c_.engine.ledger();
  const sched::NodeState* state = ledger.find(node);
  if (state == nullptr || !state->exists || ledger.isReserved(node, pod.uid)) { return false; }
  const auto fit = sched::fitOn(*state, request, pod.uid);
  if (!fit) { return false; }
  held_.insert_or_assign(
      pod.uid,
      Held{node, ledger.reserve(node, pod.uid, request, fit->ids, {pod.key.ns, sched::gpuMilli(request)}),
           until});
  return true;
}

std::optional<Nominator::Was> Nominator::release(const model::Uid& uid) {
  woken_.erase(uid);
  const auto held = held_.extract(uid);
  if (held.empty()) { return std::nullopt; }
  return Was{held.mapped().node, held.mapped().until};
}

void Nominator::forget(const model::Uid& uid) {
  asked_.erase(uid);
  waiting_.erase(uid);
  (void)release(uid);
  calls_.forget(uid);
}

/// Where it was not written, the pod may have changed, which wakes kube-scheduler too; or it waits on.
void Nominator::handle(const kapi::Outcome& outcome, Now now, kapi::Effects& /*out*/) {
  const auto call = calls_.answered(outcome.token);
  if (!call || call->stale) { return; }
  const bool applied = outcome.result == kapi::CallResult::Applied;
  const auto pod = outcome.object.as<model::Pod>();
  if (applied && pod != nullptr && pod->uid == call->key) {
    c_.engine.learn(outcome.object, now.mono);
    return;
  }
  (void)release(call->key);
  if (asked_.contains(call->key)) { waiting_.try_emplace(call->key, Waits{Why::Refused}); }
}

void Nominator::tick(Now now, kapi::Effects& /*out*/) {
  for (auto& uid : calls_.takeDue(now.mono)) { c_.reconciles.add(std::move(uid)); }
  for (auto it = held_.begin(); it != held_.end();) {
    const bool is_over = it->second.until <= now.mono && !GS_MUTANT(HoldsForEver);
    if (is_over) { woken_.erase(it->first); }
    it = is_over ? held_.erase(it) : std::next(it);
  }
  (void)letIn(line_, room());
  if (now.mono >= next_forgotten_ && letIn(forgotten_line_, std::min<std::size_t>(1, room())) > 0) {
    next_forgotten_ = now.mono + kBetweenForgotten;
  }
}

std::optional<Mono> Nominator::nextDue() const {
  std::optional<Mono> due = calls_.nextDue();
  const auto sooner = [&](Mono at) { due = due ? std::min(*due, at) : at; };
  for (const auto& [uid, held] : held_) { sooner(held.until); }
  if (room() > 0 && !line_.empty()) { sooner(Mono{}); }
  if (room() > 0 && !forgotten_line_.empty()) { sooner(next_forgotten_); }
  return due;
}

void Nominator::reset() {
  asked_.clear();
  waiting_.clear();
  line_.clear();
  forgotten_line_.clear();
  held_.clear();
  woken_.clear();
  calls_.reset();
}

}  // namespace gs::scheduler
