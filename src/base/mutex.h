// A mutex whose guarded fields the compiler checks: clang's -Wthread-safety (preset `clang`) proves that a
// field marked GS_GUARDED_BY(mutex_) is touched only while mutex_ is held; under GCC the marks are empty.
// Rare on purpose: threads share nothing but mailboxes and immutable values. Never hold a Mutex over a call
// into code that is not ours.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define GS_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define GS_THREAD_ATTRIBUTE(x)
#endif
#define GS_GUARDED_BY(x) GS_THREAD_ATTRIBUTE(guarded_by(x))
#define GS_REQUIRES(...) GS_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define GS_EXCLUDES(...) GS_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))

namespace gs {

class GS_THREAD_ATTRIBUTE(capability("mutex")) Mutex {
 public:
  void lock() GS_THREAD_ATTRIBUTE(acquire_capability()) { mutex_.lock(); }
  void unlock() GS_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }

 private:
  friend class Signal;
  std::mutex mutex_;
};

/// Holds the mutex for its own lifetime.
class GS_THREAD_ATTRIBUTE(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) GS_THREAD_ATTRIBUTE(acquire_capability(mutex)) : mutex_{mutex} {
    mutex_.lock();
  }
  ~MutexLock() GS_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

/// A condition variable for Mutex. Waits can wake for no reason: call them in a loop over the condition.
class Signal {
 public:
  void wait(Mutex& mutex) GS_REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock{mutex.mutex_, std::adopt_lock};
    condition_.wait(lock);
    lock.release();
  }
  /// False when `deadline` has passed.
  template <class TimePoint>
  bool waitUntil(Mutex& mutex, TimePoint deadline) GS_REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock{mutex.mutex_, std::adopt_lock};
    const auto woke = condition_.wait_until(lock, deadline);
    lock.release();
    return woke == std::cv_status::no_timeout;
  }
  /// The same, so long from now.
  template <class Time>
  bool waitFor(Mutex& mutex, Time time) GS_REQUIRES(mutex) {
    return waitUntil(mutex, std::chrono::steady_clock::now() + time);
  }
  void notifyOne() { condition_.notify_one(); }
  void notifyAll() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace gs
