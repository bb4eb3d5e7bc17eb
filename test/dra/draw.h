// Selectors of DRA and devices, drawn from a seed: what src/cel serves, over values that collide. Some
// selectors have operands that do not fit, or too few parentheses for what was meant: both sides have to
// refuse them, or to read them alike.
//
// Left out is what Kubernetes serves and we refuse, and what cel/selector.h says is different. The same
// seed and number give the same pair on every machine.
#pragma once

#include <cstdint>
#include <string>

#include "json/value.h"
#include "model/dra.h"

namespace gs::dra {

struct DrawnDevice {
  std::string driver;
  json::Value object;  // {"driver", "attributes", "capacity"} as resource.k8s.io/v1 has them
  model::SliceDevice device;
};

struct DrawnPair {
  std::string expression;
  DrawnDevice device;
};

[[nodiscard]] DrawnPair draw(std::uint64_t seed, std::uint64_t number);

}  // namespace gs::dra
