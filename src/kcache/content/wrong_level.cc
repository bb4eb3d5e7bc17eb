#include "kcache/content/wrong_level.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "kcache/content/paths.h"

namespace gs::kcache {
namespace {

constexpr std::size_t kMostNamed = 4;

std::string joined(PathParts::const_iterator from, PathParts::const_iterator to) {
  return fmt::format("{}", fmt::join(from, to, "/"));
}

/// ~/.triton/cache of 'cache' in ~/.triton.
std::string folderBelow(std::string_view folder, std::string_view path) {
  return folder.empty() ? std::string{path} : fmt::format("{}/{}", folder == "/" ? "" : folder, path);
}

/// So many levels higher; "../.." where it is not known.
std::string folderAbove(std::string_view folder, std::size_t levels) {
  if (folder.empty()) {
    std::string out = "..";
    for (std::size_t i = 1; i < levels; ++i) { out += "/.."; }
    return out;
  }
  for (; levels > 0 && folder.size() > 1; --levels) {
    folder = folder.substr(0, std::max<std::size_t>(folder.rfind('/'), 1));
  }
  return std::string{folder};
}

/// What stands before torch_compile_cache or torch_aot_compile in it; "": neither does.
std::string rootIn(std::string_view folder) {
  const PathParts parts = partsOf(folder);
  const auto at = std::find_if(parts.begin(), parts.end(), [](std::string_view one) {
    return one == kTorchCompileCache || one == kTorchAotCompile;
  });
  return at == parts.end() || at == parts.begin() ? "" : joined(parts.begin(), at);
}

/// Where in its path a folder begins in which vLLM keeps caches; nullopt: nowhere.
std::optional<PathParts::const_iterator> cachesIn(const PathParts& parts) {
  for (auto at = parts.begin(); at + 3 < parts.end(); ++at) {
    if ((*at == kTorchCompileCache || *at == kTorchAotCompile) && isRank(at[2])) { return at; }
    if (*at == kTorchCompileCache && at[1] == kTorchAotCompile) { return at; }
  }
  return std::nullopt;
}

/// How much too deep the folder is, by what lies in it: 0 where that does not say it.
std::size_t levelsTooDeep(const Item& one) {
  const PathParts& parts = one.parts;
  if (parts.size() > 1 && isRank(parts[0])) { return 1; }  // <hash>; its torch_compile_cache will do
  if (parts.size() == 3 && isRank(parts[1]) && parts[2] == kModel) { return 1; }  // torch_aot_compile
  const bool is_list = parts.back() == kCompileCacheList;
  if (is_list && parts.size() <= 2) { return parts.size() == 2 ? 2 : 3; }
  return 0;
}

std::string tooDeep(std::string_view folder, std::size_t levels) {
  const std::string root = rootIn(folder);
  return fmt::format(
      "{} a part of a vLLM cache, which vLLM finds only as <root>/{}/<hash>/rank_<n>_<m>: name '{}'",
      folder.empty() ? "it is" : "the folder is", kTorchCompileCache,
      root.empty() ? folderAbove(folder, levels) : root);
}

bool isInductors(const PathParts& above) {
  return above.size() == 2 && above[0] == "triton" &&
         above[1].find_first_not_of("0123456789") == std::string_view::npos;
}

std::string tritonBelow(const std::set<std::string>& places, std::string_view folder) {
  std::string names;
  std::size_t count = 0;
  for (const std::string& one : places) {
    if (++count > kMostNamed) { break; }
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", folderBelow(folder, one));
  }
  const char* const more = places.size() > kMostNamed ? " and others" : "";
  return fmt::format(
      "Triton looks for kernels in <root>/<key>, and all that are here lie deeper: name {}{}{}",
      places.size() == 1 ? "" : "one of ", names, more);
}

}  // namespace

std::optional<std::string> wrongVllmLevel(const Files& files, std::string_view folder) {
  for (const Item& one : files) {
    if (const auto caches = cachesIn(one.parts); caches && *caches != one.parts.begin()) {
      return fmt::format("vLLM looks for its caches in <root>/{}, and here it is '{}': name '{}'", **caches,
                         joined(one.parts.begin(), *caches + 1),
                         folderBelow(folder, joined(one.parts.begin(), *caches)));
    }
  }
  std::size_t levels = 0;
  for (const Item& one : files) { levels = std::max(levels, levelsTooDeep(one)); }
  if (levels > 0) { return tooDeep(folder, levels); }
  return std::nullopt;
}

std::optional<std::string> wrongTritonLevel(const std::vector<FoundKernel>& kernels, std::string_view folder,
                                            Findings& findings) {
  bool is_found = false;
  bool is_key = false;
  std::set<std::string> places;    // of those that lie too deep
  std::set<std::string> inductor;  // of those that Inductor finds
  for (const FoundKernel& one : kernels) {
    is_key = is_key || one.folder.empty();
    is_found = is_found || one.folder.size() == 1;
    if (one.folder.size() < 2) { continue; }
    const PathParts above(one.folder.begin(), one.folder.end() - 1);
    (isInductors(above) ? inductor : places).insert(joined(above.begin(), above.end()));
  }
  if (is_found || !inductor.empty()) {
    for (const std::string& one : inductor) {
      findings.note(
          fmt::format("the kernels in {} are PyTorch Inductor's: they are found with "
                      "TORCHINDUCTOR_CACHE_DIR=<where the cache is>",
                      one));
    }
    for (const std::string& one : places) {
      findings.note(fmt::format("the kernels in {} lie too deep: Triton looks in <root>/<key>", one));
    }
    return std::nullopt;
  }
  if (!places.empty()) { return tritonBelow(places, folder); }
  if (!is_key) { return std::nullopt; }
  return fmt::format("this is the folder of one key of Triton's, which looks in <root>/<key>: name '{}'",
                     folderAbove(folder, 1));
}

}  // namespace gs::kcache
