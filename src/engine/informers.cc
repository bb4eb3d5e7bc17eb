#include "engine/informers.h"

#include <fmt/format.h>
#include <algorithm>

#include "base/check.h"
#include "controller/parts.h"
#include "kapi/kinds.h"

namespace gs::engine {
namespace {

using kapi::Kind;

controller::Reflector makeReflector(const Informers::Source& source, std::size_t place, Rng& rng,
                                    std::size_t listed_to_catch_up) {
  controller::Reflector::Config c;
  c.kind = source.kind;
  c.owner = static_cast<std::uint8_t>(controller::kInformerOwners.first + place);
  c.ns = source.ns;
  c.selectors = source.selectors;
  c.optional = source.optional;
  c.listed_to_catch_up = listed_to_catch_up;
  return {c, Rng{rng.next()}};
}

/// Why a kind that is absent does not keep us from being ready.
std::string absence(const controller::Reflector& reflector) {
  return reflector.kind()->may_be_absent ? "ok (not served by the API server)"
                                         : "ok, without it: " + reflector.trouble();
}

}  // namespace

Informers::Source Informers::quotaSource(const model::QuotaConfig& config) {
  return {.kind = kapi::kQuotaMap,
          .ns = config.map.ns,
          .selectors = {"", "metadata.name=" + config.map.name},
          .optional = true};
}

Informers::Informers(Engine& engine, const std::vector<Source>& sources, Rng& rng,
                     std::size_t listed_to_catch_up)
    : engine_{engine} {
  GS_CHECK(sources.size() <= kMostSources, "{} sources", sources.size());
  for (const Source& source : sources) {
    GS_CHECK(find(source.kind) == nullptr, "two sources of {}", source.kind->plural);
    reflectors_.push_back(makeReflector(source, reflectors_.size(), rng, listed_to_catch_up));
  }
}

controller::Reflector* Informers::find(Kind kind) {
  const auto it = std::find_if(reflectors_.begin(), reflectors_.end(),
                               [&](const controller::Reflector& r) { return r.kind() == kind; });
  return it == reflectors_.end() ? nullptr : &*it;
}

bool Informers::complete() const {
  return std::all_of(reflectors_.begin(), reflectors_.end(),
                     [](const controller::Reflector& r) { return r.synced() || r.absent(); });
}

void Informers::take(const controller::Reflector& reflector, controller::Reflector::Output output, Now now,
                     kapi::Effects& out) {
  for (auto& effect : output.effects) { out.push_back(std::move(effect)); }
  for (const auto& change : output.changes) { engine_.apply(change, now.mono); }
  if (output.went_back) { historyWentBack(reflector.kind()->plural); }
  if (output.listed_at) { forgetUnlisted(reflector, *output.listed_at, now); }
  if ((output.synced_now || reflector.absent()) && complete()) { engine_.synced(now.mono); }
  if (reflector.kind() == kapi::kQuotaMap) { tellQuota(reflector, output, now); }
  if (output.caught_up_now) { caught_up_.push_back(reflector.kind()); }
}

void Informers::historyWentBack(std::string_view of_what) {
  if (!failure_.empty()) { return; }
  failure_ = fmt::format(
      "the API server's history of {} went back in time (restored from a backup?); restart this process",
      of_what);
}

void Informers::sent(const kapi::Effects& effects) {
  for (const auto& effect : effects) {
    const auto* call = std::get_if<kapi::Call>(&effect);
    if (call == nullptr) { continue; }
    const bool latest = call->verb == kapi::Verb::List &&
                        call->query.find("resourceVersion=") == std::string::npos &&
                        call->query.find("continue=") == std::string::npos;
    if (!latest && call->verb != kapi::Verb::Create) { continue; }
    if (const auto* reflector = find(call->kind); reflector != nullptr && call->subresource.empty()) {
      floors_[call->token] = {call->kind, reflector->progress()};
    }
  }
}

void Informers::compare(const kapi::Outcome& outcome) {
  const auto sent = floors_.extract(outcome.token);
  if (sent.empty() || outcome.result != kapi::CallResult::Applied) { return; }
  const auto [kind, floor] = sent.mapped();
  const bool created = !outcome.object.empty();
  const model::Revision now = created ? outcome.object.revision() : outcome.list_revision;
  if (now != 0 && now < floor) { historyWentBack(kind->plural); }
}

void Informers::tellQuota(const controller::Reflector& reflector, const controller::Reflector::Output& output,
                          Now now) {
  QuotaTable& quota = engine_.quota();
  if (output.listed_at) {
    quota.listed();
  } else if (output.forbidden_now) {
    quota.forbidden(now.mono);
  } else if (!reflector.absent()) {
    quota.notForbidden();
  }
}

/// The answers to our own calls may have brought objects that the watch never did; a list without them says
/// that they went.
void Informers::forgetUnlisted(const controller::Reflector& reflector, model::Revision listed_at, Now now) {
  if (reflector.kind() == kapi::kPod) {
    std::vector<model::Uid> gone;
    for (const auto& [uid, pod] : engine_.cache().pods()) {
      if (pod->revision <= listed_at && !reflector.knows(pod->key, uid)) { gone.push_back(uid); }
    }
    for (const auto& uid : gone) { engine_.podGone(uid, now.mono); }
  } else if (reflector.kind() == kapi::kLease) {
    std::vector<std::pair<model::ObjectKey, model::Uid>> gone;
    for (const auto& [key, lease] : engine_.cache().leases()) {
      if (key.ns == reflector.ns() && lease->revision <= listed_at && !reflector.knows(key, lease->uid)) {
        gone.emplace_back(key, lease->uid);
      }
    }
    for (const auto& [key, uid] : gone) { engine_.leaseGone(key, uid, listed_at); }
  }
}

void Informers::start(Now now, kapi::Effects& out) {
  for (auto& reflector : reflectors_) { take(reflector, reflector.start(now), now, out); }
}

bool Informers::handle(const kapi::MachineEvent& event, Now now, kapi::Effects& out) {
  const auto give = [&](kapi::Token token, const auto& what) {
    const std::size_t at = std::size_t{kapi::tokenOwner(token)} - controller::kInformerOwners.first;
    if (at >= reflectors_.size()) { return false; }
    controller::Reflector& reflector = reflectors_[at];
    take(reflector, reflector.handle(what, now), now, out);
    return true;
  };
  if (const auto* outcome = std::get_if<kapi::Outcome>(&event)) {
    compare(*outcome);
    return give(outcome->token, *outcome);
  }
  if (const auto* watch = std::get_if<kapi::WatchEvent>(&event)) { return give(watch->stream, *watch); }
  if (const auto* ended = std::get_if<kapi::WatchEnded>(&event)) { return give(ended->stream, *ended); }
  return false;
}

void Informers::tick(Now now, kapi::Effects& out) {
  for (auto& reflector : reflectors_) { take(reflector, reflector.tick(now), now, out); }
}

void Informers::expectCatchUp(const std::vector<Kind>& kinds, Now now, kapi::Effects& out) {
  for (auto& reflector : reflectors_) {
    if (std::count(kinds.begin(), kinds.end(), reflector.kind()) > 0) {
      take(reflector, reflector.expectCatchUp(now), now, out);
    }
  }
}

void Informers::catchUp(Kind kind, model::Revision revision, Now now, kapi::Effects& out) {
  if (auto* reflector = find(kind)) { take(*reflector, reflector->catchUp(revision, now), now, out); }
}

Readiness Informers::readiness() const {
  Readiness out;
  for (const auto& reflector : reflectors_) {
    const bool undecided = reflector.kind() == kapi::kQuotaMap && engine_.quota().undecided();
    const bool fine = reflector.synced() || (reflector.absent() && !undecided);
    const std::string& trouble = reflector.trouble();
    out.note(fmt::format("cache/{}", reflector.kind()->plural),
             !fine                ? (trouble.empty() ? "not listed yet" : trouble)
             : reflector.absent() ? absence(reflector)
             : trouble.empty()    ? ""
                                  : "ok, but " + trouble);
  }
  out.ready = complete() && !engine_.quota().undecided();
  return out;
}

}  // namespace gs::engine
