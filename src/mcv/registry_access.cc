#include "mcv/registry_access.h"

#include <fmt/format.h>

#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/files.h"
#include "base/log.h"

namespace gs::mcv {
namespace {

struct AuthFile {
  std::string path;
  bool is_named;  // by somebody: it has to be there
};

std::string valueOf(const Environment& environment, const char* name) {
  return environment(name).value_or("");
}

std::vector<AuthFile> authFiles(const Options& options, const Environment& environment) {
  if (!options.authfile.empty()) { return {{options.authfile, true}}; }
  if (auto named = valueOf(environment, "REGISTRY_AUTH_FILE"); !named.empty()) {
    return {{std::move(named), true}};
  }
  std::vector<AuthFile> out;
  if (const auto runtime = valueOf(environment, "XDG_RUNTIME_DIR"); !runtime.empty()) {
    out.push_back({runtime + "/containers/auth.json", false});
  }
  if (const auto docker = valueOf(environment, "DOCKER_CONFIG"); !docker.empty()) {
    out.push_back({docker + "/config.json", false});
  } else if (const auto home = valueOf(environment, "HOME"); !home.empty()) {
    out.push_back({home + "/.docker/config.json", false});
  }
  return out;
}

Status addCredentials(const AuthFile& file, cacherim::Credentials& out) {
  const auto text = readFile(file.path);
  if (!text && text.error().code == Code::NotFound && !file.is_named) { return {}; }
  if (!text && !file.is_named) {  // another user's, perhaps: what is public is there without it
    log::warn("credentials are left out", {{"why", text.error().message}});
    return {};
  }
  if (!text) { return tl::unexpected(text.error()); }
  const auto found = cacherim::Credentials::parseDockerConfig(*text);
  if (!found) { return fail(found.error().code, fmt::format("{}: {}", file.path, found.error().message)); }
  if (found->helpers()) {
    log::warn("the file names programs that keep credentials; they are not asked", {{"file", file.path}});
  }
  out.add(*found);
  return {};
}

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
  if (options.plain_http) { out.plain_http.insert(image.registry); }
  for (const AuthFile& file : authFiles(options, environment)) {
    if (const Status added = addCredentials(file, out.credentials); !added) {
      return tl::unexpected(added.error());
    }
  }
  return out;
}

Status push(cacherim::OciLayout& from, const kcache::Digest& digest, const kcache::Reference& name,
            cacherim::RegistryWriter& to) {
  const auto fetched = from.manifest({name.registry, name.repository, "", digest});
  if (!fetched) { return tl::unexpected(fetched.error()); }
  const auto any = kcache::parseManifest(fetched->text, fetched->media_type);
  if (!any) { return tl::unexpected(any.error()); }
  const auto* manifest = std::get_if<kcache::Manifest>(&*any);
  if (manifest == nullptr) { return fail(Code::Invalid, digest.text() + " is an index, and no image"); }
  std::vector<kcache::Descriptor> blobs = manifest->layers;
  blobs.push_back(manifest->config);
  for (const kcache::Descriptor& blob : blobs) {
    if (Status sent = to.blob(name, blob, reader(from.pathOf(blob.digest)), ""); !sent) { return sent; }
  }
  return to.manifest(name, manifest->media_type, fetched->text);
}

}  // namespace gs::mcv
