// Turns: how many images are resolved at once, so that a registry that stalls holds up nobody but who uses
// it, and nobody takes the room of all.
//
// A turn is for a namespace ("" cluster-wide) and a registry; each pair of them, each namespace, each
// registry and all together have a limit. Who gets none waits a while, since many caches are often made at
// once (Helm); a waiter holds a thread, so few of them wait, and who comes then is told at once. No order
// among those who wait. Any thread.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"

namespace gs::serve {

class Turns {
 public:
  struct Limits {
    int of_pair = 2;
    int of_namespace = 6;
    int of_registry = 16;
    int all = 48;
    int waiting = 12;  // beside those
  };
  explicit Turns(Limits limits) : limits_{limits} {}

  /// Is given back when it ends. The Turns must outlive it.
  class Turn {
   public:
    Turn(Turns& of, std::string ns, std::string registry)
        : of_{&of}, ns_{std::move(ns)}, registry_{std::move(registry)} {}
    Turn(Turn&& other) noexcept
        : of_{std::exchange(other.of_, nullptr)},
          ns_{std::move(other.ns_)},
          registry_{std::move(other.registry_)} {}
    Turn& operator=(Turn&&) = delete;
    ~Turn() {
      if (of_ != nullptr) { of_->giveBack(ns_, registry_); }
    }

   private:
    Turns* of_;
    std::string ns_;
    std::string registry_;
  };
  /// Waits for one until then. Error Unavailable: whose images are too many, for the user.
  [[nodiscard]] Result<Turn> take(const std::string& ns, const std::string& registry, Mono until = Mono{});
  /// Who waits is told that it is busy, and nobody waits any more.
  void stop() GS_EXCLUDES(mutex_);
  /// How many wait.
  [[nodiscard]] int waiting() const GS_EXCLUDES(mutex_);

 private:
  void giveBack(const std::string& ns, const std::string& registry) GS_EXCLUDES(mutex_);
  void change(const std::string& ns, const std::string& registry, int by) GS_REQUIRES(mutex_);
  [[nodiscard]] std::string whoIsBusy(const std::string& ns, const std::string& registry) const
      GS_REQUIRES(mutex_);

  const Limits limits_;
  mutable Mutex mutex_;
  std::map<std::pair<std::string, std::string>, int> pairs_ GS_GUARDED_BY(mutex_);
  std::map<std::string, int> namespaces_ GS_GUARDED_BY(mutex_);
  std::map<std::string, int> registries_ GS_GUARDED_BY(mutex_);
  int all_ GS_GUARDED_BY(mutex_) = 0;
  int waiting_ GS_GUARDED_BY(mutex_) = 0;
  bool is_stopped_ GS_GUARDED_BY(mutex_) = false;
  Signal given_back_;
};

}  // namespace gs::serve
