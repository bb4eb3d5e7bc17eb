// KeyedCalls: at most one call per key is under way, and a key whose call failed waits before the next,
// longer each time.
//
// What LeaseDesk, proofs, fences and reports all need: which call an answer belongs to, whether one is under
// way, from when on the next may leave, and which keys are due. A call that is dropped (its key was
// forgotten, another one was begun) still comes back once; it is then `stale`, and says nothing about its
// key. After reset() nobody knows it.
// Waits are those of Backoff (R59). No clock is read. One thread.
#pragma once

#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "controller/backoff.h"
#include "kapi/call.h"

namespace gs::controller {

template <class Key, class What = std::monostate>
class KeyedCalls {
 public:
  struct Answered {
    Key key;
    What what;
    bool stale = false;
  };

  explicit KeyedCalls(std::uint8_t owner, kapi::RetryTerms terms = {}) : owner_{owner}, waits_{terms} {}

  [[nodiscard]] bool open(const Key& key) const { return open_.contains(key); }
  /// A call about it may leave now.
  [[nodiscard]] bool due(const Key& key, Mono now) const { return !open(key) && waits_.due(key, now); }
  /// Mono{}: at once.
  [[nodiscard]] Mono notBefore(const Key& key) const { return waits_.notBefore(key); }
  /// A call about it leaves now, under the token that is returned.
  /// One that was under way is stale from now on.
  kapi::Token begin(const Key& key, What what = {}) {
    const kapi::Token token = kapi::makeToken(owner_, next_++);
    open_.insert_or_assign(key, token);
    calls_.emplace(token, Call{key, std::move(what)});
    return token;
  }
  /// nullopt: it is no call of ours, or one of before the last reset().
  std::optional<Answered> answered(kapi::Token token) {
    auto call = calls_.extract(token);
    if (call.empty()) { return std::nullopt; }
    const auto current = open_.find(call.mapped().key);
    const bool stale = current == open_.end() || current->second != token;
    if (!stale) { open_.erase(current); }
    return Answered{std::move(call.mapped().key), std::move(call.mapped().what), stale};
  }
  /// What was asked came to nothing: the next one waits. Returns until when.
  Mono failed(const Key& key, Mono now, Duration asked_for = {}) { return waits_.tried(key, now, asked_for); }
  /// How often in a row it failed.
  [[nodiscard]] int failures(const Key& key) const { return waits_.tries(key); }
  void worked(const Key& key) { waits_.forget(key); }
  /// The call under way about it, if there is one, means nothing any more.
  void drop(const Key& key) { open_.erase(key); }
  /// Nothing is known about it any more.
  void forget(const Key& key) {
    drop(key);
    waits_.forget(key);
  }
  /// The keys whose wait is over, each once per failure.
  [[nodiscard]] std::vector<Key> takeDue(Mono now) { return waits_.takeDue(now); }
  [[nodiscard]] std::optional<Mono> nextDue() const { return waits_.nextDue(); }
  /// Calls that were not answered yet, stale ones too.
  [[nodiscard]] std::size_t underWay() const { return calls_.size(); }
  /// What is kept of keys.
  [[nodiscard]] std::size_t size() const { return open_.size() + waits_.size(); }
  void reset() {
    open_.clear();
    calls_.clear();
    waits_.reset();
  }

 private:
  struct Call {
    Key key;
    What what;
  };
  std::uint8_t owner_;
  std::uint64_t next_ = 1;
  std::map<Key, kapi::Token> open_;
  std::unordered_map<kapi::Token, Call> calls_;
  Backoff<Key> waits_;
};

}  // namespace gs::controller
