// The nodes of the ledger by their values of some labels: those on which volumes are pinned. A key is learned
// when it is first asked for, by a pass over all nodes; from then on it is kept. The ledger must outlive it.
// One thread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "sched/ledger/ledger.h"

namespace gs::sched {

class NodePlaces {
 public:
  using Nodes = std::set<Ledger::NodeIndex>;

  explicit NodePlaces(const Ledger& ledger) : ledger_{ledger} {}

  /// The node came, went, or has other labels. Call it after the ledger knows.
  void nodeChanged(const model::NodeName& name);
  /// Those that exist and have that value.
  [[nodiscard]] const Nodes& at(const std::string& key, const std::string& value);

 private:
  struct Key {
    std::unordered_map<std::string, Nodes> nodes;              // by value
    std::unordered_map<Ledger::NodeIndex, std::string> value;  // of those that have one
  };
  void learn(const std::string& name, Key& key) const;
  void set(const std::string& name, Key& key, Ledger::NodeIndex i) const;
  static void clear(Key& key, Ledger::NodeIndex i);

  const Ledger& ledger_;
  std::map<std::string, Key> keys_;
  std::unordered_map<model::NodeName, Ledger::NodeIndex> index_;  // under which a node was last seen
};

}  // namespace gs::sched
