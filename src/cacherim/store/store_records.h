// What the store writes beside its content, and the names that may stand in its folders. Pure; fuzzed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kcache/image/digest.h"

namespace gs::cacherim {

/// A name for a file or folder below another: UTF-8 (records are JSON), no "", ".", "..", '/' or NUL, at
/// most 255 bytes.
[[nodiscard]] bool isStoreName(std::string_view name);
/// Such names with '/' between: at most 32 of them, and 1024 bytes.
[[nodiscard]] bool isStorePath(std::string_view path);

/// Whose cache: a namespace and a name as Kubernetes has them, or a name in the whole cluster.
class CacheName {
 public:
  /// Error Invalid: no namespace, or no name, of Kubernetes; so both are safe in a path.
  [[nodiscard]] static Result<CacheName> inNamespace(std::string_view ns, std::string_view name);
  [[nodiscard]] static Result<CacheName> ofCluster(std::string_view name);
  /// From folder() and name().
  [[nodiscard]] static Result<CacheName> fromFolder(std::string_view folder, std::string_view name);

  /// The folder below caches/: the namespace or "cluster-scoped"; a namespace of that name has a folder of
  /// its own, whose name no namespace can have.
  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  /// "": a cache of the cluster.
  [[nodiscard]] std::string ns() const;

  friend auto operator<=>(const CacheName&, const CacheName&) = default;

 private:
  CacheName(std::string folder, std::string name) : folder_{std::move(folder)}, name_{std::move(name)} {}
  std::string folder_;
  std::string name_;
};

/// Where the store below `root` has an image's tree, for who may not open the store (store.h).
[[nodiscard]] std::string treeRootBelow(const std::string& root, const kcache::Digest& image);

/// A file of the store: named by its content and whether it may be executed.
struct StoredFile {
  std::string hex;  // of its SHA-256
  bool executable = false;
  std::uint64_t size = 0;  // bytes
  [[nodiscard]] std::string key() const { return executable ? hex + 'x' : hex; }
  [[nodiscard]] unsigned mode() const { return executable ? 0555U : 0444U; }
  friend bool operator==(const StoredFile&, const StoredFile&) = default;
};

/// What a layer puts where, below the root of a cache.
struct LayerRecord {
  kcache::Digest layer;
  std::vector<std::string> folders;
  std::map<std::string, StoredFile> files;
  friend bool operator==(const LayerRecord&, const LayerRecord&) = default;
};

/// What an image's tree was made of.
struct TreeRecord {
  kcache::Digest image;
  std::vector<kcache::Digest> layers;        // lowest first
  std::map<std::string, StoredFile> extras;  // files that no layer has as they are in the tree
  std::uint64_t bytes = 0;                   // of all its files
  std::uint64_t files = 0;
  std::uint64_t folders = 0;
  std::string
      summary{};  // the image's label that says for which GPUs it is; "": it has none, or nobody knows
  /// Files whose text names others by absolute paths (kcache/content/paths.h), and the SHA-256 of that text
  /// in hex: who makes another text of it has to know that it is undamaged. Of an older version's tree the
  /// hash is "", or there are none.
  std::map<std::string, std::string> paths{};
  friend bool operator==(const TreeRecord&, const TreeRecord&) = default;
};

constexpr std::size_t kMostOfARecord = std::size_t{256} << 20;  // bytes
constexpr const char* kLayerRecord = "record.json";             // in a draft, until it has its name
constexpr const char* kTreeRecord = "record.json";
/// Below layers/.
[[nodiscard]] std::string layerRecordName(const kcache::Digest& layer);
/// The disk does not give it now. That says nothing about what is on it, and others may have it mounted.
template <class Record>
[[nodiscard]] bool mayBeRead(const Result<Record>& record) {
  return !record && record.error().code == Code::Unavailable;
}
/// It could not be read again.
[[nodiscard]] tl::unexpected<Error> recordTooLarge(const std::string& name, std::size_t bytes);

/// JSON, with a hash of its own text as the last member.
[[nodiscard]] std::string printLayer(const LayerRecord& record);
[[nodiscard]] std::string printTree(const TreeRecord& record);
/// Error Invalid: not what the print functions wrote. Of an older version, without the hash, it may be.
[[nodiscard]] Result<LayerRecord> parseLayer(std::string_view text);
[[nodiscard]] Result<TreeRecord> parseTree(std::string_view text);

}  // namespace gs::cacherim
