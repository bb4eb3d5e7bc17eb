// `gpu-scheduler crds`: the CRDs of this version, for whoever upgrades a cluster. Helm installs the chart's
// crds/ once and never again, so the chart's upgrade hook runs `crds apply`.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "k8s/client.h"
#include "process/program.h"

namespace gs::serve {

/// Brings the server's CRDs to this version, by server-side apply: what others wrote on them stays. One whose
/// schema is of a later version stays as it is, for its objects may have what this version's would drop: a
/// sentence for each of those. One that changes meanwhile is refused. One try each, in the file's order.
/// Error: which CRD, and what the server said; those before it are applied.
[[nodiscard]] Result<std::vector<std::string>> applyCrds(k8s::Client& client);

/// What `crds apply` prints; `kept` is what applyCrds() gave.
[[nodiscard]] std::string appliedText(const std::vector<std::string>& kept, const std::string& server);

/// The commands `crds print` and `crds apply`. `program` must outlive its run.
void addCrds(process::Program& program);

}  // namespace gs::serve
