#include "sched/volumes/volume_uses.h"

#include <algorithm>
#include <utility>

namespace gs::sched {

void VolumeUses::count(const model::Uid& uid, const Pod& pod, int by, Claims& changed) {
  OnNode& on = on_[pod.node];
  for (const Used& used : pod.claims) {
    if ((on.claims[used] += by) == 0) { on.claims.erase(used); }
    const bool was_used = nodes_.contains(used.claim);
    Nodes& nodes = nodes_[used.claim];
    if ((nodes[pod.node] += by) == 0) { nodes.erase(pod.node); }
    if (nodes.empty()) { nodes_.erase(used.claim); }
    if (was_used == nodes_.contains(used.claim)) { continue; }
    // Used and used no more, by one call: as it was.
    if (!changed.insert(used.claim).second) { changed.erase(used.claim); }
  }
  if (by < 0) { on.disks.erase(uid); }
  if (on.claims.empty() && on.disks.empty()) { on_.erase(pod.node); }
}

VolumeUses::Claims VolumeUses::put(const model::Pod& pod, const model::NodeName& node) {
  Claims changed = remove(pod.uid);
  if (pod.volume_claims.empty() && pod.disks.empty()) { return changed; }
  Pod now{node, {}};
  for (const auto& one : pod.volume_claims) {
    now.claims.push_back({{pod.key.ns, one.claim}, one.is_its ? pod.uid : model::Uid{}});
  }
  if (!pod.disks.empty()) { on_[node].disks[pod.uid] = pod.disks; }
  count(pod.uid, now, 1, changed);
  pods_[pod.uid] = std::move(now);
  return changed;
}

VolumeUses::Claims VolumeUses::remove(const model::Uid& pod) {
  Claims changed;
  if (const auto known = pods_.extract(pod)) { count(pod, known.mapped(), -1, changed); }
  return changed;
}

const VolumeUses::OnNode* VolumeUses::on(const model::NodeName& node) const {
  const auto it = on_.find(node);
  return it == on_.end() ? nullptr : &it->second;
}

bool VolumeUses::isUsedBeside(const model::ObjectKey& claim, const Uids& pods) const {
  std::ptrdiff_t uses = 0;
  for (const auto& [node, here] : nodesOf(claim)) { uses += here; }
  for (const auto& pod : pods) {
    const auto own = pods_.find(pod);
    if (own == pods_.end()) { continue; }
    const auto& claims = own->second.claims;
    uses -= std::count_if(claims.begin(), claims.end(), [&](const Used& u) { return u.claim == claim; });
  }
  return uses > 0;
}

VolumeUses::OnNode VolumeUses::of(const Uids& pods, const model::NodeName& node) const {
  OnNode out;
  for (const auto& uid : pods) {
    const auto pod = pods_.find(uid);
    if (pod == pods_.end() || pod->second.node != node) { continue; }
    for (const Used& used : pod->second.claims) { ++out.claims[used]; }
  }
  return out;
}

const VolumeUses::Nodes& VolumeUses::nodesOf(const model::ObjectKey& claim) const {
  static const Nodes kNone;
  const auto it = nodes_.find(claim);
  return it == nodes_.end() ? kNone : it->second;
}

}  // namespace gs::sched
