// What the ResourceClaims of pods ask for (spec.resourceClaims), and what they are to be allocated.
//
// A pod is one for the DRA door (sched/doors/dra.cc) once every claim that it names is there. Pods whose
// claims ask for the same, by the same names, have one selection while any of them waits: so they are of one
// class, and are read once. It follows the claims and the DeviceClasses: another version of a class makes
// another selection, unless it says the same.
// What claims may cost is bounded, for their authors may be anybody: what a pod's claims may ask in all
// (ways, selectors, their patterns, constraints), and what a look at one node may take. What is done for them
// beside looks is counted by steps(), so that who does it for many pods knows when a turn is over.
// Pods may share a claim that they name. The first one chooses its devices, and the others wait until it is
// allocated: then these devices and no others serve them, on that node, where only pods of that claim have
// them.
// One thread.
// Selections refer to what was given to the constructor, which must outlive them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "controller/reflector.h"
#include "dra/claims/claim_plan.h"
#include "engine/allocated_claims.h"
#include "engine/cache.h"
#include "engine/node_devices.h"
#include "engine/unlisted.h"
#include "kapi/kind.h"
#include "model/dra.h"
#include "model/pod.h"
#include "sched/doors/door.h"
#include "sched/request/selection.h"

namespace gs::engine {

class DeviceClaims {
 public:
  using Pods = std::set<model::Uid>;

  DeviceClaims(const Cache& cache, const AllocatedClaims& claims, const NodeDevices& devices)
      : cache_{cache}, claims_{claims}, devices_{devices} {}

  /// A new version of the pod; `waits`: for a node.
  void podChanged(const model::Pod& pod, bool waits);
  /// Pods that wait and name this claim.
  [[nodiscard]] const Pods& waitingFor(const model::ObjectKey& claim) const;
  /// The pods for which that may change something.
  Pods classChanged(const controller::Change& change);
  /// A list of ResourceClaims or DeviceClasses was answered: whether we may list them. Gives the pods for
  /// which that is news.
  Pods mayList(kapi::Kind kind, bool may);
  /// Devices were chosen for claims that the pod shares. Gives those that are to be read again: they have to
  /// wait for what comes of it.
  Pods begun(const model::Pod& pod);
  /// And what was begun for it has come to an end: others may choose, if nobody else does.
  Pods over(const model::Uid& pod);
  /// It shares the devices of that claim: it is reserved for it, its allocation is under way, or it names it
  /// (what an earlier leader decided, or one that has ended and whose lease is not gone yet).
  [[nodiscard]] bool isUser(const model::ObjectKey& claim, const model::Uid& pod) const;

  /// For sched::readPod(). Of a pod that names none: nothing.
  [[nodiscard]] sched::Objects asked(const model::Pod& pod);

  /// What one claim of a pod is to be allocated.
  struct Given {
    model::Ptr<model::ResourceClaim> claim;
    std::vector<model::AllocatedDevice> devices;
    std::vector<model::DeviceConfig> config;
  };
  /// By these devices of the node and no others, in the order in which the pod names its claims. Empty: they
  /// would not do now.
  [[nodiscard]] std::vector<Given> give(const model::Pod& pod, const model::NodeName& node,
                                        const std::vector<int>& ids);

  /// What reading claims and giving devices took so far, in steps of sched/policy/meter.h. What looks at
  /// nodes take, DeviceSelection::pick() says itself.
  [[nodiscard]] std::uint64_t steps() const { return steps_; }
  /// Selections that are remembered.
  [[nodiscard]] std::size_t known() const { return known_.size(); }

 private:
  /// The devices of a claim that is allocated, but not for that pod alone; nullopt: they can be chosen.
  using Fixed = std::optional<std::vector<model::AllocatedDevice>>;
  struct Spec;
  struct Size;
  class Selection;

  /// What was read of a pod that waits. Specs of claims cannot be changed, so it is that while the claims are
  /// the same, and their allocations, and the classes.
  struct Read {
    std::vector<std::pair<model::Uid, Fixed>> claims;
    std::uint64_t classes = 0;
    sched::Objects said;
  };

  [[nodiscard]] static Fixed fixedFor(const model::ResourceClaim& claim, const model::PodClaim& named,
                                      const model::Uid& pod);
  [[nodiscard]] std::string whyTaken(const model::ResourceClaim& claim, const model::PodClaim& named,
                                     const model::Uid& pod) const;
  [[nodiscard]] bool isBegunForOthers(const model::ResourceClaim& claim, const model::Uid& pod) const;
  /// What was read of pods that wait is read again.
  Pods readAnew();
  [[nodiscard]] sched::Blocked missing(const model::Pod& pod) const;
  [[nodiscard]] sched::Blocked refused(const model::Pod& pod, Size& size) const;
  [[nodiscard]] sched::Objects read(const model::Pod& pod);
  [[nodiscard]] Spec specOf(const model::Pod& pod) const;
  [[nodiscard]] std::shared_ptr<const Selection> find(const Spec& spec, std::size_t hash);
  void forgetUnused();

  const Cache& cache_;
  const AllocatedClaims& claims_;
  const NodeDevices& devices_;
  dra::Classes classes_;
  std::uint64_t class_changes_ = 0;
  std::uint64_t steps_ = 0;
  Unlisted unlisted_;
  std::unordered_map<model::Uid, Read> read_;
  std::unordered_map<model::Uid, std::vector<model::ObjectKey>> begun_;         // claims that it shares
  std::unordered_map<model::ObjectKey, Pods> begun_for_;                        // and by claim
  std::unordered_map<model::ObjectKey, Pods> waiting_;                          // by claim
  std::unordered_map<model::Uid, std::set<model::ObjectKey>> named_by_;         // what waits, and names some
  std::unordered_multimap<std::size_t, std::weak_ptr<const Selection>> known_;  // by hash of what they ask
  std::size_t used_ = 0;                                                        // of these, when last counted
};

}  // namespace gs::engine
