// Poller: asks a GpuSource for a look every now and then, and says so when it does not come.
//
// A driver's call may hang, for ever. So looks are made on a thread of their own, which nobody waits for
// without a limit: when a look is overdue, a Fault (Hanging) is given out in its place, again each `limit`
// while it hangs (who takes it may have dropped one), and the look itself when it comes after all. There is
// one such thread and no other is begun meanwhile.
// stop() waits kPatience for that thread, which ends the source (a driver is left by who called it). One that
// hangs is left behind, and its source is never ended: what it uses lives as long as the process.
// `give` is called from the Poller's own second thread, never after stop() has returned.
#pragma once

#include <functional>
#include <memory>

#include "agent/hardware.h"
#include "base/clock.h"
#include "base/worker.h"
#include "noderim/gpu_source.h"

namespace gs::noderim {

class Poller {
 public:
  using Give = std::function<void(const agent::LookPtr&)>;
  struct Pace {
    Duration every = std::chrono::seconds{5};
    Duration limit = std::chrono::seconds{30};  // a look that takes longer is overdue
  };
  Poller(std::unique_ptr<GpuSource> source, Pace pace, Give give);
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;
  ~Poller() { stop(); }

  static constexpr Duration kPatience = std::chrono::milliseconds{500};

  /// Begins with a look at once. Call once.
  void start();
  void stop();

 private:
  struct Shared;
  void run();

  const Pace pace_;
  const Give give_;
  std::shared_ptr<Shared> shared_;
  std::unique_ptr<Worker> watch_;
};

}  // namespace gs::noderim
