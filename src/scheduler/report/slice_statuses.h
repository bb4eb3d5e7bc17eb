// What `kubectl get gns` says of nodes whose GPUs a DRA driver publishes. (Nothing is decided by it.)
//
// Of a node that only its driver speaks of, this keeps the GpuNodeStatus itself: an object owned by the Node,
// with the label `gpu.scheduling/written-by: scheduler`, the GPUs as the slices have them, and `enforcement:
// dra`. Since nobody looked at the node it has no observedTime, no users, and no count of free ones. It goes
// when the GPUs are no driver's any more (NodeHandler), and stays while a driver is away for a while.
// An agent that comes takes the object over: it changes the label, and from its first observedTime on the
// object is its own. Of those that have its label this writes `status.enforcement` only: `dra` while the
// node's GPUs are a driver's, and nothing when they are not any more. Such an agent leaves the word alone, so
// both are never at odds; what older agents wrote is left as it is.
// It is no loop: the engine counts an object without a look as none (NodeHandler::applyStatus()).
//
// A node has one write under way at a time, with uid and resourceVersion, decided by what the watches have
// brought. Whatever was answered, the next one about that node waits until they had time to bring it, longer
// each time until all is as it should be. Of all nodes kAtOnce are under way, and that many begin within
// kGap, or within kBusyGap while pods are being bound, for these need the API server more; an event looks at
// kLooks nodes. Where the role does not allow it, or the kind is not there, all wait for kNotAllowed, and it
// is said once.
// A part of the scheduler's; one thread.
#pragma once

#include <cstddef>
#include <optional>
#include <set>

#include "controller/keyed_calls.h"
#include "scheduler/core/context.h"

namespace gs::scheduler {

class SliceStatuses : public controller::Part {
 public:
  static constexpr std::size_t kAtOnce = 4;
  static constexpr std::size_t kLooks = 64;
  static constexpr Duration kGap = std::chrono::milliseconds{100};
  static constexpr Duration kBusyGap = std::chrono::seconds{2};
  static constexpr Duration kNotAllowed = std::chrono::minutes{10};

  explicit SliceStatuses(Context& context)
      : c_{context}, calls_{c_.parts.add(*this), {std::chrono::seconds{1}, std::chrono::minutes{5}}} {}

  /// All nodes are looked at: a new leader knows of no change.
  void begin();
  /// Looks at the nodes that something changed for. `may_write`: what drivers publish is known, and the
  /// process does not end. `busy`: pods are being bound.
  void pump(bool may_write, bool busy);
  void handle(const kapi::Outcome& outcome, Now now, kapi::Effects& out) override;
  [[nodiscard]] std::optional<Mono> nextDue() const override;
  void reset() override;

 private:
  bool look(const model::NodeName& name);
  [[nodiscard]] std::optional<kapi::Call> callFor(const model::NodeName& name) const;
  [[nodiscard]] std::optional<kapi::Call> callForOurs(const model::NodeName& name,
                                                      const model::GpuNodeStatus* published) const;

  Context& c_;
  controller::KeyedCalls<model::NodeName> calls_;
  std::set<model::NodeName> dirty_;
  std::set<model::NodeName> failing_;  // whose last write was not applied
  bool may_write_ = false;
  bool was_said_ = false;  // that it is not allowed
  Mono not_before_{};
};

}  // namespace gs::scheduler
