#include "kapi/pod_volumes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/sort_unique.h"
#include "kapi/decode.h"
#include "kapi/fields.h"
#include "model/in_tree_volumes.h"

namespace gs::kapi {
namespace {

using json::View;
using DiskKind = model::InlineDisk::Kind;

constexpr std::size_t kMostVolumes = 256;   // of a pod, that are looked at
constexpr std::size_t kMostMonitors = 256;  // of all its disks

struct DiskField {
  const char* field;
  DiskKind kind;
  const char* name;
};
constexpr std::array<DiskField, 7> kDiskFields{
    {{"gcePersistentDisk", DiskKind::GcePersistentDisk, "pdName"},
     {"awsElasticBlockStore", DiskKind::AwsElasticBlockStore, "volumeID"},
     {"iscsi", DiskKind::Iscsi, "iqn"},
     {"rbd", DiskKind::Rbd, "image"},
     {"azureDisk", DiskKind::AzureDisk, "diskURI"},
     {"cinder", DiskKind::Cinder, "volumeID"},
     {"portworxVolume", DiskKind::Portworx, "volumeID"}}};

model::InlineDisk diskOf(const DiskField& field, const View& source) {
  model::InlineDisk out;
  out.kind = field.kind;
  out.name = text(source[field.name]);
  out.read_only = source["readOnly"].boolOr(false);
  if (field.kind != DiskKind::Rbd) { return out; }
  out.name = fmt::format("{}/{}", source["pool"].str(), out.name);
  for (const View monitor : source["monitors"].items()) { out.monitors.push_back(text(monitor)); }
  return out;
}

/// Of several that differ in nothing but their monitors one has all of these: it is at odds with the same.
void unite(std::vector<model::InlineDisk>& disks) {
  const auto is_same = [](const model::InlineDisk& a, const model::InlineDisk& b) {
    return std::tie(a.kind, a.name, a.read_only) == std::tie(b.kind, b.name, b.read_only);
  };
  std::sort(disks.begin(), disks.end());
  std::vector<model::InlineDisk> out;
  for (model::InlineDisk& disk : disks) {
    if (out.empty() || !is_same(out.back(), disk)) {
      out.push_back(std::move(disk));
    } else {
      auto& all = out.back().monitors;
      all.insert(all.end(), disk.monitors.begin(), disk.monitors.end());
    }
  }
  for (model::InlineDisk& disk : out) { sortUnique(disk.monitors); }
  disks = std::move(out);
}

/// A field of the disk by which nobody could say which disk it is, and kube-scheduler places no such pod;
/// "": none.
const char* oddField(DiskKind kind, const View& source) {
  if (kind == DiskKind::AwsElasticBlockStore && !model::ebsHandle(source["volumeID"].str())) {
    return "awsElasticBlockStore.volumeID";
  }
  return kind == DiskKind::AzureDisk && !isManagedDisk(source) ? "azureDisk.kind" : "";
}

std::optional<model::VolumeClaim> claimOf(const View& volume, const std::string& pod) {
  if (const View named = volume["persistentVolumeClaim"]; named.isObject()) {
    return model::VolumeClaim{text(named["claimName"]), false};
  }
  if (!volume["ephemeral"].isObject()) { return std::nullopt; }
  return model::VolumeClaim{fmt::format("{}-{}", pod, volume["name"].str()), true};
}

}  // namespace

void readPodVolumes(const View& spec, model::Pod& pod, std::set<std::string>& unsupported) {
  std::size_t monitors = 0;
  std::size_t volumes = 0;
  const auto is_room = [&](std::size_t more) {
    monitors += more;
    return ++volumes <= kMostVolumes && monitors <= kMostMonitors;
  };
  for (const View volume : spec["volumes"].items()) {
    if (auto claim = claimOf(volume, pod.key.name)) {
      if (is_room(0)) { pod.volume_claims.push_back(*std::move(claim)); }
      continue;
    }
    for (const DiskField& field : kDiskFields) {
      const View source = volume[field.field];
      if (!source.isObject()) { continue; }
      if (const char* odd = oddField(field.kind, source); *odd != '\0') {
        unsupported.insert(fmt::format("spec.volumes[].{}", odd));
        continue;
      }
      model::InlineDisk disk = diskOf(field, source);
      if (is_room(disk.monitors.size())) { pod.disks.push_back(std::move(disk)); }
    }
  }
  if (!pod.disks.empty()) { unite(pod.disks.change()); }
  if (volumes > kMostVolumes || monitors > kMostMonitors) {
    unsupported.insert(fmt::format("spec.volumes with more than {} entries", kMostVolumes));
  }
}

}  // namespace gs::kapi
