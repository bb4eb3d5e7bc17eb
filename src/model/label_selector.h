// Label selectors and required pod anti-affinity as values (k8s.io/apimachinery meta/v1 LabelSelector,
// core/v1 PodAffinityTerm).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace gs::model {

using Labels = std::map<std::string, std::string>;

struct LabelRequirement {
  enum class Op : std::uint8_t { In, NotIn, Exists, DoesNotExist };
  std::string key;
  Op op{};
  std::vector<std::string> values;  // sorted, unique; In and NotIn only
  friend auto operator<=>(const LabelRequirement&, const LabelRequirement&) = default;
};

/// Every requirement must hold; none: everything matches. NotIn and DoesNotExist match where the key is
/// missing.
struct LabelSelector {
  std::vector<LabelRequirement> requirements;  // sorted, unique
  [[nodiscard]] bool matches(const Labels& labels) const;
  friend auto operator<=>(const LabelSelector&, const LabelSelector&) = default;
};

/// A bound pod's word that no pod which `pods` selects may come to a node with the same value of the label
/// `topology_key`.
struct AntiAffinityTerm {
  std::string topology_key;
  std::vector<std::string> namespaces;  // of the pods it keeps away, sorted, unique; empty: every namespace
  LabelSelector pods;
  [[nodiscard]] bool matches(const std::string& ns, const Labels& labels) const;
  friend auto operator<=>(const AntiAffinityTerm&, const AntiAffinityTerm&) = default;
};
/// A term's name: the same for equal terms only (64 bits of the SHA-256 of its text), so that it can be
/// compared and sorted.
using TermId = std::uint64_t;
[[nodiscard]] TermId idOf(const AntiAffinityTerm& term);
/// One line for people: "zone in default,team: app in (a,b), !old".
[[nodiscard]] std::string print(const AntiAffinityTerm& term);

}  // namespace gs::model
