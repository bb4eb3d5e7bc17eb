// The claims of one pod and a node to serve them, drawn from a seed: all that src/dra/claims serves, over few
// values, so that about half of them fit. Some ask for what Kubernetes serves and we refuse.
//
// Left out is what makes Kubernetes refuse a node for reasons of its own: negative capacities, counters.
// The same seed and number give the same case on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "json/value.h"

namespace gs::dra {

struct DrawnCase {
  // As resource.k8s.io/v1 has them. Slices stand in the order in which kube-scheduler looks at them.
  json::Array slices;
  json::Array classes;
  json::Array claims;
  json::Array taken;  // {"driver", "pool", "device"}
  /// What is asked for and not served, as the refusal has to name it; "": nothing.
  std::string unserved;
};

[[nodiscard]] DrawnCase drawCase(std::uint64_t seed, std::uint64_t number);

}  // namespace gs::dra
