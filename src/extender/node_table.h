// Names of nodes and their indexes in the ledger, as an immutable table that many threads read: a body of five thousand
// names becomes numbers without the machine's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sched/ledger.h"

namespace gs::extender {

class NodeTable {
 public:
  using Index = sched::Ledger::NodeIndex;
  static constexpr Index kUnknown = ~Index{0};

  /// Of what the ledger knows now; `version`: its namings().size().
  explicit NodeTable(const sched::Ledger& ledger);
  NodeTable(const NodeTable&) = delete;
  NodeTable& operator=(const NodeTable&) = delete;

  [[nodiscard]] Index find(std::string_view name) const {
    const auto it = index_.find(name);
    return it == index_.end() ? kUnknown : it->second;
  }
  [[nodiscard]] const std::string& name(Index i) const { return names_[i]; }
  [[nodiscard]] std::size_t version() const { return version_; }

 private:
  std::vector<std::string> names_;  // by index; "" for one that is nobody's
  std::unordered_map<std::string_view, Index> index_;
  std::size_t version_;
};

using NodeTablePtr = std::shared_ptr<const NodeTable>;

}  // namespace gs::extender
