#include "kcache/content/paths.h"

#include <fmt/format.h>

#include <algorithm>

#include "json/value.h"
#include "kcache/content/kernel.h"
#include "kcache/content/names.h"

namespace gs::kcache {
namespace {

std::string_view fileOf(std::string_view path) { return path.substr(path.rfind('/') + 1); }
/// With '/' behind it; "" at the root.
std::string_view folderOf(std::string_view path) { return path.substr(0, path.rfind('/') + 1); }

bool isGroup(std::string_view path) { return isGroupFile(fileOf(path)); }

bool isTooLarge(std::size_t bytes) { return bytes > static_cast<std::size_t>(kMaxPathsText); }

std::optional<std::string> groupForRoot(std::string_view root, std::string_view path, std::string_view text) {
  auto group = json::parse(text, kMaxPathsText);
  if (!group || !(*group)["child_paths"].isObject()) { return std::nullopt; }
  bool is_same = true;
  std::size_t bytes = 0;
  for (auto& [name, child] : group->child("child_paths").object()) {
    if (!child.isString()) { continue; }
    std::string now = fmt::format("{}/{}{}", root, folderOf(path), fileOf(child.str()));
    if (isTooLarge(bytes += now.size())) { return std::nullopt; }
    is_same = is_same && now == child.str();
    child = std::move(now);
  }
  if (is_same) { return std::nullopt; }
  std::string out = json::print(*group);
  return isTooLarge(out.size()) ? std::nullopt : std::optional{std::move(out)};
}

/// torch_compile_cache/<hash>/ of its path, with '/' before it; "": it does not lie in one.
std::string hashFolderOf(std::string_view path) {
  if (!path.starts_with(kTorchCompileCache) || path.size() <= kTorchCompileCache.size() ||
      path[kTorchCompileCache.size()] != '/') {
    return "";
  }
  const std::size_t end = path.find('/', kTorchCompileCache.size() + 1);
  return end == std::string_view::npos ? "" : "/" + std::string{path.substr(0, end + 1)};
}

/// As it stands between quotes of Python.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '\'' || c == '"') { out += '\\'; }
    out += c;
  }
  return out;
}

/// Where a text that is quoted by `quote` ends; npos: it does not.
std::size_t endOfQuoted(std::string_view text, std::size_t at, char quote) {
  for (; at < text.size() && text[at] != '\n'; ++at) {
    if (text[at] == quote) { return at; }
    if (text[at] == '\\') { ++at; }
  }
  return std::string_view::npos;
}

/// Each text in quotes of a dictionary of Python, as Python prints one (no comments): where it begins, the
/// text, and the one before it. False: one does not end. `take` answers false to end early.
template <class Take>
bool eachQuoted(std::string_view text, const Take& take) {
  std::string_view before;
  for (std::size_t at = text.find_first_of("'\""); at != std::string_view::npos;
       at = text.find_first_of("'\"", at)) {
    const std::size_t from = at + 1;
    const std::size_t end = endOfQuoted(text, from, text[at]);
    if (end == std::string_view::npos) { return false; }
    at = end + 1;
    const std::string_view quoted = text.substr(from, end - from);
    if (!take(from, quoted, before)) { return true; }
    before = quoted;
  }
  return true;
}

/// ('<name>', '<folder>/<name>'): an artifact, which vLLM writes beside the list.
bool isHandle(std::string_view name, std::string_view path) {
  return !name.empty() && name.find('/') == std::string_view::npos && path.starts_with('/') &&
         fileOf(path) == name;
}

/// How much of the path leads to the root of the cache; nullopt: it is none into the cache.
std::optional<std::size_t> rootBytes(std::string_view list, std::string_view quoted, std::string_view before,
                                     const std::string& hash_folder) {
  if (isHandle(before, quoted)) {
    const std::string beside = fmt::format("/{}{}", folderOf(list), before);
    if (quoted.ends_with(beside)) { return quoted.size() - beside.size(); }
  }
  const std::size_t place = hash_folder.empty() ? std::string_view::npos : quoted.rfind(hash_folder);
  if (!quoted.starts_with('/') || place == std::string_view::npos) { return std::nullopt; }
  return place;
}

std::optional<std::string> compileCacheForRoot(std::string_view root, std::string_view path,
                                               std::string_view text) {
  if (isTooLarge(text.size())) { return std::nullopt; }
  const std::string hash_folder = hashFolderOf(path);
  std::string out;
  std::size_t kept = 0;  // up to here `text` is in `out`
  const bool is_whole =
      eachQuoted(text, [&](std::size_t from, std::string_view quoted, std::string_view before) {
        const auto old_root = rootBytes(path, quoted, before, hash_folder);
        const bool is_elsewhere = !old_root && isHandle(before, quoted);
        if (!old_root && !is_elsewhere) { return true; }
        out += text.substr(kept, from - kept);
        out += escaped(root);
        if (is_elsewhere) { out += fmt::format("/{}", escaped(folderOf(path))); }
        kept = is_elsewhere ? from + quoted.size() - before.size() : from + *old_root;
        return !isTooLarge(out.size());
      });
  if (!is_whole || isTooLarge(out.size())) { return std::nullopt; }
  out += text.substr(kept);
  return out == text || isTooLarge(out.size()) ? std::nullopt : std::optional{std::move(out)};
}

std::optional<std::string> rootOfGroup(std::string_view path, std::string_view text) {
  const auto group = json::parse(text, kMaxPathsText);
  if (!group) { return std::nullopt; }
  for (const auto& [name, child] : (*group)["child_paths"].members()) {
    const std::string beside = fmt::format("/{}{}", folderOf(path), fileOf(child.str()));
    if (!child.str().ends_with(beside)) { continue; }
    return std::string{child.str().substr(0, child.str().size() - beside.size())};
  }
  return std::nullopt;
}

}  // namespace

bool bearsPaths(std::string_view path) { return isGroup(path) || fileOf(path) == kCompileCacheList; }

std::optional<std::string> forRoot(std::string_view root, std::string_view path, std::string_view text) {
  if (isGroup(path)) { return groupForRoot(root, path, text); }
  return fileOf(path) == kCompileCacheList ? compileCacheForRoot(root, path, text) : std::nullopt;
}

std::optional<std::string> rootNamedIn(std::string_view path, std::string_view text) {
  if (isGroup(path)) { return rootOfGroup(path, text); }
  if (fileOf(path) != kCompileCacheList || isTooLarge(text.size())) { return std::nullopt; }
  std::optional<std::string> out;
  eachQuoted(text, [&](std::size_t, std::string_view quoted, std::string_view before) {
    if (const auto bytes = rootBytes(path, quoted, before, hashFolderOf(path))) {
      out = std::string{quoted.substr(0, *bytes)};
    }
    return !out;
  });
  return out;
}

}  // namespace gs::kcache
