// EndpointSlices: where the webhooks of a Service are found.
#include <fmt/format.h>

#include <set>
#include <string>

#include "apiserver/meta/meta_check.h"
#include "apiserver/registry/field_checks.h"
#include "apiserver/registry/fill_in.h"
#include "apiserver/registry/ip_address.h"
#include "apiserver/registry/kind_checks.h"

namespace gs::apiserver {
namespace {

using json::Value;

constexpr std::size_t kMostEndpoints = 1000;
constexpr std::size_t kMostAddresses = 100;
constexpr std::size_t kMostPorts = 20'000;
constexpr std::size_t kMostHints = 8;

void checkSlicePorts(const Value& slice, FieldErrors& errors) {
  if (hasTooMany(errors, "ports", slice["ports"], kMostPorts)) { return; }
  std::set<std::string, std::less<>> names;
  for (std::size_t i = 0; i < slice["ports"].items().size(); ++i) {
    const Value& port = slice["ports"].items()[i];
    const std::string at = fmt::format("ports[{}]", i);
    const auto name = port["name"].str();
    if (!name.empty()) { refuseFor(errors, at + ".name", port["name"], dnsLabelErrors(name)); }
    if (!names.emplace(name).second) { errors.push_back(fieldDuplicate(at + ".name", goQuote(name))); }
    checkKnown(errors, at + ".protocol", port["protocol"], {"SCTP", "TCP", "UDP"});
    if (port["appProtocol"].isNull()) { continue; }
    refuseFor(errors, at + ".appProtocol", port["appProtocol"],
              qualifiedNameErrors(port["appProtocol"].str()));
  }
}

/// Of two labels at least.
void checkFullName(std::string_view name, const std::string& field, FieldErrors& errors) {
  if (name.empty()) {
    errors.push_back(fieldRequired(field));
    return;
  }
  if (name.back() == '.') { name.remove_suffix(1); }
  const Texts wrong = dnsSubdomainErrors(name);
  if (!wrong.empty()) {
    errors.push_back(fieldInvalid(field, Value{name}, fmt::format("{}", fmt::join(wrong, ","))));
    return;
  }
  if (name.find('.') == std::string_view::npos) {
    errors.push_back(
        fieldInvalid(field, Value{name}, "should be a domain with at least two segments separated by dots"));
    return;
  }
  for (std::size_t begin = 0; begin <= name.size();) {
    const auto end = std::min(name.find('.', begin), name.size());
    const auto label = name.substr(begin, end - begin);
    if (const Texts bad = dnsLabelErrors(label); !bad.empty()) {
      errors.push_back(fieldInvalid(field, Value{label}, fmt::format("{}", fmt::join(bad, ","))));
      return;
    }
    begin = end + 1;
  }
}

/// `type`: IPv4 or IPv6.
void checkAddress(const Value& address, std::string_view type, const std::string& field, std::size_t index,
                  FieldErrors& errors) {
  const std::string at = fmt::format("{}[{}]", field, index);
  if (type == "FQDN") { return checkFullName(address.str(), at, errors); }
  if (type != "IPv4" && type != "IPv6") { return; }
  const Texts wrong = type == "IPv4" ? ipErrors(address.str()) : strictIpErrors(address.str());
  refuseFor(errors, at, address, wrong);
  if (!wrong.empty()) { return; }
  if ((familyOf(address.str()) == 4) != (type == "IPv4")) {
    errors.push_back(fieldInvalid(field, address, fmt::format("must be an {} address", type)));
  }
  refuseFor(errors, at, address, endpointIpErrors(address.str()));
}

/// Zones or nodes that should use an endpoint. `rule`: of a name.
void checkHint(const Value& names, const std::string& field, Texts (*rule)(std::string_view),
               FieldErrors& errors) {
  if (hasTooMany(errors, field, names, kMostHints)) { return; }
  std::set<std::string, std::less<>> seen;
  for (std::size_t i = 0; i < names.items().size(); ++i) {
    const Value& name = names.items()[i]["name"];
    const std::string at = fmt::format("{}[{}].name", field, i);
    if (!seen.emplace(name.str()).second) { errors.push_back(fieldDuplicate(at, goQuote(name.str()))); }
    refuseFor(errors, at, name, rule(name.str()));
  }
}

void checkEndpoint(const Value& endpoint, std::string_view type, const std::string& at, FieldErrors& errors) {
  const std::string field = at + ".addresses";
  const auto& addresses = endpoint["addresses"].items();
  if (addresses.empty()) { errors.push_back(fieldRequired(field, "must contain at least 1 address")); }
  (void)hasTooMany(errors, field, endpoint["addresses"], kMostAddresses);
  for (std::size_t i = 0; i < addresses.size(); ++i) { checkAddress(addresses[i], type, field, i, errors); }
  if (!endpoint["nodeName"].isNull()) {
    refuseFor(errors, at + ".nodeName", endpoint["nodeName"], dnsSubdomainErrors(endpoint["nodeName"].str()));
  }
  if (!endpoint["hostname"].isNull()) {
    refuseFor(errors, at + ".hostname", endpoint["hostname"], dnsLabelErrors(endpoint["hostname"].str()));
  }
  checkHint(endpoint["hints"]["forZones"], at + ".hints.forZones", labelValueErrors, errors);
  checkHint(endpoint["hints"]["forNodes"], at + ".hints.forNodes", dnsSubdomainErrors, errors);
}

}  // namespace

FieldErrors checkEndpoints(const json::Value& slice, const json::Value& old) {
  FieldErrors errors;
  checkKnownOrMissing(errors, "addressType", slice["addressType"], {"FQDN", "IPv4", "IPv6"});
  checkSlicePorts(slice, errors);
  const auto& endpoints = slice["endpoints"].items();
  const bool as_before = !old.isNull() && slice["endpoints"] == old["endpoints"];
  if (!as_before && !hasTooMany(errors, "endpoints", slice["endpoints"], kMostEndpoints)) {
    for (std::size_t i = 0; i < endpoints.size(); ++i) {
      checkEndpoint(endpoints[i], slice["addressType"].str(), fmt::format("endpoints[{}]", i), errors);
    }
  }
  if (!old.isNull() && slice["addressType"] != old["addressType"]) {
    errors.push_back(fieldInvalid("addressType", slice["addressType"], "field is immutable"));
  }
  return errors;
}

void defaultEndpoints(json::Value& slice) {
  for (const char* list : {"endpoints", "ports"}) {
    if (slice[list].isArray() && slice[list].items().empty()) { slice.erase(list); }
  }
  eachObject(slice, "ports", [](Value& port) {
    fillInMissing(port, "name", "");
    fillInMissing(port, "protocol", "TCP");
  });
}

void beginEndpoints(json::Value& slice) {
  eachObject(slice, "endpoints", [](Value& endpoint) {
    endpoint.erase("deprecatedTopology");
    ifObject(endpoint, "hints", [](Value& hints) { hints.erase("forNodes"); });
  });
}

}  // namespace gs::apiserver
