#include "k8s/owner_loop.h"

#include <type_traits>

#include "base/check.h"

namespace gs::k8s {

OwnerLoop::OwnerLoop(const Clock& clock, std::size_t capacity) : clock_{clock}, mailbox_{capacity} {}

void OwnerLoop::start(Machine machine, Output output) {
  GS_CHECK(worker_ == nullptr, "an OwnerLoop is started once");
  machine_ = std::move(machine);
  output_ = std::move(output);
  worker_ = std::make_unique<Worker>("owner", [this](const std::stop_token&) { run(); });
}

bool OwnerLoop::post(Event event) { return mailbox_.push(std::move(event)); }

void OwnerLoop::postLeadership(kapi::Leadership leadership) {
  {
    MutexLock lock{mutex_};
    // A renewal takes the place of the one that was not given yet.
    const bool renewal = !leadership_.empty() && leadership_.back().leading == leadership.leading &&
                         leadership_.back().term == leadership.term;
    if (renewal) { leadership_.pop_back(); }
    leadership_.push_back(leadership);
  }
  mailbox_.tryPush(Nudge{});  // when it is full the thread is awake anyway
}

bool OwnerLoop::ask(std::function<void()> question) { return mailbox_.tryPush(std::move(question)); }

void OwnerLoop::stop() {
  {
    MutexLock lock{mutex_};
    stopping_ = true;
  }
  mailbox_.close();
  if (worker_) { worker_->join(); }
}

void OwnerLoop::run() {
  carryOut(machine_.begin(clock_.now()));
  std::vector<Message> batch;
  while (!mailbox_.drained()) {
    mailbox_.popAll(batch, wake_times_.next());
    for (Message& message : batch) {
      giveLeadership();
      giveTimer();
      if (auto* event = std::get_if<Event>(&message)) {
        give(*event);
      } else if (auto* question = std::get_if<std::function<void()>>(&message)) {
        (*question)();
      }
    }
    batch.clear();
    giveLeadership();
    giveTimer();
  }
}

void OwnerLoop::give(const Event& event) {
  {
    MutexLock lock{mutex_};
    if (stopping_) { return; }
  }
  carryOut(machine_.handle(event, clock_.now()));
}

void OwnerLoop::giveLeadership() {
  for (;;) {
    kapi::Leadership next;
    {
      MutexLock lock{mutex_};
      if (leadership_.empty()) { return; }
      next = leadership_.front();
      leadership_.pop_front();
    }
    term_ = next.leading ? next.term : 0;
    give(next);
  }
}

void OwnerLoop::giveTimer() {
  if (wake_times_.next() == Mono::max()) { return; }
  if (wake_times_.due(clock_.now().mono)) { give(kapi::TimerDue{}); }
}

void OwnerLoop::carryOut(kapi::Effects effects) {
  std::erase_if(effects, [this](const kapi::Effect& effect) {
    const auto* wake = std::get_if<kapi::Wake>(&effect);
    if (wake != nullptr) { wake_times_.add(wake->at); }
    return wake != nullptr;
  });
  if (!effects.empty()) { output_(std::move(effects), term_); }
}

}  // namespace gs::k8s
