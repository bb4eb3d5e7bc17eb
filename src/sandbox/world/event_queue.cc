#include "sandbox/world/event_queue.h"

#include <algorithm>

namespace gs::sandbox {

void EventQueue::at(Mono when, Action action) {
  actions_.emplace(std::pair{std::max(when, now().mono), seq_++}, std::move(action));
}

std::optional<Mono> EventQueue::nextDue() const {
  return actions_.empty() ? std::nullopt : std::optional{actions_.begin()->first.first};
}

bool EventQueue::step(Mono until) {
  if (actions_.empty() || actions_.begin()->first.first > until) { return false; }
  auto node = actions_.extract(actions_.begin());
  moveTo(node.key().first);
  node.mapped()();
  return true;
}

void EventQueue::runTo(Mono until) {
  while (step(until)) {}
  moveTo(until);
}

}  // namespace gs::sandbox
