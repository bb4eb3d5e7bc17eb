// Label selectors and required pod anti-affinity as values (k8s.io/apimachinery meta/v1 LabelSelector,
// core/v1 PodAffinityTerm).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gs::model {

using Labels = std::map<std::string, std::string>;
class PodLabels;

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
  [[nodiscard]] bool matches(const PodLabels& labels) const;
  friend auto operator<=>(const LabelSelector&, const LabelSelector&) = default;
};

/// A bound pod's word that no pod which `pods` selects may come to a node with the same value of the label
/// `topology_key`.
struct AntiAffinityTerm {
  std::string topology_key;
  /// Of the pods it keeps away: these, and those that `namespace_selector` selects. Sorted, unique. With
  /// neither: every namespace.
  std::vector<std::string> namespaces;
  LabelSelector pods;
  std::optional<LabelSelector> namespace_selector{};
  /// `ns_labels`: of the Namespace `ns`, as far as it is known.
  [[nodiscard]] bool matches(const std::string& ns, const Labels& labels, const Labels& ns_labels = {}) const;
  friend auto operator<=>(const AntiAffinityTerm&, const AntiAffinityTerm&) = default;
};
/// A term's name: the same for equal terms only (64 bits of the SHA-256 of its text), so that it can be
/// compared and sorted.
using TermId = std::uint64_t;
[[nodiscard]] TermId idOf(const AntiAffinityTerm& term);
/// One line for people: "zone in default,team: app in (a,b), !old"; "zone in default + (tier in (a)): app".
[[nodiscard]] std::string print(const AntiAffinityTerm& term);

}  // namespace gs::model
