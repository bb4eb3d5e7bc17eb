#include "operator/claim_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "kcache/kinds/claims.h"

namespace gs::gkm {
namespace {

using kcache::Cache;
using kcache::ClaimStatus;
using kcache::Remark;
using kcache::State;

constexpr const char* kAsksNoNamespace = "spec.workloadNamespaces names none: name those whose pods mount it";

/// By ClaimState.
constexpr std::array kReasons{"Bound", "Waiting", "Deleting", "NoNamespace", "Refused", "NotOurs"};
const char* reasonOf(ClaimState state) { return kReasons.at(static_cast<std::size_t>(state)); }

std::string textOf(const ClaimStanding& standing) {
  return standing.state == ClaimState::NoNamespace
             ? fmt::format("namespace {} is not there, or is being deleted", standing.why)
             : standing.why;
}

/// How it is there: as over all nodes, once the claim is bound.
State stateOf(ClaimState claim, State over_all) {
  switch (claim) {
    case ClaimState::Bound: return over_all == State::NoNamespace ? State::Pending : over_all;
    case ClaimState::Waiting: return State::Pending;
    case ClaimState::Going: return State::Deleting;
    case ClaimState::NoNamespace: return State::NoNamespace;
    default: return State::Error;
  }
}

const ClaimStatus* claimBefore(const Cache& cache, const std::string& ns) {
  if (!cache.status) { return nullptr; }
  const auto it = cache.status->claims.find(ns);
  return it == cache.status->claims.end() ? nullptr : &it->second;
}

ClaimStatus claimStatusOf(const Cache& cache, const std::string& ns, const ClaimStanding& standing,
                          State over_all, Wall now) {
  const State state = stateOf(standing.state, over_all);
  const ClaimStatus* before = claimBefore(cache, ns);
  const bool is_same = before != nullptr && before->condition && before->condition->state == state;
  return {.volume = kcache::volumeName(kcache::volumeHandle(cache.key, ns)),
          .claim = cache.key.name,
          .condition = kcache::Condition{state, kcache::messageOf(state, standing.why),
                                         is_same ? before->condition->since : now}};
}

Remark readyOf(const Cache& cache, const ClaimStandings& standings) {
  Remark out{.kind = Remark::Kind::ClaimsReady, .reason = reasonOf(ClaimState::Bound), .message = {}};
  const auto worst = std::max_element(standings.begin(), standings.end(), [](const auto& a, const auto& b) {
    return a.second.state < b.second.state;
  });
  if (worst == standings.end()) {
    out.reason = reasonOf(ClaimState::NoNamespace);
    out.message = kAsksNoNamespace;
    return out;
  }
  const auto ready = std::count_if(standings.begin(), standings.end(),
                                   [](const auto& one) { return one.second.state == ClaimState::Bound; });
  out.is_true = static_cast<std::size_t>(ready) == standings.size();
  out.reason = reasonOf(worst->second.state);
  out.message = out.is_true ? fmt::format("pods find it by PersistentVolumeClaim {}", cache.key.name)
                            : fmt::format("{} ({} of {} namespaces are ready)", textOf(worst->second), ready,
                                          standings.size());
  return out;
}

Remark unusedOf(const Cache& cache) {
  return {.kind = Remark::Kind::FieldsUnused,
          .is_true = true,
          .reason = "NotNeeded",
          .message = fmt::format("spec.{} means nothing here: the files come from each node's own store, for "
                                 "reading, without Jobs and storage classes",
                                 fmt::join(cache.wish.unused, ", spec."))};
}

void addRemark(const Cache& cache, Remark remark, Wall now, kcache::CacheStatus& status) {
  remark.since = now;
  if (cache.status) {
    for (const Remark& before : cache.status->remarks) {
      if (before.kind == remark.kind && before.is_true == remark.is_true) { remark.since = before.since; }
    }
  }
  status.remarks.push_back(std::move(remark));
}

}  // namespace

std::string missingNamespaces(const Cache& cache, const ClaimStandings& standings) {
  if (!cache.wish.is_wanted) { return {}; }
  if (standings.empty()) { return kAsksNoNamespace; }
  std::string first;
  std::size_t more = 0;
  for (const auto& [ns, standing] : standings) {
    if (standing.state != ClaimState::NoNamespace) { continue; }
    first.empty() ? void(first = ns) : void(++more);
  }
  return more == 0 ? first : fmt::format("{} (and {} more)", first, more);
}

bool isClaimInUse(const ClaimStandings& standings) {
  return std::any_of(standings.begin(), standings.end(),
                     [](const auto& one) { return one.second.state == ClaimState::Going; });
}

void addClaims(const Cache& cache, const ClaimStandings& standings, Wall now, kcache::CacheStatus& status) {
  if (!cache.wish.is_wanted) { return; }
  for (const auto& [ns, standing] : standings) {
    status.claims.emplace(ns, claimStatusOf(cache, ns, standing, status.condition->state, now));
  }
  addRemark(cache, readyOf(cache, standings), now, status);
  if (!cache.wish.unused.empty()) { addRemark(cache, unusedOf(cache), now, status); }
}

}  // namespace gs::gkm
