// The judge of the plays with pods (pods_play.h): what the API server's objects alone say about who was
// placed beside whom, who was evicted for whom, and who waits though there is room. Filters are asked of a
// slow model of its own (slow_filters.h); nothing of the scheduler's code is.
//
// A Binding is judged when it lands, by what was to be known when it was decided:
//   - It was decided no later than the first of its writes left (leases, else the Binding), and, where
//     another write to that pod of its leader's was open then, no earlier than that one left.
//   - The API's objects were known as they stood at some moment of the `known` before. A Node that refuses
//     was one that refused all that time; a pod counts for sure that was there all that time, and may count
//     that was there at any moment of it. Pods that somebody else bound meanwhile are no fault.
//   - A leader knows its own decisions at once, whatever its watches bring. So of two pods that were bound
//     under one leader, and are both there, the second one knew of the first, whichever that is: where both
//     keep each other away (anti-affinity, ports, cpus, GPUs) that is always a fault. Where only one of them
//     asks (affinity, spread, room that is kept) those count whose Binding had left before.
//   - A pod with volumes may have been decided at any time since it came, and anew where that failed.
//   - After a leader was cut off from the API server, or stood still, it may know less (disturbed()): what
//     was so for longer counts, and what depends on all that it knew is not judged for a while.
// An eviction is judged when it leaves, and again in the end: see pods_judge_evictions.cc.
// watch() is to be called after every change. One thread; the world and the volumes must outlive it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "json/value.h"
#include "kapi/call.h"
#include "sandbox/world/world.h"
#include "test/sim/pods_volumes.h"
#include "test/sim/slow_filters.h"

namespace gs::sim {

class PodsJudge {
 public:
  /// `known`: what was so for longer was known, however late watches are.
  PodsJudge(sandbox::World& world, const PodVolumes& volumes, Duration known)
      : world_{world}, volumes_{volumes}, known_{known} {}

  /// A write that only a leader makes leaves a replica; and its sender hears of it.
  void sent(sandbox::ReplicaId by, const kapi::Call& call);
  void answered(sandbox::ReplicaId by, const kapi::Call& call);
  /// That process is gone, and what it had begun with it.
  void died(sandbox::ReplicaId id);
  /// Another one leads, or nobody, or the same one began anew.
  void ledAnew();
  /// From now on a leader may know less than its watches should have brought, and another one may lead.
  void disturbed();
  /// Reads what changed.
  void watch();
  /// Nothing happens any more, and has not for long enough: whoever fits runs.
  void settled();

  /// "" or the first thing that must never be.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  /// What a play came to, so that it is known that it judged something.
  struct Counts {
    std::size_t bindings = 0;   // of ours
    std::size_t beside = 0;     // of these, with affinity, anti-affinity or spread of their own
    std::size_t evictions = 0;  // that left
    std::size_t came = 0;       // pods for which others had gone, and that were bound
  };
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  /// The same after a disturbance, and how long one counts.
  static constexpr Duration kKnownLate = std::chrono::seconds{75};
  static constexpr Duration kDisturbed = std::chrono::seconds{60};
  /// A pod makes so many of one origin go at most: a second one may take the room of the first where that
  /// one's node refused meanwhile.
  static constexpr std::size_t kMostOfOneOrigin = 3;

  /// One decision, as far as it shows.
  struct Attempt {
    std::string node;
    Mono decided_from{};
    Mono first_sent{};
    std::optional<Mono> binding_sent{};
    int term = 0;  // of whose decisions; -1: of several
    bool has_lease = false;
    bool is_over = false;  // the pod was fenced
  };
  struct Nomination {
    std::string node;
    Mono since{};
    std::optional<Mono> until{};
  };
  struct Pod {
    apiserver::ObjectPtr object;  // its last version
    std::string node;
    Mono came{};
    std::optional<Mono> bound_at{};
    std::optional<Mono> leaves_at{};
    std::optional<Mono> over_at{};  // finished, or gone
    bool is_gone = false;
    std::optional<Attempt> by{};  // of ours, that bound it
    std::vector<Nomination> nominations{};
    [[nodiscard]] const json::Value& value() const { return *object; }
  };
  struct Calls {
    int open = 0;
    Mono since{};  // the first of those that are open
    std::vector<std::pair<Mono, Mono>> closed{};
  };
  /// When a decision was made, and on what.
  struct Window {
    Mono known{};  // what stood from then on was known
    Mono from{};
    Mono to{};
    int term = 0;
  };
  enum class Sure : std::uint8_t {
    ByThen,   // it knew of them, or had decided on them before
    Between,  // or one of both knew of the other
  };
  struct Eviction {
    std::string victim;  // uids
    std::set<std::string> fors;
    std::string node;
    Mono at{};
  };

  // pods_judge.cc: what is seen
  void wrong(std::string what);
  [[nodiscard]] Mono now() const { return world_.now().mono; }
  [[nodiscard]] Mono knownAt(Mono decided) const;
  [[nodiscard]] bool isDisturbed(Mono at) const;
  void attempts(sandbox::ReplicaId by, const std::string& uid, const std::string& node, bool is_lease);
  [[nodiscard]] Mono decidedFrom(sandbox::ReplicaId by, const Pod& pod) const;
  void podChanged(const std::string& uid, const apiserver::ObjectPtr& object);
  void podWent(const std::string& uid);
  void nodesChanged();
  [[nodiscard]] static std::string keyOf(const json::Value& pod);
  [[nodiscard]] static bool isOurs(const Pod& pod);
  [[nodiscard]] Pod* find(const std::string& uid);

  // pods_judge_binding.cc
  void bound(const std::string& uid, Pod& pod);
  [[nodiscard]] std::optional<Attempt> whoBound(const std::string& uid, const Pod& pod) const;
  [[nodiscard]] std::vector<slow::There> sure(const std::string& self, const Window& w, Sure how) const;
  [[nodiscard]] std::vector<slow::There> most(const std::string& self, const Window& w) const;
  [[nodiscard]] std::vector<slow::There> nominatedBefore(const std::string& self, const Pod& pod,
                                                         const Window& w) const;
  [[nodiscard]] bool wasWrittenTo(const std::string& key, Mono since, Mono to) const;
  [[nodiscard]] bool isAnyOnItsWay(const std::string& self, const Window& w) const;
  template <class Ask>
  [[nodiscard]] std::string refusedAllTheTime(Mono from, Mono to, const std::string& node,
                                              const Ask& ask) const;
  [[nodiscard]] std::string whyNot(const std::string& uid, const Pod& pod, const Window& w) const;

  // pods_judge_evictions.cc
  void evicts(const std::string& uid, const Pod& victim);
  [[nodiscard]] bool isFor(const Pod& pod, const Pod& victim) const;
  [[nodiscard]] bool isReasoned(const Eviction& eviction, const Pod& pod) const;
  void evictionsSettled();
  void waitersSettled();
  [[nodiscard]] std::string roomFor(const std::string& uid, const Pod& pod) const;
  [[nodiscard]] std::vector<slow::There> thereNow() const;
  [[nodiscard]] std::vector<slow::There> nominatedNow(const std::string& self, const Pod& pod) const;

  sandbox::World& world_;
  const PodVolumes& volumes_;
  Duration known_;
  std::string problem_;
  Counts counts_;
  std::uint64_t position_ = 0;  // of the store's history
  std::map<std::string, Pod> pods_;
  std::map<std::string, std::string> uids_;  // of those that are there, by namespace/name
  slow::Objects nodes_;
  slow::Objects namespaces_;
  std::vector<std::pair<Mono, slow::Objects>> nodes_then_;  // from then on
  std::map<std::string, Mono> node_changed_;
  std::map<std::string, std::vector<Attempt>> attempts_;               // by uid
  std::map<std::pair<sandbox::ReplicaId, std::string>, Calls> calls_;  // by the pod's namespace/name
  /// Nominations that left: uid -> node, when, under whom.
  struct NominationSent {
    std::string node;
    Mono at{};
    int term = 0;
  };
  std::map<std::string, NominationSent> nominating_;
  std::vector<Eviction> evictions_;
  /// Victims by for whom, and by their origin.
  std::map<std::pair<std::string, std::string>, std::set<std::string>> of_origin_;
  sandbox::ReplicaId leader_ = -1;
  int term_ = 0;
  Mono term_began_{};
  std::optional<Mono> disturbed_at_;
};

}  // namespace gs::sim
