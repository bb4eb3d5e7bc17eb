// Host: what a process needs to let one machine run against an API server: connections, the owner thread, the
// runner of its effects, the leader election or none, and the end that lets what was decided come to its end.
//
// Threads: the owner's, the runner's and the election's. Everything here is called from the main thread;
// `ask`, `act`, `unauthorized`, `election` from any. The machine must outlive the Host; after stop()
// nothing calls it.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/metrics.h"
#include "base/mutex.h"
#include "base/system_clock.h"
#include "k8s/api.h"
#include "k8s/effect_runner.h"
#include "k8s/election_thread.h"

namespace gs::k8s {

class Host {
 public:
  struct Options {
    std::string user_agent;
    std::size_t connections = 32;
    std::vector<MetricSpec> metrics;
    /// nullopt: this process leads from the start, for ever.
    std::optional<controller::Election::Config> election;
  };
  struct Machine {
    EventLoop::Machine run;
    std::function<void()> stop_taking;  // no new decisions from now on
    std::function<bool()> under_way;    // something that was decided has not come to its end
    std::function<void()> give_up{};    // that is not waited for any more; may be empty
  };

  Host(Access access, Options options, Rng rng);
  /// As stop() with no time.
  ~Host();

  void start(Machine machine);
  /// No new decisions; waits until what was decided came to its end, `give_up()` says true (asked every 10 ms
  /// or sooner), or `limit` passed; then the machine gives up the rest. Then the lease is given back, and all
  /// threads end. A second call does nothing.
  void stop(Duration limit, const std::function<bool()>& give_up);

  /// Runs `query` on the machine's thread; nullopt: no answer within 2 s.
  template <class Query>
  auto ask(Query query) {
    return loop_.answer(std::move(query), std::chrono::seconds{2});
  }
  /// Runs `action` on the machine's thread and carries out its effects. False: too many wait,
  /// or it has stopped.
  bool act(std::function<kapi::Effects(Now)> action) { return loop_.act(std::move(action)); }
  /// The clock of its threads; from any.
  [[nodiscard]] Mono now() const { return clock_.now().mono; }
  [[nodiscard]] std::string server() const { return api_.access().server; }
  [[nodiscard]] bool unauthorized() const { return api_.health().state().unauthorized; }
  /// Of the leader election; nothing without one.
  [[nodiscard]] ElectionThread::View election() const;
  /// Prometheus text of what the machine counted.
  [[nodiscard]] std::string metricsText() const { return metrics_.text(); }

 private:
  void finish(Duration limit, const std::function<bool()>& give_up);
  /// Until the machine was given more events than `seen`; 10 ms at most.
  void waitForEvents(std::uint64_t seen) GS_EXCLUDES(events_mutex_);
  [[nodiscard]] std::uint64_t events() const GS_EXCLUDES(events_mutex_);
  void countEvent() GS_EXCLUDES(events_mutex_);

  bool runs_ = false;
  const SystemClock clock_;
  Options options_;
  Rng rng_;
  Api api_;
  Metrics metrics_;
  MetricSink sink_;
  LeaderGate gate_;
  EventLoop loop_;
  EffectRunner runner_;
  Machine machine_;
  mutable Mutex events_mutex_;
  Signal events_changed_;
  std::uint64_t events_ GS_GUARDED_BY(events_mutex_) = 0;  // that the machine was given
  std::optional<ElectionThread> election_;
  std::atomic<const ElectionThread*> electing_ = nullptr;  // set once, for other threads
};

}  // namespace gs::k8s
