// What is to be done about one cache now: a pure decision (docs/use/gkm-operator.md). At most one write at a
// time; when it is answered, the next decision follows.
#pragma once

#include <cstdint>
#include <optional>

#include "kcache/kinds/kinds.h"
#include "operator/tally.h"
#include "operator/volume_plan.h"

namespace gs::gkm {

enum class Act : std::uint8_t { Nothing, AddFinalizer, RemoveFinalizer, WriteStatus };

struct Plan {
  Act act = Act::Nothing;
  kcache::CacheStatus status{};  // of WriteStatus; its times are those of now
  /// Only the cause in its message differs from what stands there: that is not urgent.
  bool is_cause_only = false;
};

/// How it is, over all nodes: Error, UnloadError, Outdated, Running, Extracted, Pending, the first that
/// holds. A cache without a digest is Pending and says what is missing. Of one that pods find by claims:
/// NoNamespace behind UnloadError, Downloading before Pending, and how its claims are. Being deleted it is
/// Deleting while pods use one of them, unless a node cannot remove it.
[[nodiscard]] kcache::CacheStatus statusOf(const kcache::Cache& cache, const Tally& tally, Wall now,
                                           const ClaimStandings& claims = {});

/// A cache that is being deleted keeps its finalizer while a node holds it. Its status is written then only
/// to say that a node cannot remove it, or that pods use a claim, or that this is over. Without a digest it
/// gets no finalizer: no node
/// will extract it.
[[nodiscard]] Plan planOf(const kcache::Cache& cache, const Tally& tally, Wall now,
                          const ClaimStandings& claims = {});

}  // namespace gs::gkm
