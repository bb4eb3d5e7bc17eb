#include "k8s/election_thread.h"

#include <utility>

#include "k8s/effect_runner.h"

namespace gs::k8s {
namespace {

constexpr std::size_t kCapacity = 64;  // one call, one ping at a time, one stop

}  // namespace

ElectionThread::ElectionThread(controller::Election election, Wiring wiring)
    : wiring_{std::move(wiring)},
      mailbox_{std::make_shared<Mailbox<Message>>(kCapacity)},
      election_{std::move(election)},
      calls_{{.connections = 1, .name = "election-call"},
             wiring_.connect,
             [box = mailbox_](kapi::Outcome outcome) { box->push(std::move(outcome)); },
             wiring_.clock,
             nullptr} {
  worker_ = std::make_unique<Worker>("election", [this](const std::stop_token&) { run(); });
}

ElectionThread::~ElectionThread() { stop(Duration::zero()); }

void ElectionThread::stop(Duration limit) {
  if (!worker_) { return; }
  const Mono deadline = wiring_.clock.now().mono + limit;
  mailbox_->push(Stop{});
  {
    MutexLock lock{mutex_};
    while (!ended_ && ended_changed_.waitUntil(mutex_, deadline)) {}
  }
  calls_.drain(Duration::zero());
  mailbox_->close();
  worker_.reset();  // joins
  wiring_.gate.set({});
}

ElectionThread::View ElectionThread::view() const {
  MutexLock lock{mutex_};
  return view_;
}

void ElectionThread::run() {
  carryOut(election_.start(wiring_.clock.now()));
  while (!released_ && !mailbox_->drained()) {
    auto message = mailbox_->pop(wake_times_.next());
    if (message) { carryOut(react(*message, wiring_.clock.now())); }
    const Now now = wiring_.clock.now();
    if (wake_times_.due(now.mono)) { carryOut(election_.tick(now)); }
  }
  MutexLock lock{mutex_};
  ended_ = true;
  ended_changed_.notifyAll();
}

controller::Election::Output ElectionThread::react(Message& message, Now now) {
  if (const auto* outcome = std::get_if<kapi::Outcome>(&message)) { return election_.handle(*outcome, now); }
  if (const auto* pong = std::get_if<Pong>(&message)) {
    election_.pong(pong->at);
    return {};
  }
  return election_.stop(now);
}

/// The gate before the news: it must be shut when the component hears of a loss,
/// and open when it begins to write.
void ElectionThread::carryOut(controller::Election::Output output) {
  {
    MutexLock lock{mutex_};
    view_ = {election_.holder(), election_.address(), election_.trouble(), election_.alone()};
  }
  if (output.leadership) {
    wiring_.gate.set(*output.leadership);
    wiring_.loop.postLeadership(*output.leadership);
  }
  for (kapi::Effect& effect : output.effects) {
    if (auto* call = std::get_if<kapi::Call>(&effect)) {
      calls_.submit(std::move(*call), 0);
    } else if (const auto* wake = std::get_if<kapi::Wake>(&effect)) {
      wake_times_.add(wake->at);
    } else if (const auto* line = std::get_if<kapi::Log>(&effect)) {
      writeLog(*line);
    }
  }
  if (output.ping) { ping(); }
  released_ = released_ || output.released;
}

void ElectionThread::ping() {
  wiring_.loop.ping([box = mailbox_, &clock = wiring_.clock] { box->tryPush(Pong{clock.now()}); });
}

}  // namespace gs::k8s
