// Who stands in line: of each namespace in the order in which they came, and namespaces take turns, so that
// ten thousand pods of one keep nobody else waiting. Who had a turn and could not use it comes back to where
// it stood. One thread.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "model/ids.h"

namespace gs::scheduler {

class WakeLine {
 public:
  /// `ticket`: what an earlier add() gave it, 0: it is new. Returns its ticket.
  std::uint64_t add(const model::Uid& uid, const std::string& ns, std::uint64_t ticket = 0) {
    remove(uid);
    if (ticket == 0) { ticket = ++last_ticket_; }
    by_namespace_[ns].emplace(ticket, uid);
    place_.emplace(uid, std::pair{ns, ticket});
    return ticket;
  }
  void remove(const model::Uid& uid) {
    const auto place = place_.extract(uid);
    if (place.empty()) { return; }
    const auto ns = by_namespace_.find(place.mapped().first);
    ns->second.erase(place.mapped().second);
    if (ns->second.empty()) { by_namespace_.erase(ns); }
  }
  /// The first of the next namespace that may leaves. nullopt: none may.
  template <class May>
  std::optional<model::Uid> take(const May& may) {
    auto ns = by_namespace_.upper_bound(last_);
    for (std::size_t i = 0; i < by_namespace_.size(); ++i, ++ns) {
      if (ns == by_namespace_.end()) { ns = by_namespace_.begin(); }
      if (!may(ns->first)) { continue; }
      last_ = ns->first;
      const model::Uid uid = ns->second.begin()->second;
      remove(uid);
      return uid;
    }
    return std::nullopt;
  }
  [[nodiscard]] std::size_t size() const { return place_.size(); }
  [[nodiscard]] bool empty() const { return place_.empty(); }
  void clear() {
    by_namespace_.clear();
    place_.clear();
  }

 private:
  std::map<std::string, std::map<std::uint64_t, model::Uid>> by_namespace_;  // by ticket; none is empty
  std::unordered_map<model::Uid, std::pair<std::string, std::uint64_t>> place_;
  std::string last_;  // whose turn it was
  std::uint64_t last_ticket_ = 0;
};

}  // namespace gs::scheduler
