// What a drawn case is about. A case has some of the fields that it may have, so that each decides often
// enough.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gs::filters {

enum class Field : std::uint16_t {
  Taints = 1,           // taints, tolerations, unschedulable nodes
  Comparisons = 2,      // tolerations with the operators Lt and Gt
  Affinity = 4,         // nodeSelector, nodeAffinity
  Ports = 8,            // host ports
  Resources = 16,       // amounts, init containers, sidecars, overhead, extended resources
  PodLevel = 32,        // spec.resources
  Resize = 64,          // what the kubelet says that containers of bound pods have
  Near = 128,           // pod affinity, both ways
  Spread = 256,         // topologySpreadConstraints
  Volumes = 512,        // PersistentVolumeClaims that are bound or whose class waits
  Provisioning = 1024,  // where volumes can be made: allowedTopologies, CSIStorageCapacity
  Attaching = 2048,     // how many volumes a node takes
  Disks = 4096,         // inline volumes that two pods of a node may not share
};
using Fields = std::uint16_t;  // bits

/// Of which release the API server is: what it fills in, and which fields it has.
enum class Release : std::uint8_t { Oldest, Newest };

[[nodiscard]] constexpr bool has(Fields fields, Field one) {
  return (fields & static_cast<Fields>(one)) != 0;
}

/// "taints,near"; "all": what the release serves. Error: a name that there is not, or that it does not serve.
[[nodiscard]] Result<Fields> fieldsOf(std::string_view names, Release release);
[[nodiscard]] std::string namesOf(Fields fields);

}  // namespace gs::filters
