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

/// Without blanks around it, as Triton reads it; "": not set.
std::string variable(const Environment& environment, const char* name) {
  constexpr const char* kBlanks = " \t\r\n";
  const std::string text = environment(name).value_or("");
  const std::size_t from = text.find_first_not_of(kBlanks);
  return from == std::string::npos ? "" : text.substr(from, text.find_last_not_of(kBlanks) + 1 - from);
}

std::string homeFolder(const Environment& environment) {
  std::string home = variable(environment, "HOME");
  return home.empty() ? "/tmp" : home;
}

std::string tritonFolder(const Environment& environment) {
  if (std::string named = variable(environment, "TRITON_CACHE_DIR"); !named.empty()) { return named; }
  const std::string home = variable(environment, "TRITON_HOME");
  return (home.empty() ? homeFolder(environment) : home) + "/.triton/cache";
}

std::string vllmFolder(const Environment& environment) {
  const std::string home = homeFolder(environment);
  std::string out = variable(environment, "VLLM_CACHE_ROOT");
  if (out.empty()) {
    const std::string caches = variable(environment, "XDG_CACHE_HOME");
    out = (caches.empty() ? home + "/.cache" : caches) + "/vllm";
  }
  return out == "~" || out.starts_with("~/") ? home + out.substr(1) : out;
}

}  // namespace

std::string defaultFolder(kcache::CacheType type, const Environment& environment) {
  return type == kcache::CacheType::Triton ? tritonFolder(environment) : vllmFolder(environment);
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
