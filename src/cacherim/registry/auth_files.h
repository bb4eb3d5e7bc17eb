// Where docker, podman and skopeo keep who to be at which registry.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "cacherim/registry/credentials.h"

namespace gs::cacherim {

/// A variable of the environment.
using Environment = std::function<std::optional<std::string>(const char* name)>;

/// Credentials of `authfile`, or "", of REGISTRY_AUTH_FILE, or else of all of these that are there:
/// $XDG_RUNTIME_DIR/containers/auth.json, $DOCKER_CONFIG/config.json or ~/.docker/config.json. One of the
/// latter that may not be read is left out, with a line of log. Errors: a file that was named is not there;
/// what one holds cannot be read.
[[nodiscard]] Result<Credentials> readAuthFiles(const std::string& authfile, const Environment& environment);

}  // namespace gs::cacherim
