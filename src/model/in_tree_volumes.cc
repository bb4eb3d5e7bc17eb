#include "model/in_tree_volumes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/sort_unique.h"

namespace gs::model {
namespace {

constexpr std::array<InTreePlugin, 7> kPlugins{{
    {"kubernetes.io/aws-ebs", "awsElasticBlockStore", "ebs.csi.aws.com", "topology.ebs.csi.aws.com/zone",
     true},
    {"kubernetes.io/gce-pd", "gcePersistentDisk", "pd.csi.storage.gke.io", "topology.gke.io/zone", true},
    {"kubernetes.io/azure-disk", "azureDisk", "disk.csi.azure.com", "", true},
    {"kubernetes.io/cinder", "cinder", "cinder.csi.openstack.org", "topology.cinder.csi.openstack.org/zone",
     true},
    {"kubernetes.io/portworx-volume", "portworxVolume", "pxd.portworx.com", "", true},
    {"kubernetes.io/azure-file", "azureFile", "file.csi.azure.com", "", false},
    {"kubernetes.io/vsphere-volume", "vsphereVolume", "csi.vsphere.vmware.com", "", false},
}};

constexpr std::string_view kBetweenZones = "__";

std::vector<std::string> zonesIn(std::string_view label) {
  std::vector<std::string> out;
  for (;;) {
    const std::size_t at = label.find(kBetweenZones);
    out.emplace_back(label.substr(0, at));
    if (at == std::string_view::npos) { return out; }
    label.remove_prefix(at + kBetweenZones.size());
  }
}

std::string withoutBlanks(std::string_view text) {
  constexpr std::string_view kBlank = " \t\n\r\f\v";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) { return ""; }
  return std::string{text.substr(first, text.find_last_not_of(kBlank) - first + 1)};
}

bool names(const VolumeAffinity& affinity, const char* key) {
  return std::any_of(affinity.terms.begin(), affinity.terms.end(), [&](const NodeTerm& term) {
    return std::any_of(term.labels.begin(), term.labels.end(), [&](const auto& r) { return r.key == key; });
  });
}

bool namesValues(const VolumeAffinity& affinity, const char* key) {
  return std::any_of(affinity.terms.begin(), affinity.terms.end(), [&](const NodeTerm& term) {
    return std::any_of(term.labels.begin(), term.labels.end(),
                       [&](const auto& r) { return r.key == key && !r.values.empty(); });
  });
}

void rename(VolumeAffinity& affinity, const char* from, const char* to) {
  for (NodeTerm& term : affinity.terms) {
    for (NodeRequirement& r : term.labels) {
      if (r.key == from) { r.key = to; }
    }
    sortUnique(term.labels);
  }
}

void addZones(VolumeAffinity& affinity, const char* key, std::string_view label) {
  std::set<std::string> zones;
  for (const auto& one : zonesIn(label)) {
    if (auto zone = withoutBlanks(one); !zone.empty()) { zones.insert(std::move(zone)); }
  }
  if (zones.empty()) { return; }
  affinity.is_required = true;
  if (affinity.terms.empty()) { affinity.terms.emplace_back(); }
  for (NodeTerm& term : affinity.terms) {
    term.labels.push_back({key, NodeRequirement::Op::In, {zones.begin(), zones.end()}});
    sortUnique(term.labels);
  }
}

/// The labels of before are in use: neither its affinity nor else its labels speak of today's.
bool isOfBefore(const VolumeAffinity& affinity, const Labels& labels) {
  if (names(affinity, kZoneLabel)) { return false; }
  if (names(affinity, kBetaZoneLabel)) { return true; }
  return !labels.contains(kZoneLabel) && labels.contains(kBetaZoneLabel);
}

/// "us-central1" of "us-central1-a"; "": it is no such zone.
std::string regionOf(const std::string& zone) {
  if (std::count(zone.begin(), zone.end(), '-') != 2) { return ""; }
  return zone.substr(0, zone.rfind('-'));
}

std::string gceHandleIn(std::string_view kind, std::string_view place, std::string_view disk) {
  return fmt::format("projects/UNSPECIFIED/{}/{}/disks/{}", kind, place, disk);
}

}  // namespace

const InTreePlugin* inTreePlugin(std::string_view name) {
  const auto it =
      std::find_if(kPlugins.begin(), kPlugins.end(), [&](const auto& p) { return p.name == name; });
  return it == kPlugins.end() ? nullptr : &*it;
}

const InTreePlugin* inTreePluginOf(std::string_view field) {
  const auto it =
      std::find_if(kPlugins.begin(), kPlugins.end(), [&](const auto& p) { return p.field == field; });
  return it == kPlugins.end() ? nullptr : &*it;
}

std::optional<std::string> ebsHandle(std::string_view id) {
  constexpr std::string_view kScheme = "aws://";
  if (!id.starts_with(kScheme)) { return std::string{id}; }
  id.remove_prefix(kScheme.size());
  const std::size_t slash = id.find('/');
  if (slash == std::string_view::npos) { return std::nullopt; }
  id.remove_prefix(slash);
  while (id.starts_with('/')) { id.remove_prefix(1); }
  while (id.ends_with('/')) { id.remove_suffix(1); }
  if (!id.starts_with("vol-") || id.find('/') != std::string_view::npos) { return std::nullopt; }
  return std::string{id};
}

std::string gceHandle(std::string_view disk) { return gceHandleIn("zones", "UNSPECIFIED", disk); }

std::optional<std::string> gceHandle(std::string_view disk, const Labels& labels) {
  auto label = labels.find(kBetaZoneLabel);
  if (label == labels.end() || label->second.empty()) { label = labels.find(kZoneLabel); }
  if (label == labels.end() || label->second.empty()) { return gceHandle(disk); }
  const auto zones = zonesIn(label->second);
  if (zones.size() == 1) { return gceHandleIn("zones", zones.front(), disk); }
  std::set<std::string> regions;
  for (const auto& zone : zones) { regions.insert(regionOf(zone)); }
  if (regions.size() != 1 || regions.begin()->empty()) { return std::nullopt; }
  return gceHandleIn("regions", *regions.begin(), disk);
}

std::vector<std::string> labelZones(std::string_view label) {
  std::set<std::string> out;
  for (const auto& zone : zonesIn(label)) { out.insert(withoutBlanks(zone)); }
  if (out.contains("")) { return {}; }
  return {out.begin(), out.end()};
}

VolumeAffinity migratedAffinity(const InTreePlugin& plugin, const VolumeAffinity& affinity,
                                const Labels& labels) {
  VolumeAffinity out = affinity;
  if (*plugin.zone_key == '\0') { return out; }
  const bool of_before = isOfBefore(affinity, labels);
  const char* zone = of_before ? kBetaZoneLabel : kZoneLabel;
  if (namesValues(affinity, zone)) {
    rename(out, zone, plugin.zone_key);
  } else if (const auto label = labels.find(zone); label != labels.end()) {
    addZones(out, plugin.zone_key, label->second);
  }
  if (of_before && namesValues(affinity, kBetaRegionLabel)) { rename(out, kBetaRegionLabel, kRegionLabel); }
  return out;
}

}  // namespace gs::model
