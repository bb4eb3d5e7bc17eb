#include "kapi/paths.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "base/percent.h"

namespace gs::kapi {
namespace {

std::string path(Kind kind, const std::string& ns, const std::string& name, const std::string& subresource) {
  std::string out = kind->version.empty() ? ""
                    : kind->group.empty() ? fmt::format("/api/{}", kind->version)
                                          : fmt::format("/apis/{}/{}", kind->group, kind->version);
  if (kind->namespaced && !ns.empty()) { out += "/namespaces/" + percentEncode(ns); }
  out += '/';
  out += kind->plural;
  if (!name.empty()) { out += "/" + percentEncode(name); }
  if (!name.empty() && !subresource.empty()) { out += "/" + percentEncode(subresource); }
  return out;
}

std::string withQuery(const std::string& path, const std::string& query) {
  return query.empty() ? path : path + "?" + query;
}

}  // namespace

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
