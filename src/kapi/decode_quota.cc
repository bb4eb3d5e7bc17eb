#include <fmt/core.h>

#include "kapi/decode.h"
#include "kapi/fields.h"
#include "kapi/kinds.h"
#include "kapi/quota.h"

namespace gs::kapi {
namespace {

constexpr KindInfo kQuotaMapInfo{"", "v1", "configmaps", "ConfigMap", true, decodedBy<decodeQuotaMap>};

}  // namespace

constinit const Kind kQuotaMap{kQuotaMapInfo};

model::QuotaMap decodeQuotaMap(const json::View& v) {
  model::QuotaMap map{objectKey(v), uidField(v), objectRevision(v), {}, {}};
  const auto written = v["data"].find(kQuotaKey);
  Result<model::Quotas> quotas = fail(Code::Invalid, fmt::format("key {} not found", kQuotaKey));
  if (written && written->isString()) { quotas = parseQuotas(written->str()); }
  if (quotas) {
    map.quotas = *std::move(quotas);
  } else {
    map.malformed = quotas.error().message;
  }
  return map;
}

}  // namespace gs::kapi
