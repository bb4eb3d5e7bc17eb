#include "sched/volumes/volume_ask.h"

#include <algorithm>

#include "base/mix.h"

namespace gs::sched {
namespace {

std::size_t withNumber(std::size_t h, std::int64_t number) {
  return mix(h, static_cast<std::size_t>(number));
}

std::size_t withAffinity(std::size_t h, const model::VolumeAffinity& affinity) {
  h = mix(h, affinity.is_required ? 1 + affinity.terms.size() : 0);
  for (const auto& term : affinity.terms) {
    for (const auto& r : term.labels) {
      h = mix(h, r.key);
      for (const auto& value : r.values) { h = mix(h, value); }
    }
  }
  return h;
}

std::size_t withLate(std::size_t h, const LateClaim& late) {
  h = mix(mix(mix(h, late.storage_class), late.attributes_class), late.modes);
  h = withNumber(h, late.size ? late.size->whole : -1);
  h = mix(h, late.selected_node ? late.selected_node->text : "");
  if (late.selector) {
    for (const auto& r : late.selector->requirements) {
      h = mix(h, r.key);
      for (const auto& value : r.values) { h = mix(h, value); }
    }
  }
  return mix(mix(h, late.key.ns), late.key.name);
}

/// It is on nodes that it names, a local one for instance.
bool namesItsNodes(const BoundVolume& volume) {
  const auto& affinity = volume.affinity;
  return affinity.is_required && std::all_of(affinity.terms.begin(), affinity.terms.end(), model::namesHosts);
}

}  // namespace

std::optional<PodReason> keptFromNewNodes(const VolumeAsk& ask) {
  if (!ask.in_use.empty()) { return PodReason::WaitsForPod; }
  if (std::any_of(ask.bound.begin(), ask.bound.end(), [](const auto& one) { return !one.is_there; })) {
    return PodReason::VolumeNotReady;
  }
  const bool names_nodes =
      std::any_of(ask.bound.begin(), ask.bound.end(), namesItsNodes) ||
      std::any_of(ask.late.begin(), ask.late.end(), [](const auto& one) { return one.selected_node; });
  return names_nodes ? std::optional{PodReason::WaitsForNode} : std::nullopt;
}

std::size_t VolumeAsk::hash() const {
  std::size_t h = mix(mix(bound.size(), in_use.size()), has_gate ? 1 : 0);
  for (const auto& one : bound) {
    h = mix(withAffinity(mix(h, one.is_there ? 1 : 0), one.affinity), one.migrated.plugin);
  }
  for (const auto& one : late) { h = withLate(h, one); }
  for (const auto& zone : zones) {
    h = mix(h, zone.key);
    for (const auto& value : zone.values) { h = mix(h, value); }
  }
  for (const auto& one : attaches) { h = mix(mix(mix(h, one.driver), one.plugin), one.handle); }
  for (const auto& disk : disks) { h = mix(mix(h, disk.name), static_cast<std::size_t>(disk.kind)); }
  for (const auto& key : in_use) { h = mix(mix(h, key.ns), key.name); }
  return h;
}

}  // namespace gs::sched
