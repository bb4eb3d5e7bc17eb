// The calls to webhooks: reviews go out by HTTPS on threads beside the cluster's, and what came back is told.
//
// A webhook that hangs holds up its own calls only: no more than kMostOfOne are under way to one, kMostOfAll
// to all; what would be more is not taken. Threads are started as calls need them. A connection is made for
// each call: one that the webhook closed meanwhile would lose a review. A proxy is asked only for hosts that
// are neither a Service's nor this machine.
// Any thread; `done` is called on a thread of the pool, also after stop() has begun, and must not wait for
// it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "apiserver/webhooks/webhooks.h"
#include "base/mailbox.h"
#include "base/mutex.h"
#include "base/worker.h"

namespace gs::net {
class HttpClient;
}

namespace gs::sandbox {

class HookCalls {
 public:
  static constexpr std::size_t kMostOfOne = 16;
  static constexpr std::size_t kMostOfAll = 48;
  static constexpr std::size_t kMostOfAnswer = std::size_t{3} << 20;  // bytes

  using Done = std::function<void(apiserver::CallId, apiserver::HookAnswer)>;
  explicit HookCalls(Done done) : done_{std::move(done)} {}
  HookCalls(const HookCalls&) = delete;
  HookCalls& operator=(const HookCalls&) = delete;
  ~HookCalls() { stop(); }

  /// False: too many are under way, or it is stopping.
  [[nodiscard]] bool start(apiserver::HookCall call);
  /// Cuts off what is under way. A second call does nothing.
  void stop();

 private:
  void run();
  [[nodiscard]] apiserver::HookAnswer send(const apiserver::HookCall& call);
  void ended(const std::string& hook);

  const Done done_;
  Mailbox<apiserver::HookCall> calls_{kMostOfAll};
  Mutex mutex_;
  bool stopping_ GS_GUARDED_BY(mutex_) = false;
  std::size_t under_way_ GS_GUARDED_BY(mutex_) = 0;
  std::map<std::string, std::size_t> by_hook_ GS_GUARDED_BY(mutex_);
  std::set<net::HttpClient*> clients_ GS_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Worker>> workers_ GS_GUARDED_BY(mutex_);
};

}  // namespace gs::sandbox
