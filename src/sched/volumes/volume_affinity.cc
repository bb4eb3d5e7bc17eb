#include "sched/volumes/volume_affinity.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

namespace gs::sched {
namespace {

using NodeOp = model::NodeRequirement::Op;

/// More nodes than that are not told one by one.
constexpr std::size_t kMostPinned = 8;

std::optional<std::int64_t> wholeNumber(std::string_view text) {
  if (text.starts_with('+')) { text.remove_prefix(1); }
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) { return std::nullopt; }
  return number;
}

bool compares(const model::NodeRequirement& r, const std::string& value) {
  const auto has = wholeNumber(value);
  const auto limit = r.values.empty() ? std::nullopt : wholeNumber(r.values.front());
  if (!has || !limit) { return false; }
  return r.op == NodeOp::Gt ? *has > *limit : *has < *limit;
}

bool holdsOn(const model::NodeRequirement& r, const model::Labels& node) {
  const auto it = node.find(r.key);
  const bool there = it != node.end();
  const auto listed = [&] { return std::binary_search(r.values.begin(), r.values.end(), it->second); };
  switch (r.op) {
    case NodeOp::In: return there && listed();
    case NodeOp::NotIn: return !there || !listed();
    case NodeOp::Exists: return there;
    case NodeOp::DoesNotExist: return !there;
    case NodeOp::Gt:
    case NodeOp::Lt: return there && compares(r, it->second);
  }
  return false;
}

bool matchesLabels(const model::NodeTerm& term, const model::Labels& node) {
  if (term.labels.empty() && term.fields.empty()) { return false; }
  return std::all_of(term.labels.begin(), term.labels.end(), [&](const auto& r) { return holdsOn(r, node); });
}

template <class Requirement>
Pin narrowestOf(const std::vector<Requirement>& all) {
  const Requirement* best = nullptr;
  for (const Requirement& r : all) {
    if (r.op != Requirement::Op::In || r.values.empty() || r.values.size() > kMostPinned) { continue; }
    if (best == nullptr || r.values.size() < best->values.size()) { best = &r; }
  }
  return best == nullptr ? Pin{} : Pin{best->key, best->values};
}

}  // namespace

bool isReachedFrom(const model::VolumeAffinity& affinity, const model::Labels& node) {
  return !affinity.is_required || std::any_of(affinity.terms.begin(), affinity.terms.end(),
                                              [&](const auto& term) { return matchesLabels(term, node); });
}

Pin pinOf(const model::VolumeAffinity& affinity) {
  return affinity.is_required && affinity.terms.size() == 1 ? narrowestOf(affinity.terms.front().labels)
                                                            : Pin{};
}

Pin pinOf(const model::LabelSelector& nodes) { return narrowestOf(nodes.requirements); }

}  // namespace gs::sched
