// Asks what revision the agents' statuses have now, when the engine wants to know: pods ended without a word
// on their containers, and what agents see counts from now on only (engine/device_reclaim.h). In every phase,
// so a loss of leadership drops nothing of it.
// A part of the scheduler's; one thread.
#pragma once

#include "controller/keyed_calls.h"
#include "scheduler/core/context.h"

namespace gs::scheduler {

class StatusRevision : public controller::Part {
 public:
  explicit StatusRevision(Context& context)
      : c_{context}, calls_{c_.parts.add(*this), {std::chrono::seconds{1}, std::chrono::seconds{5}}} {}

  void pump();
  void handle(const kapi::Outcome& outcome, Now now, kapi::Effects& out) override;
  [[nodiscard]] std::optional<Mono> nextDue() const override;

 private:
  static constexpr int kOnlyOne = 0;
  Context& c_;
  controller::KeyedCalls<int, std::uint64_t> calls_;  // for whom (engine::DeviceReclaim)
};

}  // namespace gs::scheduler
