// The cluster's volumes as kube-scheduler's volume plugins see them (VolumeRestrictions, NodeVolumeLimits,
// VolumeBinding, VolumeZone; the same from 1.33 to 1.37 but for VolumeRules): the objects, who uses which
// claims where, and what was chosen for pods that are on their way.
//
// Two questions. ask() is asked once for a pod: whether it can be placed at all, and what its volumes ask of
// a node. refuse() is asked for each node. A class whose volumes are only there, and a claim that waits for
// its pod: choose() says which volume each such claim is to be bound to on the node, or that it is to be made
// there. assume() keeps that for the pod until forget(), so that others do not choose the same; the objects
// may say so too by then.
//
// What changes says who is concerned. Pods that ask for something else now are given back (those that wait
// and name such a claim). Where they ask for the same and a node may say something else, that node is told to
// the ledger (Ledger::volumesChanged()); and of what is not of single nodes momentOf() grows, and so does
// Ledger::wideChanges(), which has those looked at who wait: however many wait, a change costs the same.
//
// Objects come in any order, and each replaces the one of its name. Cost: O(log) for an object, and one note
// for each node on which it is pinned; a pod that waits costs O(its claims). refuse() costs O(the pod's
// claims), what FreeVolumes::find() looks at, and for Limits what is used on that node.
// The ledger must outlive it. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "model/object.h"
#include "model/pod.h"
#include "model/volumes.h"
#include "sched/doors/door.h"
#include "sched/ledger/ledger.h"
#include "sched/request/volume_selection.h"
#include "sched/volumes/filed.h"
#include "sched/volumes/free_volumes.h"
#include "sched/volumes/node_places.h"
#include "sched/volumes/volume_ask.h"
#include "sched/volumes/volume_rules.h"
#include "sched/volumes/volume_uses.h"

namespace gs::sched {

class Volumes {
 public:
  using Pods = std::set<model::Uid>;

  explicit Volumes(Ledger& ledger, VolumeRules rules = {}) : ledger_{ledger}, rules_{rules} {}
  Volumes(const Volumes&) = delete;
  Volumes& operator=(const Volumes&) = delete;

  /// The server's version became known, or is another one. Before anything is asked.
  void setRules(VolumeRules rules) { rules_ = rules; }
  [[nodiscard]] const VolumeRules& rules() const { return rules_; }

  // Objects that came or changed; nullptr: that one went. Each gives the pods that are to be asked anew.
  Pods putVolume(const std::string& name, const model::Ptr<model::PersistentVolume>& volume);
  Pods putClaim(const model::ObjectKey& key, const model::Ptr<model::PersistentVolumeClaim>& claim);
  Pods putClass(const std::string& name, const model::Ptr<model::StorageClass>& of);
  void putCsiNode(const model::NodeName& name, const model::Ptr<model::CsiNode>& node);
  void putDriver(const std::string& name, const model::Ptr<model::CsiDriver>& driver);
  void putCapacity(const model::ObjectKey& key, const model::Ptr<model::CsiStorageCapacity>& capacity);
  void putAttachment(const std::string& name, const model::Ptr<model::VolumeAttachment>& attachment);
  /// A node came, went, or has other labels. Call it after the ledger knows.
  void nodeChanged(const model::NodeName& name) { places_.nodeChanged(name); }

  /// A new version of a pod, or its end: it waits for a node; or uses its own; or neither.
  Pods podChanged(const model::Pod& pod, bool waits, bool runs);
  /// All that wait and name claims.
  [[nodiscard]] Pods waiting() const;

  /// Blocked: it cannot be placed anywhere now, in the words of kube-scheduler.
  using Answer = std::variant<VolumeAsk, Blocked>;
  /// What the pod itself uses must not be known (podChanged(), assume()).
  [[nodiscard]] Answer ask(const model::Pod& pod) const { return ask(pod, false); }
  using Filter = VolumeSelection::Filter;
  /// `gone`: pods of that node that are not to count.
  [[nodiscard]] std::optional<Misfit> refuse(Filter filter, const VolumeAsk& ask, const model::Node& node,
                                             const std::set<model::Uid>* gone = nullptr) const;
  /// See VolumeSelection::moment().
  [[nodiscard]] std::uint64_t momentOf(const VolumeAsk& ask) const;

  /// For a pod that node takes. Error: it does not, by Filter::Binding, or the pod must be asked anew.
  [[nodiscard]] Verdict<VolumeChoices> choose(const model::Pod& pod, const model::Node& node) const;
  /// The pod is decided to come there, with these choices; again with others: these count.
  Pods assume(const model::Pod& pod, const model::NodeName& node, const VolumeChoices& choices);
  /// It is bound, or will not come.
  Pods forget(const model::Uid& pod);
  /// What is assumed for it; nullptr: nothing.
  [[nodiscard]] const VolumeChoices* assumed(const model::Uid& pod) const;

  // For whoever writes what was chosen, and waits for it. nullptr: there is none.
  [[nodiscard]] model::Ptr<model::PersistentVolume> volume(const std::string& name) const;
  [[nodiscard]] model::Ptr<model::PersistentVolumeClaim> claim(const model::ObjectKey& key) const;
  /// From that node the volume can be reached, as the drivers there see it.
  [[nodiscard]] bool isReached(const model::PersistentVolume& volume, const model::Node& node) const;

 private:
  struct Assumed {
    model::NodeName node;
    VolumeChoices choices;
  };
  /// What pods that were decided want of a volume or of a claim.
  struct Wanted {
    model::ObjectKey claim;  // of a volume: the one that it is to be bound to
    model::Uid uid;
    model::NodeName node;  // of a claim: the one that it is to be told
    Pods by;
  };

  using Handle = std::pair<std::string, std::string>;  // driver, handle
  using Keys = std::set<model::ObjectKey>;

  // volume_question.cc
  [[nodiscard]] Answer ask(const model::Pod& pod, bool named) const;
  [[nodiscard]] std::optional<Blocked> whyNot(const model::Pod& pod, const model::VolumeClaim& named) const;
  [[nodiscard]] bool waitsForPod(const model::PersistentVolumeClaim& claim) const;
  [[nodiscard]] std::optional<Blocked> whyNotYet(const model::Pod& pod) const;
  void addBound(const model::PersistentVolumeClaim& claim, bool is_its, VolumeAsk& ask) const;
  [[nodiscard]] LateClaim lateOf(const model::PersistentVolumeClaim& claim, bool named) const;
  [[nodiscard]] std::optional<Attach> attachOf(const model::PersistentVolumeClaim& claim) const;
  [[nodiscard]] std::optional<Attach> attachByClass(const model::PersistentVolumeClaim& claim) const;
  [[nodiscard]] bool isPrivate(const model::PersistentVolumeClaim& claim, const Attach& attach) const;
  [[nodiscard]] bool isSpecial(const model::ObjectKey& claim) const;

  // volume_limits.cc, volume_checks.cc
  using Gone = std::set<model::Uid>;  // nullptr: nobody
  [[nodiscard]] std::optional<Misfit> refuseDisks(const VolumeAsk& ask, const model::NodeName& node,
                                                  const Gone* gone) const;
  [[nodiscard]] std::optional<Misfit> refuseCount(const VolumeAsk& ask, const model::NodeName& node,
                                                  const Gone* gone) const;
  [[nodiscard]] std::optional<Misfit> refuseBinding(const VolumeAsk& ask, const model::Node& node,
                                                    VolumeChoices* choices) const;
  [[nodiscard]] static std::optional<Misfit> refuseZones(const VolumeAsk& ask, const model::Labels& node);
  [[nodiscard]] std::optional<Reason> refuseBound(const VolumeAsk& ask, const model::Node& node) const;
  [[nodiscard]] std::optional<Reason> refuseLate(const VolumeAsk& ask, const model::Node& node,
                                                 VolumeChoices* choices) const;
  [[nodiscard]] std::optional<Reason> refuseMaking(const LateClaim& claim, const model::Labels& node) const;
  [[nodiscard]] bool hasRoomFor(const LateClaim& claim, const model::StorageClass& of,
                                const model::Labels& node) const;
  /// Meant for it already; nothing: none is, nullptr: the one that is cannot be reached.
  [[nodiscard]] std::optional<const model::PersistentVolume*> meantFor(const LateClaim& claim,
                                                                       const model::Labels& node,
                                                                       const FreeVolumes::Names& taken) const;
  using Handles = std::set<Handle>;
  /// What a pod would bring to a node.
  struct Wants {
    std::map<std::string, std::int64_t> drivers;  // volumes of its own
    Handles known;                                // and those that others may have there already
  };
  [[nodiscard]] Wants wantsOf(const VolumeAsk& ask, const model::CsiNode* csi) const;
  [[nodiscard]] std::string missingDriver(const Wants& wants, const model::CsiNode* csi) const;
  void addAttachments(const model::NodeName& node, Handles& out) const;
  [[nodiscard]] Handles attachedOn(const model::NodeName& node, const model::CsiNode* csi,
                                   const Gone* gone) const;
  [[nodiscard]] bool counts(const Attach& attach, const model::CsiNode* csi) const;
  [[nodiscard]] bool isServedByDriver(const std::string& plugin, const model::CsiNode* csi) const;
  [[nodiscard]] const model::CsiNode* csiNode(const model::NodeName& name) const;

  // volumes.cc
  [[nodiscard]] std::optional<model::ClaimRef> claimOf(const model::PersistentVolume& volume) const;
  [[nodiscard]] bool isFree(const model::PersistentVolume& volume) const;
  void file(const model::Ptr<model::PersistentVolume>& volume, Keys& claims);
  void unfile(const model::PersistentVolume& volume, Keys& claims);
  void countHandle(const model::PersistentVolume& volume, bool on, Keys& claims);
  void countClaim(const std::string& volume, const model::ObjectKey& claim, bool on, Keys& claims);
  /// A moment of what is not of single nodes.
  std::uint64_t newMoment();
  /// Where they are too many the class's moment says it.
  void tellNodes(const Pin& pin, const std::string& storage_class);
  void tellNode(const model::NodeName& name);
  void tellUsers(const model::ObjectKey& claim);
  /// Another volume is meant for it, or another one can be had.
  void meantChanged(const model::ObjectKey& claim, Keys& claims);
  /// Pods that wait and name one of these.
  [[nodiscard]] Pods waitingFor(const Keys& claims) const;
  [[nodiscard]] Keys lateClaimsOf(const std::string& storage_class) const;
  void waitChanged(const model::Pod& pod, bool waits);
  void wantVolume(const model::Uid& pod, const VolumeChoices::Match& match, bool on, Keys& claims);
  void wantClaim(const model::Uid& pod, const model::ObjectKey& claim, const model::NodeName& node, bool on,
                 Keys& claims);
  void want(const model::Uid& pod, const Assumed& assumed, bool on, Keys& claims);

  Ledger& ledger_;
  VolumeRules rules_;
  std::unordered_map<std::string, model::Ptr<model::PersistentVolume>> volumes_;
  std::unordered_map<model::ObjectKey, model::Ptr<model::PersistentVolumeClaim>> claims_;
  std::unordered_map<std::string, model::Ptr<model::StorageClass>> classes_;
  std::unordered_map<model::NodeName, model::Ptr<model::CsiNode>> csi_nodes_;
  std::unordered_map<std::string, model::Ptr<model::CsiDriver>> drivers_;
  std::unordered_map<model::ObjectKey, model::Ptr<model::CsiStorageCapacity>> capacities_;
  std::unordered_map<std::string, model::Ptr<model::VolumeAttachment>> attachments_;

  FreeVolumes free_;
  std::unordered_map<model::ObjectKey, std::set<std::string>> meant_;    // volumes by the claim they name
  std::unordered_map<std::string, Keys> bound_to_;                       // claims by the volume they name
  std::map<Handle, std::set<std::string>> handles_;                      // volumes by driver and handle
  std::unordered_map<std::string, Keys> late_;                           // unbound claims by class
  std::unordered_map<std::string, Filed<model::ObjectKey>> room_;        // capacities by class
  std::unordered_map<model::NodeName, std::set<std::string>> attached_;  // attachments by node
  VolumeUses uses_;
  NodePlaces places_{ledger_};

  std::unordered_set<model::Uid> running_;  // of those that use some
  std::unordered_map<model::Uid, Assumed> assumed_;
  std::unordered_map<std::string, Wanted> wanted_volumes_;
  std::unordered_map<model::ObjectKey, Wanted> wanted_claims_;

  std::unordered_map<model::ObjectKey, Pods> waiting_;   // by claim
  std::unordered_map<model::Uid, Keys> waiting_claims_;  // and by pod
  std::uint64_t clock_ = 0;  // a moment for each change that is not of single nodes
  std::uint64_t moment_ = 0;
  std::unordered_map<std::string, std::uint64_t> class_moments_;
  std::unordered_map<model::ObjectKey, std::uint64_t> claim_moments_;  // of those that are waited for
};

}  // namespace gs::sched
