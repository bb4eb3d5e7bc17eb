// Desk: which keys are to be looked at now, and the calls about them, so that work is by key and never over
// everything.
//
// touch() says that something about a key is new; next() gives the keys that may be worked on: at most one
// call per key is under way, a key whose call failed waits, longer each time (KeyedCalls), and no namespace
// takes the room of all others (FairShare). A key that is touched while its call is under way comes again
// when that is answered. Whoever gets a key from next() and begins no call is done with it.
// Namespaces take turns, keys within one come ascending. No clock is read. One thread.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/due.h"
#include "controller/fair_share.h"
#include "controller/keyed_calls.h"
#include "model/ids.h"

namespace gs::gkm {

template <class What>
class Desk {
 public:
  using Calls = controller::KeyedCalls<model::ObjectKey, What>;

  Desk(std::uint8_t owner, int most, kapi::RetryTerms terms = {}) : calls_{owner, terms}, share_{most} {}

  void touch(const model::ObjectKey& key) { ready_[key.ns].insert(key.name); }
  /// The same then, or sooner if it was to be so.
  void touchAt(const model::ObjectKey& key, Mono at) {
    const auto known = times_.find(key);
    if (known != times_.end()) {
      if (known->second <= at) { return; }
      order_.erase({known->second, key});
    }
    times_.insert_or_assign(key, at);
    order_.emplace(at, key);
  }
  /// The next key to work on, nullopt: none now.
  std::optional<model::ObjectKey> next(Mono now) {
    takeDue(now);
    if (!share_.any()) { return std::nullopt; }
    auto at = ready_.upper_bound(last_);
    for (std::size_t left = ready_.size(); left > 0; --left) {
      if (at == ready_.end()) { at = ready_.begin(); }
      if (auto key = nextOf(at->first, at->second, now)) {
        last_ = key->ns;
        if (at->second.empty()) { ready_.erase(at); }
        return key;
      }
      at = at->second.empty() ? ready_.erase(at) : std::next(at);
    }
    return std::nullopt;
  }
  /// A call about it leaves now.
  kapi::Token begin(const model::ObjectKey& key, What what) {
    share_.take(key.ns);
    return calls_.begin(key, std::move(what));
  }
  /// nullopt: no call of ours. Its key is touched.
  std::optional<typename Calls::Answered> answered(kapi::Token token) {
    auto answer = calls_.answered(token);
    if (!answer) { return std::nullopt; }
    share_.giveBack(answer->key.ns);
    touch(answer->key);
    return answer;
  }
  void failed(const model::ObjectKey& key, Mono now, Duration asked_for) {
    (void)calls_.failed(key, now, asked_for);
  }
  void worked(const model::ObjectKey& key) { calls_.worked(key); }
  /// A call about it is under way.
  [[nodiscard]] bool isOpen(const model::ObjectKey& key) const { return calls_.open(key); }
  /// Nothing is known about it any more. What it was touched for is forgotten too.
  void forget(const model::ObjectKey& key) {
    calls_.forget(key);
    if (const auto known = times_.find(key); known != times_.end()) {
      order_.erase({known->second, key});
      times_.erase(known);
    }
    if (const auto ns = ready_.find(key.ns); ns != ready_.end()) {
      ns->second.erase(key.name);
      if (ns->second.empty()) { ready_.erase(ns); }
    }
  }
  [[nodiscard]] std::optional<Mono> nextDue() const {
    const auto due = calls_.nextDue();
    return order_.empty() ? due : sooner(due, order_.begin()->first);
  }
  [[nodiscard]] std::size_t underWay() const { return calls_.underWay(); }
  /// Calls under way mean nothing any more; nothing is to be looked at.
  void reset() {
    calls_.reset();
    share_.reset();
    ready_.clear();
    times_.clear();
    order_.clear();
  }

 private:
  void takeDue(Mono now) {
    for (const auto& key : calls_.takeDue(now)) { touch(key); }
    while (!order_.empty() && order_.begin()->first <= now) {
      const model::ObjectKey key = order_.begin()->second;
      order_.erase(order_.begin());
      times_.erase(key);
      touch(key);
    }
  }
  /// What is not due is dropped: its answer or the end of its wait touches it again.
  std::optional<model::ObjectKey> nextOf(const std::string& ns, std::set<std::string>& names, Mono now) {
    while (!names.empty() && share_.free(ns) > 0) {
      model::ObjectKey key{ns, std::move(names.extract(names.begin()).value())};
      if (calls_.due(key, now)) { return key; }
    }
    return std::nullopt;
  }

  Calls calls_;
  controller::FairShare share_;
  std::map<std::string, std::set<std::string>> ready_;  // names, by namespace; none is empty
  std::string last_;                                    // the namespace whose turn it was
  std::map<model::ObjectKey, Mono> times_;
  std::set<std::pair<Mono, model::ObjectKey>> order_;  // the same
};

}  // namespace gs::gkm
