#include "engine/node_handler.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/mutant.h"
#include "engine/held_devices.h"
#include "engine/resource_claim_handler.h"

namespace gs::engine {
namespace {

/// How often nodes whose drivers are away are looked at.
constexpr Duration kLookAtAway = std::chrono::minutes{1};

}  // namespace

void NodeHandler::applyNode(const controller::Change& change, Mono now) {
  const model::NodeName name{change.key.name};
  s_.touched.node(name);
  const bool was_there = isThere(name);
  if (const auto node = change.object.as<model::Node>()) {
    s_.ledger.upsertNode(*node);
    s_.node_devices.nodeIsThere(name, true, now);
    if (!was_there) { s_.uuids.changed(name, nullptr, s_.cache.status(name)); }
    settleStatus(name, now);
    // What it offers decides whether it is still its driver's.
    const NodeDevices& known = s_.node_devices;
    if (known.isAway(name) ||
        (known.saysDra(name) && known.published(name) != NodeDevices::Published::Whole)) {
      lookAt(name, now);
    }
    s_.awaited.stamped(node->created);
  } else {
    if (was_there) { s_.uuids.changed(name, s_.cache.status(name), nullptr); }
    s_.unnamed.nodeGone(name);
    s_.ledger.removeNode(name);
    s_.node_devices.nodeIsThere(name, false, now);
  }
  s_.near_pods.nodeChanged(name);
  s_.volumes.nodeChanged(name);
  s_.awaited.nodeChanged(name, now);
  s_.reclaim.nodeChanged(name, now);
  // Who ended while it was away may still have containers there.
  const model::GpuNodeStatus* status = s_.cache.status(name);
  if (!was_there && status != nullptr) { s_.ends.seen(*status, now); }
}

void NodeHandler::applyStatus(const controller::Change& change, Mono now) {
  const model::NodeName name{change.key.name};
  s_.touched.node(name);
  aside_.erase(name);
  const auto status = change.object.as<model::GpuNodeStatus>();
  const bool is_report = status != nullptr && status->isReport();
  s_.node_devices.keep(name, is_report ? nullptr : status);
  const auto deleted = change.last.as<model::GpuNodeStatus>();
  if (status == nullptr && deleted != nullptr && isThere(name) && isOfItsNode(*deleted)) {
    return statusDeleted(name, now);
  }
  if (!is_report) {
    report(name, nullptr, now);
    const bool is_news = status != nullptr && status->says_dra && !s_.node_devices.isAway(name);
    if (is_news && s_.node_devices.published(name) != NodeDevices::Published::Whole) { lookAt(name, now); }
    return;
  }
  if (isOfItsNode(*status)) { return report(name, status, now); }
  aside_.insert_or_assign(name, status);
  report(name, nullptr, now);
}

/// What its agent says, nullptr for nothing.
void NodeHandler::report(const model::NodeName& name, const model::Ptr<model::GpuNodeStatus>& status,
                         Mono now) {
  if (!s_.node_devices.report(name, status)) { return; }
  followDriver(name, now);
  show(name, status == nullptr, now);
}

/// Somebody did it by hand: with it goes what is remembered of a driver that publishes nothing.
void NodeHandler::statusDeleted(const model::NodeName& name, Mono now) {
  const bool had_report = s_.node_devices.report(name, nullptr);
  s_.node_devices.forgetDriver(name);
  show(name, had_report, now);
}

/// What is known of its GPUs now.
void NodeHandler::show(const model::NodeName& name, bool report_went, Mono now) {
  const auto known = s_.node_devices.of(name);
  if (known == nullptr) { return dropStatus(name, now); }
  // They are still its driver's, but nobody looks at containers any more.
  if (report_went) { s_.reclaim.statusGone(name, now); }
  takeStatus(known, now);
}

/// Its slices may have come, or gone, or what speaks for its being its driver's without them.
void NodeHandler::followDriver(const model::NodeName& name, Mono now) {
  NodeDevices& devices = s_.node_devices;
  const auto published = devices.published(name);
  const auto last = s_.cache.statusPtr(name);
  const bool was_its = last != nullptr && last->enforcement == model::Enforcement::Dra;
  const bool is_away = devices.isAway(name);
  if (!is_away && !was_its && !devices.saysDra(name)) { return; }  // most nodes: it has none
  const bool is_whole = published == NodeDevices::Published::Whole;
  const bool has_left = published == NodeDevices::Published::Nothing && hasLeft(name, now);
  if (is_whole || has_left || devices.drivers().empty() || GS_MUTANT(ForgetsDrivers)) {
    return devices.forgetDriver(name);
  }
  if (is_away) { return; }
  if (devices.away().empty()) { look_at_away_ = now + kLookAtAway; }
  devices.driverWent(name, was_its ? last : nullptr);
  const sched::NodeState* node = s_.ledger.find(name);
  devices.nodeIsThere(name, node != nullptr && node->exists, now);
}

bool NodeHandler::hasLeft(const model::NodeName& name, Mono now) const {
  const sched::NodeState* node = s_.ledger.find(name);
  if (node == nullptr || !node->exists) {
    const auto away = s_.node_devices.away().find(name);
    if (away == s_.node_devices.away().end() || !away->second.node_went) { return false; }
    return now - *away->second.node_went >= kAgentGone;
  }
  return offersPlugin(*node) && !hasClaims(*node);
}

/// By a device plugin it offers what limits of containers call the GPUs of its driver; not known: of any.
bool NodeHandler::offersPlugin(const sched::NodeState& node) const {
  const auto offers = [&](const std::string& resource) { return node.node.allocatable.get(resource) > 0; };
  const auto away = s_.node_devices.away().find(node.node.name);
  const bool is_known = away == s_.node_devices.away().end() || away->second.last != nullptr;
  if (is_known && !node.dra_resource.empty()) { return offers(node.dra_resource); }
  const auto& drivers = s_.node_devices.drivers();
  return std::any_of(drivers.begin(), drivers.end(), [&](const auto& d) { return offers(d.resource); });
}

/// What its devices were called may not be known: then those of a pool of its name, or for a pod that runs
/// there.
bool NodeHandler::hasClaims(const sched::NodeState& node) const {
  const auto by_claim = [](const sched::Holder& holder) {
    return (holder.sources & static_cast<unsigned>(sched::Source::Claim)) != 0;
  };
  for (const auto& device : node.devices) {
    if (std::any_of(device.holders.begin(), device.holders.end(), by_claim)) { return true; }
  }
  const auto is_there = [&](const model::Uid& uid) {
    const model::Pod* pod = s_.cache.pod(uid);
    return pod != nullptr && !pod->finished() && pod->node == node.node.name;
  };
  const auto has = [&](const model::ResourceClaim& claim) {
    return std::any_of(claim.results.begin(), claim.results.end(), [&](const auto& result) {
      return !result.admin && dra::findDriver(s_.node_devices.drivers(), result.device.driver) != nullptr &&
             (result.device.pool == node.node.name.text ||
              std::any_of(claim.reserved_for.begin(), claim.reserved_for.end(), is_there));
    });
  };
  const auto& claims = s_.claims.all();
  return std::any_of(claims.begin(), claims.end(),
                     [&](const auto& one) { return one.second->allocated && has(*one.second); });
}

void NodeHandler::see(dra::NodeNames nodes, Mono now) {
  constexpr std::size_t kAtOnce = 16;
  // Selections read what is published at once, so whoever was decided by it is to be looked at again at once.
  for (const auto& name : nodes) {
    s_.ledger.publishedAnew(name);
    s_.touched.node(name);
  }
  if (unseen_.empty() && nodes.size() <= kAtOnce) {
    for (const auto& name : nodes) { lookAt(name, now); }
    return;
  }
  if (unseen_.empty()) { unseen_since_ = now; }
  unseen_.merge(nodes);
}

void NodeHandler::tick(Mono now) {
  if (const auto& away = s_.node_devices.away(); !away.empty() && now >= look_at_away_) {
    look_at_away_ = now + kLookAtAway;
    if (unseen_.empty()) { unseen_since_ = now; }
    for (const auto& [name, since] : away) {
      unseen_.insert(name);
      s_.touched.node(name);
    }
  }
  constexpr std::size_t kInATurn = 256;
  for (std::size_t i = 0; i < kInATurn && !unseen_.empty(); ++i) {
    lookAt(unseen_.extract(unseen_.begin()).value(), now);
  }
}

void NodeHandler::lookAt(const model::NodeName& name, Mono now) {
  followDriver(name, now);
  show(name, false, now);
}

bool NodeHandler::isThere(const model::NodeName& name) const {
  const sched::NodeState* node = s_.ledger.find(name);
  return node != nullptr && node->exists;
}

/// Not of a Node of the same name that went, or of one that we are yet to hear of: watches come apart.
bool NodeHandler::isOfItsNode(const model::GpuNodeStatus& status) const {
  const sched::NodeState* node = s_.ledger.find(status.node);
  return node == nullptr || !node->exists || status.node_uid.empty() || status.node_uid == node->node.uid;
}

/// A Node came, or another one took its name.
void NodeHandler::settleStatus(const model::NodeName& name, Mono now) {
  if (const auto known = s_.node_devices.reported(name); known != nullptr && !isOfItsNode(*known)) {
    aside_.insert_or_assign(name, known);
    return report(name, nullptr, now);
  }
  const auto it = aside_.find(name);
  if (it == aside_.end() || !isOfItsNode(*it->second)) { return; }
  const auto status = std::move(it->second);
  aside_.erase(it);
  report(name, status, now);
}

void NodeHandler::takeStatus(const model::Ptr<model::GpuNodeStatus>& status, Mono now) {
  const model::NodeName& name = status->node;
  const auto before = s_.cache.statusPtr(name);
  if (!s_.cache.putStatus(status)) { return; }
  const auto users = changedUsers(before.get(), status.get());
  const bool other_ids = isRenumbered(before.get(), status.get());
  s_.ledger.upsertStatus(*status);
  if (other_ids && isThere(name)) { s_.uuids.changed(name, before.get(), status.get()); }
  s_.awaited.statusChanged(name, true);
  if (other_ids) { renumbered(name); }
  deriveAnew(s_, s_.claims.nodeChanged(name, status.get()));
  for (const auto& uid : s_.taken.pods()) {
    const model::Pod* pod = s_.cache.pod(uid);
    if (pod != nullptr && pod->node == name) { s_.held.derive(uid); }
  }
  touchHolders(name, changedHealth(before.get(), *status));
  touchHolders(name, changedUse(before.get(), *status));
  for (const auto& uid : users) { userChanged(uid); }
  s_.reclaim.statusChanged(*status, now);
  s_.ends.seen(*status, now);
}

void NodeHandler::dropStatus(const model::NodeName& name, Mono now) {
  const auto before = s_.cache.statusPtr(name);
  if (!s_.cache.removeStatus(name)) { return; }
  if (isThere(name)) { s_.uuids.changed(name, before.get(), nullptr); }
  s_.unnamed.nodeGone(name);
  s_.ledger.removeStatus(name);
  s_.awaited.statusChanged(name, false);
  renumbered(name);
  deriveAnew(s_, s_.claims.nodeChanged(name, nullptr));
  for (const auto& uid : changedUsers(before.get(), nullptr)) { userChanged(uid); }
  s_.reclaim.statusGone(name, now);
}

/// Ids mean other devices there: whoever holds some holds others now, and its leases follow.
void NodeHandler::renumbered(const model::NodeName& name) {
  const sched::NodeState* node = s_.ledger.find(name);
  if (node == nullptr) { return; }
  std::set<model::Uid> holders;
  for (const auto& device : node->devices) {
    for (const auto& holder : device.holders) { holders.insert(holder.uid); }
  }
  for (const auto& uid : holders) {
    s_.held.derive(uid);
    s_.touched.pod(uid);
  }
}

/// They may have to be told.
void NodeHandler::touchHolders(const model::NodeName& name, const std::vector<int>& ids) {
  const sched::NodeState* node = s_.ledger.find(name);
  for (const int id : ids) { s_.touched.holdersOf(node, id); }
}

void NodeHandler::userChanged(const model::Uid& uid) {
  const model::Pod* pod = s_.cache.pod(uid);
  if (pod == nullptr || !pod->bound() || pod->finished()) { return; }
  const sched::Holdings said = s_.devices.read(*pod);
  s_.held.use(*pod, said);
  s_.held.derive(uid, &said);
  s_.unnamed.seenWith(*pod);
}

}  // namespace gs::engine
