#include "kapi/paths.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "base/check.h"
#include "base/percent.h"

namespace gs::kapi {
namespace {

using model::Kind;

// In the order of model::Kind.
constexpr KindInfo kKindTable[model::kKinds] = {
    {Kind::Pod, "", "v1", "pods", "Pod", true},
    {Kind::Node, "", "v1", "nodes", "Node", false},
    {Kind::GpuClaim, "gpu.scheduling", "v1", "gpuclaims", "GpuClaim", true},
    {Kind::GpuNodeStatus, "gpu.scheduling", "v1", "gpunodestatuses", "GpuNodeStatus", false},
    {Kind::Lease, "coordination.k8s.io", "v1", "leases", "Lease", true},
    {Kind::Crd, "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", false},
    {Kind::Event, "events.k8s.io", "v1", "events", "Event", true},
    {Kind::ConfigMap, "", "v1", "configmaps", "ConfigMap", true},
};

std::string path(Kind kind, const std::string& ns, const std::string& name, const std::string& subresource) {
  const KindInfo& info = kindInfo(kind);
  std::string out = info.group[0] == '\0' ? fmt::format("/api/{}", info.version)
                                          : fmt::format("/apis/{}/{}", info.group, info.version);
  if (info.namespaced && !ns.empty()) { out += "/namespaces/" + percentEncode(ns); }
  out += '/';
  out += info.resource;
  if (!name.empty()) { out += "/" + percentEncode(name); }
  if (!name.empty() && !subresource.empty()) { out += "/" + percentEncode(subresource); }
  return out;
}

std::string withQuery(const std::string& path, const std::string& query) {
  return query.empty() ? path : path + "?" + query;
}

}  // namespace

const KindInfo& kindInfo(Kind kind) {
  const auto i = static_cast<std::size_t>(kind);
  GS_CHECK(i < std::size(kKindTable) && kKindTable[i].kind == kind, "kind {} is not in the table", i);
  return kKindTable[i];
}

bool mayBeAbsent(model::Kind kind) { return kindInfo(kind).group == std::string_view{"gpu.scheduling"}; }

std::string apiVersion(Kind kind) {
  const KindInfo& info = kindInfo(kind);
  return info.group[0] == '\0' ? info.version : fmt::format("{}/{}", info.group, info.version);
}

std::string target(const Call& call) {
  const bool to_collection =
      call.verb == Verb::List || (call.verb == Verb::Create && call.subresource.empty());
  return withQuery(
      path(call.kind, call.key.ns, to_collection ? std::string{} : call.key.name, call.subresource),
      call.query);
}

std::string target(const OpenWatch& watch) {
  return withQuery(path(watch.kind, watch.ns, {}, {}),
                   watch.query.empty() ? "watch=true" : "watch=true&" + watch.query);
}

const char* httpMethod(Verb verb) {
  switch (verb) {
    case Verb::Get:
    case Verb::List: return "GET";
    case Verb::Create: return "POST";
    case Verb::Update: return "PUT";
    case Verb::MergePatch:
    case Verb::StrategicPatch:
    case Verb::Apply: return "PATCH";
    case Verb::Delete: return "DELETE";
  }
  return "GET";
}

const char* contentType(Verb verb) {
  switch (verb) {
    case Verb::MergePatch: return "application/merge-patch+json";
    case Verb::StrategicPatch: return "application/strategic-merge-patch+json";
    case Verb::Apply: return "application/apply-patch+yaml";
    default: return "application/json";
  }
}

std::optional<std::chrono::seconds> timeoutOf(std::string_view query) {
  constexpr std::string_view kKey = "timeoutSeconds=";
  while (!query.empty()) {
    const std::string_view part = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(part.size() + 1, query.size()));
    if (!part.starts_with(kKey)) { continue; }
    const std::string_view digits = part.substr(kKey.size());
    std::int64_t seconds = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), seconds);
    if (error != std::errc{} || end != digits.data() + digits.size() || seconds <= 0) { return std::nullopt; }
    return std::chrono::seconds{std::min<std::int64_t>(seconds, kLongestTimeout.count())};
  }
  return std::nullopt;
}

}  // namespace gs::kapi
