// `gpu-scheduler crds`: the CRDs of this version, for whoever upgrades a cluster. Helm installs the chart's
// crds/ once and never again, so the chart's upgrade hook runs `crds apply`.
#pragma once

#include "base/result.h"
#include "k8s/client.h"
#include "process/program.h"

namespace gs::serve {

/// Brings the server's CRDs to this version, by server-side apply: what others wrote on them stays. One try
/// each, in the file's order. Error: which CRD, and what the server said; those before it are applied.
[[nodiscard]] Status applyCrds(k8s::Client& client);

/// The commands `crds print` and `crds apply`. `program` must outlive its run.
void addCrds(process::Program& program);

}  // namespace gs::serve
