#include "kapi/quota.h"

#include <fmt/core.h>

#include "base/ascii.h"
#include "json/value.h"

namespace gs::kapi {
namespace {

using json::View;

constexpr std::size_t kShown = 60;  // bytes of a value in a message
/// Of one namespace. Each of its pods is compared with all of them.
constexpr std::size_t kMostModels = 256;
constexpr std::size_t kMostPools = 256;

tl::unexpected<Error> wrong(std::string where, const View& value, std::string_view fix) {
  std::string shown = json::print(value.value());
  if (shown.size() > kShown) { shown = shown.substr(0, kShown) + "..."; }
  return fail(Code::Invalid, fmt::format("{} is {}: {}", where, shown, fix));
}

Status readGpus(const std::string& where, const View& v, model::Quota& quota) {
  if (!v.isNull() && !v.isObject()) {
    return wrong(where, v, "write the number of GPUs of each model: {\"V100\": 4}");
  }
  if (v.members().size() > kMostModels) {
    return wrong(where, v, fmt::format("write at most {} models", kMostModels));
  }
  for (const auto& [model, number] : v.members()) {
    const auto gpus = number.integer();
    if (!gpus && !number.isNull()) {
      return wrong(fmt::format("{}.{}", where, model), number, "write a whole number of GPUs");
    }
    quota.gpus[std::string{model}] = gpus.value_or(0);
  }
  return {};
}

Status readPools(const std::string& where, const View& v, model::Quota& quota) {
  if (!v.isNull() && !v.isArray()) { return wrong(where, v, "write a list of names: [\"public\"]"); }
  if (v.items().size() > kMostPools) {
    return wrong(where, v, fmt::format("write at most {} pools", kMostPools));
  }
  for (const View pool : v.items()) {
    if (!pool.isString()) { return wrong(where, v, "write names of pools only: [\"public\"]"); }
    quota.pools.emplace(pool.str());
  }
  return {};
}

Result<model::Quota> readQuota(std::string_view ns, const View& v) {
  model::Quota quota;
  if (!v.isNull() && !v.isObject()) {
    return wrong(fmt::format("{}.{}", kQuotaKey, ns), v, "write {\"quota\": {...}, \"pool\": [...]}");
  }
  for (const auto& [key, value] : v.members()) {
    const std::string where = fmt::format("{}.{}.{}", kQuotaKey, ns, key);
    Status read;
    if (equalInAnyCase(key, "quota")) { read = readGpus(where, value, quota); }
    if (equalInAnyCase(key, "pool")) { read = readPools(where, value, quota); }
    if (!read) { return tl::unexpected(read.error()); }
  }
  return quota;
}

}  // namespace

Result<model::Quotas> readQuotas(const View& table) {
  if (!table.isObject()) {
    return wrong(std::string{kQuotaKey}, table, "write an object with a member for each namespace");
  }
  model::Quotas quotas;
  for (const auto& [ns, quota] : table.members()) {
    auto read = readQuota(ns, quota);
    if (!read) { return tl::unexpected(read.error()); }
    quotas[std::string{ns}] = *std::move(read);
  }
  return quotas;
}

Result<model::Quotas> parseQuotas(std::string_view text) {
  const auto read = json::Document::read(text);
  if (!read) {
    return fail(read.error().code, fmt::format("{} is not JSON: {}", kQuotaKey, read.error().message));
  }
  return readQuotas(read->root());
}

}  // namespace gs::kapi
