#include "test/sim/cache_places.h"

#include <fmt/format.h>

#include <array>

namespace gs::sim {
namespace {

constexpr std::array<CachePlace, kCachePlaces> kPlaces{{
    {kSharedPlace, "", kSharedPlace},
    {"/home/vllm/.cache/vllm", "", "/home/vllm/.cache/vllm"},
    {"srv//kernels/", "", "/srv/kernels"},
    {"/home/vllm/.cache/vllm", "/opt/kernels", "/opt/kernels"},
}};

std::string quoted(std::string_view place) { return fmt::format("\"{}/", place); }

}  // namespace

const CachePlace& cachePlace(int which) { return kPlaces.at(static_cast<std::size_t>(which)); }

bool namesPaths(std::string_view path) { return path.substr(path.rfind('/') + 1).starts_with("__grp__"); }

std::string groupText(std::string_view path, std::string_view beside, std::string_view place) {
  const std::string_view folder = path.substr(0, path.rfind('/') + 1);
  return fmt::format(R"({{"child_paths":{{"{0}":{1}{2}{0}"}}}})", beside, quoted(place), folder);
}

std::string textAt(const std::string& text, std::string_view place) {
  const std::string shared = quoted(kSharedPlace);
  std::string out = text;
  if (const std::size_t at = out.find(shared); at != std::string::npos) {
    out.replace(at, shared.size(), quoted(place));
  }
  return out;
}

}  // namespace gs::sim
