#include "kcache/kinds/claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/dns_name.h"
#include "base/short_name.h"

namespace gs::kcache {
namespace {

using json::View;

constexpr std::string_view kOfNamespace = "gkmcache/";
constexpr std::string_view kOfCluster = "clustergkmcache/";
constexpr const char* kOurMode = "ReadOnlyMany";
constexpr std::size_t kMostModes = 16;

bool isThere(const View& spec, const char* field) {
  const View v = spec[field];
  return v.isObject() || !v.items().empty() || !v.str().empty();
}

std::vector<std::string> namespacesIn(const View& spec) {
  std::vector<std::string> out;
  for (const View one : spec["workloadNamespaces"].items()) {
    if (out.size() == ClaimWish::kMostNamespaces) { break; }
    if (isDnsLabel(one.str())) { out.emplace_back(one.str()); }
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::vector<std::string> unusedIn(const View& spec, bool is_of_cluster) {
  std::vector<std::string> out;
  std::size_t modes = 0;
  for (const View mode : spec["accessModes"].items()) {
    if (++modes > kMostModes) { break; }
    if (mode.str() != kOurMode) {
      out.emplace_back("accessModes other than ReadOnlyMany");
      break;
    }
  }
  for (const char* field : {"podTemplate", "storageClassName"}) {
    if (isThere(spec, field)) { out.emplace_back(field); }
  }
  if (!is_of_cluster && isThere(spec, "workloadNamespaces")) { out.emplace_back("workloadNamespaces"); }
  return out;
}

constexpr std::array kRemarkNames{"ClaimsReady", "FieldsUnused"};

}  // namespace

ClaimWish claimWishIn(const View& spec, bool is_of_cluster) {
  ClaimWish out;
  constexpr std::array kFields{"accessModes", "podTemplate", "storageClassName", "workloadNamespaces"};
  const bool has_any =
      std::any_of(kFields.begin(), kFields.end(), [&](const char* field) { return isThere(spec, field); });
  out.is_wanted = spec["pvc"].boolOr(has_any);
  if (is_of_cluster) { out.namespaces = namespacesIn(spec); }
  out.unused = unusedIn(spec, is_of_cluster);
  return out;
}

std::string volumeHandle(const model::ObjectKey& cache, std::string_view ns) {
  return cache.ns.empty() ? fmt::format("{}{}/{}", kOfCluster, cache.name, ns)
                          : fmt::format("{}{}/{}", kOfNamespace, cache.ns, cache.name);
}

std::optional<VolumeOf> parseVolumeHandle(std::string_view handle) {
  const bool is_of_cluster = handle.starts_with(kOfCluster);
  if (!is_of_cluster && !handle.starts_with(kOfNamespace)) { return std::nullopt; }
  handle.remove_prefix((is_of_cluster ? kOfCluster : kOfNamespace).size());
  const std::size_t slash = handle.find('/');
  if (slash == std::string_view::npos) { return std::nullopt; }
  const std::string_view first = handle.substr(0, slash);
  const std::string_view second = handle.substr(slash + 1);
  const std::string_view ns = is_of_cluster ? second : first;
  const std::string_view name = is_of_cluster ? first : second;
  if (!isDnsLabel(ns) || !isDnsSubdomain(name)) { return std::nullopt; }
  return VolumeOf{{is_of_cluster ? "" : std::string{ns}, std::string{name}}, std::string{ns}};
}

std::string volumeName(std::string_view handle) {
  std::string readable{handle};
  std::replace(readable.begin(), readable.end(), '/', '-');
  constexpr std::size_t kDigits = 16;
  return fmt::format("{}-{}", beginningOf(readable, kMostOfAName - 1 - kDigits), hashOf(handle, kDigits));
}

const char* nameOf(Remark::Kind kind) { return kRemarkNames.at(static_cast<std::size_t>(kind)); }

std::optional<Remark::Kind> remarkNamed(std::string_view type) {
  for (std::size_t at = 0; at < kRemarkNames.size(); ++at) {
    if (type == kRemarkNames.at(at)) { return static_cast<Remark::Kind>(at); }
  }
  return std::nullopt;
}

}  // namespace gs::kcache
