// A binding cycle on a node whose GPUs a DRA driver prepares: the pod's limits are mapped to its
// ResourceClaim, or it names some itself, and these are allocated what was decided, before the Binding leaves
// (docs/inside/decisions/0011-gpus-by-dra.md). The rest of the binder is in binder.cc.
#include <fmt/format.h>

#include <algorithm>

#include "base/mutant.h"
#include "dra/drivers.h"
#include "dra/limits.h"
#include "kapi/write_dra.h"
#include "model/annotations.h"
#include "scheduler/placing/binder.h"

namespace gs::scheduler {
namespace {

constexpr Duration kAllocatingAtMost = std::chrono::seconds{10};
/// Whoever else allocates here decides and writes within that time, mostly. So long a decision is held back
/// before its Binding, for so long after somebody else had one of its node's devices first.
constexpr Duration kOthersWrite = std::chrono::seconds{3};
constexpr Duration kContended = std::chrono::seconds{30};

}  // namespace

bool Binder::isByDra(const BindingCycle& cycle) const {
  const sched::NodeState* node = c_.engine.ledger().find(cycle.node);
  return node != nullptr && !node->dra_resource.empty() && !cycle.ids.empty();
}

/// Of the claim that is made for the pod's limits.
/// Without devices where the limits do not add up to what was decided: it is given up then.
Allocation Binder::allocationForLimits(const model::Pod& pod, const BindingCycle& cycle) const {
  Allocation out;
  out.claim = kapi::claimKeyOf(pod);
  out.node = cycle.node;
  out.reservation = cycle.id.text;
  std::vector<model::DeviceName> names;
  const model::GpuNodeStatus* status = c_.cache().status(cycle.node);
  for (const auto& device : status == nullptr ? std::vector<model::Device>{} : status->devices) {
    const bool is_given = std::binary_search(cycle.ids.begin(), cycle.ids.end(), device.id);
    if (is_given && !device.dra.device.empty()) { names.push_back(device.dra); }
  }
  if (names.size() != cycle.ids.size()) { return out; }
  const dra::Driver* driver = dra::findDriver(c_.engine.drivers(), names.front().driver);
  if (driver == nullptr) { return out; }
  out.requests = dra::limitRequests(pod, *driver);
  if (dra::devicesOf(out.requests) == names.size()) { out.devices = dra::allocation(out.requests, names); }
  return out;
}

/// Without devices where they cannot be served by what was decided any more.
Allocations Binder::allocationsFor(const model::Pod& pod, const BindingCycle& cycle) const {
  if (!isByDra(cycle)) { return {}; }
  if (pod.claims.empty()) { return {allocationForLimits(pod, cycle)}; }
  Allocations out;
  for (auto& given : c_.engine.deviceClaims().give(pod, cycle.node, cycle.ids)) {
    out.push_back({.claim = given.claim->key,
                   .of = given.claim->uid,
                   .requests = {},
                   .devices = std::move(given.devices),
                   .config = std::move(given.config),
                   .node = cycle.node,
                   .reservation = cycle.id.text});
  }
  if (out.empty()) { out.emplace_back().node = cycle.node; }
  return out;
}

/// Its node still gives these GPUs by the names that they had.
bool Binder::allocatesAsDecided(const BindingCycle& cycle) const {
  const model::Pod* pod = c_.cache().pod(cycle.uid);
  if (pod == nullptr || cycle.allocations.empty()) { return !isByDra(cycle); }
  const Allocations now = allocationsFor(*pod, cycle);
  return std::equal(now.begin(), now.end(), cycle.allocations.begin(), cycle.allocations.end(),
                    [](const Allocation& a, const Allocation& b) {
                      return a.claim == b.claim && a.of == b.of && a.devices == b.devices &&
                             a.requests == b.requests;
                    });
}

/// The claim by which it has that GPU; nullptr: by none.
const Allocation* Binder::allocationOf(const BindingCycle& cycle, int id) const {
  const model::Device* device = nullptr;
  if (const auto* devices = c_.cache().devices(cycle.node)) { device = devices->device(id); }
  if (device == nullptr || device->dra.device.empty()) { return nullptr; }
  const auto has_it = [&](const Allocation& one) {
    return std::any_of(one.devices.begin(), one.devices.end(),
                       [&](const auto& result) { return result.device == device->dra; });
  };
  const auto found = std::find_if(cycle.allocations.begin(), cycle.allocations.end(), has_it);
  return found == cycle.allocations.end() ? nullptr : &*found;
}

/// By which claim other pods may have that GPU of a pod that shares claims; {}: by none.
std::optional<model::ObjectKey> Binder::sharedBy(const BindingCycle& cycle, int id) const {
  if (!cycle.shared || cycle.allocations.empty()) { return std::nullopt; }
  const Allocation* by = allocationOf(cycle, id);
  return by == nullptr ? model::ObjectKey{} : by->claim;
}

/// One of its GPUs is another pod's that does not share the claim, or another claim is allocated it too. Of
/// what pods of claims have, the ledger only knows that it is Shared.
bool Binder::isSharedWithOthers(const BindingCycle& cycle) const {
  const sched::NodeState* node = c_.engine.ledger().find(cycle.node);
  if (!cycle.shared || cycle.allocations.empty() || node == nullptr) { return false; }
  return std::any_of(cycle.ids.begin(), cycle.ids.end(), [&](int id) {
    const Allocation* by = allocationOf(cycle, id);
    const sched::DeviceState* device = node->device(id);
    if (by == nullptr || device == nullptr) { return false; }
    const auto claims = c_.engine.allocatedClaims().holding(device->facts.dra);
    const auto is_other = [&](const model::ResourceClaim* claim) { return claim->key != by->claim; };
    const auto is_stranger = [&](const sched::Holder& holder) {
      return holder.uid != cycle.uid && !c_.engine.deviceClaims().isUser(by->claim, holder.uid);
    };
    return std::any_of(claims.begin(), claims.end(), is_other) ||
           std::any_of(device->holders.begin(), device->holders.end(), is_stranger);
  });
}

/// And the watch has brought whatever other claims were allocated before ours: what they have is in the
/// ledger.
bool Binder::isAllocated(const BindingCycle& cycle) const {
  if (cycle.allocations.empty()) { return true; }
  const model::Pod* pod = c_.cache().pod(cycle.uid);
  return !needsMapping(cycle) && cycle.allocated_at != 0 && pod != nullptr && isSeen(cycle) &&
         allocations_.isAllocated(*pod, cycle.allocations);
}

/// Its limits are to be mapped to the claim that serves them, and are not yet.
bool Binder::needsMapping(const BindingCycle& cycle) {
  return cycle.allocations.front().isForLimits() && !cycle.mapped && !GS_MUTANT(BindsUnmapped);
}

bool Binder::isAllocatingTooLong(const BindingCycle& cycle) const {
  return c_.now.mono - cycle.allocating_since >= kAllocatingAtMost;
}

void Binder::allocate(BindingCycle& cycle) {
  const model::Pod* pod = c_.cache().pod(cycle.uid);
  if (pod == nullptr) { return; }
  const bool is_nothing = std::all_of(cycle.allocations.begin(), cycle.allocations.end(),
                                      [](const Allocation& one) { return one.devices.empty(); });
  if (is_nothing) {
    cycle.refused = cycle.in_vain = true;
    return giveUp(cycle,
                  fmt::format("{} do not add up to the {} GPUs that were decided",
                              pod->claims.empty() ? "the limits of its containers" : "its ResourceClaims",
                              cycle.ids.size()));
  }
  if (cycle.stage != Stage::Allocating) {
    cycle.stage = Stage::Allocating;
    slots_.goOn(cycle.uid);
    cycle.allocating_since = c_.now.mono;
    c_.reconciles.addAt(c_.now.mono + kAllocatingAtMost, cycle.uid);
  }
  cycle.claimed = true;
  cycle.allocated_at = 0;
  cycle.allocation_seen = {};
  allocations_.allocate(*pod, cycle.allocations, cycle.adopted || cycle.rivalled);
}

/// The watch brought what others were allocated before it was.
bool Binder::isSeen(const BindingCycle& cycle) const {
  return c_.engine.allocatedClaims().seen() >= cycle.allocated_at || GS_MUTANT(NoLookAtOthers);
}

void Binder::advanceAllocating(BindingCycle& cycle, const model::Pod& pod) {
  if (gaveUpFor(cycle, pod)) { return; }
  const bool is_done = isAllocated(cycle);
  if (!is_done && isAllocatingTooLong(cycle)) {
    slots_.failed(cycle.pod.ns);
    cycle.in_vain = true;
    return giveUp(cycle, "its ResourceClaim could not be allocated in time");
  }
  if (gaveUpRenumbered(cycle)) { return; }
  if (needsMapping(cycle)) { return map(cycle, pod); }
  if (is_done && holdsAllLeases(cycle) && allocatesAsDecided(cycle) && awaitsOthers(cycle)) { return; }
  if (cycle.allocated_at != 0 && isSeen(cycle)) { bindOrTakeAgain(cycle); }
}

/// Others were met there of late, or on two nodes: they allocate anywhere then.
bool Binder::isContended(const model::NodeName& node) const {
  std::size_t nodes = 0;
  for (const auto& [name, until] : contended_until_) {
    if (c_.now.mono >= until) { continue; }
    ++nodes;
    if (name == node || nodes > 1) { return true; }
  }
  return false;
}

/// Another allocator may have decided before it knew of this allocation, and not written it yet: nothing in
/// Kubernetes refuses that. So where that happened of late there is one more look, a moment later.
bool Binder::awaitsOthers(BindingCycle& cycle) {
  if (!isContended(cycle.node) || isOvertaken(cycle)) { return false; }
  if (cycle.allocation_seen == Mono{}) {
    cycle.allocation_seen = c_.now.mono;
    slots_.wait(cycle.uid);
    c_.reconciles.addAt(c_.now.mono + kOthersWrite, cycle.uid);
  }
  return c_.now.mono < cycle.allocation_seen + kOthersWrite;
}

/// It gave way. To whom, the claims say: another claim has one of its devices, or something else has it.
void Binder::metOthers(const BindingCycle& cycle) {
  std::erase_if(contended_until_, [this](const auto& one) { return one.second <= c_.now.mono; });
  const auto is_its = [&](const model::ResourceClaim* claim) {
    return std::any_of(cycle.allocations.begin(), cycle.allocations.end(),
                       [&](const Allocation& one) { return one.claim == claim->key; });
  };
  for (const Allocation& one : cycle.allocations) {
    for (const auto& result : one.devices) {
      const auto holding = c_.engine.allocatedClaims().holding(result.device);
      if (!std::all_of(holding.begin(), holding.end(), is_its)) {
        contended_until_[cycle.node] = c_.now.mono + kContended;
      }
    }
  }
}

/// Once the claim is there: a pod that is mapped stays with nodes that have a driver, and where no claim can
/// be made it could run elsewhere. With the same fence value each time: one that lands late changes nothing.
void Binder::map(BindingCycle& cycle, const model::Pod& pod) {
  if (!allocations_.hasClaim(pod) || pending_.isBeingTold(cycle.uid)) { return; }  // then again
  if (!cycle.map_fence.empty() && fenceOf(pod) == cycle.map_fence) { return isMapped(cycle, pod); }
  if (cycle.map_fence.empty()) { cycle.map_fence = c_.rng.uuid(); }
  call(cycle, kapi::mapPod(pod, cycle.allocations.front().requests, cycle.map_fence), Purpose::Map);
}

/// The pod as it is after that write.
void Binder::isMapped(BindingCycle& cycle, const model::Pod& pod) {
  const auto wanted = dra::mappingOf(cycle.allocations.front().requests, kapi::claimKeyOf(pod).name);
  if (pod.mapped != wanted && !GS_MUTANT(TrustsMapping)) {
    cycle.refused = cycle.in_vain = true;
    return giveUp(cycle,
                  "the API server did not keep which ResourceClaim serves the pod's limits: its feature gate "
                  "DRAExtendedResource is off");
  }
  cycle.fence = cycle.map_fence;
  cycle.mapped = true;
  cycle.rejections = 0;
  c_.reconciles.add(cycle.uid);
}

void Binder::mapAnswered(BindingCycle& cycle, const kapi::Outcome& outcome) {
  const auto pod = outcome.object.as<model::Pod>();
  if (outcome.result == kapi::CallResult::Applied && pod != nullptr && pod->uid == cycle.uid &&
      fenceOf(*pod) == cycle.map_fence) {
    c_.engine.learn(outcome.object, c_.now.mono);
    if (pod->bound()) { return; }  // it is reconciled as a bound pod
    return isMapped(cycle, *pod);
  }
  // On a 409 the pod is another by now: it is looked at again, its fence first.
  const bool may_help = outcome.http == 429 || outcome.http == 409;
  if (outcome.result != kapi::CallResult::Refused || may_help) {
    return tryLater(cycle, outcome.retry_after);
  }
  if (outcome.http == 404 || outcome.http == 422) { proofs_.prove(cycle.uid, cycle.pod); }
  cycle.refused = cycle.in_vain = true;
  giveUp(cycle, fmt::format("the mapping of its limits was refused: {} {}", outcome.http, outcome.message));
}

bool Binder::noticed(const AllocationNotice& notice) {
  using What = AllocationNotice::What;
  BindingCycle* cycle = find(notice.uid);
  if (cycle == nullptr) { return false; }
  switch (notice.what) {
    case What::Allocated:
      if (cycle->stage == Stage::Allocating) { cycle->allocated_at = notice.revision; }
      break;
    case What::Refused:
      if (cycle->stage != Stage::Allocating) { break; }
      cycle->refused = cycle->in_vain = true;
      slots_.failed(cycle->pod.ns);
      giveUp(*cycle, notice.why);
      break;
    case What::Empty:
      if (cycle->stage != Stage::Releasing || !cycle->emptying) { break; }
      cycle->emptying = false;
      giveLeases(*cycle);
      break;
  }
  return true;
}

}  // namespace gs::scheduler
