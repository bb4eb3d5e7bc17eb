#include "scheduler/placing/binder.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/mutant.h"
#include "kapi/kinds.h"
#include "kapi/retry_wait.h"
#include "kapi/write.h"
#include "sched/doors/exact.h"
#include "sched/ledger/quota.h"
#include "scheduler/core/metrics.h"
#include "scheduler/leases/claimant.h"

namespace gs::scheduler {
namespace {

using kapi::CallResult;
constexpr int kMaxBindSends = 3;
constexpr Duration kBindingAtMost = std::chrono::seconds{10};  // then others may have the GPUs
constexpr Duration kLeasingAtMost = std::chrono::seconds{10};
constexpr Duration kFailingAtMost = std::chrono::seconds{3};  // when its leases fail, and are not merely slow
constexpr Duration kBoundUnseen = std::chrono::seconds{10};

/// This decision is what the pod was bound with: its reservation says so.
/// (What else it says may have been edited since.)
bool boundAsDecided(const Grant& grant, const model::Pod& pod) {
  if (pod.node != grant.node) { return false; }
  if (grant.ids.empty()) { return !sched::allocatedIds(pod); }
  return sched::reservationOf(pod) == grant.id.text;
}

}  // namespace

// ---- grants

Grant* Binder::find(const model::Uid& uid) {
  const auto it = grants_.find(uid);
  return it == grants_.end() ? nullptr : &it->second;
}

const Grant* Binder::find(const model::Uid& uid) const {
  const auto it = grants_.find(uid);
  return it == grants_.end() ? nullptr : &it->second;
}

void Binder::forget(const model::Uid& uid) {
  auto grant = grants_.extract(uid);
  if (!grant.empty()) {
    grant.mapped().hold.release();
    c_.engine.expectsNoMore(grant.mapped().node, uid);
  }
  calls_.drop(uid);
  slots_.close(uid);
}

Grant Binder::make(const model::Pod& pod, const model::NodeName& node, std::vector<int> ids,
                   const sched::PodRequest& request) {
  Grant grant;
  grant.id = model::ReservationId{c_.rng.uuid()};
  grant.uid = pod.uid;
  grant.pod = pod.key;
  grant.node = node;
  grant.ids = std::move(ids);
  grant.uuids = c_.gpuUuids(grant.node, grant.ids);
  grant.door = request.door;
  grant.shared = request.devices && request.devices->shared;
  grant.by_id = request.devices && !request.devices->exact.empty();
  grant.fence = fenceOf(pod);
  grant.caches = node_caches_.saidThere(pod.kernel_caches, node);
  return grant;
}

void Binder::grant(const model::Pod& pod, const sched::PodRequest& request, const sched::Placed& placed) {
  std::vector<int> ids = placed.ids;
  if (GS_MUTANT(GrantsOneTooFew) && ids.size() > 1) { ids.pop_back(); }
  Grant grant = make(pod, placed.node, std::move(ids), request);
  grant.hold = c_.engine.ledger().reserve(placed.node, pod.uid, request, grant.ids,
                                          {pod.key.ns, sched::gpuMilli(request)});
  c_.engine.expectsCounted(placed.node, pod.uid, c_.now.mono);
  pending_.placing(pod.uid);
  slots_.open(pod.uid, pod.key.ns);
  Grant& kept = grants_.emplace(pod.uid, std::move(grant)).first->second;
  if (kept.ids.empty()) {
    advance(kept, pod);
  } else {
    takeLeases(kept, false);
  }
}

void Binder::adopt(const model::Pod& pod, const model::NodeName& node, const std::vector<int>& ids,
                   const sched::PodRequest& request) {
  Grant grant = make(pod, node, ids, request);
  grant.adopted = true;
  grant.hold = c_.engine.ledger().adopt(node, pod.uid, request, ids, {pod.key.ns, sched::gpuMilli(request)});
  slots_.open(pod.uid, pod.key.ns);
  c_.count(kAdoptions);
  c_.log(kapi::Level::Info, "adopted leases of an earlier leader",
         {{"pod", pod.key.text()}, {"devices", model::printAllocation(node, ids)}});
  takeLeases(grants_.emplace(pod.uid, std::move(grant)).first->second, false);
}

// ---- who asked

std::optional<model::NodeName> Binder::nodeOf(const model::Uid& uid) const {
  const Grant* grant = find(uid);
  return grant == nullptr ? std::nullopt : std::optional{grant->node};
}

std::optional<Stage> Binder::stageOf(const model::Uid& uid) const {
  const Grant* grant = find(uid);
  return grant == nullptr ? std::nullopt : std::optional{grant->stage};
}

void Binder::askedFor(const model::Uid& uid) {
  if (Grant* grant = find(uid)) { grant->asked = true; }
}

void Binder::notAskedForAnyMore(const model::Uid& uid) {
  Grant* grant = find(uid);
  if (grant == nullptr) { return; }
  grant->asked = false;
  if (grant->stage != Stage::Leasing) { return; }
  grant->in_vain = true;  // its leases were waited for in vain: another node may do
  slots_.failed(grant->pod.ns);
  giveUp(*grant, "whoever asked for it gave up");
}

void Binder::tellCaller(const Grant& grant, bool bound, std::string why) {
  if (grant.asked) { ended_.push_back({grant.uid, bound, std::move(why)}); }
}

// ---- calls

void Binder::call(Grant& grant, kapi::Call what, Purpose purpose) {
  slots_.goOn(grant.uid);
  c_.sendAbout(grant.uid, std::move(what), calls_.begin(grant.uid, purpose));
}

void Binder::handle(const kapi::Outcome& outcome, Now now, kapi::Effects& /*out*/) {
  const auto call = calls_.answered(outcome.token);
  if (!call) { return; }
  c_.reconciles.add(call->key);
  Grant* grant = find(call->key);
  if (grant == nullptr || call->stale) { return; }
  switch (call->what) {
    case Purpose::Bind: bindAnswered(*grant, outcome); return;
    case Purpose::ReadAfterConflict: conflictRead(*grant, outcome); return;
    case Purpose::Fence: fenceAnswered(*grant, outcome); return;
    case Purpose::ReadBound: c_.engine.learn(outcome.object, now.mono); return;
  }
}

void Binder::tryLater(Grant& grant, Duration retry_after) {
  grant.not_before = c_.now.mono + kapi::retryWait(++grant.rejections, retry_after);
  c_.reconciles.addAt(grant.not_before, grant.uid);
  slots_.wait(grant.uid);
}

/// False: it would hold its devices for too long; no Binding of it is on its way, and something else may be
/// done at once.
bool Binder::waitShortly(Grant& grant, Duration retry_after) {
  tryLater(grant, retry_after);
  if (grant.not_before - grant.binding_since <= kBindingAtMost) { return true; }
  grant.asked_for = retry_after;
  grant.not_before = c_.now.mono;
  return false;
}

// ---- what others see of it

bool Binder::writes(const model::Uid& uid) const {
  const Grant* grant = find(uid);
  return grant != nullptr && grant->stage != Stage::Leasing && grant->stage != Stage::Releasing;
}

bool Binder::reserved(const model::Uid& uid) const {
  const Grant* grant = find(uid);
  return grant != nullptr && grant->binding_since != Mono{} &&
         c_.now.mono - grant->binding_since >= kReservedAfter;
}

bool Binder::underWay() const {
  return calls_.underWay() > 0 || std::any_of(grants_.begin(), grants_.end(), [](const auto& grant) {
           return grant.second.stage != Stage::Bound;
         });
}

/// A Binding of it was sent, and its answer says whether it was this one.
bool Binder::awaitsBinding(const Grant& grant) const {
  return grant.stage == Stage::Binding && calls_.open(grant.uid);
}

/// Of a pod that is bound: no Binding of this decision can have done it, nor one that an earlier leader sent
/// for its leases.
bool Binder::boundByOthers(const Grant& grant) const {
  const bool none_taken = grant.stage == Stage::Leasing || grant.stage == Stage::Reading ||
                          (grant.stage == Stage::Binding && !calls_.open(grant.uid));
  return none_taken && !grant.adopted && !grant.rivalled;
}

/// The devices of its node that its pod is bound to, whoever did it:
/// their leases are seen to as a bound pod's.
std::vector<int> Binder::boundTo(const Grant& grant) const {
  const model::Pod* pod = c_.cache().pod(grant.uid);
  const auto told = pod != nullptr && pod->node == grant.node ? sched::allocatedIds(*pod) : std::nullopt;
  return told.value_or(std::vector<int>{});
}

bool Binder::bound(const model::Pod& pod) {
  bound_perhaps_.erase(pod.uid);
  Grant* grant = find(pod.uid);
  if (grant == nullptr) { return true; }
  const bool as_decided = boundAsDecided(*grant, pod);
  if (!as_decided && awaitsBinding(*grant)) { return false; }
  if (as_decided && grant->stage != Stage::Bound) { bindApplied(*grant); }
  if (!as_decided) {
    giveBut(*grant, pod);
    tellCaller(*grant, false, fmt::format("somebody else bound it to {}", pod.node.text));
  }
  forget(pod.uid);
  return true;
}

void Binder::podEnded(const model::Uid& uid) {
  if (const Grant* grant = find(uid)) {
    for (const auto& key : grant->open_leases) {
      const model::Lease* lease = c_.cache().lease(key);
      if (lease != nullptr && lease->names(uid)) {
        desk_.forget(key, uid);  // it goes when its device is reclaimed
      } else {
        desk_.give(key, uid, grant->id);  // not written yet, for all we know
      }
    }
    keepBoundPerhaps(*grant);
    tellCaller(*grant, false, "the pod is gone, or has ended");
    forget(uid);
  }
  endBoundPerhaps(uid);
}

void Binder::readOverdue(const model::Uid& uid) {
  Grant* grant = find(uid);
  if (grant == nullptr || grant->stage != Stage::Bound || calls_.open(uid)) { return; }
  if (c_.now.mono - grant->not_before <= kBoundUnseen) { return; }
  call(*grant, kapi::getObject(kapi::kPod, grant->pod), Purpose::ReadBound);
}

// ---- Bindings whose outcome nobody learned

void Binder::keepBoundPerhaps(const Grant& grant) {
  if (grant.boundPerhaps()) { bound_perhaps_[grant.uid] = {grant.node, grant.ids, grant.uuids}; }
}

/// Gone while its Binding was on its way: it may have run where we sent it, though nobody saw it there.
void Binder::endBoundPerhaps(const model::Uid& uid) {
  const auto sent = bound_perhaps_.extract(uid);
  if (!sent.empty() && c_.cache().knownGone(uid)) {
    c_.engine.mayHaveRun(uid, sent.mapped().node, sent.mapped().ids, sent.mapped().uuids, c_.now.mono);
  }
}

/// The engine knows of those that are bound; others are gone, or wait.
void Binder::settleBoundPerhaps() {
  std::vector<model::Uid> over;
  for (const auto& [uid, sent] : bound_perhaps_) {
    const model::Pod* pod = c_.cache().pod(uid);
    if (pod == nullptr || pod->bound() || pod->finished()) { over.push_back(uid); }
  }
  for (const auto& uid : over) {
    if (c_.cache().pod(uid) == nullptr) {
      endBoundPerhaps(uid);
    } else {
      bound_perhaps_.erase(uid);
    }
  }
}

void Binder::reset() {
  for (const auto& [uid, grant] : grants_) { keepBoundPerhaps(grant); }
  grants_.clear();
  ended_.clear();
  calls_.reset();
}

// ---- leases

/// The devices whose leases are to be taken or given now; those that its pod is bound to are not.
std::vector<int> Binder::openLeases(Grant& grant) {
  const std::vector<int> bound_to = boundTo(grant);
  std::vector<int> open;
  for (const int id : grant.ids) {
    const auto key = c_.leaseKey(grant.node, id);
    if (std::binary_search(bound_to.begin(), bound_to.end(), id)) {
      desk_.forget(key, grant.uid);
    } else {
      grant.open_leases.insert(key);
      open.push_back(id);
    }
  }
  return open;
}

void Binder::takeLeases(Grant& grant, bool confirm) {
  if (grant.stage != Stage::Leasing || grant.leasing_since == Mono{}) {
    grant.leasing_since = c_.now.mono;
    c_.reconciles.addAt(c_.now.mono + kFailingAtMost, grant.uid);
    c_.reconciles.addAt(c_.now.mono + kLeasingAtMost, grant.uid);
  }
  grant.stage = Stage::Leasing;
  grant.unknown_lease = false;
  for (const int id : openLeases(grant)) {
    Claimant c = claimantOf(c_, grant.uid, grant.pod, grant.id, {grant.node, grant.ids, grant.shared}, id);
    c.over_own = grant.adopted;
    desk_.take(c_.leaseKey(grant.node, id), std::move(c), confirm);
  }
}

bool Binder::noticed(const LeaseNotice& notice) {
  using What = LeaseNotice::What;
  Grant* grant = find(notice.uid);
  if (grant == nullptr || !grant->open_leases.contains(notice.lease)) { return false; }
  switch (notice.what) {
    case What::Held:
      if (grant->stage != Stage::Leasing) { break; }
      grant->unknown_lease |= notice.was_unknown;
      grant->open_leases.erase(notice.lease);
      break;
    case What::Refused:
      grant->refused = grant->in_vain = true;
      slots_.failed(grant->pod.ns);
      [[fallthrough]];
    case What::Lost:
      grant->rivalled |= notice.own_pod;
      giveUp(*grant, notice.why);
      break;
    case What::Gone:
      if (grant->stage != Stage::Releasing) { break; }
      grant->open_leases.erase(notice.lease);
      if (grant->open_leases.empty()) { finishRelease(*grant); }
      break;
  }
  return true;
}

bool Binder::leasesFail(const Grant& grant) const {
  return std::any_of(grant.open_leases.begin(), grant.open_leases.end(),
                     [this](const auto& lease) { return desk_.failing(lease); });
}

/// Others wait for its slot and its GPUs, and it could be tried on another node.
bool Binder::isLeasingTooLong(const Grant& grant) const {
  if (grant.open_leases.empty()) { return false; }
  return c_.now.mono - grant.leasing_since >= (leasesFail(grant) ? kFailingAtMost : kLeasingAtMost);
}

/// Every lease of it names the pod and the reservation, as the cache knows them.
bool Binder::holdsAllLeases(const Grant& grant) const {
  return std::all_of(grant.ids.begin(), grant.ids.end(), [&](int id) {
    const model::Lease* lease = c_.cache().lease(c_.leaseKey(grant.node, id));
    const auto part = lease == nullptr ? std::nullopt : lease->partOf(grant.uid);
    return part && part->reservation == grant.id;
  });
}

// ---- the way back

/// Nothing of ours is on its way. A Binding of who decided about this pod besides may be, on whichever fence:
/// an earlier leader, or one that does not know yet that it is none.
void Binder::giveUp(Grant& grant, std::string why) {
  if (grant.stage == Stage::Releasing || grant.stage == Stage::Fencing) { return; }
  if (!grant.adopted && !grant.rivalled) {
    release(grant, std::move(why));
    return;
  }
  grant.why = std::move(why);
  grant.stage = Stage::Fencing;
  advance(grant.uid);
}

/// A live look at the pod: after a 409 (every Binding so far was refused) or by a fence's answer (no Binding
/// can land any more).
void Binder::judgeLivePod(Grant& grant, const model::Pod& pod, bool after_fence) {
  if (pod.bound()) {
    return;
  }  // it is reconciled as a bound pod: its leases are judged by what it was bound with
  if (after_fence) {
    release(grant, grant.why.empty() ? "the outcome of its Binding was unknown; fenced" : grant.why);
  } else if (gaveUpFor(grant, pod)) {
    return;
  } else if (++grant.sends < kMaxBindSends) {
    grant.stage = Stage::Binding;
    advance(grant.uid);
  } else {
    grant.in_vain = true;
    grant.stage = Stage::Fencing;
    advance(grant.uid);
  }
}

void Binder::conflictRead(Grant& grant, const kapi::Outcome& outcome) {
  const auto pod = outcome.object.as<model::Pod>();
  if (outcome.notFound() || (pod != nullptr && pod->uid != grant.uid)) {
    c_.engine.podGone(grant.uid, c_.now.mono);
  } else if (outcome.result != CallResult::Applied || pod == nullptr) {
    if (waitShortly(grant, outcome.retry_after)) { return; }
    grant.stage = Stage::Fencing;
    advance(grant.uid);
  } else {
    c_.engine.learn(outcome.object, c_.now.mono);
    judgeLivePod(grant, *pod, false);
  }
}

void Binder::fence(Grant& grant) {
  grant.fence_value = GS_MUTANT(SameFenceTwice) ? "fence" : c_.rng.uuid();
  c_.count(kFences, {{"why", "grant"}});
  call(grant, kapi::fencePod(grant.pod, grant.uid, grant.fence_value), Purpose::Fence);
}

void Binder::fenceAnswered(Grant& grant, const kapi::Outcome& outcome) {
  const auto pod = outcome.object.as<model::Pod>();
  if (outcome.result == CallResult::Applied && pod != nullptr && pod->uid == grant.uid &&
      fenceOf(*pod) == grant.fence_value) {
    c_.engine.learn(outcome.object, c_.now.mono);
    judgeLivePod(grant, *pod, true);
    return;
  }
  slots_.failed(grant.pod.ns);
  slots_.stuck(grant.uid);
  if (outcome.result == CallResult::Refused && (outcome.http == 404 || outcome.http == 422)) {
    proofs_.prove(grant.uid, grant.pod);  // another uid or none: a live GET says which
  }
  tryLater(grant, outcome.retry_after);
}

/// What this decision has asked for and the pod was not bound to. A device that it was bound to has its lease
/// seen to as a bound pod's, whoever decided. Leases that are there go too, once it is known that they were
/// in vain: they would be taken for what the pod has.
void Binder::giveBut(const Grant& grant, const model::Pod& pod) {
  const auto told = pod.node == grant.node ? sched::allocatedIds(pod) : std::nullopt;
  std::set<model::ObjectKey> bound_to;
  for (const int id : told.value_or(std::vector<int>{})) { bound_to.insert(c_.leaseKey(grant.node, id)); }
  std::set<model::ObjectKey> leases = grant.open_leases;
  if (boundByOthers(grant)) {
    for (const int id : grant.ids) { leases.insert(c_.leaseKey(grant.node, id)); }
  }
  for (const auto& key : leases) {
    if (bound_to.contains(key)) {
      desk_.forget(key, grant.uid);
    } else {
      desk_.give(key, grant.uid, grant.id);
    }
  }
}

void Binder::release(Grant& grant, std::string why) {
  if (grant.stage == Stage::Releasing) { return; }
  grant.stage = Stage::Releasing;
  grant.why = std::move(why);
  slots_.wait(grant.uid);
  grant.open_leases.clear();
  c_.log(kapi::Level::Info, "placement dropped",
         {{"pod", grant.pod.text()}, {"node", grant.node.text}, {"why", grant.why}});
  for (const int id : openLeases(grant)) { desk_.give(c_.leaseKey(grant.node, id), grant.uid, grant.id); }
  if (grant.open_leases.empty()) { finishRelease(grant); }
}

/// The pod may be decided again when its backoff is over, whatever it was that came to nothing.
void Binder::finishRelease(const Grant& grant) {
  const model::Uid uid = grant.uid;
  const Duration asked_for = grant.asked_for;
  const auto rejection = grant.refused ? std::make_shared<const std::string>(grant.why) : nullptr;
  if (grant.in_vain) { pending_.triedInVain(grant); }
  tellCaller(grant, false, grant.why);
  forget(uid);  // `grant` is gone
  c_.reconciles.add(uid);
  const model::Pod* pod = c_.cache().pod(uid);
  if (pod == nullptr || pod->bound()) { return; }
  pending_.tryLater(uid, asked_for);
  if (rejection != nullptr) { pending_.tell(*pod, {"WriteRefused", rejection}); }
}

}  // namespace gs::scheduler
