// Reconciler: makes the store of a node what is wanted, step by step, without a thread: what is wanted is
// fetched and placed, what is not goes when no pod has it, and what is there is told (kcache/node/node.h).
//
// Of each cache that is wanted a job is given out, once per attempt; whoever carries it out (keeper.h) says
// how it ended. An image gets its place under a cache's name only after a job for that very cache went
// well: who may have an image, and whether the registry that the cache names gives it, is asked for each
// cache, also where the bytes are there already. What a cache was given it keeps, whatever the registry
// says later and after a restart; by the name of another repository it has to be given again. New pods get
// the last image that was wanted and is there; a cache that is not wanted any more gives none. What comes
// must fit its namespace's share of the quota (shares.h); what is there and wanted stays. Places, and the
// files by which the CSI driver finds a tree, are taken away under the lock of usage.h, after all uses were
// read; while those cannot be read, or nobody has said that they are all, nothing goes. One thread; the
// store is shared (fetch.h).
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cacherim/keeper/fetch.h"
#include "cacherim/keeper/shares.h"
#include "cacherim/node/present.h"
#include "cacherim/node/usage.h"
#include "kcache/node/node.h"

namespace gs::cacherim {

/// To fetch, or to see that it is there, for one cache.
struct KeeperJob {
  model::ObjectKey cache;
  kcache::WantedImage image;
  bool is_here = false;  // the node has its files: only its registry is asked
  std::shared_ptr<FetchProgress> progress = std::make_shared<FetchProgress>();
  std::shared_ptr<Shares::Coming> coming{};  // what it has of its namespace's share
  Room needed{};                             // of that, at least, as attempts before have shown
};

class Reconciler {
 public:
  struct Options {
    std::string root;          // of the store
    std::string usage_folder;  // of usage.h
    SweepTerms sweep{};
    Duration sweep_every = std::chrono::minutes{1};
    Duration lock_limit = std::chrono::seconds{1};
  };
  /// `store`, `claims` and `shares` outlive it.
  Reconciler(Options options, SharedStore& store, LayerClaims& claims, Shares& shares, Usage usage,
             Disk disk);

  /// What was placed before. Call once, first.
  [[nodiscard]] Status begin();
  void want(kcache::WantedPtr wanted) { wanted_ = std::move(wanted); }
  /// Jobs that are to begin now.
  [[nodiscard]] std::vector<KeeperJob> takeJobs();
  /// False: what it is for is not wanted any more.
  [[nodiscard]] bool wants(const KeeperJob& job) const;
  /// It has not begun, and will not.
  void withdrawn(const KeeperJob& job);
  /// How a job ended.
  void finished(const KeeperJob& job, const Status& how);
  /// Does what can be done, and says what is there.
  [[nodiscard]] kcache::NodeHas turn(Now now);

 private:
  struct Job {
    KeeperJob job;
    bool is_over = false;
    Status how{};
    std::string failed_before{};  // why the attempt before did
    Room needed{};                // Shares::Coming::needed() of the attempts before
    std::int64_t bytes = 0;       // when it was looked at last
    Mono looked_at{};
    std::int64_t rate = 0;  // bytes per second
  };
  struct Place {
    std::string given_by{};  // the repository, "quay.io/gkm/a"; "": of before, and not known
    std::string unload_error{};
    std::string show_error{};  // why new pods cannot be told of it
    bool is_old = false;       // an older version's tree is there, that pods have mounted, perhaps
  };
  struct Tree {
    std::int64_t bytes = 0;
    Room on_disk{};  // as shares.h counts
    std::optional<kcache::Targets> targets{};
  };
  using Key = std::pair<model::ObjectKey, kcache::Digest>;
  using Uses = std::map<Key, std::vector<kcache::PodUse>>;

  [[nodiscard]] Result<Uses> readUses() const;
  [[nodiscard]] bool isWanted(const Key& key) const;
  /// The cache has it, whole, from the repository that it names now.
  [[nodiscard]] bool isGiven(const model::ObjectKey& cache, const kcache::WantedImage& image) const;
  void placeAll(Now now, const Uses& uses);
  void share();
  [[nodiscard]] Status place(const Key& key, Now now, const Uses& uses);
  void showPresent(const model::ObjectKey& cache, const kcache::WantedImage& image);
  [[nodiscard]] bool mustTakeAway(const Uses& uses) const;
  void takeAway(Now now, std::string& trouble) GS_EXCLUDES(store_.mutex);
  void learnComplete();
  [[nodiscard]] bool isHere(const kcache::Digest& image) const GS_EXCLUDES(store_.mutex);
  void learnDamage() GS_EXCLUDES(store_.mutex);
  void measure(Now now);
  [[nodiscard]] Status readPresents();
  void hidePresents(std::string& trouble);
  void sweep(Now now, const Uses& uses, std::string& trouble) GS_REQUIRES(store_.mutex);
  [[nodiscard]] const Tree* treeOf(const kcache::Digest& image);
  [[nodiscard]] kcache::NodeHas told(const Uses& uses);

  Options options_;
  SharedStore& store_;
  LayerClaims& claims_;
  Shares& shares_;
  const Usage usage_;
  const Disk disk_;
  kcache::WantedPtr wanted_;              // nullptr: not known yet, and nothing is changed
  std::map<model::ObjectKey, Job> jobs_;  // of what is wanted
  std::map<Key, Place> places_;
  std::map<model::ObjectKey, Present> presents_;  // as they were read or written
  std::map<kcache::Digest, Tree> trees_;
  std::map<kcache::Digest, std::string> damaged_;  // Store::damagedTrees(), as last seen
  std::optional<Uses> last_uses_;                  // that could be read
  bool is_complete_ = false;                       // they are all that is mounted
  Mono next_sweep_{};
  bool is_over_quota_ = false;
};

}  // namespace gs::cacherim
