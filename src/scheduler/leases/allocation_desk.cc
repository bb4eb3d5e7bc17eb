#include "scheduler/leases/allocation_desk.h"

#include <fmt/format.h>
#include <algorithm>

#include "dra/limits.h"
#include "kapi/kinds.h"
#include "kapi/write.h"
#include "kapi/write_dra.h"

namespace gs::scheduler {
namespace {

using kapi::CallResult;
using Came = AllocationNotice::What;

/// The object of the name that the pod's own claim has.
const model::ResourceClaim* claimOf(const engine::Engine& engine, const model::Pod& pod) {
  return engine.allocatedClaims().find(kapi::claimKeyOf(pod));
}

/// What it is allocated is for this pod alone: whoever decides about the pod wrote it. Its status users
/// cannot write, its metadata they can.
bool isAllocatedFor(const model::ResourceClaim& claim, const model::Uid& pod) {
  return claim.allocated && claim.reserved_for == std::vector<model::Uid>{pod};
}

bool isAllocatedTo(const model::ResourceClaim& claim, const model::Uid& pod, const Allocation& wanted) {
  const auto sorted = [](std::vector<model::AllocatedDevice> devices) {
    std::sort(devices.begin(), devices.end());
    return devices;
  };
  return isAllocatedFor(claim, pod) && sorted(claim.results) == sorted(wanted.devices);
}

/// Why the object of that name cannot be the pod's claim; "": it can.
std::string trouble(const model::ResourceClaim& claim, const model::Uid& pod, const Allocation& wanted) {
  const char* what = nullptr;
  const bool is_ours = claim.owner_pod == pod && !claim.reservation.empty();
  if (!is_ours) { what = "was made by somebody else"; }
  if (claim.allocated && !isAllocatedFor(claim, pod)) { what = "is used by others"; }
  if (what == nullptr && claim.requests != dra::claimRequests(wanted.requests)) {
    what = "asks for something else";
  }
  if (what == nullptr && claim.deleting) { what = "is being deleted"; }
  if (what == nullptr) { return {}; }
  return fmt::format("ResourceClaim {}, which the pod needs, {}; delete it, or create the pod anew",
                     claim.key.text(), what);
}

}  // namespace

void AllocationDesk::allocate(const model::Pod& pod, Allocation wanted, bool others) {
  Wish& wish = wishes_[pod.uid];
  wish.pod.key = pod.key;
  wish.pod.uid = pod.uid;
  wish.wanted = std::move(wanted);
  wish.must_fence = wish.must_fence || others;
  wish.calls = 0;
  active_.insert(pod.uid);
}

void AllocationDesk::empty(const model::Uid& uid, const model::ObjectKey& pod, bool others) {
  Wish& wish = wishes_[uid];
  wish.pod.key = pod;
  wish.pod.uid = uid;
  wish.wanted.reset();
  wish.must_fence = wish.must_fence || others;  // and where a PUT that is under way has an unknown outcome
  wish.calls = 0;
  active_.insert(uid);
}

bool AllocationDesk::isAllocated(const model::Pod& pod, const Allocation& wanted) const {
  const model::ResourceClaim* claim = claimOf(engine_, pod);
  return claim != nullptr && isAllocatedTo(*claim, pod.uid, wanted) &&
         trouble(*claim, pod.uid, wanted).empty();
}

bool AllocationDesk::isAllocatedOtherwise(const model::Pod& pod, const Allocation& than) const {
  const model::ResourceClaim* claim = claimOf(engine_, pod);
  return claim != nullptr && claim->allocated && !isAllocatedTo(*claim, pod.uid, than);
}

bool AllocationDesk::hasClaim(const model::Pod& pod) const {
  const model::ResourceClaim* claim = claimOf(engine_, pod);
  return claim != nullptr && claim->owner_pod == pod.uid;
}

bool AllocationDesk::hasDevices(const model::Pod& pod) const {
  const model::ResourceClaim* claim = claimOf(engine_, pod);
  return claim != nullptr && isAllocatedFor(*claim, pod.uid);
}

std::optional<AllocationNotice> AllocationDesk::settled(const Wish& wish, const model::ResourceClaim* claim) {
  const model::Uid& uid = wish.pod.uid;
  if (!wish.wanted) {
    const bool is_used = claim != nullptr && claim->allocated && !isAllocatedFor(*claim, uid);
    const bool is_full = claim != nullptr && isAllocatedFor(*claim, uid);
    if (is_full || ((wish.must_read || wish.must_fence) && !is_used)) { return std::nullopt; }
    return AllocationNotice{Came::Empty, uid};
  }
  if (claim == nullptr || wish.must_read) { return std::nullopt; }
  // Somebody who writes it too may yet empty it.
  const bool is_stale = wish.must_fence && isAllocatedTo(*claim, uid, *wish.wanted);
  if (is_stale) { return std::nullopt; }
  if (auto why = trouble(*claim, uid, *wish.wanted); !why.empty()) {
    return AllocationNotice{Came::Refused, uid, 0, std::move(why)};
  }
  if (!isAllocatedTo(*claim, uid, *wish.wanted)) { return std::nullopt; }
  return AllocationNotice{Came::Allocated, uid, claim->revision};
}

/// The next call on the way there.
std::pair<AllocationDesk::Sent, kapi::Call> AllocationDesk::plan(Wish& wish,
                                                                 const model::ResourceClaim* claim) {
  if (claim == nullptr && wish.wanted && !wish.must_read) {
    return {Sent::Make, kapi::createClaim(wish.pod, wish.wanted->requests, wish.wanted->reservation)};
  }
  if (claim == nullptr || wish.must_read) {
    wish.must_read = false;
    return {Sent::Read, kapi::getObject(kapi::kResourceClaim, kapi::claimKeyOf(wish.pod))};
  }
  if (wish.must_fence) { return {Sent::Fence, kapi::fenceClaim(*claim, rng_.uuid())}; }
  if (claim->allocated || !wish.wanted) { return {Sent::Clear, kapi::emptyClaim(*claim)}; }
  return {Sent::Allocate, kapi::allocateClaim(*claim, wish.pod, wish.wanted->node, wish.wanted->devices)};
}

void AllocationDesk::step(const model::Uid& uid, Wish& wish, Mono now, kapi::Effects& out) {
  if (calls_.open(uid)) { return; }
  const model::ResourceClaim* claim = claimOf(engine_, wish.pod);
  if (auto notice = settled(wish, claim)) {
    if (notice->what != Came::Refused) { calls_.worked(uid); }
    notices_.push_back(*std::move(notice));
    wishes_.erase(uid);
    return;
  }
  if (!calls_.due(uid, now)) { return; }
  auto [sent, call] = plan(wish, claim);
  call.token = calls_.begin(uid, {sent, claim == nullptr ? model::Uid{} : claim->uid});
  call.leader_only = sent != Sent::Read;
  ++wish.calls;
  out.emplace_back(std::move(call));
}

void AllocationDesk::pump(Mono now, kapi::Effects& out) {
  for (auto& uid : calls_.takeDue(now)) { active_.insert(std::move(uid)); }
  for (const auto& uid : std::exchange(active_, {})) {
    const auto it = wishes_.find(uid);
    if (it != wishes_.end()) { step(uid, it->second, now, out); }
  }
}

void AllocationDesk::refused(Wish& wish, const OnItsWay& call, const kapi::Outcome& outcome, Mono now) {
  const model::Uid& uid = wish.pod.uid;
  const model::ObjectKey key = kapi::claimKeyOf(wish.pod);
  const bool waits = outcome.http == 429 || outcome.http == 401;
  if (outcome.http == 409) {
    wish.must_read = true;
  } else if (outcome.notFound() && call.sent != Sent::Make) {
    if (!call.claim.empty()) { engine_.resourceClaimGone(key, call.claim); }
    wish.must_fence = false;           // what is not there cannot be allocated
  } else if (waits || !wish.wanted) {  // nothing may be given to others before it is empty
    calls_.failed(uid, now, outcome.retry_after);
  } else {
    notices_.push_back(
        {Came::Refused, uid, 0,
         fmt::format("ResourceClaim {} was refused: {} {}", key.text(), outcome.http, outcome.message)});
    calls_.failed(uid, now, outcome.retry_after);
    wishes_.erase(uid);
  }
}

void AllocationDesk::answered(Wish& wish, const OnItsWay& call, const kapi::Outcome& outcome, Mono now) {
  const Sent sent = call.sent;
  const model::Uid& uid = wish.pod.uid;
  switch (outcome.result) {
    case CallResult::Applied:
      if (sent == Sent::Fence) { wish.must_fence = false; }
      engine_.learn(outcome.object, now);
      if (wish.calls > kAtOnce) { calls_.failed(uid, now, outcome.retry_after); }
      return;
    case CallResult::Unknown:
      wish.must_fence = wish.must_fence || (sent == Sent::Allocate);
      wish.must_read = true;
      calls_.failed(uid, now, outcome.retry_after);
      return;
    case CallResult::NotSent:
      wish.must_read = wish.must_read || sent == Sent::Read;
      calls_.failed(uid, now, outcome.retry_after);
      return;
    case CallResult::Refused: refused(wish, call, outcome, now); return;
  }
}

void AllocationDesk::handle(const kapi::Outcome& outcome, Now now, kapi::Effects& /*out*/) {
  const auto call = calls_.answered(outcome.token);
  if (!call) { return; }  // of an earlier term
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
  notices_.clear();
  calls_.reset();
}

}  // namespace gs::scheduler
