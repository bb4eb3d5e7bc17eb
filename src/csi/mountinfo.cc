#include "csi/mountinfo.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace gs::csi {
namespace {

using cacherim::CacheName;

constexpr std::string_view kOurSource = "gkm:";
constexpr std::string_view kDeleted = "//deleted";

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> out;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t end = std::min(text.find(at, from), text.size());
    out.push_back(text.substr(from, end - from));
    from = end + 1;
  }
  return out;
}

bool isOctal(std::string_view text) {
  return text.size() == 3 && text.front() <= '3' &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '7'; });
}

/// The kernel writes blanks, line breaks and '\' as "\040".
std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\\' || !isOctal(text.substr(at + 1, 3))) {
      out += text[at];
      continue;
    }
    const auto digit = [&](std::size_t i) { return static_cast<unsigned>(text[at + i] - '0'); };
    out += static_cast<char>(digit(1) * 64 + digit(2) * 8 + digit(3));
    at += 3;
  }
  return out;
}

std::optional<MountLine> parseMountLine(std::string_view line) {
  const auto fields = split(line, ' ');
  const auto mark = std::find(fields.begin(), fields.end(), "-");
  if (mark - fields.begin() < 6 || fields.end() - mark < 3) { return std::nullopt; }
  const auto options = split(fields[5], ',');
  return MountLine{.device = std::string{fields[2]},
                   .root = unescaped(fields[3]),
                   .point = unescaped(fields[4]),
                   .is_read_only = std::find(options.begin(), options.end(), "ro") != options.end(),
                   .type = std::string{mark[1]},
                   .source = unescaped(mark[2])};
}

/// What `path` is below `folder`, with its '/'; nullopt: it is not. The folder itself is "".
std::optional<std::string_view> below(std::string_view path, std::string_view folder) {
  if (folder == "/") { folder = ""; }
  if (!path.starts_with(folder)) { return std::nullopt; }
  path.remove_prefix(folder.size());
  if (!path.empty() && path.front() != '/') { return std::nullopt; }
  return path;
}

/// Where the store is in its file system.
struct InFileSystem {
  std::string device;
  std::string root;
};
std::optional<InFileSystem> storeIn(const std::vector<MountLine>& lines, const std::string& store) {
  const MountLine* nearest = nullptr;
  for (const MountLine& line : lines) {
    const bool holds_it = below(store, line.point).has_value();
    if (holds_it && (nearest == nullptr || line.point.size() >= nearest->point.size())) { nearest = &line; }
  }
  if (nearest == nullptr) { return std::nullopt; }
  const std::string root = nearest->root == "/" ? "" : nearest->root;
  return InFileSystem{nearest->device, root + std::string{*below(store, nearest->point)}};
}

/// "<folder>/<name>" and a digest, with '@' or '/' between.
void nameOverlay(std::string_view source, TargetMount& out) {
  const std::size_t at = source.rfind('@');
  const std::size_t slash = source.find('/');
  if (at == std::string_view::npos || slash == std::string_view::npos || slash > at) { return; }
  auto image = kcache::Digest::parse(source.substr(at + 1));
  auto cache = CacheName::fromFolder(source.substr(0, slash), source.substr(slash + 1, at - slash - 1));
  if (image) { out.image = *std::move(image); }
  if (cache) { out.cache = *std::move(cache); }
}

/// "/trees/<hex>/root", or "/caches/<folder>/<name>/<digest>" of the ancestor, which has all images of a
/// cache where it knew none.
bool nameBind(std::string_view in_store, TargetMount& out) {
  if (in_store.ends_with(kDeleted)) { in_store.remove_suffix(kDeleted.size()); }
  const auto parts = split(in_store, '/');
  if (parts.size() == 4 && parts[1] == "trees" && parts[3] == "root") {
    auto image = kcache::Digest::parse(std::string{kcache::Digest::kPrefix}.append(parts[2]));
    if (!image) { return false; }
    out.image = *std::move(image);
    return true;
  }
  if ((parts.size() != 4 && parts.size() != 5) || parts[1] != "caches") { return false; }
  auto cache = CacheName::fromFolder(parts[2], parts[3]);
  auto image = parts.size() == 5 ? kcache::Digest::parse(parts[4]) : fail(Code::NotFound, "");
  if (!cache || (parts.size() == 5 && !image)) { return false; }
  out.cache = *std::move(cache);
  if (image) { out.image = *std::move(image); }
  return true;
}

}  // namespace

Result<std::vector<MountLine>> parseMountinfo(std::string_view text) {
  std::vector<MountLine> out;
  for (const std::string_view line : split(text, '\n')) {
    if (line.empty()) { continue; }
    auto parsed = parseMountLine(line);
    if (!parsed) {
      return fail(Code::Invalid, fmt::format("mountinfo has a line '{}'", line.substr(0, 200)));
    }
    out.push_back(*std::move(parsed));
  }
  return out;
}

std::string overlaySource(const CacheName& cache, const kcache::Digest& image) {
  return fmt::format("{}{}/{}@{}", kOurSource, cache.folder(), cache.name(), image.text());
}

std::vector<TargetMount> targetMounts(const std::vector<MountLine>& lines, const Places& places) {
  const auto store = storeIn(lines, places.real_store);
  std::vector<TargetMount> out;
  for (const MountLine& line : lines) {
    const auto path = below(line.point, places.real_target_root);
    if (!path || path->empty()) { continue; }
    TargetMount mount{.target = places.target_root + std::string{*path}, .is_read_only = line.is_read_only};
    if (line.type == "overlay" && line.source.starts_with(kOurSource)) {
      mount.is_ours = true;
      nameOverlay(std::string_view{line.source}.substr(kOurSource.size()), mount);
    } else if (store && line.device == store->device) {
      const auto in_store = below(line.root, store->root);
      mount.is_ours = in_store && nameBind(*in_store, mount);
    }
    out.push_back(std::move(mount));
  }
  return out;
}

}  // namespace gs::csi
