#include "test/sim/ledger_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "test/sim/plan.h"

namespace gs::sim {
namespace {

constexpr Duration kQuiet = std::chrono::seconds{1};  // since the last change: everybody has heard of it

/// Each kind is listed, and no watch waits to be opened again.
bool hearsAll(const scheduler::Scheduler& scheduler) {
  const auto checks = scheduler.readiness().checks;
  return std::all_of(checks.begin(), checks.end(), [](const auto& check) {
    return !check.what.starts_with("cache/") || check.state == "ok";
  });
}

void replaceAll(std::string& text, std::string_view what, std::string_view by) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
}

void eraseLines(std::string& text, std::string_view begin) {
  for (auto at = text.find(begin); at != std::string::npos; at = text.find(begin, at)) {
    text.erase(at, text.find('\n', at) + 1 - at);
  }
}

/// Devices that no node lists are there as long as somebody holds them.
void eraseEmptyDevices(std::string& text) {
  constexpr std::string_view kEnd = " not listed\n";
  for (auto at = text.find(kEnd); at != std::string::npos; at = text.find(kEnd, at)) {
    const auto next = at + kEnd.size();
    const auto begin = text.rfind('\n', at) + 1;
    if (text.compare(next, 4, "    ") == 0) {
      at = next;
    } else {
      text.erase(begin, next - begin);
      at = begin;
    }
  }
}

/// " anonymous=<count>": those of who is left out too.
void eraseCounts(std::string& text) {
  constexpr std::string_view kCount = " anonymous=";
  for (auto at = text.find(kCount); at != std::string::npos; at = text.find(kCount, at)) {
    text.erase(at, text.find_first_of(" \n", at + 1) - at);
  }
}

/// Some lease.
bool hasUnreadable(const engine::Engine& engine) { return !engine.cache().malformedLeases().empty(); }

/// Since when an agent is not Ready only who saw it knows; so it is with who shares, once its lease and its
/// claim are gone (that of the same id may be another GPU's). That a lease which cannot be read
/// (`unreadable`: there are some) is in somebody's way knows who tried.
std::string comparable(std::string text, const std::set<std::string>& left_out, bool unreadable) {
  if (unreadable) { eraseLines(text, "    holder (a lease that names no pod)"); }
  replaceAll(text, " stale=true", " stale=false");
  replaceAll(text, " by bound: shared milli=0 mib=0", " by bound: exclusive");
  for (const auto& uid : left_out) {
    eraseLines(text, "    holder " + uid);
    eraseLines(text, "  draining " + uid);
    eraseLines(text, "  pod " + uid);
  }
  if (!left_out.empty()) {
    eraseEmptyDevices(text);
    eraseCounts(text);
  }
  replaceAll(text, " by lease,bound: shared milli=0 mib=0 shared milli=0 mib=0",
             " by lease,bound: shared milli=0 mib=0 exclusive");
  return text;
}

}  // namespace

std::string difference(std::string_view live, std::string_view rebuilt) {
  if (live == rebuilt) { return ""; }
  const auto at = static_cast<std::size_t>(
      std::mismatch(live.begin(), live.end(), rebuilt.begin(), rebuilt.end()).first - live.begin());
  const auto line = [at](std::string_view text) {
    const std::size_t begin = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
    return text.substr(begin, text.find('\n', at) - begin);
  };
  return fmt::format("the live ledger has '{}', the API's has '{}'", line(live), line(rebuilt));
}

void LedgerCheck::trouble(Duration how_long) {
  had_trouble_ = true;
  trouble_until_ = std::max(trouble_until_, world_.now().mono + how_long);
}

std::optional<Mono> LedgerCheck::due(Mono last_change) const {
  if (last_ == moment(last_change)) { return std::nullopt; }
  const Mono now = world_.now().mono;
  const Mono quiet = std::max(trouble_until_, last_change + kQuiet);
  return quiet > now ? quiet : now + kQuiet;  // quiet but for the leader
}

std::string LedgerCheck::look(Mono last_change) {
  const Mono now = world_.now().mono;
  const Moment here = moment(last_change);
  if (now < trouble_until_ || now < last_change + kQuiet || last_ == here) { return ""; }
  if (!here.leader || !hearsAll(world_.scheduler(*here.leader))) { return ""; }
  last_ = here;
  ++compared_;
  if (had_trouble_) { ++after_trouble_; }
  using sched::Source;
  const auto engine = test::rebuiltEngine(world_, decoded_);
  const bool unreadable = hasUnreadable(*engine);
  const auto live = comparable(
      world_.scheduler(*here.leader).engine().ledger().dumpWithout({Source::Reservation, Source::Draining}),
      left_out_, unreadable);
  const auto rebuilt = comparable(engine->ledger().dumpWithout({Source::Reservation, Source::Draining}),
                                  left_out_, unreadable);
  const auto wrong = difference(live, rebuilt);
  return wrong.empty() && standbys_ ? standbyWrong(rebuilt, unreadable) : wrong;
}

std::string LedgerCheck::standbyWrong(std::string_view rebuilt, bool unreadable) const {
  for (sandbox::ReplicaId id = 0; id < kReplicas; ++id) {
    if (!world_.alive(id) || world_.frozen(id) || id == leader() || !hearsAll(world_.scheduler(id))) {
      continue;
    }
    using sched::Source;
    const auto its = comparable(
        world_.scheduler(id).engine().ledger().dumpWithout({Source::Reservation, Source::Draining}),
        left_out_, unreadable);
    if (auto wrong = difference(its, rebuilt); !wrong.empty()) {
      return fmt::format("of standby {}: {}", id, wrong);
    }
  }
  return "";
}

std::optional<sandbox::ReplicaId> LedgerCheck::leader() const {
  const auto leads = world_.leader();
  return leads && *leads < kReplicas ? leads : std::nullopt;
}

std::string LedgerCheck::atEnd(sandbox::ReplicaId leader, bool promises) {
  const auto rebuilt = test::rebuiltEngine(world_, decoded_);
  std::optional<extender::Extender> companion;  // holds what annotations promise to pods that wait
  if (const auto* extender = promises ? world_.extenderOfCompanion(leader) : nullptr) {
    companion.emplace(*rebuilt, extender->config(), Rng{1});
    companion->lead(world_.now());
    companion->settle(world_.now());
  }
  const bool with_reservations = companion.has_value();
  const bool unreadable = hasUnreadable(*rebuilt);
  return difference(
      comparable(world_.scheduler(leader).engine().ledger().dump(with_reservations), left_out_, unreadable),
      comparable(rebuilt->ledger().dump(with_reservations), left_out_, unreadable));
}

}  // namespace gs::sim
