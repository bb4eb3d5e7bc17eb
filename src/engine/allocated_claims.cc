#include "engine/allocated_claims.h"

#include <algorithm>
#include <iterator>
#include <string>

namespace gs::engine {
namespace {

/// What `set` has under `key`; an empty one is forgotten.
template <class Sets, class Key, class Value>
void change(Sets& sets, const Key& key, const Value& value, bool add) {
  if (add) {
    sets[key].insert(value);
    return;
  }
  const auto it = sets.find(key);
  if (it == sets.end()) { return; }
  it->second.erase(value);
  if (it->second.empty()) { sets.erase(it); }
}

/// What it is allocated, and for whom: users may change the rest at any time.
bool holdsTheSame(const model::ResourceClaim& a, const model::ResourceClaim& b) {
  return a.uid == b.uid && a.allocated == b.allocated && a.results == b.results &&
         a.reserved_for == b.reserved_for && a.owner_pod == b.owner_pod;
}

}  // namespace

AllocatedClaims::Holders AllocatedClaims::holdersOf(const model::ResourceClaim& claim) {
  if (!claim.allocated) { return {}; }
  if (!claim.reserved_for.empty()) { return {claim.reserved_for.begin(), claim.reserved_for.end()}; }
  return {claim.owner_pod.empty() ? claim.uid : claim.owner_pod};
}

AllocatedClaims::Holders AllocatedClaims::besides(const model::ResourceClaim& claim) const {
  Holders out;
  if (!claim.allocated) { return out; }
  for (const auto& result : claim.results) {
    const auto it = result.admin ? by_device_.end() : by_device_.find(result.device);
    if (it == by_device_.end()) { continue; }
    for (const auto& key : it->second) {
      if (key != claim.key) { out.merge(holdersOf(*claims_.at(key))); }
    }
  }
  return out;
}

void AllocatedClaims::index(const model::ResourceClaim& claim, bool add) {
  for (const auto& holder : holdersOf(claim)) { change(by_holder_, holder, claim.key, add); }
  if (!claim.allocated) { return; }
  for (const auto& result : claim.results) {
    if (!result.admin) { change(by_device_, result.device, claim.key, add); }
  }
}

AllocatedClaims::Holders AllocatedClaims::put(const model::Ptr<model::ResourceClaim>& claim) {
  if (gone_.covers(claim->uid, claim->revision)) { return {}; }
  auto& known = claims_[claim->key];
  // Whoever waits for its own claim has to hear of it, allocated or not, and when the watch brings what is
  // known by an answer.
  Holders concerned;
  if (!claim->owner_pod.empty()) { concerned.insert(claim->owner_pod); }
  if (known != nullptr && known->uid == claim->uid && known->revision >= claim->revision) {
    if (known->revision == claim->revision) {
      concerned.merge(holdersOf(*claim));
    }  // of one without an owner too
    return concerned;
  }
  const bool is_news = known == nullptr || !holdsTheSame(*known, *claim);
  if (is_news) {
    concerned.merge(holdersOf(*claim));
    concerned.merge(besides(*claim));
  }
  if (known != nullptr) {
    if (is_news) {
      concerned.merge(holdersOf(*known));
      concerned.merge(besides(*known));
    }
    index(*known, false);
    if (known->uid != claim->uid) { gone_.add(known->uid); }
  }
  known = claim;
  index(*claim, true);
  return concerned;
}

AllocatedClaims::Holders AllocatedClaims::remove(const model::ObjectKey& key, const model::Uid& uid) {
  if (!uid.empty()) { gone_.add(uid); }
  const auto it = claims_.find(key);
  if (it == claims_.end() || (!uid.empty() && it->second->uid != uid)) { return {}; }
  const auto claim = it->second;
  gone_.add(claim->uid);
  index(*claim, false);
  claims_.erase(it);
  Holders concerned = holdersOf(*claim);
  concerned.merge(besides(*claim));
  if (!claim->owner_pod.empty()) { concerned.insert(claim->owner_pod); }
  return concerned;
}

AllocatedClaims::Holders AllocatedClaims::nodeChanged(const model::NodeName& node,
                                                      const model::GpuNodeStatus* status) {
  std::vector<std::pair<model::DeviceName, int>> now;
  if (status != nullptr) {
    for (const auto& device : status->devices) {
      if (!device.dra.device.empty()) { now.emplace_back(device.dra, device.id); }
    }
  }
  std::sort(now.begin(), now.end());
  auto& listed = listed_[node];
  std::vector<std::pair<model::DeviceName, int>> changed;
  std::set_symmetric_difference(listed.begin(), listed.end(), now.begin(), now.end(),
                                std::back_inserter(changed));
  Holders concerned;
  for (const auto& [name, id] : changed) {
    const bool is_listed = std::binary_search(now.begin(), now.end(), std::pair{name, id});
    change(names_, name, Device{node, id}, is_listed);
    for (const auto* claim : holding(name)) { concerned.merge(holdersOf(*claim)); }
  }
  listed = std::move(now);
  if (listed.empty()) { listed_.erase(node); }
  return concerned;
}

model::Ptr<model::ResourceClaim> AllocatedClaims::findPtr(const model::ObjectKey& key) const {
  const auto it = claims_.find(key);
  return it == claims_.end() ? nullptr : it->second;
}

std::map<AllocatedClaims::Device, bool> AllocatedClaims::heldBy(const model::Uid& holder) const {
  std::map<Device, bool> out;
  const auto it = by_holder_.find(holder);
  if (it == by_holder_.end()) { return out; }
  for (const auto& key : it->second) {
    const model::ResourceClaim& claim = *claims_.at(key);
    for (const auto& result : claim.results) {
      const auto name = result.admin ? names_.end() : names_.find(result.device);
      if (name == names_.end()) { continue; }
      for (const Device& device : name->second) {
        bool& for_many = out.try_emplace(device, true).first->second;
        for_many = for_many && claim.isForMany();
      }
    }
  }
  return out;
}

std::vector<const model::ResourceClaim*> AllocatedClaims::holding(const model::DeviceName& device) const {
  std::vector<const model::ResourceClaim*> out;
  const auto it = by_device_.find(device);
  if (it == by_device_.end()) { return out; }
  for (const auto& key : it->second) { out.push_back(claims_.at(key).get()); }
  return out;
}

}  // namespace gs::engine
