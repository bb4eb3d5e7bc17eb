#include "k8s/event_loop.h"

#include <type_traits>

#include "base/check.h"

namespace gs::k8s {
namespace {

constexpr std::size_t kMaxQueries = 256;

}  // namespace

EventLoop::EventLoop(const Clock& clock, std::size_t capacity) : clock_{clock}, mailbox_{capacity} {}

void EventLoop::start(Machine machine, Output output) {
  GS_CHECK(worker_ == nullptr, "an EventLoop is started once");
  machine_ = std::move(machine);
  output_ = std::move(output);
  worker_ = std::make_unique<Worker>("owner", [this](const std::stop_token&) { run(); });
}

bool EventLoop::post(Event event) { return mailbox_.push(std::move(event)); }

void EventLoop::postLeadership(kapi::Leadership leadership) {
  {
    MutexLock lock{mutex_};
    // A renewal takes the place of the one that was not given yet.
    const auto* last = urgent_.empty() ? nullptr : std::get_if<kapi::Leadership>(&urgent_.back());
    if (last != nullptr && last->leading == leadership.leading && last->term == leadership.term) {
      urgent_.pop_back();
    }
    urgent_.emplace_back(leadership);
  }
  mailbox_.tryPush(Nudge{});  // when it is full the thread is awake anyway
}

bool EventLoop::urge(Urgent urgent) {
  {
    MutexLock lock{mutex_};
    if (stopping_ || urgent_.size() >= kMaxQueries) { return false; }
    urgent_.push_back(std::move(urgent));
  }
  mailbox_.tryPush(Nudge{});
  return true;
}

bool EventLoop::ask(std::function<void()> query) { return urge(std::move(query)); }

void EventLoop::ping(std::function<void()> pong) {
  {
    MutexLock lock{mutex_};
    pong_ = std::move(pong);
  }
  mailbox_.tryPush(Nudge{});
}

void EventLoop::answerPing() {
  Query pong;
  {
    MutexLock lock{mutex_};
    pong.swap(pong_);
  }
  if (pong) { pong(); }
}

bool EventLoop::act(std::function<kapi::Effects(Now)> action) { return urge(std::move(action)); }

void EventLoop::stop() {
  {
    MutexLock lock{mutex_};
    stopping_ = true;
  }
  mailbox_.close();
  if (worker_) { worker_->join(); }
}

void EventLoop::run() {
  carryOut(machine_.begin(clock_.now()));
  std::vector<Message> batch;
  while (!mailbox_.drained()) {
    takeUrgent();
    mailbox_.popAll(batch, wake_times_.next());
    for (Message& message : batch) {
      takeUrgent();
      giveTimer();
      if (auto* event = std::get_if<Event>(&message)) { give(*event); }
    }
    batch.clear();
    giveTimer();
  }
  takeUrgent();
}

void EventLoop::give(const Event& event) {
  {
    MutexLock lock{mutex_};
    if (stopping_) { return; }
  }
  carryOut(machine_.handle(event, clock_.now()));
}

/// Only those that are there now: were later ones taken too, queries could keep events waiting for ever.
void EventLoop::takeUrgent() {
  answerPing();
  for (std::size_t left = countUrgent(); left > 0; --left) {
    auto next = nextUrgent();
    if (!next) { return; }
    if (const auto* leadership = std::get_if<kapi::Leadership>(&*next)) {
      term_ = leadership->leading ? leadership->term : 0;
      give(*leadership);
    } else if (const auto* query = std::get_if<Query>(&*next)) {
      (*query)();
    } else {
      carryOut(std::get<Action>(*next)(clock_.now()));
    }
  }
}

std::size_t EventLoop::countUrgent() {
  MutexLock lock{mutex_};
  return urgent_.size();
}

std::optional<EventLoop::Urgent> EventLoop::nextUrgent() {
  MutexLock lock{mutex_};
  if (urgent_.empty()) { return std::nullopt; }
  Urgent next = std::move(urgent_.front());
  urgent_.pop_front();
  return next;
}

void EventLoop::giveTimer() {
  if (wake_times_.next() == Mono::max()) { return; }
  if (wake_times_.due(clock_.now().mono)) { give(kapi::TimerDue{}); }
}

void EventLoop::carryOut(kapi::Effects effects) {
  std::erase_if(effects, [this](const kapi::Effect& effect) {
    const auto* wake = std::get_if<kapi::Wake>(&effect);
    if (wake != nullptr) { wake_times_.add(wake->at); }
    return wake != nullptr;
  });
  if (!effects.empty()) { output_(std::move(effects), term_); }
}

}  // namespace gs::k8s
