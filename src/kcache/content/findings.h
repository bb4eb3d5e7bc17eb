// What is seen while a folder is looked through for caches (detect.h): its files by the parts of their paths,
// the GPUs that they name, and what is odd in them. On one thread; the files outlive it.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kcache/content/detect.h"

namespace gs::kcache {

using PathParts = std::vector<std::string_view>;

/// A file, with the parts of its path from some folder on; at least one part.
struct Item {
  const CacheFile* file;
  PathParts parts;
  /// The same, seen from so many folders deeper; it has more parts than that.
  [[nodiscard]] Item below(std::size_t folders) const {
    return {file, PathParts(parts.begin() + static_cast<std::ptrdiff_t>(folders), parts.end())};
  }
};
using Files = std::vector<Item>;

/// A whole model of vLLM's, in the folder of its rank.
inline constexpr std::string_view kModel = "model";

[[nodiscard]] PathParts partsOf(std::string_view path);
/// rank_0_0
[[nodiscard]] bool isRank(std::string_view name);

class Findings {
 public:
  /// More notes than these are counted, and not kept: a cache can have 100,000 files, all of them odd.
  static constexpr std::size_t kMostNotes = 64;

  explicit Findings(const ReadText& read) : read_{read} {}

  /// nullopt: it could not be read, which is noted.
  [[nodiscard]] std::optional<std::string> textOf(const CacheFile& file);
  /// A sentence; one that is there already is not said again.
  void note(std::string sentence);
  void note(const CacheFile& file, std::string_view what);

  /// With a last one that says how many more there were.
  [[nodiscard]] std::vector<std::string> notes() const;

  Targets targets{};

 private:
  const ReadText& read_;
  std::vector<std::string> notes_{};
  std::size_t left_out_ = 0;
};

}  // namespace gs::kcache
