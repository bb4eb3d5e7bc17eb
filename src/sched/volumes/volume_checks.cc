// Whether a pod's claims are, or can be, bound to volumes that a node reaches, in the zones that it is in.
#include <algorithm>
#include <array>
#include <utility>

#include "base/mutant.h"
#include "model/in_tree_volumes.h"
#include "sched/volumes/volumes.h"

namespace gs::sched {
namespace {

std::optional<Misfit> misfitOf(std::optional<Reason> reason) {
  return reason ? std::optional{Misfit{*reason, "", 0, 0}} : std::nullopt;
}

bool canBeMade(const model::StorageClass& of, const model::Labels& node) {
  return of.topologies.empty() ||
         std::any_of(of.topologies.begin(), of.topologies.end(),
                     [&](const auto& term) { return !term.requirements.empty() && term.matches(node); });
}

bool isMeantFor(const model::ClaimRef& ref, const LateClaim& claim) {
  return ref.key == claim.key && (ref.uid.empty() || ref.uid == claim.uid);
}

}  // namespace

std::optional<Misfit> Volumes::refuse(Filter filter, const VolumeAsk& ask, const model::Node& node,
                                      const Gone* gone) const {
  switch (filter) {
    case Filter::Restrictions: return refuseDisks(ask, node.name, gone);
    case Filter::Limits: return refuseCount(ask, node.name, gone);
    case Filter::Binding: return refuseBinding(ask, node, nullptr);
    case Filter::Zone: break;
  }
  return refuseZones(ask, node.labels);
}

// ---- VolumeBinding

bool Volumes::isServedByDriver(const std::string& plugin, const model::CsiNode* csi) const {
  const model::InTreePlugin* known = model::inTreePlugin(plugin);
  return known != nullptr && known->is_counted && csi != nullptr &&
         std::binary_search(csi->migrated.begin(), csi->migrated.end(), plugin);
}

bool Volumes::isReached(const model::PersistentVolume& volume, const model::Node& node) const {
  if (!isServedByDriver(volume.migrated.plugin, csiNode(node.name))) {
    return isReachedFrom(volume.affinity, node.labels);
  }
  return volume.migrated.trouble.empty() && isReachedFrom(volume.migrated.affinity, node.labels);
}

std::optional<Reason> Volumes::refuseBound(const VolumeAsk& ask, const model::Node& node) const {
  for (const BoundVolume& one : ask.bound) {
    if (!one.is_there) { return Reason::VolumeMissing; }
    const bool by_driver = isServedByDriver(one.migrated.plugin, csiNode(node.name));
    if (by_driver && !one.migrated.trouble.empty()) { return Reason::VolumeElsewhere; }
    const model::VolumeAffinity& affinity = by_driver ? one.migrated.affinity : one.affinity;
    if (!isReachedFrom(affinity, node.labels) && !GS_MUTANT(IgnoresReach)) { return Reason::VolumeElsewhere; }
  }
  return std::nullopt;
}

std::optional<const model::PersistentVolume*> Volumes::meantFor(const LateClaim& claim,
                                                                const model::Labels& node,
                                                                const FreeVolumes::Names& taken) const {
  const auto names = claim.key.name.empty() ? meant_.end() : meant_.find(claim.key);
  if (names == meant_.end()) { return std::nullopt; }
  for (const auto& name : names->second) {
    const model::PersistentVolume& one = *volumes_.at(name);
    const auto ref = claimOf(one);
    const bool is_its = ref && isMeantFor(*ref, claim) && one.storage_class == claim.storage_class;
    if (!is_its || one.deleting || taken.contains(name) || !hasFormFor(one, claim, rules_)) { continue; }
    return isReachedFrom(one.affinity, node) ? &one : nullptr;
  }
  return std::nullopt;
}

bool Volumes::hasRoomFor(const LateClaim& claim, const model::StorageClass& of,
                         const model::Labels& node) const {
  const auto driver = drivers_.find(of.provisioner);
  if (!claim.size || driver == drivers_.end() || !driver->second->tells_capacity) { return true; }
  if (GS_MUTANT(IgnoresRoom)) { return true; }
  const auto room = room_.find(of.key.name);
  if (room == room_.end()) { return false; }
  const std::int64_t bytes = claim.size->whole + (claim.size->nano > 0 ? 1 : 0);
  bool is_enough = false;
  room->second.at(node, [&](const auto& keys) {
    is_enough = is_enough || std::any_of(keys.begin(), keys.end(), [&](const auto& key) {
                  const auto& one = *capacities_.at(key);
                  return one.most && *one.most >= bytes && one.nodes->matches(node);
                });
  });
  return is_enough;
}

/// Why its volume cannot be made there.
std::optional<Reason> Volumes::refuseMaking(const LateClaim& claim, const model::Labels& node) const {
  const auto it = classes_.find(claim.storage_class);
  if (it == classes_.end()) { return Reason::NoVolumeToBind; }
  const model::StorageClass& of = *it->second;
  if (of.provisioner.empty() || of.provisioner == model::kNoProvisioner || !canBeMade(of, node)) {
    return Reason::NoVolumeToBind;
  }
  return hasRoomFor(claim, of, node) ? std::nullopt : std::optional{Reason::TooLittleStorage};
}

std::optional<Reason> Volumes::refuseLate(const VolumeAsk& ask, const model::Node& node,
                                          VolumeChoices* choices) const {
  std::vector<const LateClaim*> to_match;
  std::vector<const LateClaim*> to_make;
  for (const LateClaim& claim : ask.late) {
    if (claim.selected_node && *claim.selected_node != node.name) { return Reason::NoVolumeToBind; }
    (claim.selected_node ? to_make : to_match).push_back(&claim);
  }
  const auto size = [](const LateClaim* claim) { return claim->size.value_or(model::Quantity{}); };
  std::stable_sort(to_match.begin(), to_match.end(),
                   [&](const auto* a, const auto* b) { return size(a) < size(b); });
  FreeVolumes::Names taken;
  for (const LateClaim* claim : to_match) {
    if (!rules_.attributes_classes && !claim->attributes_class.empty()) { return Reason::NoVolumeToBind; }
    const auto meant = meantFor(*claim, node.labels, taken);
    const auto* volume = meant ? *meant : free_.find(*claim, node.labels, taken, rules_);
    if (volume == nullptr) {
      to_make.push_back(claim);
      continue;
    }
    taken.insert(volume->key.name);
    if (choices != nullptr) { choices->matches.push_back({claim->key, claim->uid, volume->key.name}); }
  }
  for (const LateClaim* claim : to_make) {
    if (const auto reason = refuseMaking(*claim, node.labels)) { return reason; }
    if (choices != nullptr) { choices->to_make.push_back(claim->key); }
  }
  return std::nullopt;
}

/// Of several reasons the one that kube-scheduler says first.
std::optional<Misfit> Volumes::refuseBinding(const VolumeAsk& ask, const model::Node& node,
                                             VolumeChoices* choices) const {
  const auto bound = refuseBound(ask, node);
  if (bound == Reason::VolumeElsewhere) { return misfitOf(bound); }
  const auto late = refuseLate(ask, node, choices);
  return misfitOf(late ? late : bound);
}

// ---- VolumeZone

std::optional<Misfit> Volumes::refuseZones(const VolumeAsk& ask, const model::Labels& node) {
  using model::kBetaRegionLabel;
  using model::kBetaZoneLabel;
  using model::kRegionLabel;
  using model::kZoneLabel;
  static constexpr std::array<const char*, 4> kLabels{kBetaZoneLabel, kBetaRegionLabel, kZoneLabel,
                                                      kRegionLabel};
  if (ask.zones.empty() ||
      std::none_of(kLabels.begin(), kLabels.end(), [&](const char* label) { return node.contains(label); })) {
    return std::nullopt;
  }
  for (const auto& zone : ask.zones) {
    auto label = node.find(zone.key);
    if (label == node.end() && zone.key == kBetaZoneLabel) { label = node.find(kZoneLabel); }
    if (label == node.end() && zone.key == kBetaRegionLabel) { label = node.find(kRegionLabel); }
    if (label == node.end() || !std::binary_search(zone.values.begin(), zone.values.end(), label->second)) {
      return Misfit{Reason::VolumeInOtherZone, "", 0, 0};
    }
  }
  return std::nullopt;
}

}  // namespace gs::sched
