// Disks that no two pods of a node can have, and how many volumes it attaches.
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/mutant.h"
#include "model/gate.h"
#include "model/in_tree_volumes.h"
#include "sched/volumes/volumes.h"

namespace gs::sched {
namespace {

using DiskKind = model::InlineDisk::Kind;

bool haveCommon(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return std::any_of(a.begin(), a.end(),
                     [&](const auto& one) { return std::binary_search(b.begin(), b.end(), one); });
}

/// In the order of a pod's disks.
bool isDiskBefore(const model::InlineDisk& a, const model::InlineDisk& b) {
  return std::tie(a.kind, a.name) < std::tie(b.kind, b.name);
}

/// No two pods of a node can have these.
bool areAtOdds(const model::InlineDisk& a, const model::InlineDisk& b) {
  if (a.kind != b.kind || a.name != b.name) { return false; }
  const bool is_only_read = a.read_only && b.read_only;
  switch (a.kind) {
    case DiskKind::GcePersistentDisk:
    case DiskKind::Iscsi: return !is_only_read;
    case DiskKind::Rbd: return !is_only_read && haveCommon(a.monitors, b.monitors);
    case DiskKind::AwsElasticBlockStore: return true;
    case DiskKind::AzureDisk:
    case DiskKind::Cinder:
    case DiskKind::Portworx: break;
  }
  return false;
}

/// The type's field in a volume; "": nobody attaches it.
const char* fieldOf(DiskKind kind) {
  switch (kind) {
    case DiskKind::GcePersistentDisk: return "gcePersistentDisk";
    case DiskKind::AwsElasticBlockStore: return "awsElasticBlockStore";
    case DiskKind::AzureDisk: return "azureDisk";
    case DiskKind::Cinder: return "cinder";
    case DiskKind::Portworx: return "portworxVolume";
    case DiskKind::Iscsi:
    case DiskKind::Rbd: break;
  }
  return "";
}

std::optional<Attach> attachOf(const model::InlineDisk& disk) {
  const model::InTreePlugin* plugin = model::inTreePluginOf(fieldOf(disk.kind));
  if (plugin == nullptr) { return std::nullopt; }
  std::optional<std::string> handle = disk.name;
  if (disk.kind == DiskKind::AwsElasticBlockStore) { handle = model::ebsHandle(disk.name); }
  if (disk.kind == DiskKind::GcePersistentDisk) { handle = model::gceHandle(disk.name); }
  return handle ? std::optional{Attach{plugin->driver, plugin->name, *std::move(handle)}} : std::nullopt;
}

}  // namespace

// ---- VolumeRestrictions

std::optional<Misfit> Volumes::refuseDisks(const VolumeAsk& ask, const model::NodeName& node,
                                           const Gone* gone) const {
  const VolumeUses::OnNode* there = ask.disks.empty() ? nullptr : uses_.on(node);
  if (there != nullptr) {
    for (const auto& [pod, disks] : there->disks) {
      if (gone != nullptr && gone->contains(pod)) { continue; }
      for (const auto& other : disks) {
        const auto alike = std::equal_range(ask.disks.begin(), ask.disks.end(), other, isDiskBefore);
        const auto at_odds = [&](const auto& disk) { return areAtOdds(disk, other); };
        if (std::any_of(alike.first, alike.second, at_odds)) { return Misfit{Reason::DiskInUse, "", 0, 0}; }
      }
    }
  }
  const bool is_in_use = std::any_of(ask.in_use.begin(), ask.in_use.end(), [&](const auto& claim) {
    return gone == nullptr || uses_.isUsedBeside(claim, *gone);
  });
  if (!is_in_use) { return std::nullopt; }
  return Misfit{Reason::VolumeOfOnePod, rules_.old_words ? "before 1.34" : "", 0, 0};
}

// ---- NodeVolumeLimits

const model::CsiNode* Volumes::csiNode(const model::NodeName& name) const {
  const auto it = csi_nodes_.find(name);
  return it == csi_nodes_.end() ? nullptr : it->second.get();
}

bool Volumes::counts(const Attach& attach, const model::CsiNode* csi) const {
  if (attach.plugin.empty()) { return true; }
  const model::InTreePlugin* plugin = model::inTreePlugin(attach.plugin);
  if (csi == nullptr || plugin == nullptr || !plugin->is_counted) { return false; }
  const bool says_node = rules_.portworx_by_node && attach.plugin == "kubernetes.io/portworx-volume";
  return !says_node || isServedByDriver(attach.plugin, csi);
}

/// What pods of that node have.
Volumes::Handles Volumes::attachedOn(const model::NodeName& node, const model::CsiNode* csi,
                                     const Gone* gone) const {
  Handles out;
  const VolumeUses::OnNode* there = uses_.on(node);
  if (there == nullptr) { return out; }
  const auto add = [&](const std::optional<Attach>& attach) {
    if (attach && counts(*attach, csi)) { out.emplace(attach->driver, attach->handle); }
  };
  const VolumeUses::OnNode without = gone == nullptr ? VolumeUses::OnNode{} : uses_.of(*gone, node);
  for (const auto& [used, times] : there->claims) {
    const auto less = without.claims.find(used);
    if (less != without.claims.end() && less->second >= times) { continue; }
    const auto known = claim(used.claim);
    if (known == nullptr || (!used.owner.empty() && known->owner != used.owner)) { continue; }
    add(attachOf(*known));
  }
  for (const auto& [pod, disks] : there->disks) {
    if (gone != nullptr && gone->contains(pod)) { continue; }
    for (const auto& disk : disks) { add(sched::attachOf(disk)); }
  }
  return out;
}

Volumes::Wants Volumes::wantsOf(const VolumeAsk& ask, const model::CsiNode* csi) const {
  Wants out;
  for (const Attach& attach : ask.attaches) {
    if (!counts(attach, csi)) { continue; }
    std::int64_t& count = out.drivers[attach.driver];
    if (attach.handle.empty()) {
      ++count;
    } else {
      out.known.emplace(attach.driver, attach.handle);
    }
  }
  for (const auto& disk : ask.disks) {
    const auto attach = sched::attachOf(disk);
    if (!attach || !counts(*attach, csi)) { continue; }
    out.drivers.try_emplace(attach->driver, 0);
    out.known.emplace(attach->driver, attach->handle);
  }
  return out;
}

/// What VolumeAttachments say besides what its pods have. (kube-scheduler counts a volume that they name, and
/// that the pod is yet to bring, twice.)
void Volumes::addAttachments(const model::NodeName& node, Handles& out) const {
  const auto here = attached_.find(node);
  if (here == attached_.end()) { return; }
  for (const auto& name : here->second) {
    const model::VolumeAttachment& one = *attachments_.at(name);
    const auto of = one.volume.empty() ? nullptr : volume(one.volume);
    const bool is_csi = of != nullptr && !of->driver.empty();
    if (is_csi && !one.attacher.empty()) { out.emplace(one.attacher, of->handle); }
  }
}

/// One that the node lacks though it must be there; "": none.
std::string Volumes::missingDriver(const Wants& wants, const model::CsiNode* csi) const {
  if (!rules_.installed_drivers) { return ""; }
  for (const auto& [driver, count] : wants.drivers) {
    const auto object = drivers_.find(driver);
    const bool is_needed = object != drivers_.end() && object->second->must_be_installed;
    if (is_needed && (csi == nullptr || csi->find(driver) == nullptr)) { return driver; }
  }
  return "";
}

std::optional<Misfit> Volumes::refuseCount(const VolumeAsk& ask, const model::NodeName& node,
                                           const Gone* gone) const {
  const bool is_counted = !ask.attaches.empty() || !ask.disks.empty();
  if (!is_counted && !ask.has_gate) { return std::nullopt; }
  const model::CsiNode* csi = csiNode(node);
  // No kube-scheduler looks for the driver of an inline volume; on a node without this one the pod would
  // never start.
  if (ask.has_gate && (csi == nullptr || csi->find(model::kGateDriver) == nullptr)) {
    return Misfit{Reason::NoGate, "", 0, 0};
  }
  if (!is_counted) { return std::nullopt; }
  Wants wants = wantsOf(ask, csi);
  if (auto driver = missingDriver(wants, csi); !driver.empty()) {
    return Misfit{Reason::NoSuchDriver, std::move(driver), 0, 0};
  }
  const auto limit = [&](const std::string& driver) {
    const auto* one = csi == nullptr ? nullptr : csi->find(driver);
    return one == nullptr ? std::nullopt : one->most;
  };
  const auto is_limited = [&](const auto& want) { return limit(want.first).has_value(); };
  if (std::none_of(wants.drivers.begin(), wants.drivers.end(), is_limited)) { return std::nullopt; }
  Handles attached = attachedOn(node, csi, gone);
  for (const auto& handle : wants.known) {
    if (!attached.contains(handle)) { ++wants.drivers[handle.first]; }
  }
  addAttachments(node, attached);
  std::map<std::string, std::int64_t> there;
  for (const auto& [driver, handle] : attached) { ++there[driver]; }
  for (const auto& [driver, count] : wants.drivers) {
    const auto most = limit(driver);
    const std::int64_t beyond = GS_MUTANT(OneVolumeMore) ? 1 : 0;
    if (count > 0 && most && there[driver] + count > *most + beyond) {
      return Misfit{Reason::TooManyVolumes, "", 0, 0};
    }
  }
  return std::nullopt;
}

}  // namespace gs::sched
