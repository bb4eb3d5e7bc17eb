#include "runner/call_queue.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace gs::runner {
namespace {

constexpr Duration kLongestHold = std::chrono::minutes{1};
constexpr int kBindingsInARow = 3;

}  // namespace

void CallQueue::submit(QueuedCall queued) {
  ++size_;
  if (!queued.call.ordering_key.empty()) {
    const auto [ordering_key, is_new] = ordering_keys_.try_emplace(queued.call.ordering_key);
    if (!is_new) {
      ordering_key->second.push_back(std::move(queued));
      return;
    }
  }
  ready(std::move(queued));
}

void CallQueue::ready(QueuedCall queued) {
  auto& queue = queued.call.subresource == "binding" ? bindings_ : others_;
  queue.push_back(std::move(queued));
}

std::optional<QueuedCall> CallQueue::takeReady() {
  if (bindings_.empty() && others_.empty()) { return std::nullopt; }
  const bool binds = !bindings_.empty() && (others_.empty() || bindings_in_a_row_ < kBindingsInARow);
  bindings_in_a_row_ = binds ? std::min(bindings_in_a_row_ + 1, kBindingsInARow) : 0;
  auto& queue = binds ? bindings_ : others_;
  QueuedCall queued = std::move(queue.front());
  queue.pop_front();
  return queued;
}

std::optional<QueuedCall> CallQueue::next(Mono now) {
  for (auto hold = holds_.begin(); hold != holds_.end();) {
    auto& [until, waiting] = hold->second;
    if (until <= now) {
      for (auto& [overdue_at, queued] : waiting) { ready(std::move(queued)); }
      hold = holds_.erase(hold);
      continue;
    }
    if (!waiting.empty() && waiting.begin()->first <= now) {
      QueuedCall queued = std::move(waiting.begin()->second);
      waiting.erase(waiting.begin());
      queued.overdue = true;
      queued.held_for = until - now;
      --size_;
      return queued;
    }
    ++hold;
  }
  while (auto queued = takeReady()) {
    Hold* hold = holdOf(queued->call);
    if (hold == nullptr) {
      --size_;
      return queued;
    }
    const Mono overdue_at = now + queued->call.timeout;
    hold->waiting.emplace(overdue_at, *std::move(queued));
  }
  return std::nullopt;
}

CallQueue::Hold* CallQueue::holdOf(const kapi::Call& call) {
  for (const std::string& ns : {std::string{}, call.key.ns}) {
    const auto hold = holds_.find(writeKind(call, ns));
    if (hold != holds_.end()) { return &hold->second; }
  }
  return nullptr;
}

Mono CallQueue::nextChange() const {
  Mono next = Mono::max();
  for (const auto& [kind, hold] : holds_) {
    if (hold.waiting.empty()) { continue; }
    next = std::min({next, hold.until, hold.waiting.begin()->first});
  }
  return next;
}

void CallQueue::answered(const kapi::Call& call, const kapi::Outcome& outcome, Mono now) {
  if (outcome.http != 429 || outcome.retry_after <= Duration::zero()) { return; }
  Hold& hold = holds_[writeKind(call, outcome.is_status ? call.key.ns : "")];
  hold.until = std::max(hold.until, now + std::min(outcome.retry_after, kLongestHold));
}

void CallQueue::finished(const kapi::Call& call) {
  if (call.ordering_key.empty()) { return; }
  const auto ordering_key = ordering_keys_.find(call.ordering_key);
  GS_CHECK(ordering_key != ordering_keys_.end(), "a call of ordering key {} finished twice",
           call.ordering_key);
  if (ordering_key->second.empty()) {
    ordering_keys_.erase(ordering_key);
    return;
  }
  ready(std::move(ordering_key->second.front()));
  ordering_key->second.pop_front();
}

}  // namespace gs::runner
