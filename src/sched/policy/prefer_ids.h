// preferIds (R32): the free ones of a list, in the order given, then as contiguous as can be for the
// rest. Law: no device outside the list is taken while one of the list is free. A Required topology may pass
// over listed ids when the list alone can give an allowed set; else all free listed ids must be part of an
// allowed set, or there is none.
#pragma once

#include <optional>
#include <vector>

#include "sched/policy/terms.h"

namespace gs::sched {

/// The bits of those ids that are in `free`, in the order given, each once.
[[nodiscard]] std::vector<int> listedIn(const Topology& t, Mask free, const std::vector<int>& ids);

[[nodiscard]] std::optional<Mask> preferIds(const Topology& t, Mask free, const std::vector<int>& ids,
                                            const Terms& terms);
/// Of devices that are shared (policy.h), in this order beside the list.
[[nodiscard]] std::optional<Mask> preferIdsShared(const Topology& t, const std::vector<int>& order,
                                                  const std::vector<int>& ids, const Terms& terms);

}  // namespace gs::sched
