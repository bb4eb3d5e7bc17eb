#include "engine/lease_handler.h"

#include <set>

namespace gs::engine {

void LeaseHandler::apply(const controller::Change& change, Mono now) {
  if (const auto lease = change.object.as<model::Lease>()) { return put(lease, now); }
  gone(change.key, change.last_uid, change.revision);
}

void LeaseHandler::put(const model::Ptr<model::Lease>& lease, Mono now) {
  if (!lease->managed) { return; }
  const auto [before, changed] = s_.cache.putLease(lease);
  if (!changed) { return; }
  // It names its pod again, so it is known who holds the device.
  if (const auto device = s_.leases.deviceOf(*lease); device && !lease->uids().empty()) {
    s_.blocks.unblock(*device);
  }
  std::set<model::Uid> concerned;
  if (before) {
    for (auto& uid : before->uids()) { concerned.insert(uid); }
  }
  for (auto& uid : lease->uids()) {
    s_.leases.stands(uid, *lease);
    concerned.insert(uid);
  }
  for (const auto& uid : concerned) { changedOf(uid, !before || !before->names(uid), now); }
}

/// `is_new`: it named this pod not before.
void LeaseHandler::changedOf(const model::Uid& uid, bool is_new, Mono now) {
  if (s_.cache.knownGone(uid)) { s_.ends.gone(uid, now); }
  const model::Pod* pod = s_.cache.pod(uid);
  // Its end was seen, but not with this device: pods are listed before leases.
  if (is_new && pod != nullptr && pod->bound() && pod->finished()) {
    s_.ends.drain(*pod, s_.devices.read(*pod), pod->containers_terminated, now);
  }
  deriveAnew(uid);
}

void LeaseHandler::deriveAnew(const model::Uid& uid) {
  const model::Pod* pod = s_.cache.pod(uid);
  const bool uses = pod != nullptr && pod->bound() && !pod->finished();
  if (uses) { s_.held.use(*pod, s_.devices.read(*pod)); }
  s_.held.derive(uid);
  if (uses) { s_.unnamed.expectsNoMore(pod->node, uid); }
  s_.touched.pod(uid);
}

void LeaseHandler::gone(const model::ObjectKey& key, const model::Uid& uid, model::Revision revision) {
  const auto before = s_.cache.removeLease(key, uid, revision);
  if (!before) { return; }
  const auto device = s_.leases.deviceOf(*before);
  s_.leases.went(before);
  if (device) {
    s_.blocks.unblock(*device);  // it could not be read, perhaps: what stood there is gone
    // Its name is free for whoever has the device.
    s_.touched.holdersOf(s_.ledger.find(device->first), device->second);
  }
  for (const auto& holder : before->uids()) { deriveAnew(holder); }
}

void LeaseHandler::place(const model::ObjectKey& key, const model::NodeName& node, int gpu) {
  s_.leases.place(key, {node, gpu});
  if (const model::Lease* lease = s_.cache.lease(key)) {
    for (const auto& uid : lease->uids()) { s_.held.derive(uid); }
  }
}

}  // namespace gs::engine
