// What unbound pods say of themselves: annotations that this process did not write.
// Whoever makes pods may write such.
//
// A promise of an earlier leader was on its pod before that one answered, so before this one led: what turns
// up later is nobody's promise and reserves nothing. What is found at that time is believed where it could be
// decided now: bound pods count first, then the claims, by their time. (Of whole GPUs gpu-manager may have
// given the named ones to others: as many untouched ones will do.) Two that cannot both be true show that one
// is forged, not which: both count for a moment, in which the Binding that the promised one waits for comes;
// neither is told that it has it. What is not believed is taken off the pod after a while, without a hurry.
#include <algorithm>
#include <chrono>
#include <tuple>

#include "extender/extender.h"
#include "sched/ledger/quota.h"

namespace gs::extender {

namespace {

/// Annotations may be long: they are not read whole for that.
model::NodeName claimedNode(const model::Pod& pod) {
  const std::string* node = pod.annotation(model::kVcudaNodeKey);
  return node != nullptr ? model::NodeName{*node} : model::NodeName{};
}

}  // namespace

/// It says that it was given a node.
bool Extender::claims(const model::Pod& pod) const {
  return !pod.bound() && !pod.finished() && !pod.deleting && !c_.isOwnSchedulers(pod) && c_.wants(pod) &&
         !claimedNode(pod).empty();
}

/// Beside pods that are bound, and by itself: no gate holds it, its devices are there and have room for it,
/// and its namespace's quota. Its time proves nothing: who forges writes any, and clocks jump.
bool Extender::mayBeTrue(const model::Pod& pod) const {
  if (!pod.scheduling_gates.empty() || model::isVcudaAssigned(pod.annotations)) { return false; }
  Grant claimed;
  claimed.uid = pod.uid;
  claimed.note.node = claimedNode(pod);
  claimed.picks = sched::vcudaPicks(pod);
  const sched::NodeState* node = c_.engine.ledger().find(claimed.note.node);
  if (node == nullptr || !node->exists || !sched::isComplete(claimed.picks)) { return false; }
  claimed.picks = sched::movedToUntouched(*node, pod.uid, std::move(claimed.picks));
  return sched::haveRoom(*node, pod.uid, claimed.picks) && isAllowed(claimed, pod);
}

void Extender::adoptAll(std::vector<const model::Pod*> claimants) {
  const auto doubtful = std::stable_partition(claimants.begin(), claimants.end(),
                                              [&](const model::Pod* pod) { return mayBeTrue(*pod); });
  for (auto it = doubtful; it != claimants.end(); ++it) { takeOff(**it); }
  claimants.erase(doubtful, claimants.end());
  std::vector<std::tuple<bool, std::uint64_t, Wall, model::Uid, const model::Pod*>> in_order;
  for (const model::Pod* pod : claimants) {
    const sched::NodeState& node = *c_.engine.ledger().find(claimedNode(*pod));
    const bool is_overtaken = !sched::haveRoom(node, pod->uid, sched::vcudaPicks(*pod));
    const std::uint64_t time =
        model::readVcudaNote(pod->annotations, pod->share_limits.size()).time.value_or(0);
    in_order.emplace_back(is_overtaken, time, pod->created, pod->uid, pod);
  }
  std::sort(in_order.begin(), in_order.end());
  std::set<std::pair<model::NodeName, int>> disputed;
  for (const auto& [is_overtaken, time, created, uid, pod] : in_order) {
    if (adopt(*pod, is_overtaken)) { continue; }
    const Grant& g = grants_.at(pod->uid);
    for (const auto& d : sched::amountsOf(g.picks)) { disputed.emplace(g.note.node, d.id); }
  }
  contest(disputed);
}

/// True: what it claims has room beside all that was adopted before it. `is_overtaken`: its whole GPUs are
/// others by now, of those that nobody claims by name.
bool Extender::adopt(const model::Pod& pod, bool is_overtaken) {
  Grant& g = grants_[pod.uid];
  g.uid = pod.uid;
  g.pod = pod.key;
  g.noted = g.note = model::readVcudaNote(pod.annotations, pod.share_limits.size());
  const sched::NodeState& node = *c_.engine.ledger().find(g.note.node);
  g.picks = sched::vcudaPicks(pod);
  if (is_overtaken) {
    auto moved = sched::movedToUntouched(node, g.uid, g.picks);
    if (sched::haveRoom(node, g.uid, moved)) {
      g.picks = std::move(moved);
      g.note.ids = idsOf(g.picks);
    } else {
      g.picks = ontoClaimed(node, std::move(moved));  // its annotations stay for a while
    }
  }
  g.write.stands();
  g.adopted = true;
  g.asked = c_.now.mono;
  g.turns.hold(c_.now.mono);  // some session of the earlier process may go on
  g.told = pod.scheduled;
  last_time_ = std::max(last_time_, g.note.time.value_or(0));
  const bool fits = sched::haveRoom(node, g.uid, g.picks) && isAllowed(g, pod);
  if (is_overtaken && fits) {  // it says so before anybody is told, and to whoever leads next
    g.write.beginIdly();
  }
  reserve(g, pod);
  return fits;
}

/// Where no whole GPU is left untouched it is one of those that others claim: gpu-manager gives any, so who
/// of them is right is disputed.
sched::SharePicks Extender::ontoClaimed(const sched::NodeState& node, sched::SharePicks picks) const {
  const auto is_claim = [&](const sched::Holder& holder) { return grants_.contains(holder.uid); };
  std::set<int> claimed;
  for (int id = 0; id < node.share_devices; ++id) {
    const sched::DeviceState* device = node.device(id);
    const bool is_held = device != nullptr && !device->holders.empty();
    if (is_held && std::all_of(device->holders.begin(), device->holders.end(), is_claim)) {
      claimed.insert(id);
    }
  }
  for (auto& pick : picks) {
    for (int& id : pick.ids) {
      const sched::DeviceState* device = node.device(id);
      const bool is_taken = pick.asked.whole > 0 && device != nullptr && !device->holders.empty();
      if (is_taken && !claimed.empty()) { id = claimed.extract(claimed.begin()).value(); }
    }
    std::sort(pick.ids.begin(), pick.ids.end());
  }
  return picks;
}

/// Who claims some of these devices may be the one that was promised it, or not.
void Extender::contest(const std::set<std::pair<model::NodeName, int>>& devices) {
  if (devices.empty()) { return; }
  for (auto& [uid, g] : grants_) {
    if (!g.adopted) { continue; }
    const model::NodeName& node = g.note.node;
    for (const auto& d : sched::amountsOf(g.picks)) {
      if (devices.contains({node, d.id})) { g.contested = c_.now.mono + kClaimedFor; }
    }
  }
}

/// Nothing is reserved for what it says, and in a while it says it no more.
void Extender::takeOff(const model::Pod& pod) {
  Grant& g = grants_[pod.uid];
  g.uid = pod.uid;
  g.pod = pod.key;
  g.asked = c_.now.mono;
  g.write.removeOrphan(c_.now.mono + kClaimedFor, troubles_.rejectionsOf(pod.uid));
}

/// What was adopted before the quotas had been read.
void Extender::recheckQuotas() {
  if (!quotas_unread_ || c_.engine.quota().awaited()) { return; }
  quotas_unread_ = false;
  std::vector<model::Uid> adopted;
  for (const auto& [uid, g] : grants_) {
    if (g.adopted) { adopted.push_back(uid); }
  }
  for (const auto& uid : adopted) {
    Grant& g = grants_.at(uid);
    const model::Pod* pod = c_.engine.cache().pod(uid);
    if (pod == nullptr || pod->bound()) { continue; }  // its review ends it
    bool allowed = false;
    {
      const Aside own = setOwnAside(*pod);
      allowed = isAllowed(g, *pod);
    }
    if (!allowed) { remove(g); }
    plan(uid);
  }
}

/// Its devices are there and have room for it beside all others. What we did not decide ourselves anybody may
/// have written who makes pods: it must be what could be decided now.
bool Extender::holdsUp(const Grant& g, const model::Pod& pod) {
  const sched::NodeState* node = c_.engine.ledger().find(g.note.node);
  if (node == nullptr || !sched::isComplete(g.picks) || !sched::haveRoom(*node, g.uid, g.picks)) {
    return false;
  }
  if (!g.adopted) { return true; }
  const Aside own = setOwnAside(pod);
  return isAllowed(g, pod) && !isPickedOtherwise(g, pod);
}

/// gpu-manager goes by no annotation: where it picks another device than the annotated one it fails the pod.
/// Devices may have become free since that was written. (Of whole GPUs any will do; where it is not certain
/// what gpu-manager picks, the annotation stays.)
bool Extender::isPickedOtherwise(const Grant& g, const model::Pod& pod) const {
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

bool Extender::isAllowed(const Grant& g, const model::Pod& pod) const {
  const auto door = chooser_.requestOf(pod);
  const auto* request = std::get_if<sched::PodRequest>(&door);
  const sched::NodeState* node = c_.engine.ledger().find(g.note.node);
  if (request == nullptr || node == nullptr || node->enforcer != sched::Enforcer::GpuManager) {
    return false;
  }
  return !request->quota || sched::passesQuota(node->node, request->quota->terms);
}

/// Its limits are those for which it was given devices. Who asked in its name may have said others.
bool Extender::asksFor(const Grant& g, const model::Pod& pod) const {
  const sched::SharePicks now = sched::vcudaPicks(pod);
  return g.write.isOrphan() || std::equal(now.begin(), now.end(), g.picks.begin(), g.picks.end(),
                                          [](const auto& a, const auto& b) { return a.asked == b.asked; });
}

/// The request was about another pod than this one is.
void Extender::drop(Grant& g, const model::Pod& pod) {
  const bool own = c_.isOwnSchedulers(pod);
  const std::string why =
      own ? c_.ownSchedulersText(pod) : "the request says other limits than the pod has; ask again";
  c_.failAll(g.callers.takeAll(), why);
  g.seen.reset();
  const bool unwritten =
      g.write.isWriting() && !g.write.isUnsettled() && !g.write.isUnderWay() && g.noted.node.empty();
  if (own || unwritten) { return end(g.uid); }
  remove(g);
}

}  // namespace gs::extender
