#include "engine/pod_devices.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "engine/held_devices.h"
#include "model/annotations.h"
#include "sched/ledger/shares.h"

namespace gs::engine {

using sched::Source;

namespace {

/// Those of the pod's leases that were written for what it says it has: by its reservation. If that was
/// edited, or taken away, or they went: those that were written for the same ids.
std::vector<const model::Lease*> leasesFor(const model::Pod& pod, const std::vector<int>& given,
                                           const sched::Holdings& said,
                                           const std::vector<const model::Lease*>& leases) {
  std::vector<const model::Lease*> found;
  const auto collect = [&](const auto& is_its) {
    for (const model::Lease* lease : leases) {
      const auto part = lease->node == pod.node ? lease->partOf(pod.uid) : std::nullopt;
      if (part && is_its(*lease, *part)) { found.push_back(lease); }
    }
  };
  const bool says_reservation = !said.reservation.empty();
  if (says_reservation) {
    collect([&](const auto&, const auto& part) { return part.reservation.text == said.reservation; });
  }
  if (!found.empty()) { return found; }
  const std::string same = model::printAllocation(pod.node, given);
  collect([&](const auto& lease, const auto& part) {
    const bool is_named = !says_reservation && std::binary_search(given.begin(), given.end(), lease.gpu);
    return is_named || part.devices == same;
  });
  return found;
}

/// What this lease gives to one of its holders.
sched::Amount amountIn(const model::Lease& lease, const model::Uid& uid) {
  const auto part = lease.partOf(uid);
  return part ? sched::Amount{lease.shared(), part->milli, part->mib} : sched::Amount{lease.shared(), 0, 0};
}

}  // namespace

PodDevices::Holds PodDevices::devices(const model::Uid& uid, const sched::Holdings* said) const {
  Holds holds;
  for (const auto& key : cache_.leasesOf(uid)) { addLease(uid, *cache_.lease(key), holds); }
  for (const auto& [device, for_many] : claims_.heldBy(uid)) {
    holds.try_emplace({device.first, device.second, Source::Claim}, sched::Amount{for_many, 0, 0});
  }
  const model::Pod* pod = cache_.pod(uid);
  if (pod == nullptr || pod->finished()) { return holds; }
  const sched::Holdings own = said != nullptr ? sched::Holdings{} : read(*pod);
  const sched::Holdings& holdings = said != nullptr ? *said : own;
  if (holdings.ids) { addGiven(*pod, holdings, holds); }
  for (const auto& [device, for_many] : takenFrom(uid)) {
    if (device.first != pod->node) { continue; }
    holds.try_emplace({device.first, device.second, Source::Claim}, sched::Amount{for_many, 0, 0});
  }
  for (const int id : seenInUse(*pod, holdings)) { holds.try_emplace({pod->node, id, Source::BoundPod}); }
  if (pod->bound()) {
    for (const auto& [id, amount] : sched::amountsOf(holdings.shares)) {
      holds[{pod->node, id, Source::BoundPod}] = amount;
    }
  }
  return holds;
}

void PodDevices::addLease(const model::Uid& uid, const model::Lease& lease, Holds& holds) const {
  const auto device = leases_.deviceOf(lease);
  if (!device) { return; }
  const auto& [node, id] = *device;
  const sched::Amount amount = amountIn(lease, uid);
  const DeviceIndex* devices = cache_.devices(node);
  const bool moved = isAnother(devices, id, lease.uuid);
  // The name of the lease is taken, so nobody can be given what has that id now, not to share it either.
  holds[{node, id, Source::Lease}] = moved ? sched::Amount{} : amount;
  if (!moved) { return; }
  if (const auto now = devices->idNow(lease.uuid, id)) {
    holds.try_emplace({node, *now, Source::Lease}, amount);
  }
}

/// What it was given by id. A pod's annotation does not say how much it holds; its lease does, else its door
/// or its claim.
void PodDevices::addGiven(const model::Pod& pod, const sched::Holdings& said, Holds& holds) const {
  const auto leased = leasedAmounts(pod.uid);
  const auto by_claim = [&] { return isShared(cache_.claim({pod.key.ns, sched::claimName(pod)})); };
  const sched::Amount without{leases_.shares(pod.uid).value_or(said.shared || by_claim()), 0, 0};
  for (const int id : heldIds(pod, *said.ids, said)) {
    const auto lease = leased.find({pod.node, id});
    holds[{pod.node, id, Source::BoundPod}] = lease == leased.end() ? without : lease->second;
  }
}

/// What the pod's leases give it, by the device that each is for.
PodDevices::Amounts PodDevices::leasedAmounts(const model::Uid& uid) const {
  Amounts amounts;
  for (const auto& key : cache_.leasesOf(uid)) {
    const model::Lease& lease = *cache_.lease(key);
    if (const auto device = leases_.deviceOf(lease)) { amounts.try_emplace(*device, amountIn(lease, uid)); }
  }
  return amounts;
}

std::vector<int> PodDevices::seenInUse(const model::Pod& pod, const sched::Holdings& said) const {
  const DeviceIndex* devices = cache_.devices(pod.node);
  const bool asked = said.counted > 0 || said.ids.has_value() || said.shared || !pod.claims.empty() ||
                     !sched::claimName(pod).empty();
  if (devices == nullptr || !asked) { return {}; }
  return devices->usedBy(pod.uid);
}

std::vector<int> PodDevices::heldIds(const model::Pod& pod, const std::vector<int>& given,
                                     const sched::Holdings& said) const {
  std::vector<const model::Lease*> leases;
  const DeviceIndex* devices = cache_.devices(pod.node);
  if (devices == nullptr) {
    // Nothing says where the GPUs of its leases are now: they are kept under these numbers. Of leases that
    // went a replica that starts now would not know.
    for (const auto& key : cache_.leasesOf(pod.uid)) { leases.push_back(cache_.lease(key)); }
    std::set<int> ids{given.begin(), given.end()};
    for (const model::Lease* lease : leasesFor(pod, given, said, leases)) { ids.insert(lease->gpu); }
    return {ids.begin(), ids.end()};
  }
  leases_.eachLeaseOf(pod.uid, [&](const model::Lease& lease) { leases.push_back(&lease); });
  std::vector<std::string> uuids;
  for (const model::Lease* lease : leasesFor(pod, given, said, leases)) { uuids.push_back(lease->uuid); }
  return heldNow(said.uuids, given, uuids, *devices);
}

/// What its annotation says, what its agent sees, and what its leases and ResourceClaims on that node say.
std::vector<int> PodDevices::ofEnded(const model::Pod& pod, const sched::Holdings& said) const {
  std::set<int> ids;
  for (const auto& some :
       {said.ids ? heldIds(pod, *said.ids, said) : std::vector<int>{}, seenInUse(pod, said)}) {
    ids.insert(some.begin(), some.end());
  }
  for (const auto& by_claim : {claims_.heldBy(pod.uid), takenFrom(pod.uid)}) {
    for (const auto& [device, for_many] : by_claim) {
      if (device.first == pod.node) { ids.insert(device.second); }
    }
  }
  const auto leased = leasedIds(pod.uid);
  if (const auto here = leased.find(pod.node); here != leased.end()) {
    ids.insert(here->second.begin(), here->second.end());
  }
  return {ids.begin(), ids.end()};
}

std::map<AllocatedClaims::Device, bool> PodDevices::takenFrom(const model::Uid& uid) const {
  std::map<AllocatedClaims::Device, bool> out;
  for (const auto& [name, for_many] : taken_.of(uid)) {
    const auto* places = claims_.placesOf(name);
    if (places == nullptr) { continue; }
    for (const auto& device : *places) { out.emplace(device, for_many); }
  }
  return out;
}

std::map<model::NodeName, std::vector<int>> PodDevices::leasedIds(const model::Uid& uid) const {
  std::map<model::NodeName, std::vector<int>> leased;
  for (const auto& key : cache_.leasesOf(uid)) {
    const model::Lease& lease = *cache_.lease(key);
    if (const auto device = leases_.deviceOf(lease)) {
      auto& ids = leased[device->first];
      for (const int id : idsOf(lease)) { ids.push_back(id); }
    }
  }
  return leased;
}

/// The id that the lease's name stands for, and the id that its device has now.
std::vector<int> PodDevices::idsOf(const model::Lease& lease) const {
  const auto device = leases_.deviceOf(lease);
  if (!device) { return {}; }
  const DeviceIndex* devices = cache_.devices(device->first);
  const auto now = devices == nullptr ? std::nullopt : devices->idNow(lease.uuid, device->second);
  if (!now || *now == device->second) { return {device->second}; }
  return {device->second, *now};
}

/// How many devices the pod's leases give it there. One lease is enough: each says the whole reservation.
std::size_t PodDevices::leasedCount(const model::Pod& pod) const {
  for (const auto& key : cache_.leasesOf(pod.uid)) {
    const model::Lease& lease = *cache_.lease(key);
    const auto part = lease.node == pod.node ? lease.partOf(pod.uid) : std::nullopt;
    const auto devices = part ? model::parseAllocation(part->devices) : fail(Code::Invalid, "");
    if (devices && devices->node == pod.node) { return devices->ids.size(); }
  }
  return 0;
}

std::size_t PodDevices::chargedCount(const model::Pod& pod, const sched::Holdings& said) const {
  const std::size_t counted = said.counted > 0 ? static_cast<std::size_t>(said.counted) : 0;
  const std::size_t named = said.ids ? said.ids->size() : 0;
  const DeviceIndex* devices = cache_.devices(pod.node);
  const std::vector<int> seen = seenInUse(pod, said);
  const auto sure = std::count_if(seen.begin(), seen.end(), [&](int id) {
    const model::Device* device = devices->device(id);
    return device == nullptr || device->health != model::Health::Unhealthy;
  });
  return std::max({counted, named, leasedCount(pod), static_cast<std::size_t>(sure)});
}

}  // namespace gs::engine
