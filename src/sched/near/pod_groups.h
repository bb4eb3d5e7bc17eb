// The pods that are there, in groups: those of one namespace with equal labels are one group, since what
// others say of pods goes by namespace and labels alone. Of each group it is kept how many are on which node.
//
// Cost of a pod that comes or goes: O(its labels + log nodes of its group), and moving the entries of the
// group's nodes behind it. Memory: about 200 bytes and its labels for each group, 20 bytes for each node of
// it. One thread.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/pod_labels.h"
#include "sched/near/topology_key.h"

namespace gs::sched {

[[nodiscard]] std::size_t labelHash(std::string_view key, std::string_view value);
/// Two bits of 64 for each label: whoever lacks a bit of it lacks the label.
[[nodiscard]] constexpr std::uint64_t labelBits(std::size_t label_hash) {
  return std::uint64_t{1} << (label_hash & 63U) | std::uint64_t{1} << (label_hash >> 6U & 63U);
}

/// So many of a group are on one node.
struct NearPods {
  std::uint32_t all = 0;
  std::uint32_t leaving = 0;  // of these, with a deletionTimestamp
  [[nodiscard]] std::uint32_t staying() const { return all - leaving; }
};

/// One of the matchers of a standing (sched/near/matcher.h). Standings are known by numbers that are not used
/// again, so that who is gone need not be looked for.
struct MatcherRef {
  std::uint64_t standing = 0;
  std::uint32_t matcher = 0;
  friend auto operator<=>(const MatcherRef&, const MatcherRef&) = default;
};

struct PodGroup {
  struct OnNode {
    NearNode node = 0;
    NearPods pods;
  };
  const std::string* ns = nullptr;
  model::PodLabels labels;
  std::uint64_t bits = 0;   // of its labels
  std::uint32_t place = 0;  // in PodGroups::Namespace::groups
  std::vector<OnNode> on;   // by node; those with a pod
  /// Who means it, and some who are gone.
  std::vector<MatcherRef> matched;
  std::size_t tidy_at = 16;  // `matched` is looked through when it is so long

  [[nodiscard]] NearPods at(NearNode node) const;
};

class PodGroups {
 public:
  struct Entry {
    std::uint64_t bits = 0;
    PodGroup* group = nullptr;
  };
  struct Hash {
    std::size_t operator()(const model::PodLabels& labels) const { return labels.hash(); }
  };
  struct Namespace {
    std::unordered_map<model::PodLabels, std::unique_ptr<PodGroup>, Hash> by_labels;
    std::vector<Entry> groups;  // side by side, so that a look at all of them is short
  };
  using Namespaces = std::map<std::string, Namespace>;

  struct Added {
    PodGroup* group = nullptr;
    bool is_new = false;        // there was no such group
    bool is_new_there = false;  // it had no pod on that node
  };
  Added add(const std::string& ns, const model::PodLabels& labels, NearNode node, bool leaving);
  /// nullptr: there is none.
  [[nodiscard]] PodGroup* find(const std::string& ns, const model::PodLabels& labels);
  /// Of one that add() counted. True: it has no pod on that node any more.
  bool take(PodGroup& group, NearNode node, bool leaving);
  /// Of one without a pod: it goes.
  void drop(PodGroup& group);
  [[nodiscard]] const Namespaces& namespaces() const { return namespaces_; }

 private:
  Namespaces namespaces_;
};

}  // namespace gs::sched
