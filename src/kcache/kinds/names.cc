#include "kcache/kinds/names.h"

#include <fmt/core.h>

#include "base/short_name.h"

namespace gs::kcache {
namespace {

constexpr std::string_view kBeforeHandle = "gkm.io.";
constexpr std::string_view kBehindHandle = "/finalizer";
/// What is before the '/' of a finalizer is a name of 253 bytes at most.
constexpr std::size_t kMostOfHandle = kMostOfAName - kBeforeHandle.size();
constexpr std::size_t kKeptOfHandle = 200;
constexpr std::size_t kHashOfHandle = 16;

bool looksShortened(std::string_view name) {
  const std::size_t longest = kKeptOfHandle + 1 + kHashOfHandle;
  if (name.size() != longest && name.size() != longest - 1) { return false; }
  const std::string_view end = name.substr(name.size() - kHashOfHandle - 1);
  return end.front() == '-' && end.find_first_not_of("0123456789abcdef", 1) == std::string_view::npos;
}

}  // namespace

std::string nodeLabel(std::string_view node) { return shortName(node, kMostOfALabelValue); }

std::string handleOf(std::string_view cache) {
  if (cache.size() <= kMostOfHandle && !looksShortened(cache)) { return std::string{cache}; }
  std::string_view start = cache.substr(0, kKeptOfHandle);
  if (start.ends_with('.')) { start.remove_suffix(1); }  // no part begins with '-'
  return fmt::format("{}-{}", start, hashOf(cache, kHashOfHandle));
}

std::string nodeFinalizer(std::string_view cache) {
  return fmt::format("{}{}{}", kBeforeHandle, handleOf(cache), kBehindHandle);
}

std::string_view handleIn(std::string_view finalizer) {
  const bool has_both = finalizer.starts_with(kBeforeHandle) && finalizer.ends_with(kBehindHandle) &&
                        finalizer.size() > kBeforeHandle.size() + kBehindHandle.size();
  if (!has_both) { return {}; }
  return finalizer.substr(kBeforeHandle.size(),
                          finalizer.size() - kBeforeHandle.size() - kBehindHandle.size());
}

}  // namespace gs::kcache
