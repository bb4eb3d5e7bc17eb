#include "kcache/layer/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/quoted.h"
#include "base/utf8.h"
#include "kcache/content/names.h"

namespace gs::kcache {
namespace {

constexpr std::size_t kMaxEntryName = 1024;
constexpr std::size_t kMaxPart = 255;
constexpr std::size_t kMaxParts = 32;
constexpr unsigned kSetIds = 06000;
constexpr unsigned kMayExecute = 0111;
constexpr std::string_view kWhiteout = ".wh.";
constexpr std::array<std::string_view, 4> kFolders{inside::kTritonCache, inside::kVllmCache,
                                                   inside::kTritonManifest, inside::kVllmManifest};

tl::unexpected<Error> refuseEntry(std::string_view name, std::string_view what) {
  std::string shown;
  appendQuoted(shown, name.substr(0, kMaxEntryName));
  return fail(Code::Invalid, fmt::format("layer entry {} {}", shown, what));
}

const char* nameOf(EntryKind kind) {
  switch (kind) {
    case EntryKind::SymbolicLink: return "a symbolic link";
    case EntryKind::HardLink: return "a hard link";
    case EntryKind::Device: return "a device or a pipe";
    default: return "neither a file nor a folder";
  }
}

/// What is behind `folder`, "" for the folder itself; nullopt: it is not in it.
std::optional<std::string_view> below(std::string_view name, std::string_view folder) {
  if (!name.starts_with(folder)) { return std::nullopt; }
  name.remove_prefix(folder.size());
  if (name.empty()) { return name; }
  if (name.front() != '/') { return std::nullopt; }
  return name.substr(1);
}

std::optional<std::string_view> belowOne(std::string_view name,
                                         const std::array<std::string_view, 2>& folders) {
  const auto first = below(name, folders[0]);
  return first ? first : below(name, folders[1]);
}

/// One lies in the other, or they are the same; "" is where all begins.
bool overlap(std::string_view one, std::string_view other) {
  return one.empty() || other.empty() || below(one, other) || below(other, one);
}

/// A whiteout (OCI image spec 1.1, "Whiteouts") takes away what lower layers have at a place, or, as
/// ".wh..wh..opq", all that they have beside it. Whether that is something of a cache.
bool takesCachesAway(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  const std::string_view folder = slash == std::string_view::npos ? "" : name.substr(0, slash);
  std::string_view part = slash == std::string_view::npos ? name : name.substr(slash + 1);
  if (!part.starts_with(kWhiteout)) { return false; }
  part.remove_prefix(kWhiteout.size());
  std::string gone{folder};
  if (!part.starts_with(kWhiteout)) { (gone += folder.empty() ? "" : "/") += part; }
  return std::any_of(kFolders.begin(), kFolders.end(),
                     [&](std::string_view ours) { return overlap(gone, ours); });
}

/// A mistake in one part of a name; nullptr: none.
const char* wrongWith(std::string_view part) {
  if (part.empty()) { return "has an empty part in its name"; }
  if (part == "." || part == "..") { return "has '.' or '..' as a part of its name"; }
  return part.size() > kMaxPart ? "has a part of over 255 bytes in its name" : nullptr;
}

}  // namespace

Result<std::string_view> cleanEntryName(std::string_view name) {
  const std::string_view whole = name;
  if (name.starts_with('/')) { return refuseEntry(whole, "has an absolute name"); }
  if (!isUtf8(name)) { return refuseEntry(whole, "has a name that is no UTF-8"); }
  if (name.find('\0') != std::string_view::npos) { return refuseEntry(whole, "has a NUL in its name"); }
  if (name.size() > kMaxEntryName) { return refuseEntry(whole, "has a name of over 1024 bytes"); }
  while (name.starts_with("./")) { name.remove_prefix(2); }
  if (name.ends_with('/')) { name.remove_suffix(1); }
  if (name.empty() || name == ".") { return std::string_view{}; }
  std::size_t parts = 0;
  for (std::size_t at = 0; at <= name.size(); ++parts) {
    const std::size_t end = std::min(name.find('/', at), name.size());
    if (const char* wrong = wrongWith(name.substr(at, end - at))) { return refuseEntry(whole, wrong); }
    at = end + 1;
  }
  if (parts > kMaxParts) { return refuseEntry(whole, "lies deeper than 32 folders"); }
  return name;
}

Status LayerRules::countOne(const LayerEntry& entry) {
  if (++entries_ <= limits_.most_entries) { return {}; }
  return refuseEntry(entry.name,
                     fmt::format("is one more than the {} that an image may have", limits_.most_entries));
}

Status LayerRules::note(const LayerEntry& entry, std::string_view path) {
  path_bytes_ += static_cast<std::int64_t>(path.size());
  if (path_bytes_ <= limits_.most_path_bytes) { return {}; }
  return refuseEntry(entry.name,
                     fmt::format("makes the paths of the image longer than the {} bytes that they "
                                 "may have in all",
                                 limits_.most_path_bytes));
}

Status LayerRules::count(const LayerEntry& entry) {
  if (Status fine = countOne(entry); !fine) { return fine; }
  if (entry.kind != EntryKind::File) { return {}; }
  if (entry.size < 0 || entry.size > limits_.most_bytes - bytes_) {
    return refuseEntry(entry.name, fmt::format("has {} bytes: more than the {} that an image may have in all",
                                               entry.size, limits_.most_bytes));
  }
  bytes_ += entry.size;
  return {};
}

Status LayerRules::grow(std::int64_t compressed, std::int64_t uncompressed) const {
  if (uncompressed <= limits_.free_bytes || uncompressed / limits_.most_ratio <= compressed) { return {}; }
  return fail(Code::Invalid,
              fmt::format("a layer of which {} bytes were read has become {}: over {} times as many",
                          compressed, uncompressed, limits_.most_ratio));
}

Result<Placed> LayerRules::place(const LayerEntry& entry) {
  const auto name = cleanEntryName(entry.name);
  if (!name) { return tl::unexpected(name.error()); }
  if (const Status fine = count(entry); !fine) { return tl::unexpected(fine.error()); }
  if (takesCachesAway(*name)) {
    return refuseEntry(entry.name, "is a whiteout: it takes away what a layer before has of the cache");
  }
  if (const auto path = belowOne(*name, {inside::kTritonCache, inside::kVllmCache})) {
    return placeInCache(entry, *path);
  }
  if (const auto path = belowOne(*name, {inside::kTritonManifest, inside::kVllmManifest})) {
    return placeManifest(entry, *path);
  }
  return Placed{};
}

/// The folders in which it lies: none of them may be a file. They need not have come as entries.
Status LayerRules::noteFolders(const LayerEntry& entry, std::string_view path) {
  for (std::size_t at = path.find('/'); at != std::string_view::npos; at = path.find('/', at + 1)) {
    const std::string_view above = path.substr(0, at);
    if (const auto place = known_.find(above); place != known_.end()) {
      if (place->second.is_folder) { continue; }
      return refuseEntry(entry.name, fmt::format("lies in '{}', which is a file", above));
    }
    if (Status fine = countOne(entry); !fine) { return fine; }
    if (Status fine = note(entry, above); !fine) { return fine; }
    known_.emplace(above, Known{.is_folder = true, .layer = layer_});
  }
  return {};
}

Result<Placed> LayerRules::placeInCache(const LayerEntry& entry, std::string_view path) {
  const bool is_folder = entry.kind == EntryKind::Folder;
  if (!is_folder && entry.kind != EntryKind::File) {
    return refuseEntry(entry.name,
                       fmt::format("is {}; caches have files and folders only", nameOf(entry.kind)));
  }
  if (!is_folder && path.empty()) { return refuseEntry(entry.name, "is a file where the cache begins"); }
  if (!is_folder && (entry.mode & kSetIds) != 0) { return refuseEntry(entry.name, "is setuid or setgid"); }
  if (const Status fine = noteFolders(entry, path); !fine) { return tl::unexpected(fine.error()); }
  Placed placed{.where = Placed::Where::Cache,
                .path = std::string{path},
                .is_folder = is_folder,
                .is_executable = !is_folder && (entry.mode & kMayExecute) != 0};
  if (path.empty()) { return placed; }
  const auto [place, is_new] =
      known_.try_emplace(placed.path, Known{.is_folder = is_folder, .layer = layer_});
  if (is_new) {
    if (const Status fine = note(entry, path); !fine) { return tl::unexpected(fine.error()); }
    return placed;
  }
  if (place->second.is_folder != is_folder) {
    return refuseEntry(entry.name, is_folder ? "is a folder, and was a file" : "is a file, and was a folder");
  }
  if (is_folder) { return placed; }
  if (place->second.layer == layer_) { return refuseEntry(entry.name, "comes twice"); }
  place->second.layer = layer_;
  placed.replaces = true;
  return placed;
}

Result<Placed> LayerRules::placeManifest(const LayerEntry& entry, std::string_view path) {
  if (path.empty() && entry.kind == EntryKind::Folder) { return Placed{}; }
  if (path != inside::kManifestFile) { return Placed{}; }
  if (entry.kind != EntryKind::File) {
    return refuseEntry(entry.name, fmt::format("is {}, and no file", nameOf(entry.kind)));
  }
  if (entry.size > kMaxCacheManifest) {
    return refuseEntry(entry.name, fmt::format("has over {} bytes", kMaxCacheManifest));
  }
  if (manifest_layer_ == layer_) { return refuseEntry(entry.name, "comes twice"); }
  const bool replaces = std::exchange(manifest_layer_, layer_) != 0;
  return Placed{.where = Placed::Where::Manifest, .path = "", .replaces = replaces};
}

}  // namespace gs::kcache
