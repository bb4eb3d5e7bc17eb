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
  loop_.start(machine_.run, [this](kapi::Effects effects, std::uint64_t term) {
    runner_.submit(std::move(effects), term);
  });
  if (options_.election) {
    election_.emplace(kapi::Election{*options_.election, rng_.split()},
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
    const auto under_way = loop_.answer([this] { return machine_.under_way(); }, 500ms);
    if (under_way && !*under_way && runner_.openCalls() == 0) { return; }
    std::this_thread::sleep_for(10ms);
  } while (clock_.now().mono < end && !give_up());
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
