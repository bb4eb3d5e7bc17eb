// Things that concern some nodes or all, by the label values of these nodes (Pin): who asks for a node looks
// at those that may concern it. Cost: O(log) to put and to remove, for each value of the pin; to visit, a
// look-up for each key, and what is there.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "model/label_selector.h"
#include "sched/volumes/volume_affinity.h"

namespace gs::sched {

template <class T>
class Filed {
 public:
  using Set = std::set<T>;

  void put(const Pin& pin, const T& what) {
    if (pin.key.empty()) { everywhere_.insert(what); }
    for (const auto& value : pin.values) { pinned_[pin.key][value].insert(what); }
  }
  void remove(const Pin& pin, const T& what) {
    if (pin.key.empty()) { everywhere_.erase(what); }
    const auto key = pinned_.find(pin.key);
    if (key == pinned_.end()) { return; }
    for (const auto& value : pin.values) {
      const auto at = key->second.find(value);
      if (at == key->second.end()) { continue; }
      at->second.erase(what);
      if (at->second.empty()) { key->second.erase(at); }
    }
    if (key->second.empty()) { pinned_.erase(key); }
  }
  /// Calls visit(const Set&) for each set that may concern a node with these labels.
  template <class Visit>
  void at(const model::Labels& node, const Visit& visit) const {
    for (const auto& [key, values] : pinned_) {
      const auto label = node.find(key);
      const auto there = label == node.end() ? values.end() : values.find(label->second);
      if (there != values.end()) { visit(there->second); }
    }
    if (!everywhere_.empty()) { visit(everywhere_); }
  }
  [[nodiscard]] bool empty() const { return everywhere_.empty() && pinned_.empty(); }

 private:
  std::map<std::string, std::unordered_map<std::string, Set>> pinned_;  // by key, value
  Set everywhere_;
};

}  // namespace gs::sched
