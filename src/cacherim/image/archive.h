// Layers of images: tar files, read as a stream and written.
//
// Read are tar files, plain, gzip or zstd, which their first bytes tell (media types of old images lie). Each
// entry is judged by kcache/layer/rules.h before anything is made of it, and the limits hold while it comes:
// nothing is kept in memory but a few pieces. The bytes are fetched on a thread of their own meanwhile.
// Written are tar files that depend on their entries alone: sorted by name, owned by 0, of 1970.
//
// Blocking. A reading or writing belongs to one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cacherim/image/image_source.h"
#include "kcache/layer/rules.h"

namespace gs::cacherim {

/// Hands a layer's bytes to the sink, as they are stored, and says whether they were the right ones.
/// Called on another thread, once.
using LayerFeed = std::function<Status(const ByteSink& sink)>;

/// What is made of a layer: its folders and files in their order. An error ends the reading.
class LayerTaker {
 public:
  virtual ~LayerTaker() = default;
  [[nodiscard]] virtual Status folder(const kcache::Placed& folder) = 0;
  /// Its bytes follow, then endFile(). One of Placed::Where::Manifest is the cache's manifest.json.
  [[nodiscard]] virtual Status beginFile(const kcache::Placed& file, std::int64_t size) = 0;
  [[nodiscard]] virtual Status piece(std::string_view bytes) = 0;
  [[nodiscard]] virtual Status endFile() = 0;
};

/// The next layer of an image. Errors: Invalid, it is no tar file or has what it may not have; what the feed
/// says; what the taker says. What was taken before an error is not to be used.
[[nodiscard]] Status readLayer(const LayerFeed& feed, kcache::LayerRules& rules, LayerTaker& taker);

/// An entry of a layer to write.
struct NewEntry {
  std::string name;  // in the layer, clean
  bool is_folder = false;
  bool is_executable = false;
  std::int64_t size = 0;  // of a file
  /// Hands the file's bytes out, `size` of them.
  std::function<Status(const ByteSink& sink)> bytes{};
};

enum class Packing : std::uint8_t { Plain, Gzip };

struct WrittenLayer {
  kcache::Digest digest;   // of what was written
  kcache::Digest diff_id;  // of the tar file in it
  std::int64_t size = 0;   // bytes written
};

/// Errors: Invalid, a name that a layer may not have, or a file that is not as long as was said; what the
/// sink or an entry says.
[[nodiscard]] Result<WrittenLayer> writeLayer(std::vector<NewEntry> entries, Packing packing,
                                              const ByteSink& sink, kcache::LayerLimits limits = {});

}  // namespace gs::cacherim
