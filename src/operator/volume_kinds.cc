#include "operator/volume_kinds.h"

#include <fmt/format.h>

#include <algorithm>

#include "kapi/decode.h"
#include "kapi/fields.h"
#include "kcache/kinds/claims.h"
#include "kcache/kinds/names.h"

namespace gs::gkm {
namespace {

using json::Array;
using json::Object;
using json::Value;
using json::View;

/// Of which cache it is, and for which namespace (kcache/kinds/claims.h).
constexpr const char* kHandleKey = "gkm.io/volume-handle";
/// The uid of that cache.
constexpr const char* kCacheUidKey = "gkm.io/cache-uid";
constexpr const char* kClaimMode = "ReadOnlyMany";
constexpr std::int64_t kMebi = std::int64_t{1} << 20;
constexpr std::int64_t kUsualBytes = std::int64_t{1} << 30;  // where nobody knows its size yet

template <class T>
void decodeOurs(const View& v, T& out) {
  const View metadata = v["metadata"];
  out.key = kapi::objectKey(v);
  out.uid = kapi::uidField(v);
  out.revision = kapi::objectRevision(v);
  out.is_deleting = !metadata["deletionTimestamp"].isNull();
  out.is_bound = v["status"]["phase"].str() == "Bound";
  out.handle = kapi::text(metadata["annotations"][kHandleKey]);
  out.cache = model::Uid{metadata["annotations"][kCacheUidKey].str()};
}

VolumeClaim decodeClaim(const View& v) {
  VolumeClaim out;
  decodeOurs(v, out);
  out.volume = kapi::text(v["spec"]["volumeName"]);
  out.size = kapi::text(v["spec"]["resources"]["requests"]["storage"]);
  const auto of = kcache::parseVolumeHandle(out.handle);
  if (!of || of->claim() != out.key) { out.handle.clear(); }
  return out;
}

Volume decodeVolume(const View& v) {
  Volume out;
  decodeOurs(v, out);
  out.claim = model::Uid{v["spec"]["claimRef"]["uid"].str()};
  const auto phase = v["status"]["phase"].str();
  out.is_released = phase == "Released" || phase == "Failed";
  const View csi = v["spec"]["csi"];
  const bool is_ours = csi["driver"].str() == kcache::kDriver && csi["volumeHandle"].str() == out.handle &&
                       kcache::parseVolumeHandle(out.handle) &&
                       kcache::volumeName(out.handle) == out.key.name;
  if (!is_ours) { out.handle.clear(); }
  return out;
}

constexpr kapi::KindInfo kVolumeClaimInfo{
    "", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", true, kapi::decodedBy<decodeClaim>};
constexpr kapi::KindInfo kVolumeInfo{
    "", "v1", "persistentvolumes", "PersistentVolume", false, kapi::decodedBy<decodeVolume>};

std::string quantityOf(std::int64_t bytes) {
  const std::int64_t mebi = (std::max(bytes, std::int64_t{0}) + kMebi - 1) / kMebi;
  return fmt::format("{}Mi", bytes > 0 ? mebi : kUsualBytes / kMebi);
}

Value metadataOf(const kcache::Cache& cache, const std::string& handle) {
  return Object{{"labels", Object{{kManagedLabel, "true"}}},
                {"annotations", Object{{kHandleKey, handle}, {kCacheUidKey, cache.uid.text}}}};
}

Array ownersOf(const kcache::Cache& cache) {
  const kapi::Kind kind = kcache::cacheKindOf(cache.key);
  return {Object{{"apiVersion", kapi::apiVersion(kind)},
                 {"kind", kind->name},
                 {"name", cache.key.name},
                 {"uid", cache.uid.text}}};
}

/// As volumes in pods' own specs have them.
Value attributesOf(const model::ObjectKey& cache) {
  Value out = Object{{kcache::kCacheAttribute, cache.name}};
  if (!cache.ns.empty()) { out.set(kcache::kNamespaceAttribute, cache.ns); }
  return out;
}

kapi::Call creation(kapi::Kind kind, const std::string& ns, Value metadata, Value spec) {
  kapi::Call call;
  call.verb = kapi::Verb::Create;
  call.kind = kind;
  call.key = {ns, ""};
  call.body = Object{{"apiVersion", kapi::apiVersion(kind)},
                     {"kind", kind->name},
                     {"metadata", std::move(metadata)},
                     {"spec", std::move(spec)}};
  return call;
}

template <class T>
kapi::Call deletion(kapi::Kind kind, const T& of) {
  kapi::Call call;
  call.verb = kapi::Verb::Delete;
  call.kind = kind;
  call.key = of.key;
  call.body = Object{{"apiVersion", "v1"}, {"kind", "DeleteOptions"}};
  Value& preconditions = call.body.child("preconditions");
  preconditions.set("uid", of.uid.text);
  preconditions.set("resourceVersion", std::to_string(of.revision));
  return call;
}

}  // namespace

constinit const kapi::Kind kVolumeClaim{kVolumeClaimInfo};
constinit const kapi::Kind kVolume{kVolumeInfo};

kapi::Call createClaim(const kcache::Cache& cache, const std::string& ns, std::int64_t bytes) {
  const std::string handle = kcache::volumeHandle(cache.key, ns);
  Value metadata = metadataOf(cache, handle);
  metadata.set("name", cache.key.name);
  metadata.set("namespace", ns);
  metadata.set("ownerReferences", ownersOf(cache));
  return creation(kVolumeClaim, ns, std::move(metadata),
                  Object{{"accessModes", Array{kClaimMode}},
                         {"storageClassName", ""},
                         {"volumeName", kcache::volumeName(handle)},
                         {"resources", Object{{"requests", Object{{"storage", quantityOf(bytes)}}}}}});
}

kapi::Call createVolume(const kcache::Cache& cache, const VolumeClaim& claim) {
  Value metadata = metadataOf(cache, claim.handle);
  metadata.set("name", kcache::volumeName(claim.handle));
  if (cache.key.ns.empty()) { metadata.set("ownerReferences", ownersOf(cache)); }
  return creation(kVolume, "", std::move(metadata),
                  Object{{"accessModes", Array{kClaimMode}},
                         {"capacity", Object{{"storage", claim.size.empty() ? quantityOf(0) : claim.size}}},
                         {"storageClassName", ""},
                         {"persistentVolumeReclaimPolicy", "Retain"},
                         {"claimRef", Object{{"apiVersion", "v1"},
                                             {"kind", kVolumeClaim->name},
                                             {"namespace", claim.key.ns},
                                             {"name", claim.key.name},
                                             {"uid", claim.uid.text}}},
                         {"csi", Object{{"driver", kcache::kDriver},
                                        {"volumeHandle", claim.handle},
                                        {"volumeAttributes", attributesOf(cache.key)}}}});
}

kapi::Call deleteClaim(const VolumeClaim& claim) { return deletion(kVolumeClaim, claim); }
kapi::Call deleteVolume(const Volume& volume) { return deletion(kVolume, volume); }

}  // namespace gs::gkm
