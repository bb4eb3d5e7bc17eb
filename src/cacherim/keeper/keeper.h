// Keeper: the store of a node, kept as the agent wants it, by threads of its own: one that goes through a
// Reconciler (reconciler.h) step by step, one that reads the store again (verifier.h), one that tells where
// pods mount caches (paths_teller.h; from the start, with the store or without), and some that fetch images,
// of which `workers` have a turn at a time (job_queue.h). Who has none waits with its connection open; a
// registry that closes it meanwhile is asked for the rest.
//
// The store is opened by that thread, and again every kAgain while it cannot be (another agent has it, the
// disk says no); until then, trouble is told. Uses of caches by pods are looked at every Options::look.
// `tell` is called when something changed, from that thread, and never after stop() has returned. `sources`
// and `admit` are called by the workers, side by side.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/mailbox.h"
#include "base/worker.h"
#include "cacherim/image/image_source.h"
#include "cacherim/keeper/job_queue.h"
#include "cacherim/keeper/paths_teller.h"
#include "cacherim/keeper/reconciler.h"
#include "cacherim/registry/pause.h"

namespace gs::cacherim {

/// Bytes per second of all workers together: who comes too early waits. 0: as many as come. Any thread.
class ByteRate {
 public:
  ByteRate(std::uint64_t per_second, const Clock& clock) : per_second_{per_second}, clock_{clock} {}
  /// How long to wait before that many more bytes are taken in.
  [[nodiscard]] Duration take(std::size_t bytes) GS_EXCLUDES(mutex_);

 private:
  const std::uint64_t per_second_;
  const Clock& clock_;
  Mutex mutex_;
  Mono free_at_ GS_GUARDED_BY(mutex_){};  // when what was taken has had its time
};

/// One attempt at an image, when it is over.
struct FetchEnd {
  KeeperJob job;
  Status how{};
  bool was_admitted = false;  // the cache may have the image; false: `how` says why not
  Duration time{};            // of fetching, unpacking and publishing
};

/// What there is to count, of now.
struct KeeperFigures {
  std::vector<KeeperJob> under_way;  // begun, with a turn or without
  std::size_t waiting = 0;           // images whose turn has not come
  std::int64_t fetched_bytes = 0;    // see FetchTotals
  std::int64_t unpacked_bytes = 0;
  std::uint64_t store_bytes = 0;   // of all contents, each once
  std::uint64_t store_inodes = 0;  // Store::inodes()
  StoreCounters store{};
  std::size_t damaged_images = 0;    // Store::damagedTrees()
  std::uint64_t verified_bytes = 0;  // verifier.h
};

class Keeper {
 public:
  static constexpr Duration kAgain = std::chrono::seconds{5};
  /// An image that comes slower than this, after a while, is given up (and tried again): its worker is of use
  /// to others. With a limit of our own, half of a worker's part of that, if it is less.
  static constexpr std::uint64_t kLeastRate = std::uint64_t{128} << 10;  // bytes per second
  static constexpr Duration kGrace = std::chrono::minutes{5};

  struct Options {
    Reconciler::Options reconciler;
    int workers = 2;                     // that have a turn
    int most_begun = 16;                 // job_queue.h; no fewer than workers
    std::uint64_t bytes_per_second = 0;  // of all workers; 0: no limit
    Room quota{};                        // shares.h
    Duration look = std::chrono::seconds{2};
    Duration turn = JobQueue::kTurn;
    std::uint64_t verify_rate = std::uint64_t{8} << 20;  // bytes per second; 0: nothing is verified
    std::string architecture = "amd64";
    std::string mount_path = "/cache";
    kcache::LayerLimits limits{};
  };
  struct Outside {
    /// Where an image comes from.
    std::function<Result<std::unique_ptr<ImageSource>>(const model::ObjectKey& cache,
                                                       const kcache::WantedImage& image)>
        sources;
    /// Whether that cache may have that image. Asked before anything of it is fetched for it.
    std::function<Status(const model::ObjectKey& cache, const kcache::WantedImage& image)> admit;
    std::function<void(const kcache::NodeHasPtr& has)> tell;
    /// By the workers; may be empty.
    std::function<void(const FetchEnd& end)> ended{};
  };
  /// `clock` and `pause` outlive it.
  Keeper(Options options, Outside outside, Disk disk, const Clock& clock, Pause& pause);
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;
  ~Keeper() { stop(); }

  /// Call once.
  void start();
  /// Ends what is under way. A second call does nothing.
  void stop();
  /// From any thread.
  void want(kcache::WantedPtr wanted);
  /// From any thread. Never waits.
  void mountPaths(kcache::MountPathsPtr paths) { teller_.mountPaths(std::move(paths)); }
  /// From any thread.
  [[nodiscard]] KeeperFigures figures() const GS_EXCLUDES(mutex_);

 private:
  struct TurnUsed {};
  using News = std::variant<kcache::WantedPtr, FetchEnd, TurnUsed>;
  /// An image that has begun.
  struct UnderWay {
    KeeperJob job;
    ImageSource* source = nullptr;  // once it is asked
    bool has_turn = false;
    bool is_over = false;  // it is to end
    bool is_used = false;  // its turn, and the thread that keeps was told
    Mono turn_began{};
    std::int64_t turn_bytes = 0;  // what had come when its turn began
  };

  void run();
  /// nullptr: not now; why is told.
  [[nodiscard]] std::unique_ptr<Reconciler> open();
  void hear(Reconciler& reconciler, JobQueue& queue, News news);
  void work();
  void verify(const std::stop_token& stop);
  [[nodiscard]] FetchEnd carryOut(KeeperJob job);
  [[nodiscard]] Status fetch(const KeeperJob& job);
  void count(std::size_t waiting) GS_EXCLUDES(mutex_);
  void tell(kcache::NodeHas has);
  /// Turns that are used up are over when somebody waits; then whoever is next gets what is free.
  void takeTurns(JobQueue& queue) GS_EXCLUDES(mutex_);
  void giveTurns(JobQueue& queue) GS_EXCLUDES(mutex_);
  void giveTurn(UnderWay& to) GS_REQUIRES(mutex_);
  void endEarly(UnderWay& one) GS_REQUIRES(mutex_);
  /// False: it is to end.
  [[nodiscard]] bool goesOn(const KeeperJob& job) GS_EXCLUDES(mutex_);
  /// Waits for a turn. False: it is to end.
  [[nodiscard]] bool mayGoOn(const KeeperJob& job) GS_EXCLUDES(mutex_);
  /// False: it is to end.
  [[nodiscard]] bool begin(const KeeperJob& job, ImageSource& source) GS_EXCLUDES(mutex_);
  /// What is under way for nobody ends.
  void cancelUnless(const std::function<bool(const KeeperJob&)>& is_wanted) GS_EXCLUDES(mutex_);
  [[nodiscard]] std::uint64_t leastRate() const;
  /// Its source is asked no more.
  void end(const KeeperJob& job) GS_EXCLUDES(mutex_);

  const Options options_;
  const Outside outside_;
  const Disk disk_;
  const Clock& clock_;
  Pause& pause_;
  ByteRate rate_;
  LayerClaims claims_;
  Shares shares_;
  FetchTotals totals_;
  PathsTeller teller_;
  std::atomic<std::uint64_t> verified_ = 0;
  std::unique_ptr<SharedStore> store_;
  kcache::WantedPtr wanted_;  // of the thread: the last one
  kcache::NodeHasPtr told_;   // the same
  Mailbox<News> news_{4096};
  Mailbox<KeeperJob> to_do_{64};
  mutable Mutex mutex_;
  bool is_stopping_ GS_GUARDED_BY(mutex_) = false;
  Signal changed_;  // turns
  std::map<model::ObjectKey, UnderWay> under_way_ GS_GUARDED_BY(mutex_);
  KeeperFigures counted_ GS_GUARDED_BY(mutex_);  // what the thread that keeps has counted of it
  std::vector<std::unique_ptr<Worker>> threads_;
};

/// Whether an image comes slower than at `least` bytes per second, `time` after it was begun: kGrace is given
/// to each, and FetchProgress::waited is not the registry's.
[[nodiscard]] bool isTooSlow(const FetchProgress& progress, Duration time, std::uint64_t least);

}  // namespace gs::cacherim
