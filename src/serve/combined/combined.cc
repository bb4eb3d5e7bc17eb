#include "serve/combined/combined.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/mutant.h"
#include "extender/status_page.h"
#include "kapi/effects.h"
#include "scheduler/status_page.h"

namespace gs::serve {
namespace {

extender::Config besideScheduler(extender::Config config, const scheduler::Scheduler& scheduler) {
  config.own_scheduler = scheduler.name();
  config.is_bound_by_others = [&scheduler](const model::Pod& pod) {
    return isOffered(scheduler, pod) && !GS_MUTANT(BindsUnseen);
  };
  return config;
}

}  // namespace

Combined::Combined(scheduler::Scheduler& scheduler, const extender::Config& config, Rng rng)
    : scheduler_{scheduler},
      extender_{scheduler.engine(), besideScheduler(config, scheduler), rng.split(), scheduler.owners()},
      desk_{config.answer_within},
      recorder_{"gpu-admission", config.instance, rng.split()},
      parts_{scheduler.owners()},
      events_{recorder_, parts_} {}

kapi::Effects Combined::start(Now now) {
  kapi::Effects out = scheduler_.start(now);
  settle(now, out);
  return out;
}

kapi::Effects Combined::handle(const kapi::MachineEvent& event, Now now) {
  kapi::Effects out;
  const auto* leadership = std::get_if<kapi::Leadership>(&event);
  if (leadership != nullptr && leadership->leading) { extender_.leadUntil(leadership->until); }
  const auto* outcome = std::get_if<kapi::Outcome>(&event);
  const bool taken =
      outcome != nullptr && (extender_.handle(*outcome, now) || parts_.handle(*outcome, now, out));
  if (!taken) {
    scheduler_.take(event, now);
    follow(now);  // what unbound pods were given counts before the scheduler places anybody
    decide(now, out);
  }
  if (std::holds_alternative<kapi::TimerDue>(event)) { events_.tick(now, out); }
  settle(now, out);
  return out;
}

/// The extender leads while the scheduler does.
void Combined::follow(Now now) {
  if (scheduler_.leading() && !extender_.leading() && taking_) {
    extender_.lead(now);
  } else if (!scheduler_.leading() && extender_.leading()) {
    extender_.standBy("this replica does not lead");
  }
}

void Combined::decide(Now now, kapi::Effects& out) {
  kapi::append(out, scheduler_.decide(now));
  seen_ = scheduler_.engine().ledger().changesEnd();
}

kapi::Effects Combined::ask(extender::RequestId request_id, extender::Request request, Now now) {
  kapi::Effects out;
  extender::Answerer& answerer =
      offered_.isTheirs(request) ? static_cast<extender::Answerer&>(offered_) : extender_;
  ask(answerer, request_id, std::move(request), now, out);
  settle(now, out);
  return out;
}

void Combined::ask(extender::Answerer& answerer, extender::RequestId request_id, extender::Request request,
                   Now now, kapi::Effects& out) {
  desk_.ask(answerer, request_id, std::move(request), now);
  if (offered_.takeAsked()) { decide(now, out); }
}

std::vector<std::pair<extender::RequestId, extender::Answer>> Combined::takeAnswers() {
  auto out = extender_.takeAnswers();
  offered_.takeAnswers(out);
  return out;
}

void Combined::stopTaking() {
  taking_ = false;
  scheduler_.stopTaking();
  offered_.stopTaking();
  extender_.stopTaking();
}

bool Combined::underWay() const { return scheduler_.underWay() || extender_.underWay(); }

/// What the extender gave or took back may let the scheduler's pods in, or out.
void Combined::settle(Now now, kapi::Effects& out) {
  extender_.settle(now);
  for (auto& caller : extender_.takeHandedBack()) {
    ask(offered_, caller.request_id, std::move(caller.request), now, out);
  }
  kapi::append(out, extender_.takeEffects());
  for (const auto& note : extender_.takeNotes()) { events_.send(note, now, out); }
  if (scheduler_.engine().ledger().changesEnd() != seen_) { decide(now, out); }
  for (const auto due : {extender_.nextDue(), events_.nextDue()}) {
    if (due) { out.emplace_back(kapi::Wake{std::max(*due, now.mono)}); }
  }
}

std::string stateMetrics(const Combined& both) {
  return scheduler::stateMetrics(both.scheduler()) +
         extender::stateMetrics(both.extender(), both.scheduler().engine());
}

}  // namespace gs::serve
