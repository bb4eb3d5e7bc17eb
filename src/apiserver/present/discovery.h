// What the API server says that it serves: /api, /apis and below, aggregated (APIGroupDiscoveryList)
// or legacy. Pure.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "apiserver/registry/resources.h"
#include "apiserver/wire/media.h"
#include "json/value.h"

namespace gs::apiserver {

struct Discovered {
  json::Value body;
  const char* content_type = "application/json";
};

/// `path` is one of /api, /apis, /api/v1, /apis/<group>, /apis/<group>/<version>; nullopt: another path,
/// or not served.
[[nodiscard]] std::optional<Discovered> discover(const Resources& resources, std::string_view path,
                                                 const std::vector<MediaRange>& accept);

/// What may be done with a resource, in the order in which it is listed.
[[nodiscard]] std::vector<std::string_view> verbsOf(const Resource& resource);

struct Subresource {
  std::string_view name;
  std::string_view group;  // of what is sent and answered; "" and an empty version: the resource's own
  std::string_view version;
  std::string_view kind;  // "" : the resource's own
  std::vector<std::string_view> verbs;
};
[[nodiscard]] std::vector<Subresource> subresourcesOf(const Resource& resource);

/// "v1" or "group/version" of all that is served, without doubles.
[[nodiscard]] std::vector<std::string> groupVersions(const Resources& resources);

}  // namespace gs::apiserver
