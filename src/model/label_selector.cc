#include "model/label_selector.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/hash.h"

namespace gs::model {
namespace {

bool holds(const LabelRequirement& r, const Labels& labels) {
  const auto it = labels.find(r.key);
  const bool there = it != labels.end();
  const auto listed = [&] { return std::binary_search(r.values.begin(), r.values.end(), it->second); };
  switch (r.op) {
    case LabelRequirement::Op::In: return there && listed();
    case LabelRequirement::Op::NotIn: return !there || !listed();
    case LabelRequirement::Op::Exists: return there;
    case LabelRequirement::Op::DoesNotExist: return !there;
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
  return std::all_of(requirements.begin(), requirements.end(),
                     [&](const auto& r) { return holds(r, labels); });
}

bool AntiAffinityTerm::matches(const std::string& ns, const Labels& labels) const {
  return (namespaces.empty() || std::binary_search(namespaces.begin(), namespaces.end(), ns)) &&
         pods.matches(labels);
}

std::string print(const AntiAffinityTerm& term) {
  std::vector<std::string> parts;
  for (const auto& r : term.pods.requirements) { parts.push_back(print(r)); }
  return fmt::format("{} in {}: {}", term.topology_key,
                     term.namespaces.empty() ? "*" : fmt::format("{}", fmt::join(term.namespaces, ",")),
                     fmt::join(parts, ", "));
}

TermId idOf(const AntiAffinityTerm& term) {
  const std::string hex = sha256Hex(print(term)).substr(0, 16);
  TermId id = 0;
  std::from_chars(hex.data(), hex.data() + hex.size(), id, 16);
  return id;
}

}  // namespace gs::model
