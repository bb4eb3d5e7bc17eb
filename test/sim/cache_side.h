// The kernel caches of a play: caches of two namespaces and of the cluster, pods that mount them, and what
// goes wrong with operators, agents, drivers, machines, the registry and their wire (sandbox/caches/).
//
// At any time
//   - what a pod has mounted is whole: every file of its image, and no other text; files that name others by
//     paths are right where this pod has it, and of no other file there is a copy (cache_machine.h)
//   - a pod has mounted a cache of its own namespace or of the cluster, with a digest that was resolved for
//     that cache
//   - a cache that a pod has mounted keeps its object, while the pod's machine is there
//   - a pod's containers run only when its cache is mounted
//   - a cache that names a registry which does not have its image is never mounted, whatever the node has
//   - what nothing hinders any more comes in time, and what was damaged is whole again (cache_arrivals.h)
// Once the faults are over every image arrives, every pod that may mount its cache runs, and each cache tells
// how many nodes and pods have it, though registries of others drip; files that were damaged are whole again,
// and a pod that comes then has its paths.
// Then all caches are deleted, and behind them all pods: everything goes,
// objects, mounts, links, trees and uses.
// What is drawn at random shifts nothing of the rest. Nothing of the operator's and agents' code is asked.
// Owned by one play, with the World that must outlive it. One thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/random.h"
#include "sandbox/caches/caches.h"
#include "sandbox/node/volumes.h"
#include "sandbox/world/world.h"
#include "test/sim/cache_arrivals.h"
#include "test/sim/cache_machine.h"
#include "test/sim/cache_registry.h"
#include "test/sim/plan.h"

namespace gs::sim {

class CacheSide final : public sandbox::Volumes {
 public:
  CacheSide(sandbox::World& world, const Plan& plan);
  ~CacheSide() override;
  CacheSide(const CacheSide&) = delete;
  CacheSide& operator=(const CacheSide&) = delete;

  void carryOut(const Step& step);
  /// The API server is away for so long.
  void apiIsAway(Duration lasts);
  /// To be called whenever something changed.
  void look();
  void calmDown();
  /// "" or the first thing that must never be.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  /// "" or what is not as it should be now that nothing happens any more. To be asked again until it is "":
  /// what comes next is begun as soon as what was before is well.
  [[nodiscard]] std::string settled();

  [[nodiscard]] bool areMounted(const json::Value& pod, Now now) override;
  /// How many volumes were mounted, and mounts of older images seen.
  [[nodiscard]] std::size_t mounts() const { return mounts_; }
  [[nodiscard]] std::size_t outdated() const { return outdated_; }

 private:
  enum class End : std::uint8_t { Settles, LastPods, Deleted, PodsGo, Over };
  using Machine = CacheMachine;

  [[nodiscard]] Machine* machineOf(const std::string& node);
  /// Those that are there, by name.
  [[nodiscard]] std::map<std::string, Machine*> machines();
  void tick();
  void comes(int slot, int tag);
  void changes(int slot, int tag);
  void oddComes(int which, int image);
  void podComes(const Step& s);
  void podMounts(const std::string& name, const std::string& node, const model::ObjectKey& cache,
                 bool is_read_only, std::optional<int> place = std::nullopt);
  void lastPods();
  void podEnds(const Step& s);
  void dies(const Step& s);
  void reboot(const std::string& node);
  [[nodiscard]] sandbox::CallFault resultOf(const kapi::Call& call);
  void looked(const std::string& node, const Machine::Mounted& mount);
  [[nodiscard]] const json::Value* cacheObject(const model::ObjectKey& key) const;
  [[nodiscard]] std::vector<model::ObjectKey> cachesThere() const;
  [[nodiscard]] std::string wrongCounts();
  [[nodiscard]] std::string waitingPod() const;
  [[nodiscard]] std::string leftObjects() const;
  void wrong(std::string what);

  // cache_side_arrivals.cc
  void noteHindrance();
  void lookAtArrivals();
  [[nodiscard]] std::vector<CacheArrivals::Due> dues();
  [[nodiscard]] std::string notDone();
  [[nodiscard]] bool isSaidDamaged(const std::string& node, const Machine::Mounted& mount) const;

  sandbox::World& world_;
  const Plan& plan_;
  Rng rng_;
  CacheRegistry registry_;
  std::optional<sandbox::Caches> caches_;
  std::map<model::ObjectKey, std::set<std::string>> resolved_;  // digests by cache
  std::map<model::ObjectKey, std::string> present_;             // of them the last
  std::map<std::string, Mono> tries_;                           // uids of pods -> when to mount again
  std::map<std::string, bool> pods_;  // paths of pods that were made -> may mount what they ask for
  std::set<std::string> cut_off_;     // uids of pods whose machine was rebooted under them
  Mono faults_until_{};
  std::uint64_t fault_permille_ = 0;
  Mono slow_until_{};
  std::uint64_t slow_ms_ = 1;
  Mono away_until_{};  // the API server
  Mono hindered_{};    // last: by what hinders every agent
  CacheArrivals arrivals_;
  bool is_calm_ = false;
  End end_ = End::Settles;
  std::size_t mounts_ = 0;
  std::size_t outdated_ = 0;
  std::string problem_;
  std::shared_ptr<bool> is_there_ = std::make_shared<bool>(true);
};

}  // namespace gs::sim
