// The pods that our processes of a World run in, as far as the API server shows them: each start and each
// end of a process stands in its pod's status, its kubelet reports an end up to two seconds late, and
// names of pods stay over restarts as their containers do. So a standby can see that a leader has ended
// (controller/holder_pod.h).
//
// Nobody places them or counts them: they are bound to no node and of no scheduler. `queue` and `api` must
// outlive it. One thread.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "apiserver/handlers/api.h"
#include "base/clock.h"
#include "base/random.h"
#include "controller/holder_pod.h"
#include "sandbox/world/event_queue.h"
#include "sandbox/world/transport.h"

namespace gs::sandbox {

class OwnPods {
 public:
  OwnPods(EventQueue& queue, apiserver::Api& api, Rng rng, std::function<void()> changed);

  /// A process starts, by its own clock: where it runs.
  [[nodiscard]] controller::HolderContainer began(ReplicaId id, Wall when);
  /// It was killed.
  void ended(ReplicaId id, Wall when);

 private:
  struct Own {
    controller::HolderContainer container;
    Wall began{};
  };
  void report(const Own& own, Wall ended);

  EventQueue& queue_;
  apiserver::Api& api_;
  Rng rng_;
  std::function<void()> changed_;
  std::map<ReplicaId, Own> pods_;
};

}  // namespace gs::sandbox
