// EffectRunner: carries out the effects of one machine over HTTP and posts what came back to its EventLoop.
// Calls go to a CallPool, watches to a WatchPool, log lines and metrics to base.
//
// submit() is called by the loop and never waits. At the end: drain(), then stop the loop, then destroy the
// runner; the loop and the Api must outlive it.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "k8s/call_pool.h"
#include "k8s/event_loop.h"
#include "k8s/metric_sink.h"
#include "k8s/watch_pool.h"

namespace gs::k8s {

class EffectRunner {
 public:
  struct Wiring {
    Connect connect;  // Api::connect
    EventLoop& loop;  // gets the events
    const Clock& clock;
    const LeaderGate* gate = nullptr;  // nullptr: leader-only calls are never sent
    MetricSink* metrics = nullptr;     // nullptr: metrics are dropped
    CallPool::Options calls{};
  };
  explicit EffectRunner(Wiring wiring);
  ~EffectRunner();

  /// An EventLoop::Output.
  void submit(kapi::Effects effects, std::uint64_t term);
  /// Closes the watches; calls as CallPool::drain(). The loop must still run, and this not be its thread.
  void drain(Duration limit);
  [[nodiscard]] std::size_t openCalls() const { return calls_.open(); }

 private:
  EventLoop& loop_;
  MetricSink* const metrics_;
  CallPool calls_;
  WatchPool watches_;
};

/// A log effect as a line.
void writeLog(const kapi::Log& line);

}  // namespace gs::k8s
