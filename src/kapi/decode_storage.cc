// Classes of volumes, and what CSI drivers say of nodes (storage.k8s.io/v1).
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "base/sort_unique.h"
#include "kapi/decode.h"
#include "kapi/fields.h"
#include "kapi/kinds.h"
#include "kapi/named.h"
#include "kapi/quantity.h"
#include "kapi/selectors.h"

namespace gs::kapi {
namespace {

using json::View;

constexpr const char* kMigratedKey = "storage.alpha.kubernetes.io/migrated-plugins";
constexpr std::size_t kMostDrivers = 256;  // of a node

/// One without expressions matches nothing.
model::LabelSelector topologyOf(const View& v) {
  using Op = model::LabelRequirement::Op;
  model::LabelSelector out;
  for (const View e : v["matchLabelExpressions"].items()) {
    model::LabelRequirement& r = out.requirements.emplace_back();
    r.key = text(e["key"]);
    r.op = Op::In;
    for (const View value : e["values"].items()) { r.values.push_back(text(value)); }
    sortUnique(r.values);
  }
  std::sort(out.requirements.begin(), out.requirements.end());
  return out;
}

std::vector<std::string> commaSeparated(std::string_view list) {
  std::vector<std::string> out;
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    if (comma != 0) { out.emplace_back(list.substr(0, comma)); }
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::optional<std::int64_t> bytesOf(const View& v) {
  if (v.isNull()) { return std::nullopt; }
  const auto units = unitsOf(v);
  return units ? std::optional{*units} : std::nullopt;
}

// A server without storage serves none of them.
constexpr const char* kStorageGroup = "storage.k8s.io";
constexpr KindInfo kStorageClassInfo{
    kStorageGroup, "v1", "storageclasses", "StorageClass", false, decodedBy<decodeStorageClass>, true};
constexpr KindInfo kCsiNodeInfo{kStorageGroup, "v1", "csinodes", "CSINode", false, decodedBy<decodeCsiNode>,
                                true};
constexpr KindInfo kCsiDriverInfo{
    kStorageGroup, "v1", "csidrivers", "CSIDriver", false, decodedBy<decodeCsiDriver>, true};
constexpr KindInfo kCsiStorageCapacityInfo{kStorageGroup,
                                           "v1",
                                           "csistoragecapacities",
                                           "CSIStorageCapacity",
                                           true,
                                           decodedBy<decodeCsiStorageCapacity>,
                                           true};
constexpr KindInfo kVolumeAttachmentInfo{
    kStorageGroup, "v1", "volumeattachments", "VolumeAttachment", false, decodedBy<decodeVolumeAttachment>,
    true};

}  // namespace

constinit const Kind kStorageClass{kStorageClassInfo};
constinit const Kind kCsiNode{kCsiNodeInfo};
constinit const Kind kCsiDriver{kCsiDriverInfo};
constinit const Kind kCsiStorageCapacity{kCsiStorageCapacityInfo};
constinit const Kind kVolumeAttachment{kVolumeAttachmentInfo};

model::StorageClass decodeStorageClass(const View& v) {
  auto out = namedOf<model::StorageClass>(v);
  out.provisioner = text(v["provisioner"]);
  out.waits = v["volumeBindingMode"].str() == "WaitForFirstConsumer";
  for (const View term : v["allowedTopologies"].items()) { out.topologies.push_back(topologyOf(term)); }
  return out;
}

model::CsiNode decodeCsiNode(const View& v) {
  auto out = namedOf<model::CsiNode>(v);
  out.migrated = commaSeparated(v["metadata"]["annotations"][kMigratedKey].str());
  for (const View driver : v["spec"]["drivers"].items()) {
    if (out.drivers.size() == kMostDrivers) { break; }
    out.drivers.push_back({text(driver["name"]), driver["allocatable"]["count"].integer()});
  }
  return out;
}

model::CsiDriver decodeCsiDriver(const View& v) {
  auto out = namedOf<model::CsiDriver>(v);
  out.tells_capacity = v["spec"]["storageCapacity"].boolOr(false);
  out.must_be_installed = v["spec"]["preventPodSchedulingIfMissing"].boolOr(false);
  return out;
}

model::CsiStorageCapacity decodeCsiStorageCapacity(const View& v) {
  auto out = namedOf<model::CsiStorageCapacity>(v);
  out.storage_class = text(v["storageClassName"]);
  out.nodes = strictSelector(v["nodeTopology"]);
  out.most = bytesOf(v["maximumVolumeSize"].isNull() ? v["capacity"] : v["maximumVolumeSize"]);
  return out;
}

model::VolumeAttachment decodeVolumeAttachment(const View& v) {
  auto out = namedOf<model::VolumeAttachment>(v);
  const View spec = v["spec"];
  out.attacher = text(spec["attacher"]);
  out.node = model::NodeName{spec["nodeName"].str()};
  out.volume = text(spec["source"]["persistentVolumeName"]);
  return out;
}

}  // namespace gs::kapi
