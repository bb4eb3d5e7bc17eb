#include "extender/found_notes.h"

#include <algorithm>
#include <tuple>

#include "sched/doors/vcuda.h"
#include "sched/ledger/quota.h"

namespace gs::extender {
namespace {

/// Annotations may be long: they are not read whole for that.
model::NodeName notedNode(const model::Pod& pod) {
  const std::string* node = pod.annotation(model::kVcudaNodeKey);
  return node != nullptr ? model::NodeName{*node} : model::NodeName{};
}

}  // namespace

bool FoundNotes::isNoted(const model::Pod& pod) const {
  return !pod.bound() && !pod.finished() && !pod.deleting && !c_.isOwnSchedulers(pod) && c_.wants(pod) &&
         !notedNode(pod).empty();
}

void FoundNotes::takeOff(const model::Pod& pod) {
  if (isNoted(pod)) { writer_.removeFound(pod); }
}

/// Beside pods that are bound, and by itself: no gate holds it, its devices are there and have room for it,
/// and its namespace's quota. Its time proves nothing: who forges writes any, and clocks jump.
bool FoundNotes::mayBeTrue(const model::Pod& pod) const {
  if (!pod.scheduling_gates.empty() || model::isVcudaAssigned(pod.annotations)) { return false; }
  Grant found;
  found.uid = pod.uid;
  found.note.node = notedNode(pod);
  found.picks = sched::vcudaPicks(pod);
  const sched::NodeState* node = c_.engine.ledger().find(found.note.node);
  if (node == nullptr || !node->exists || !sched::isComplete(found.picks)) { return false; }
  found.picks = sched::movedToUntouched(*node, pod.uid, std::move(found.picks));
  return sched::haveRoom(*node, pod.uid, found.picks) && isAllowed(found, pod);
}

void FoundNotes::adoptAll() {
  quotas_unread_ = c_.engine.quota().awaited();
  std::vector<const model::Pod*> noted;
  for (const auto& [uid, pod] : c_.engine.cache().pods()) {
    if (grants_.find(uid) == nullptr && isNoted(*pod)) { noted.push_back(pod.get()); }
  }
  std::vector<const model::Pod*> believed = noted;
  const auto doubtful = std::stable_partition(believed.begin(), believed.end(),
                                              [&](const model::Pod* pod) { return mayBeTrue(*pod); });
  for (auto it = doubtful; it != believed.end(); ++it) { writer_.removeFound(**it); }
  believed.erase(doubtful, believed.end());
  adoptInOrder(believed);
  for (const model::Pod* pod : noted) { grants_.plan(pod->uid); }
}

void FoundNotes::adoptInOrder(const std::vector<const model::Pod*>& pods) {
  std::vector<std::tuple<bool, std::uint64_t, Wall, model::Uid, const model::Pod*>> in_order;
  for (const model::Pod* pod : pods) {
    const sched::NodeState& node = *c_.engine.ledger().find(notedNode(*pod));
    const bool is_overtaken = !sched::haveRoom(node, pod->uid, sched::vcudaPicks(*pod));
    in_order.emplace_back(is_overtaken, noteOn(*pod).time.value_or(0), pod->created, pod->uid, pod);
  }
  std::sort(in_order.begin(), in_order.end());
  std::set<std::pair<model::NodeName, int>> disputed;
  for (const auto& [is_overtaken, time, created, uid, pod] : in_order) {
    if (adopt(*pod, is_overtaken)) { continue; }
    const Grant& g = *grants_.find(pod->uid);
    for (const auto& d : sched::amountsOf(g.picks)) { disputed.emplace(g.note.node, d.id); }
  }
  contest(disputed);
}

/// True: what it says has room beside all that was adopted before it. `is_overtaken`: its whole GPUs are
/// others' by now, of those that no pod names.
bool FoundNotes::adopt(const model::Pod& pod, bool is_overtaken) {
  Grant& g = grants_.of(pod.uid, pod.key);
  g.noted = g.note = noteOn(pod);
  const sched::NodeState& node = *c_.engine.ledger().find(g.note.node);
  g.picks = sched::vcudaPicks(pod);
  if (is_overtaken) {
    auto moved = sched::movedToUntouched(node, g.uid, g.picks);
    if (sched::haveRoom(node, g.uid, moved)) {
      g.picks = std::move(moved);
      g.note.ids = idsOf(g.picks);
    } else {
      g.picks = ontoNoted(node, std::move(moved));  // its annotations stay for a while
    }
  }
  g.write.stands();
  g.adopted = true;
  g.asked = c_.now.mono;
  g.turns.hold(c_.now.mono);  // some session of the earlier process may go on
  g.told = pod.scheduled;
  writer_.sawTime(g.note.time.value_or(0));
  const bool fits = sched::haveRoom(node, g.uid, g.picks) && isAllowed(g, pod);
  if (is_overtaken && fits) {  // it says so before anybody is told, and to whoever leads next
    g.write.beginIdly();
  }
  grants_.reserve(g, pod);
  return fits;
}

/// Where no whole GPU is left untouched it is one of those that others name: gpu-manager gives any, so who of
/// them is right is disputed.
sched::SharePicks FoundNotes::ontoNoted(const sched::NodeState& node, sched::SharePicks picks) const {
  const auto is_noted = [&](const sched::Holder& holder) { return grants_.find(holder.uid) != nullptr; };
  std::set<int> noted;
  for (int id = 0; id < node.share_devices; ++id) {
    const sched::DeviceState* device = node.device(id);
    const bool is_held = device != nullptr && !device->holders.empty();
    if (is_held && std::all_of(device->holders.begin(), device->holders.end(), is_noted)) {
      noted.insert(id);
    }
  }
  for (auto& pick : picks) {
    for (int& id : pick.ids) {
      const sched::DeviceState* device = node.device(id);
      const bool is_taken = pick.asked.whole > 0 && device != nullptr && !device->holders.empty();
      if (is_taken && !noted.empty()) { id = noted.extract(noted.begin()).value(); }
    }
    std::sort(pick.ids.begin(), pick.ids.end());
  }
  return picks;
}

/// Who names some of these devices may be the one that was promised it, or not.
void FoundNotes::contest(const std::set<std::pair<model::NodeName, int>>& devices) {
  if (devices.empty()) { return; }
  for (auto& [uid, g] : grants_.all()) {
    if (!g.adopted) { continue; }
    const model::NodeName& node = g.note.node;
    for (const auto& d : sched::amountsOf(g.picks)) {
      if (devices.contains({node, d.id})) { g.contested = c_.now.mono + kFoundNoteStays; }
    }
  }
}

void FoundNotes::recheckQuotas() {
  if (!quotas_unread_ || c_.engine.quota().awaited()) { return; }
  quotas_unread_ = false;
  std::vector<model::Uid> adopted;
  for (const auto& [uid, g] : grants_.all()) {
    if (g.adopted) { adopted.push_back(uid); }
  }
  for (const auto& uid : adopted) {
    Grant& g = *grants_.find(uid);
    const model::Pod* pod = c_.engine.cache().pod(uid);
    if (pod == nullptr || pod->bound()) { continue; }  // its review ends it
    bool allowed = false;
    {
      const Grants::Aside own = grants_.setAside(*pod);
      allowed = isAllowed(g, *pod);
    }
    if (!allowed) { writer_.remove(g); }
    grants_.plan(uid);
  }
}

bool FoundNotes::holdsUp(const Grant& g, const model::Pod& pod) {
  const sched::NodeState* node = c_.engine.ledger().find(g.note.node);
  if (node == nullptr || !sched::isComplete(g.picks) || !sched::haveRoom(*node, g.uid, g.picks)) {
    return false;
  }
  if (!g.adopted) { return true; }
  const Grants::Aside own = grants_.setAside(pod);
  return isAllowed(g, pod) && !isPickedOtherwise(g, pod);
}

/// gpu-manager goes by no annotation: where it picks another device than the annotated one it fails the pod.
/// Devices may have become free since that was written. (Of whole GPUs any will do; where it is not certain
/// what gpu-manager picks, the annotation stays.)
bool FoundNotes::isPickedOtherwise(const Grant& g, const model::Pod& pod) const {
  const auto door = chooser_.requestOf(pod);
  const auto* request = std::get_if<sched::PodRequest>(&door);
  const sched::NodeState* node = c_.engine.ledger().find(g.note.node);
  if (request == nullptr || node == nullptr || c_.config.strict) { return false; }
  const auto choice = sched::fitShares(*node, *request, g.uid);
  if (!choice) { return false; }
  const sched::SharePicks picked = sched::picksOf(request->shares, *choice);
  return !std::equal(picked.begin(), picked.end(), g.picks.begin(), g.picks.end(),
                     [](const auto& a, const auto& b) { return a.asked.whole > 0 || a.ids == b.ids; });
}

/// On a node of gpu-manager, and within its namespace's quota.
bool FoundNotes::isAllowed(const Grant& g, const model::Pod& pod) const {
  const auto door = chooser_.requestOf(pod);
  const auto* request = std::get_if<sched::PodRequest>(&door);
  const sched::NodeState* node = c_.engine.ledger().find(g.note.node);
  if (request == nullptr || node == nullptr || node->enforcer != sched::Enforcer::GpuManager) {
    return false;
  }
  return !request->quota || sched::passesQuota(node->node, request->quota->terms);
}

}  // namespace gs::extender
