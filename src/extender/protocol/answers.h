// Replies, in the words and shapes that schedulers read. Pure.
//
// As Go's encoder writes them: its order of keys, null for what is nil, \u003c for <, no newline at the end.
// Sources: k8s.io/kube-scheduler/extender/v1; Volcano's pkg/scheduler/plugins/extender, whose answer to a
// predicate changed twice:
//   1.6, 1.7    {"errorMessage":string}                      "" fits
//   1.8, 1.9    {"status":[{"Code":int,"Reason":string}]}    nothing, or all 0, fits
//   from 1.10   {"status":string,"code":int}                 "" fits, whatever the code
// {} fits for all of them. Superset says no to all: {"errorMessage":...,"status":[...]},
// which the last cannot decode.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "extender/protocol/reasons.h"
#include "extender/protocol/request.h"
#include "extender/protocol/wire.h"

namespace gs::extender {

enum class Dialect : std::uint8_t { Superset, V1_6, V1_8, V1_10 };

// kube-scheduler

/// ExtenderFilterResult for who may have every node that was given: all of them, in the memory of the `body`
/// that `args` were read from, since they may be many MB.
[[nodiscard]] std::string untouchedReply(const FilterArgs& args, std::string body);
/// ExtenderFilterResult for an answer of kind Chosen, Nowhere, Offered or Failed. Of an offer all nodes that
/// fit go back; those that never will stand in FailedAndUnresolvableNodes: preemption does not help there.
[[nodiscard]] std::string filterReply(const FilterArgs& args, const Candidates& candidates,
                                      const Answer& answer, std::string_view uid);
[[nodiscard]] std::string filterError(std::string_view error);
/// HostPriorityList: 1 for nodes without GPUs, 0 for others.
[[nodiscard]] std::string prioritiesReply(const FilterArgs& args, const Candidates& candidates,
                                          const Answer& ranked);
/// HostPriorityList of an offer.
[[nodiscard]] std::string scoresReply(const FilterArgs& args, const std::vector<int>& scores);
[[nodiscard]] std::string preemptReply(const PreemptArgs& args, const Answer& answer);
/// ExtenderBindingResult; "": it is bound.
[[nodiscard]] std::string bindReply(std::string_view error);

// Volcano

/// nullopt: it fits.
[[nodiscard]] std::string predicateReply(Dialect dialect, const std::optional<Misfit>& misfit);
/// Of a pod that wants a GPU the fuller node gets more, of another one a node without GPUs; 0 to 100.
[[nodiscard]] std::string nodeScoreReply(const TaskArgs& args, const Candidates& candidates,
                                         const Answer& ranked, bool wants_gpu);
[[nodiscard]] std::string errorMessageReply(std::string_view error);

}  // namespace gs::extender
