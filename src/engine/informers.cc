#include "engine/informers.h"

#include <fmt/format.h>
#include <algorithm>
#include <utility>

#include "controller/parts.h"
#include "kapi/kinds.h"

namespace gs::engine {
namespace {

using kapi::Kind;

std::vector<controller::Reflector::Config> kindsOf(const std::vector<Informers::Source>& sources,
                                                   std::size_t listed_to_catch_up) {
  std::vector<controller::Reflector::Config> out;
  for (const Informers::Source& source : sources) {
    controller::Reflector::Config& config = out.emplace_back();
    config.kind = source.kind;
    config.ns = source.ns;
    config.selectors = source.selectors;
    config.optional = source.optional;
    config.listed_to_catch_up = listed_to_catch_up;
  }
  return out;
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

Informers::Informers(Engine& engine, const std::vector<Source>& sources, Rng& rng, controller::Owners owners,
                     std::size_t listed_to_catch_up)
    : engine_{engine},
      parts_{std::move(owners)},
      watches_{parts_, kindsOf(sources, listed_to_catch_up), rng,
               [this](const auto& reflector, const auto& output, Now now, kapi::Effects&) {
                 take(reflector, output, now);
               }},
      server_{parts_, [this](std::optional<int> minor, Now now, kapi::Effects& out) {
                if (minor) { engine_.setServer(*minor); }
                begin(now, out);
              }} {}

void Informers::start(Now now, kapi::Effects& out) {
  if (asks_server_) {
    server_.ask(now, out);
  } else {
    begin(now, out);
  }
}

void Informers::begin(Now now, kapi::Effects& out) {
  watches_.start(now, out);
  for (const auto& [kind, revision] : std::exchange(to_catch_up_, {})) {
    watches_.catchUp(kind, revision, now, out);
  }
}

void Informers::tick(Now now, kapi::Effects& out) {
  server_.tick(now, out);
  watches_.tick(now, out);
}

void Informers::catchUp(Kind kind, model::Revision revision, Now now, kapi::Effects& out) {
  if (server_.open()) {
    to_catch_up_.emplace_back(kind, revision);
  } else {
    watches_.catchUp(kind, revision, now, out);
  }
}

bool Informers::complete() const {
  const auto& all = watches_.all();
  return std::all_of(all.begin(), all.end(),
                     [](const controller::Reflector& one) { return one.synced() || one.absent(); });
}

void Informers::take(const controller::Reflector& reflector, const controller::Reflector::Output& output,
                     Now now) {
  for (const auto& change : output.changes) { engine_.apply(change, now.mono); }
  if (output.listed_at) { forgetUnlisted(reflector, *output.listed_at, now); }
  if ((output.synced_now || reflector.absent()) && complete()) { engine_.synced(now.mono); }
  if (reflector.kind() == kapi::kQuotaMap) { tellQuota(reflector, output, now); }
  if (reflector.kind() == kapi::kResourceClaim && reflector.absent()) { engine_.resourceClaimsNotServed(); }
  if (reflector.kind() == kapi::kResourceClaim) { engine_.sawResourceClaims(reflector.progress()); }
  if (output.forbidden_now || output.listed_at) { engine_.mayList(reflector.kind(), !output.forbidden_now); }
  if (output.caught_up_now) { caught_up_.push_back(reflector.kind()); }
}

void Informers::sent(const kapi::Effects& effects) {
  for (const auto& effect : effects) {
    const auto* call = std::get_if<kapi::Call>(&effect);
    if (call == nullptr) { continue; }
    const bool latest = call->verb == kapi::Verb::List &&
                        call->query.find("resourceVersion=") == std::string::npos &&
                        call->query.find("continue=") == std::string::npos;
    if (!latest && call->verb != kapi::Verb::Create) { continue; }
    if (const auto* reflector = watches_.find(call->kind);
        reflector != nullptr && call->subresource.empty()) {
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
  } else if (reflector.kind() == kapi::kResourceClaim) {
    std::vector<std::pair<model::ObjectKey, model::Uid>> gone;
    for (const auto& [key, claim] : engine_.allocatedClaims().all()) {
      if (claim->revision <= listed_at && !reflector.knows(key, claim->uid)) {
        gone.emplace_back(key, claim->uid);
      }
    }
    for (const auto& [key, uid] : gone) { engine_.resourceClaimGone(key, uid, now.mono); }
  }
}

bool Informers::handle(const kapi::MachineEvent& event, Now now, kapi::Effects& out) {
  if (const auto* outcome = std::get_if<kapi::Outcome>(&event)) { compare(*outcome); }
  return parts_.handle(event, now, out);
}

void Informers::expectCatchUp(const std::vector<Kind>& kinds, Now now, kapi::Effects& out) {
  for (const auto& reflector : watches_.all()) {
    if (std::count(kinds.begin(), kinds.end(), reflector.kind()) > 0) {
      watches_.expectCatchUp(reflector.kind(), now, out);
    }
  }
}

bool Informers::knowSlices() const {
  const auto* slices = watches_.find(kapi::kResourceSlice);
  const auto* rules = watches_.find(kapi::kDeviceTaintRule);
  return slices != nullptr && controller::isListed(*slices) &&
         (rules == nullptr || rules->synced() || rules->absent());
}

Readiness Informers::readiness() const {
  Readiness out;
  if (server_.open()) {
    out.note("server", server_.trouble().empty() ? "its version was not answered yet" : server_.trouble());
  }
  for (const auto& reflector : watches_.all()) {
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
