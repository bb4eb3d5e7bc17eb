#include "noderim/poller.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace gs::noderim {
namespace {

using SteadyClock = std::chrono::steady_clock;

agent::LookPtr overdue(Duration limit) {
  const auto seconds = std::chrono::duration<double>{limit}.count();
  return std::make_shared<const agent::Look>(tl::unexpected(agent::Fault{
      agent::Fault::Kind::Hanging,
      fmt::format("the GPU driver has not answered for {:g} s; its call may hang until the node is rebooted",
                  seconds)}));
}

}  // namespace

/// Between the thread that looks and the one that waits for it. Both own it.
struct Poller::Shared {
  std::unique_ptr<GpuSource> source;  // of the thread that looks, which also ends it
  Mutex mutex;
  Signal changed;
  bool wanted GS_GUARDED_BY(mutex) = false;  // a look, and it has not begun
  bool stopping GS_GUARDED_BY(mutex) = false;
  bool left GS_GUARDED_BY(mutex) = false;   // nobody waits for the thread any more
  bool ended GS_GUARDED_BY(mutex) = false;  // the thread, and its source
  agent::LookPtr came GS_GUARDED_BY(mutex);

  /// The thread that looks. Static, so that nothing but `self` is used by it.
  static void look(const std::shared_ptr<Shared>& self) {
    for (;;) {
      {
        MutexLock lock{self->mutex};
        while (!self->wanted && !self->stopping) { self->changed.wait(self->mutex); }
        if (self->stopping) { break; }
        self->wanted = false;
      }
      auto look = std::make_shared<const agent::Look>(self->source->look());
      MutexLock lock{self->mutex};
      self->came = std::move(look);
      self->changed.notifyAll();
    }
    end(self);
  }
  /// The driver is left on the thread that called it; one that came back too late, while the process ends, is
  /// not called any more.
  static void end(const std::shared_ptr<Shared>& self) {
    {
      MutexLock lock{self->mutex};
      if (self->left) { return; }
    }
    self->source.reset();
    MutexLock lock{self->mutex};
    self->ended = true;
    self->changed.notifyAll();
  }
  /// False: it has not ended until `deadline`.
  bool waitForEnd(SteadyClock::time_point deadline) GS_EXCLUDES(mutex) {
    MutexLock lock{mutex};
    while (!ended && changed.waitUntil(mutex, deadline)) {}
    left = !ended;
    return ended;
  }
  void want() GS_EXCLUDES(mutex) {
    MutexLock lock{mutex};
    wanted = true;
    changed.notifyAll();
  }
  /// nullptr: none until `deadline`, or it is to stop.
  agent::LookPtr next(SteadyClock::time_point deadline) GS_EXCLUDES(mutex) {
    MutexLock lock{mutex};
    while (came == nullptr && !stopping && changed.waitUntil(mutex, deadline)) {}
    return stopping ? nullptr : std::exchange(came, nullptr);
  }
  /// False: it is to stop.
  bool rest(Duration how_long) GS_EXCLUDES(mutex) {
    const auto until = SteadyClock::now() + how_long;
    MutexLock lock{mutex};
    while (!stopping && changed.waitUntil(mutex, until)) {}
    return !stopping;
  }
  bool isStopping() GS_EXCLUDES(mutex) {
    MutexLock lock{mutex};
    return stopping;
  }
};

Poller::Poller(std::unique_ptr<GpuSource> source, Pace pace, Give give)
    : pace_{pace}, give_{std::move(give)}, shared_{std::make_shared<Shared>()} {
  shared_->source = std::move(source);
}

void Poller::start() {
  std::thread{[shared = shared_] { Shared::look(shared); }}.detach();
  watch_ = std::make_unique<Worker>("driver-watch", [this](const std::stop_token&) { run(); });
}

void Poller::run() {
  do {
    shared_->want();
    agent::LookPtr look = shared_->next(SteadyClock::now() + pace_.limit);
    while (look == nullptr && !shared_->isStopping()) {
      give_(overdue(pace_.limit));
      look = shared_->next(SteadyClock::now() + pace_.limit);
    }
    if (look == nullptr) { return; }
    give_(look);
  } while (shared_->rest(pace_.every));
}

void Poller::stop() {
  {
    MutexLock lock{shared_->mutex};
    shared_->stopping = true;
    shared_->changed.notifyAll();
  }
  const bool was_started = watch_ != nullptr;
  watch_.reset();
  if (!was_started || shared_->waitForEnd(SteadyClock::now() + kPatience)) { return; }
  static auto* const kLeft = new std::vector<std::shared_ptr<Shared>>;  // for ever, on purpose
  kLeft->push_back(shared_);
}

}  // namespace gs::noderim
