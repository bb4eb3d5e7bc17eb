// What the agent tells of its node's caches by events, on the node object (docs/use/gkm-agent.md): pods that
// begin and end to use one, also where it is for none of the GPUs, and one that could not be extracted. Pure:
// the difference of two statuses.
#pragma once

#include <vector>

#include "controller/event.h"
#include "kcache/kinds/kinds.h"

namespace gs::gkm {

/// Of one write at most; the rest is in the status only.
inline constexpr std::size_t kMostNews = 16;

[[nodiscard]] controller::EventNote createdNote(const kcache::CacheNode& object);
/// In order of the caches' names.
[[nodiscard]] std::vector<controller::EventNote> newsIn(const kcache::CacheNode& before,
                                                        const kcache::CacheNode& after);

}  // namespace gs::gkm
