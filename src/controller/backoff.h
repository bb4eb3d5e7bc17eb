// Backoff: when something with a key may be tried again (R59: no key is tried again at once,
// whatever the answer).
//
// Counts the tries of each key. After the n-th one the next is due after kapi::retryWait(n), or later when
// the server asked for it. Who goes by due() and says tried() for each try bounds what a key costs, whatever
// comes of the tries.
// A key is forgotten when it went through for good (forget()), or `quiet` after its next try was due without
// one: so what is remembered is bounded by what was tried lately. takeDue() does that, so it has to be called
// now and then.
// Ties: keys that are due at the same instant come ascending. No clock is read. One thread.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutant.h"
#include "kapi/retry_wait.h"

namespace gs::controller {

template <class Key>
class Backoff {
 public:
  explicit Backoff(kapi::RetryTerms terms = {}, Duration quiet = std::chrono::minutes{1})
      : terms_{terms}, quiet_{quiet} {}

  /// It may be tried now. A key that is not known is.
  [[nodiscard]] bool due(const Key& key, Mono now) const { return notBefore(key) <= now; }
  /// Mono{}: a key that is not known.
  [[nodiscard]] Mono notBefore(const Key& key) const {
    const auto it = entries_.find(key);
    return it == entries_.end() ? Mono{} : it->second.not_before;
  }
  /// One more try of it, or one that is over. Returns when the next is due. (`asked_for`: Retry-After)
  Mono tried(const Key& key, Mono now, Duration asked_for = {}) {
    Entry& entry = entries_[key];
    order_.erase({entry.at, key});
    entry.not_before = now + kapi::retryWait(++entry.tries, asked_for, terms_);
    if (GS_MUTANT(RetriesAtOnce)) { entry.not_before = now + std::chrono::milliseconds{1}; }
    entry.at = entry.not_before;
    entry.told = false;
    order_.emplace(entry.at, key);
    return entry.not_before;
  }
  [[nodiscard]] int tries(const Key& key) const {
    const auto it = entries_.find(key);
    return it == entries_.end() ? 0 : it->second.tries;
  }
  void forget(const Key& key) {
    const auto it = entries_.find(key);
    if (it == entries_.end()) { return; }
    order_.erase({it->second.at, key});
    entries_.erase(it);
  }
  /// The keys whose wait is over, each once per try.
  [[nodiscard]] std::vector<Key> takeDue(Mono now) {
    std::vector<Key> out;
    while (!order_.empty() && order_.begin()->first <= now) {
      const Key key = std::move(order_.extract(order_.begin()).value().second);
      Entry& entry = entries_.at(key);
      if (entry.told) {  // nobody tried it since
        entries_.erase(key);
        continue;
      }
      entry.told = true;
      entry.at = entry.not_before + quiet_;
      order_.emplace(entry.at, key);
      out.push_back(key);
    }
    return out;
  }
  /// When takeDue() has something to do next.
  [[nodiscard]] std::optional<Mono> nextDue() const {
    return order_.empty() ? std::nullopt : std::optional{order_.begin()->first};
  }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  void reset() {
    entries_.clear();
    order_.clear();
  }

 private:
  struct Entry {
    int tries = 0;
    Mono not_before{};
    Mono at{};          // where it stands in order_: its next try, then its end
    bool told = false;  // takeDue() returned it
  };
  kapi::RetryTerms terms_;
  Duration quiet_;
  std::map<Key, Entry> entries_;
  std::set<std::pair<Mono, Key>> order_;
};

}  // namespace gs::controller
