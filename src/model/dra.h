// What DRA drivers publish of their devices, and what pods ask of them: ResourceSlice, DeviceClass,
// ResourceClaim and DeviceTaintRule of resource.k8s.io/v1, as values.
//
// Attributes and capacities are known by domain and name. A driver may leave the domain out, and means its
// own name then; the decoder fills it in, so that nobody else has to know.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "model/ids.h"
#include "model/node.h"
#include "model/pod.h"
#include "model/quantity.h"

namespace gs::model {

/// A version as semver.org 2.0.0 has it.
struct SemVer {
  std::string text;  // as it was written; what follows '+' is in here only, for it says nothing about order
  std::uint64_t major = 0;
  std::uint64_t minor = 0;
  std::uint64_t patch = 0;
  std::vector<std::string> pre;  // "rc", "1" of 1.2.3-rc.1
  friend bool operator==(const SemVer&, const SemVer&) = default;
};
/// Nothing: not of that grammar ("v1.2.3", "1.2", "01.2.3"), or a number over 2^63.
[[nodiscard]] std::optional<SemVer> parseSemVer(std::string_view text);
/// By semver's precedence: numbers by value and before words, words by bytes; a version with `pre` before the
/// one without.
[[nodiscard]] std::strong_ordering precedence(const SemVer& a, const SemVer& b);

struct QualifiedName {
  std::string domain;
  std::string name;
  friend auto operator<=>(const QualifiedName&, const QualifiedName&) = default;
};

/// monostate: a value of a shape that is not served (a list); whatever is asked of it has no answer.
using Attribute = std::variant<std::monostate, bool, std::int64_t, std::string, SemVer>;

/// One device of a ResourceSlice.
struct SliceDevice {
  std::string name;  // "gpu-0"; unique in its pool
  std::map<QualifiedName, Attribute> attributes;
  std::map<QualifiedName, Quantity> capacity;
  std::vector<Taint> taints;  // effects NoSchedule, NoExecute, None
  NodeName node;              // of a slice that says it for each device; "" else
  /// Why it is given to nobody: it uses counters, may be given several times, waits for conditions of its
  /// Binding, or cannot be read. "": it is a device like any other.
  std::string unsupported;
  friend bool operator==(const SliceDevice&, const SliceDevice&) = default;
};

/// A part of a pool. Those of the pool's newest generation say together what it has, once all are there.
struct ResourceSlice {
  ObjectKey key;
  Uid uid;
  Revision revision = 0;
  std::string driver;
  std::string pool;
  std::int64_t generation = 0;
  std::int64_t slices = 0;  // of the pool in this generation
  NodeName node;  // whose devices they are; "": of several nodes, or of the one that each device says
  std::vector<SliceDevice> devices;
  friend bool operator==(const ResourceSlice&, const ResourceSlice&) = default;
};

/// What drivers are to know of devices besides, and which requests it is for, as an allocation repeats it.
struct DeviceConfig {
  bool from_class = false;            // else the claim says it
  std::vector<std::string> requests;  // empty: all
  std::string config;                 // as JSON, without `requests`
  friend bool operator==(const DeviceConfig&, const DeviceConfig&) = default;
};

struct DeviceClass {
  ObjectKey key;
  Uid uid;
  Revision revision = 0;
  std::vector<std::string> selectors;  // CEL; all have to hold
  std::string extended_resource;       // that limits of containers may name instead: "nvidia.com/gpu"
  std::vector<DeviceConfig> config;
  friend bool operator==(const DeviceClass&, const DeviceClass&) = default;
};

/// One way in which a request may be satisfied.
struct DeviceSubRequest {
  std::string name;  // of `firstAvailable`; "" of `exactly`
  std::string device_class;
  std::vector<std::string> selectors;
  bool all = false;        // allocationMode All: every device that matches
  std::int64_t count = 1;  // of ExactCount
  std::vector<Toleration> tolerations;
  /// A field of it that is not served, as its path ("adminAccess", "capacity"); "": none.
  std::string unsupported;
  friend bool operator==(const DeviceSubRequest&, const DeviceSubRequest&) = default;
};

struct DevicesRequest {
  std::string name;
  std::vector<DeviceSubRequest> ways;  // the first that can be satisfied; one of `exactly`
  friend bool operator==(const DevicesRequest&, const DevicesRequest&) = default;
};

struct DeviceConstraint {
  std::vector<std::string> requests;  // empty: all
  QualifiedName match{};              // all their devices have one value of it; {}: says nothing
  QualifiedName distinct{};           // no two of them have one value of it; {}: says nothing
  std::string unsupported;
  friend bool operator==(const DeviceConstraint&, const DeviceConstraint&) = default;
};

struct AllocatedDevice {
  std::string request;  // "request" or "request/way"
  DeviceName device;
  bool admin = false;  // looked at only: it holds nothing
  friend auto operator<=>(const AllocatedDevice&, const AllocatedDevice&) = default;
};

/// On a claim that we made: the decision that it was made for.
inline constexpr const char* kOfReservationKey = "gpu.scheduling/reservation";

struct ResourceClaim {
  ObjectKey key;
  Uid uid;
  Revision revision = 0;
  Wall created{};
  bool deleting = false;
  Uid owner_pod;  // controller of it; "" none
  std::vector<std::string> finalizers;
  std::string
      reservation;  // annotation gpu.scheduling/reservation: ours, and of which decision; "" another's
  std::vector<DevicesRequest> requests;
  std::vector<DeviceConstraint> constraints;
  std::vector<DeviceConfig> config;
  bool allocated = false;
  std::vector<AllocatedDevice> results;
  std::vector<Uid> reserved_for;  // mostly pods; sorted
  [[nodiscard]] bool isReservedFor(const Uid& uid) const {
    return std::binary_search(reserved_for.begin(), reserved_for.end(), uid);
  }
  /// Pods that name it use it together. One that was made for a pod is that pod's alone.
  [[nodiscard]] bool isForMany() const {
    return owner_pod.empty() || std::any_of(reserved_for.begin(), reserved_for.end(),
                                            [&](const Uid& uid) { return uid != owner_pod; });
  }
  friend bool operator==(const ResourceClaim&, const ResourceClaim&) = default;
};

/// A claim has no more requests, and is allocated no more devices (resource/v1: AllocationResultsMaxSize).
inline constexpr std::size_t kMaxResults = 32;

/// A claim is reserved for no more (resource/v1: ResourceClaimReservedForMaxSize).
inline constexpr std::size_t kMaxReservedFor = 256;

/// Of a claim that is allocated: nobody's DELETE takes it from under a container.
inline constexpr const char* kDeleteProtection = "resource.kubernetes.io/delete-protection";

/// What one container of a pod asks for by a limit, as a request of the pod's own claim.
struct LimitRequest {
  std::string container;
  std::string resource;  // "nvidia.com/gpu"
  std::string request;   // its name in the claim; other containers may share it
  std::string device_class;
  std::int64_t count = 0;
  std::size_t first = 0;  // of the pod's devices, in their order, it has `count` from this one on
  friend bool operator==(const LimitRequest&, const LimitRequest&) = default;
};

/// A taint that an administrator lays on devices. "" of a selector's field: any.
struct DeviceTaintRule {
  ObjectKey key;
  Uid uid;
  Revision revision = 0;
  std::string driver;
  std::string pool;
  std::string device;
  Taint taint;
  friend bool operator==(const DeviceTaintRule&, const DeviceTaintRule&) = default;
};

}  // namespace gs::model
