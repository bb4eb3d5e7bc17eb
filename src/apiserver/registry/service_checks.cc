// What the API server adds to Services, and requires of them. No address and no port of a node is given to
// one, since nobody forwards what is sent there: the cluster is one of IPv4 alone, whose addresses are not
// counted.
#include <fmt/format.h>

#include <algorithm>
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

constexpr std::int64_t kMostAffinitySeconds = 86'400;
constexpr const char* kRangesNote = "service.beta.kubernetes.io/load-balancer-source-ranges";
constexpr const char* kHintsNote = "service.kubernetes.io/topology-aware-hints";
constexpr const char* kModeNote = "service.kubernetes.io/topology-mode";

bool isOf(const Value& spec, std::string_view type) { return spec["type"].str() == type; }

bool isHeadless(const Value& spec) {
  const auto& ips = spec["clusterIPs"].items();
  return ips.size() == 1 && ips.front().str() == "None";
}

/// From outside of the cluster.
bool isReachable(const Value& spec) {
  return isOf(spec, "LoadBalancer") || isOf(spec, "NodePort") ||
         (isOf(spec, "ClusterIP") && !spec["externalIPs"].items().empty());
}

void checkServicePort(const Value& port, bool needs_name, const std::string& at, FieldErrors& errors) {
  const auto name = port["name"].str();
  if (name.empty() && needs_name) { errors.push_back(fieldRequired(at + ".name")); }
  if (!name.empty()) { refuseFor(errors, at + ".name", port["name"], dnsLabelErrors(name)); }
  refuseFor(errors, at + ".port", port["port"], portNumberErrors(port["port"].intOr(0)));
  checkKnownOrMissing(errors, at + ".protocol", port["protocol"], {"SCTP", "TCP", "UDP"});
  const Value& target = port["targetPort"];
  refuseFor(errors, at + ".targetPort", target,
            target.isString() ? portNameErrors(target.str()) : portNumberErrors(target.intOr(0)));
  if (!port["appProtocol"].isNull()) {
    refuseFor(errors, at + ".appProtocol", port["appProtocol"],
              qualifiedNameErrors(port["appProtocol"].str()));
  }
}

/// core.ServicePort{Name:"", Protocol:"TCP", ...}, of what it must not share with another.
std::string goPort(std::string_view protocol, std::int64_t port) {
  return fmt::format(
      "core.ServicePort{{Name:\"\", Protocol:{}, AppProtocol:(*string)(nil), Port:{}, "
      "TargetPort:intstr.IntOrString{{Type:0, IntVal:0, StrVal:\"\"}}, NodePort:0}}",
      goQuote(protocol), port);
}

/// Names, numbers and ports of nodes are there once.
void checkTwicePorts(const Value& ports, FieldErrors& errors) {
  std::set<std::string, std::less<>> names;
  std::set<std::pair<std::string, std::int64_t>> numbers;
  std::set<std::pair<std::string, std::int64_t>> node_ports;
  for (std::size_t i = 0; i < ports.items().size(); ++i) {
    const Value& port = ports.items()[i];
    const std::string at = fmt::format("spec.ports[{}]", i);
    const std::string protocol{port["protocol"].str()};
    const auto name = port["name"].str();
    if (!name.empty() && !names.emplace(name).second) {
      errors.push_back(fieldDuplicate(at + ".name", goQuote(name)));
    }
    const std::int64_t number = port["port"].intOr(0);
    if (!numbers.emplace(protocol, number).second) {
      errors.push_back(fieldDuplicate(at, goPort(protocol, number)));
    }
    const std::int64_t node_port = port["nodePort"].intOr(0);
    if (node_port != 0 && !node_ports.emplace(protocol, node_port).second) {
      errors.push_back(fieldDuplicate(at + ".nodePort", std::to_string(node_port)));
    }
  }
}

void checkServicePorts(const Value& spec, FieldErrors& errors) {
  const auto& ports = spec["ports"].items();
  if (ports.empty() && !isHeadless(spec) && !isOf(spec, "ExternalName")) {
    errors.push_back(fieldRequired("spec.ports"));
  }
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const std::string at = fmt::format("spec.ports[{}]", i);
    checkServicePort(ports[i], ports.size() > 1, at, errors);
  }
}

void checkServiceType(const Value& spec, FieldErrors& errors) {
  checkKnownOrMissing(errors, "spec.type", spec["type"],
                      {"ClusterIP", "ExternalName", "LoadBalancer", "NodePort"});
  const auto& ports = spec["ports"].items();
  for (std::size_t i = 0; i < ports.size(); ++i) {
    if (!isOf(spec, "ClusterIP") || ports[i]["nodePort"].intOr(0) == 0) { continue; }
    errors.push_back(fieldForbidden(fmt::format("spec.ports[{}].nodePort", i),
                                    "may not be used when `type` is 'ClusterIP'"));
  }
}

/// An ExternalName is a name and nothing else; what balances or has a port of each node has an address.
void checkByType(const Value& spec, FieldErrors& errors) {
  for (const char* type : {"LoadBalancer", "NodePort"}) {
    if (!isOf(spec, type) || !isHeadless(spec)) { continue; }
    errors.push_back(fieldInvalid("spec.clusterIPs[0]", Value{"None"},
                                  fmt::format("may not be set to 'None' for {} services", type)));
  }
  if (!isOf(spec, "ExternalName")) { return; }
  for (const char* field : {"clusterIPs", "ipFamilies", "ipFamilyPolicy"}) {
    if (spec[field].isNull() || (spec[field].isArray() && spec[field].items().empty())) { continue; }
    errors.push_back(
        fieldForbidden(fmt::format("spec.{}", field), "may not be set for ExternalName services"));
  }
  auto name = spec["externalName"].str();
  if (name.ends_with('.')) { name.remove_suffix(1); }
  if (name.empty()) {
    errors.push_back(fieldRequired("spec.externalName"));
  } else {
    refuseFor(errors, "spec.externalName", Value{name}, dnsSubdomainErrors(name));
  }
}

void checkAffinityOf(const Value& spec, FieldErrors& errors) {
  checkKnownOrMissing(errors, "spec.sessionAffinity", spec["sessionAffinity"], {"ClientIP", "None"});
  if (spec["sessionAffinity"].str() != "ClientIP") { return; }
  const Value& seconds = spec["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"];
  if (seconds.intOr(0) > 0 && seconds.intOr(0) <= kMostAffinitySeconds) { return; }
  errors.push_back(
      fieldInvalid("spec.sessionAffinityConfig.clientIP.timeoutSeconds", seconds,
                   fmt::format("must be greater than 0 and less than {}", kMostAffinitySeconds)));
}

void checkExternalIps(const Value& ips, FieldErrors& errors) {
  for (std::size_t i = 0; i < ips.items().size(); ++i) {
    const Value& ip = ips.items()[i];
    const Texts wrong = ipErrors(ip.str());
    refuseFor(errors, fmt::format("spec.externalIPs[{}]", i), ip,
              wrong.empty() ? endpointIpErrors(ip.str()) : wrong);
  }
}

/// Who may come, as the spec or an annotation says it.
void checkSourceRanges(const Value& service, FieldErrors& errors) {
  const Value& spec = service["spec"];
  const auto& ranges = spec["loadBalancerSourceRanges"].items();
  const Value& note = service["metadata"]["annotations"][kRangesNote];
  if (ranges.empty() && note.isNull()) { return; }
  const std::string field =
      ranges.empty() ? fmt::format("metadata.annotations[{}]", kRangesNote) : "spec.LoadBalancerSourceRanges";
  if (!isOf(spec, "LoadBalancer")) {
    errors.push_back(fieldForbidden(field, "may only be used when `type` is 'LoadBalancer'"));
  }
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const auto range = withoutSpace(ranges[i].str());
    refuseFor(errors, fmt::format("{}[{}]", field, i), Value{range}, cidrErrors(range));
  }
  if (!ranges.empty() || withoutSpace(note.str()).empty()) { return; }
  const auto text = withoutSpace(note.str());
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find(',', begin), text.size());
    const auto range = withoutSpace(text.substr(begin, end - begin));
    refuseFor(errors, field, Value{range}, cidrErrors(range));
    begin = end + 1;
  }
}

void checkBalancer(const Value& spec, FieldErrors& errors) {
  const bool balances = isOf(spec, "LoadBalancer");
  const char* why = "may only be used when `type` is 'LoadBalancer'";
  if (!balances && !spec["allocateLoadBalancerNodePorts"].isNull()) {
    errors.push_back(fieldForbidden("spec.allocateLoadBalancerNodePorts", why));
  }
  const Value& by = spec["loadBalancerClass"];
  if (by.isNull()) { return; }
  if (balances) {
    refuseFor(errors, "spec.loadBalancerClass", by, qualifiedNameErrors(by.str()));
  } else {
    errors.push_back(fieldForbidden("spec.loadBalancerClass", why));
  }
}

void checkTraffic(const Value& spec, FieldErrors& errors) {
  const Value& external = spec["externalTrafficPolicy"];
  if (isReachable(spec)) {
    checkKnownOrMissing(errors, "spec.externalTrafficPolicy", external, {"Cluster", "Local"});
  } else if (!external.str().empty()) {
    errors.push_back(fieldInvalid("spec.externalTrafficPolicy", external,
                                  "may only be set for externally-accessible services"));
  }
  const Value& health = spec["healthCheckNodePort"];
  const bool checks_health = isOf(spec, "LoadBalancer") && external.str() == "Local";
  if (!checks_health && health.intOr(0) != 0) {
    errors.push_back(
        fieldInvalid("spec.healthCheckNodePort", health,
                     "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"));
  }
  if (checks_health && health.intOr(0) != 0) {
    refuseFor(errors, "spec.healthCheckNodePort", health, portNumberErrors(health.intOr(0)));
  }
  checkKnownIfThere(errors, "spec.internalTrafficPolicy", spec["internalTrafficPolicy"],
                    {"Cluster", "Local"});
  checkKnownIfThere(errors, "spec.trafficDistribution", spec["trafficDistribution"], {"PreferClose"});
}

void checkTopologyNotes(const Value& notes, FieldErrors& errors) {
  if (notes[kHintsNote].isNull() || notes[kModeNote].isNull() || notes[kHintsNote] == notes[kModeNote]) {
    return;
  }
  errors.push_back(
      fieldInvalid(fmt::format("metadata.annotations[{}]", kModeNote), notes[kModeNote],
                   fmt::format("must match annotations[{}] when both are specified", kHintsNote)));
}

// ---- addresses

void checkFamilies(const Value& families, FieldErrors& errors) {
  std::set<std::string, std::less<>> seen;
  for (std::size_t i = 0; i < families.items().size(); ++i) {
    const Value& family = families.items()[i];
    const std::string at = fmt::format("spec.ipFamilies[{}]", i);
    checkKnown(errors, at, family, {"IPv4", "IPv6"});
    if (!seen.emplace(family.str()).second) { errors.push_back(fieldDuplicate(at, goQuote(family.str()))); }
  }
}

/// "clusterIP" is the first of "clusterIPs".
void checkFirstIp(const Value& spec, FieldErrors& errors) {
  const auto first = spec["clusterIP"].str();
  const Value& ips = spec["clusterIPs"];
  if (ips.items().empty()) { return; }
  if (first.empty()) {
    errors.push_back(
        fieldInvalid("spec.clusterIPs", goTexts(ips), "must be empty when `clusterIP` is not specified"));
  } else if (ips.items().front().str() != first) {
    errors.push_back(fieldInvalid("spec.clusterIPs", goTexts(ips), "first value must match `clusterIP`"));
  }
}

/// False: they cannot be looked at more closely.
bool checkIps(const Value& ips, FieldErrors& errors) {
  bool fine = true;
  for (std::size_t i = 0; i < ips.items().size(); ++i) {
    const Value& ip = ips.items()[i];
    if (i == 0 && ip.str() == "None") {
      if (ips.items().size() == 1) { continue; }
      errors.push_back(
          fieldInvalid("spec.clusterIPs", goTexts(ips), "'None' must be the first and only value"));
      fine = false;
      continue;
    }
    const Texts wrong = ipErrors(ip.str());
    refuseFor(errors, fmt::format("spec.clusterIPs[{}]", i), ip, wrong);
    fine = fine && wrong.empty();
  }
  if (ips.items().size() > 2) {
    errors.push_back(fieldInvalid("spec.clusterIPs", goTexts(ips), "may only hold up to 2 values"));
  }
  return fine;
}

void checkIpsAndFamilies(const Value& spec, FieldErrors& errors) {
  const Value& ips = spec["clusterIPs"];
  const auto& all = ips.items();
  const auto is_v6 = [](const Value& ip) { return familyOf(ip.str()) == 6; };
  const bool both = std::any_of(all.begin(), all.end(), is_v6) && !std::all_of(all.begin(), all.end(), is_v6);
  if (all.size() > 1 && !both) {
    errors.push_back(
        fieldInvalid("spec.clusterIPs", goTexts(ips), "may specify no more than one IP for each IP family"));
  }
  const auto& families = spec["ipFamilies"].items();
  if (isHeadless(spec)) { return; }
  for (std::size_t i = 0; i < std::min(all.size(), families.size()); ++i) {
    const auto family = families[i].str();
    if ((family != "IPv4" && family != "IPv6") || (family == "IPv6") == is_v6(all[i])) { continue; }
    errors.push_back(
        fieldInvalid(fmt::format("spec.clusterIPs[{}]", i), all[i],
                     fmt::format("expected an {} value as indicated by `ipFamilies[{}]`", family, i)));
  }
}

/// No pods are chosen, and no address is wanted.
bool isBare(const Value& spec) {
  return spec["clusterIP"].str() == "None" && spec["selector"].members().empty();
}

/// Of a cluster that has IPv4 alone.
void checkOneFamily(const Value& spec, FieldErrors& errors) {
  const auto& ips = spec["clusterIPs"].items();
  const auto& families = spec["ipFamilies"].items();
  const Value& policy = spec["ipFamilyPolicy"];
  const auto refuse_two = [&](bool two, const char* what) {
    if (!two || policy.str() != "SingleStack") { return; }
    errors.push_back(fieldInvalid(
        "spec.ipFamilyPolicy", policy,
        fmt::format("must be 'RequireDualStack' or 'PreferDualStack' when multiple {} are specified", what)));
  };
  refuse_two(ips.size() == 2, "cluster IPs");
  refuse_two(families.size() == 2, "IP families");
  for (std::size_t i = families.size(); i < ips.size() && !isHeadless(spec); ++i) {
    if (familyOf(ips[i].str()) != 6) { continue; }
    errors.push_back(fieldInvalid(fmt::format("spec.clusterIPs[{}]", i), goTexts(spec["clusterIPs"]),
                                  "IPv6 is not configured on this cluster"));
  }
  if (!errors.empty() || isBare(spec)) { return; }
  if (policy.str() == "RequireDualStack") {
    errors.push_back(fieldInvalid("spec.ipFamilyPolicy", policy,
                                  "this cluster is not configured for dual-stack services"));
  }
  for (std::size_t i = 0; i < families.size(); ++i) {
    if (families[i].str() == "IPv4") { continue; }
    errors.push_back(
        fieldInvalid(fmt::format("spec.ipFamilies[{}]", i), families[i], "not configured on this cluster"));
  }
}

}  // namespace

FieldErrors checkServiceAddresses(const json::Value& service) {
  FieldErrors errors;
  const Value& spec = service["spec"];
  if (isOf(spec, "ExternalName")) { return errors; }
  checkFirstIp(spec, errors);
  checkFamilies(spec["ipFamilies"], errors);
  checkKnownIfThere(errors, "spec.ipFamilyPolicy", spec["ipFamilyPolicy"],
                    {"PreferDualStack", "RequireDualStack", "SingleStack"});
  if (checkIps(spec["clusterIPs"], errors)) { checkIpsAndFamilies(spec, errors); }
  if (errors.empty()) { checkOneFamily(spec, errors); }
  return errors;
}

FieldErrors checkService(const json::Value& service) {
  FieldErrors errors;
  const Value& spec = service["spec"];
  checkTopologyNotes(service["metadata"]["annotations"], errors);
  checkByType(spec, errors);
  checkServicePorts(spec, errors);
  append(errors, checkLabels(spec["selector"], "spec.selector"));
  checkAffinityOf(spec, errors);
  checkExternalIps(spec["externalIPs"], errors);
  checkServiceType(spec, errors);
  checkTwicePorts(spec["ports"], errors);
  checkSourceRanges(service, errors);
  checkBalancer(spec, errors);
  checkTraffic(spec, errors);
  return errors;
}

namespace {

void defaultAffinity(Value& spec) {
  fillIn(spec, "sessionAffinity", "None");
  if (spec["sessionAffinity"].str() == "None") { spec.erase("sessionAffinityConfig"); }
  if (spec["sessionAffinity"].str() != "ClientIP") { return; }
  const Value& config = spec["sessionAffinityConfig"];
  const bool readable = config.isNull() || config.isObject();
  if (!readable || !config["clientIP"]["timeoutSeconds"].isNull()) { return; }
  spec.set("sessionAffinityConfig", json::Object{{"clientIP", json::Object{{"timeoutSeconds", 10'800}}}});
}

/// Which families its addresses are of, or would be; those that the cluster has not are left to be refused.
void giveFamilies(Value& spec) {
  const bool bare = isBare(spec);
  fillInMissing(spec, "ipFamilyPolicy", bare ? "RequireDualStack" : "SingleStack");
  json::Array families = spec["ipFamilies"].items();
  const auto& ips = spec["clusterIPs"].items();
  const bool can_be_v4 = ips.empty() || isHeadless(spec) || familyOf(ips.front().str()) == 4;
  if (families.empty() && can_be_v4) { families.emplace_back("IPv4"); }
  if (bare && families.size() == 1 && spec["ipFamilyPolicy"].str() != "SingleStack") {
    families.emplace_back(families.front().str() == "IPv4" ? "IPv6" : "IPv4");
  }
  spec.set("ipFamilies", std::move(families));
}

}  // namespace

void beginService(json::Value& service) {
  service.set("status", json::Object{{"loadBalancer", json::Object{}}});
  if (!service["spec"].isObject()) { return; }
  Value& spec = service.child("spec");
  if (!spec["clusterIP"].str().empty() && spec["clusterIPs"].items().empty()) {
    spec.set("clusterIPs", json::Array{spec["clusterIP"]});
  }
  if (!isOf(spec, "ExternalName")) { giveFamilies(spec); }
}

void keepService(const json::Value& old, json::Value& next) {
  const Value& had = old["spec"];
  if (!next["spec"].isObject() || isOf(next["spec"], "ExternalName")) { return; }
  Value& spec = next.child("spec");
  for (const char* field : {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"}) {
    if (const Value* there = had.find(field); there != nullptr) { fillInMissing(spec, field, *there); }
  }
  giveFamilies(spec);
}

void defaultService(json::Value& service) {
  if (service["spec"].isNull()) { service.set("spec", json::Object{}); }
  if (!service["spec"].isObject()) { return; }
  Value& spec = service.child("spec");
  defaultAffinity(spec);
  fillIn(spec, "type", "ClusterIP");
  eachObject(spec, "ports", [](Value& port) {
    fillIn(port, "protocol", "TCP");
    fillIn(port, "targetPort", port["port"].isNull() ? Value{0} : port["port"]);
  });
  if (isReachable(spec)) { fillIn(spec, "externalTrafficPolicy", "Cluster"); }
  const bool known = isOf(spec, "NodePort") || isOf(spec, "LoadBalancer") || isOf(spec, "ClusterIP");
  if (known) { fillInMissing(spec, "internalTrafficPolicy", "Cluster"); }
  if (isOf(spec, "LoadBalancer")) { fillInMissing(spec, "allocateLoadBalancerNodePorts", true); }
}

}  // namespace gs::apiserver
