// What a pod says of itself as a whole: policies, names, DNS, gates.
#include <fmt/format.h>

#include <limits>
#include <set>

#include "apiserver/meta/meta_check.h"
#include "apiserver/registry/field_checks.h"
#include "apiserver/registry/pod_parts.h"

namespace gs::apiserver {
namespace {

using json::Value;

/// "" and absent are nothing.
void checkNameOf(const Value& spec, const char* name, Texts (*wrong)(std::string_view),
                 const std::string& field, FieldErrors& errors) {
  const Value& value = spec[name];
  if (value.str().empty()) { return; }
  refuseFor(errors, fmt::format("{}.{}", field, name), value, wrong(value.str()));
}

/// A label may have underscores within, and one before.
Texts searchErrors(std::string_view search) {
  if (search == ".") { return {}; }
  if (search.ends_with('.')) { search.remove_suffix(1); }
  std::string plain;
  for (std::size_t i = 0; i < search.size(); ++i) {
    const bool first = i == 0 || search[i - 1] == '.';
    const bool last = i + 1 == search.size() || search[i + 1] == '.';
    if (search[i] != '_' || last) {
      plain += search[i];
    } else if (!first) {
      plain += '-';
    }
  }
  Texts out = dnsSubdomainErrors(plain);
  for (std::string& error : out) {
    constexpr std::string_view kWithout = "characters, '-' or '.'";
    if (const auto at = error.find(kWithout); at != std::string::npos) {
      error.replace(at, kWithout.size(), "characters, '_', '-' or '.'");
    }
  }
  return out;
}

void checkNameservers(const Value& servers, const std::string& field, FieldErrors& errors) {
  constexpr std::size_t kMost = 3;
  const auto& all = servers.items();
  if (all.size() > kMost) {
    errors.push_back(fieldInvalid(field, goTexts(servers), "must not have more than 3 nameservers"));
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    refuseFor(errors, fmt::format("{}[{}]", field, i), all[i], ipErrors(all[i].str()));
  }
}

void checkSearches(const Value& searches, const std::string& field, FieldErrors& errors) {
  constexpr std::size_t kMost = 32;
  constexpr std::size_t kMostBytes = 2048;
  const auto& all = searches.items();
  std::size_t bytes = all.empty() ? 0 : all.size() - 1;
  for (const Value& one : all) { bytes += one.str().size(); }
  if (all.size() > kMost) {
    errors.push_back(fieldInvalid(field, goTexts(searches), "must not have more than 32 search paths"));
  }
  if (bytes > kMostBytes) {
    errors.push_back(
        fieldInvalid(field, goTexts(searches),
                     "must not have more than 2048 characters (including spaces) in the search list"));
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto search = all[i].str();
    const auto shown = search.ends_with('.') ? search.substr(0, search.size() - 1) : search;
    refuseFor(errors, fmt::format("{}[{}]", field, i), Value{shown}, searchErrors(search));
  }
}

void checkDns(const Value& spec, const std::string& field, FieldErrors& errors) {
  const Value& config = spec["dnsConfig"];
  const std::string here = field + ".dnsConfig";
  if (spec["dnsPolicy"].str() == "None") {
    if (!config.isObject()) {
      errors.push_back(fieldRequired(here, "must provide `dnsConfig` when `dnsPolicy` is None"));
      return;
    }
    if (config["nameservers"].items().empty()) {
      errors.push_back(fieldRequired(here + ".nameservers",
                                     "must provide at least one DNS nameserver when `dnsPolicy` is None"));
      return;
    }
  }
  if (!config.isObject()) { return; }
  checkNameservers(config["nameservers"], here + ".nameservers", errors);
  checkSearches(config["searches"], here + ".searches", errors);
  for (std::size_t i = 0; i < config["options"].items().size(); ++i) {
    if (!config["options"].items()[i]["name"].str().empty()) { continue; }
    errors.push_back(fieldRequired(fmt::format("{}.options[{}]", here, i), "must not be empty"));
  }
}

void checkGateNames(const Value& spec, const std::string& field, FieldErrors& errors) {
  const auto& readiness = spec["readinessGates"].items();
  for (std::size_t i = 0; i < readiness.size(); ++i) {
    const Value& type = readiness[i]["conditionType"];
    refuseFor(errors, fmt::format("{}.readinessGates[{}].conditionType", field, i), type,
              qualifiedNameErrors(type.str()));
  }
  std::set<std::string_view> seen;
  const auto& scheduling = spec["schedulingGates"].items();
  for (std::size_t i = 0; i < scheduling.size(); ++i) {
    const Value& name = scheduling[i]["name"];
    const std::string at = fmt::format("{}.schedulingGates[{}]", field, i);
    refuseFor(errors, at, name, qualifiedNameErrors(name.str()));
    if (!seen.insert(name.str()).second) { errors.push_back(fieldDuplicate(at, goQuote(name.str()))); }
  }
}

void checkHostAliases(const Value& aliases, const std::string& field, FieldErrors& errors) {
  for (std::size_t i = 0; i < aliases.items().size(); ++i) {
    const Value& alias = aliases.items()[i];
    const std::string at = fmt::format("{}[{}]", field, i);
    refuseFor(errors, at + ".ip", alias["ip"], ipErrors(alias["ip"].str()));
    const auto& names = alias["hostnames"].items();
    for (std::size_t n = 0; n < names.size(); ++n) {
      refuseFor(errors, fmt::format("{}.hostnames[{}]", at, n), names[n], dnsSubdomainErrors(names[n].str()));
    }
  }
}

/// A pod with users of its own shares nothing with its node.
void checkHostUsers(const Value& spec, const std::string& field, FieldErrors& errors) {
  if (spec["hostUsers"].boolOr(true)) { return; }
  for (const auto& [flag, shown] : {std::pair{"hostNetwork", "hostNetwork"}, std::pair{"hostPID", "HostPID"},
                                    std::pair{"hostIPC", "HostIPC"}}) {
    if (!spec[flag].boolOr(false)) { continue; }
    errors.push_back(
        fieldForbidden(fmt::format("{}.{}", field, shown), "when `pod.Spec.HostUsers` is false"));
  }
}

void checkOs(const Value& os, const std::string& field, FieldErrors& errors) {
  if (!os.isObject()) { return; }
  if (os["name"].str().empty()) {
    errors.push_back(fieldRequired(field + ".name", "cannot be empty"));
  } else {
    checkKnown(errors, field, os["name"], {"linux", "windows"});
  }
}

void checkDeadline(const Value& seconds, const std::string& field, FieldErrors& errors) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (seconds.isNull() || (seconds.intOr(0) >= 1 && seconds.intOr(0) <= kMost)) { return; }
  errors.push_back(fieldInvalid(field, seconds, "must be between 1 and 2147483647, inclusive"));
}

}  // namespace

void checkPodSettings(const PodAround& pod, const std::string& field, FieldErrors& errors) {
  const Value& spec = pod.spec;
  checkKnownOrMissing(errors, field + ".restartPolicy", spec["restartPolicy"],
                      {"Always", "OnFailure", "Never"});
  checkKnownOrMissing(errors, field + ".dnsPolicy", spec["dnsPolicy"],
                      {"ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"});
  checkDns(spec, field, errors);
  checkGateNames(spec, field, errors);
  checkHostUsers(spec, field, errors);
  for (const char* name : {"serviceAccountName", "nodeName", "priorityClassName"}) {
    checkNameOf(spec, name, dnsSubdomainErrors, field, errors);
  }
  if (spec["runtimeClassName"].isString()) {
    refuseFor(errors, field + ".runtimeClassName", spec["runtimeClassName"],
              dnsSubdomainErrors(spec["runtimeClassName"].str()));
  }
  for (const char* name : {"hostname", "subdomain"}) {
    checkNameOf(spec, name, dnsLabelErrors, field, errors);
  }
  checkDeadline(spec["activeDeadlineSeconds"], field + ".activeDeadlineSeconds", errors);
  checkHostAliases(spec["hostAliases"], field + ".hostAliases", errors);
  if (!spec["preemptionPolicy"].isNull()) {
    checkKnownOrMissing(errors, field + ".preemptionPolicy", spec["preemptionPolicy"],
                        {"PreemptLowerPriority", "Never"});
  }
  if (spec["overhead"].isObject()) {
    checkContainerResources(json::Object{{"limits", spec["overhead"]}}, field + ".overhead", errors);
  }
  checkOs(spec["os"], field + ".os", errors);
}

}  // namespace gs::apiserver
