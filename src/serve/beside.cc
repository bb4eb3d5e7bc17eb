#include "serve/beside.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace gs::serve {
namespace {

void append(kapi::Effects& out, kapi::Effects&& more) {
  std::move(more.begin(), more.end(), std::back_inserter(out));
}

extender::Config besideScheduler(extender::Config config, std::string scheduler) {
  config.own_scheduler = std::move(scheduler);
  return config;
}

}  // namespace

Beside::Beside(scheduler::Scheduler& scheduler, const extender::Config& config, Rng rng)
    : scheduler_{scheduler},
      extender_{scheduler.engine(), besideScheduler(config, scheduler.name()), rng.split()},
      recorder_{"gpu-admission", config.instance, rng.split()},
      events_{recorder_, parts_} {
  // What unbound pods were given counts before the scheduler places anybody.
  scheduler_.beforeDeciding([this](Now now) {
    if (taking_) { extender_.lead(now); }
  });
}

kapi::Effects Beside::start(Now now) {
  kapi::Effects out = scheduler_.start(now);
  settle(now, out);
  return out;
}

kapi::Effects Beside::handle(const kapi::MachineEvent& event, Now now) {
  kapi::Effects out;
  const auto* leadership = std::get_if<kapi::Leadership>(&event);
  if (leadership != nullptr && leadership->leading) { extender_.leadUntil(leadership->until); }
  const auto* outcome = std::get_if<kapi::Outcome>(&event);
  const bool taken =
      outcome != nullptr && (extender_.handle(*outcome, now) || parts_.handle(*outcome, now, out));
  if (!taken) { out = tellScheduler(event, now); }
  if (std::holds_alternative<kapi::TimerDue>(event)) { events_.tick(now, out); }
  settle(now, out);
  return out;
}

kapi::Effects Beside::tellScheduler(const kapi::MachineEvent& event, Now now) {
  kapi::Effects out = scheduler_.handle(event, now);
  seen_ = scheduler_.engine().ledger().changesEnd();
  return out;
}

kapi::Effects Beside::ask(extender::Ticket ticket, extender::Question question, Now now) {
  kapi::Effects out;
  extender_.ask(ticket, std::move(question), now);
  settle(now, out);
  return out;
}

void Beside::stopTaking() {
  taking_ = false;
  scheduler_.stopTaking();
  extender_.stopTaking();
}

bool Beside::underWay() const { return scheduler_.underWay() || extender_.underWay(); }

/// What the extender gave or took back may let the scheduler's pods in, or out.
void Beside::settle(Now now, kapi::Effects& out) {
  if (scheduler_.leading() && !extender_.leading() && taking_) {
    extender_.lead(now);
  } else if (!scheduler_.leading() && extender_.leading()) {
    extender_.standBy("this replica does not lead");
  }
  extender_.settle(now);
  append(out, extender_.takeEffects());
  for (const auto& note : extender_.takeNotes()) { events_.send(note, now, out); }
  if (scheduler_.engine().ledger().changesEnd() != seen_) {
    append(out, tellScheduler(kapi::TimerDue{}, now));
  }
  for (const auto due : {extender_.nextDue(), events_.nextDue()}) {
    if (due) { out.emplace_back(kapi::Wake{std::max(*due, now.mono)}); }
  }
}

}  // namespace gs::serve
