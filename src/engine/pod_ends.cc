#include "engine/pod_ends.h"

#include <map>

#include "base/mutant.h"

namespace gs::engine {

void PodEnds::ended(const model::Pod& pod, const sched::Holdings& said, bool clean, Mono now) {
  drain(pod, said, clean, now);
  orderly_.add(pod.uid);
}

void PodEnds::drain(const model::Pod& pod, const sched::Holdings& said, bool clean, Mono now) {
  const std::vector<int> ids = devices_.ofEnded(pod, said);
  const std::int64_t counted = GS_MUTANT(FreesAnonymous) ? 0 : said.counted;
  const bool told = said.ids.has_value();
  if (counted > 0 || !ids.empty()) { reclaim_.ended(pod.uid, pod.node, ids, clean, now, counted, told); }
}

bool PodEnds::isKnown(const model::Uid& uid) const {
  return orderly_.covers(uid, Tombstones::kForEver) || assumed_.covers(uid, Tombstones::kForEver);
}

void PodEnds::gone(const model::Uid& uid, Mono now) {
  if (isKnown(uid) || cache_.leasesOf(uid).empty()) { return; }
  assumed_.add(uid);
  for (const auto& [node, ids] : devices_.leasedIds(uid)) { reclaim_.ended(uid, node, ids, false, now); }
  touched_.pod(uid);
}

void PodEnds::mayHaveRun(const model::Uid& uid, const model::NodeName& node, const std::vector<int>& ids,
                         const std::vector<std::string>& uuids, Mono now) {
  if (orderly_.covers(uid, Tombstones::kForEver)) { return; }
  assumed_.add(uid);
  const DeviceIndex* devices = cache_.devices(node);
  std::vector<int> perhaps = ids;  // told ids, it may have any device that has one of them now
  for (std::size_t i = 0; devices != nullptr && i < ids.size(); ++i) {
    if (const auto id = devices->idNow(uuids[i], ids[i])) { perhaps.push_back(*id); }
  }
  reclaim_.ended(uid, node, perhaps, false, now);
  touched_.pod(uid);
}

/// It ended before anybody looked, and may have run. If it is yet to be seen, it lives, and holds what it
/// had.
void PodEnds::tookFromUnknown(const model::Uid& uid, Mono now) {
  if (!all_listed_ || isKnown(uid) || cache_.pod(uid) != nullptr) { return; }
  std::map<model::NodeName, std::vector<int>> ids;
  for (const auto& [device, for_many] : devices_.takenFrom(uid)) {
    ids[device.first].push_back(device.second);
  }
  for (const auto& [node, of_node] : ids) { reclaim_.ended(uid, node, of_node, false, now, 0, false); }
}

void PodEnds::allListed(Mono now) {
  all_listed_ = true;
  for (const auto& uid : taken_.pods()) { tookFromUnknown(uid, now); }
  for (const auto& [node, status] : cache_.statuses()) { seen(*status, now); }
}

/// Who uses a device and is not bound there ended, or was bound there in a history that the API server lost.
void PodEnds::seen(const model::GpuNodeStatus& status, Mono now) {
  if (!all_listed_) { return; }
  for (const auto& device : status.devices) {
    for (const auto& uid : device.in_use_by) {
      const model::Pod* pod = cache_.pod(uid);
      const bool live = pod != nullptr && pod->node == status.node && !pod->finished();
      if (!live) { reclaim_.seenUsing(uid, status.node, device.id, now); }
    }
  }
}

/// Looks may have taken longer than an end is remembered: that of a pod that is gone is from now on again, so
/// that whoever finds its leases and asks for it does not wait for looks once more.
void PodEnds::noteFreed() {
  for (auto& uid : reclaim_.takeFreed()) {
    if (cache_.pod(uid) == nullptr) { assumed_.add(uid); }
    touched_.pod(uid);
  }
}

void PodEnds::forgetOld(Mono now) {
  orderly_.forgetOld(now);
  assumed_.forgetOld(now);
}

}  // namespace gs::engine
