#include "apiserver/present/discovery.h"

#include <algorithm>
#include <set>

namespace gs::apiserver {
namespace {

using json::Array;
using json::Object;
using json::Value;

constexpr const char* kAggregatedV2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
constexpr const char* kAggregatedBeta =
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";

template <class Texts>
Array textArray(const Texts& texts) {
  Array out;
  for (const auto& text : texts) { out.emplace_back(std::string_view{text}); }
  return out;
}

Value kindValue(const Resource& r) {
  return Object{{"group", r.group}, {"version", r.version}, {"kind", r.kind}};
}

Value subKindValue(const Resource& r, const Subresource& sub) {
  if (sub.kind.empty()) { return kindValue(r); }
  return Object{{"group", sub.group}, {"version", sub.version}, {"kind", sub.kind}};
}

Value aggregatedResource(const Resource& r) {
  Value out = Object{{"resource", r.plural},
                     {"responseKind", kindValue(r)},
                     {"scope", r.namespaced ? "Namespaced" : "Cluster"},
                     {"singularResource", r.singular},
                     {"verbs", textArray(verbsOf(r))}};
  if (!r.short_names.empty()) { out.set("shortNames", textArray(r.short_names)); }
  if (!r.categories.empty()) { out.set("categories", textArray(r.categories)); }
  Array subs;
  for (const Subresource& sub : subresourcesOf(r)) {
    subs.emplace_back(Object{
        {"subresource", sub.name}, {"responseKind", subKindValue(r, sub)}, {"verbs", textArray(sub.verbs)}});
  }
  if (!subs.empty()) { out.set("subresources", std::move(subs)); }
  return out;
}

/// Each group with the versions that it is served in.
std::map<std::string, std::set<std::string>> groupsOf(const Resources& resources) {
  std::map<std::string, std::set<std::string>> out;
  for (const auto& [key, r] : resources.all()) { out[r.group].insert(r.version); }
  return out;
}

Value aggregatedGroup(const Resources& resources, const std::string& group,
                      const std::set<std::string>& versions) {
  Array made;
  for (const auto& version : versions) {
    Array list;
    for (const auto& [key, r] : resources.all()) {
      if (r.group == group && r.version == version) { list.push_back(aggregatedResource(r)); }
    }
    made.emplace_back(Object{{"version", version}, {"resources", std::move(list)}, {"freshness", "Current"}});
  }
  Object meta;
  if (!group.empty()) { meta["name"] = group; }
  return Object{{"metadata", std::move(meta)}, {"versions", std::move(made)}};
}

Discovered aggregated(const Resources& resources, bool core, const std::string& version) {
  Array items;
  for (const auto& [group, versions] : groupsOf(resources)) {
    if (group.empty() == core) { items.push_back(aggregatedGroup(resources, group, versions)); }
  }
  return {Object{{"kind", "APIGroupDiscoveryList"},
                 {"apiVersion", "apidiscovery.k8s.io/" + version},
                 {"metadata", Object{}},
                 {"items", std::move(items)}},
          version == "v2" ? kAggregatedV2 : kAggregatedBeta};
}

Value groupValue(const std::string& group, const std::set<std::string>& versions) {
  const auto form = [&](const std::string& version) {
    return Value{Object{{"groupVersion", group + "/" + version}, {"version", version}}};
  };
  Array all;
  for (const auto& version : versions) { all.push_back(form(version)); }
  return Object{{"name", group}, {"versions", std::move(all)}, {"preferredVersion", form(*versions.begin())}};
}

Value groupList(const Resources& resources) {
  Array groups;
  for (const auto& [group, versions] : groupsOf(resources)) {
    if (!group.empty()) { groups.push_back(groupValue(group, versions)); }
  }
  return Object{{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", std::move(groups)}};
}

Value legacyResource(const Resource& r) {
  Value out = Object{{"name", r.plural},
                     {"singularName", r.singular},
                     {"namespaced", r.namespaced},
                     {"kind", r.kind},
                     {"verbs", textArray(verbsOf(r))}};
  if (!r.short_names.empty()) { out.set("shortNames", textArray(r.short_names)); }
  if (!r.categories.empty()) { out.set("categories", textArray(r.categories)); }
  return out;
}

Value legacySubresource(const Resource& r, const Subresource& sub) {
  Value out = Object{
      {"name", r.plural + "/" + std::string{sub.name}}, {"singularName", ""}, {"namespaced", r.namespaced}};
  if (!sub.kind.empty() && sub.group != r.group) {
    out.set("group", sub.group);
    out.set("version", sub.version);
  }
  out.set("kind", sub.kind.empty() ? std::string_view{r.kind} : sub.kind);
  out.set("verbs", textArray(sub.verbs));
  return out;
}

std::optional<Value> resourceList(const Resources& resources, std::string_view group_version) {
  Array list;
  for (const auto& [key, r] : resources.all()) {
    if (r.apiVersion() != group_version) { continue; }
    list.push_back(legacyResource(r));
    for (const Subresource& sub : subresourcesOf(r)) { list.push_back(legacySubresource(r, sub)); }
  }
  if (list.empty()) { return std::nullopt; }
  return Object{{"kind", "APIResourceList"},
                {"apiVersion", "v1"},
                {"groupVersion", group_version},
                {"resources", std::move(list)}};
}

}  // namespace

std::vector<std::string_view> verbsOf(const Resource& r) {
  if (r.create_only) { return {"create"}; }
  if (r.custom) {
    return {"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"};
  }
  if (r.is("/namespaces")) { return {"create", "delete", "get", "list", "patch", "update", "watch"}; }
  return {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"};
}

std::vector<Subresource> subresourcesOf(const Resource& r) {
  std::vector<Subresource> out;
  if (r.is("/pods")) {
    out.push_back({"binding", "", "v1", "Binding", {"create"}});
    out.push_back({"eviction", "policy", "v1", "Eviction", {"create"}});
    out.push_back({"log", "", "v1", "Pod", {"get"}});
  }
  if (r.scales && !r.custom) {
    out.push_back({"scale", "autoscaling", "v1", "Scale", {"get", "patch", "update"}});
  }
  if (r.has_status) { out.push_back({"status", "", "", "", {"get", "patch", "update"}}); }
  return out;
}

std::vector<std::string> groupVersions(const Resources& resources) {
  std::set<std::string> out;
  for (const auto& [key, r] : resources.all()) { out.insert(r.apiVersion()); }
  return {out.begin(), out.end()};
}

std::optional<Discovered> discover(const Resources& resources, std::string_view path,
                                   const std::vector<MediaRange>& accept) {
  while (path.size() > 1 && path.back() == '/') { path.remove_suffix(1); }
  if (path == "/api" || path == "/apis") {
    for (const MediaRange& range : accept) {
      const bool lists = range.as == "APIGroupDiscoveryList" && range.group == "apidiscovery.k8s.io";
      if (lists && (range.version == "v2" || range.version == "v2beta1")) {
        return aggregated(resources, path == "/api", range.version);
      }
      if (range.as.empty() && range.type.starts_with("application/json")) { break; }
    }
    if (path == "/apis") { return Discovered{groupList(resources)}; }
    return Discovered{Object{
        {"kind", "APIVersions"}, {"versions", Array{Value{"v1"}}}, {"serverAddressByClientCIDRs", Array{}}}};
  }
  std::optional<Value> found;
  if (path.starts_with("/api/")) {
    found = resourceList(resources, path.substr(5));
  } else if (path.starts_with("/apis/")) {
    const auto rest = path.substr(6);
    if (rest.find('/') != std::string_view::npos) {
      found = resourceList(resources, rest);
    } else if (const auto groups = groupsOf(resources); !rest.empty() && groups.contains(std::string{rest})) {
      Value group = groupValue(std::string{rest}, groups.at(std::string{rest}));
      group.set("kind", "APIGroup");
      group.set("apiVersion", "v1");
      found = std::move(group);
    }
  }
  if (!found) { return std::nullopt; }
  return Discovered{*std::move(found)};
}

}  // namespace gs::apiserver
