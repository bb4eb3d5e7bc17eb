// Volumes that nobody has: which of them serves a claim on a node. The smallest that does is taken, of
// equally large ones the first by name. (kube-scheduler takes any of these; the rest is
// k8s.io/component-helpers/storage/volume FindMatchingVolume.)
//
// Cost: O(log) to put and to remove. To find: the volumes that may be reached from the node, from the size
// that is asked on, until one serves; so many that do not serve for another reason are looked at in vain.
#pragma once

#include <set>
#include <string>
#include <tuple>
#include <unordered_map>

#include "model/object.h"
#include "model/volumes.h"
#include "sched/volumes/filed.h"
#include "sched/volumes/volume_ask.h"
#include "sched/volumes/volume_rules.h"

namespace gs::sched {

/// Whether a volume of its class serves the claim, wherever it is, as far as its form decides.
[[nodiscard]] bool hasFormFor(const model::PersistentVolume& volume, const LateClaim& claim,
                              const VolumeRules& rules);

class FreeVolumes {
 public:
  using Names = std::set<std::string>;

  void put(const model::Ptr<model::PersistentVolume>& volume);
  void remove(const model::PersistentVolume& volume);
  /// None of `taken`; nullptr: there is none.
  [[nodiscard]] const model::PersistentVolume* find(const LateClaim& claim, const model::Labels& node,
                                                    const Names& taken, const VolumeRules& rules) const;

 private:
  struct Entry {
    model::Quantity capacity;
    std::string name;
    model::Ptr<model::PersistentVolume> volume{};
    friend bool operator<(const Entry& a, const Entry& b) {
      return std::tie(a.capacity, a.name) < std::tie(b.capacity, b.name);
    }
  };
  std::unordered_map<std::string, Filed<Entry>> classes_;
};

}  // namespace gs::sched
