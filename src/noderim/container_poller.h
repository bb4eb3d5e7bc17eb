// ContainerPoller: asks the node's container runtime every now and then which pods have containers, and gives
// each answer, or why there is none, to the agent. A call has a limit of time, so a runtime that hangs is one
// that does not answer.
// `give` is called from a thread of the poller's own, never after stop() has returned.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "agent/users.h"
#include "base/clock.h"
#include "base/mailbox.h"
#include "base/worker.h"
#include "rpc/container_runtime.h"

namespace gs::noderim {

/// What the runtime says, as the agent reads it.
[[nodiscard]] agent::Containers containersOf(const rpc::RuntimePods& pods);

class ContainerPoller {
 public:
  using Give = std::function<void(const agent::ContainersLook&)>;
  struct Pace {
    Duration every = std::chrono::seconds{5};
    Duration limit = std::chrono::seconds{4};  // of one look; stop() cuts it short
  };
  /// `socket`: as rpc::ContainerRuntime has it.
  ContainerPoller(std::string socket, Pace pace, Give give);
  ContainerPoller(const ContainerPoller&) = delete;
  ContainerPoller& operator=(const ContainerPoller&) = delete;
  ~ContainerPoller() { stop(); }

  /// Begins with a look at once. Call once.
  void start();
  /// Ends a call that is under way.
  void stop();

 private:
  void run();

  const rpc::ContainerRuntime runtime_;
  const Pace pace_;
  const Give give_;
  Mailbox<int> end_{1};  // to wait with
  std::unique_ptr<Worker> thread_;
};

}  // namespace gs::noderim
