// Nodes by the ledger's index, as bits: what two sets have in common costs a 64th of their size. Pure.
#pragma once

#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sched/ledger/ledger.h"

namespace gs::extender {

class NodeSet {
 public:
  using NodeIndex = sched::Ledger::NodeIndex;

  NodeSet() = default;
  /// Of so many nodes none. `with_others`: all that come after them are in it.
  explicit NodeSet(std::size_t nodes, bool with_others = false)
      : words_((nodes + kBits - 1) / kBits), others_{with_others ? ~std::uint64_t{0} : 0} {
    if (nodes % kBits != 0) { words_.back() = others_ << (nodes % kBits); }
  }

  void insert(NodeIndex i) {
    while (words_.size() <= i / kBits) { words_.push_back(others_); }
    words_[i / kBits] |= bit(i);
  }
  void insertAll(const NodeSet& o) {
    while (words_.size() < o.words_.size()) { words_.push_back(others_); }
    for (std::size_t i = 0; i < words_.size(); ++i) { words_[i] |= o.word(i); }
    others_ |= o.others_;
  }
  /// Of a set without the others.
  void erase(NodeIndex i) {
    if (i / kBits < words_.size()) { words_[i / kBits] &= ~bit(i); }
  }
  [[nodiscard]] bool contains(NodeIndex i) const { return (word(i / kBits) & bit(i)) != 0; }
  /// Not even nodes that are to come.
  [[nodiscard]] bool empty() const {
    for (const std::uint64_t w : words_) {
      if (w != 0) { return false; }
    }
    return others_ == 0;
  }
  /// How many words a look for common nodes takes.
  [[nodiscard]] std::size_t words() const { return words_.size(); }
  /// The first that both have, of those that this one names.
  [[nodiscard]] std::optional<NodeIndex> firstCommon(const NodeSet& o) const {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      if (const std::uint64_t common = words_[i] & o.word(i); common != 0) {
        return static_cast<NodeIndex>(i * kBits + static_cast<std::size_t>(std::countr_zero(common)));
      }
    }
    return std::nullopt;
  }
  friend auto operator<=>(const NodeSet&, const NodeSet&) = default;

 private:
  static constexpr std::size_t kBits = 64;
  static std::uint64_t bit(NodeIndex i) { return std::uint64_t{1} << (i % kBits); }
  [[nodiscard]] std::uint64_t word(std::size_t i) const { return i < words_.size() ? words_[i] : others_; }

  std::vector<std::uint64_t> words_;
  std::uint64_t others_ = 0;  // the words that follow
};

}  // namespace gs::extender
