#include "controller/watches.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <variant>

namespace gs::controller {
namespace {

/// Whose call or stream it is of; nullopt: of none.
std::optional<kapi::Token> tokenOf(const kapi::MachineEvent& event) {
  if (const auto* outcome = std::get_if<kapi::Outcome>(&event)) { return outcome->token; }
  if (const auto* came = std::get_if<kapi::WatchEvent>(&event)) { return came->stream; }
  if (const auto* ended = std::get_if<kapi::WatchEnded>(&event)) { return ended->stream; }
  return std::nullopt;
}

}  // namespace

Watches::Watches(OwnerRange owners, std::vector<Reflector::Config> kinds, Rng& rng, Take take)
    : owners_{owners}, take_{std::move(take)} {
  GS_CHECK(kinds.size() <= owners.count, "{} kinds, and {} numbers", kinds.size(), owners.count);
  all_.reserve(kinds.size());
  for (Reflector::Config& config : kinds) {
    GS_CHECK(find(config.kind) == nullptr, "two watches of {}", config.kind->plural);
    config.owner = static_cast<std::uint8_t>(owners_.first + all_.size());
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

Reflector* Watches::of(const kapi::MachineEvent& event) {
  const auto token = tokenOf(event);
  if (!token) { return nullptr; }
  const std::size_t at = std::size_t{kapi::tokenOwner(*token)} - owners_.first;
  return at < all_.size() ? &all_[at] : nullptr;
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

bool Watches::handle(const kapi::MachineEvent& event, Now now, kapi::Effects& out) {
  Reflector* one = of(event);
  if (one == nullptr) { return false; }
  if (const auto* outcome = std::get_if<kapi::Outcome>(&event)) {
    took(*one, one->handle(*outcome, now), now, out);
  } else if (const auto* came = std::get_if<kapi::WatchEvent>(&event)) {
    took(*one, one->handle(*came, now), now, out);
  } else {
    took(*one, one->handle(std::get<kapi::WatchEnded>(event), now), now, out);
  }
  return true;
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

bool isOf(OwnerRange owners, const kapi::MachineEvent& event) {
  const auto token = tokenOf(event);
  return token && std::size_t{kapi::tokenOwner(*token)} - owners.first < owners.count;
}

std::string stateOf(const Reflector& one, const char* absent) {
  if (one.absent()) { return absent; }
  return !one.synced() && one.trouble().empty() ? "not listed yet" : one.trouble();
}

}  // namespace gs::controller
