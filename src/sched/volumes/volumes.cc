// The objects, and whom a change of one concerns.
#include "sched/volumes/volumes.h"

#include <algorithm>

#include "model/in_tree_volumes.h"

namespace gs::sched {
namespace {

/// On more nodes than this all are looked at again, by those whom it concerns.
constexpr std::size_t kMostTold = 64;

/// Labels and the like may be written as often as anybody likes.
template <class T>
bool isTheSame(const model::Ptr<T>& a, const model::Ptr<T>& b) {
  if (a == nullptr || b == nullptr) { return a == b; }
  T other = *b;
  other.revision = a->revision;
  return *a == other;
}

/// Puts it there, or takes it away where it is nullptr. What was there before.
template <class Map, class Key, class T>
model::Ptr<T> replaceIn(Map& map, const Key& key, const model::Ptr<T>& now) {
  const auto it = map.find(key);
  model::Ptr<T> before = it == map.end() ? nullptr : it->second;
  if (now != nullptr) {
    map.insert_or_assign(key, now);
  } else if (it != map.end()) {
    map.erase(it);
  }
  return before;
}

template <class Map, class Key, class What>
void eraseFrom(Map& map, const Key& key, const What& what) {
  const auto it = map.find(key);
  if (it == map.end()) { return; }
  it->second.erase(what);
  if (it->second.empty()) { map.erase(it); }
}

bool isLate(const model::Ptr<model::PersistentVolumeClaim>& claim) {
  return claim != nullptr && !claim->isBound();
}

}  // namespace

// ---- Whom a change concerns

void Volumes::tellNode(const model::NodeName& name) {
  if (const auto i = ledger_.indexOf(name)) { ledger_.volumesChanged(*i); }
}

std::uint64_t Volumes::newMoment() {
  (void)ledger_.wideChange();
  return ++clock_;
}

void Volumes::tellNodes(const Pin& pin, const std::string& storage_class) {
  std::size_t nodes = 0;
  for (const auto& value : pin.values) { nodes += places_.at(pin.key, value).size(); }
  if (pin.key.empty() || nodes > kMostTold) {
    class_moments_[storage_class] = newMoment();
    return;
  }
  for (const auto& value : pin.values) {
    for (const auto i : places_.at(pin.key, value)) { ledger_.volumesChanged(i); }
  }
}

void Volumes::tellUsers(const model::ObjectKey& claim) {
  for (const auto& [node, uses] : uses_.nodesOf(claim)) { tellNode(node); }
}

void Volumes::meantChanged(const model::ObjectKey& claim, Keys& claims) {
  claims.insert(claim);
  const auto moment = claim_moments_.find(claim);
  if (moment != claim_moments_.end()) { moment->second = newMoment(); }
}

Volumes::Pods Volumes::waitingFor(const Keys& claims) const {
  Pods out;
  for (const auto& claim : claims) {
    const auto pods = waiting_.find(claim);
    if (pods != waiting_.end()) { out.insert(pods->second.begin(), pods->second.end()); }
  }
  return out;
}

Volumes::Keys Volumes::lateClaimsOf(const std::string& storage_class) const {
  const auto it = late_.find(storage_class);
  return it == late_.end() ? Keys{} : it->second;
}

// ---- Volumes

std::optional<model::ClaimRef> Volumes::claimOf(const model::PersistentVolume& volume) const {
  if (volume.claim) { return volume.claim; }
  const auto wanted = wanted_volumes_.find(volume.key.name);
  if (wanted == wanted_volumes_.end()) { return std::nullopt; }
  return model::ClaimRef{wanted->second.claim, wanted->second.uid};
}

bool Volumes::isFree(const model::PersistentVolume& volume) const {
  return volume.is_available && !volume.deleting && !claimOf(volume);
}

/// `claims`: those of which volumes speak now, or no more. (Whoever may have a free one asks for the same as
/// before.)
void Volumes::file(const model::Ptr<model::PersistentVolume>& volume, Keys& claims) {
  if (isFree(*volume)) {
    free_.put(volume);
    tellNodes(pinOf(volume->affinity), volume->storage_class);
  } else if (const auto claim = claimOf(*volume)) {
    meant_[claim->key].insert(volume->key.name);
    meantChanged(claim->key, claims);
  }
}

void Volumes::unfile(const model::PersistentVolume& volume, Keys& claims) {
  if (isFree(volume)) {
    free_.remove(volume);
    tellNodes(pinOf(volume.affinity), volume.storage_class);
  } else if (const auto claim = claimOf(volume)) {
    eraseFrom(meant_, claim->key, volume.key.name);
    meantChanged(claim->key, claims);
  }
}

/// Where a second volume has the same handle, or has it no more, claims of them are no longer, or again,
/// known to be of a volume of their own.
void Volumes::countHandle(const model::PersistentVolume& volume, bool on, Keys& claims) {
  const auto* plugin = model::inTreePlugin(volume.migrated.plugin);
  if (volume.driver.empty() && plugin == nullptr) { return; }
  const Handle handle = volume.driver.empty() ? Handle{plugin->driver, volume.migrated.handle}
                                              : Handle{volume.driver, volume.handle};
  auto& names = handles_[handle];
  const bool was_one = names.size() == 1;
  const auto concern = [&] {
    for (const auto& name : names) {
      const auto bound = bound_to_.find(name);
      if (bound != bound_to_.end()) { claims.insert(bound->second.begin(), bound->second.end()); }
    }
  };
  if (on) {
    if (was_one) { concern(); }
    names.insert(volume.key.name);
    return;
  }
  names.erase(volume.key.name);
  if (names.size() == 1) { concern(); }
  if (names.empty()) { handles_.erase(handle); }
}

/// The same where a second claim names a volume.
void Volumes::countClaim(const std::string& volume, const model::ObjectKey& claim, bool on, Keys& claims) {
  if (volume.empty()) { return; }
  Keys& all = bound_to_[volume];
  if (on && all.size() == 1) { claims.insert(*all.begin()); }
  if (on) {
    all.insert(claim);
  } else {
    all.erase(claim);
    if (all.size() == 1) { claims.insert(*all.begin()); }
    if (all.empty()) { bound_to_.erase(volume); }
  }
}

Volumes::Pods Volumes::putVolume(const std::string& name, const model::Ptr<model::PersistentVolume>& volume) {
  const auto known = this->volume(name);
  if (isTheSame(known, volume)) {
    replaceIn(volumes_, name, volume);
    return {};
  }
  Keys claims;
  if (known != nullptr) {
    unfile(*known, claims);
    countHandle(*known, false, claims);
  }
  replaceIn(volumes_, name, volume);
  if (volume != nullptr) {
    file(volume, claims);
    countHandle(*volume, true, claims);
  }
  if (const auto bound = bound_to_.find(name); bound != bound_to_.end()) {
    for (const auto& claim : bound->second) {
      claims.insert(claim);
      tellUsers(claim);
    }
  }
  return waitingFor(claims);
}

// ---- The other objects

Volumes::Pods Volumes::putClaim(const model::ObjectKey& key,
                                const model::Ptr<model::PersistentVolumeClaim>& claim) {
  const auto known = replaceIn(claims_, key, claim);
  if (isTheSame(known, claim)) { return {}; }
  Keys claims{key};
  if (known != nullptr) { countClaim(known->volume, key, false, claims); }
  if (claim != nullptr) { countClaim(claim->volume, key, true, claims); }
  if (isLate(known)) { eraseFrom(late_, known->storage_class, key); }
  if (isLate(claim)) { late_[claim->storage_class].insert(key); }
  tellUsers(key);
  return waitingFor(claims);
}

Volumes::Pods Volumes::putClass(const std::string& name, const model::Ptr<model::StorageClass>& of) {
  if (isTheSame(replaceIn(classes_, name, of), of)) { return {}; }
  class_moments_[name] = newMoment();
  return waitingFor(lateClaimsOf(name));
}

void Volumes::putCsiNode(const model::NodeName& name, const model::Ptr<model::CsiNode>& node) {
  if (!isTheSame(replaceIn(csi_nodes_, name, node), node)) { tellNode(name); }
}

void Volumes::putDriver(const std::string& name, const model::Ptr<model::CsiDriver>& driver) {
  if (!isTheSame(replaceIn(drivers_, name, driver), driver)) { moment_ = newMoment(); }
}

void Volumes::putCapacity(const model::ObjectKey& key,
                          const model::Ptr<model::CsiStorageCapacity>& capacity) {
  const auto known = replaceIn(capacities_, key, capacity);
  if (isTheSame(known, capacity)) { return; }
  if (known != nullptr && known->nodes) {
    const Pin pin = pinOf(*known->nodes);
    const auto of_class = room_.find(known->storage_class);
    if (of_class != room_.end()) {
      of_class->second.remove(pin, key);
      if (of_class->second.empty()) { room_.erase(of_class); }
    }
    tellNodes(pin, known->storage_class);
  }
  if (capacity == nullptr || !capacity->nodes) { return; }
  const Pin pin = pinOf(*capacity->nodes);
  room_[capacity->storage_class].put(pin, key);
  tellNodes(pin, capacity->storage_class);
}

void Volumes::putAttachment(const std::string& name, const model::Ptr<model::VolumeAttachment>& attachment) {
  const auto known = replaceIn(attachments_, name, attachment);
  if (isTheSame(known, attachment)) { return; }
  if (known != nullptr) {
    eraseFrom(attached_, known->node, name);
    tellNode(known->node);
  }
  if (attachment == nullptr) { return; }
  attached_[attachment->node].insert(name);
  tellNode(attachment->node);
}

// ---- Pods

void Volumes::waitChanged(const model::Pod& pod, bool waits) {
  Keys names;
  if (waits) {
    for (const auto& one : pod.volume_claims) { names.insert({pod.key.ns, one.claim}); }
  }
  const auto known = waiting_claims_.find(pod.uid);
  if (known == waiting_claims_.end() ? names.empty() : known->second == names) { return; }
  if (known != waiting_claims_.end()) {
    for (const auto& key : known->second) {
      eraseFrom(waiting_, key, pod.uid);
      if (!waiting_.contains(key)) { claim_moments_.erase(key); }
    }
    waiting_claims_.erase(known);
  }
  for (const auto& key : names) {
    // What was found for those who waited for it before says nothing any more.
    if (!waiting_.contains(key)) { claim_moments_[key] = ++clock_; }
    waiting_[key].insert(pod.uid);
  }
  if (!names.empty()) { waiting_claims_[pod.uid] = std::move(names); }
}

Volumes::Pods Volumes::podChanged(const model::Pod& pod, bool waits, bool runs) {
  waitChanged(pod, waits);
  const bool uses = !pod.volume_claims.empty() || !pod.disks.empty();
  VolumeUses::Claims changed;
  if (runs && uses) {
    running_.insert(pod.uid);
    changed = uses_.put(pod, pod.node);
  } else if (running_.erase(pod.uid) > 0) {
    changed = uses_.remove(pod.uid);
  }
  return waitingFor(changed);
}

Volumes::Pods Volumes::waiting() const {
  Pods out;
  for (const auto& [pod, claims] : waiting_claims_) { out.insert(pod); }
  return out;
}

// ---- What was chosen

void Volumes::wantVolume(const model::Uid& pod, const VolumeChoices::Match& match, bool on, Keys& claims) {
  const auto volume = this->volume(match.volume);
  const auto known = wanted_volumes_.find(match.volume);
  const bool is_first =
      on ? known == wanted_volumes_.end() : known != wanted_volumes_.end() && known->second.by == Pods{pod};
  if (volume != nullptr && is_first) { unfile(*volume, claims); }
  if (on) {
    Wanted& wanted = wanted_volumes_[match.volume];
    if (is_first) { wanted = {match.claim, match.uid, {}, {}}; }
    wanted.by.insert(pod);
  } else if (known != wanted_volumes_.end()) {
    known->second.by.erase(pod);
    if (known->second.by.empty()) { wanted_volumes_.erase(known); }
  }
  if (volume != nullptr && is_first) { file(volume, claims); }
}

void Volumes::wantClaim(const model::Uid& pod, const model::ObjectKey& claim, const model::NodeName& node,
                        bool on, Keys& claims) {
  claims.insert(claim);
  if (on) {
    Wanted& wanted = wanted_claims_[claim];
    if (wanted.by.empty()) { wanted.node = node; }
    wanted.by.insert(pod);
    return;
  }
  const auto known = wanted_claims_.find(claim);
  if (known == wanted_claims_.end()) { return; }
  known->second.by.erase(pod);
  if (known->second.by.empty()) { wanted_claims_.erase(known); }
}

void Volumes::want(const model::Uid& pod, const Assumed& assumed, bool on, Keys& claims) {
  for (const auto& match : assumed.choices.matches) { wantVolume(pod, match, on, claims); }
  for (const auto& claim : assumed.choices.to_make) { wantClaim(pod, claim, assumed.node, on, claims); }
}

Volumes::Pods Volumes::assume(const model::Pod& pod, const model::NodeName& node,
                              const VolumeChoices& choices) {
  Keys claims;
  if (const auto before = assumed_.find(pod.uid); before != assumed_.end()) {
    want(pod.uid, before->second, false, claims);
  }
  Assumed& now = assumed_[pod.uid];
  now = {node, choices};
  want(pod.uid, now, true, claims);
  if (!running_.contains(pod.uid)) { claims.merge(uses_.put(pod, node)); }
  Pods out = waitingFor(claims);
  out.erase(pod.uid);
  return out;
}

Volumes::Pods Volumes::forget(const model::Uid& pod) {
  const auto known = assumed_.find(pod);
  if (known == assumed_.end()) { return {}; }
  Keys claims;
  want(pod, known->second, false, claims);
  assumed_.erase(known);
  if (!running_.contains(pod)) { claims.merge(uses_.remove(pod)); }
  return waitingFor(claims);
}

const VolumeChoices* Volumes::assumed(const model::Uid& pod) const {
  const auto it = assumed_.find(pod);
  return it == assumed_.end() ? nullptr : &it->second.choices;
}

// ---- Reading

model::Ptr<model::PersistentVolume> Volumes::volume(const std::string& name) const {
  const auto it = volumes_.find(name);
  return it == volumes_.end() ? nullptr : it->second;
}

model::Ptr<model::PersistentVolumeClaim> Volumes::claim(const model::ObjectKey& key) const {
  const auto it = claims_.find(key);
  return it == claims_.end() ? nullptr : it->second;
}

}  // namespace gs::sched
