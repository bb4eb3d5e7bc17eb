// Store: the files of all caches of a node, each content once.
//
//   files/<2 digits>/<digest>[x]   one content; x: it may be executed. Modes 0444 and 0555
//   layers/<digest>.json           which files and folders a layer puts where; there once all of them are
//   trees/                         mode 0700: what lies below may be changed by who gets there
//   trees/<digest>/root            an image's cache: folders (mode 0777), and hard links to files/
//   trees/<digest>/record.json     what it was made of; written last, so that it says: complete
//   caches/<namespace or cluster-scoped>/<name>/sha256:<digest>   a link to a tree, as people look for it
//   tmp/                           mode 0700: what is not complete
//   lock                           held by the one process that changes the store
//
// All of it but what lies in caches/ is the store's alone: what stands there and is of another kind (a file
// where a folder should be) goes when its place is needed. A folder of it that somebody takes away while the
// store is open is made again. The store's own folder, `root`, has to stay.
//
// Whoever has a layer's bytes fills the folder of a Draft and publishes it; a tree is then made of layers
// without a byte being copied. A full disk is an error; the store stays whole, and later calls work.
// What a crash left is put in order by open(). For that, a layer's record is written when its files are on
// the disk under their names, and a tree gets its name when all that is in it is on the disk. Nobody waits
// until a record or a tree's name is there, too: one that a power failure takes is made again. Records carry
// a hash of their own text. A tree whose record or layers are not as they were stays, for pods may have it
// mounted, and counts as damaged.
// Nothing here knows tar, registries or Kubernetes. Names from outside are checked (isStorePath, CacheName);
// no path is followed through a symbolic link.
//
// One thread at a time; Drafts may be filled by others meanwhile. A layer or a tree is published in steps
// (publishLayer() and publishTree() below): hashes, links and syncfs need no turn, and files come in by turns
// of kMostAtOnce.
// Errors: Unavailable, the disk said no; Invalid, what is asked may not be; NotFound; Conflict.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "cacherim/disk/disk.h"
#include "cacherim/store/store_records.h"

namespace gs::cacherim {

class Store;

using StoredFiles = std::map<std::string, StoredFile>;  // by path

/// An image's tree of these layers, lowest first: a later file takes the place of an earlier one.
struct TreePlan {
  kcache::Digest image;
  std::vector<kcache::Digest> layers;
  std::string summary{};  // TreeRecord::summary
};
/// One on its way.
struct NewTree {
  TreeRecord record;
  std::vector<LayerRecord> layers;
  StoredFiles files;  // that it will have
  std::uint64_t links = 0;
  std::uint64_t bytes_copied = 0;
  std::set<std::string> lost{};  // keys of files of the store that have other bytes than they should
  bool is_mended = false;        // its files are those of the tree that was there (Draft::mend())
  bool is_instead = false;       // of one that the store knows and that is not there any more
};
/// What lies below a tree's root.
struct TreeContent {
  StoredFiles files;
  std::set<std::string> folders;
};
/// For who says which files of a tree have other bytes there than in any layer.
struct TreeEdit {
  const StoredFiles& files;  // that the layers have
  /// The bytes of one. Errors: Invalid, it has more than `max_bytes`; NotFound, they are not there any more.
  std::function<Result<std::string>(const StoredFile& file, std::size_t max_bytes)> read;
  /// At most once for each path. No more than one's bytes are in memory.
  std::function<Status(const std::string& path, const std::string& bytes)> put;
  /// It is one of TreeRecord::paths.
  std::function<void(const std::string& path)> bearsPaths;
};
using TreeExtras = std::function<Status(const TreeEdit& edit)>;

/// A folder of one's own below tmp/, gone with what is in it unless it is published. The Store outlives it.
/// Files that are to be the store's lie in it by StoredFile::key(), each content once, with the modes that
/// they will have.
class Draft {
 public:
  Draft(Draft&& other) noexcept;
  Draft& operator=(Draft&&) = delete;
  ~Draft();
  [[nodiscard]] int folder() const { return folder_.get(); }
  [[nodiscard]] const std::string& path() const { return path_; }

  // What takes long. Any thread may do it, also while others are at the store; one at a time on one draft.

  /// A file on its way, hashed as it is written.
  class NewFile {
    friend class Draft;
    Fd fd_;
    bool executable_ = false;
    std::uint64_t size_ = 0;
    Sha256 hash_;
  };
  [[nodiscard]] Result<NewFile> begin(bool executable) const;
  [[nodiscard]] Status write(NewFile& file, std::string_view bytes) const;
  /// It lies there by its key.
  [[nodiscard]] Result<StoredFile> end(NewFile& file) const;
  /// What a layer of the store has. The layer stays while this goes on: the caller sees to it.
  [[nodiscard]] Result<LayerRecord> layer(const kcache::Digest& layer) const;
  /// What an image's tree should have; NotFound: it has gone, or a layer of it.
  [[nodiscard]] Result<TreeContent> contentOf(const kcache::Digest& image) const;
  [[nodiscard]] Result<Fd> rootOf(const kcache::Digest& image) const;
  /// What is to be a tree. Its layers stay while this goes on: the caller sees to it.
  [[nodiscard]] Result<NewTree> plan(const TreePlan& of) const;
  /// The record of a layer, beside its files.
  [[nodiscard]] Status writeRecord(const LayerRecord& record, Wall now) const;
  /// Fills this one with the files that `extras` puts, and the plan with what they are.
  [[nodiscard]] Status putExtras(NewTree& tree, const TreeExtras& extras) const;
  /// Fills this one with the tree. Its extras are the store's.
  [[nodiscard]] Status build(NewTree& tree, Wall now) const;
  /// What was written so far to the store's file system is on the disk.
  [[nodiscard]] Status sync() const;
  /// Puts the files of a tree that was built into the damaged one, where they are others. One that is not
  /// there at all is not made: the new one takes its place (Store::finishTree()).
  [[nodiscard]] Status mend(NewTree& tree) const;
  enum class Looks { AtSizes, AtBytes };
  /// Keys of those that the store should have and the disk does not, or not as a file of that size, or
  /// (AtBytes) with others. What cannot be read now is not lost.
  [[nodiscard]] std::set<std::string> lost(const StoredFiles& files, Looks looks) const;

 private:
  [[nodiscard]] Status mendFile(int from, int to, const std::string& path) const;
  [[nodiscard]] Status link(NewTree& tree, int folder, const std::string& name, const StoredFile& file) const;
  [[nodiscard]] Status linkAll(NewTree& tree, int root) const;
  friend class Store;
  Draft(const Store& store, std::string name, std::string path, Fd folder);
  const Store* store_;  // nullptr: moved from
  std::string name_;
  std::string path_;
  Fd folder_;
  mutable bool is_kept_ = false;  // in part, at the least: with a turn only
};

/// Of all calls since open().
struct StoreCounters {
  std::uint64_t bytes_new = 0;     // of files that the store did not have
  std::uint64_t bytes_shared = 0;  // of files of drafts that it had already
  std::uint64_t bytes_copied = 0;  // written again because a file has too many links
  std::uint64_t links = 0;         // hard links made for trees
};

struct SweepTerms {
  std::uint64_t quota = 0;        // bytes; 0: no limit
  std::uint64_t inode_quota = 0;  // Store::inodes(); 0: no limit
  Duration most_age{};            // since it was last published, placed or touched; zero: no limit
  /// How long a layer is kept that no tree has, while there is no more than the quota.
  Duration layer_grace = std::chrono::hours{1};
};

struct Swept {
  std::vector<kcache::Digest> trees;
  std::vector<kcache::Digest> layers;
  std::uint64_t bytes_freed = 0;
  bool over_quota = false;  // still: what is in use is too much
};

/// A tree that the ancestor unpacked in its own way: a folder where now a link is.
struct OldTree {
  CacheName cache;
  kcache::Digest image;
};
enum class Adoption {
  Adopted,    // every file is what the image has there; its place is a link now
  Unknown,    // the image has not been published, so nobody can say
  Different,  // left alone
};
struct Adopted {
  Adoption what = Adoption::Unknown;
  std::string detail;  // Different: the first path that is not as it should be
};

class Store {
 public:
  static constexpr std::size_t kMostAtOnce = 1024;  // files that come in, in one turn

  /// Makes what is missing and puts in order what a crash left. `root` is an absolute path.
  /// Error Conflict: another process has it.
  [[nodiscard]] static Result<Store> open(const std::string& root, Disk disk);
  Store(Store&&) noexcept = default;
  Store& operator=(Store&&) = delete;
  ~Store() = default;

  [[nodiscard]] Result<Draft> draft();
  /// What a layer has; its files lie in the draft. The caller has checked that. Twice is fine.
  [[nodiscard]] Status publishLayer(const Draft& draft, const LayerRecord& record, Wall now);
  /// Its steps. Some files of a draft are the store's from here on: those from `next` on, which is moved.
  [[nodiscard]] Status keepSome(const Draft& draft, const StoredFiles& files,
                                StoredFiles::const_iterator& next);
  /// They are what the layer has (Draft::writeRecord() first), ...
  [[nodiscard]] Status finishLayer(const LayerRecord& record, const Draft& draft, Wall now);
  /// ... or those before `end` are not needed after all.
  void dropKept(const StoredFiles& files, StoredFiles::const_iterator end);
  [[nodiscard]] bool hasLayer(const kcache::Digest& layer) const { return layers_.contains(layer); }
  [[nodiscard]] Result<LayerRecord> layer(const kcache::Digest& layer) const;

  /// Twice is fine: what is there stays.
  [[nodiscard]] Status publishTree(const TreePlan& plan, const TreeExtras& extras, Wall now);
  /// Its last step: under its name. Draft::sync() first, and Draft::mend() if one is there that is damaged.
  /// Whatever comes of it, the extras are seen to.
  [[nodiscard]] Status finishTree(const NewTree& tree, Draft& draft, Wall now);
  [[nodiscard]] bool hasTree(const kcache::Digest& image) const { return trees_.contains(image); }
  /// What to mount, read-only: treeRootBelow().
  [[nodiscard]] std::string treeRoot(const kcache::Digest& image) const;
  [[nodiscard]] Result<TreeRecord> tree(const kcache::Digest& image) const;
  /// Reads all of it at once, for tests (cacherim/keeper/verifier.h reads in steps). Error Invalid: names the
  /// first file that is not what it should be.
  [[nodiscard]] Status verify(const kcache::Digest& image) const;

  // Damage: bytes on the disk that are not what they should be (cacherim/keeper/verifier.h finds it). What is
  // known of it is kept in memory. A damaged file is replaced when it comes again, and so is a tree's.

  /// The image whose tree is the next by digest; nullopt: there is none.
  [[nodiscard]] std::optional<kcache::Digest> treeAfter(const std::optional<kcache::Digest>& image) const;
  /// Of an image's tree; `what`: of which file, for people.
  void noteDamage(const kcache::Digest& image, const std::string& what);
  /// At `path` of it is something with this inode that is not the file.
  void noteDamage(const kcache::Digest& image, const std::string& path, const StoredFile& file,
                  std::uint64_t inode);
  /// The disk does not have these, or other bytes in their place, by their keys.
  void noteLost(const std::set<std::string>& keys);
  /// The store has all of these, and none is known to be damaged.
  [[nodiscard]] bool isWhole(const StoredFiles& files) const;
  /// The trees that are damaged, each with the path of a file of it that is.
  [[nodiscard]] const std::map<kcache::Digest, std::string>& damagedTrees() const { return damaged_trees_; }

  /// It was used now.
  [[nodiscard]] Status touch(const kcache::Digest& image, Wall now);

  /// People find the tree under the name of a cache. An old tree there is adopted, or left alone.
  [[nodiscard]] Result<Adopted> place(const CacheName& cache, const kcache::Digest& image, Wall now);
  /// No longer. None there: fine. An old tree stays.
  [[nodiscard]] Status unplace(const CacheName& cache, const kcache::Digest& image);
  [[nodiscard]] Result<std::vector<std::pair<CacheName, kcache::Digest>>> placed() const;
  [[nodiscard]] Result<std::vector<OldTree>> oldTrees() const;
  [[nodiscard]] Result<Adopted> adopt(const OldTree& old);

  /// Takes trees, oldest use first, that are too old or more than the quota allows; then the layers and files
  /// that nothing needs any more. Never what is `in_use`: digests of images, and of layers about to be used.
  [[nodiscard]] Result<Swept> sweep(const std::set<kcache::Digest>& in_use, const SweepTerms& terms,
                                    Wall now);

  /// Bytes of all contents, each once.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  /// Of the file system: contents, each once, the folders of trees, and records.
  [[nodiscard]] std::uint64_t inodes() const;
  [[nodiscard]] const StoreCounters& counters() const { return counters_; }
  /// Its own; any thread.
  [[nodiscard]] const Disk& disk() const { return disk_; }

 private:
  friend class Draft;
  struct Folders {
    Fd root, tmp, files, layers, trees, caches, lock;
    /// Those below `root`, by their names.
    [[nodiscard]] std::array<std::pair<const char*, Fd*>, 5> below();
  };
  struct Known {
    std::uint64_t size = 0;
    std::uint64_t records = 0;  // of layers and trees that name it
  };
  struct KnownTree {
    Wall used{};
    std::uint64_t folders = 0;
    bool counts = true;  // its extras do, in Known::records
    /// By its record when that could be read last: they stay while the tree does.
    std::vector<kcache::Digest> layers{};
  };

  Store(std::string root, Disk disk, Folders folders);
  static Result<Folders> openFolders(const std::string& root, const Disk& disk);
  static Result<Fd> openOwn(const Disk& disk, int root, const std::string& name);

  // store_repair.cc
  [[nodiscard]] Status repair();
  [[nodiscard]] Status repairLayers();
  [[nodiscard]] Status repairTrees();
  [[nodiscard]] Status scanFiles();
  [[nodiscard]] Status dropUnneeded();
  [[nodiscard]] Status repairPlaces();
  [[nodiscard]] Status repairTree(const kcache::Digest& image, Wall changed);
  [[nodiscard]] bool hasAll(const StoredFiles& files) const;

  // store.cc
  [[nodiscard]] std::string newName() { return std::to_string(next_++); }
  [[nodiscard]] Result<Fd> filesFolder(const std::string& key) const;
  [[nodiscard]] Result<Disk::Entry> lookAtFile(const StoredFile& file) const;
  [[nodiscard]] Status keep(int folder, const StoredFile& file);
  [[nodiscard]] Result<TreeRecord> readTree(const kcache::Digest& image) const;
  void note(const StoredFiles& files);
  [[nodiscard]] Status forget(const StoredFiles& files) { return forget(files, files.end()); }
  [[nodiscard]] Status forget(const StoredFiles& files, StoredFiles::const_iterator end);
  [[nodiscard]] Status dropFile(const std::string& key);

  // store_damage.cc
  [[nodiscard]] bool areDamaged(const StoredFiles& files) const;
  [[nodiscard]] bool isLost(const StoredFile& file, bool by_bytes) const;
  [[nodiscard]] Status endMend(const NewTree& tree, Draft& draft);
  [[nodiscard]] Status healFolders();

  // store_recount.cc
  struct Named {
    std::map<std::string, std::uint64_t> files;  // how often, by key
    std::vector<kcache::Digest> spoilt_layers;
    std::vector<kcache::Digest> spoilt_trees;
  };
  [[nodiscard]] std::optional<Named> named() const;
  [[nodiscard]] Status recount();

  // store_places.cc
  [[nodiscard]] Result<std::string> firstDifference(int old_tree, const kcache::Digest& image) const;
  [[nodiscard]] Status replaceOld(int cache_folder, const kcache::Digest& image);
  [[nodiscard]] Status link(int cache_folder, const kcache::Digest& image);
  [[nodiscard]] Status unplaceAll(const kcache::Digest& image);

  // store_sweep.cc
  using LayerNeeds = std::optional<std::map<kcache::Digest, int>>;
  [[nodiscard]] LayerNeeds neededLayers();
  [[nodiscard]] bool isOver(const SweepTerms& terms) const;
  [[nodiscard]] Status sweepLayers(const std::set<kcache::Digest>& in_use, const SweepTerms& terms, Wall now,
                                   LayerNeeds& needed, Swept& swept);
  [[nodiscard]] Status sweepTrees(const std::set<kcache::Digest>& in_use, LayerNeeds& needed, Swept& swept,
                                  const std::function<bool(const kcache::Digest& image, Wall used)>& goes);
  [[nodiscard]] Status dropTree(const kcache::Digest& image, const Result<TreeRecord>& record, Swept& swept);
  [[nodiscard]] Status dropLayer(const kcache::Digest& layer, Swept& swept);

  std::string root_;
  Disk disk_;
  Folders at_;
  std::uint64_t next_ = 1;                 // name below tmp/
  std::map<std::string, Known> files_;     // by key
  std::map<kcache::Digest, Wall> layers_;  // when they were published
  std::map<kcache::Digest, KnownTree> trees_;
  std::uint64_t bytes_ = 0;
  std::uint64_t tree_folders_ = 0;  // of all trees
  /// So begins what is noted of a tree whose record could not be read.
  static constexpr std::string_view kOfItsRecord = "its tree's record: ";
  /// A record that nobody could read any more was dropped: Known::records says too much.
  bool must_recount_ = false;
  /// Drafts of which files are counted that no record names yet.
  std::unique_ptr<std::atomic<int>> kept_drafts_ = std::make_unique<std::atomic<int>>(0);
  std::set<std::string> damaged_files_;                  // by key
  std::map<kcache::Digest, std::string> damaged_trees_;  // see damagedTrees()
  StoreCounters counters_;
};

/// How a step gets its turn at the store: calls `step` with it, and gives back what that says.
using StoreStep = std::function<Status(Store& store)>;
using StoreTurn = std::function<Status(const StoreStep& step)>;

/// Store::publishLayer() of a layer that the store does not have: what takes long is done without a turn.
[[nodiscard]] Status publishLayer(const Draft& draft, const LayerRecord& record, Wall now,
                                  const StoreTurn& turn);
/// The same for a tree that the store does not have.
[[nodiscard]] Status publishTree(const TreePlan& plan, const TreeExtras& extras, Wall now,
                                 const StoreTurn& turn);

/// Store::placed() of the store below `root`, for who may not open it.
[[nodiscard]] Result<std::vector<std::pair<CacheName, kcache::Digest>>> placedBelow(const std::string& root);

}  // namespace gs::cacherim
