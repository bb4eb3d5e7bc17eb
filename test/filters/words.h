// The values of drawn cases: few, so that they meet.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/random.h"
#include "json/value.h"

namespace gs::filters {

inline constexpr const char* kHostname = "kubernetes.io/hostname";
inline constexpr const char* kZone = "topology.kubernetes.io/zone";
inline constexpr std::array kNamespaces{"ns-a", "ns-b", "ns-c"};
inline constexpr std::array kTeams{"red", "blue"};
inline constexpr std::array kZones{"z1", "z2", "z3"};
inline constexpr std::array kDomains{"kubernetes.io/hostname", "topology.kubernetes.io/zone", "rack"};
// Labels of pods, and values of each.
inline constexpr std::array kPodKeys{"app", "tier", "rev"};
inline constexpr std::array kPodValues{"a", "b", "c"};
// Labels of nodes; "size" is compared as a number.
inline constexpr std::array kRacks{"r1", "r2"};
inline constexpr std::array kDisks{"ssd", "hdd"};
inline constexpr std::array kSizes{"1", "2", "5", "10", "07", "x", "3.5", "9223372036854775808"};
inline constexpr std::array kNumbers{"1", "2", "4", "5", "0", "07"};
inline constexpr std::array kTaintKeys{"k1", "k2", "k3"};
inline constexpr std::array kTaintValues{"", "v1", "v2"};
inline constexpr std::array kTaintNumbers{"1", "5", "0", "007", "v1", ""};
inline constexpr std::array kEffects{"NoSchedule", "NoExecute", "PreferNoSchedule"};
inline constexpr std::array kProtocols{"TCP", "UDP", "SCTP"};
inline constexpr std::array kAddresses{"127.0.0.1", "10.0.0.1", "0.0.0.0", "::"};
inline constexpr std::array kPorts{53, 8080, 9090};

template <class T, std::size_t N>
[[nodiscard]] T oneOf(Rng& rng, const std::array<T, N>& words) {
  return words[rng.below(N)];
}

/// Of a pod's label, and what is asked for of one. A label may be there without a value.
[[nodiscard]] inline std::string podValue(Rng& rng) { return rng.chance(4) ? "" : oneOf(rng, kPodValues); }

/// Likewise of a node's.
[[nodiscard]] inline std::string zoneValue(Rng& rng) { return rng.chance(4) ? "" : oneOf(rng, kZones); }

/// As the API server gives it; `ns`: "" of an object of the cluster.
[[nodiscard]] inline json::Object metaOf(const std::string& ns, const std::string& name) {
  json::Object out{{"name", name}};
  if (!ns.empty()) { out.set("namespace", ns); }
  out.set("uid", "uid-" + (ns.empty() ? name : ns + "-" + name));
  out.set("resourceVersion", "7");
  out.set("creationTimestamp", "2026-01-01T00:00:00Z");
  return out;
}

}  // namespace gs::filters
