// Mailbox<T>: the only hand-over between threads. Many threads push, one thread (the owner) pops.
//
// Invariants: never more than `capacity` messages; messages of one pushing thread come out in the order in
// which it pushed them; what was accepted before close() is still popped after it; after close()
// nothing is accepted.
// A second close() does nothing. Must outlive every thread that uses it: stop = close the mailbox,
// join the worker.
// Two threads that push() into each other's full mailbox wait for ever: in one of the two directions use
// tryPush(), or a capacity that cannot be reached.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"

namespace gs {

template <class T>
class Mailbox {
 public:
  explicit Mailbox(std::size_t capacity) : capacity_{capacity} {}
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  /// Waits while the mailbox is full. False: closed, and `message` is dropped.
  bool push(T message) {
    MutexLock lock{mutex_};
    while (!closed_ && messages_.size() >= capacity_) { space_.wait(mutex_); }
    if (closed_) { return false; }
    messages_.push_back(std::move(message));
    arrived_.notifyOne();
    return true;
  }

  /// Never waits. False: full or closed, and `message` is dropped.
  bool tryPush(T message) {
    MutexLock lock{mutex_};
    if (closed_ || messages_.size() >= capacity_) { return false; }
    messages_.push_back(std::move(message));
    arrived_.notifyOne();
    return true;
  }

  /// Waits for a message. nullopt: closed and empty.
  std::optional<T> pop() {
    MutexLock lock{mutex_};
    while (!closed_ && messages_.empty()) { arrived_.wait(mutex_); }
    return takeOne();
  }

  /// Waits for a message until `deadline` on the steady clock; one in the past looks once. nullopt: none
  /// came, or closed and empty (drained() tells which).
  std::optional<T> pop(Mono deadline) {
    MutexLock lock{mutex_};
    waitForMessage(deadline);
    return takeOne();
  }

  /// As pop(deadline), but appends all that is there to `batch` and returns how many that was.
  std::size_t popAll(std::vector<T>& batch, Mono deadline) {
    MutexLock lock{mutex_};
    waitForMessage(deadline);
    const std::size_t count = messages_.size();
    batch.reserve(batch.size() + count);
    for (T& message : messages_) { batch.push_back(std::move(message)); }
    messages_.clear();
    if (count > 0) { space_.notifyAll(); }
    return count;
  }

  void close() {
    MutexLock lock{mutex_};
    closed_ = true;
    arrived_.notifyAll();
    space_.notifyAll();
  }

  /// Closed and empty: no message will come any more.
  [[nodiscard]] bool drained() const {
    MutexLock lock{mutex_};
    return closed_ && messages_.empty();
  }

  [[nodiscard]] std::size_t size() const {
    MutexLock lock{mutex_};
    return messages_.size();
  }

 private:
  void waitForMessage(Mono deadline) GS_REQUIRES(mutex_) {
    while (!closed_ && messages_.empty() && arrived_.waitUntil(mutex_, deadline)) {}
  }

  std::optional<T> takeOne() GS_REQUIRES(mutex_) {
    if (messages_.empty()) { return std::nullopt; }
    std::optional<T> first{std::move(messages_.front())};
    messages_.pop_front();
    space_.notifyOne();
    return first;
  }

  const std::size_t capacity_;
  mutable Mutex mutex_;
  Signal arrived_;
  Signal space_;
  std::deque<T> messages_ GS_GUARDED_BY(mutex_);
  bool closed_ GS_GUARDED_BY(mutex_) = false;
};

}  // namespace gs
