// What runs in a scheduler's process beside it, as gpu-scheduler --extender-address does: an extender on the
// scheduler's engine, under its leadership. The World, which may not know serve/, gets one from whoever
// starts the replica. It is given all that happens in the process and passes on to the scheduler what that is
// to hear. One thread; the scheduler outlives it.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/random.h"
#include "extender/extender.h"
#include "kapi/call.h"
#include "scheduler/scheduler.h"

namespace gs::sandbox {

class Companion {
 public:
  Companion() = default;
  Companion(const Companion&) = delete;
  Companion& operator=(const Companion&) = delete;
  virtual ~Companion() = default;

  // Of the whole process.
  [[nodiscard]] virtual kapi::Effects start(Now now) = 0;
  [[nodiscard]] virtual kapi::Effects handle(const kapi::MachineEvent& event, Now now) = 0;
  virtual void stopTaking() = 0;
  [[nodiscard]] virtual bool underWay() const = 0;

  // Of the extender.
  [[nodiscard]] virtual kapi::Effects ask(extender::RequestId request_id, extender::Request request,
                                          Now now) = 0;
  /// After each of the above.
  [[nodiscard]] virtual std::vector<std::pair<extender::RequestId, extender::Answer>> takeAnswers() = 0;
  [[nodiscard]] virtual extender::NodeTablePtr table() = 0;
  [[nodiscard]] virtual const extender::Extender& extender() const = 0;
};

/// Called at each start of the process.
using MakeCompanion = std::function<std::unique_ptr<Companion>(scheduler::Scheduler&, Rng)>;

}  // namespace gs::sandbox
