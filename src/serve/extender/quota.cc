#include "serve/extender/quota.h"

#include <fmt/format.h>

#include "base/files.h"
#include "kapi/quota_file.h"

namespace gs::serve {

Result<model::QuotaConfig> readQuotaConfig(const std::string& path) {
  if (path.empty()) { return model::QuotaConfig{}; }
  const auto text = readFile(path);
  auto config = text ? kapi::readQuotaFile(*text) : tl::unexpected(text.error());
  if (config) { return config; }
  return fail(Code::Invalid,
              fmt::format("invalid GPUFilter config in file {}: {}", path, config.error().message));
}

std::string quotaSource(const model::QuotaConfig& config, const std::string& path) {
  if (!config.on()) { return "none"; }
  return fmt::format("ConfigMap {}/{}, of {}{}", config.map.ns, config.map.name, path,
                     config.if_forbidden.empty() ? "" : "; what that file has while it may not be read");
}

}  // namespace gs::serve
