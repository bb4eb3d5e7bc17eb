#include "k8s/call_queue.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace gs::k8s {
namespace {

constexpr Duration kLongestHold = std::chrono::minutes{1};
constexpr int kBindingsInARow = 3;

}  // namespace

void CallQueue::submit(Ticket ticket) {
  ++size_;
  if (!ticket.call.lane.empty()) {
    const auto [lane, is_new] = lanes_.try_emplace(ticket.call.lane);
    if (!is_new) {
      lane->second.push_back(std::move(ticket));
      return;
    }
  }
  ready(std::move(ticket));
}

void CallQueue::ready(Ticket ticket) {
  auto& queue = ticket.call.subresource == "binding" ? bindings_ : others_;
  queue.push_back(std::move(ticket));
}

std::optional<Ticket> CallQueue::takeReady() {
  if (bindings_.empty() && others_.empty()) { return std::nullopt; }
  const bool binds = !bindings_.empty() && (others_.empty() || bindings_in_a_row_ < kBindingsInARow);
  bindings_in_a_row_ = binds ? std::min(bindings_in_a_row_ + 1, kBindingsInARow) : 0;
  auto& queue = binds ? bindings_ : others_;
  Ticket ticket = std::move(queue.front());
  queue.pop_front();
  return ticket;
}

std::optional<Ticket> CallQueue::next(Mono now) {
  for (auto hold = holds_.begin(); hold != holds_.end();) {
    auto& [until, waiting] = hold->second;
    if (until <= now) {
      for (auto& [overdue_at, ticket] : waiting) { ready(std::move(ticket)); }
      hold = holds_.erase(hold);
      continue;
    }
    if (!waiting.empty() && waiting.begin()->first <= now) {
      Ticket ticket = std::move(waiting.begin()->second);
      waiting.erase(waiting.begin());
      ticket.overdue = true;
      ticket.held_for = until - now;
      --size_;
      return ticket;
    }
    ++hold;
  }
  while (auto ticket = takeReady()) {
    Hold* hold = holdOf(ticket->call);
    if (hold == nullptr) {
      --size_;
      return ticket;
    }
    const Mono overdue_at = now + ticket->call.timeout;
    hold->waiting.emplace(overdue_at, *std::move(ticket));
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
  if (call.lane.empty()) { return; }
  const auto lane = lanes_.find(call.lane);
  GS_CHECK(lane != lanes_.end(), "a call of lane {} finished twice", call.lane);
  if (lane->second.empty()) {
    lanes_.erase(lane);
    return;
  }
  ready(std::move(lane->second.front()));
  lane->second.pop_front();
}

}  // namespace gs::k8s
