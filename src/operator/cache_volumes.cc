#include "operator/cache_volumes.h"

#include <fmt/format.h>

#include "kcache/kinds/claims.h"
#include "operator/metrics.h"

namespace gs::gkm {
namespace {

using kapi::CallResult;
using kcache::Cache;

constexpr int kMostVolumeWrites = 16;
constexpr kapi::RetryTerms kVolumeTerms{.longest = CacheVolumes::kLongestWait};

const char* doingOf(VolumeAct act) {
  switch (act) {
    case VolumeAct::CreateClaim: return "making the PersistentVolumeClaim";
    case VolumeAct::CreateVolume: return "making the PersistentVolume";
    case VolumeAct::DeleteClaim: return "deleting the PersistentVolumeClaim";
    default: return "deleting the PersistentVolume";
  }
}

const char* metricOf(VolumeAct act) {
  return act == VolumeAct::CreateClaim || act == VolumeAct::DeleteClaim ? "claim" : "volume";
}

bool isNewer(const auto& known, const auto& now) {
  return known == nullptr || known->uid != now->uid || known->revision < now->revision;
}

/// What it asks of claims is as it was.
bool isSameWish(const model::Ptr<Cache>& a, const model::Ptr<Cache>& b) {
  return a != nullptr && b != nullptr && a->uid == b->uid && a->is_deleting == b->is_deleting &&
         a->wish == b->wish;
}

/// Of a claim: nothing can be made in that namespace.
bool saysNoNamespace(VolumeAct act, const kapi::Outcome& outcome) {
  if (act != VolumeAct::CreateClaim) { return false; }
  const bool is_ending = outcome.http == 403 && outcome.message.find("being terminated") != std::string::npos;
  return outcome.notFound() || is_ending;
}

/// One that the operator does not see as its own: somebody made it, or it was made here and lost its label.
std::string notOurs(const char* kind, const model::ObjectKey& key) {
  return fmt::format(
      "{0} {1} is there, and is left alone: it has not the label and annotations of the operator's own. If "
      "it "
      "was the operator's, give it back its label: kubectl {2}label {0} {3} {4}=true. Else delete it",
      kind, key.text(), key.ns.empty() ? "" : "-n " + key.ns + ' ', key.name, kManagedLabel);
}

ClaimStanding troubleOf(const model::ObjectKey& place, const std::string& volume, VolumeAct act,
                        const kapi::Outcome& outcome) {
  if (saysNoNamespace(act, outcome)) { return {ClaimState::NoNamespace, place.ns}; }
  if (outcome.http == 409 && act == VolumeAct::CreateClaim) {
    return {ClaimState::NotOurs,
            notOurs("PersistentVolumeClaim", place) + ", or give the cache another name"};
  }
  if (outcome.http == 409 && act == VolumeAct::CreateVolume && !volume.empty()) {
    return {ClaimState::Refused, notOurs("PersistentVolume", {"", volume})};
  }
  if (outcome.http == 409 || outcome.notFound()) { return {}; }  // somebody was faster
  return {ClaimState::Refused,
          kcache::printableCause(fmt::format("{}: {} {}", doingOf(act), outcome.http, outcome.message))};
}

}  // namespace

CacheVolumes::CacheVolumes(controller::Parts& parts)
    : desk_{parts.add(*this), kMostVolumeWrites, kVolumeTerms} {}

VolumeSlot CacheVolumes::shown(const model::ObjectKey& place, const Slot& slot) {
  VolumeSlot out{.ns = place.ns, .own = slot.own.get(), .wide = slot.wide.get(), .claim = slot.claim.get()};
  for (const auto& [name, volume] : slot.volumes) { out.volumes.push_back(volume.get()); }
  return out;
}

// ---- what is known

void CacheVolumes::touch(const model::ObjectKey& place) {
  news_.insert(place);
  news_.insert({"", place.name});
  if (is_leading_) { desk_.touch(place); }
}

/// The watch brought something: no more waiting for it.
void CacheVolumes::heard(const model::ObjectKey& place) {
  desk_.worked(place);
  touch(place);
}

/// Of what nobody speaks nothing is kept.
void CacheVolumes::drop(const model::ObjectKey& place) {
  const auto it = slots_.find(place);
  if (it == slots_.end()) { return; }
  const Slot& slot = it->second;
  if (slot.own || slot.wide || slot.claim || !slot.volumes.empty()) { return; }
  slots_.erase(it);
  desk_.forget(place);
}

void CacheVolumes::setCache(const model::ObjectKey& cache, const std::string& ns,
                            const model::Ptr<Cache>& value) {
  const model::ObjectKey place{ns, cache.name};
  Slot& slot = slots_[place];
  auto& known = cache.ns.empty() ? slot.wide : slot.own;
  const auto before = std::exchange(known, value);
  if (isSameWish(before, value)) { return; }
  if (before == nullptr || value == nullptr || before->uid != value->uid) { slot.trouble = {}; }
  touch(place);
  drop(place);
}

void CacheVolumes::changed(const model::Ptr<Cache>& cache) {
  const auto namespaces = claimNamespaces(*cache);
  const auto known = wants_.find(cache->key);
  if (namespaces.empty() && known == wants_.end()) { return; }
  std::set<std::string> wanted{namespaces.begin(), namespaces.end()};
  const std::set<std::string> before = known == wants_.end() ? std::set<std::string>{} : known->second;
  for (const auto& ns : before) {
    if (!wanted.contains(ns)) { setCache(cache->key, ns, nullptr); }
  }
  for (const auto& ns : wanted) { setCache(cache->key, ns, cache); }
  if (wanted.empty()) {
    wants_.erase(cache->key);
  } else {
    wants_.insert_or_assign(cache->key, std::move(wanted));
  }
}

void CacheVolumes::gone(const model::ObjectKey& cache) {
  const auto known = wants_.extract(cache);
  if (known.empty()) { return; }
  for (const auto& ns : known.mapped()) { setCache(cache, ns, nullptr); }
}

void CacheVolumes::claimChanged(const model::Ptr<VolumeClaim>& claim) {
  if (claim->handle.empty()) { return claimGone(claim->key, claim->uid); }
  Slot& slot = slots_[claim->key];
  if (!isNewer(slot.claim, claim)) { return; }
  if (slot.claim == nullptr) { ++claims_; }
  if (slot.claim == nullptr || claim->is_bound) { slot.trouble = {}; }
  slot.claim = claim;
  heard(claim->key);
}

void CacheVolumes::claimGone(const model::ObjectKey& key, const model::Uid& uid) {
  const auto it = slots_.find(key);
  if (it == slots_.end() || it->second.claim == nullptr || it->second.claim->uid != uid) { return; }
  it->second.claim = nullptr;
  --claims_;
  heard(key);
  drop(key);
}

void CacheVolumes::volumeChanged(const model::Ptr<Volume>& volume) {
  if (volume->handle.empty()) { return volumeGone(volume->key.name, volume->uid); }
  auto& known = volumes_[volume->key.name];
  if (!isNewer(known, volume)) { return; }
  known = volume;
  const auto place = kcache::parseVolumeHandle(volume->handle)->claim();  // its name says its handle
  slots_[place].volumes.insert_or_assign(volume->key.name, volume);
  heard(place);
}

void CacheVolumes::volumeGone(const std::string& name, const model::Uid& uid) {
  const auto it = volumes_.find(name);
  if (it == volumes_.end() || it->second->uid != uid) { return; }
  const auto place = kcache::parseVolumeHandle(it->second->handle)->claim();
  volumes_.erase(it);
  slots_.at(place).volumes.erase(name);
  heard(place);
  drop(place);
}

// ---- what is done

void CacheVolumes::lead() {
  is_leading_ = true;
  for (auto& [place, slot] : slots_) {
    slot.trouble = {};
    desk_.touch(place);
  }
}

void CacheVolumes::reset() {
  is_leading_ = false;
  desk_.reset();
}

void CacheVolumes::go(Now now, const SizeOf& size_of, kapi::Effects& out) {
  while (is_leading_) {
    const auto place = desk_.next(now.mono);
    if (!place) { return; }
    const auto it = slots_.find(*place);
    if (it != slots_.end()) { look(*place, it->second, size_of, out); }
  }
}

std::optional<Mono> CacheVolumes::nextDue() const { return is_leading_ ? desk_.nextDue() : std::nullopt; }

void CacheVolumes::look(const model::ObjectKey& place, const Slot& slot, const SizeOf& size_of,
                        kapi::Effects& out) {
  const VolumePlan plan = planOf(shown(place, slot));
  kapi::Call call;
  switch (plan.act) {
    case VolumeAct::Nothing: return;
    case VolumeAct::CreateClaim: call = createClaim(*plan.cache, place.ns, size_of(plan.cache->key)); break;
    case VolumeAct::CreateVolume: call = createVolume(*plan.cache, *slot.claim); break;
    case VolumeAct::DeleteClaim: call = deleteClaim(*slot.claim); break;
    case VolumeAct::DeleteVolume: call = deleteVolume(*plan.volume); break;
  }
  call.leader_only = true;
  call.token = desk_.begin(place, plan.act);
  out.emplace_back(std::move(call));
}

void CacheVolumes::handle(const kapi::Outcome& outcome, Now now, kapi::Effects& out) {
  const auto answer = desk_.answered(outcome.token);
  if (!answer) { return; }
  const auto& [place, act, is_stale] = *answer;
  const bool is_applied = outcome.result == CallResult::Applied;
  out.emplace_back(countWrite(kWrites, metricOf(act), is_applied));
  if (is_stale) { return; }
  if (is_applied) {
    // The watch says what became of it: an answer may show what is gone by now.
    desk_.failed(place, now.mono, kGap);
  } else {
    failed(place, act, outcome, now, out);
  }
}

void CacheVolumes::failed(const model::ObjectKey& place, VolumeAct act, const kapi::Outcome& outcome, Now now,
                          kapi::Effects& out) {
  desk_.failed(place, now.mono, outcome.retry_after);
  const auto it = slots_.find(place);
  if (it == slots_.end()) { return; }
  const auto& claim = it->second.claim;
  ClaimStanding trouble = troubleOf(place, claim == nullptr ? "" : claim->volume, act, outcome);
  if (trouble == it->second.trouble) { return; }
  if (trouble.state == ClaimState::Refused) {
    out.emplace_back(kapi::Log{kapi::Level::Warn, trouble.why, {{"claim", place.text()}}});
  }
  it->second.trouble = std::move(trouble);
  news_.insert(place);
  news_.insert({"", place.name});
}

ClaimStandings CacheVolumes::standingsOf(const Cache& cache) const {
  ClaimStandings out;
  for (const auto& ns : claimNamespaces(cache)) {
    const model::ObjectKey place{ns, cache.key.name};
    const auto it = slots_.find(place);
    const bool is_there = it != slots_.end() && it->second.claim != nullptr;
    if (cache.is_deleting && !is_there) { continue; }
    ClaimStanding standing =
        standingOf(it == slots_.end() ? VolumeSlot{.ns = ns} : shown(place, it->second), cache);
    const bool is_troubled = it != slots_.end() && it->second.trouble.state != ClaimState::Waiting;
    if (is_troubled && standing.state == ClaimState::Waiting) { standing = it->second.trouble; }
    out.emplace(ns, std::move(standing));
  }
  return out;
}

}  // namespace gs::gkm
