#include "mcv/create.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "base/files.h"
#include "cacherim/image/file_bytes.h"
#include "kcache/image/architecture.h"
#include "mcv/options.h"

namespace gs::mcv {
namespace {

namespace fs = std::filesystem;
namespace inside = kcache::inside;

constexpr std::size_t kMaxLookedInto = std::size_t{512} << 20;  // of one artifact

struct Found {
  std::vector<kcache::CacheFile> files;
  std::set<std::string> executables;
};

tl::unexpected<Error> cannotRead(const fs::path& path, const std::error_code& error) {
  const bool is_missing =
      error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory;
  return fail(is_missing ? Code::NotFound : Code::Unavailable,
              fmt::format("cannot read '{}': {}", path.string(), error.message()));
}

/// Notes a file; of a folder nothing. Error Invalid: it is neither.
Status look(const fs::directory_entry& entry, const fs::path& root, Found& out) {
  std::error_code error;
  const auto status = entry.symlink_status(error);
  if (error) { return cannotRead(entry.path(), error); }
  if (fs::is_directory(status)) { return {}; }
  if (!fs::is_regular_file(status)) {
    return fail(Code::Invalid,
                fmt::format("'{}' is {}; caches have files and folders only", entry.path().string(),
                            fs::is_symlink(status) ? "a symbolic link" : "no file"));
  }
  const auto size = entry.file_size(error);
  if (error) { return cannotRead(entry.path(), error); }
  const std::string path = entry.path().lexically_relative(root).generic_string();
  out.files.push_back({path, static_cast<std::int64_t>(size)});
  constexpr auto kMayExecute = fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec;
  if ((status.permissions() & kMayExecute) != fs::perms::none) { out.executables.insert(path); }
  return {};
}

Result<Found> list(const fs::path& root) {
  std::error_code error;
  fs::recursive_directory_iterator at{root, error};
  Found out;
  for (; !error && at != fs::recursive_directory_iterator{}; at.increment(error)) {
    if (at->path().filename().string().starts_with('.')) {
      at.disable_recursion_pending();
      continue;
    }
    if (Status fine = look(*at, root, out); !fine) { return tl::unexpected(fine.error()); }
  }
  if (error) { return cannotRead(root, error); }
  return out;
}

cacherim::NewEntry fileEntry(std::string name, const kcache::CacheFile& file, const fs::path& root,
                             bool executable) {
  return {.name = std::move(name),
          .is_executable = executable,
          .size = file.size,
          .bytes = [path = (root / file.path).string()](const cacherim::ByteSink& sink) {
            return cacherim::readFileTo(path, sink);
          }};
}

cacherim::NewEntry manifestEntry(kcache::CacheType type, std::string text) {
  const auto size = static_cast<std::int64_t>(text.size());
  return {.name = fmt::format("{}/{}", inside::manifestOf(type), inside::kManifestFile),
          .size = size,
          .bytes = [text = std::move(text)](const cacherim::ByteSink& sink) -> Status {
            if (sink(text)) { return {}; }
            return fail(Code::Conflict, "no more is wanted");
          }};
}

/// The files, and each folder in which one lies, once.
std::vector<cacherim::NewEntry> entriesOf(const Found& found, const kcache::DetectedCache& cache,
                                          const fs::path& root) {
  const kcache::CacheType type = cache.manifest.type;
  std::vector<cacherim::NewEntry> out;
  std::set<std::string> folders{std::string{inside::manifestOf(type)}};
  for (const kcache::CacheFile& file : found.files) {
    std::string name = fmt::format("{}/{}{}", inside::cacheOf(type), cache.below, file.path);
    for (auto at = name.find('/'); at != std::string::npos; at = name.find('/', at + 1)) {
      folders.insert(name.substr(0, at));
    }
    out.push_back(fileEntry(std::move(name), file, root, found.executables.contains(file.path)));
  }
  for (const std::string& folder : folders) { out.push_back({.name = folder, .is_folder = true}); }
  out.push_back(manifestEntry(type, kcache::printCacheManifest(cache.manifest)));
  return out;
}

/// Nodes count the same, and would refuse the image; here nothing is written yet.
Status checkLimits(const std::string& folder, const std::vector<cacherim::NewEntry>& entries,
                   std::string_view manifest, const kcache::LayerLimits& limits) {
  const auto count = static_cast<std::int64_t>(entries.size());
  if (count > limits.most_entries) {
    return fail(
        Code::Invalid,
        fmt::format("'{}' makes an image of {} files and folders; nodes take at most {}: leave out what is "
                    "old, or pack parts of it",
                    folder, count, limits.most_entries));
  }
  std::int64_t bytes = 0;
  for (const cacherim::NewEntry& one : entries) {
    const std::size_t root = one.name.find('/');  // io.triton.cache/: paths count from there on
    if (root != std::string::npos && !one.name.starts_with(manifest)) {
      bytes += static_cast<std::int64_t>(one.name.size() - root - 1);
    }
  }
  if (bytes <= limits.most_path_bytes) { return {}; }
  return fail(
      Code::Invalid,
      fmt::format("'{}' makes an image whose paths have {} bytes in all; nodes take at most {}: leave out "
                  "what is old, or pack parts of it",
                  folder, bytes, limits.most_path_bytes));
}

/// As a person would write it, absolute; "": nobody knows where it lies.
std::string wholePath(const fs::path& folder) {
  std::error_code error;
  std::string out = fs::absolute(folder, error).lexically_normal().string();
  while (out.size() > 1 && out.ends_with('/')) { out.pop_back(); }
  return error ? "" : out;
}

}  // namespace

Result<Packed> pack(const std::string& folder, const kcache::Reference& name,
                    const kcache::LayerLimits& limits) {
  const fs::path root{folder};
  const auto found = list(root);
  if (!found) { return tl::unexpected(found.error()); }
  auto cache = kcache::detectCache(
      found->files, [&](const std::string& path) { return readFile((root / path).string(), kMaxLookedInto); },
      wholePath(root));
  if (!cache) { return fail(cache.error().code, fmt::format("'{}': {}", folder, cache.error().message)); }
  auto entries = entriesOf(*found, *cache, root);
  if (Status fine = checkLimits(folder, entries, inside::manifestOf(cache->manifest.type), limits); !fine) {
    return tl::unexpected(fine.error());
  }
  cacherim::NewImage image{.name = name,
                           .architecture = kcache::kArchitecture,
                           .labels = kcache::labelsOf(*cache, titleOf(name)),
                           .entries = std::move(entries)};
  return Packed{std::move(*cache), std::move(image)};
}

}  // namespace gs::mcv
