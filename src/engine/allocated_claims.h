// ResourceClaims, and who holds which devices by them.
//
// An allocated claim holds its devices for the pods that it is reserved for, else for the pod that owns it,
// else for itself: a device that another scheduler allocated is nobody's to give, used or not. A device is
// known to the ledger by node and id, to a claim by driver, pool and name; names() keeps which is which as
// the nodes' statuses say it. Looking with administrator's access holds nothing.
// Two sources feed it: the watch, and answers to our own calls, which may be newer. A claim is replaced only
// by a higher revision, and one that is gone stays gone. seen(): up to there the watch brought everything, so
// whoever wrote a claim at that revision or before it has seen what stood there before.
// One thread.
#pragma once

#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "engine/cache.h"
#include "model/dra.h"
#include "model/node.h"
#include "model/object.h"

namespace gs::engine {

class AllocatedClaims {
 public:
  using Device = std::pair<model::NodeName, int>;
  using Holders = std::set<model::Uid>;

  // Each gives those who may hold other devices now, or share them with another claim.
  Holders put(const model::Ptr<model::ResourceClaim>& claim);
  /// `uid` empty: whatever is there.
  Holders remove(const model::ObjectKey& key, const model::Uid& uid);
  /// The devices that are listed there now; nullptr: none.
  Holders nodeChanged(const model::NodeName& node, const model::GpuNodeStatus* status);

  [[nodiscard]] const model::ResourceClaim* find(const model::ObjectKey& key) const {
    return findPtr(key).get();
  }
  [[nodiscard]] model::Ptr<model::ResourceClaim> findPtr(const model::ObjectKey& key) const;
  [[nodiscard]] const std::map<model::ObjectKey, model::Ptr<model::ResourceClaim>>& all() const {
    return claims_;
  }
  /// The listed devices that it holds by claims, and whether all of these are for many (model/dra.h).
  [[nodiscard]] std::map<Device, bool> heldBy(const model::Uid& holder) const;
  /// Where it is listed; nullptr: nowhere.
  [[nodiscard]] const std::set<Device>* placesOf(const model::DeviceName& device) const {
    const auto it = names_.find(device);
    return it == names_.end() ? nullptr : &it->second;
  }
  /// Those that it holds its devices for; none while it is not allocated.
  [[nodiscard]] static Holders holdersOf(const model::ResourceClaim& claim);
  /// The allocated claims that hold this device.
  [[nodiscard]] std::vector<const model::ResourceClaim*> holding(const model::DeviceName& device) const;

  /// The watch brought everything up to there.
  void saw(model::Revision revision) { seen_ = std::max(seen_, revision); }
  [[nodiscard]] model::Revision seen() const { return seen_; }
  /// Claims are not served for a moment: those that are listed later are the same ones.
  void notServed() { gone_ = {}; }
  void forgetOld(Mono now) { gone_.forgetOld(now); }

 private:
  /// Of other claims that hold one of its devices.
  [[nodiscard]] Holders besides(const model::ResourceClaim& claim) const;
  void index(const model::ResourceClaim& claim, bool add);

  std::map<model::ObjectKey, model::Ptr<model::ResourceClaim>> claims_;
  std::unordered_map<model::Uid, std::set<model::ObjectKey>> by_holder_;  // of allocated ones
  std::map<model::DeviceName, std::set<model::ObjectKey>> by_device_;     // of allocated ones
  std::map<model::DeviceName, std::set<Device>> names_;
  std::unordered_map<model::NodeName, std::vector<std::pair<model::DeviceName, int>>> listed_;
  model::Revision seen_ = 0;
  Tombstones gone_;
};

}  // namespace gs::engine
