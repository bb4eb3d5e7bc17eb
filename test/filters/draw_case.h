// Drawn clusters and pods, for whom the filters of kube-scheduler are asked and ours: what an API server
// would hold, over values that collide. The same seed, number, fields and release give the same case on every
// machine; a field that is switched off changes what is drawn of the others as little as can be.
#pragma once

#include <cstdint>

#include "json/value.h"
#include "test/filters/fields.h"

namespace gs::filters {

/// {"seed", "number", "release", "fields", "pod", and lists of objects by the plurals of their kinds: "pods",
/// "nodes", "namespaces", "persistentvolumes" ...}. The pods have nodes; "pod" is asked about, and has none.
/// `together`: it is about all of the fields, rather than about some.
[[nodiscard]] json::Value drawCase(std::uint64_t seed, std::uint64_t number, Fields fields, Release release,
                                   bool together = false);

}  // namespace gs::filters
