// GPUs whose lease name somebody took: an object without our label is none that we watch, so it is read now
// and then, with backoff, until it is gone or ours. A part of the scheduler's; one thread.
#pragma once

#include <utility>

#include "controller/keyed_calls.h"
#include "scheduler/core/context.h"

namespace gs::scheduler {

class BlockedDevices : public controller::Part {
 public:
  explicit BlockedDevices(Context& context)
      : c_{context}, calls_{c_.parts.add(*this), {std::chrono::seconds{1}, std::chrono::seconds{30}}} {}

  /// Looks at those whose time has come.
  void pump();
  void handle(const kapi::Outcome& outcome, Now now, kapi::Effects& out) override;
  [[nodiscard]] std::optional<Mono> nextDue() const override { return calls_.nextDue(); }
  void reset() override { calls_.reset(); }

 private:
  Context& c_;
  controller::KeyedCalls<std::pair<model::NodeName, int>> calls_;
};

}  // namespace gs::scheduler
