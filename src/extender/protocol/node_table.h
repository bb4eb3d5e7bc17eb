// Names of nodes and their indexes in the ledger, as an immutable table that many threads read: a body of
// five thousand names becomes numbers without the machine's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sched/ledger/ledger.h"

namespace gs::extender {

class NodeTable {
 public:
  using Index = sched::Ledger::NodeIndex;
  static constexpr Index kUnknown = ~Index{0};

  /// Of what the ledger knows now; `version`: its comings().end().
  explicit NodeTable(const sched::Ledger& ledger);
  NodeTable(const NodeTable&) = delete;
  NodeTable& operator=(const NodeTable&) = delete;

  [[nodiscard]] Index find(std::string_view name) const {
    const std::size_t hash = std::hash<std::string_view>{}(name);
    for (std::size_t at = hash & mask_; slots_[at].node != kUnknown; at = (at + 1) & mask_) {
      if (slots_[at].tag == tagOf(hash) && names_[slots_[at].node] == name) { return slots_[at].node; }
    }
    return kUnknown;
  }
  [[nodiscard]] const std::string& name(Index i) const { return names_[i]; }
  [[nodiscard]] std::size_t version() const { return version_; }

 private:
  std::vector<std::string> names_;  // by index; "" for one that is nobody's
  // Open addressing, at most half full: a body of thousands of names stays in the processor's cache.
  struct Slot {
    std::uint32_t tag = 0;  // of the hash
    Index node = kUnknown;  // none
  };
  static std::uint32_t tagOf(std::size_t hash) { return static_cast<std::uint32_t>(hash >> 32U); }
  std::vector<Slot> slots_;
  std::size_t mask_ = 0;
  std::size_t version_;
};

using NodeTablePtr = std::shared_ptr<const NodeTable>;

}  // namespace gs::extender
