#include "mcv/extract.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "cacherim/image/folder.h"
#include "cacherim/image/fresh_folder.h"

namespace gs::mcv {
namespace {

/// Absolute, without '/' behind it; "" is /.
Result<std::string> asRoot(const std::string& path) {
  std::error_code error;
  std::string out = std::filesystem::absolute(path, error).lexically_normal().string();
  if (error) { return fail(Code::Unavailable, fmt::format("where is '{}'? {}", path, error.message())); }
  while (out.ends_with('/')) { out.pop_back(); }
  return out;
}

Status checkManifest(const std::string& text, const std::vector<kcache::CacheGpu>& gpus) {
  const auto manifest = kcache::parseCacheManifest(text);
  const Status fits = manifest ? kcache::matchManifest(*manifest, gpus) : tl::unexpected(manifest.error());
  if (fits) { return {}; }
  return fail(Code::Conflict, "manifest check failed: " + fits.error().message);
}

}  // namespace

std::string defaultFolder(kcache::CacheType type, const Environment& environment) {
  const bool is_triton = type == kcache::CacheType::Triton;
  const auto named = environment("TRITON_CACHE_DIR");
  if (is_triton && named && !named->empty()) { return *named; }
  const auto home = environment("HOME");
  return (home && !home->empty() ? *home : "/tmp") + (is_triton ? "/.triton/cache" : "/.cache/vllm");
}

Result<Extracted> extract(cacherim::ImageSource& source, const kcache::Reference& reference,
                          const cacherim::Image& image, const Extraction& how) {
  auto root = asRoot(how.root.empty() ? how.folder : how.root);
  if (!root) { return tl::unexpected(root.error()); }
  auto fresh = cacherim::FreshFolder::towards(how.folder);
  if (!fresh) { return tl::unexpected(fresh.error()); }
  cacherim::FolderWriter writer{fresh->get(), std::move(*root)};
  if (const Status read = cacherim::readImage(source, reference, image, {}, writer); !read) {
    return tl::unexpected(read.error());
  }
  if (writer.files() == 0) { return fail(Code::Invalid, "the image has no files of a cache in it"); }
  if (how.gpus) {
    if (const Status fits = checkManifest(writer.manifest(), *how.gpus); !fits) {
      return tl::unexpected(fits.error());
    }
  }
  if (const Status published = fresh->publish(); !published) { return tl::unexpected(published.error()); }
  return Extracted{writer.files(), writer.bytes()};
}

}  // namespace gs::mcv
