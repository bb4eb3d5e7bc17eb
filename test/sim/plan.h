// What happens in one simulated cluster, drawn from one seed: who comes and goes, what breaks, and when.
//
// A plan is a list of steps, so a failing one can be printed, shortened and played again: the same steps and
// the same seed give the same bytes. Steps that make no sense when they come (a pod that is not there)
// do nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "test/sim/features.h"

namespace gs::sim {

inline constexpr int kNodes = 3;
inline constexpr int kReplicas = 2;
inline constexpr int kShareSlots = 10;
inline constexpr int kGangs = 3;
inline constexpr int kMostMembers = 4;    // of a gang
inline constexpr int kSlots = 16;         // pods there may be at once: 8 names in 2 namespaces
inline constexpr int kFirstLarge = 1000;  // slots of the many pods of a large play
inline constexpr int kLargeNodes = 40;    // that it has more
inline constexpr int kFirstForged = 100;  // slots of pods that come with annotations of their own
inline constexpr int kFirstMapped = 500;  // slots of pods with a map
inline constexpr int kMappedSlots = 12;
inline constexpr int kCacheSlots = 6;     // kernel caches there may be at once
inline constexpr int kCachePodSlots = 8;  // pods that mount them
inline constexpr int kOddCaches = 4;  // caches of registries that are none, the last two of ones that drip

enum class Op : std::uint8_t {
  AddPod,      // x slot, y flavour
  EndPod,      // x slot: its containers end by themselves
  DeletePod,   // x slot
  KillPod,     // x slot: deleted by force, its containers go on for a while
  MakeClaim,   // x claim, y namespace
  DropClaim,   // x claim, y namespace
  AlterClaim,  // x claim, y namespace, z GPUs from now on
  GpuHealth,   // x node, y GPU, z 0 Healthy 1 Unhealthy 2 Unknown
  Resize,      // x node, y GPUs from now on
  NodeReady,   // x node, y 0 or 1
  NodeGone,    // x node
  NodeBack,    // x node
  AgentDown,   // x node, y 0 or 1
  Crash,       // x replica
  Start,       // x replica
  Stop,        // x replica: SIGTERM
  Freeze,      // x replica, y seconds: as by SIGSTOP
  Stall,       // x replica, y seconds: its clock stands still, it goes on
  ApiAway,     // y seconds
  Forget,      // the API server compacts its history
  DropLease,   // x which: a GPU lease is deleted by hand
  Foreign,     // x slot, y node: another scheduler binds that pod
  Faults,      // y seconds, z permille: calls are refused, lost, late
  Slow,        // y seconds, z ms at most: watches bring things late
  Break,       // x replica, y how: its watches end
  // x replica, y which call, z writes: the next such call is its last for a while, and lands so many writes
  // to pods and leases later
  LastWord,
  // Of seeds with extenders; replicas of extenders alone are those from kReplicas on. Slots are of their own.
  ShareComes,      // x slot, y flavour: a pod of another scheduler that asks for shares of GPUs
  ShareEnds,       // x slot
  ShareGoes,       // x slot, y 1: by force
  ShareAsked,      // x slot, y calls at once, z 1: whose answers nobody waits for
  ShareElsewhere,  // x slot, y node: bound there whatever was answered
  ShareDropped,    // x slot, y 1: and said to be unschedulable; its scheduler does not look at it any more
  // x slot, y Bindings, z writes: so many Bindings of that pod get no answer and land so many writes later
  Unlucky,
  // Of features (features.h).
  Renumber,     // x node, y how, z GPU
  ComesBound,   // x slot, y node, z GPUs: another scheduler's pod that comes with its node
  Forge,        // x slot, y node, z how: a pod that comes with its node and annotations of its own
  EditLease,    // x which, y how
  EditPod,      // x slot, y how
  OwnLease,     // x node, y GPU, z 1: it goes again
  Stick,        // x what, y seconds, z answer: such calls fail all the time
  Another,      // y 1 starts, 0 ends: another installation, with another scheduler's name
  Save,         // the API server's state is saved
  Restore,      // and is what was saved again
  WallJumps,    // y minutes
  Enforce,      // x node, y how: its enforcer label
  Taint,        // x node, y 0 or 1
  PatchesLate,  // y seconds, z seconds: annotations that an extender writes land so much later
  Limit,  // x namespace, y GPUs of the small model, z of the big one, -1: not named; both: it has no quota
  // x slot, y how, z seconds: its pod is failed once it is bound, its containers waiting,
  // and goes so much later
  FailUnstarted,
  KubeRestart,    // kube-scheduler forgets what it knew
  KubeHangs,      // x namespace, y seconds: of its pods kube-scheduler binds none
  KubeCalms,      // from now on kube-scheduler does what schedulers should
  GangComes,      // x gang, y flavour, z members: pods that ask for shares, and are bound together
  GangGoes,       // x gang, y 1: by force, z which member, from 1; 0: all
  GangEnds,       // x gang
  OddShareComes,  // x slot, y what is odd: a pod of another scheduler whose limits gpu-manager does not serve
  MapPod,         // x slot, y node by which name, z which GPUs: a pod with a map (mapText())
  NameNode,       // x node, y which name: its label gpu-node-name
  AgentFaults,    // y seconds, z permille: agents' calls are refused, lost, late, or their last ones
  AgentSlow,      // y seconds, z ms at most: agents' watches bring things late
  AgentDies,      // x node: another process starts
  Plug,           // x node, y GPUs from now on, which its agent sees come and go
  DriverFails,    // x node, y seconds: a call of its driver hangs
  RuntimeSilent,  // x node, y seconds: its container runtime does not answer
  Lose,  // x node, y GPU, z how: lost (0, 1: its driver names it; 1, 3: programs count it), gone, well
  // Of kernel caches (cache_side.h).
  CacheComes,        // x cache, y tag
  CacheChanges,      // x cache, y tag: its image from now on
  CacheGoes,         // x cache
  TagMoves,          // x tag, y image
  CachePodComes,     // x slot, y node, z cache; from kCacheSlots on the same, read-only
  CachePodEnds,      // x slot, y 0 by itself 1 deleted 2 by force
  CacheProcessDies,  // x node or replica, y 0 operator 1 agent 2 driver 3 agent 4 driver at its call z
  MachineBoots,      // x node: what was mounted is not any more, containers end
  RegistryFails,     // x how, y seconds
  DiskFull,          // x node, y seconds
  RunEmptied,        // x node: somebody empties /run
  CacheFaults,     // y seconds, z permille: calls of operators and agents are refused, lost, late, their last
  CacheSlow,       // y seconds, z ms at most: their watches bring things late
  CacheBreak,      // x node or, from kNodes on, replica, y how: its watches end
  OddCacheComes,   // x odd cache (kOddCaches), y image: of a registry that drips, or does not have it
  OddPodComes,     // x slot, y node, z odd cache: a pod that mounts it
  PlacedPodComes,  // x slot (odd: read-only), y node, z cache + kCacheSlots * place (cache_places.h)
  FileDamaged,     // x node, y which file, z how (cache_damage.h)
};

[[nodiscard]] inline bool isAboutCaches(Op op) { return op >= Op::CacheComes; }

struct Step {
  Duration at{};
  Op op{};
  int x = 0;
  int y = 0;
  int z = 0;
  friend bool operator==(const Step&, const Step&) = default;
};

struct Mutator;  // mutators.h

struct Plan {
  std::uint64_t seed = 0;
  bool agents = true;  // false: each GpuNodeStatus is made by hand
  int extenders = 0;   // replicas of the extender alone
  Features features{};
  [[nodiscard]] bool has(Feature feature) const { return features.contains(feature); }
  /// Else there is no extender, and no node of gpu-manager.
  [[nodiscard]] bool hasShares() const { return extenders > 0 || has(Feature::Combined); }
  std::vector<Step> steps;
  std::vector<const Mutator*> mutators;  // bugs that are put in: none but where they are to be found
};

/// Of features one may have each of `allowed`, and has each of `forced`.
[[nodiscard]] Plan makePlan(std::uint64_t seed, const Features& allowed = defaultFeatures(),
                            const Features& forced = {});
/// Parts of makePlan().
void addShareSteps(Plan& plan, Rng& rng, const std::vector<std::chrono::milliseconds>& hot, int extenders);
void addFeatures(Plan& plan, const Features& allowed, const Features& forced);
void addCacheSteps(Plan& plan, Rng& rng);
void addOddCacheSteps(Plan& plan, Rng& rng);
[[nodiscard]] std::string featureText(const Step& step);
[[nodiscard]] std::string cacheText(const Step& step);
/// "  12.345s crash replica 1"
[[nodiscard]] std::string text(const Step& step);

}  // namespace gs::sim
