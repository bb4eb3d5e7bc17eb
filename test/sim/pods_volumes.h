// Volumes in the plays with pods: claims of every kind of class (local volumes, of which there are few; made
// once a pod has a node, late, after a failure, in the wrong zone; made at once), which some pods bring, and
// some find as the pod before them left them. Who binds and makes volumes is simulated
// (sandbox/controllers/).
//
// What is judged, of objects alone:
//   - no two claims have one volume, and no volume is taken from a claim that is there for another one;
//   - when a pod of ours is bound each of its claims is bound, to a volume that says so, and whose node
//     affinity takes the node;
//   - in the end no claim of a pod that runs is unbound. (GPUs of who waited in vain are given back: no lease
//     of an unbound pod is left, says test/world/truth.h.)
// Off until the sandbox serves StorageClasses and the scheduler writes what it chose: kPlayed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "json/value.h"
#include "kapi/node_file.h"
#include "sandbox/world/world.h"

namespace gs::sim {

class PodVolumes {
 public:
  static constexpr bool kPlayed = false;

  PodVolumes(sandbox::World& world, Rng rng) : world_{world}, rng_{rng} {}

  /// Classes, and local volumes of these nodes.
  void begin(const std::vector<kapi::SimNode>& nodes);
  /// Some pods have one: noted in an annotation, for those of its origin.
  void addTo(json::Value& pod);
  /// Before such a pod is created: its claim is there, and it names it.
  void claimsFor(json::Value& pod);
  /// Claims that pods brought go with them.
  void step();
  /// Reads what changed.
  void watch();
  void settled();

  /// Why no volume lets the pod onto that node now; "": they do.
  [[nodiscard]] std::string refuses(const json::Value& pod, const std::string& node) const;
  [[nodiscard]] static bool hasAny(const json::Value& pod);
  /// "" or the first thing that must never be.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  /// Claims that were bound when their pod was.
  [[nodiscard]] std::size_t bound() const { return bound_; }

 private:
  void wrong(std::string what);
  void claimChanged(const apiserver::HistoryEntry& entry);
  void volumeChanged(const apiserver::HistoryEntry& entry);
  void podBound(const json::Value& pod);
  [[nodiscard]] apiserver::ObjectPtr find(const char* resource, const std::string& ns,
                                          const std::string& name) const;
  [[nodiscard]] std::string whyUnbound(const json::Value& pod, const std::string& claim) const;
  [[nodiscard]] bool isAnyFree(const json::Value& claim, const json::Value& node) const;
  [[nodiscard]] Mono now() const { return world_.now().mono; }

  sandbox::World& world_;
  Rng rng_;
  std::string problem_;
  std::size_t bound_ = 0;
  std::uint64_t position_ = 0;                   // of the store's history
  std::map<std::string, std::string> claim_of_;  // volume -> the claim that has it, "ns/name"
  std::map<std::string, Mono> node_changed_;     // its labels
  std::map<std::string, std::string> brought_;   // claim "ns/name" -> the pod that brought it
};

}  // namespace gs::sim
