// An image into the store: its layers, each fetched only if the store does not have it, and its tree.
//
// Nothing that the store has is given to whom the registry does not give it: the image's manifest is asked
// for by its digest each time, also where its tree is here (ImageSource::serves()).
// Several may go on side by side. Of two images of one registry that share a layer one fetches it and the
// other waits, for a while (Fetching::longest_wait). Then it fetches the layer too: the first may rest, or
// its registry be slow. Nobody waits for another registry. The store is touched under its mutex only. Bytes
// come in, are unpacked, hashed, linked and brought to the disk without it: who has much of that keeps nobody
// else from the store.
// Files that name others by absolute paths (kcache/content/paths.h) are put into the tree as they have to be
// at Fetching::mount_path, and the tree's record says which they are: for a pod that mounts it elsewhere the
// CSI driver puts its own above them (csi/path_layer.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/mutex.h"
#include "cacherim/image/image.h"
#include "cacherim/keeper/shares.h"
#include "cacherim/store/store.h"

namespace gs::cacherim {

/// How far one image is; read by any thread.
struct FetchProgress {
  std::atomic<std::int64_t> bytes = 0;  // of layers, as they are stored in the registry
  std::atomic<std::int64_t> total = 0;  // 0: not known yet
  /// Of bytes, those that the registry gave: of a layer that is here nobody checks the size that is said.
  std::atomic<std::int64_t> came = 0;
  /// How long it was not the registry that was waited for, but a turn, others who fetched the same layers, or
  /// the disk before some of them came once more.
  std::atomic<Duration> waited{};
};

/// Of all fetches together; read by any thread.
struct FetchTotals {
  std::atomic<std::int64_t> fetched = 0;   // bytes of layers that came, as they are stored in the registry
  std::atomic<std::int64_t> unpacked = 0;  // bytes of files that were in them
};

/// A store that several threads use.
struct SharedStore {
  explicit SharedStore(Store of) : store{std::move(of)} {}
  Mutex mutex;
  Store store GS_GUARDED_BY(mutex);
};

/// Which layers are being fetched, from where, and what is about to be needed of the store.
class LayerClaims {
 public:
  /// Those of one image, and its tree, by their digests, until this goes.
  class Needed {
   public:
    Needed(LayerClaims& claims, std::set<kcache::Digest> digests);
    Needed(const Needed&) = delete;
    Needed& operator=(const Needed&) = delete;
    ~Needed();

   private:
    LayerClaims& claims_;
    const std::set<kcache::Digest> digests_;
  };
  /// Alone on one layer of a registry, until this goes. Waits for whoever is on it, as long as `may_wait`
  /// says so, which is asked several times a second; then it is not alone.
  class Alone {
   public:
    Alone(LayerClaims& claims, const std::string& registry, const kcache::Digest& layer,
          const std::function<bool()>& may_wait);
    Alone(const Alone&) = delete;
    Alone& operator=(const Alone&) = delete;
    ~Alone();

   private:
    LayerClaims& claims_;
    const std::pair<std::string, kcache::Digest> layer_;
    bool is_alone_ = false;
  };
  [[nodiscard]] std::set<kcache::Digest> needed();

 private:
  Mutex mutex_;
  Signal freed_;
  std::multiset<kcache::Digest> needed_ GS_GUARDED_BY(mutex_);
  std::set<std::pair<std::string, kcache::Digest>> busy_ GS_GUARDED_BY(mutex_);
};

struct Fetching {
  SharedStore& store;
  LayerClaims& claims;
  const Clock& clock;
  std::string architecture = "amd64";
  std::string mount_path = "/cache";
  kcache::LayerLimits limits{};
  /// Bytes of all files of an image that may be changed for `mount_path`.
  std::uint64_t most_paths_text = std::uint64_t{64} << 20;
  bool is_here = false;  // the store has its tree: nothing is fetched
  /// For another fetch, that has the same layer under way.
  Duration longest_wait = std::chrono::seconds{10};
  /// Before so many bytes are taken in; may wait. False: it is to end.
  std::function<bool(std::size_t bytes)> pace{};
  /// False: it is to end. Does not wait. Called at any time by the thread that fetches.
  std::function<bool()> goes_on{};
  FetchTotals* totals = nullptr;     // nullptr: nobody counts
  Shares::Coming* coming = nullptr;  // what the image has to fit in; nullptr: there is no limit
  Room needed{};                     // of that, at least
};

/// Why one did not come that was to end meanwhile. Error Conflict: nobody is to blame, and whoever wants it
/// still tries again.
[[nodiscard]] tl::unexpected<Error> wasToEnd(const kcache::Reference& image);

/// `image` names a digest, under which the store has the tree afterwards. Errors: those of openImage(),
/// readLayer() and the store; Conflict: it was to end; Unavailable: it does not fit its share, or was here
/// and went.
[[nodiscard]] Status fetchImage(Fetching& how, ImageSource& source, const kcache::Reference& image,
                                FetchProgress& progress);

}  // namespace gs::cacherim
