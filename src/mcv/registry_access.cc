#include "mcv/registry_access.h"

#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cacherim/registry/auth_files.h"
#include "cacherim/registry/mirrors.h"

namespace gs::mcv {
namespace {

/// Read from its beginning each time.
cacherim::OpenBlob reader(std::string path) {
  return [path = std::move(path)] {
    return [in = std::make_shared<std::ifstream>(path, std::ios::binary)](char* to, std::size_t room) {
      in->read(to, static_cast<std::streamsize>(room));
      return static_cast<std::size_t>(in->gcount());
    };
  };
}

}  // namespace

Result<cacherim::RegistryOptions> registryOptions(const Options& options, const kcache::Reference& image,
                                                  const Environment& environment) {
  cacherim::RegistryOptions out;
  out.ca_file = options.ca_file;
  auto mirrors = cacherim::parseMirrors("--registry-mirror", options.mirrors);
  if (!mirrors) { return tl::unexpected(std::move(mirrors).error()); }
  out.mirrors = *std::move(mirrors);
  if (options.plain_http) { out.plain_http.insert(image.registry); }
  auto credentials = cacherim::readAuthFiles(options.authfile, environment);
  if (!credentials) { return tl::unexpected(std::move(credentials).error()); }
  out.credentials = *std::move(credentials);
  return out;
}

Status push(cacherim::OciLayout& from, const kcache::Digest& digest, const kcache::Reference& name,
            cacherim::RegistryWriter& to, Progress& progress) {
  const auto fetched = from.manifest({name.registry, name.repository, "", digest});
  if (!fetched) { return tl::unexpected(fetched.error()); }
  const auto any = kcache::parseManifest(fetched->text, fetched->media_type);
  if (!any) { return tl::unexpected(any.error()); }
  const auto* manifest = std::get_if<kcache::Manifest>(&*any);
  if (manifest == nullptr) { return fail(Code::Invalid, digest.text() + " is an index, and no image"); }
  std::vector<kcache::Descriptor> blobs = manifest->layers;
  blobs.push_back(manifest->config);
  std::int64_t total = 0;
  for (const kcache::Descriptor& blob : blobs) { total += blob.size; }
  progress.begin("pushing", total);
  for (const kcache::Descriptor& blob : blobs) {
    const cacherim::OpenBlob open = [&, file = reader(from.pathOf(blob.digest))] {
      return [&progress, read = file()](char* to_here, std::size_t room) {
        const std::size_t put = read(to_here, room);
        progress.add(put);
        return put;
      };
    };
    if (Status sent = to.blob(name, blob, open, ""); !sent) { return sent; }
  }
  progress.end();
  return to.manifest(name, manifest->media_type, fetched->text);
}

}  // namespace gs::mcv
