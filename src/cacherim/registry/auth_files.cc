#include "cacherim/registry/auth_files.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/files.h"
#include "base/log.h"

namespace gs::cacherim {
namespace {

struct AuthFile {
  std::string path;
  bool is_named;  // by somebody: it has to be there
};

std::string valueOf(const Environment& environment, const char* name) {
  return environment(name).value_or("");
}

std::vector<AuthFile> authFiles(const std::string& named, const Environment& environment) {
  if (!named.empty()) { return {{named, true}}; }
  if (auto said = valueOf(environment, "REGISTRY_AUTH_FILE"); !said.empty()) {
    return {{std::move(said), true}};
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

Status addCredentials(const AuthFile& file, Credentials& out) {
  const auto text = readFile(file.path);
  if (!text && text.error().code == Code::NotFound && !file.is_named) { return {}; }
  if (!text && !file.is_named) {  // another user's, perhaps: what is public is there without it
    log::warn("credentials are left out", {{"why", text.error().message}});
    return {};
  }
  if (!text) { return tl::unexpected(text.error()); }
  const auto found = Credentials::parseDockerConfig(*text);
  if (!found) { return fail(found.error().code, fmt::format("{}: {}", file.path, found.error().message)); }
  if (found->helpers()) {
    log::warn("the file names programs that keep credentials; they are not asked", {{"file", file.path}});
  }
  out.add(*found);
  return {};
}

}  // namespace

Result<Credentials> readAuthFiles(const std::string& authfile, const Environment& environment) {
  Credentials out;
  for (const AuthFile& file : authFiles(authfile, environment)) {
    if (const Status added = addCredentials(file, out); !added) { return tl::unexpected(added.error()); }
  }
  return out;
}

}  // namespace gs::cacherim
