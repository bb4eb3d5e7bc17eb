#include "kapi/quota_file.h"

#include <fmt/format.h>

#include "base/ascii.h"
#include "json/document.h"
#include "kapi/quota.h"

namespace gs::kapi {
namespace {

constexpr const char* kWithoutMeaning =
    "SkipBindTime";  // the ancestor slept so long before it looked at quotas
constexpr const char* kKeys =
    "QuotaConfigMapName, QuotaConfigMapNamespace, GPUModelLabel, GPUPoolLabel, gpu_quota and SkipBindTime";

/// A text that may be left out.
Status readText(std::string_view key, const json::View& value, std::string& into) {
  if (value.isNull()) { return {}; }
  if (!value.isString()) { return fail(Code::Invalid, fmt::format("{} is not a text", key)); }
  if (!value.str().empty()) { into = value.str(); }
  return {};
}

}  // namespace

Result<model::QuotaConfig> readQuotaFile(std::string_view text) {
  const auto read = json::Document::read(text);
  if (!read) { return tl::unexpected(read.error()); }
  if (!read->root().isObject()) { return fail(Code::Invalid, "it is not a JSON object"); }
  model::QuotaConfig file{{"kube-system", "gpuquota"}, {"", ""}, {}};
  for (const auto& [key, value] : read->root().members()) {
    Status known = fail(Code::Invalid, fmt::format("{} is no key of it: those are {}", key, kKeys));
    if (equalInAnyCase(key, "QuotaConfigMapName")) { known = readText(key, value, file.map.name); }
    if (equalInAnyCase(key, "QuotaConfigMapNamespace")) { known = readText(key, value, file.map.ns); }
    if (equalInAnyCase(key, "GPUModelLabel")) { known = readText(key, value, file.labels.model); }
    if (equalInAnyCase(key, "GPUPoolLabel")) { known = readText(key, value, file.labels.pool); }
    if (equalInAnyCase(key, kWithoutMeaning)) { known = {}; }
    if (equalInAnyCase(key, kQuotaKey)) {
      auto quotas = readQuotas(value);
      if (!quotas) { return tl::unexpected(quotas.error()); }
      file.if_forbidden = *std::move(quotas);
      known = {};
    }
    if (!known) { return tl::unexpected(known.error()); }
  }
  if (file.labels.model.empty() || file.labels.pool.empty()) {
    return fail(Code::Invalid,
                "GPUModelLabel or GPUPoolLabel config not found; the ancestor's are "
                "gaia.tencent.com/gpu-model and gaia.tencent.com/gpu-pool");
  }
  return file;
}

}  // namespace gs::kapi
