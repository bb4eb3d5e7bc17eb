// What a cache's status says of the claims by which pods find it: `status.pvcStatus` by namespace, as GKM
// has it, and two conditions behind the first one. Pure.
//   ClaimsReady    whether each of its namespaces has its claim, bound; else the first that has not, and why
//   FieldsUnused   which fields of its spec mean nothing here
#pragma once

#include <string>

#include "kcache/kinds/kinds.h"
#include "operator/volume_plan.h"

namespace gs::gkm {

/// Namespaces that are not there, the first of them by name; "" all are, or none is asked for.
[[nodiscard]] std::string missingNamespaces(const kcache::Cache& cache, const ClaimStandings& standings);
/// Pods still use a claim that is being deleted.
[[nodiscard]] bool isClaimInUse(const ClaimStandings& standings);
/// Puts claims and remarks into `status`, whose condition is set. Times of what was so before stay.
void addClaims(const kcache::Cache& cache, const ClaimStandings& standings, Wall now,
               kcache::CacheStatus& status);

}  // namespace gs::gkm
