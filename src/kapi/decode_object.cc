#include <fmt/core.h>

#include <charconv>

#include "base/check.h"
#include "kapi/decode.h"
#include "kapi/fields.h"
#include "kapi/quota.h"
#include "model/annotations.h"

namespace gs::kapi {
namespace {

using model::Object;

template <class T>
model::ObjectKey keyOfValue(const T& o) {
  if constexpr (requires { o.key; }) {
    return o.key;
  } else if constexpr (requires { o.node; }) {
    return {"", o.node.text};  // GpuNodeStatus
  } else if constexpr (requires { o.name.text; }) {
    return {"", o.name.text};  // Node
  } else {
    return {"", o.name};  // Crd
  }
}

}  // namespace

model::Crd decodeCrd(const json::View& v) {
  model::Crd crd;
  crd.name = objectKey(v).name;
  crd.uid = uidField(v);
  crd.revision = objectRevision(v);
  crd.lease_namespace = text(v["metadata"]["annotations"][model::kLeaseNamespaceKey]);
  crd.lease_scheduler = text(v["metadata"]["annotations"][model::kLeaseSchedulerKey]);
  crd.lease_term = text(v["metadata"]["annotations"][model::kLeaseTermKey]);
  return crd;
}

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

Object decodeObject(model::Kind kind, const json::View& v) {
  if (!v.isObject()) { return {}; }
  switch (kind) {
    case model::Kind::Pod: return std::make_shared<const model::Pod>(decodePod(v));
    case model::Kind::Node: return std::make_shared<const model::Node>(decodeNode(v));
    case model::Kind::GpuClaim: return std::make_shared<const model::GpuClaim>(decodeClaim(v));
    case model::Kind::GpuNodeStatus:
      return std::make_shared<const model::GpuNodeStatus>(decodeGpuNodeStatus(v));
    case model::Kind::Lease: return std::make_shared<const model::Lease>(decodeLease(v));
    case model::Kind::Crd: return std::make_shared<const model::Crd>(decodeCrd(v));
    case model::Kind::ConfigMap: return std::make_shared<const model::QuotaMap>(decodeQuotaMap(v));
    case model::Kind::Event: break;
  }
  return {};
}

model::ObjectKey objectKey(const json::View& v) {
  const json::View meta = v["metadata"];
  return {text(meta["namespace"]), text(meta["name"])};
}

model::Revision objectRevision(const json::View& v) {
  const std::string_view s = v["metadata"]["resourceVersion"].str();
  model::Revision revision = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), revision);
  return error == std::errc{} && end == s.data() + s.size() ? revision : 0;
}

model::ObjectKey keyOf(const Object& o) {
  return std::visit(
      [](const auto& p) -> model::ObjectKey {
        if constexpr (std::is_same_v<std::decay_t<decltype(p)>, std::monostate>) {
          return {};
        } else {
          return keyOfValue(*p);
        }
      },
      o);
}

const model::Uid& uidOf(const Object& o) {
  return std::visit(
      [](const auto& p) -> const model::Uid& {
        if constexpr (std::is_same_v<std::decay_t<decltype(p)>, std::monostate>) {
          GS_CHECK(false, "uidOf nothing");
          static const model::Uid none;
          return none;
        } else {
          return p->uid;
        }
      },
      o);
}

model::Revision revisionOf(const Object& o) {
  return std::visit(
      [](const auto& p) -> model::Revision {
        if constexpr (std::is_same_v<std::decay_t<decltype(p)>, std::monostate>) {
          return 0;
        } else {
          return p->revision;
        }
      },
      o);
}

}  // namespace gs::kapi
