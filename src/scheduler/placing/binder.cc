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
bool boundAsDecided(const BindingCycle& cycle, const model::Pod& pod) {
  if (pod.node != cycle.node) { return false; }
  if (cycle.ids.empty()) { return !sched::allocatedIds(pod); }
  return sched::reservationOf(pod) == cycle.id.text;
}

}  // namespace

// ---- binding cycles

BindingCycle* Binder::find(const model::Uid& uid) {
  const auto it = cycles_.find(uid);
  return it == cycles_.end() ? nullptr : &it->second;
}

const BindingCycle* Binder::find(const model::Uid& uid) const {
  const auto it = cycles_.find(uid);
  return it == cycles_.end() ? nullptr : &it->second;
}

void Binder::forget(const model::Uid& uid) {
  auto cycle = cycles_.extract(uid);
  if (!cycle.empty()) {
    cycle.mapped().hold.release();
    c_.engine.expectsNoMore(cycle.mapped().node, uid);
    if (cycle.mapped().claimed) { allocations_.forget(uid); }
    volumes_.forget(uid);
    for (const auto& other : c_.engine.deviceClaims().over(uid)) { c_.reconciles.add(other); }
  }
  calls_.drop(uid);
  slots_.close(uid);
}

BindingCycle Binder::make(const model::Pod& pod, const model::NodeName& node, std::vector<int> ids,
                          const sched::PodRequest& request) {
  BindingCycle cycle;
  cycle.id = model::ReservationId{c_.rng.uuid()};
  cycle.uid = pod.uid;
  cycle.pod = pod.key;
  cycle.node = node;
  cycle.ids = std::move(ids);
  cycle.uuids = c_.gpuUuids(cycle.node, cycle.ids);
  cycle.door = request.door;
  cycle.shared = request.devices && request.devices->shared;
  cycle.by_id = request.devices && !request.devices->exact.empty();
  cycle.fence = fenceOf(pod);
  cycle.caches = node_caches_.saidThere(pod.kernel_caches, node);
  cycle.allocations = allocationsFor(pod, cycle);
  for (const auto& other : c_.engine.deviceClaims().begun(pod)) { c_.reconciles.add(other); }
  return cycle;
}

void Binder::begin(const model::Pod& pod, const sched::PodRequest& request, const sched::Placed& placed) {
  if (!chooseVolumes(pod, placed.node)) {
    pending_.tryLater(pod.uid, {});
    c_.reconciles.add(pod.uid);
    return;
  }
  std::vector<int> ids = placed.ids;
  if (GS_MUTANT(GrantsOneTooFew) && ids.size() > 1) { ids.pop_back(); }
  BindingCycle cycle = make(pod, placed.node, std::move(ids), request);
  cycle.hold = c_.engine.ledger().reserve(placed.node, pod.uid, request, cycle.ids,
                                          {pod.key.ns, sched::gpuMilli(request)});
  c_.engine.expectsCounted(placed.node, pod.uid, c_.now.mono);
  pending_.placing(pod.uid);
  slots_.open(pod.uid, pod.key.ns);
  BindingCycle& kept = cycles_.emplace(pod.uid, std::move(cycle)).first->second;
  if (kept.ids.empty()) {
    advance(kept, pod);
  } else {
    takeLeases(kept, false);
  }
}

bool Binder::adopt(const model::Pod& pod, const model::NodeName& node, const std::vector<int>& ids,
                   const sched::PodRequest& request) {
  if (!chooseVolumes(pod, node)) { return false; }
  BindingCycle cycle = make(pod, node, ids, request);
  cycle.adopted = true;
  cycle.hold = c_.engine.ledger().adopt(node, pod.uid, request, ids, {pod.key.ns, sched::gpuMilli(request)});
  slots_.open(pod.uid, pod.key.ns);
  c_.count(kAdoptions);
  c_.log(kapi::Level::Info, "adopted leases of an earlier leader",
         {{"pod", pod.key.text()}, {"devices", model::printAllocation(node, ids)}});
  takeLeases(cycles_.emplace(pod.uid, std::move(cycle)).first->second, false);
  return true;
}

// ---- who asked

std::optional<model::NodeName> Binder::nodeOf(const model::Uid& uid) const {
  const BindingCycle* cycle = find(uid);
  return cycle == nullptr ? std::nullopt : std::optional{cycle->node};
}

std::optional<Stage> Binder::stageOf(const model::Uid& uid) const {
  const BindingCycle* cycle = find(uid);
  return cycle == nullptr ? std::nullopt : std::optional{cycle->stage};
}

void Binder::askedFor(const model::Uid& uid) {
  if (BindingCycle* cycle = find(uid)) { cycle->asked = true; }
}

void Binder::notAskedForAnyMore(const model::Uid& uid) {
  BindingCycle* cycle = find(uid);
  if (cycle == nullptr) { return; }
  cycle->asked = false;
  if (cycle->stage != Stage::Leasing) { return; }
  cycle->in_vain = true;  // its leases were waited for in vain: another node may do
  slots_.failed(cycle->pod.ns);
  giveUp(*cycle, "whoever asked for it gave up");
}

void Binder::tellCaller(const BindingCycle& cycle, bool bound, std::string why) {
  if (cycle.asked) { ended_.push_back({cycle.uid, bound, std::move(why)}); }
}

// ---- calls

void Binder::call(BindingCycle& cycle, kapi::Call what, Purpose purpose) {
  slots_.goOn(cycle.uid);
  c_.sendAbout(cycle.uid, std::move(what), calls_.begin(cycle.uid, purpose));
}

void Binder::handle(const kapi::Outcome& outcome, Now now, kapi::Effects& /*out*/) {
  const auto call = calls_.answered(outcome.token);
  if (!call) { return; }
  c_.reconciles.add(call->key);
  BindingCycle* cycle = find(call->key);
  if (cycle == nullptr || call->stale) { return; }
  switch (call->what) {
    case Purpose::Map: mapAnswered(*cycle, outcome); return;
    case Purpose::Bind: bindAnswered(*cycle, outcome); return;
    case Purpose::ReadAfterConflict: conflictRead(*cycle, outcome); return;
    case Purpose::Fence: fenceAnswered(*cycle, outcome); return;
    case Purpose::ReadBound: c_.engine.learn(outcome.object, now.mono); return;
  }
}

void Binder::tryLater(BindingCycle& cycle, Duration retry_after) {
  cycle.not_before = c_.now.mono + kapi::retryWait(++cycle.rejections, retry_after);
  c_.reconciles.addAt(cycle.not_before, cycle.uid);
  slots_.wait(cycle.uid);
}

/// False: it would hold its devices for too long; no Binding of it is on its way, and something else may be
/// done at once.
bool Binder::waitShortly(BindingCycle& cycle, Duration retry_after) {
  tryLater(cycle, retry_after);
  if (cycle.not_before - cycle.binding_since <= kBindingAtMost) { return true; }
  cycle.asked_for = retry_after;
  cycle.not_before = c_.now.mono;
  return false;
}

// ---- what others see of it

bool Binder::writes(const model::Uid& uid) const {
  const BindingCycle* cycle = find(uid);
  return cycle != nullptr && cycle->stage != Stage::Leasing && cycle->stage != Stage::Volumes &&
         cycle->stage != Stage::Releasing;
}

bool Binder::reserved(const model::Uid& uid) const {
  const BindingCycle* cycle = find(uid);
  if (cycle == nullptr) { return false; }
  const Mono since = cycle->stage == Stage::Volumes ? cycle->volumes_since : cycle->binding_since;
  return since != Mono{} && c_.now.mono - since >= kReservedAfter;
}

/// What waits for others to bind its volumes, who may take minutes, is left to the next leader.
bool Binder::underWay() const {
  return calls_.underWay() > 0 || std::any_of(cycles_.begin(), cycles_.end(), [this](const auto& cycle) {
           const Stage stage = cycle.second.stage;
           return stage != Stage::Bound && (stage != Stage::Volumes || !volumes_.isWaiting(cycle.first));
         });
}

/// A Binding of it was sent, and its answer says whether it was this one.
bool Binder::awaitsBinding(const BindingCycle& cycle) const {
  return cycle.stage == Stage::Binding && calls_.open(cycle.uid);
}

/// Of a pod that is bound: no Binding of this decision can have done it, nor one that an earlier leader sent
/// for its leases.
bool Binder::boundByOthers(const BindingCycle& cycle) const {
  const bool none_taken = cycle.stage == Stage::Leasing || cycle.stage == Stage::Volumes ||
                          cycle.stage == Stage::Allocating || cycle.stage == Stage::Reading ||
                          (cycle.stage == Stage::Binding && !calls_.open(cycle.uid));
  return none_taken && !cycle.adopted && !cycle.rivalled;
}

/// The devices of its node that its pod is bound to, whoever did it:
/// their leases are seen to as a bound pod's.
std::vector<int> Binder::boundTo(const BindingCycle& cycle) const {
  const model::Pod* pod = c_.cache().pod(cycle.uid);
  const auto told = pod != nullptr && pod->node == cycle.node ? sched::allocatedIds(*pod) : std::nullopt;
  return told.value_or(std::vector<int>{});
}

bool Binder::bound(const model::Pod& pod) {
  bound_perhaps_.erase(pod.uid);
  BindingCycle* cycle = find(pod.uid);
  if (cycle == nullptr) { return true; }
  const bool as_decided = boundAsDecided(*cycle, pod);
  if (!as_decided && awaitsBinding(*cycle)) { return false; }
  if (as_decided && cycle->stage != Stage::Bound) { bindApplied(*cycle); }
  if (!as_decided) {
    giveBut(*cycle, pod);
    // What it was bound with, on its node or by its claim, is left alone.
    std::vector<model::ObjectKey> in_vain;
    for (const Allocation& one : cycle->allocations) {
      const bool is_in_vain =
          cycle->claimed && pod.node != cycle->node && !allocations_.isAllocatedOtherwise(pod, one);
      if (is_in_vain) { in_vain.push_back(one.claim); }
    }
    if (!in_vain.empty()) {
      cycle->claimed = false;  // so that this wish is not forgotten with the cycle
      allocations_.empty(pod.uid, pod.key, in_vain, cycle->adopted || cycle->rivalled);
    }
    tellCaller(*cycle, false, fmt::format("somebody else bound it to {}", pod.node.text));
  }
  forget(pod.uid);
  return true;
}

void Binder::podEnded(const model::Uid& uid) {
  if (const BindingCycle* cycle = find(uid)) {
    for (const auto& key : cycle->open_leases) {
      const model::Lease* lease = c_.cache().lease(key);
      if (lease != nullptr && lease->names(uid)) {
        desk_.forget(key, uid);  // it goes when its device is reclaimed
      } else {
        desk_.give(key, uid, cycle->id);  // not written yet, for all we know
      }
    }
    keepBoundPerhaps(*cycle);
    tellCaller(*cycle, false, "the pod is gone, or has ended");
    forget(uid);
  }
  endBoundPerhaps(uid);
}

void Binder::readOverdue(const model::Uid& uid) {
  BindingCycle* cycle = find(uid);
  if (cycle == nullptr || cycle->stage != Stage::Bound || calls_.open(uid)) { return; }
  if (c_.now.mono - cycle->not_before <= kBoundUnseen) { return; }
  call(*cycle, kapi::getObject(kapi::kPod, cycle->pod), Purpose::ReadBound);
}

// ---- Bindings whose outcome nobody learned

void Binder::keepBoundPerhaps(const BindingCycle& cycle) {
  if (cycle.boundPerhaps()) { bound_perhaps_[cycle.uid] = {cycle.node, cycle.ids, cycle.uuids}; }
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
  for (const auto& [uid, cycle] : cycles_) {
    keepBoundPerhaps(cycle);
    (void)c_.engine.deviceClaims().over(uid);
  }
  cycles_.clear();
  ended_.clear();
  calls_.reset();
}

// ---- leases

/// The devices whose leases are to be taken or given now; those that its pod is bound to are not.
std::vector<int> Binder::openLeases(BindingCycle& cycle) {
  const std::vector<int> bound_to = boundTo(cycle);
  std::vector<int> open;
  for (const int id : cycle.ids) {
    const auto key = c_.leaseKey(cycle.node, id);
    if (std::binary_search(bound_to.begin(), bound_to.end(), id)) {
      desk_.forget(key, cycle.uid);
    } else {
      cycle.open_leases.insert(key);
      open.push_back(id);
    }
  }
  return open;
}

void Binder::takeLeases(BindingCycle& cycle, bool confirm) {
  if (cycle.stage != Stage::Leasing || cycle.leasing_since == Mono{}) {
    cycle.leasing_since = c_.now.mono;
    c_.reconciles.addAt(c_.now.mono + kFailingAtMost, cycle.uid);
    c_.reconciles.addAt(c_.now.mono + kLeasingAtMost, cycle.uid);
  }
  cycle.stage = Stage::Leasing;
  slots_.goOn(cycle.uid);
  cycle.unknown_lease = false;
  for (const int id : openLeases(cycle)) {
    Claimant c = claimantOf(c_, cycle.uid, cycle.pod, cycle.id, {cycle.node, cycle.ids, cycle.shared}, id);
    c.over_own = cycle.adopted;
    c.only_by = sharedBy(cycle, id);
    desk_.take(c_.leaseKey(cycle.node, id), std::move(c), confirm);
  }
}

bool Binder::noticed(const LeaseNotice& notice) {
  using What = LeaseNotice::What;
  BindingCycle* cycle = find(notice.uid);
  if (cycle == nullptr || !cycle->open_leases.contains(notice.lease)) { return false; }
  switch (notice.what) {
    case What::Held:
      if (cycle->stage != Stage::Leasing) { break; }
      cycle->unknown_lease |= notice.was_unknown;
      cycle->open_leases.erase(notice.lease);
      break;
    case What::Refused:
      cycle->refused = cycle->in_vain = true;
      slots_.failed(cycle->pod.ns);
      [[fallthrough]];
    case What::Lost:
      cycle->rivalled |= notice.own_pod;
      giveUp(*cycle, notice.why);
      break;
    case What::Gone:
      if (cycle->stage != Stage::Releasing) { break; }
      cycle->open_leases.erase(notice.lease);
      if (cycle->open_leases.empty()) { finishRelease(*cycle); }
      break;
  }
  return true;
}

bool Binder::leasesFail(const BindingCycle& cycle) const {
  return std::any_of(cycle.open_leases.begin(), cycle.open_leases.end(),
                     [this](const auto& lease) { return desk_.failing(lease); });
}

/// Others wait for its slot and its GPUs, and it could be tried on another node.
bool Binder::isLeasingTooLong(const BindingCycle& cycle) const {
  if (cycle.open_leases.empty()) { return false; }
  return c_.now.mono - cycle.leasing_since >= (leasesFail(cycle) ? kFailingAtMost : kLeasingAtMost);
}

/// Every lease of it names the pod and the reservation, as the cache knows them.
bool Binder::holdsAllLeases(const BindingCycle& cycle) const {
  return std::all_of(cycle.ids.begin(), cycle.ids.end(), [&](int id) {
    const model::Lease* lease = c_.cache().lease(c_.leaseKey(cycle.node, id));
    const auto part = lease == nullptr ? std::nullopt : lease->partOf(cycle.uid);
    return part && part->reservation == cycle.id;
  });
}

// ---- the way back

/// Nothing of ours is on its way. A Binding of who decided about this pod besides may be, on whichever fence:
/// an earlier leader, or one that does not know yet that it is none.
void Binder::giveUp(BindingCycle& cycle, std::string why) {
  if (cycle.stage == Stage::Releasing || cycle.stage == Stage::Fencing) { return; }
  volumes_.forget(cycle.uid);
  if (!cycle.adopted && !cycle.rivalled) {
    release(cycle, std::move(why));
    return;
  }
  cycle.why = std::move(why);
  cycle.stage = Stage::Fencing;
  advance(cycle.uid);
}

/// A live look at the pod: after a 409 (every Binding so far was refused) or by a fence's answer (no Binding
/// can land any more).
void Binder::judgeLivePod(BindingCycle& cycle, const model::Pod& pod, bool after_fence) {
  if (pod.bound()) {
    return;
  }  // it is reconciled as a bound pod: its leases are judged by what it was bound with
  if (after_fence) {
    release(cycle, cycle.why.empty() ? "the outcome of its Binding was unknown; fenced" : cycle.why);
  } else if (gaveUpFor(cycle, pod)) {
    return;
  } else if (++cycle.sends < kMaxBindSends) {
    cycle.stage = Stage::Binding;
    advance(cycle.uid);
  } else {
    cycle.in_vain = true;
    cycle.stage = Stage::Fencing;
    advance(cycle.uid);
  }
}

void Binder::conflictRead(BindingCycle& cycle, const kapi::Outcome& outcome) {
  const auto pod = outcome.object.as<model::Pod>();
  if (outcome.notFound() || (pod != nullptr && pod->uid != cycle.uid)) {
    c_.engine.podGone(cycle.uid, c_.now.mono);
  } else if (outcome.result != CallResult::Applied || pod == nullptr) {
    if (waitShortly(cycle, outcome.retry_after)) { return; }
    cycle.stage = Stage::Fencing;
    advance(cycle.uid);
  } else {
    c_.engine.learn(outcome.object, c_.now.mono);
    judgeLivePod(cycle, *pod, false);
  }
}

void Binder::fence(BindingCycle& cycle) {
  cycle.fence_value = GS_MUTANT(SameFenceTwice) ? "fence" : c_.rng.uuid();
  c_.count(kFences, {{"why", "binding"}});
  call(cycle, kapi::fencePod(cycle.pod, cycle.uid, cycle.fence_value), Purpose::Fence);
}

void Binder::fenceAnswered(BindingCycle& cycle, const kapi::Outcome& outcome) {
  const auto pod = outcome.object.as<model::Pod>();
  if (outcome.result == CallResult::Applied && pod != nullptr && pod->uid == cycle.uid &&
      fenceOf(*pod) == cycle.fence_value) {
    c_.engine.learn(outcome.object, c_.now.mono);
    judgeLivePod(cycle, *pod, true);
    return;
  }
  slots_.failed(cycle.pod.ns);
  slots_.stuck(cycle.uid);
  if (outcome.result == CallResult::Refused && (outcome.http == 404 || outcome.http == 422)) {
    proofs_.prove(cycle.uid, cycle.pod);  // another uid or none: a live GET says which
  }
  tryLater(cycle, outcome.retry_after);
}

/// What this decision has asked for and the pod was not bound to. A device that it was bound to has its lease
/// seen to as a bound pod's, whoever decided. Leases that are there go too, once it is known that they were
/// in vain: they would be taken for what the pod has.
void Binder::giveBut(const BindingCycle& cycle, const model::Pod& pod) {
  const auto told = pod.node == cycle.node ? sched::allocatedIds(pod) : std::nullopt;
  std::set<model::ObjectKey> bound_to;
  for (const int id : told.value_or(std::vector<int>{})) { bound_to.insert(c_.leaseKey(cycle.node, id)); }
  std::set<model::ObjectKey> leases = cycle.open_leases;
  if (boundByOthers(cycle)) {
    for (const int id : cycle.ids) { leases.insert(c_.leaseKey(cycle.node, id)); }
  }
  for (const auto& key : leases) {
    if (bound_to.contains(key)) {
      desk_.forget(key, cycle.uid);
    } else {
      desk_.give(key, cycle.uid, cycle.id);
    }
  }
}

void Binder::release(BindingCycle& cycle, std::string why) {
  if (cycle.stage == Stage::Releasing) { return; }
  cycle.stage = Stage::Releasing;
  cycle.why = std::move(why);
  volumes_.forget(cycle.uid);
  slots_.wait(cycle.uid);
  cycle.open_leases.clear();
  c_.log(kapi::Level::Info, "placement dropped",
         {{"pod", cycle.pod.text()}, {"node", cycle.node.text}, {"why", cycle.why}});
  // Of a decision that others may have made too, whatever this one came to: the watch of claims may be late.
  const bool others = !cycle.allocations.empty() && (cycle.adopted || cycle.rivalled);
  cycle.emptying = (cycle.claimed || others) && !GS_MUTANT(KeepsAllocation);
  if (!cycle.emptying) { return giveLeases(cycle); }
  allocations_.empty(cycle.uid, cycle.pod, cycle.claims(), cycle.adopted || cycle.rivalled);
}

/// No container of it starts any more with what it was given.
void Binder::giveLeases(BindingCycle& cycle) {
  for (const int id : openLeases(cycle)) { desk_.give(c_.leaseKey(cycle.node, id), cycle.uid, cycle.id); }
  if (cycle.open_leases.empty()) { finishRelease(cycle); }
}

/// The pod may be decided again when its backoff is over, whatever it was that came to nothing.
void Binder::finishRelease(const BindingCycle& cycle) {
  const model::Uid uid = cycle.uid;
  const Duration asked_for = cycle.asked_for;
  const auto rejection = cycle.refused ? std::make_shared<const std::string>(cycle.why) : nullptr;
  const char* kind = cycle.told_as;
  if (cycle.in_vain) { pending_.triedInVain(cycle); }
  tellCaller(cycle, false, cycle.why);
  forget(uid);  // `cycle` is gone
  c_.reconciles.add(uid);
  const model::Pod* pod = c_.cache().pod(uid);
  if (pod == nullptr || pod->bound()) { return; }
  pending_.tryLater(uid, asked_for);
  if (rejection != nullptr) { pending_.tell(*pod, {kind, rejection}); }
}

}  // namespace gs::scheduler
