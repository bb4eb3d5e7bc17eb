#include "apiserver/lifecycle/event_expiry.h"

namespace gs::apiserver {
namespace {

constexpr Duration kEventLife = std::chrono::hours{1};

}  // namespace

void EventExpiry::written(const StoreKey& event, Mono at) {
  writes_.emplace_back(at, event);
  last_[event] = at;
}

std::optional<StoreKey> EventExpiry::takeExpired(Mono now) {
  while (!writes_.empty() && writes_.front().first + kEventLife <= now) {
    auto [at, event] = std::move(writes_.front());
    writes_.pop_front();
    const auto last = last_.find(event);
    if (last == last_.end() || last->second != at) { continue; }  // written again since
    last_.erase(last);
    return std::move(event);
  }
  return std::nullopt;
}

void EventExpiry::clear() {
  writes_.clear();
  last_.clear();
}

}  // namespace gs::apiserver
