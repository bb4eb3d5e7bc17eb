#include "extender/standalone.h"

#include "base/due.h"
#include "kapi/kinds.h"

#include <fmt/format.h>

#include <algorithm>

namespace gs::extender {
namespace {

constexpr const char* kController = "gpu-admission";

std::vector<engine::Informers::Source> watched(const Config& config) {
  std::vector<engine::Informers::Source> sources{{.kind = kapi::kPod}, {.kind = kapi::kNode}};
  if (config.quota.on()) { sources.push_back(engine::Informers::quotaSource(config.quota)); }
  return sources;
}

}  // namespace

Standalone::Standalone(Config config, Rng rng)
    : rng_{rng},
      informers_{engine_, watched(config), rng_, owners_},
      recorder_{kController, config.instance, Rng{rng_.next()}},
      events_{recorder_, parts_},
      cache_sync_{owners_.take(), {kapi::kPod, kapi::kNode}},
      extender_{engine_, std::move(config), Rng{rng_.next()}, owners_},
      desk_{extender_.config().answer_within} {
  engine_.configureQuota(extender_.config().quota);
}

void Standalone::log(kapi::Level level, std::string message) {
  out_.emplace_back(kapi::Log{level, std::move(message), {}});
}

kapi::Effects Standalone::start(Now now) {
  now_ = now;
  informers_.start(now, out_);
  settle();
  return takeEffects();
}

kapi::Effects Standalone::handle(const kapi::MachineEvent& event, Now now) {
  now_ = now;
  if (informers_.handle(event, now, out_)) {
    // the engine knows
  } else if (const auto* outcome = std::get_if<kapi::Outcome>(&event)) {
    if (!extender_.handle(*outcome, now) && !parts_.handle(*outcome, now, out_)) {
      cache_sync_.handle(*outcome, now.mono);
    }
  } else if (const auto* leadership = std::get_if<kapi::Leadership>(&event)) {
    led(*leadership);
  } else if (std::holds_alternative<kapi::TimerDue>(event)) {
    informers_.tick(now, out_);
    engine_.tick(now.mono);
    cache_sync_.tick(now.mono, out_);
    events_.tick(now, out_);
  }
  settle();
  return takeEffects();
}

kapi::Effects Standalone::ask(RequestId request_id, Request request, Now now) {
  now_ = now;
  desk_.ask(extender_, request_id, std::move(request), now);
  settle();
  return takeEffects();
}

kapi::Effects Standalone::takeEffects() {
  informers_.sent(out_);
  return std::exchange(out_, {});
}

void Standalone::led(const kapi::Leadership& leadership) {
  if (leadership.went_back) { informers_.historyWentBack("the leader lease"); }
  if (leadership.leading) { extender_.leadUntil(leadership.until); }
  if (!leadership.leading) {
    if (std::exchange(leads_, false)) {
      extender_.standBy("another replica leads");
      cache_sync_.reset();
      events_.reset();
      log(kapi::Level::Warn, "no longer leading; what was under way is dropped");
    }
    if (leadership.soon && taking_) { informers_.expectCatchUp(cache_sync_.kinds(), now_, out_); }
  } else if (taking_ && (!leads_ || leadership.term != term_)) {
    leads_ = true;
    term_ = leadership.term;
    extender_.standBy("this replica leads and is catching up with the cluster; ask again");
    informers_.expectCatchUp(cache_sync_.kinds(), now_, out_);
    cache_sync_.start(out_);
    log(kapi::Level::Info, "leading; catching up before deciding");
  }
}

void Standalone::stopTaking() {
  taking_ = false;
  extender_.stopTaking();
}

/// Carries on until nothing is left to do now.
void Standalone::settle() {
  for (const auto& want : cache_sync_.takeWants()) {
    informers_.catchUp(want.kind, want.revision, now_, out_);
  }
  for (const kapi::Kind kind : informers_.takeCaughtUp()) { cache_sync_.caughtUp(kind); }
  if (!failure().empty() && leads_) {
    log(kapi::Level::Error, failure());
    leads_ = taking_ = false;
    extender_.standBy(failure());
  }
  if (leads_ && taking_ && !extender_.leading() && cache_sync_.done()) {
    log(kapi::Level::Info, "deciding");
    extender_.lead(now_);
  }
  extender_.settle(now_);
  engine_.forgetTouched();
  report();
  for (auto& effect : extender_.takeEffects()) { out_.push_back(std::move(effect)); }
  const auto due =
      soonest({engine_.nextDue(), cache_sync_.nextDue(), extender_.nextDue(), events_.nextDue()});
  if (due) { out_.emplace_back(kapi::Wake{std::max(*due, now_.mono)}); }
}

/// What users are to know.
void Standalone::report() {
  for (const auto& note : extender_.takeNotes()) { events_.send(note, now_, out_); }
  if (!extender_.leading()) { return; }
  if (const auto warning = engine_.quota().takeWarning()) {
    log(kapi::Level::Warn, warning->note);
    events_.send(*warning, now_, out_);
  }
}

Readiness Standalone::readiness() const {
  Readiness out = informers_.readiness();
  out.note("role", !leads_ ? "standby" : extender_.leading() ? "leader" : "leader, catching up");
  out.note("quota", engine_.quota().state());
  if (leads_ && !cache_sync_.trouble().empty()) { out.note("catching-up", cache_sync_.trouble()); }
  return out;
}

}  // namespace gs::extender
