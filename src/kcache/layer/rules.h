// What an entry of a cache image's layer may be, and where it goes. Pure; the one place that says it: who
// unpacks a layer asks for each entry before anything of it is written (cacherim/image/archive.h).
//
// Images hold a cache below io.triton.cache/ or io.vllm.cache/ and one manifest.json below
// io.triton.manifest/ or io.vllm.manifest/. What lies elsewhere is skipped, as the ancestors do, but counts.
//
// Refused, with the entry named:
//   - a name that is absolute, that has "..", "." or an empty part, a NUL, a part over 255 bytes, more than
//     1024 bytes or 32 parts, anywhere in the layer. "./" before and "/" behind a name are nothing.
//   - inside of the cache: links, devices, pipes; a file with setuid or setgid (of a folder no mode is kept);
//     whiteouts (".wh."); a second file of a name in one layer; a file where a folder is, and a folder where
//     a file is, in any layer. A folder may come again.
//   - more entries (a folder that only a path names is one), bytes of paths or bytes of files than the limits
//     say, and a layer that grows more than `most_ratio` times when it is uncompressed, once it is larger
//     than `free_bytes`.
// A file of a later layer takes the place of one of an earlier one, as in any image.
//
// One Rules for one image, its layers in order, lowest first; on one thread. After an error it is of no use.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gs::kcache {

/// Of one image, all its layers together. What mcv packs is within what nodes take: both have these limits.
struct LayerLimits {
  std::int64_t most_entries = 131'072;
  std::int64_t most_bytes = std::int64_t{64} << 30;       // uncompressed
  std::int64_t most_ratio = 100;                          // uncompressed to compressed
  std::int64_t free_bytes = std::int64_t{64} << 20;       // up to here no ratio is asked
  std::int64_t most_path_bytes = std::int64_t{16} << 20;  // of all paths in the cache
};

enum class EntryKind : std::uint8_t { File, Folder, SymbolicLink, HardLink, Device, Other };

/// One header of a tar file.
struct LayerEntry {
  std::string_view name;
  EntryKind kind = EntryKind::File;
  std::int64_t size = 0;  // bytes; of a file
  unsigned mode = 0;      // permission bits, with setuid and its like
};

/// Where an entry goes.
struct Placed {
  enum class Where : std::uint8_t { Nowhere, Cache, Manifest };
  Where where = Where::Nowhere;
  std::string path{};          // Cache: below the root of the cache, clean; "" is the root itself
  bool is_folder = false;      // else a file
  bool is_executable = false;  // of a file: somebody may execute it
  bool replaces = false;       // a file of an earlier layer
  friend bool operator==(const Placed&, const Placed&) = default;
};

class LayerRules {
 public:
  explicit LayerRules(LayerLimits limits) : limits_{limits} {}

  /// A layer begins.
  void beginLayer() { ++layer_; }
  /// Its next entry. Error Invalid: why it is refused.
  [[nodiscard]] Result<Placed> place(const LayerEntry& entry);
  /// So many bytes of the layer were read, and so many came out, since it began. Error Invalid: too many.
  [[nodiscard]] Status grow(std::int64_t compressed, std::int64_t uncompressed) const;

 private:
  struct Known {
    bool is_folder = false;
    int layer = 0;
  };
  [[nodiscard]] Status countOne(const LayerEntry& entry);
  [[nodiscard]] Status note(const LayerEntry& entry, std::string_view path);
  [[nodiscard]] Status count(const LayerEntry& entry);
  [[nodiscard]] Status noteFolders(const LayerEntry& entry, std::string_view path);
  [[nodiscard]] Result<Placed> placeInCache(const LayerEntry& entry, std::string_view path);
  [[nodiscard]] Result<Placed> placeManifest(const LayerEntry& entry, std::string_view path);

  LayerLimits limits_;
  int layer_ = 0;
  int manifest_layer_ = 0;  // in which the manifest came last
  std::int64_t entries_ = 0;
  std::int64_t bytes_ = 0;
  std::int64_t path_bytes_ = 0;
  std::map<std::string, Known, std::less<>> known_;  // by path below the cache's root
};

/// The name without "./" before and "/" behind it. Error Invalid: it may not be the name of an entry.
[[nodiscard]] Result<std::string_view> cleanEntryName(std::string_view name);

/// A manifest.json over this is refused.
inline constexpr std::int64_t kMaxCacheManifest = std::int64_t{16} << 20;

}  // namespace gs::kcache
