// Persistent volumes and claims of them (core/v1).
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "base/ascii.h"
#include "kapi/decode.h"
#include "kapi/fields.h"
#include "kapi/kinds.h"
#include "kapi/named.h"
#include "kapi/quantity.h"
#include "kapi/selectors.h"
#include "model/in_tree_volumes.h"

namespace gs::kapi {
namespace {

using json::View;

constexpr const char* kBetaClassKey = "volume.beta.kubernetes.io/storage-class";
constexpr const char* kBetaProvisionerKey = "volume.beta.kubernetes.io/storage-provisioner";

/// By an annotation of former times, which counts first, or by the field.
std::string storageClass(const View& object) {
  const auto before = object["metadata"]["annotations"].find(kBetaClassKey);
  return before ? text(*before) : text(object["spec"]["storageClassName"]);
}

std::optional<model::Quantity> storageOf(const View& resources) {
  const View v = resources["storage"];
  if (v.isString()) {
    const auto amount = exactQuantity(v.str());
    return amount ? std::optional{*amount} : std::nullopt;
  }
  const auto units = unitsOf(v);
  return units ? std::optional{model::Quantity{*units, 0}} : std::nullopt;
}

model::AccessModes accessModes(const View& v, bool of_claim) {
  using Mode = model::AccessMode;
  static constexpr std::array<std::pair<std::string_view, Mode>, 4> kModes{
      {{"ReadWriteOnce", Mode::ReadWriteOnce},
       {"ReadOnlyMany", Mode::ReadOnlyMany},
       {"ReadWriteMany", Mode::ReadWriteMany},
       {"ReadWriteOncePod", Mode::ReadWriteOncePod}}};
  unsigned out = 0;
  for (const View mode : v.items()) {
    const auto it =
        std::find_if(kModes.begin(), kModes.end(), [&](const auto& m) { return m.first == mode.str(); });
    if (it == kModes.end() && !of_claim) { continue; }
    out |= static_cast<unsigned>(it == kModes.end() ? Mode::Other : it->second);
  }
  return static_cast<model::AccessModes>(out);
}

/// A label with an empty zone says nothing.
std::vector<model::ZoneLabel> zoneLabels(const model::Labels& labels) {
  std::vector<model::ZoneLabel> out;
  for (const char* key :
       {model::kBetaZoneLabel, model::kBetaRegionLabel, model::kZoneLabel, model::kRegionLabel}) {
    const auto label = labels.find(key);
    if (label == labels.end()) { continue; }
    auto values = model::labelZones(label->second);
    if (!values.empty()) { out.push_back({key, std::move(values)}); }
  }
  return out;
}

/// The handle that its driver would know it by; nullopt: that cannot be said.
std::optional<std::string> migratedHandle(std::string_view field, const View& source,
                                          const model::Labels& labels) {
  if (field == "awsElasticBlockStore") { return model::ebsHandle(source["volumeID"].str()); }
  if (field == "gcePersistentDisk") { return model::gceHandle(source["pdName"].str(), labels); }
  if (field == "azureDisk") {
    if (!isManagedDisk(source)) { return std::nullopt; }
    return text(source["diskURI"]);
  }
  return text(source["volumeID"]);  // cinder, portworxVolume; of the others nobody asks
}

model::Migrated migratedOf(const View& spec, const model::PersistentVolume& volume) {
  model::Migrated out;
  for (const auto [field, source] : spec.members()) {
    const model::InTreePlugin* plugin = source.isObject() ? model::inTreePluginOf(field) : nullptr;
    if (plugin == nullptr) { continue; }
    out.plugin = plugin->name;
    auto handle = migratedHandle(field, source, volume.labels);
    if (!handle) { out.trouble = std::string{field}; }
    out.handle = std::move(handle).value_or("");
    out.affinity = model::migratedAffinity(*plugin, volume.affinity, volume.labels);
    return out;
  }
  return out;
}

model::Uid controllerUid(const View& meta) {
  for (const View owner : meta["ownerReferences"].items()) {
    if (owner["controller"].boolOr(false)) { return model::Uid{owner["uid"].str()}; }
  }
  return {};
}

constexpr KindInfo kVolumeInfo{
    "", "v1", "persistentvolumes", "PersistentVolume", false, decodedBy<decodePersistentVolume>};
constexpr KindInfo kVolumeClaimInfo{"",
                                    "v1",
                                    "persistentvolumeclaims",
                                    "PersistentVolumeClaim",
                                    true,
                                    decodedBy<decodePersistentVolumeClaim>};

}  // namespace

constinit const Kind kPersistentVolume{kVolumeInfo};
constinit const Kind kPersistentVolumeClaim{kVolumeClaimInfo};

bool isManagedDisk(const View& azure_disk) {
  const View kind = azure_disk["kind"];
  return kind.isNull() || equalInAnyCase(kind.str(), "managed");
}

model::PersistentVolume decodePersistentVolume(const View& v) {
  const View meta = v["metadata"];
  const View spec = v["spec"];
  auto out = namedOf<model::PersistentVolume>(v);
  out.deleting = !meta["deletionTimestamp"].isNull();
  out.is_available = v["status"]["phase"].str() == "Available";
  out.is_block = spec["volumeMode"].str() == "Block";
  out.by_controller = meta["annotations"].find(model::kBoundByControllerKey).has_value();
  out.modes = accessModes(spec["accessModes"], false);
  out.storage_class = storageClass(v);
  out.attributes_class = text(spec["volumeAttributesClassName"]);
  out.capacity = storageOf(spec["capacity"]).value_or(model::Quantity{});
  if (const View ref = spec["claimRef"]; ref.isObject()) {
    out.claim = model::ClaimRef{{text(ref["namespace"]), text(ref["name"])}, model::Uid{ref["uid"].str()}};
  }
  const View required = spec["nodeAffinity"]["required"];
  out.affinity.is_required = required.isObject();
  out.affinity.terms = nodeTerms(required["nodeSelectorTerms"]);
  out.labels = stringMap(meta["labels"]);
  out.zones = zoneLabels(out.labels);
  out.driver = text(spec["csi"]["driver"]);
  out.handle = text(spec["csi"]["volumeHandle"]);
  out.migrated = migratedOf(spec, out);
  return out;
}

model::PersistentVolumeClaim decodePersistentVolumeClaim(const View& v) {
  const View meta = v["metadata"];
  const View spec = v["spec"];
  const View annotations = meta["annotations"];
  auto out = namedOf<model::PersistentVolumeClaim>(v);
  out.deleting = !meta["deletionTimestamp"].isNull();
  out.is_lost = v["status"]["phase"].str() == "Lost";
  out.is_block = spec["volumeMode"].str() == "Block";
  out.bind_completed = annotations.find(model::kBindCompletedKey).has_value();
  out.modes = accessModes(spec["accessModes"], true);
  out.owner = controllerUid(meta);
  out.storage_class = storageClass(v);
  out.attributes_class = text(spec["volumeAttributesClassName"]);
  out.size = storageOf(spec["resources"]["requests"]);
  out.selector = strictSelector(spec["selector"]);
  out.volume = text(spec["volumeName"]);
  if (const auto node = annotations.find(model::kSelectedNodeKey)) {
    out.selected_node = model::NodeName{node->str()};
  }
  out.provisioner = text(annotations[model::kStorageProvisionerKey]);
  if (out.provisioner.empty()) { out.provisioner = text(annotations[kBetaProvisionerKey]); }
  return out;
}

}  // namespace gs::kapi
