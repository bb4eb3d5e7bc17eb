// EventLoop: the one thread on which a machine lives. Takes events from a bounded mailbox, gives them to the
// machine with the time, hands on its effects; keeps its timers; answers queries about it.
//
// Order: begin() comes first. Events of one poster come in the order in which they were posted. Changes of
// leadership, queries and actions come in their own order, before whatever waits in the mailbox, so a flood
// of events delays them by one event only. A flood of queries delays an event by those that were there
// before it, 256 at most. A sign of life is asked for before all of those, however many there are.
// Effects of one event are handed on before the next event is given.
// post() waits while the mailbox is full and must not be called from the loop's own thread; postLeadership(),
// ask() and act() never wait. After stop() events are dropped,
// queries that were accepted are still answered.
// The machine, reached through `handle` and queries only, must outlive the loop.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/mailbox.h"
#include "base/mutex.h"
#include "base/worker.h"
#include "kapi/call.h"
#include "runner/wake_times.h"

namespace gs::k8s {

using Event = kapi::MachineEvent;

class EventLoop {
 public:
  struct Machine {
    std::function<kapi::Effects(Now)> begin;
    std::function<kapi::Effects(const Event&, Now)> handle;
  };
  /// Carries out everything but Wake; never waits. `term`: of the last Leadership that the machine was given,
  /// 0 while it does not lead.
  using Output = std::function<void(kapi::Effects, std::uint64_t term)>;

  explicit EventLoop(const Clock& clock, std::size_t capacity = 4096);
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;
  ~EventLoop() { stop(); }

  /// Call once.
  void start(Machine machine, Output output);

  /// False: stopped.
  bool post(Event event);
  void postLeadership(kapi::Leadership leadership);
  /// Runs `query` on the loop's thread, between two events. False: too many wait (the thread hangs),
  /// or stopped.
  bool ask(std::function<void()> query);
  /// Runs `pong` as soon as the thread has ended what it does now. One at a time: another one takes the place
  /// of what has not run yet.
  void ping(std::function<void()> pong);
  /// As ask(), for what changes the machine: its effects are carried out.
  bool act(std::function<kapi::Effects(Now)> action);
  /// As ask(), and waits for the answer. nullopt: none within `limit` (the thread hangs), or refused. A
  /// query that is answered later still runs then: it must not refer to things of the caller that may be
  /// gone by then.
  template <class Query>
  auto answer(Query query, Duration limit) -> std::optional<decltype(query())> {
    auto task = std::make_shared<std::packaged_task<decltype(query())()>>(std::move(query));
    auto result = task->get_future();
    if (!ask([task] { (*task)(); }) || result.wait_for(limit) != std::future_status::ready) {
      return std::nullopt;
    }
    return result.get();
  }

  /// Ends after the event in progress, and joins. A second call does nothing.
  void stop();

 private:
  struct Nudge {};
  using Message = std::variant<Event, Nudge>;
  using Query = std::function<void()>;
  using Action = std::function<kapi::Effects(Now)>;
  using Urgent = std::variant<kapi::Leadership, Query, Action>;

  void run();
  void give(const Event& event);
  void carryOut(kapi::Effects effects);
  bool urge(Urgent urgent) GS_EXCLUDES(mutex_);
  void takeUrgent() GS_EXCLUDES(mutex_);
  void answerPing() GS_EXCLUDES(mutex_);
  [[nodiscard]] std::size_t countUrgent() GS_EXCLUDES(mutex_);
  [[nodiscard]] std::optional<Urgent> nextUrgent() GS_EXCLUDES(mutex_);
  void giveTimer();

  const Clock& clock_;
  Mailbox<Message> mailbox_;
  Mutex mutex_;
  std::deque<Urgent> urgent_ GS_GUARDED_BY(mutex_);
  Query pong_ GS_GUARDED_BY(mutex_);
  bool stopping_ GS_GUARDED_BY(mutex_) = false;
  // The loop's thread's own:
  Machine machine_;
  Output output_;
  runner::WakeTimes wake_times_;
  std::uint64_t term_ = 0;
  std::unique_ptr<Worker> worker_;
};

}  // namespace gs::k8s
