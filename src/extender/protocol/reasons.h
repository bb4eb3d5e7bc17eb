// Why a candidate is not the pod's, in words: the ancestor's first, where it has some, for users look for
// them; then the numbers. Pure.
//
// A text is sent for each of up to thousands of nodes, and kube-scheduler counts equal ones: so they are
// short, and nodes that lack the same say the same. Cores and memory are told in cores (100 are one GPU)
// and MiB.
// What a quota leaves to a pod is known to the machine only, which makes those texts (quotaRefusals)
// with its answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "extender/protocol/request.h"

namespace gs::extender {

/// Volcano's codes: with 2 preemption may help, with 3 nothing can.
enum class MisfitCode : std::uint8_t { Error = 1, Unschedulable = 2, Unresolvable = 3 };

struct Misfit {
  MisfitCode code{};
  std::string text;
  friend bool operator==(const Misfit&, const Misfit&) = default;
};
/// Of candidate `i`, which is not the chosen one; `uid`: the pod's.
[[nodiscard]] Misfit misfitAt(const Answer& answer, const Candidates& candidates, std::size_t i,
                              std::string_view uid);

/// "needs 5 whole GPUs; free: 1 of 2 whole", of a node that refuses as TooFewFree.
[[nodiscard]] std::string lackText(const std::vector<sched::ContainerShare>& asked,
                                   const sched::NodeStanding& standing);

/// Of the candidates that `answer` says the quota forbids: "V100 used 5, limit 6, asks 2", in GPUs. What the
/// pod holds itself must not be in the ledger.
[[nodiscard]] QuotaRefusals quotaRefusals(const engine::Engine& engine, const Candidates& candidates,
                                          const Answer& answer, const sched::QuotaBound& bound);

/// All candidates in one line, for people: "3 no GPU device; 2 ...", most first; at most a few reasons.
/// Without numbers it is the kind of the refusal.
[[nodiscard]] std::string summaryOf(const Answer& answer, const Candidates& candidates, std::string_view uid);

}  // namespace gs::extender
