#include "scheduler/volumes/volume_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace gs::scheduler {
namespace {

using VolumeHow = ChosenVolume::How;
using VolumeWhat = VolumeStep::What;

VolumeStep lost(std::string why, bool elsewhere = false) {
  return {VolumeWhat::Lost, 0, std::move(why), elsewhere};
}

std::string unreachable(const std::string& volume, const ChosenVolume& chosen, const model::Node& node) {
  return fmt::format("volume {} of PersistentVolumeClaim {} cannot be reached from node {}", volume,
                     chosen.claim.text(), node.name.text);
}

/// A volume that it names, while it is bound or about to be. One that is not known yet may be on its way; if
/// it was deleted, the claim will say so.
VolumeStep stepOfNamed(const sched::Volumes& volumes, const ChosenVolume& chosen,
                       const model::PersistentVolumeClaim& claim, const model::Node& node) {
  const auto volume = volumes.volume(claim.volume);
  if (volume == nullptr) { return {VolumeWhat::Wait}; }
  if (!volumes.isReached(*volume, node)) { return lost(unreachable(claim.volume, chosen, node), true); }
  return {claim.isBound() ? VolumeWhat::Bound : VolumeWhat::Wait};
}

VolumeStep stepOfMatch(const sched::Volumes& volumes, const ChosenVolume& chosen, const model::Node& node) {
  const auto volume = volumes.volume(chosen.volume);
  if (volume == nullptr || volume->uid != chosen.volume_uid || volume->deleting) {
    return lost(
        fmt::format("volume {}, which was chosen for PersistentVolumeClaim {}, is gone or is being deleted",
                    chosen.volume, chosen.claim.text()));
  }
  if (volume->revision < chosen.written) { return {VolumeWhat::Wait}; }
  if (!volumes.isReached(*volume, node)) { return lost(unreachable(chosen.volume, chosen, node), true); }
  const bool is_meant = volume->claim && volume->claim->key == chosen.claim &&
                        (volume->claim->uid.empty() || volume->claim->uid == chosen.uid);
  if (volume->claim && !is_meant) {
    return lost(
        fmt::format("volume {}, which was chosen for PersistentVolumeClaim {}, was taken by {} meanwhile",
                    chosen.volume, chosen.claim.text(), volume->claim->key.text()));
  }
  if (volume->claim && !volume->claim->uid.empty()) { return {VolumeWhat::Wait}; }
  if (chosen.written == 0) { return {VolumeWhat::Write}; }
  return lost(fmt::format("volume {} was taken from PersistentVolumeClaim {} again", chosen.volume,
                          chosen.claim.text()));
}

VolumeStep stepOfMaking(const ChosenVolume& chosen, const model::PersistentVolumeClaim& claim,
                        const model::Node& node) {
  if (claim.revision < chosen.written) { return {VolumeWhat::Wait}; }
  if (claim.selected_node == node.name) { return {VolumeWhat::Wait}; }
  if (claim.selected_node) {
    return lost(fmt::format("the volume of PersistentVolumeClaim {} is to be made for node {}, by {}",
                            chosen.claim.text(), claim.selected_node->text, model::kSelectedNodeKey),
                true);
  }
  if (chosen.written == 0) { return {VolumeWhat::Write}; }
  return lost(
      fmt::format("no volume could be made for PersistentVolumeClaim {} on node {}: its provisioner took the "
                  "node back; the claim's events say why",
                  chosen.claim.text(), node.name.text),
      true);
}

VolumeStep stepOf(const sched::Volumes& volumes, const ChosenVolume& chosen, const model::Node& node) {
  const auto claim = volumes.claim(chosen.claim);
  if (claim == nullptr || claim->uid != chosen.uid || claim->deleting) {
    return lost(fmt::format("PersistentVolumeClaim {} is gone or is being deleted", chosen.claim.text()));
  }
  if (claim->is_lost) {
    return lost(
        fmt::format("volume {} of PersistentVolumeClaim {} is gone", claim->volume, chosen.claim.text()));
  }
  if (claim->isBound()) { return stepOfNamed(volumes, chosen, *claim, node); }
  switch (chosen.how) {
    case VolumeHow::Match: return stepOfMatch(volumes, chosen, node);
    case VolumeHow::Make: {
      VolumeStep step = stepOfMaking(chosen, *claim, node);
      const bool is_named = step.what != VolumeWhat::Lost && !claim->volume.empty();
      return is_named ? stepOfNamed(volumes, chosen, *claim, node) : step;
    }
    case VolumeHow::Keep: break;
  }
  return lost(fmt::format("PersistentVolumeClaim {} is not bound any more", chosen.claim.text()));
}

}  // namespace

ChosenVolumes chosenVolumes(const sched::Volumes& volumes, const model::Pod& pod,
                            const sched::VolumeChoices& choices) {
  ChosenVolumes out;
  std::set<model::ObjectKey> known;
  const auto add = [&](VolumeHow how, const model::ObjectKey& key, const std::string& name) {
    const auto claim = volumes.claim(key);
    if (claim == nullptr || !known.insert(key).second) { return; }
    const auto volume = volumes.volume(name);
    out.push_back({how, key, claim->uid, name, volume == nullptr ? model::Uid{} : volume->uid});
  };
  for (const auto& match : choices.matches) { add(VolumeHow::Match, match.claim, match.volume); }
  for (const auto& claim : choices.to_make) { add(VolumeHow::Make, claim, ""); }
  for (const auto& named : pod.volume_claims) { add(VolumeHow::Keep, {pod.key.ns, named.claim}, ""); }
  return out;
}

VolumeStep nextVolumeStep(const sched::Volumes& volumes, const ChosenVolumes& chosen,
                          const model::Node* node) {
  if (node == nullptr) { return lost("the node is gone", true); }
  VolumeStep next{VolumeWhat::Bound};
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    VolumeStep step = stepOf(volumes, chosen[i], *node);
    step.which = i;
    if (step.what == VolumeWhat::Lost) { return step; }
    if (step.what > next.what) { next = std::move(step); }
  }
  return next;
}

}  // namespace gs::scheduler
