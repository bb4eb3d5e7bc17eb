// The table of node filters: one row for each, in the order in which a node is asked. That is the order of
// kube-scheduler's plugins, so that a node which both refuse says what kube-scheduler says; what it does not
// know comes before what other pods use, since it never passes by itself. A filter is a file and a row
// (docs/inside/filters.md); fit, explain, offers, the wake-up of waiting pods and autoscalers read the rows
// and know no filter by name. GPUs as such are no row: see sched/placement/fit.h.
//
// A check is pure, and says the first thing that it finds. What changes its answer decides `kept`:
//   Facts  only the node's own facts do (labels, taints, status ...): NodeState::facts_version. The decider
//          remembers the answer until they change.
//   Use    pods that come and go on this node do, or in its domains: NodeState::versionFor(request).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "sched/ledger/node_state.h"
#include "sched/request/pod_reason.h"
#include "sched/request/reason.h"
#include "sched/request/request.h"

namespace gs::sched {

/// What may let a pod onto a node that refused it, beside a change of the pod itself. Bits; 0: nothing may.
enum class Cure : std::uint16_t {
  NodeFacts = 1,  // its labels, taints, readiness, amounts
  OtherNode = 2,  // nothing there, but a node of another kind would do: an autoscaler may add one
  PodGone = 4,    // a pod that is there ends or is evicted
  PodCome = 8,    // a pod that it wants to be near comes
  Volumes = 16,   // a volume, a claim of one, a class, what a node can attach
  Devices = 32,   // what agents and drivers say of GPUs
  Quota = 64,     // its namespace's quota, or what is used of it
  Time = 128,     // it passes
};
using Cures = std::uint16_t;

struct Filter {
  enum class Kept : std::uint8_t { Facts, Use };
  /// The part of a request without which no node refuses it by this filter, which is not asked then (as
  /// kube-scheduler's plugins say Skip in PreFilter): most pods have few of these parts. Always: none such.
  enum class Needs : std::uint16_t {
    Always = 0,
    OnNode = 1,
    NodeAffinity = 2,
    NodeSelector = 4,
    MatchLabels = 8,
    Door = 16,
    NotOn = 32,
    KeptOff = 64,
    Quota = 128,
    HostPorts = 256,
    Volumes = 512,
    Near = 1024,
    KeptAway = 2048,
    Features = 4096,
  };
  const char* name = nullptr;  // as kube-scheduler calls the plugin; of ours a name of the same form
  Kept kept{};
  std::optional<Misfit> (*check)(const NodeState&, const PodRequest&) = nullptr;
  Needs needs = Needs::Always;  // or of several one
};

/// All that is said of a reason, in one place.
struct ReasonRow {
  Reason reason;
  const char* kind;                     // stable across numbers and names
  std::string (*words)(const Misfit&);  // "node(s) had ...", without a comma
  Cures cures;
  PodReason pod_reason = PodReason::Unschedulable;  // where all nodes say so: this, if another one would do
  bool is_held = false;  // by pods that have the GPUs in question: who they are is worth telling
};

[[nodiscard]] constexpr Filter::Needs operator|(Filter::Needs a, Filter::Needs b) {
  return static_cast<Filter::Needs>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
/// The parts that this request has.
[[nodiscard]] Filter::Needs partsOf(const PodRequest& request);

[[nodiscard]] std::span<const Filter> filters();
/// What the first row of the table says that refuses; nullopt: none does. A node that does not exist refuses
/// as not ready.
[[nodiscard]] std::optional<Misfit> refusalOf(const NodeState& node, const PodRequest& request);
/// The same of the rows that are kept so. `parts`: the request's, from whoever asks about many nodes.
[[nodiscard]] std::optional<Misfit> refusalOf(const NodeState& node, const PodRequest& request,
                                              Filter::Kept kept, Filter::Needs parts);

[[nodiscard]] const ReasonRow& rowOf(Reason reason);
[[nodiscard]] constexpr Cures operator|(Cure a, Cure b) {
  return static_cast<Cures>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
[[nodiscard]] constexpr Cures operator|(Cures a, Cure b) {
  return static_cast<Cures>(a | static_cast<unsigned>(b));
}
/// May this let the pod onto a node that refused it for that reason?
[[nodiscard]] inline bool isCuredBy(Reason reason, Cure cure) {
  return (rowOf(reason).cures & static_cast<unsigned>(cure)) != 0;
}

}  // namespace gs::sched
