#include "scheduler/placing/nominator.h"

#include <algorithm>
#include <utility>

#include "base/due.h"
#include "base/mutant.h"
#include "kapi/write.h"

namespace gs::scheduler {
namespace {

constexpr Duration kForgotten = std::chrono::seconds{60};  // nobody asked about it for so long
constexpr Duration kTurn = std::chrono::seconds{1};        // it may have to be looked at again first
constexpr Duration kBetweenForgotten = std::chrono::milliseconds{200};

}  // namespace

Nominator::Nominator(Context& context, Holds& holds)
    : c_{context},
      holds_{holds},
      calls_{c_.parts.add(*this), controller::kWakeTerms},
      lines_{Line{}, Line{kBetweenForgotten}} {}

void Nominator::asked(const model::Uid& uid, bool fits) {
  wokenIsOver(uid);
  asked_[uid] = c_.now.mono;
  const bool changes = fits == waiting_.contains(uid);
  if (fits) {
    waitsNoMore(uid);
  } else if (Waits& waits = waiting_[uid]; waits.why != Why::Refused) {
    waitsNoMore(uid);
    waiting_[uid].why = Why::Refused;
  }
  if (changes) { c_.reconciles.add(uid); }
}

void Nominator::waitsNoMore(const model::Uid& uid) {
  for (Line& line : lines_) { line.remove(uid); }
  waiting_.erase(uid);
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
  if (waits == waiting_.end() || !mayWake(pod, waits->second)) { return; }
  calls_.failed(pod.uid, c_.now.mono);  // the next time is later, whatever comes of this one
  if (GS_MUTANT(WakesNobody)) { return; }
  const Why why = waits->second.why;
  if (why == Why::Refused) {
    (void)holds_.begin(pod, request, node);
    woken_.add(pod.uid, pod.key.ns, c_.now.mono);
  }
  waitsNoMore(pod.uid);
  asked_[pod.uid] = c_.now.mono;
  calls_of_.take(pod.key.ns);
  c_.sendAbout(pod.uid, kapi::wakePod(pod, c_.rng.uuid()), calls_.begin(pod.uid, {why, pod.key.ns}));
}

/// For those of whom nobody asked nothing is held.
bool Nominator::hasRoom(Why why, const std::string& ns) const {
  return calls_of_.free(ns) > 0 && (why == Why::Forgotten || woken_.hasRoom(ns));
}

bool Nominator::mayWake(const model::Pod& pod, Waits& waits) {
  Line& line = lineOf(waits.why);
  const bool has_turn = std::exchange(waits.turn_until, Mono{}) > c_.now.mono;
  if ((has_turn || line.isFree(c_.now.mono)) && hasRoom(waits.why, pod.key.ns)) {
    if (!has_turn) { line.used(c_.now.mono); }
    return true;
  }
  waits.in_line = true;
  waits.ticket = line.add(pod.uid, pod.key.ns, waits.ticket);
  return false;
}

/// It is looked at again whether it fits yet.
void Nominator::letIn(Why why) {
  Line& line = lineOf(why);
  const auto uid = line.next(c_.now.mono, [&](const std::string& ns) { return hasRoom(why, ns); });
  if (!uid) { return; }
  Waits& waits = waiting_.at(*uid);
  waits.in_line = false;
  waits.turn_until = c_.now.mono + kTurn;
  line.used(c_.now.mono);
  c_.reconciles.add(*uid);
}

void Nominator::wokenIsOver(const model::Uid& uid) {
  if (woken_.over(uid)) { lineOf(Why::Refused).roomChanged(); }
}

void Nominator::forget(const model::Uid& uid) {
  asked_.erase(uid);
  waitsNoMore(uid);
  wokenIsOver(uid);
  holds_.forget(uid);
  calls_.forget(uid);
}

/// Where it was not written, the pod may have changed, which wakes kube-scheduler too; or it waits on.
void Nominator::handle(const kapi::Outcome& outcome, Now now, kapi::Effects& /*out*/) {
  const auto call = calls_.answered(outcome.token);
  if (!call) { return; }
  calls_of_.giveBack(call->what.ns);
  for (Line& line : lines_) { line.roomChanged(); }
  if (call->stale) { return; }
  const bool applied = outcome.result == kapi::CallResult::Applied;
  const auto pod = outcome.object.as<model::Pod>();
  if (applied && pod != nullptr && pod->uid == call->key) {
    c_.engine.learn(outcome.object, now.mono);
    return;
  }
  wokenIsOver(call->key);
  holds_.end(call->key);  // where writes are refused late, others would hold as much one after the other
  if (asked_.contains(call->key)) { waiting_.try_emplace(call->key, Waits{call->what.why}); }
}

void Nominator::tick(Now now, kapi::Effects& /*out*/) {
  holds_.tick(now.mono);
  for (auto& uid : calls_.takeDue(now.mono)) { c_.reconciles.add(std::move(uid)); }
  if (!woken_.takeOver(now.mono).empty()) { lineOf(Why::Refused).roomChanged(); }
  letIn(Why::Refused);
  letIn(Why::Forgotten);
}

std::optional<Mono> Nominator::nextDue() const {
  return soonest(
      {calls_.nextDue(), holds_.nextDue(), woken_.nextDue(), lines_[0].nextDue(), lines_[1].nextDue()});
}

void Nominator::reset() {
  asked_.clear();
  waiting_.clear();
  for (Line& line : lines_) { line.reset(); }
  holds_.reset();
  woken_.reset();
  calls_.reset();
  calls_of_.reset();
}

}  // namespace gs::scheduler
