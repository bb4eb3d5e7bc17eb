// Any bytes as each text of a cache: no crash, no hang. A manifest that is read prints to one that reads to
// the same; a summary too; a text with paths that was rewritten once is not rewritten again.
#include <cstdint>
#include <string>
#include <string_view>

#include "kcache/content/detect.h"
#include "kcache/content/labels.h"
#include "kcache/content/paths.h"

namespace {

void check(bool holds) {
  if (!holds) { __builtin_trap(); }
}

/// The bytes as the files of a cache: a line is a path, and each file's text is all of them.
void detect(std::string_view in) {
  std::vector<gs::kcache::CacheFile> files;
  for (std::string_view rest = in.substr(0, 4096); !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    files.push_back({std::string{line}, 1});
  }
  const auto cache = gs::kcache::detectCache(
      files, [&](const std::string&) -> gs::Result<std::string> { return std::string{in}; });
  if (cache) {
    check(cache->entry_count > 0);
    check(gs::kcache::readLabels(gs::kcache::labelsOf(*cache, "t"))->entry_count == cache->entry_count);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view in{reinterpret_cast<const char*>(data), size};
  if (const auto manifest = gs::kcache::parseCacheManifest(in)) {
    const auto text = gs::kcache::printCacheManifest(*manifest);
    const auto again = gs::kcache::parseCacheManifest(text);
    check(again && gs::kcache::printCacheManifest(*again) == text);
  }
  if (const auto targets = gs::kcache::parseSummary(in)) {
    const auto text = gs::kcache::printSummary(*targets);
    const auto again = gs::kcache::parseSummary(text);
    check(again && gs::kcache::printSummary(*again) == text);
  }
  for (const char* path : {"K/__grp__k.json", "torch_compile_cache/h/vllm_compile_cache.py"}) {
    const auto now = gs::kcache::forRoot("/cache", path, in);
    if (now) { check(!gs::kcache::forRoot("/cache", path, *now)); }
  }
  (void)gs::kcache::readKernel(in);
  (void)gs::kcache::targetsIn(in);
  detect(in);
  return 0;
}
