// ElectionThread: drives the election machine on a thread and a connection of its own, so that nothing that
// the component does, and no 429 to it, can keep a renewal waiting. Sets the LeaderGate,
// then tells the event loop.
//
// Two threads: one for the machine and its timers, one that carries out its call, so that the deadline is
// seen to pass while a call hangs. The event loop's sign of life is its answer to a query.
#pragma once

#include <memory>
#include <string>
#include <variant>

#include "base/clock.h"
#include "base/mailbox.h"
#include "base/mutex.h"
#include "base/worker.h"
#include "controller/election.h"
#include "k8s/call_pool.h"
#include "k8s/event_loop.h"
#include "k8s/leader_gate.h"
#include "runner/wake_times.h"

namespace gs::k8s {

class ElectionThread {
 public:
  /// All must outlive it. The loop must be started.
  struct Wiring {
    Connect connect;
    EventLoop& loop;
    LeaderGate& gate;
    const Clock& clock;
  };
  ElectionThread(controller::Election election, Wiring wiring);
  ElectionThread(const ElectionThread&) = delete;
  ElectionThread& operator=(const ElectionThread&) = delete;
  /// As stop() with no time.
  ~ElectionThread();

  /// Shuts the gate, gives the lease back if we hold it, and joins; what takes longer than `limit` is
  /// cancelled. A second call does nothing.
  void stop(Duration limit);

  /// As the election last saw it.
  struct View {
    std::string holder;   // "" nobody
    std::string address;  // where the holder listens, "" not said
    std::string trouble;  // why the lease cannot be read or written, "" when it can
    bool alone = false;   // leads without the lease
    /// "" when that is `identity` itself.
    [[nodiscard]] std::string addressBut(const std::string& identity) const {
      return holder == identity ? std::string{} : address;
    }
  };
  [[nodiscard]] View view() const;

 private:
  struct Pong {
    Now at{};
  };
  struct Stop {};
  using Message = std::variant<kapi::Outcome, Pong, Stop>;

  void run();
  [[nodiscard]] controller::Election::Output react(Message& message, Now now);
  void carryOut(controller::Election::Output output);
  void ping();

  const Wiring wiring_;
  // Queries to the loop that are answered late hold on to it.
  const std::shared_ptr<Mailbox<Message>> mailbox_;
  mutable Mutex mutex_;
  Signal ended_changed_;
  bool ended_ GS_GUARDED_BY(mutex_) = false;
  View view_ GS_GUARDED_BY(mutex_);
  // The machine's thread's own:
  controller::Election election_;
  runner::WakeTimes wake_times_;
  bool released_ = false;
  CallPool calls_;
  std::unique_ptr<Worker> worker_;
};

}  // namespace gs::k8s
