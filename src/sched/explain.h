// Refusals in words: the same for conditions, events and the CLI, in kube-scheduler's form (design 3.10).
// Pure over the ledger. Each call looks at all nodes: make the text when it is written, not for every
// attempt.
#pragma once

#include <string>
#include <vector>

#include "sched/fit.h"

namespace gs::sched {

/// "0/5 nodes are available: 3 node(s) had too few free GPUs: need 4 and most free is 2, 2 node(s) had
/// untolerated taint {k: v}." One aggregated text per reason, most nodes first then by text, no comma inside
/// a reason; with no nodes "no nodes available to schedule pods".
[[nodiscard]] std::string refusalText(const Ledger& ledger, const PodRequest& request);
/// Which kinds of reasons apply, without numbers: changes only when the kind of refusal changes (design
/// 3.10).
[[nodiscard]] std::string refusalKind(const Ledger& ledger, const PodRequest& request);

/// The parts of both. `nodes`: how many there are.
[[nodiscard]] std::string refusalText(const std::vector<Misfit>& misfits, std::size_t nodes);
[[nodiscard]] std::string refusalKind(const std::vector<Misfit>& misfits);

}  // namespace gs::sched
