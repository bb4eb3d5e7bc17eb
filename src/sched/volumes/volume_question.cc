// What a pod's volumes ask, and what is to be done for them on a node.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/mutant.h"
#include "model/in_tree_volumes.h"
#include "sched/volumes/volumes.h"

namespace gs::sched {
namespace {

/// What a volume that is yet to be made is called among those that are attached: as no handle is.
std::string handleOf(const model::ObjectKey& claim) { return "\n" + claim.text(); }

Blocked missingClaim(const std::string& name) {
  return {"VolumeClaimMissing", fmt::format("persistentvolumeclaim \"{}\" not found", name)};
}

/// Of its claims' selectors together: each node may have many volumes that they are compared with.
constexpr std::size_t kMostRequirements = 256;

std::optional<Blocked> tooLarge(const VolumeAsk& ask) {
  std::size_t requirements = 0;
  for (const auto& late : ask.late) {
    requirements += late.selector ? late.selector->requirements.size() : 0;
  }
  if (requirements <= kMostRequirements) { return std::nullopt; }
  return Blocked{
      "VolumeSelectorsTooLarge",
      fmt::format(
          "spec.selector of its PersistentVolumeClaims have {} labels and expressions together, and at "
          "most {} are looked at: leave some out",
          requirements, kMostRequirements)};
}

model::ObjectKey keyOf(const model::Pod& pod, const model::VolumeClaim& named) {
  return {pod.key.ns, named.claim};
}

}  // namespace

/// Why this claim keeps the pod from every node.
std::optional<Blocked> Volumes::whyNot(const model::Pod& pod, const model::VolumeClaim& named) const {
  const auto known = claim(keyOf(pod, named));
  if (known == nullptr) {
    if (!named.is_its) { return missingClaim(named.claim); }
    return Blocked{
        "VolumeClaimMissing",
        fmt::format("waiting for ephemeral volume controller to create the persistentvolumeclaim \"{}\"",
                    named.claim)};
  }
  if (known->is_lost) {
    return Blocked{"VolumeClaimLost",
                   fmt::format("persistentvolumeclaim \"{}\" bound to non-existent persistentvolume \"{}\"",
                               named.claim, known->volume)};
  }
  if (known->deleting) {
    return Blocked{"VolumeClaimDeleting",
                   fmt::format("persistentvolumeclaim \"{}\" is being deleted", named.claim)};
  }
  if (named.is_its && known->owner != pod.uid) {
    return Blocked{"VolumeClaimTaken", fmt::format("PVC {} was not created for pod {} (pod is not owner)",
                                                   known->key.text(), pod.key.text())};
  }
  return std::nullopt;
}

/// Its class makes or chooses volumes once a pod has a node.
bool Volumes::waitsForPod(const model::PersistentVolumeClaim& claim) const {
  const auto of = classes_.find(claim.storage_class);
  return claim.volume.empty() && !claim.storage_class.empty() && of != classes_.end() && of->second->waits;
}

/// In the order in which kube-scheduler's plugins look.
std::optional<Blocked> Volumes::whyNotYet(const model::Pod& pod) const {
  for (const auto& named : pod.volume_claims) {
    if (!named.is_its && claim(keyOf(pod, named)) == nullptr) { return missingClaim(named.claim); }
  }
  for (const auto& named : pod.volume_claims) {
    if (auto blocked = whyNot(pod, named)) { return blocked; }
  }
  for (const auto& named : pod.volume_claims) {
    const auto known = claim(keyOf(pod, named));
    if (known->isBound() || waitsForPod(*known)) { continue; }
    return Blocked{"VolumeClaimUnbound", "pod has unbound immediate PersistentVolumeClaims"};
  }
  for (const auto& named : pod.volume_claims) {
    const auto known = claim(keyOf(pod, named));
    if (named.is_its || known->volume.empty() || volume(known->volume) != nullptr) { continue; }
    return Blocked{"VolumeMissing", fmt::format("persistentvolume \"{}\" not found", known->volume)};
  }
  return std::nullopt;
}

void Volumes::addBound(const model::PersistentVolumeClaim& claim, bool is_its, VolumeAsk& ask) const {
  BoundVolume& out = ask.bound.emplace_back();
  const auto known = volume(claim.volume);
  if (known == nullptr) { return; }
  out.is_there = true;
  out.affinity = known->affinity;
  out.migrated = known->migrated;
  out.migrated.handle.clear();
  if (is_its) { return; }  // whose zones kube-scheduler does not look at
  for (const auto& zone : known->zones) { ask.zones.push_back(zone); }
}

/// Volumes, or pods, speak of this very claim.
bool Volumes::isSpecial(const model::ObjectKey& claim) const {
  return uses_.isUsed(claim) || meant_.contains(claim);
}

LateClaim Volumes::lateOf(const model::PersistentVolumeClaim& claim, bool named) const {
  LateClaim out;
  out.storage_class = claim.storage_class;
  out.attributes_class = claim.attributes_class;
  out.modes = claim.modes;
  out.is_block = claim.is_block;
  out.size = claim.size;
  out.selector = claim.selector;
  out.selected_node = claim.selected_node;
  if (const auto wanted = wanted_claims_.find(claim.key); wanted != wanted_claims_.end()) {
    out.selected_node = wanted->second.node;
  }
  if (named || isSpecial(claim.key)) {
    out.key = claim.key;
    out.uid = claim.uid;
  }
  return out;
}

/// What it counts as, of a claim without a volume that is known.
std::optional<Attach> Volumes::attachByClass(const model::PersistentVolumeClaim& claim) const {
  const auto of = classes_.find(claim.storage_class);
  if (of == classes_.end() || of->second->provisioner.empty()) { return std::nullopt; }
  const std::string& provisioner = of->second->provisioner;
  const model::InTreePlugin* plugin = model::inTreePlugin(provisioner);
  if (plugin == nullptr) { return Attach{provisioner, "", handleOf(claim.key)}; }
  return Attach{plugin->driver, plugin->name, handleOf(claim.key)};
}

std::optional<Attach> Volumes::attachOf(const model::PersistentVolumeClaim& claim) const {
  const auto known = claim.volume.empty() ? nullptr : volume(claim.volume);
  if (known == nullptr) { return attachByClass(claim); }
  Attach out{known->driver, "", known->handle};
  if (known->driver.empty()) {
    const model::InTreePlugin* plugin = model::inTreePlugin(known->migrated.plugin);
    if (plugin == nullptr || !known->migrated.trouble.empty()) { return std::nullopt; }
    out = {plugin->driver, plugin->name, known->migrated.handle};
  }
  return out.handle.empty() ? std::nullopt : std::optional{std::move(out)};
}

/// No pod of any node has it attached, nor can another claim mean it.
bool Volumes::isPrivate(const model::PersistentVolumeClaim& claim, const Attach& attach) const {
  const auto is_one_at_most = [](const auto& index, const auto& key) {
    const auto found = index.find(key);
    return found == index.end() || found->second.size() <= 1;
  };
  return !uses_.isUsed(claim.key) && is_one_at_most(handles_, Handle{attach.driver, attach.handle}) &&
         is_one_at_most(bound_to_, claim.volume);
}

Volumes::Answer Volumes::ask(const model::Pod& pod, bool named) const {
  if (auto blocked = whyNotYet(pod)) { return *std::move(blocked); }
  VolumeAsk out;
  out.disks = pod.disks;
  out.has_gate = pod.has_gate;
  std::set<Attach> attaches;
  std::set<Attach> shared;
  for (const auto& one : pod.volume_claims) {
    const auto known = claim(keyOf(pod, one));
    const bool is_of_one_pod =
        model::hasMode(known->modes, model::AccessMode::ReadWriteOncePod) && !GS_MUTANT(SharesOncePod);
    if (!one.is_its && is_of_one_pod && uses_.isUsed(known->key)) { out.in_use.push_back(known->key); }
    if (known->isBound()) {
      addBound(*known, one.is_its, out);
    } else {
      out.late.push_back(lateOf(*known, named));
    }
    auto attach = attachOf(*known);
    if (!attach) { continue; }
    if (!isPrivate(*known, *attach)) { shared.insert(*attach); }
    attaches.insert(*std::move(attach));
  }
  if (auto blocked = tooLarge(out)) { return *std::move(blocked); }
  for (const Attach& attach : attaches) {
    out.attaches.push_back(attach);
    if (!shared.contains(attach)) { out.attaches.back().handle.clear(); }
  }
  std::sort(out.attaches.begin(), out.attaches.end());
  std::sort(out.in_use.begin(), out.in_use.end());
  return out;
}

Verdict<VolumeChoices> Volumes::choose(const model::Pod& pod, const model::Node& node) const {
  const Answer answer = ask(pod, true);
  if (const auto* blocked = std::get_if<Blocked>(&answer)) {
    return tl::unexpected(Misfit{Reason::NoVolumeToBind, blocked->text, 0, 0});
  }
  VolumeChoices out;
  if (auto misfit = refuseBinding(std::get<VolumeAsk>(answer), node, &out)) {
    return tl::unexpected(*std::move(misfit));
  }
  return out;
}

std::uint64_t Volumes::momentOf(const VolumeAsk& ask) const {
  std::uint64_t out = moment_;
  for (const auto& late : ask.late) {
    const auto of_class = class_moments_.find(late.storage_class);
    if (of_class != class_moments_.end()) { out = std::max(out, of_class->second); }
    const auto of_claim = claim_moments_.find(late.key);
    if (of_claim != claim_moments_.end()) { out = std::max(out, of_claim->second); }
  }
  return out;
}

}  // namespace gs::sched
