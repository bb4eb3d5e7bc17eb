// Nodes, and what their statuses say of their GPUs.
#include <set>
#include <utility>

#include "engine/engine.h"
#include "engine/held_devices.h"

namespace gs::engine {

void Engine::applyNode(const controller::Change& change, Mono now) {
  const model::NodeName name{change.key.name};
  const bool was_there = isThere(name);
  if (const auto node = change.object.as<model::Node>()) {
    ledger_.upsertNode(*node);
    if (!was_there) { uuids_.changed(name, nullptr, cache_.status(name)); }
    settleStatus(name, now);
    awaited_.stamped(node->created);
  } else {
    if (was_there) { uuids_.changed(name, cache_.status(name), nullptr); }
    looks_.forget(name);
    ledger_.removeNode(name);
  }
  anti_affinity_.nodeChanged(name);
  awaited_.nodeChanged(name, now);
  reclaim_.nodeChanged(name, now);
  // Who ended while it was away may still have containers there.
  const model::GpuNodeStatus* status = cache_.status(name);
  if (!was_there && synced_ && status != nullptr) { reclaimUnknown(*status, now); }
}

/// They may have to be told.
void Engine::touchHolders(const model::NodeName& name, const std::vector<int>& ids) {
  const sched::NodeState* node = ids.empty() ? nullptr : ledger_.find(name);
  if (node == nullptr) { return; }
  for (const int id : ids) {
    const sched::DeviceState* device = node->device(id);
    if (device == nullptr) { continue; }
    for (const auto& holder : device->holders) { touch(holder.uid); }
  }
}

void Engine::applyStatus(const controller::Change& change, Mono now) {
  const model::NodeName name{change.key.name};
  aside_.erase(name);
  const auto status = change.object.as<model::GpuNodeStatus>();
  if (status == nullptr) { return dropStatus(name, now); }
  if (!isOfItsNode(*status)) {
    aside_.insert_or_assign(name, status);
    return dropStatus(name, now);
  }
  takeStatus(status, now);
}

/// Not of a Node of the same name that went, or of one that we are yet to hear of: watches come apart.
bool Engine::isOfItsNode(const model::GpuNodeStatus& status) const {
  const sched::NodeState* node = ledger_.find(status.node);
  return node == nullptr || !node->exists || status.node_uid.empty() || status.node_uid == node->node.uid;
}

/// A Node came, or another one took its name.
void Engine::settleStatus(const model::NodeName& name, Mono now) {
  if (const auto known = cache_.statusPtr(name); known != nullptr && !isOfItsNode(*known)) {
    aside_.insert_or_assign(name, known);
    return dropStatus(name, now);
  }
  const auto it = aside_.find(name);
  if (it == aside_.end() || !isOfItsNode(*it->second)) { return; }
  const auto status = std::move(it->second);
  aside_.erase(it);
  takeStatus(status, now);
}

void Engine::takeStatus(const model::Ptr<model::GpuNodeStatus>& status, Mono now) {
  const model::NodeName& name = status->node;
  const auto before = cache_.statusPtr(name);
  if (!cache_.putStatus(status)) { return; }
  const auto users = changedUsers(before.get(), status.get());
  const bool other_ids = isRenumbered(before.get(), status.get());
  ledger_.upsertStatus(*status);
  if (other_ids && isThere(name)) { uuids_.changed(name, before.get(), status.get()); }
  awaited_.statusChanged(name, true);
  if (other_ids) { renumbered(name); }
  touchHolders(name, changedHealth(before.get(), *status));
  touchHolders(name, changedUse(before.get(), *status));
  for (const auto& uid : users) { userChanged(uid); }
  reclaim_.statusChanged(*status, now);
  if (synced_) { reclaimUnknown(*status, now); }
}

void Engine::dropStatus(const model::NodeName& name, Mono now) {
  const auto before = cache_.statusPtr(name);
  if (!cache_.removeStatus(name)) { return; }
  if (isThere(name)) { uuids_.changed(name, before.get(), nullptr); }
  looks_.forget(name);
  ledger_.removeStatus(name);
  awaited_.statusChanged(name, false);
  renumbered(name);
  for (const auto& uid : changedUsers(before.get(), nullptr)) { userChanged(uid); }
  reclaim_.statusGone(name, now);
}

bool Engine::isThere(const model::NodeName& name) const {
  const sched::NodeState* node = ledger_.find(name);
  return node != nullptr && node->exists;
}

/// Ids mean other devices there: whoever holds some holds others now, and its leases follow.
void Engine::renumbered(const model::NodeName& node) {
  const sched::NodeState* state = ledger_.find(node);
  if (state == nullptr) { return; }
  std::set<model::Uid> holders;
  for (const auto& device : state->devices) {
    for (const auto& holder : device.holders) { holders.insert(holder.uid); }
  }
  for (const auto& uid : holders) {
    held_.derive(uid);
    touch(uid);
  }
}

void Engine::userChanged(const model::Uid& uid) {
  const model::Pod* pod = cache_.pod(uid);
  if (pod == nullptr || !pod->bound() || pod->finished()) { return; }
  const sched::Holdings said = devices_.read(*pod);
  held_.use(*pod, said);
  held_.derive(uid, &said);
  seenWith(*pod);
}

/// Who uses a device and is not bound there ended, or was bound there in a history that the API server lost.
void Engine::reclaimUnknown(const model::GpuNodeStatus& status, Mono now) {
  for (const auto& device : status.devices) {
    for (const auto& uid : device.in_use_by) {
      const model::Pod* pod = cache_.pod(uid);
      const bool live = pod != nullptr && pod->node == status.node && !pod->finished();
      if (!live) { reclaim_.seenUsing(uid, status.node, device.id, now); }
    }
  }
}

}  // namespace gs::engine
