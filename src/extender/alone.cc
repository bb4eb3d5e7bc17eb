#include "extender/alone.h"

#include "kapi/kinds.h"

#include <fmt/format.h>

#include <algorithm>

namespace gs::extender {
namespace {

constexpr const char* kController = "gpu-admission";

std::vector<engine::Feed::Source> watched(const Config& config) {
  std::vector<engine::Feed::Source> sources{{.kind = kapi::kPod}, {.kind = kapi::kNode}};
  if (config.quota.on()) { sources.push_back(engine::Feed::quotaSource(config.quota)); }
  return sources;
}

}  // namespace

Alone::Alone(Config config, Rng rng)
    : rng_{rng},
      feed_{engine_, watched(config), rng_},
      recorder_{kController, config.instance, Rng{rng_.next()}},
      events_{recorder_, parts_},
      catch_up_{kCatchUpOwner, {kapi::kPod, kapi::kNode}},
      extender_{engine_, std::move(config), Rng{rng_.next()}} {
  engine_.configureQuota(extender_.config().quota);
}

void Alone::log(kapi::Level level, std::string message) {
  out_.emplace_back(kapi::Log{level, std::move(message), {}});
}

kapi::Effects Alone::start(Now now) {
  now_ = now;
  feed_.start(now, out_);
  settle();
  return takeEffects();
}

kapi::Effects Alone::handle(const kapi::MachineEvent& event, Now now) {
  now_ = now;
  if (feed_.handle(event, now, out_)) {
    // the engine knows
  } else if (const auto* outcome = std::get_if<kapi::Outcome>(&event)) {
    if (!extender_.handle(*outcome, now) && !parts_.handle(*outcome, now, out_)) {
      catch_up_.handle(*outcome, now.mono);
    }
  } else if (const auto* leadership = std::get_if<kapi::Leadership>(&event)) {
    led(*leadership);
  } else if (std::holds_alternative<kapi::TimerDue>(event)) {
    feed_.tick(now, out_);
    engine_.tick(now.mono);
    catch_up_.tick(now.mono, out_);
    events_.tick(now, out_);
  }
  settle();
  return takeEffects();
}

kapi::Effects Alone::ask(Ticket ticket, Question question, Now now) {
  now_ = now;
  extender_.ask(ticket, std::move(question), now);
  settle();
  return takeEffects();
}

kapi::Effects Alone::takeEffects() {
  feed_.sent(out_);
  return std::exchange(out_, {});
}

void Alone::led(const kapi::Leadership& leadership) {
  if (leadership.went_back) { feed_.historyWentBack("the leader lease"); }
  if (leadership.leading) { extender_.leadUntil(leadership.until); }
  if (!leadership.leading) {
    if (std::exchange(leads_, false)) {
      extender_.standBy("another replica leads");
      catch_up_.reset();
      events_.reset();
      log(kapi::Level::Warn, "no longer leading; what was under way is dropped");
    }
    if (leadership.soon && taking_) { feed_.expectCatchUp(catch_up_.kinds(), now_, out_); }
  } else if (taking_ && (!leads_ || leadership.term != term_)) {
    leads_ = true;
    term_ = leadership.term;
    extender_.standBy("this replica leads and is catching up with the cluster; ask again");
    feed_.expectCatchUp(catch_up_.kinds(), now_, out_);
    catch_up_.start(out_);
    log(kapi::Level::Info, "leading; catching up before deciding");
  }
}

void Alone::stopTaking() {
  taking_ = false;
  extender_.stopTaking();
}

/// Carries on until nothing is left to do now.
void Alone::settle() {
  for (const auto& want : catch_up_.takeWants()) { feed_.catchUp(want.kind, want.revision, now_, out_); }
  for (const kapi::Kind kind : feed_.takeCaughtUp()) { catch_up_.caughtUp(kind); }
  if (!failure().empty() && leads_) {
    log(kapi::Level::Error, failure());
    leads_ = taking_ = false;
    extender_.standBy(failure());
  }
  if (leads_ && taking_ && !extender_.leading() && catch_up_.done()) {
    log(kapi::Level::Info, "deciding");
    extender_.lead(now_);
  }
  extender_.settle(now_);
  engine_.forgetTouched();
  report();
  for (auto& effect : extender_.takeEffects()) { out_.push_back(std::move(effect)); }
  std::optional<Mono> due;
  for (const auto at : {engine_.nextDue(), catch_up_.nextDue(), extender_.nextDue(), events_.nextDue()}) {
    if (at) { due = due ? std::min(*due, *at) : *at; }
  }
  if (due) { out_.emplace_back(kapi::Wake{std::max(*due, now_.mono)}); }
}

/// What users are to know.
void Alone::report() {
  for (const auto& note : extender_.takeNotes()) { events_.send(note, now_, out_); }
  if (!extender_.leading()) { return; }
  if (const auto warning = engine_.quota().takeWarning()) {
    log(kapi::Level::Warn, warning->note);
    events_.send(*warning, now_, out_);
  }
}

Alone::Readiness Alone::readiness() const {
  Readiness r;
  r.leading = extender_.leading();
  r.ready = feed_.check(r.checks);
  r.checks.emplace_back("role", !leads_ ? "standby" : extender_.leading() ? "leader" : "leader, catching up");
  r.checks.emplace_back("quota", engine_.quota().state());
  if (leads_ && !catch_up_.trouble().empty()) { r.checks.emplace_back("catching-up", catch_up_.trouble()); }
  return r;
}

}  // namespace gs::extender
