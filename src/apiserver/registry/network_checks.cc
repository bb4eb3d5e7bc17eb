// NetworkPolicies: kept, and nothing is kept from anybody.
#include <fmt/format.h>

#include "apiserver/meta/meta_check.h"
#include "apiserver/registry/field_checks.h"
#include "apiserver/registry/fill_in.h"
#include "apiserver/registry/ip_address.h"
#include "apiserver/registry/kind_checks.h"
#include "apiserver/registry/template_checks.h"

namespace gs::apiserver {
namespace {

using json::Value;

void checkPolicyPort(const Value& port, const std::string& field, FieldErrors& errors) {
  checkKnownIfThere(errors, field + ".protocol", port["protocol"], {"TCP", "UDP", "SCTP"});
  const Value& number = port["port"];
  const Value& end = port["endPort"];
  if (number.isInt()) {
    refuseFor(errors, field + ".port", number, portNumberErrors(number.intOr(0)));
    if (end.isNull()) { return; }
    if (end.intOr(0) < number.intOr(0)) {
      errors.push_back(fieldInvalid(field + ".endPort", number, "must be greater than or equal to `port`"));
    }
    refuseFor(errors, field + ".endPort", end, portNumberErrors(end.intOr(0)));
    return;
  }
  if (!end.isNull()) {
    errors.push_back(fieldInvalid(field + ".endPort", end,
                                  number.isNull() ? "may not be specified when `port` is not specified"
                                                  : "may not be specified when `port` is non-numeric"));
  }
  if (number.isString()) { refuseFor(errors, field + ".port", number, portNameErrors(number.str())); }
}

void checkIpBlock(const Value& block, const std::string& field, FieldErrors& errors) {
  if (block["cidr"].str().empty()) {
    errors.push_back(fieldRequired(field + ".cidr"));
    return;
  }
  refuseFor(errors, field + ".cidr", block["cidr"], cidrErrors(block["cidr"].str()));
  const auto whole = parseCidr(block["cidr"].str());
  if (!whole) { return; }
  const auto& except = block["except"].items();
  for (std::size_t i = 0; i < except.size(); ++i) {
    const std::string at = fmt::format("{}.except[{}]", field, i);
    const auto part = parseCidr(except[i].str());
    refuseFor(errors, at, except[i], cidrErrors(except[i].str()));
    if (!part || isStrictSubset(*part, *whole)) { continue; }
    errors.push_back(fieldInvalid(at, except[i], "must be a strict subset of `cidr`"));
  }
}

void checkPeer(const Value& peer, const std::string& field, FieldErrors& errors) {
  int given = 0;
  for (const char* selector : {"podSelector", "namespaceSelector"}) {
    if (!peer[selector].isObject()) { continue; }
    ++given;
    append(errors, checkRequirements(peer[selector], fmt::format("{}.{}", field, selector)));
  }
  if (!peer["ipBlock"].isObject()) {
    if (given == 0) { errors.push_back(fieldRequired(field, "must specify a peer")); }
    return;
  }
  checkIpBlock(peer["ipBlock"], field + ".ipBlock", errors);
  if (given > 0) { errors.push_back(fieldForbidden(field, "may not specify both ipBlock and another peer")); }
}

void checkRules(const Value& spec, const char* rules, const char* peers, FieldErrors& errors) {
  for (std::size_t i = 0; i < spec[rules].items().size(); ++i) {
    const Value& rule = spec[rules].items()[i];
    const std::string at = fmt::format("spec.{}[{}]", rules, i);
    for (std::size_t p = 0; p < rule["ports"].items().size(); ++p) {
      checkPolicyPort(rule["ports"].items()[p], fmt::format("{}.ports[{}]", at, p), errors);
    }
    for (std::size_t p = 0; p < rule[peers].items().size(); ++p) {
      checkPeer(rule[peers].items()[p], fmt::format("{}.{}[{}]", at, peers, p), errors);
    }
  }
}

}  // namespace

FieldErrors checkNetworkPolicy(const json::Value& policy) {
  const Value& spec = policy["spec"];
  FieldErrors errors = checkRequirements(spec["podSelector"], "spec.podSelector");
  checkRules(spec, "ingress", "from", errors);
  checkRules(spec, "egress", "to", errors);
  const auto& types = spec["policyTypes"].items();
  if (types.size() > 2) {
    errors.push_back(fieldInvalid("spec.policyTypes", goTexts(spec["policyTypes"], "networking.PolicyType"),
                                  "may not specify more than two policyTypes"));
    return errors;
  }
  for (std::size_t i = 0; i < types.size(); ++i) {
    checkKnown(errors, fmt::format("spec.policyTypes[{}]", i), types[i], {"Ingress", "Egress"});
  }
  return errors;
}

void defaultNetworkPolicy(json::Value& policy) {
  if (policy["spec"].isNull()) { policy.set("spec", json::Object{}); }
  ifObject(policy, "spec", [](Value& spec) {
    for (const char* rules : {"ingress", "egress"}) {
      eachObject(spec, rules, [](Value& rule) {
        eachObject(rule, "ports", [](Value& port) { fillInMissing(port, "protocol", "TCP"); });
      });
    }
    const Value& types = spec["policyTypes"];
    if (!types.isNull() && !(types.isArray() && types.items().empty())) { return; }
    json::Array made{Value{"Ingress"}};
    if (!spec["egress"].items().empty()) { made.emplace_back("Egress"); }
    spec.set("policyTypes", std::move(made));
  });
}

}  // namespace gs::apiserver
