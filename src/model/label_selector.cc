#include "model/label_selector.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <optional>
#include <string_view>

#include "base/hash.h"
#include "model/pod_labels.h"

namespace gs::model {
namespace {

/// `value`: of the label, if it is there.
bool holds(const LabelRequirement& r, const std::optional<std::string_view>& value) {
  const auto listed = [&] {
    return std::binary_search(r.values.begin(), r.values.end(), *value, std::less<>{});
  };
  switch (r.op) {
    case LabelRequirement::Op::In: return value && listed();
    case LabelRequirement::Op::NotIn: return !value || !listed();
    case LabelRequirement::Op::Exists: return value.has_value();
    case LabelRequirement::Op::DoesNotExist: return !value;
  }
  return false;
}

std::string print(const LabelRequirement& r) {
  switch (r.op) {
    case LabelRequirement::Op::In: return fmt::format("{} in ({})", r.key, fmt::join(r.values, ","));
    case LabelRequirement::Op::NotIn: return fmt::format("{} notin ({})", r.key, fmt::join(r.values, ","));
    case LabelRequirement::Op::Exists: return r.key;
    case LabelRequirement::Op::DoesNotExist: return "!" + r.key;
  }
  return "?";
}

}  // namespace

bool LabelSelector::matches(const Labels& labels) const {
  return std::all_of(requirements.begin(), requirements.end(), [&](const auto& r) {
    const auto it = labels.find(r.key);
    return holds(r, it == labels.end() ? std::nullopt : std::optional<std::string_view>{it->second});
  });
}

bool LabelSelector::matches(const PodLabels& labels) const {
  return std::all_of(requirements.begin(), requirements.end(),
                     [&](const auto& r) { return holds(r, labels.find(r.key)); });
}

bool AntiAffinityTerm::matches(const std::string& ns, const Labels& labels, const Labels& ns_labels) const {
  const bool every = namespaces.empty() && !namespace_selector;
  const bool means = every || std::binary_search(namespaces.begin(), namespaces.end(), ns) ||
                     (namespace_selector && namespace_selector->matches(ns_labels));
  return means && pods.matches(labels);
}

namespace {

std::string print(const LabelSelector& selector) {
  std::vector<std::string> parts;
  for (const auto& r : selector.requirements) { parts.push_back(print(r)); }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string printNamespaces(const AntiAffinityTerm& term) {
  const std::string names = fmt::format("{}", fmt::join(term.namespaces, ","));
  if (term.namespace_selector) { return fmt::format("{} + ({})", names, print(*term.namespace_selector)); }
  return term.namespaces.empty() ? "*" : names;
}

}  // namespace

std::string print(const AntiAffinityTerm& term) {
  return fmt::format("{} in {}: {}", term.topology_key, printNamespaces(term), print(term.pods));
}

TermId idOf(const AntiAffinityTerm& term) {
  const std::string hex = sha256Hex(print(term)).substr(0, 16);
  TermId id = 0;
  std::from_chars(hex.data(), hex.data() + hex.size(), id, 16);
  return id;
}

}  // namespace gs::model
