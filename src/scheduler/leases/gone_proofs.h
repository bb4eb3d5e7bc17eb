// That a pod is gone of which only leases speak: proven by a live GET, never by its absence from a cache
// (R18). One at a time for each pod, with backoff. The engine is told when it is proven. A part of the
// scheduler's; one thread.
#pragma once

#include "controller/keyed_calls.h"
#include "scheduler/core/context.h"

namespace gs::scheduler {

class GoneProofs : public controller::Part {
 public:
  explicit GoneProofs(Context& context) : c_{context}, calls_{c_.parts.add(*this)} {}

  /// `known`: the pod's name, where somebody knows it; else its leases say it.
  void prove(const model::Uid& uid, const model::ObjectKey& known = {});
  void handle(const kapi::Outcome& outcome, Now now, kapi::Effects& out) override;
  void tick(Now now, kapi::Effects& out) override;
  [[nodiscard]] std::optional<Mono> nextDue() const override { return calls_.nextDue(); }
  void reset() override { calls_.reset(); }
  [[nodiscard]] std::size_t underWay() const { return calls_.underWay(); }
  [[nodiscard]] std::size_t size() const override { return calls_.size(); }

 private:
  Context& c_;
  controller::KeyedCalls<model::Uid> calls_;
};

}  // namespace gs::scheduler
