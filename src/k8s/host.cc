#include "k8s/host.h"

#include <thread>
#include <utility>

namespace gs::k8s {

using namespace std::chrono_literals;

Host::Host(Access access, Options options, Rng rng)
    : options_{std::move(options)},
      rng_{rng},
      api_{std::move(access), options_.user_agent, clock_},
      sink_{metrics_, options_.metrics},
      loop_{clock_},
      runner_{{[this] { return api_.connect(); },
               loop_,
               clock_,
               &gate_,
               &sink_,
               {options_.connections, "call"}}} {}

Host::~Host() {
  stop(Duration::zero(), [] { return true; });
}

void Host::start(Machine machine) {
  runs_ = true;
  machine_ = std::move(machine);
  EventLoop::Machine run = machine_.run;
  run.handle = [this](const Event& event, Now now) {
    kapi::Effects effects = machine_.run.handle(event, now);
    countEvent();
    return effects;
  };
  loop_.start(std::move(run), [this](kapi::Effects effects, std::uint64_t term) {
    runner_.submit(std::move(effects), term);
  });
  if (options_.election) {
    election_.emplace(controller::Election{*options_.election, rng_.split()},
                      ElectionThread::Wiring{[this] { return api_.connect(); }, loop_, gate_, clock_});
    electing_ = &*election_;
    return;
  }
  const kapi::Leadership always{true, 1, Mono::max()};
  gate_.set(always);
  loop_.postLeadership(always);
}

ElectionThread::View Host::election() const {
  const auto* thread = electing_.load();
  return thread == nullptr ? ElectionThread::View{} : thread->view();
}

void Host::finish(Duration limit, const std::function<bool()>& give_up) {
  const Mono end = clock_.now().mono + limit;
  loop_.ask([this] { machine_.stop_taking(); });
  do {
    const std::uint64_t seen = events();
    const auto under_way = loop_.answer([this] { return machine_.under_way(); }, 500ms);
    if (under_way && !*under_way && runner_.openCalls() == 0) { return; }
    waitForEvents(seen);
  } while (clock_.now().mono < end && !give_up());
}

void Host::waitForEvents(std::uint64_t seen) {
  const Mono end = clock_.now().mono + 10ms;
  const MutexLock lock{events_mutex_};
  while (events_ == seen && events_changed_.waitUntil(events_mutex_, end)) {}
}

std::uint64_t Host::events() const {
  const MutexLock lock{events_mutex_};
  return events_;
}

void Host::countEvent() {
  const MutexLock lock{events_mutex_};
  ++events_;
  events_changed_.notifyAll();
}

void Host::stop(Duration limit, const std::function<bool()>& give_up) {
  if (!std::exchange(runs_, false)) { return; }
  finish(limit, give_up);
  if (machine_.give_up) {
    static_cast<void>(loop_.answer(
        [give_up = machine_.give_up] {
          give_up();
          return true;
        },
        500ms));
  }
  runner_.drain(300ms);
  if (election_) { election_->stop(1s); }
  loop_.stop();
}

}  // namespace gs::k8s
