// JSON -> the values of model/. Reads only the fields that we use, and never refuses an object: what is
// missing gets its Kubernetes default, what has a wrong type reads as absent, and what matters and cannot be
// read is said in the value itself (GpuClaim::invalid, Lease::malformed, QuotaMap::malformed,
// Pod::unsupported). Quantities that cannot be read make a pod unsupported
// ("spec.containers[0].resources.requests.cpu") and count as 0 on a node.
// What no honest object has so many of is bounded, so that no object costs those who decide more than a few
// milliseconds. Over a bound it is refused with that reason or read as something stricter,
// never as something less strict.
#pragma once

#include <optional>
#include <string_view>

#include "json/document.h"
#include "kapi/call.h"
#include "model/claim.h"
#include "model/crd.h"
#include "model/disruption.h"
#include "model/dra.h"
#include "model/lease.h"
#include "model/namespace.h"
#include "model/node.h"
#include "model/pod.h"
#include "model/quota.h"
#include "model/server_version.h"
#include "model/volumes.h"

namespace gs::kapi {

[[nodiscard]] model::Pod decodePod(const json::View& v);
[[nodiscard]] model::Node decodeNode(const json::View& v);
[[nodiscard]] model::Namespace decodeNamespace(const json::View& v);
/// Of what a server answers at /version.
[[nodiscard]] model::ServerVersion decodeServerVersion(const json::View& v);
/// Of a pod's metadata: its controller, if default spread asks for that kind: "ReplicaSet/name"; else "".
[[nodiscard]] std::string controllerOf(const json::View& meta);
[[nodiscard]] model::GpuClaim decodeClaim(const json::View& v);
[[nodiscard]] model::GpuNodeStatus decodeGpuNodeStatus(const json::View& v);
[[nodiscard]] model::Lease decodeLease(const json::View& v);
[[nodiscard]] model::Crd decodeCrd(const json::View& v);
[[nodiscard]] model::QuotaMap decodeQuotaMap(const json::View& v);
[[nodiscard]] model::ResourceSlice decodeResourceSlice(const json::View& v);
[[nodiscard]] model::DeviceTaintRule decodeDeviceTaintRule(const json::View& v);
[[nodiscard]] model::DeviceClass decodeDeviceClass(const json::View& v);
[[nodiscard]] model::ResourceClaim decodeResourceClaim(const json::View& v);
[[nodiscard]] model::DisruptionBudget decodeDisruptionBudget(const json::View& v);
[[nodiscard]] model::PersistentVolume decodePersistentVolume(const json::View& v);
[[nodiscard]] model::PersistentVolumeClaim decodePersistentVolumeClaim(const json::View& v);
[[nodiscard]] model::StorageClass decodeStorageClass(const json::View& v);
[[nodiscard]] model::CsiNode decodeCsiNode(const json::View& v);
[[nodiscard]] model::CsiDriver decodeCsiDriver(const json::View& v);
[[nodiscard]] model::CsiStorageCapacity decodeCsiStorageCapacity(const json::View& v);
[[nodiscard]] model::VolumeAttachment decodeVolumeAttachment(const json::View& v);

/// An azureDisk that its CSI driver can serve (kind Managed, or none).
[[nodiscard]] bool isManagedDisk(const json::View& azure_disk);

/// As its kind decodes it; nothing where it is no object, or of a kind that is only written.
[[nodiscard]] model::Object decodeObject(Kind kind, const json::View& v);
[[nodiscard]] model::ObjectKey objectKey(const json::View& v);
[[nodiscard]] model::Revision objectRevision(const json::View& v);

/// An HTTP answer -> Outcome. `status` 0: the request left and nothing came back,
/// `body` says what happened (Unknown).
/// A 2xx answer to a read whose body is not what was asked for is Unknown too;
/// to a write it is Applied without object.
[[nodiscard]] Outcome decodeAnswer(const Call& call, int status, std::string_view body, Duration retry_after);
/// The same of a body that is JSON already.
[[nodiscard]] Outcome decodeAnswerValue(const Call& call, int status, const json::View& body);
/// One line of a watch -> WatchEvent, or WatchEnded for an ERROR event (its code) and for a line that cannot
/// be used: no JSON, no known type, no name or resourceVersion (http 500).
[[nodiscard]] std::variant<WatchEvent, WatchEnded> decodeWatchLine(Token stream, Kind kind,
                                                                   std::string_view line);
[[nodiscard]] std::variant<WatchEvent, WatchEnded> decodeWatchValue(Token stream, Kind kind,
                                                                    const json::View& line);

}  // namespace gs::kapi
