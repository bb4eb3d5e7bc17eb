#include "sched/volumes/volume_affinity.h"

#include <cstddef>

namespace gs::sched {
namespace {

/// More nodes than that are not told one by one.
constexpr std::size_t kMostPinned = 8;

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
  static const std::string kNoName;
  return !affinity.is_required || model::matchesAny(affinity.terms, node, kNoName);
}

Pin pinOf(const model::VolumeAffinity& affinity) {
  return affinity.is_required && affinity.terms.size() == 1 ? narrowestOf(affinity.terms.front().labels)
                                                            : Pin{};
}

Pin pinOf(const model::LabelSelector& nodes) { return narrowestOf(nodes.requirements); }

}  // namespace gs::sched
