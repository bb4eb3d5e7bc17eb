// CallPool: carries out calls on a bounded number of connections, one thread each, and gives back each call's
// outcome exactly once. Order, ordering keys and holds: runner/call_queue.h. Leader-only calls pass the
// LeaderGate directly before the first byte.
//
// submit() never waits, so the owner thread may call it while pool threads wait in the sink for room in the
// owner's mailbox. The queue is bounded by what the machines have open.
// Threads are started as needed, up to `connections`. The destructor cancels what is out and joins; the sink
// must then still accept or refuse (a closed mailbox), and whatever connect,
// sink and gate stand on must live until then.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/worker.h"
#include "k8s/client.h"
#include "k8s/leader_gate.h"
#include "runner/call_queue.h"

namespace gs::k8s {

class CallPool {
 public:
  struct Options {
    std::size_t connections = 32;
    std::string name = "call";  // of the threads
  };
  /// Takes outcomes, from any pool thread; may wait.
  using Sink = std::function<void(kapi::Outcome)>;

  /// `gate` nullptr: leader-only calls are never sent.
  CallPool(Options options, Connect connect, Sink sink, const Clock& clock, const LeaderGate* gate);
  CallPool(const CallPool&) = delete;
  CallPool& operator=(const CallPool&) = delete;
  ~CallPool();

  void submit(kapi::Call call, std::uint64_t term);

  /// From now on what is not sent yet, and whatever is submitted, comes back NotSent. Waits until everything
  /// came back, at most `limit`, then cancels what is still out. May be called again.
  void drain(Duration limit);

  [[nodiscard]] bool draining() const;
  /// Calls whose outcome was not given back yet.
  [[nodiscard]] std::size_t open() const;

 private:
  void work();
  [[nodiscard]] std::optional<runner::QueuedCall> take();
  [[nodiscard]] kapi::Outcome carryOut(Client& client, const runner::QueuedCall& queued);
  void finish(const runner::QueuedCall& queued, kapi::Outcome outcome);

  const Options options_;
  const Connect connect_;
  const Sink sink_;
  const Clock& clock_;
  const LeaderGate* const gate_;

  mutable Mutex mutex_;
  Signal changed_;  // for pool threads: something may start, or the end is near
  Signal settled_;  // for drain(): nothing is open
  runner::CallQueue queue_ GS_GUARDED_BY(mutex_);
  std::size_t out_ GS_GUARDED_BY(mutex_) = 0;      // taken and not yet given back
  std::size_t resting_ GS_GUARDED_BY(mutex_) = 0;  // threads that wait for work
  bool draining_ GS_GUARDED_BY(mutex_) = false;
  bool cancelled_ GS_GUARDED_BY(mutex_) = false;
  bool ending_ GS_GUARDED_BY(mutex_) = false;
  std::vector<Client*> clients_ GS_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Worker>> workers_ GS_GUARDED_BY(mutex_);
};

}  // namespace gs::k8s
