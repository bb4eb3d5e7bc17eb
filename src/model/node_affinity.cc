#include "model/node_affinity.h"

#include <algorithm>
#include <charconv>

#include "base/mutant.h"

namespace gs::model {
namespace {

bool lists(const NodeRequirement& r, const std::string& value) {
  return std::binary_search(r.values.begin(), r.values.end(), value);
}

/// Gt and Lt.
bool isOnItsSide(const NodeRequirement& r, const std::string& value) {
  const auto there = integerOf(value);
  const auto asked = r.values.size() == 1 ? integerOf(r.values.front()) : std::nullopt;
  if (!there || !asked) { return false; }
  return r.op == NodeRequirement::Op::Gt ? *there > *asked : *there < *asked;
}

bool holdsFor(const NodeRequirement& r, const Labels& labels) {
  using Op = NodeRequirement::Op;
  const auto it = labels.find(r.key);
  const bool there = it != labels.end();
  switch (r.op) {
    case Op::In: return there && lists(r, it->second);
    case Op::NotIn: return there ? !lists(r, it->second) : !GS_MUTANT(NotInNeedsLabel);
    case Op::Exists: return there;
    case Op::DoesNotExist: return !there;
    case Op::Gt:
    case Op::Lt: return there && isOnItsSide(r, it->second);
  }
  return false;
}

/// A field that no node has is empty.
bool holdsForField(const NodeRequirement& r, const std::string& name) {
  static const std::string kNone;
  const bool listed = lists(r, r.key == kNodeNameField ? name : kNone);
  return r.op == NodeRequirement::Op::In ? listed : !listed;
}

bool namesOthers(const NodeRequirement& r, const std::string& name) {
  return r.key == kNodeNameField && r.op == NodeRequirement::Op::In && !lists(r, name);
}

}  // namespace

bool matches(const NodeTerm& term, const Labels& labels, const std::string& name) {
  if (term.labels.empty() && term.fields.empty()) { return false; }
  const bool all_labels =
      std::all_of(term.labels.begin(), term.labels.end(), [&](const auto& r) { return holdsFor(r, labels); });
  return all_labels && (name.empty() || std::all_of(term.fields.begin(), term.fields.end(),
                                                    [&](const auto& r) { return holdsForField(r, name); }));
}

bool matchesAny(const std::vector<NodeTerm>& terms, const Labels& labels, const std::string& name) {
  return std::any_of(terms.begin(), terms.end(),
                     [&](const NodeTerm& term) { return matches(term, labels, name); });
}

bool mayBeNamed(const NodeAffinity& affinity, const std::string& name) {
  const auto names_others = [&](const NodeTerm& term) {
    return std::any_of(term.fields.begin(), term.fields.end(),
                       [&](const auto& r) { return namesOthers(r, name); });
  };
  return affinity.required.empty() ||
         !std::all_of(affinity.required.begin(), affinity.required.end(), names_others);
}

bool namesNobody(const NodeAffinity& affinity) {
  const auto is_at_odds = [](const NodeTerm& term) {
    const NodeRequirement* first = nullptr;
    return std::any_of(term.fields.begin(), term.fields.end(), [&](const NodeRequirement& r) {
      if (r.key != kNodeNameField || r.op != NodeRequirement::Op::In) { return false; }
      if (first == nullptr) { first = &r; }
      return r.values != first->values;
    });
  };
  return !affinity.required.empty() &&
         std::all_of(affinity.required.begin(), affinity.required.end(), is_at_odds);
}

bool namesHosts(const NodeTerm& term) {
  return std::any_of(term.labels.begin(), term.labels.end(), [](const NodeRequirement& r) {
    return r.key == kHostnameLabel && r.op == NodeRequirement::Op::In;
  });
}

bool namesNodes(const NodeAffinity& affinity) {
  const auto names_some = [](const NodeTerm& term) {
    return namesHosts(term) ||
           std::any_of(term.fields.begin(), term.fields.end(), [](const NodeRequirement& r) {
             return r.key == kNodeNameField && r.op == NodeRequirement::Op::In;
           });
  };
  return !affinity.required.empty() &&
         std::all_of(affinity.required.begin(), affinity.required.end(), names_some);
}

std::int64_t preferredWeight(const NodeAffinity& affinity, const Labels& labels, const std::string& name) {
  std::int64_t sum = 0;
  for (const auto& [weight, term] : affinity.preferred) {
    if (matches(term, labels, name)) { sum += weight; }
  }
  return sum;
}

std::optional<std::int64_t> integerOf(std::string_view text) {
  const bool has_plus = text.starts_with('+');
  if (has_plus) { text.remove_prefix(1); }
  if (has_plus && text.starts_with('-')) { return std::nullopt; }
  std::int64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole ? std::optional{n} : std::nullopt;
}

}  // namespace gs::model
