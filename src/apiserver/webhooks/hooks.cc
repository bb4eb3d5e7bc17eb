#include "apiserver/webhooks/hooks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "apiserver/meta/label_selector.h"
#include "apiserver/registry/resources.h"
#include "base/base64.h"

namespace gs::apiserver {
namespace {

using json::Value;

constexpr std::array<std::string_view, 3> kOperationNames{"CREATE", "UPDATE", "DELETE"};  // by Operation

bool names(const Value& texts, std::string_view wanted) {
  const auto& items = texts.items();
  return std::any_of(items.begin(), items.end(),
                     [&](const Value& v) { return v.str() == "*" || v.str() == wanted; });
}

/// "pods", "pods/status", "pods/*", "*/status", "*", "*/*": a star stands for any resource, or any
/// subresource; one alone for no subresource.
bool namesResource(const Value& texts, const AdmissionRequest& request) {
  const auto& items = texts.items();
  return std::any_of(items.begin(), items.end(), [&](const Value& v) {
    const auto text = v.str();
    const auto slash = text.find('/');
    const auto resource = text.substr(0, slash);
    const auto subresource = slash == std::string_view::npos ? std::string_view{} : text.substr(slash + 1);
    return (resource == "*" || resource == request.resource.plural) &&
           (subresource == "*" || subresource == request.subresource);
  });
}

/// A Namespace counts as cluster-scoped.
bool isInScope(std::string_view scope, const AdmissionRequest& request) {
  const bool inside = !request.resource.is("/namespaces") && !request.ns.empty();
  return scope == "Namespaced" ? inside : scope != "Cluster" || !inside;
}

bool rulesMatch(const Value& rules, const AdmissionRequest& request) {
  const auto operation = kOperationNames.at(static_cast<std::size_t>(request.operation));
  const Resource& r = request.resource;
  return std::any_of(rules.items().begin(), rules.items().end(), [&](const Value& rule) {
    return isInScope(rule["scope"].str(), request) && names(rule["operations"], operation) &&
           names(rule["apiGroups"], r.group) && names(rule["apiVersions"], r.version) &&
           namesResource(rule["resources"], request);
  });
}

bool isEmptySelector(const Value& selector) {
  return selector["matchLabels"].members().empty() && selector["matchExpressions"].items().empty();
}

bool objectMatches(const Value& selector, const Value& object, const Value& old) {
  if (isEmptySelector(selector)) { return true; }
  return (!object.isNull() && selects(selector, object["metadata"]["labels"])) ||
         (!old.isNull() && selects(selector, old["metadata"]["labels"]));
}

/// What is in no namespace is always meant. Of a Namespace its own labels count, as they will be.
Answer<bool> namespaceMatches(const Value& selector, const AdmissionRequest& request, const Value& object,
                              const Store& store) {
  const bool is_namespace = request.resource.is("/namespaces");
  if ((request.ns.empty() && !is_namespace) || isEmptySelector(selector)) { return true; }
  if (is_namespace && request.subresource.empty() && request.operation != Operation::Delete) {
    return selects(selector, object["metadata"]["labels"]);
  }
  const std::string name{request.ns};
  const auto* there = store.find({"/namespaces", "", name});
  if (there == nullptr) { return notFound({"", "namespaces", "Namespace"}, name); }
  return selects(selector, (*there->object)["metadata"]["labels"]);
}

// ---- Services

using HostPort = std::pair<std::string, std::int64_t>;  // host and port

const Value* portOf(const Value& ports, const char* key, const Value& wanted) {
  const auto& items = ports.items();
  const auto it = std::find_if(items.begin(), items.end(), [&](const Value& p) { return p[key] == wanted; });
  return it == items.end() ? nullptr : &*it;
}

std::optional<HostPort> placeIn(const Value& slice, std::string_view port_name) {
  const Value* port = portOf(slice["ports"], "name", Value{port_name});
  if (port == nullptr || (*port)["port"].isNull()) { return std::nullopt; }
  for (const Value& endpoint : slice["endpoints"].items()) {
    const Value& address = endpoint["addresses"].at(0);
    const bool ready = endpoint["conditions"]["ready"].boolOr(true);
    if (ready && address.isString()) { return HostPort{address.str(), (*port)["port"].intOr(0)}; }
  }
  return std::nullopt;
}

tl::expected<HostPort, std::string> placeOfService(const Value& reference, const Store& store) {
  const std::string ns{reference["namespace"].str()};
  const std::string name{reference["name"].str()};
  const auto* service = store.find({"/services", ns, name});
  if (service == nullptr) { return tl::unexpected(fmt::format("service {} not found", goQuote(name))); }
  const Value& spec = (*service->object)["spec"];
  const Value& wanted = reference["port"];
  if (spec["type"].str() == "ExternalName") {
    return HostPort{spec["externalName"].str(), wanted.intOr(443)};
  }
  const Value* port = portOf(spec["ports"], "port", wanted);
  if (port == nullptr) {
    return tl::unexpected(
        fmt::format("no service port {} found for service {}", wanted.intOr(443), goQuote(name)));
  }
  const auto [first, last] = store.range("discovery.k8s.io/endpointslices");
  for (auto it = first; it != last; ++it) {
    const Value& slice = *it->second.object;
    const bool its_own =
        it->first.ns == ns && slice["metadata"]["labels"]["kubernetes.io/service-name"].str() == name;
    if (!its_own) { continue; }
    if (auto place = placeIn(slice, (*port)["name"].str())) { return *std::move(place); }
  }
  return tl::unexpected(fmt::format("no endpoints available for service {}", goQuote(name)));
}

}  // namespace

bool Hook::isWithoutEffects() const {
  const auto effects = spec["sideEffects"].str();
  return effects == "None" || effects == "NoneOnDryRun";
}

std::vector<Hook> registeredHooks(const Store& store, HookPass pass) {
  std::vector<Hook> out;
  const auto [first, last] =
      store.range(std::string{pass == HookPass::Mutating ? kMutatingId : kValidatingId});
  for (auto it = first; it != last; ++it) {
    const auto& webhooks = (*it->second.object)["webhooks"].items();
    for (std::size_t i = 0; i < webhooks.size(); ++i) { out.push_back({{it->first.name, i}, webhooks[i]}); }
  }
  return out;
}

Answer<bool> isAsked(const Hook& hook, const AdmissionRequest& request, const json::Value& object,
                     const Store& store) {
  if (request.resource.isWebhooks() || !rulesMatch(hook.spec["rules"], request)) { return false; }
  if (!objectMatches(hook.spec["objectSelector"], object, request.old)) { return false; }
  return namespaceMatches(hook.spec["namespaceSelector"], request, object, store);
}

tl::expected<HookAddress, std::string> addressOf(const Hook& hook, const Store& store) {
  const Value& client = hook.spec["clientConfig"];
  HookAddress out;
  out.ca_pem = decodeBase64(client["caBundle"].str()).value_or("");
  const Value& service = client["service"];
  if (service.isNull()) {
    out.url = client["url"].str();
    return out;
  }
  const auto place = placeOfService(service, store);
  if (!place) { return tl::unexpected(place.error()); }
  const auto& [host, port] = *place;
  const bool is_v6 = host.find(':') != std::string::npos;
  const auto path = service["path"].str();
  out.url = fmt::format("https://{}{}{}:{}{}{}", is_v6 ? "[" : "", host, is_v6 ? "]" : "", port,
                        path.starts_with('/') || path.empty() ? "" : "/", path);
  out.server_name = fmt::format("{}.{}.svc", service["name"].str(), service["namespace"].str());
  return out;
}

}  // namespace gs::apiserver
