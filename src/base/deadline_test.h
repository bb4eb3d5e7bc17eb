// For a test whose code could hang where it is wrong: says which condition did not come true,
// and ends the program.
#pragma once

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/mutex.h"

namespace gs {

/// A limit for broken programs, never a measure.
inline constexpr Duration kPatience = std::chrono::seconds{60};

/// While it lives `what` is waited for.
class Deadline {
 public:
  explicit Deadline(std::string what, Duration limit = kPatience)
      : what_{std::move(what)}, end_{std::chrono::steady_clock::now() + limit}, watch_{[this] {
          this->watch();
        }} {}
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;
  ~Deadline() {
    const MutexLock lock{mutex_};
    over_ = true;
    changed_.notifyAll();
  }

 private:
  void watch() {
    MutexLock lock{mutex_};
    while (!over_) {
      if (changed_.waitUntil(mutex_, end_)) { continue; }
      if (over_) { return; }
      std::fprintf(stderr, "never came true: %s\n", what_.c_str());
      std::abort();
    }
  }

  const std::string what_;
  const std::chrono::steady_clock::time_point end_;
  Mutex mutex_;
  Signal changed_;
  bool over_ GS_GUARDED_BY(mutex_) = false;
  std::jthread watch_;  // last: ends before what it uses
};

/// Returns once `holds` does.
template <class Condition>
void waitUntil(std::string what, Condition holds) {
  const Deadline deadline{std::move(what)};
  while (!holds()) { std::this_thread::yield(); }
}

/// Returns once the latch is open.
template <class Latch>
void waitOpen(Latch& latch, std::string what) {
  const Deadline deadline{std::move(what)};
  latch.wait();
}

}  // namespace gs
