#include "sched/ledger/term_index.h"

#include <algorithm>

namespace gs::sched {
namespace {

using Op = model::LabelRequirement::Op;

const std::string kEveryNamespace;
constexpr std::size_t kFewValues = 8;

/// A term that lists very many, or selects some, is looked at for every pod rather than noted for each.
std::vector<std::string> namespacesOf(const model::AntiAffinityTerm& term) {
  constexpr std::size_t kMany = 64;
  const bool many = term.namespaces.empty() || term.namespaces.size() > kMany || term.namespace_selector;
  return many ? std::vector<std::string>{kEveryNamespace} : term.namespaces;
}

/// How many values of the label a requirement allows; any: the most. Fewer values lead to fewer pods.
std::size_t width(const model::LabelRequirement& r) {
  return r.op == Op::In ? r.values.size() : static_cast<std::size_t>(-1);
}

/// What it asks for that leads to the fewest pods; nullptr: it only says what they must not have.
const model::LabelRequirement* narrowest(const model::AntiAffinityTerm& term) {
  const model::LabelRequirement* best = nullptr;
  for (const auto& r : term.pods.requirements) {
    const bool asks = r.op == Op::In || r.op == Op::Exists;
    if (asks && (best == nullptr || width(r) < width(*best))) { best = &r; }
  }
  return best;
}

/// The one id for all the terms of that owner which mean that namespace.
model::TermId all(const std::string& owner, const std::string& meant) {
  return model::idOf({"all terms of " + owner, {meant}, {}});
}

/// Changes the entry of that key, and drops it when it is empty afterwards.
template <class Map, class Change>
void within(Map& map, const std::string& key, const Change& change) {
  const auto it = map.try_emplace(key).first;
  change(it->second);
  if (it->second.empty()) { map.erase(it); }
}

}  // namespace

template <class Change>
void TermIndex::change(const std::string& owner, const model::AntiAffinityTerm& term, const Change& change) {
  const auto in_owners = [&](Owners& owners) { within(owners, owner, change); };
  const model::LabelRequirement* by = narrowest(term);
  for (const auto& ns : namespacesOf(term)) {
    within(meant_, ns, [&](Meant& meant) {
      if (by == nullptr) { return in_owners(meant.no_label); }
      within(meant.labels, by->key, [&](Label& label) {
        if (width(*by) > kFewValues) { return in_owners(label.any_value); }
        for (const auto& value : by->values) { within(label.values, value, in_owners); }
      });
    });
  }
}

void TermIndex::add(const std::string& owner, model::TermId id, const model::AntiAffinityTerm& term) {
  change(owner, term, [&](Terms& terms) { terms[id] = &term; });
}

void TermIndex::remove(const std::string& owner, model::TermId id, const model::AntiAffinityTerm& term) {
  change(owner, term, [&](Terms& terms) { terms.erase(id); });
}

std::vector<model::TermId> TermIndex::namesOf(const std::string& owner, model::TermId id,
                                              const model::AntiAffinityTerm& term) {
  std::vector<model::TermId> out{id};
  for (const auto& ns : namespacesOf(term)) { out.push_back(all(owner, ns)); }
  return out;
}

/// Those that its labels lead to.
void TermIndex::find(const Meant& meant, const model::Labels& labels, Found& found) {
  const auto take = [&](const Owners& owners) {
    for (const auto& terms : owners) { found.push_back(&terms); }
  };
  const auto take_label = [&](const Label& label, const std::string& value) {
    take(label.any_value);
    const auto at = label.values.find(value);
    if (at != label.values.end()) { take(at->second); }
  };
  take(meant.no_label);
  if (labels.size() < meant.labels.size()) {
    for (const auto& [key, value] : labels) {
      const auto at = meant.labels.find(key);
      if (at != meant.labels.end()) { take_label(at->second, value); }
    }
  } else {
    for (const auto& [key, label] : meant.labels) {
      const auto at = labels.find(key);
      if (at != labels.end()) { take_label(label, at->second); }
    }
  }
}

/// Owner by owner.
void TermIndex::addMeaning(const std::string& meant, Found found, const Asked& asked,
                           std::vector<model::TermId>& ids) const {
  const auto by_owner = [](const auto* a, const auto* b) { return a->first < b->first; };
  if (!std::is_sorted(found.begin(), found.end(), by_owner)) {
    std::stable_sort(found.begin(), found.end(), by_owner);
  }
  for (std::size_t i = 0, end = 0; i < found.size(); i = end) {
    std::size_t terms = 0;
    for (end = i; end < found.size() && found[end]->first == found[i]->first; ++end) {
      terms += found[end]->second.size();
    }
    if (terms > kMostOfOneOwner) {
      ids.push_back(all(found[i]->first, meant));
      continue;
    }
    looks_ += terms;
    for (std::size_t of = i; of < end; ++of) {
      for (const auto& [id, term] : found[of]->second) {
        if (term->matches(asked.ns, asked.labels, asked.ns_labels)) { ids.push_back(id); }
      }
    }
  }
}

std::vector<model::TermId> TermIndex::meaning(const std::string& ns, const model::Labels& labels,
                                              const model::Labels& ns_labels) const {
  std::vector<model::TermId> ids;
  for (const std::string* meant : {&kEveryNamespace, &ns}) {
    const auto at = meant_.find(*meant);
    if (at == meant_.end()) { continue; }
    Found found;
    find(at->second, labels, found);
    addMeaning(*meant, std::move(found), {ns, labels, ns_labels}, ids);
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

}  // namespace gs::sched
