#include "sched/ledger/quota_index.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace gs::sched {
namespace {

/// Whether they are the same but for how much is left of each model.
bool isAlike(const QuotaRoom& a, const QuotaRoom& b) {
  return a.model_label == b.model_label && a.pool_label == b.pool_label && a.pools == b.pools &&
         std::equal(a.models.begin(), a.models.end(), b.models.begin(), b.models.end(),
                    [](const auto& x, const auto& y) { return x.first == y.first; });
}

}  // namespace

void QuotaIndex::add(EquivalenceClass id, const QuotaBound& bound) {
  namespaces_[bound.ns].kinds[bound.milli].insert(id);
  fresh_.emplace_back(bound.ns, bound.milli, id);
}

void QuotaIndex::remove(EquivalenceClass id, const QuotaBound& bound) {
  const auto of = namespaces_.find(bound.ns);
  const auto kinds = of->second.kinds.find(bound.milli);
  kinds->second.erase(id);
  if (kinds->second.empty()) { of->second.kinds.erase(kinds); }
  if (of->second.kinds.empty()) { namespaces_.erase(of); }
}

/// Binds the classes whose pods count more than `over`, and at most `most`.
void QuotaIndex::bindRange(const Namespace& of, std::int64_t over, std::int64_t most, const QuotaRoom& room,
                           const Bind& bind) {
  for (auto at = of.kinds.upper_bound(over); at != of.kinds.end() && at->first <= most; ++at) {
    const QuotaTerms terms = termsOf(room, at->first);
    for (const EquivalenceClass id : at->second) { bind(id, terms); }
  }
}

bool QuotaIndex::has(const Namespace& of, std::int64_t milli, EquivalenceClass id) {
  const auto kinds = of.kinds.find(milli);
  return kinds != of.kinds.end() && kinds->second.contains(id);
}

void QuotaIndex::followOne(Namespace& of, std::optional<QuotaRoom> room, const Bind& bind) {
  using Limits = std::numeric_limits<std::int64_t>;
  const auto before = std::exchange(of.room, room);
  if (!room) { return; }  // without a quota its pods get other kinds
  if (!before || !isAlike(*before, *room)) {
    bindRange(of, Limits::min(), Limits::max(), *room, bind);
    return;
  }
  auto was = before->models.begin();
  for (const auto& [model, left] : room->models) {
    const auto [less, more] = std::minmax(left, was->second);
    if (less != more) { bindRange(of, less, more, *room, bind); }
    ++was;
  }
}

void QuotaIndex::follow(const Ledger& ledger, const RoomOf& room_of, bool all, const Bind& bind) {
  const ChangeLog<std::string>& log = ledger.gpuUseChanges();
  if (all || position_ < log.begin()) {
    for (auto& [ns, of] : namespaces_) { followOne(of, room_of(ns), bind); }
  } else {
    std::unordered_set<std::string> changed;
    for (std::uint64_t p = position_; p < log.end(); ++p) { changed.insert(log.at(p)); }
    for (const auto& ns : changed) {
      const auto of = namespaces_.find(ns);
      if (of != namespaces_.end()) { followOne(of->second, room_of(ns), bind); }
    }
  }
  position_ = log.end();
  for (const auto& [ns, milli, id] : std::exchange(fresh_, {})) {
    const auto of = namespaces_.find(ns);
    if (of == namespaces_.end() || !has(of->second, milli, id)) { continue; }
    if (!of->second.room) { of->second.room = room_of(ns); }
    if (of->second.room) { bind(id, termsOf(*of->second.room, milli)); }
  }
}

}  // namespace gs::sched
