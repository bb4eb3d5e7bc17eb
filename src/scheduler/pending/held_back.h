// Pods whose turn came while their namespace had no slot (slots.h). They wait here and not in the queue, so
// those of other namespaces that stand behind them get their turn, and each of them is passed over once, not
// once per turn.
// Within a namespace the order is the queue's: priority, then creation, then uid; those that were tried in
// vain and the others take turns, so that neither keeps the others waiting. One thread.
#pragma once

#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sched/placement/queue.h"

namespace gs::scheduler {

class HeldBack {
 public:
  using Item = sched::Queue::Item;

  void add(const std::string& ns, const Item& item, bool in_vain = false) {
    remove(item.uid);
    const Place place{in_vain, -std::int64_t{item.priority}, item.created_us, item.uid};
    by_namespace_[ns].items.emplace(place, item);
    place_.emplace(item.uid, std::pair{ns, place});
  }
  void remove(const model::Uid& uid) {
    const auto known = place_.find(uid);
    if (known == place_.end()) { return; }
    const auto ns = by_namespace_.find(known->second.first);
    ns->second.items.erase(known->second.second);
    if (ns->second.items.empty()) { by_namespace_.erase(ns); }
    place_.erase(known);
  }
  /// The first of that namespace whose turn it is leaves.
  [[nodiscard]] std::optional<Item> take(const std::string& ns) {
    const auto waiting = by_namespace_.find(ns);
    if (waiting == by_namespace_.end()) { return std::nullopt; }
    auto& [items, in_vain] = waiting->second;
    const auto tried = items.lower_bound({true, std::numeric_limits<std::int64_t>::min(), 0, {}});
    const bool next = std::exchange(in_vain, !in_vain) && tried != items.end();
    const Item item = (next ? tried : items.begin())->second;
    remove(item.uid);
    return item;
  }
  [[nodiscard]] std::vector<std::string> namespaces() const {
    std::vector<std::string> out;
    for (const auto& [ns, items] : by_namespace_) { out.push_back(ns); }
    return out;
  }
  [[nodiscard]] bool contains(const model::Uid& uid) const { return place_.contains(uid); }
  [[nodiscard]] std::size_t size() const { return place_.size(); }
  void clear() {
    by_namespace_.clear();
    place_.clear();
  }

 private:
  using Place = std::tuple<bool, std::int64_t, std::int64_t, model::Uid>;  // those tried in vain last
  struct Waiting {
    std::map<Place, Item> items;
    bool in_vain = false;  // their turn
  };

  std::map<std::string, Waiting> by_namespace_;  // none is empty
  std::unordered_map<model::Uid, std::pair<std::string, Place>> place_;
};

}  // namespace gs::scheduler
