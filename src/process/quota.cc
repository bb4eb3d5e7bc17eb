#include "process/quota.h"

#include <fmt/format.h>

#include "k8s/files.h"
#include "kapi/quota_file.h"

namespace gs::process {

Result<model::QuotaConfig> readQuotaConfig(const std::string& path) {
  if (path.empty()) { return model::QuotaConfig{}; }
  const auto text = k8s::readFile(path);
  auto config = text ? kapi::readQuotaFile(*text) : tl::unexpected(text.error());
  if (config) { return config; }
  return fail(Code::Invalid,
              fmt::format("invalid GPUFilter config in file {}: {}", path, config.error().message));
}

}  // namespace gs::process
