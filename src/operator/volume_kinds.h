// PersistentVolumes and PersistentVolumeClaims of kernel caches, as far as the operator made them: what it
// reads of them, and how it makes and deletes them. (What for: kcache/kinds/claims.h.)
//
// Ours are those with the label kManagedLabel, and only they are watched. Which cache, and which of that
// name, two annotations say: handle and uid. A claim belongs to its cache by an owner reference too, so that
// it goes with a cache even while no operator runs; a volume of a GKMCache cannot have one, being of no
// namespace. Nothing is ever changed: a claim's spec and a volume's are made once. Deleting holds for what
// was seen only. What others put on the same label reads as nobody's and is left alone.
#pragma once

#include <cstdint>
#include <string>

#include "kapi/call.h"
#include "kapi/kind.h"
#include "kcache/kinds/kinds.h"
#include "model/ids.h"

namespace gs::gkm {

/// "true": the operator made it. One without the label is left alone.
inline constexpr const char* kManagedLabel = "gkm.io/managed";

/// A PersistentVolumeClaim.
struct VolumeClaim {
  model::ObjectKey key;
  model::Uid uid;
  model::Revision revision = 0;
  bool is_deleting = false;
  bool is_bound = false;  // by the control plane
  std::string handle;     // "" it is not ours
  model::Uid cache;       // the cache's uid
  std::string volume;     // name of the volume that it asks for
  std::string size;       // that it asks for, as a quantity; "": none
  friend bool operator==(const VolumeClaim&, const VolumeClaim&) = default;
};

/// A PersistentVolume.
struct Volume {
  model::ObjectKey key;
  model::Uid uid;
  model::Revision revision = 0;
  bool is_deleting = false;
  bool is_bound = false;     // its claim is there, as the control plane sees it
  bool is_released = false;  // it was, and is gone
  std::string handle;        // "" it is not ours
  model::Uid cache;          // the cache's uid
  model::Uid claim;          // the one claim that it is for
  friend bool operator==(const Volume&, const Volume&) = default;
};

extern const kapi::Kind kVolumeClaim;
extern const kapi::Kind kVolume;

/// POST of the claim by which pods of that namespace find the cache.
[[nodiscard]] kapi::Call createClaim(const kcache::Cache& cache, const std::string& ns, std::int64_t bytes);
/// POST of the volume for that claim of the cache, of the size that it asks for: one of less would be waited
/// for to grow.
[[nodiscard]] kapi::Call createVolume(const kcache::Cache& cache, const VolumeClaim& claim);
/// DELETE of that claim or volume as it was seen.
[[nodiscard]] kapi::Call deleteClaim(const VolumeClaim& claim);
[[nodiscard]] kapi::Call deleteVolume(const Volume& volume);

}  // namespace gs::gkm
