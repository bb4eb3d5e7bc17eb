// The driver file of --dra-drivers: DRA drivers whose devices are GPUs, beside those that every installation
// knows, from parsed values (docs/use/dra.md).
//
//   drivers:
//   - name: gpu.example.com                  # of the driver; one that is known is replaced as a whole
//     resource: example.com/gpu              # what limits of containers call its GPUs
//     deviceClass: gpu.example.com           # whose requests are for whole GPUs; absent: the driver's name
//     uuidAttribute: uuid                    # absent: it publishes none
//     whole: {attribute: type, value: gpu}   # how whole GPUs are known; absent: each of its devices is one
//     productAttribute: productName          # the name of the model; absent: it says none
//     memoryCapacity: memory                 # absent: it says none
//
// Attributes and capacities are DOMAIN/NAME, or NAME of the driver's own domain. A node's GPUs are those of
// the first driver that has some there: known ones come first, then those of the file in its order.
#pragma once

#include <cstddef>

#include "base/result.h"
#include "dra/drivers.h"
#include "json/value.h"

namespace gs::dra {

inline constexpr std::size_t kMostDrivers = 64;  // of a file

/// The known drivers and those of the file. Error Invalid: names the driver, the key, the value and the fix.
/// Unknown keys are refused.
[[nodiscard]] Result<Drivers> readDrivers(const json::Value& file);

}  // namespace gs::dra
