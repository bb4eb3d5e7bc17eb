// Volumes in the plays with pods: claims of every kind of class (local volumes, of which there are few; made
// once a pod has a node, late, after failures, in the wrong zone; made at once). Some pods bring theirs, some
// find them as the pod before them left them, some share one, or want one that is for a single pod at a time
// (ReadWriteOncePod); some have two. Claims are deleted under their pods, and come late. Who binds and makes
// volumes is simulated (sandbox/controllers/).
//
// What is judged, of objects alone:
//   - no two claims have one volume, and no volume is taken from a claim that is there for another one;
//   - no claim that is to be made for one node is told another one, unless its provisioner took the first one
//     back;
//   - when a pod of ours is bound each of its claims is bound, to a volume that says so, and whose node
//     affinity takes the node. (A claim that was so a moment ago, and went while the Binding was on its way,
//     is no fault.)
//   - in the end no claim of a pod that runs is unbound.
// pods_judge.h asks refuses() whether somebody waits who need not, and usesTheSame() of pods that were bound
// under one leader. GPUs of who waited in vain are given back: no lease of an unbound pod is left, says
// test/world/truth.h.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "json/value.h"
#include "kapi/node_file.h"
#include "sandbox/world/world.h"
#include "test/sim/slow_filters.h"

namespace gs::sim {

class PodVolumes {
 public:
  /// `played`: else there are none, and nothing is drawn. `known`: what was so for longer was known, however
  /// late watches are.
  PodVolumes(sandbox::World& world, Rng rng, bool played, Duration known)
      : world_{world}, rng_{rng}, is_played_{played}, known_{known} {}

  /// Classes, and local volumes of these nodes.
  void begin(const std::vector<kapi::SimNode>& nodes);
  /// Some pods have one: noted in annotations, for those of its origin.
  void addTo(json::Value& pod);
  /// Before such a pod is created: it names its claims, and most of them are there.
  void claimsFor(json::Value& pod);
  /// What users and administrators do: claims that pods brought go with them, missing ones come, and local
  /// volumes whose claims are gone are free again.
  void tend();
  /// Now and then a claim is deleted, whoever uses it. Its name; "": none.
  std::string deleteOne();
  /// Reads what changed.
  void watch();
  void settled();

  /// Why no volume lets the pod onto that node now; "": they do.
  [[nodiscard]] std::string refuses(const json::Value& pod, const std::string& node) const;
  /// One of these pods uses a claim of this one's that is for a single pod; "": none.
  [[nodiscard]] static std::string usesTheSame(const json::Value& pod, const std::vector<slow::There>& pods);
  [[nodiscard]] static bool hasAny(const json::Value& pod);
  /// One of its claims, or some volume, is not what it was then.
  [[nodiscard]] bool changedSince(const json::Value& pod, Mono then) const;
  [[nodiscard]] bool isPlayed() const { return is_played_; }
  /// "" or the first thing that must never be.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  /// Claims that were bound when their pod was.
  [[nodiscard]] std::size_t bound() const { return bound_; }

 private:
  void wrong(std::string what);
  void claimChanged(const apiserver::HistoryEntry& entry);
  void volumeChanged(const apiserver::HistoryEntry& entry);
  void nodeChanged(const apiserver::HistoryEntry& entry);
  void podBound(const json::Value& pod);
  void makeMissing();
  void freeReleased();
  void make(const json::Value& pod, const std::string& name, const std::string& of);
  [[nodiscard]] apiserver::ObjectPtr find(const char* resource, const std::string& ns,
                                          const std::string& name) const;
  [[nodiscard]] std::string whyUnbound(const json::Value& pod, const std::string& claim) const;
  [[nodiscard]] std::string whyFar(const json::Value& pod, const std::string& claim) const;
  [[nodiscard]] bool wentLately(const std::string& claim) const;
  [[nodiscard]] std::size_t freeOn(const json::Value& node) const;
  [[nodiscard]] Mono now() const { return world_.now().mono; }

  sandbox::World& world_;
  Rng rng_;
  bool is_played_;
  Duration known_;
  std::string problem_;
  std::size_t bound_ = 0;
  std::uint64_t position_ = 0;  // of the store's history
  // Claims are "namespace/name" here.
  std::map<std::string, std::string> claim_of_;  // volume -> the claim that has it
  std::map<std::string, json::Value> labels_;    // of nodes, those that went too
  std::map<std::string, Mono> node_changed_;     // its labels
  std::map<std::string, Mono> claim_changed_;
  std::map<std::string, Mono> went_;            // claims that were bound: when they were so no more
  Mono volume_changed_{};                       // any
  std::map<std::string, std::string> brought_;  // claim -> the pod that brought it
  std::set<std::string> excused_;  // uids of pods whose claim went while their Binding was on its way
};

}  // namespace gs::sim
