#include "scheduler/leases/allocation_desk.h"

#include <fmt/format.h>
#include <algorithm>

#include "base/mutant.h"
#include "dra/limits.h"
#include "kapi/kinds.h"
#include "kapi/write.h"
#include "kapi/write_dra.h"

namespace gs::scheduler {
namespace {

using kapi::CallResult;
using Came = AllocationNotice::What;

bool isForItAlone(const model::ResourceClaim& claim, const model::Uid& pod) {
  return claim.reserved_for == std::vector<model::Uid>{pod};
}

/// What it is allocated is for this pod: whoever decides about the pod wrote it. Its status users cannot
/// write, its metadata they can. The claim of a pod's limits is its own; others may be for others too.
bool isAllocatedFor(const model::ResourceClaim& claim, const model::Uid& pod, bool for_limits) {
  return claim.allocated && (for_limits ? isForItAlone(claim, pod) : claim.isReservedFor(pod));
}

bool hasDevices(const model::ResourceClaim& claim, const Allocation& wanted) {
  const auto sorted = [](std::vector<model::AllocatedDevice> devices) {
    std::sort(devices.begin(), devices.end());
    return devices;
  };
  return claim.allocated && sorted(claim.results) == sorted(wanted.devices);
}

bool isAllocatedTo(const model::ResourceClaim& claim, const model::Uid& pod, const Allocation& wanted) {
  const bool is_its = isAllocatedFor(claim, pod, wanted.isForLimits()) || GS_MUTANT(JoinsUnreserved);
  return is_its && hasDevices(claim, wanted);
}

/// Why the object of that name cannot be the pod's claim; "": it can.
std::string trouble(const model::ResourceClaim& claim, const model::Uid& pod, const Allocation& wanted) {
  const char* what = nullptr;
  const bool is_ours = claim.owner_pod == pod && !claim.reservation.empty();
  if (wanted.isForLimits() && !is_ours) { what = "was made by somebody else"; }
  if (!wanted.isForLimits() && claim.uid != wanted.of) { what = "is another one by now"; }
  const bool may_join = !wanted.isForLimits() && hasDevices(claim, wanted);
  if (claim.allocated && !isForItAlone(claim, pod) && !may_join) { what = "is used by others"; }
  if (claim.reserved_for.size() >= model::kMaxReservedFor && !claim.isReservedFor(pod)) {
    what = "is reserved for as many pods as it may be";
  }
  const bool asks = !wanted.isForLimits() || claim.requests == dra::claimRequests(wanted.requests);
  if (what == nullptr && !asks) { what = "asks for something else"; }
  if (what == nullptr && claim.deleting) { what = "is being deleted"; }
  if (what == nullptr) { return {}; }
  return fmt::format("ResourceClaim {}, which the pod needs, {}{}", claim.key.text(), what,
                     wanted.isForLimits() ? "; delete it, or create the pod anew" : "");
}

}  // namespace

AllocationDesk::OfClaim* AllocationDesk::Wish::of(const model::ObjectKey& key) {
  const auto it = std::find_if(claims.begin(), claims.end(), [&](const auto& one) { return one.key == key; });
  return it == claims.end() ? nullptr : &*it;
}

bool AllocationDesk::Wish::hadMany() const { return calls > kAtOnce * static_cast<int>(claims.size()); }

void AllocationDesk::wish(const model::Uid& uid, const model::ObjectKey& pod, std::vector<OfClaim> claims,
                          bool others) {
  Wish& wish = wishes_[uid];
  wish.pod.key = pod;
  wish.pod.uid = uid;
  wish.calls = 0;
  for (OfClaim& one : claims) {
    if (const OfClaim* before = wish.of(one.key)) {
      one.must_read = before->must_read;
      one.must_fence = before->must_fence;
    }
    one.must_fence = one.must_fence || others;
  }
  wish.claims = std::move(claims);
  active_.insert(uid);
}

void AllocationDesk::allocate(const model::Pod& pod, const Allocations& wanted, bool others) {
  std::vector<OfClaim> claims;
  claims.reserve(wanted.size());
  for (const Allocation& one : wanted) { claims.push_back({one.claim, one, one.isForLimits()}); }
  wish(pod.uid, pod.key, std::move(claims), others);
}

void AllocationDesk::empty(const model::Uid& uid, const model::ObjectKey& pod,
                           const std::vector<model::ObjectKey>& claims, bool others) {
  std::vector<OfClaim> all;
  all.reserve(claims.size());
  model::Pod of;
  of.key = pod;
  of.uid = uid;
  for (const auto& key : claims) { all.push_back({key, {}, key == kapi::claimKeyOf(of)}); }
  wish(uid, pod, std::move(all), others);  // and where a PUT that is under way has an unknown outcome
}

bool AllocationDesk::isAllocated(const model::Pod& pod, const Allocations& wanted) const {
  return std::all_of(wanted.begin(), wanted.end(), [&](const Allocation& one) {
    const model::ResourceClaim* claim = engine_.allocatedClaims().find(one.claim);
    return claim != nullptr && isAllocatedTo(*claim, pod.uid, one) && trouble(*claim, pod.uid, one).empty();
  });
}

bool AllocationDesk::isAllocatedOtherwise(const model::Pod& pod, const Allocation& than) const {
  const model::ResourceClaim* claim = engine_.allocatedClaims().find(than.claim);
  return claim != nullptr && claim->allocated && !isAllocatedTo(*claim, pod.uid, than);
}

bool AllocationDesk::hasClaim(const model::Pod& pod) const {
  const model::ResourceClaim* claim = engine_.allocatedClaims().find(kapi::claimKeyOf(pod));
  return claim != nullptr && claim->owner_pod == pod.uid;
}

std::vector<model::ObjectKey> AllocationDesk::withDevices(const model::Pod& pod, bool named) const {
  std::vector<model::ObjectKey> out;
  const auto look = [&](const model::ObjectKey& key, bool for_limits) {
    const model::ResourceClaim* claim = engine_.allocatedClaims().find(key);
    if (claim != nullptr && isAllocatedFor(*claim, pod.uid, for_limits)) { out.push_back(key); }
  };
  look(kapi::claimKeyOf(pod), true);
  if (!named) { return out; }
  for (const auto& one : pod.claims) { look({pod.key.ns, one.claim}, false); }
  return out;
}

/// nullopt: something is to be done yet.
std::optional<AllocationNotice> AllocationDesk::settled(const model::Uid& pod, const OfClaim& one,
                                                        const model::ResourceClaim* claim) {
  if (!one.wanted) {
    // Whoever was allocated it after a PUT of ours was sent has seen to that: that PUT is refused. Where pods
    // share it, it may have been allocated to them before.
    const bool is_its = claim != nullptr && isAllocatedFor(*claim, pod, one.for_limits);
    const bool is_others = one.for_limits && claim != nullptr && claim->allocated && !is_its;
    if (is_its || ((one.must_read || one.must_fence) && !is_others)) { return std::nullopt; }
    return AllocationNotice{Came::Empty, pod};
  }
  if (one.must_read) { return std::nullopt; }
  if (claim == nullptr) {
    if (one.wanted->isForLimits()) { return std::nullopt; }
    return AllocationNotice{Came::Refused, pod, 0,
                            fmt::format("ResourceClaim {}, which the pod needs, is gone", one.key.text())};
  }
  // Somebody who writes it too may yet empty it.
  const bool is_stale = one.must_fence && isAllocatedTo(*claim, pod, *one.wanted);
  if (is_stale) { return std::nullopt; }
  if (auto why = trouble(*claim, pod, *one.wanted); !why.empty()) {
    return AllocationNotice{Came::Refused, pod, 0, std::move(why)};
  }
  if (!isAllocatedTo(*claim, pod, *one.wanted)) { return std::nullopt; }
  return AllocationNotice{Came::Allocated, pod, claim->revision};
}

/// The next call on the way there.
std::pair<AllocationDesk::Sent, kapi::Call> AllocationDesk::plan(const model::Pod& pod, OfClaim& one,
                                                                 const model::ResourceClaim* claim) {
  if (claim == nullptr && one.wanted && !one.must_read) {
    return {Sent::Make,
            kapi::createClaim(pod, dra::withoutSharers(one.wanted->requests), one.wanted->reservation)};
  }
  if (claim == nullptr || one.must_read) {
    one.must_read = false;
    return {Sent::Read, kapi::getObject(kapi::kResourceClaim, one.key)};
  }
  if (one.must_fence) { return {Sent::Fence, kapi::fenceClaim(*claim, rng_.uuid())}; }
  const bool is_its = isAllocatedFor(*claim, pod.uid, one.for_limits);
  if (is_its && !isForItAlone(*claim, pod.uid) && !GS_MUTANT(LeaveEmpties)) {
    return {Sent::Leave, kapi::unreserveClaim(*claim, pod.uid)};
  }
  const bool joins = one.wanted && !is_its && hasDevices(*claim, *one.wanted);
  if ((claim->allocated && !joins) || !one.wanted) { return {Sent::Clear, kapi::emptyClaim(*claim)}; }
  if (!one.for_limits && !kapi::isProtected(*claim)) { return {Sent::Protect, kapi::protectClaim(*claim)}; }
  if (joins) { return {Sent::Join, kapi::reserveClaim(*claim, pod)}; }
  return {Sent::Allocate,
          kapi::allocateClaim(*claim, pod, one.wanted->node, one.wanted->devices, one.wanted->config)};
}

void AllocationDesk::step(const model::Uid& uid, Wish& wish, Mono now, kapi::Effects& out) {
  if (calls_.open(uid)) { return; }
  AllocationNotice last{Came::Empty, uid};
  for (OfClaim& one : wish.claims) {
    const model::ResourceClaim* claim = engine_.allocatedClaims().find(one.key);
    auto notice = settled(uid, one, claim);
    if (notice && notice->what != Came::Refused) {
      last.what = notice->what;
      last.revision = std::max(last.revision, notice->revision);
      continue;
    }
    if (notice) {
      notices_.push_back(*std::move(notice));
      wishes_.erase(uid);  // `wish` is gone
      return;
    }
    if (!calls_.due(uid, now)) { return; }
    const auto [turn, is_its_turn] = turns_.try_emplace(one.key);
    if (!is_its_turn) {
      turn->second.insert(uid);
      return;
    }
    auto [sent, call] = plan(wish.pod, one, claim);
    call.token = calls_.begin(uid, {sent, one.key, claim == nullptr ? model::Uid{} : claim->uid});
    call.leader_only = sent != Sent::Read;
    ++wish.calls;
    out.emplace_back(std::move(call));
    return;
  }
  calls_.worked(uid);
  notices_.push_back(std::move(last));
  wishes_.erase(uid);
}

void AllocationDesk::pump(Mono now, kapi::Effects& out) {
  for (auto& uid : calls_.takeDue(now)) { active_.insert(std::move(uid)); }
  for (const auto& uid : std::exchange(active_, {})) {
    const auto it = wishes_.find(uid);
    if (it != wishes_.end()) { step(uid, it->second, now, out); }
  }
}

void AllocationDesk::refused(Wish& wish, OfClaim& one, const OnItsWay& call, const kapi::Outcome& outcome,
                             Mono now) {
  const model::Uid uid = wish.pod.uid;
  const bool waits = outcome.http == 429 || outcome.http == 401;
  // A conflict time and again: a name that is free whenever it is read, or a refusal that is called so.
  const bool is_refusal = outcome.http != 409 || (call.sent == Sent::Make && wish.hadMany());
  if (!is_refusal) {
    one.must_read = true;
    if (wish.hadMany()) { calls_.failed(uid, now, outcome.retry_after); }
  } else if (outcome.notFound() && call.sent != Sent::Make) {
    if (!call.claim.empty()) { engine_.resourceClaimGone(one.key, call.claim, now); }
    one.must_fence = false;  // what is not there cannot be allocated
    if (wish.hadMany()) { calls_.failed(uid, now, outcome.retry_after); }
  } else if (waits || !one.wanted) {  // nothing may be given to others before it is empty
    calls_.failed(uid, now, outcome.retry_after);
  } else {
    notices_.push_back(
        {Came::Refused, uid, 0,
         fmt::format("ResourceClaim {} was refused: {} {}", one.key.text(), outcome.http, outcome.message)});
    calls_.failed(uid, now, outcome.retry_after);
    wishes_.erase(uid);
  }
}

void AllocationDesk::answered(Wish& wish, const OnItsWay& call, const kapi::Outcome& outcome, Mono now) {
  const Sent sent = call.sent;
  const model::Uid& uid = wish.pod.uid;
  OfClaim* one = wish.of(call.key);
  if (one == nullptr) { return engine_.learn(outcome.object, now); }
  switch (outcome.result) {
    case CallResult::Applied:
      if (sent == Sent::Fence) { one->must_fence = false; }
      engine_.learn(outcome.object, now);
      if (wish.hadMany()) { calls_.failed(uid, now, outcome.retry_after); }
      return;
    case CallResult::Unknown:
      one->must_fence = one->must_fence || sent == Sent::Allocate || sent == Sent::Join;
      one->must_read = true;
      calls_.failed(uid, now, outcome.retry_after);
      return;
    case CallResult::NotSent:
      one->must_read = one->must_read || sent == Sent::Read;
      calls_.failed(uid, now, outcome.retry_after);
      return;
    case CallResult::Refused: refused(wish, *one, call, outcome, now); return;
  }
}

void AllocationDesk::handle(const kapi::Outcome& outcome, Now now, kapi::Effects& /*out*/) {
  const auto call = calls_.answered(outcome.token);
  if (!call) { return; }  // of an earlier term
  if (auto turn = turns_.extract(call->what.key)) { active_.merge(turn.mapped()); }
  const auto it = wishes_.find(call->key);
  if (it == wishes_.end() || call->stale) {
    if (outcome.result == CallResult::Applied) { engine_.learn(outcome.object, now.mono); }
    return;
  }
  active_.insert(call->key);
  answered(it->second, call->what, outcome, now.mono);
}

void AllocationDesk::podEnded(const model::Uid& uid) {
  wishes_.erase(uid);
  calls_.forget(uid);
}

void AllocationDesk::reset() {
  wishes_.clear();
  active_.clear();
  turns_.clear();
  notices_.clear();
  calls_.reset();
}

}  // namespace gs::scheduler
