// One machine of a play as kernel caches meet it: the shipped keeper, store and uses (cacherim/) and the
// shipped CSI driver (csi/node_service.h) on a folder of its own, in memory where the system has such a
// folder; its mounts are values. Keeper and fetches are taken step by step, as Keeper's threads do it: by the
// same queue, in turns.
//
// The agent's process, or the CSI driver's, may die at any call that changes the disk or a mount: from then
// on nothing that it does has an effect, and a new process finds what is there. The driver is started again
// kStartAgain later. A disk may be full, a machine may be rebooted (mounts and /run are gone), and /run may
// be emptied under running processes.
// After everything that happens here it is looked whether what pods have mounted is whole, with the paths of
// where each has it (problem()). Whose code deletes and mounts is not asked for that.
// One thread. World and registry must outlive it; nothing happens once it is gone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cacherim/keeper/job_queue.h"
#include "cacherim/keeper/paths_teller.h"
#include "cacherim/keeper/reconciler.h"
#include "cacherim/keeper/verifier.h"
#include "csi/fake_mounts_test.h"
#include "csi/node_service.h"
#include "sandbox/caches/cache_rim.h"
#include "sandbox/world/world.h"
#include "test/sim/cache_damage.h"
#include "test/sim/cache_places.h"
#include "test/sim/cache_registry.h"

namespace gs::sim {

class CacheMachine final : public sandbox::CacheRim {
 public:
  static constexpr Duration kStartAgain = std::chrono::seconds{1};

  CacheMachine(sandbox::World& world, const CacheRegistry& registry, std::string node);
  ~CacheMachine() override;

  // The agent's process (CacheRim).
  void begin(Now now) override;
  void end() override;
  void want(kcache::WantedPtr wanted) override;
  void mountPaths(kcache::MountPathsPtr paths) override;
  [[nodiscard]] kcache::NodeHasPtr turn(Now now) override;
  [[nodiscard]] std::optional<Mono> nextDue() const override;
  [[nodiscard]] bool hasDied() const override { return agent_.is_dead; }

  // The kubelet.
  struct Pod {
    std::string ns, name, uid;
    std::string cache, cache_ns;  // as its volume says; no namespace: of the cluster
    bool is_read_only = false;
    std::string attribute{};        // csi.gkm.io/mountPath of its volume; "": it has none
    std::string is = kSharedPlace;  // where its container has the volume
  };
  /// True: it is mounted.
  bool publish(const Pod& pod);
  /// True: nothing of it is left.
  bool unpublish(const std::string& uid);
  /// Asks whether the driver can serve, as a probe does.
  void probe();
  /// Uids of pods whose volume was asked for, and has not been taken away since.
  [[nodiscard]] std::vector<std::string> published() const;

  // What goes wrong.
  /// That process dies at the so-manieth call from now on that changes something.
  void agentDiesAt(int call) { agent_.dies_in = call; }
  void driverDiesAt(int call) { driver_.dies_in = call; }
  void crashDriver();
  void reboot();
  void emptyRun();
  /// damageStore() of its store.
  void damage(int which, Damage how);
  void fillDisk(Duration lasts) { full_until_ = world_.now().mono + lasts; }
  void calmDown();
  /// The agent's file says where pods have theirs. (One that was taken away comes again within kToldEvery.)
  [[nodiscard]] bool tellsPaths() const;
  /// From now on the driver has no reason not to know where a pod has its volume.
  void mustKnowPlaces() { knows_places_ = true; }

  /// What is mounted, by any process.
  struct Mounted {
    std::string uid;
    model::ObjectKey cache;
    kcache::Digest image;
    friend bool operator==(const Mounted&, const Mounted&) = default;
  };
  [[nodiscard]] std::vector<Mounted> mounted() const;
  /// Links to images below the names of caches: namespace/name and digest.
  [[nodiscard]] std::vector<std::pair<model::ObjectKey, std::string>> placed() const;
  /// "" or a file of that image's tree that is not as it should be.
  [[nodiscard]] std::string damagedFileOf(const kcache::Digest& image) const;
  /// When something last kept its agent from having images here, whole: it began anew, its disk was full, a
  /// file was damaged.
  [[nodiscard]] Mono hinderedAt() const;
  /// "" or what is wrong with what pods have mounted.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  /// "" or what is left, once nothing is wanted and no pod is there. Trees that nobody uses go by their age,
  /// which says nothing where the wall clock jumps (`by_age` false).
  [[nodiscard]] std::string left(bool by_age) const;

 private:
  class WorldClock final : public Clock {
   public:
    explicit WorldClock(const sandbox::World& world) : world_{world} {}
    [[nodiscard]] Now now() const override { return world_.now(); }

   private:
    const sandbox::World& world_;
  };
  struct Process {
    int dies_in = -1;  // calls; below 0: it does not
    bool is_dead = false;
    /// One more call. True: it has no effect.
    bool counts();
  };
  /// An image that has begun.
  struct Job {
    cacherim::KeeperJob job;
    Duration left{};              // of the time that it takes
    std::optional<Mono> since{};  // its turn began, or, of what needs none, it did
  };

  /// Of a pod that the kubelet gives to the driver.
  struct Volume {
    Pod pod;
    rpc::PublishRequest request;
    std::optional<Mono> waits{};  // since then the driver waits to be told where the pod has it
    std::set<std::string> is{};   // once it is mounted: the places for which its files may be
    bool is_of_damaged = false;   // a file of which its own are made was damaged then
  };
  /// A call that stands still is taken up again with the kubelet's next one: other calls go on meanwhile, as
  /// beside a thread that waits.
  class Waiting final : public cacherim::Pause {
   public:
    struct Stands {};
    explicit Waiting(const sandbox::World& world) : world_{world} {}
    /// Whose call comes next.
    void of(Volume& volume) { volume_ = &volume; }
    bool wait(Duration time) override;
    void cancel() override {}

   private:
    const sandbox::World& world_;
    Volume* volume_ = nullptr;
  };

  [[nodiscard]] cacherim::Disk diskOf(Process& process);
  void open(Now now);
  void takeJobs(Now now);
  void takeTurns(Now now);
  void giveTurns(Now now);
  void carryOut(const cacherim::KeeperJob& job);
  void startDriver();
  void driverEnded();
  [[nodiscard]] rpc::PublishRequest requestOf(const Pod& pod);
  void look(const char* after);
  [[nodiscard]] bool isUndamaged(const csi::FakeMounts::Mounted& mount) const;
  [[nodiscard]] std::set<std::string> placesOf(const Volume& of) const;
  [[nodiscard]] std::string wrongWith(const csi::FakeMounts::Mounted& mount);
  [[nodiscard]] std::string wrongFile(const csi::FakeMounts::Mounted& mount, const std::string& path,
                                      const std::string& text, const Volume& of) const;

  sandbox::World& world_;
  const CacheRegistry& registry_;
  const std::string node_;
  const WorldClock clock_;
  std::string folder_;
  std::string problem_;
  Mono full_until_{};

  Mono began_{};  // this process of the agent
  Process agent_;
  cacherim::LayerClaims claims_;
  cacherim::Shares shares_{0};
  std::unique_ptr<cacherim::SharedStore> store_;
  std::unique_ptr<cacherim::Reconciler> reconciler_;  // of store_; nullptr: not open
  kcache::WantedPtr wanted_;
  std::optional<cacherim::PathsTeller> teller_;
  kcache::NodeHasPtr told_;
  std::optional<cacherim::JobQueue> queue_;
  std::map<model::ObjectKey, Job> jobs_;  // that have begun
  std::optional<cacherim::Verifier> verifier_;
  std::optional<Mono> damaged_at_;        // last; nullopt: no file was
  std::set<std::filesystem::path> gone_;  // files of trees that were taken away, and have not come again

  Process driver_;
  std::unique_ptr<csi::NodeService> service_;
  csi::FakeMounts mounts_;
  Waiting waiting_{world_};
  std::map<std::string, Volume> volumes_;  // by the pod's uid
  bool knows_places_ = false;              // whatever the agent's file says
  std::shared_ptr<bool> is_there_ = std::make_shared<bool>(true);
};

}  // namespace gs::sim
