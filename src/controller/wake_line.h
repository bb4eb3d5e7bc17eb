// Who stands in line to be woken, so that kube-scheduler looks at it again: of each namespace in the order in
// which they came, and namespaces take turns, so that ten thousand pods of one keep nobody else waiting. Who
// had a turn and could not use it comes back to where it stood. Turns come no sooner than `between` after the
// last one that was used. Key: a pod, or pods that ask for the same. One thread.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/clock.h"
#include "model/ids.h"

namespace gs::controller {

inline constexpr Duration kBetweenWakes = std::chrono::milliseconds{20};

template <class Key = model::Uid>
class WakeLine {
 public:
  explicit WakeLine(Duration between = kBetweenWakes) : between_{between} {}

  /// `ticket`: what an earlier add() gave it, 0: it is new. Returns its ticket.
  std::uint64_t add(const Key& key, const std::string& ns, std::uint64_t ticket = 0) {
    remove(key);
    if (ticket == 0) { ticket = ++last_ticket_; }
    by_namespace_[ns].emplace(ticket, key);
    place_.emplace(key, std::pair{ns, ticket});
    waits_ = false;
    return ticket;
  }
  void remove(const Key& key) {
    const auto place = place_.extract(key);
    if (place.empty()) { return; }
    const auto ns = by_namespace_.find(place.mapped().first);
    ns->second.erase(place.mapped().second);
    if (ns->second.empty()) { by_namespace_.erase(ns); }
  }
  [[nodiscard]] bool contains(const Key& key) const { return place_.contains(key); }

  /// Whose turn it is: the first of the next namespace that may leaves. nullopt: none may, or it is too soon.
  template <class May>
  std::optional<Key> next(Mono now, const May& may) {
    if (empty() || waits_ || now < next_) { return std::nullopt; }
    auto key = take(may);
    waits_ = !key;
    return key;
  }
  /// Nobody stands there, and it is not too soon.
  [[nodiscard]] bool isFree(Mono now) const { return empty() && now >= next_; }
  /// Somebody used a turn.
  void used(Mono now) { next_ = now + between_; }
  /// Namespaces that might not, may now perhaps.
  void roomChanged() { waits_ = false; }
  /// When somebody may have a turn; nullopt: not before something happens.
  [[nodiscard]] std::optional<Mono> nextDue() const {
    return empty() || waits_ ? std::nullopt : std::optional{next_};
  }

  [[nodiscard]] std::size_t size() const { return place_.size(); }
  [[nodiscard]] bool empty() const { return place_.empty(); }
  void reset() {
    by_namespace_.clear();
    place_.clear();
    next_ = {};
    waits_ = false;
  }

 private:
  template <class May>
  std::optional<Key> take(const May& may) {
    auto ns = by_namespace_.upper_bound(last_);
    for (std::size_t i = 0; i < by_namespace_.size(); ++i, ++ns) {
      if (ns == by_namespace_.end()) { ns = by_namespace_.begin(); }
      if (!may(ns->first)) { continue; }
      last_ = ns->first;
      const Key key = ns->second.begin()->second;
      remove(key);
      return key;
    }
    return std::nullopt;
  }

  Duration between_;
  std::map<std::string, std::map<std::uint64_t, Key>> by_namespace_;  // by ticket; none is empty
  std::unordered_map<Key, std::pair<std::string, std::uint64_t>> place_;
  std::string last_;  // whose turn it was
  std::uint64_t last_ticket_ = 0;
  Mono next_{};         // turn
  bool waits_ = false;  // none of them may before somebody else is done
};

}  // namespace gs::controller
