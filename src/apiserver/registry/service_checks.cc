// What the API server adds to Secrets, Services and EndpointSlices, and requires of them, as far as webhooks
// need them: no address is given to a Service, since nobody forwards what is sent there.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "apiserver/meta/meta_check.h"
#include "apiserver/registry/fill_in.h"
#include "apiserver/registry/kind_checks.h"
#include "base/base64.h"

namespace gs::apiserver {
namespace {

using json::Value;

constexpr std::size_t kMaxSecret = std::size_t{1} << 20;

void checkServicePorts(const Value& spec, FieldErrors& errors) {
  const bool external = spec["type"].str() == "ExternalName";
  const auto& ports = spec["ports"].items();
  if (ports.empty() && !external && spec["clusterIP"].str() != "None") {
    errors.push_back(fieldRequired("spec.ports"));
  }
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const std::string at = fmt::format("spec.ports[{}]", i);
    if (ports.size() > 1 && ports[i]["name"].str().empty()) { errors.push_back(fieldRequired(at + ".name")); }
    const auto port = ports[i]["port"].intOr(0);
    if (port < 1 || port > 65535) {
      errors.push_back(
          fieldInvalid(at + ".port", ports[i]["port"], "must be between 1 and 65535, inclusive"));
    }
    const auto protocol = ports[i]["protocol"].str();
    if (protocol != "TCP" && protocol != "UDP" && protocol != "SCTP") {
      errors.push_back(fieldNotSupported(at + ".protocol", ports[i]["protocol"], {"SCTP", "TCP", "UDP"}));
    }
    const Value& target = ports[i]["targetPort"];
    if (target.isInt() && (target.intOr(0) < 1 || target.intOr(0) > 65535)) {
      errors.push_back(fieldInvalid(at + ".targetPort", target, "must be between 1 and 65535, inclusive"));
    }
  }
}

}  // namespace

// ---- Secrets

FieldErrors checkSecret(const json::Value& secret, const json::Value& old) {
  FieldErrors errors;
  std::size_t bytes = 0;
  const Value& data = secret["data"];
  for (const auto& [key, value] : data.members()) {
    for (const std::string& why : configKeyErrors(key)) {
      errors.push_back(fieldInvalid(fmt::format("data[{}]", key), Value{key}, why));
    }
    bytes += value.str().size() / 4 * 3;
  }
  if (bytes > kMaxSecret) {
    errors.push_back({"data", "TooLong", fmt::format("Too long: may not be more than {} bytes", kMaxSecret)});
  }
  if (secret["type"].str() == "kubernetes.io/tls") {
    for (const char* key : {"tls.crt", "tls.key"}) {
      if (data.find(key) == nullptr) { errors.push_back(fieldRequired(fmt::format("data[{}]", key))); }
    }
  }
  if (!old.isNull() && secret["type"] != old["type"]) {
    errors.push_back(fieldInvalid("type", secret["type"], "field is immutable"));
  }
  return errors;
}

void defaultSecret(json::Value& secret) {
  fillIn(secret, "type", "Opaque");
  const Value plain = secret["stringData"];
  const Value& data = secret["data"];
  if (!plain.isObject() || !(data.isNull() || data.isObject())) { return; }  // refused when it is decoded
  const auto& members = plain.members();
  if (!std::all_of(members.begin(), members.end(), [](const auto& m) { return m.second.isString(); })) {
    return;
  }
  for (const auto& [key, text] : members) { secret.child("data").set(key, encodeBase64(text.str())); }
  secret.erase("stringData");
}

// ---- Services

FieldErrors checkService(const json::Value& service) {
  FieldErrors errors;
  const Value& spec = service["spec"];
  checkServicePorts(spec, errors);
  const auto type = spec["type"].str();
  if (type != "ClusterIP" && type != "ExternalName" && type != "LoadBalancer" && type != "NodePort") {
    errors.push_back(fieldNotSupported("spec.type", spec["type"],
                                       {"ClusterIP", "ExternalName", "LoadBalancer", "NodePort"}));
  }
  if (type != "ExternalName") { return errors; }
  const auto name = spec["externalName"].str();
  if (name.empty()) {
    errors.push_back(fieldRequired("spec.externalName"));
  } else {
    for (const std::string& why : dnsSubdomainErrors(name)) {
      errors.push_back(fieldInvalid("spec.externalName", spec["externalName"], why));
    }
  }
  return errors;
}

void defaultService(json::Value& service) {
  if (!service["spec"].isObject()) { return; }
  Value& spec = service.child("spec");
  fillIn(spec, "sessionAffinity", "None");
  fillIn(spec, "type", "ClusterIP");
  if (spec["type"].str() != "ExternalName") { fillIn(spec, "internalTrafficPolicy", "Cluster"); }
  if (!spec["ports"].isArray()) { return; }
  for (Value& port : spec.child("ports").array()) {
    if (!port.isObject()) { continue; }
    fillIn(port, "protocol", "TCP");
    if (port["targetPort"].intOr(1) == 0) { port.erase("targetPort"); }
    fillIn(port, "targetPort", port["port"]);
  }
}

// ---- EndpointSlices

FieldErrors checkEndpoints(const json::Value& slice, const json::Value& old) {
  FieldErrors errors;
  const auto type = slice["addressType"].str();
  if (type.empty()) {
    errors.push_back(fieldRequired("addressType"));
  } else if (type != "FQDN" && type != "IPv4" && type != "IPv6") {
    errors.push_back(fieldNotSupported("addressType", slice["addressType"], {"FQDN", "IPv4", "IPv6"}));
  }
  const auto& endpoints = slice["endpoints"].items();
  for (std::size_t i = 0; i < endpoints.size(); ++i) {
    if (!endpoints[i]["addresses"].items().empty()) { continue; }
    errors.push_back(
        fieldRequired(fmt::format("endpoints[{}].addresses", i), "must contain at least 1 address"));
  }
  if (!old.isNull() && slice["addressType"] != old["addressType"]) {
    errors.push_back(fieldInvalid("addressType", slice["addressType"], "field is immutable"));
  }
  return errors;
}

void defaultEndpoints(json::Value& slice) {
  if (!slice["ports"].isArray()) { return; }
  for (Value& port : slice.child("ports").array()) {
    if (!port.isObject()) { continue; }
    fillIn(port, "name", "");
    fillIn(port, "protocol", "TCP");
  }
}

}  // namespace gs::apiserver
