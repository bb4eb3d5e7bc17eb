#include "controller/watches.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

namespace gs::controller {

Watches::Watches(Parts& parts, std::vector<Reflector::Config> kinds, Rng& rng, Take take)
    : first_{parts.add(*this, kinds.size())}, take_{std::move(take)} {
  all_.reserve(kinds.size());
  for (Reflector::Config& config : kinds) {
    GS_CHECK(find(config.kind) == nullptr, "two watches of {}", config.kind->plural);
    config.owner = static_cast<std::uint8_t>(first_ + all_.size());
    all_.emplace_back(std::move(config), rng.split());
  }
}

Reflector* Watches::reflectorOf(kapi::Kind kind) {
  const auto it =
      std::find_if(all_.begin(), all_.end(), [&](const Reflector& one) { return one.kind() == kind; });
  return it == all_.end() ? nullptr : &*it;
}

const Reflector* Watches::find(kapi::Kind kind) const {
  const auto it =
      std::find_if(all_.begin(), all_.end(), [&](const Reflector& one) { return one.kind() == kind; });
  return it == all_.end() ? nullptr : &*it;
}

void Watches::took(const Reflector& reflector, Reflector::Output output, Now now, kapi::Effects& out) {
  std::move(output.effects.begin(), output.effects.end(), std::back_inserter(out));
  output.effects.clear();
  if (output.went_back) { historyWentBack(reflector.kind()->plural); }
  take_(reflector, output, now, out);
}

void Watches::historyWentBack(std::string_view of_what) {
  if (!failure_.empty()) { return; }
  failure_ = fmt::format(
      "the API server's history of {} went back in time (restored from a backup?); restart this process",
      of_what);
}

void Watches::start(Now now, kapi::Effects& out) {
  for (Reflector& one : all_) { took(one, one.start(now), now, out); }
}

void Watches::handle(const kapi::Outcome& outcome, Now now, kapi::Effects& out) {
  Reflector& one = of(kapi::tokenOwner(outcome.token));
  took(one, one.handle(outcome, now), now, out);
}

void Watches::watched(const kapi::MachineEvent& event, Now now, kapi::Effects& out) {
  if (const auto* came = std::get_if<kapi::WatchEvent>(&event)) {
    Reflector& one = of(kapi::tokenOwner(came->stream));
    took(one, one.handle(*came, now), now, out);
  } else if (const auto* ended = std::get_if<kapi::WatchEnded>(&event)) {
    Reflector& one = of(kapi::tokenOwner(ended->stream));
    took(one, one.handle(*ended, now), now, out);
  }
}

void Watches::tick(Now now, kapi::Effects& out) {
  for (Reflector& one : all_) { took(one, one.tick(now), now, out); }
}

void Watches::catchUp(kapi::Kind kind, model::Revision revision, Now now, kapi::Effects& out) {
  if (Reflector* one = reflectorOf(kind)) { took(*one, one->catchUp(revision, now), now, out); }
}

void Watches::expectCatchUp(kapi::Kind kind, Now now, kapi::Effects& out) {
  if (Reflector* one = reflectorOf(kind)) { took(*one, one->expectCatchUp(now), now, out); }
}

std::string stateOf(const Reflector& one, const char* absent) {
  if (one.absent()) { return absent; }
  return !one.synced() && one.trouble().empty() ? "not listed yet" : one.trouble();
}

}  // namespace gs::controller
