// Process: one process of a World, with what k8s/ gives every program around its machine: the queue of its
// calls (runner/call_queue.h) over a bounded number of connections, the rule of leader-only calls
// (runner/send_rule.h), its timers, its watches, and its election if it has one.
//
// A process that has died has forgotten everything; begin() is another life, and what was meant for a former
// one is thrown away. A frozen one hears all that happened meanwhile when it is thawed. Its own clock may
// stand still for a while, and never goes back.
// What runs in it may let it die at any moment (a call that is cut): whoever gives it something looks at
// isAlive() before the next step. `queue` and `transport` must outlive it, and it whatever `queue` still
// holds. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "controller/election.h"
#include "kapi/call.h"
#include "runner/call_queue.h"
#include "runner/wake_times.h"
#include "sandbox/world/event_queue.h"
#include "sandbox/world/transport.h"

namespace gs::sandbox {

class Process {
 public:
  using Address = Transport::Address;
  /// What runs in it. Empty functions do nothing.
  struct Program {
    std::function<kapi::Effects(const kapi::MachineEvent&, Now)> handle;
    std::function<void()> handled{};  // an event, and its effects were carried out; it still lives
    std::function<void(const kapi::Log&)> log{};
    std::function<void(const kapi::Metric&)> metric{};
    std::function<void()> released{};  // after resign(): its election has let the lead go
  };
  /// `connections`: on which it has its calls carried out.
  Process(EventQueue& queue, Transport& transport, ReplicaId id, std::size_t connections, Program program);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Its life.

  void begin();
  /// Nobody hears of it any more.
  void end();
  void freeze(bool frozen);
  [[nodiscard]] bool isAlive() const { return is_alive_; }
  [[nodiscard]] bool isAlive(Address who) const { return is_alive_ && address_.life == who.life; }
  [[nodiscard]] bool isFrozen() const { return is_frozen_; }
  /// Its life counts starts; 0 before the first.
  [[nodiscard]] const Address& address() const { return address_; }
  /// What its own clock shows.
  [[nodiscard]] Now now();
  /// Its clock stands still so long, from now on.
  void stall(Duration by);

  // What it does.

  /// It tries to lead by this. Leader-only calls of a process that never does are never sent.
  void elect(controller::Election::Config config, Rng rng);
  /// Gives the lead back, and then says released.
  void resign();
  [[nodiscard]] bool leads() const { return election_ && election_->leading(); }
  /// Whatever its machine wants.
  void carry(kapi::Effects effects);
  /// Something happens to its machine.
  void give(const kapi::MachineEvent& event);
  /// Does `action` at that time of the World, if this life still goes on.
  void at(Mono when, std::function<void()> action);

  // What the transport says.

  void answered(Address who, kapi::Outcome outcome);
  void streamed(Address who, ApiPort::StreamEvent event);

 private:
  /// Does `action` if that life of it still goes on; a frozen one when it is thawed.
  void in(Address who, std::function<void()> action);
  void submit(kapi::Call call);
  void pump();
  void send(runner::QueuedCall queued);
  void outcome(const kapi::Outcome& outcome);
  void elected(controller::Election::Output output);
  void armTimer();
  void timer();

  EventQueue& queue_;
  Transport& transport_;
  const std::size_t connections_;
  const Program program_;
  Address address_{};
  bool is_alive_ = false;
  bool is_frozen_ = false;
  std::vector<std::function<void()>> while_frozen_;
  Duration lag_{};  // its clock is so much behind
  std::optional<Mono> stalled_from_;
  Mono stalled_until_{};

  // Of this life.
  std::unique_ptr<controller::Election> election_;
  kapi::Leadership gate_;   // as the election said last
  std::uint64_t term_ = 0;  // in which the machine was told that it leads
  runner::CallQueue calls_;
  std::map<kapi::Token, kapi::Call> out_;  // without their bodies
  runner::WakeTimes wakes_;
  runner::WakeTimes election_wakes_;
  Mono armed_ = Mono::max();  // when timer() is to come next, by its own clock
};

}  // namespace gs::sandbox
