#include "sched/placement/what_if.h"

#include "sched/ledger/derive.h"

namespace gs::sched {

NodeState withFacts(NodeState n, const model::Node& facts, Doors doors) {
  n.exists = true;
  n.node = facts;
  deriveFacts(n, doors);
  deriveFree(n);
  return n;
}

NodeState withoutPods(NodeState n, const std::set<model::Uid>& gone) {
  for (DeviceState& d : n.devices) {
    std::erase_if(d.holders, [&](const Holder& h) { return gone.contains(h.uid); });
  }
  std::erase_if(n.in_flight, [&](const InFlight& f) { return gone.contains(f.uid); });
  std::erase_if(n.counted, [&](const Counted& c) { return gone.contains(c.uid); });
  deriveDevices(n, nullptr);
  deriveAnonymous(n);
  deriveFree(n);
  return n;
}

NodeState withoutPods(NodeState n, const std::vector<const model::Pod*>& gone) {
  std::set<model::Uid> uids;
  for (const model::Pod* pod : gone) {
    if (pod->node != n.node.name || pod->finished() || !uids.insert(pod->uid).second) { continue; }
    n.used -= pod->requests;
    --n.used_pods;
  }
  return withoutPods(std::move(n), uids);
}

}  // namespace gs::sched
