#include "controller/event_sender.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "kapi/retry_wait.h"

namespace gs::controller {

using kapi::CallResult;
using kapi::Effects;
using kapi::Outcome;
using kapi::Verb;

void EventSender::post(Sent sent, Effects& out) {
  int& busy = busy_[sent.call.key.ns];
  if (busy >= kInFlight) {
    auto& waiting = waiting_[sent.call.key.ns];
    if (waiting.size() >= kWaiting) { waiting.pop_front(); }
    waiting.push_back(std::move(sent));
    return;
  }
  ++busy;
  sent.call.token = kapi::makeToken(owner_, next_++);
  ++sent.tries;
  out.emplace_back(sent.call);
  const auto token = sent.call.token;
  in_flight_.emplace(token, std::move(sent));
}

void EventSender::send(const controller::EventNote& note, Now now, Effects& out) {
  if (auto call = recorder_.record(note, now)) { post({*std::move(call), 0}, out); }
}

void EventSender::handle(const Outcome& outcome, Now now, Effects& /*out*/) {
  const auto it = in_flight_.find(outcome.token);
  if (it == in_flight_.end()) { return; }
  Sent sent = std::move(it->second);
  in_flight_.erase(it);
  const std::string& ns = sent.call.key.ns;
  if (--busy_[ns] == 0) { busy_.erase(ns); }
  room_ = room_ || waiting_.contains(ns);
  if (sent.call.verb == Verb::MergePatch && outcome.notFound()) { recorder_.lost(sent.call.key); }
  const bool again =
      outcome.result == CallResult::Unknown || outcome.result == CallResult::NotSent || outcome.http == 429;
  if (again && sent.tries < kTries) {
    const Mono at = now.mono + kapi::retryWait(sent.tries, outcome.retry_after);
    later_.emplace(at, std::move(sent));
  }
}

void EventSender::tick(Now now, Effects& out) {
  while (!later_.empty() && later_.begin()->first <= now.mono) {
    Sent sent = std::move(later_.begin()->second);
    later_.erase(later_.begin());
    post(std::move(sent), out);
  }
  if (!std::exchange(room_, false)) { return; }
  for (auto ns = waiting_.begin(); ns != waiting_.end();) {
    auto& waiting = ns->second;
    for (; !waiting.empty() && busy_[ns->first] < kInFlight; waiting.pop_front()) {
      post(std::move(waiting.front()), out);
    }
    ns = waiting.empty() ? waiting_.erase(ns) : std::next(ns);
  }
}

std::optional<Mono> EventSender::nextDue() const {
  if (room_) { return Mono{}; }
  return later_.empty() ? std::nullopt : std::optional{later_.begin()->first};
}

void EventSender::reset() {
  in_flight_.clear();
  later_.clear();
  busy_.clear();
  waiting_.clear();
  room_ = false;
}

}  // namespace gs::controller
