#include "operator/plan.h"

#include <utility>

#include "base/mutant.h"
#include "kcache/image/digest.h"
#include "kcache/kinds/names.h"
#include "operator/claim_status.h"

namespace gs::gkm {
namespace {

using kcache::State;

struct Found {
  State state = State::Pending;
  std::string cause{};
};

/// Of a cache that is being deleted it counts most that it cannot be removed.
Found findState(const kcache::Cache& cache, const Tally& tally, const ClaimStandings& claims) {
  const kcache::Counts& counts = tally.counts();
  Found error{State::Error, tally.error()};
  Found unload_error{State::UnloadError, tally.unloadError()};
  if (cache.is_deleting) {
    if (!unload_error.cause.empty()) { return unload_error; }
    if (isClaimInUse(claims)) { return {State::Deleting}; }
  }
  if (!error.cause.empty()) { return error; }
  if (!unload_error.cause.empty()) { return unload_error; }
  if (auto missing = missingNamespaces(cache, claims); !missing.empty() && !cache.is_deleting) {
    return {State::NoNamespace, std::move(missing)};
  }
  if (counts.pods_outdated > 0) { return {State::Outdated}; }
  if (counts.nodes_in_use > 0) { return {State::Running}; }
  if (counts.nodes_not_in_use > 0) { return {State::Extracted}; }
  if (cache.wish.is_wanted && tally.isComing()) { return {State::Downloading}; }
  return {};
}

/// Of a cache that is being deleted: that is worth a word.
bool isStuck(State state) { return state == State::UnloadError || state == State::Deleting; }

/// "" it has one.
std::string digestTrouble(const kcache::Cache& cache) {
  if (cache.digest.empty()) {
    return "its image has no digest yet: the webhook writes the annotation gkm.io/resolvedDigest";
  }
  const auto digest = kcache::Digest::parse(cache.digest);
  return digest ? "" : "annotation gkm.io/resolvedDigest: " + digest.error().message;
}

}  // namespace

kcache::CacheStatus statusOf(const kcache::Cache& cache, const Tally& tally, Wall now,
                             const ClaimStandings& claims) {
  Found found = findState(cache, tally, claims);
  const std::string trouble = digestTrouble(cache);
  if (!trouble.empty() && found.state == State::Pending) { found.cause = trouble; }
  const auto& before = cache.status ? cache.status->condition : std::nullopt;
  const bool is_same = before && before->state == found.state;
  kcache::CacheStatus out{
      .resolved_digest = trouble.empty() ? cache.digest : "",
      .counts = tally.counts(),
      .condition = kcache::Condition{found.state, kcache::messageOf(found.state, found.cause),
                                     is_same ? before->since : now},
      .last_updated = now};
  addClaims(cache, claims, now, out);
  return out;
}

Plan planOf(const kcache::Cache& cache, const Tally& tally, Wall now, const ClaimStandings& claims) {
  const char* finalizer = kcache::finalizerOf(cache.key);
  const bool has_finalizer = cache.finalizers.has(finalizer);
  if (cache.is_deleting && has_finalizer && (!tally.isHeld() || GS_MUTANT(LetsMountedGo))) {
    return {.act = Act::RemoveFinalizer};
  }
  const bool is_wanted = !cache.is_deleting && digestTrouble(cache).empty();
  if (is_wanted && !has_finalizer) { return {.act = Act::AddFinalizer}; }
  kcache::CacheStatus status = statusOf(cache, tally, now, claims);
  const State state = status.condition->state;
  const bool was_stuck = cache.status && cache.status->condition && isStuck(cache.status->condition->state);
  if (cache.is_deleting && !isStuck(state) && !was_stuck) { return {}; }
  if (!cache.status || !cache.status->condition) { return {Act::WriteStatus, std::move(status)}; }
  const auto& before = *cache.status;
  const bool is_same = before.resolved_digest == status.resolved_digest && before.counts == status.counts &&
                       before.condition->state == state && before.claims == status.claims &&
                       before.remarks == status.remarks;
  if (is_same && before.condition->message == status.condition->message) { return {}; }
  return {Act::WriteStatus, std::move(status), is_same};
}

}  // namespace gs::gkm
