#include "csi/path_layer.h"

#include <fcntl.h>

#include "base/hash.h"
#include "cacherim/disk/disk.h"
#include "kcache/content/paths.h"

namespace gs::csi {
namespace {

using cacherim::Disk;

constexpr std::uint64_t kLook = 4096;  // bytes that a look at a file counts as

Result<std::string> textAt(const net::Fd& root, const std::string& path) {
  const auto place = Disk::below(root.get(), path);
  if (!place) { return tl::unexpected(place.error()); }
  return Disk{}.readAll(place->folder.get(), place->name, kcache::kMaxPathsText);
}

}  // namespace

std::uint64_t PathLayer::bytes() const {
  std::uint64_t out = 0;
  for (const auto& [path, text] : files) { out += text.size(); }
  return out;
}

PathLayer pathLayerOf(const net::Fd& root, const std::map<std::string, std::string>& paths,
                      const std::string& mount_path) {
  PathLayer out;
  std::uint64_t bytes = 0;
  std::uint64_t read = 0;
  std::size_t looked_at = 0;
  for (const auto& [path, sum] : paths) {
    if (read >= kMostReadForAPathLayer || out.files.size() >= kMostFilesOfAPathLayer) {
      out.left_out += paths.size() - looked_at;
      break;
    }
    ++looked_at;
    const auto text = textAt(root, path);
    read += kLook + (text ? text->size() : 0);
    if (text && !sum.empty() && sha256Hex(*text) != sum) {
      ++out.damaged;
      continue;
    }
    auto changed = text ? kcache::forRoot(mount_path, path, *text) : std::nullopt;
    const bool fits = text && bytes + (changed ? changed->size() : 0) <= kMostOfAPathLayer;
    if (!fits) {
      ++out.left_out;
    } else if (changed) {
      bytes += changed->size();
      out.files.emplace(path, *std::move(changed));
    }
  }
  return out;
}

}  // namespace gs::csi
