// The DRA drivers whose devices are GPUs, and where they say what of them.
//
// A driver may publish whole GPUs, parts of them (MIG, partitions) and other things in one pool; which are
// whole GPUs, and by what name a GPU is known elsewhere, each driver says in attributes of its own. Sources:
// the ResourceSlices and the documentation of k8s-dra-driver-gpu (NVIDIA) and k8s-gpu-dra-driver (AMD).
// A driver that is not in the table publishes devices for pods' own claims only. A file may add some
// (driver_file.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/dra.h"

namespace gs::dra {

struct Driver {
  std::string name;              // "gpu.nvidia.com"
  std::string resource;          // what limits of containers call its GPUs: "nvidia.com/gpu"
  std::string device_class;      // whose requests are for whole GPUs
  model::QualifiedName uuid;     // the attribute that is a GPU's UUID; {}: it publishes none
  model::QualifiedName kind;     // the attribute that tells whole GPUs from other devices
  std::string whole;             // and its value for those
  model::QualifiedName product;  // the name of the model
  model::QualifiedName memory;   // the capacity that is its memory
  friend bool operator==(const Driver&, const Driver&) = default;
};
using Drivers = std::vector<Driver>;

/// Those that every installation knows.
[[nodiscard]] const Drivers& knownDrivers();
/// nullptr: none of them.
[[nodiscard]] const Driver* findDriver(const Drivers& drivers, std::string_view name);

/// Where drivers of PCI devices say their address (k8s.io/dynamic-resource-allocation/deviceattribute).
[[nodiscard]] const model::QualifiedName& pciBusIdAttribute();

/// The device is a whole GPU of its driver.
[[nodiscard]] bool isWholeGpu(const Driver& driver, const model::SliceDevice& device);
/// The text of an attribute; "": absent, or no text.
[[nodiscard]] std::string textOf(const model::SliceDevice& device, const model::QualifiedName& name);

}  // namespace gs::dra
