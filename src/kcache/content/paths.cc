#include "kcache/content/paths.h"

#include <fmt/format.h>

#include <algorithm>

#include "json/value.h"
#include "kcache/content/kernel.h"
#include "kcache/content/names.h"

namespace gs::kcache {
namespace {

constexpr std::string_view kCompileCache = "vllm_compile_cache.py";

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

/// A dictionary of Python, printed by it: texts stand in quotes, and there are no comments.
std::optional<std::string> compileCacheForRoot(std::string_view root, std::string_view path,
                                               std::string_view text) {
  const std::string folder = hashFolderOf(path);
  if (folder.empty() || isTooLarge(text.size())) { return std::nullopt; }
  std::string out;
  std::size_t kept = 0;  // up to here `text` is in `out`
  for (std::size_t at = text.find_first_of("'\""); at != std::string_view::npos;
       at = text.find_first_of("'\"", at)) {
    const std::size_t from = at + 1;
    const std::size_t end = endOfQuoted(text, from, text[at]);
    if (end == std::string_view::npos) { return std::nullopt; }
    at = end + 1;
    const std::string_view quoted = text.substr(from, end - from);
    const std::size_t place = quoted.rfind(folder);
    if (!quoted.starts_with('/') || place == std::string_view::npos) { continue; }
    out += text.substr(kept, from - kept);
    out += escaped(root);
    kept = from + place;
    if (isTooLarge(out.size())) { return std::nullopt; }
  }
  out += text.substr(kept);
  return out == text || isTooLarge(out.size()) ? std::nullopt : std::optional{std::move(out)};
}

}  // namespace

bool bearsPaths(std::string_view path) { return isGroup(path) || fileOf(path) == kCompileCache; }

std::optional<std::string> forRoot(std::string_view root, std::string_view path, std::string_view text) {
  if (isGroup(path)) { return groupForRoot(root, path, text); }
  return fileOf(path) == kCompileCache ? compileCacheForRoot(root, path, text) : std::nullopt;
}

}  // namespace gs::kcache
