#include "sched/volumes/free_volumes.h"

namespace gs::sched {

bool hasFormFor(const model::PersistentVolume& volume, const LateClaim& claim, const VolumeRules& rules) {
  if (claim.size && volume.capacity < *claim.size) { return false; }
  if (volume.is_block != claim.is_block) { return false; }
  return rules.attributes_classes ? volume.attributes_class == claim.attributes_class
                                  : volume.attributes_class.empty();
}

void FreeVolumes::put(const model::Ptr<model::PersistentVolume>& volume) {
  classes_[volume->storage_class].put(pinOf(volume->affinity), {volume->capacity, volume->key.name, volume});
}

void FreeVolumes::remove(const model::PersistentVolume& volume) {
  const auto it = classes_.find(volume.storage_class);
  if (it == classes_.end()) { return; }
  it->second.remove(pinOf(volume.affinity), {volume.capacity, volume.key.name});
  if (it->second.empty()) { classes_.erase(it); }
}

const model::PersistentVolume* FreeVolumes::find(const LateClaim& claim, const model::Labels& node,
                                                 const Names& taken, const VolumeRules& rules) const {
  const auto it = classes_.find(claim.storage_class);
  if (it == classes_.end()) { return nullptr; }
  const auto serves = [&](const model::PersistentVolume& volume) {
    const bool has_modes = (claim.modes & static_cast<unsigned>(~volume.modes)) == 0;
    return has_modes && hasFormFor(volume, claim, rules) &&
           (!claim.selector || claim.selector->matches(volume.labels)) &&
           isReachedFrom(volume.affinity, node) && !taken.contains(volume.key.name);
  };
  const Entry* best = nullptr;
  it->second.at(node, [&](const Filed<Entry>::Set& set) {
    for (auto at = set.lower_bound({claim.size.value_or(model::Quantity{}), ""}); at != set.end(); ++at) {
      if (best != nullptr && *best < *at) { return; }
      if (!serves(*at->volume)) { continue; }
      best = &*at;
      return;
    }
  });
  return best == nullptr ? nullptr : best->volume.get();
}

}  // namespace gs::sched
