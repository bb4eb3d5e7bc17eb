// What the API server adds to MutatingWebhookConfigurations and ValidatingWebhookConfigurations,
// and requires of them.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "apiserver/meta/meta_check.h"
#include "apiserver/registry/field_checks.h"
#include "apiserver/registry/kind_checks.h"
#include "apiserver/registry/template_checks.h"

namespace gs::apiserver {
namespace {

using json::Object;
using json::Value;

constexpr const char* kForm = "; desired format: https://host[/path]";

void giveDefault(Value& object, const char* key, Value value) {
  if (object[key].isNull()) { object.set(key, std::move(value)); }
}

bool isListed(const Value& texts, std::string_view wanted) {
  const auto& items = texts.items();
  return std::any_of(items.begin(), items.end(), [&](const Value& v) { return v.str() == wanted; });
}

/// `value` is absent, or one of these.
void checkOneOfHook(const Value& hook, const char* key, const std::string& at, const Texts& known,
                    FieldErrors& errors) {
  const Value& value = hook[key];
  if (value.isNull() || std::find(known.begin(), known.end(), value.str()) != known.end()) { return; }
  errors.push_back(fieldNotSupported(fmt::format("{}.{}", at, key), value, known));
}

void checkHookName(const Value& name, const std::string& at, FieldErrors& errors) {
  if (name.str().empty()) {
    errors.push_back(fieldRequired(at));
    return;
  }
  const auto wrong = dnsSubdomainErrors(name.str());
  if (!wrong.empty()) {
    errors.push_back(fieldInvalid(at, name, fmt::format("{}", fmt::join(wrong, ","))));
  } else if (std::count(name.str().begin(), name.str().end(), '.') < 2) {
    errors.push_back(
        fieldInvalid(at, name, "should be a domain with at least three segments separated by dots"));
  }
}

// ---- rules

/// `type`: as Go calls its elements; `what`: as messages call the others.
void checkWildcard(const Value& texts, const std::string& at, const char* type, const char* what,
                   FieldErrors& errors) {
  if (texts.items().empty()) { errors.push_back(fieldRequired(at)); }
  if (texts.items().size() > 1 && isListed(texts, "*")) {
    errors.push_back(fieldInvalid(at, goTexts(texts, type),
                                  fmt::format("if '*' is present, must not specify other {}", what)));
  }
}

void checkResources(const Value& resources, const std::string& at, FieldErrors& errors) {
  if (resources.items().empty()) { errors.push_back(fieldRequired(at)); }
  std::set<std::string_view> all_of;  // x of "x/*"
  std::set<std::string_view> in_all;  // y of "*/y"
  bool plain = false;
  for (std::size_t i = 0; i < resources.items().size(); ++i) {
    const auto text = resources.items()[i].str();
    const std::string here = fmt::format("{}[{}]", at, i);
    if (text.empty()) {
      errors.push_back(fieldRequired(here));
      continue;
    }
    const auto slash = text.find('/');
    if (slash == std::string_view::npos) {
      plain = text != "*";
      continue;
    }
    const auto resource = text.substr(0, slash);
    const auto subresource = text.substr(slash + 1);
    const auto refuse = [&](std::string_view there) {
      errors.push_back(fieldInvalid(here, Value{text},
                                    fmt::format("if '{}' is present, must not specify {}", there, text)));
    };
    if (all_of.contains(resource)) { refuse(fmt::format("{}/*", resource)); }
    if (in_all.contains(subresource)) { refuse(fmt::format("*/{}", subresource)); }
    if (subresource == "*") { all_of.insert(resource); }
    if (resource == "*") { in_all.insert(subresource); }
  }
  if (resources.items().size() > 1 && isListed(resources, "*/*")) {
    errors.push_back(
        fieldInvalid(at, goTexts(resources), "if '*/*' is present, must not specify other resources"));
  }
  if (isListed(resources, "*") && plain) {
    errors.push_back(fieldInvalid(
        at, goTexts(resources), "if '*' is present, must not specify other resources without subresources"));
  }
}

}  // namespace

void checkAdmissionRule(const json::Value& rule, const std::string& at, FieldErrors& errors) {
  const Value& operations = rule["operations"];
  checkWildcard(operations, at + ".operations", "admissionregistration.OperationType", "operations", errors);
  for (std::size_t i = 0; i < operations.items().size(); ++i) {
    const Texts known{"*", "CONNECT", "CREATE", "DELETE", "UPDATE"};
    const Value& operation = operations.items()[i];
    if (std::find(known.begin(), known.end(), operation.str()) != known.end()) { continue; }
    errors.push_back(fieldNotSupported(fmt::format("{}.operations[{}]", at, i), operation, known));
  }
  checkWildcard(rule["apiGroups"], at + ".apiGroups", "string", "API groups", errors);
  checkWildcard(rule["apiVersions"], at + ".apiVersions", "string", "API versions", errors);
  const auto& versions = rule["apiVersions"].items();
  for (std::size_t i = 0; i < versions.size(); ++i) {
    if (versions[i].str().empty()) {
      errors.push_back(fieldRequired(fmt::format("{}.apiVersions[{}]", at, i)));
    }
  }
  checkResources(rule["resources"], at + ".resources", errors);
  checkOneOfHook(rule, "scope", at, {"*", "Cluster", "Namespaced"}, errors);
}

namespace {

// ---- whom it asks

void checkUrl(std::string_view url, const std::string& at, FieldErrors& errors) {
  const auto refuse = [&](std::string_view shown, std::string_view why) {
    errors.push_back(fieldInvalid(at, Value{shown}, why));
  };
  const auto colon = url.find("://");
  const auto scheme = url.substr(0, colon == std::string_view::npos ? 0 : colon);
  if (scheme != "https") { refuse(scheme, std::string{"'https' is the only allowed URL scheme"} + kForm); }
  std::string_view rest = scheme.empty() ? std::string_view{} : url.substr(colon + 3);
  const auto authority = rest.substr(0, rest.find_first_of("/?#"));
  const auto host =
      authority.substr(authority.find('@') == std::string_view::npos ? 0 : authority.find('@') + 1);
  if (host.empty()) { refuse("", std::string{"host must be specified"} + kForm); }
  if (host.size() != authority.size()) {
    refuse(authority.substr(0, authority.find('@')), "user information is not permitted in the URL");
  }
  const auto mark = url.find('#');
  if (mark != std::string_view::npos && mark + 1 < url.size()) {
    refuse(url.substr(mark + 1), "fragments are not permitted in the URL");
  }
  const auto query = url.substr(0, mark);
  const auto question = query.find('?');
  if (question != std::string_view::npos && question + 1 < query.size()) {
    refuse(query.substr(question + 1), "query parameters are not permitted in the URL");
  }
}

void checkServicePath(const Value& path, const std::string& at, FieldErrors& errors) {
  std::string_view rest = path.str();
  if (rest.empty() || rest == "/") { return; }
  const auto refuse = [&](const std::string& why) { errors.push_back(fieldInvalid(at, path, why)); };
  if (rest == "//") { return refuse("segment[0] may not be empty"); }
  if (!rest.starts_with('/')) { refuse("must start with a '/'"); }
  rest.remove_prefix(1);
  if (rest.ends_with('/')) { rest.remove_suffix(1); }
  for (int i = 0;; ++i) {
    const auto slash = rest.find('/');
    const auto segment = rest.substr(0, slash);
    if (segment.empty()) { refuse(fmt::format("segment[{}] may not be empty", i)); }
    for (const auto& why : segment.empty() ? Texts{} : dnsSubdomainErrors(segment)) {
      refuse(fmt::format("segment[{}]: {}", i, why));
    }
    if (slash == std::string_view::npos) { return; }
    rest.remove_prefix(slash + 1);
  }
}

void checkClient(const Value& client, const std::string& at, FieldErrors& errors) {
  const Value& service = client["service"];
  if (client["url"].isNull() == service.isNull()) {
    errors.push_back(fieldRequired(at, "exactly one of url or service is required"));
    return;
  }
  if (service.isNull()) { return checkUrl(client["url"].str(), at + ".url", errors); }
  const std::string here = at + ".service";
  // As the real server says it, which takes one for the other.
  if (service["namespace"].str().empty()) {
    errors.push_back(fieldRequired(here + ".name", "service name is required"));
  }
  if (service["name"].str().empty()) {
    errors.push_back(fieldRequired(here + ".namespace", "service namespace is required"));
  }
  const auto port = service["port"].intOr(0);
  if (port < 1 || port > 65535) {
    errors.push_back(fieldInvalid(here + ".port", service["port"],
                                  "port is not valid: must be between 1 and 65535, inclusive"));
  }
  checkServicePath(service["path"], here + ".path", errors);
}

// ---- one webhook

void checkReviewVersions(const Value& versions, const std::string& at, FieldErrors& errors) {
  if (versions.items().empty()) {
    errors.push_back(fieldRequired(at, "must specify one of v1, v1beta1"));
    return;
  }
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < versions.items().size(); ++i) {
    const Value& version = versions.items()[i];
    const std::string here = fmt::format("{}[{}]", at, i);
    if (!seen.insert(version.str()).second) {
      errors.push_back(fieldInvalid(here, version, "duplicate version"));
      continue;
    }
    for (const auto& why : serviceNameErrors(version.str())) {
      errors.push_back(fieldInvalid(here, version, why));
    }
  }
  if (!seen.contains("v1") && !seen.contains("v1beta1")) {
    errors.push_back(fieldInvalid(at, goTexts(versions), "must include at least one of v1, v1beta1"));
  }
}

void checkHook(const Value& hook, const std::string& at, FieldErrors& errors) {
  checkHookName(hook["name"], at + ".name", errors);
  for (std::size_t i = 0; i < hook["rules"].items().size(); ++i) {
    checkAdmissionRule(hook["rules"].items()[i], fmt::format("{}.rules[{}]", at, i), errors);
  }
  checkOneOfHook(hook, "failurePolicy", at, {"Fail", "Ignore"}, errors);
  checkOneOfHook(hook, "matchPolicy", at, {"Equivalent", "Exact"}, errors);
  if (hook["sideEffects"].isNull()) {
    errors.push_back(fieldRequired(at + ".sideEffects", "must specify one of None, NoneOnDryRun"));
  }
  checkOneOfHook(hook, "sideEffects", at, {"None", "NoneOnDryRun"}, errors);
  const auto seconds = hook["timeoutSeconds"].intOr(10);
  if (seconds < 1 || seconds > 30) {
    errors.push_back(fieldInvalid(at + ".timeoutSeconds", hook["timeoutSeconds"],
                                  "the timeout value must be between 1 and 30 seconds"));
  }
  for (const char* selector : {"namespaceSelector", "objectSelector"}) {
    append(errors, checkRequirements(hook[selector], fmt::format("{}.{}", at, selector)));
  }
  checkOneOfHook(hook, "reinvocationPolicy", at, {"IfNeeded", "Never"}, errors);
  checkClient(hook["clientConfig"], at + ".clientConfig", errors);
  checkReviewVersions(hook["admissionReviewVersions"], at + ".admissionReviewVersions", errors);
}

void defaultHook(Value& hook, bool mutating) {
  giveDefault(hook, "failurePolicy", "Fail");
  giveDefault(hook, "matchPolicy", "Equivalent");
  giveDefault(hook, "namespaceSelector", Object{});
  giveDefault(hook, "objectSelector", Object{});
  giveDefault(hook, "timeoutSeconds", 10);
  if (mutating) { giveDefault(hook, "reinvocationPolicy", "Never"); }
  if (hook["clientConfig"]["service"].isObject()) {
    giveDefault(hook.child("clientConfig").child("service"), "port", 443);
  }
  if (!hook["rules"].isArray()) { return; }
  for (Value& rule : hook.child("rules").array()) {
    if (rule.isObject()) { giveDefault(rule, "scope", "*"); }
  }
}

}  // namespace

FieldErrors checkWebhooks(const json::Value& configuration) {
  FieldErrors errors;
  std::set<std::string_view> names;
  const auto& webhooks = configuration["webhooks"].items();
  for (std::size_t i = 0; i < webhooks.size(); ++i) {
    const std::string at = fmt::format("webhooks[{}]", i);
    checkHook(webhooks[i], at, errors);
    const auto name = webhooks[i]["name"].str();
    if (!name.empty() && !names.insert(name).second) {
      errors.push_back(fieldDuplicate(at + ".name", goQuote(name)));
    }
  }
  return errors;
}

void defaultWebhooks(const Resource& resource, json::Value& configuration) {
  if (!configuration["webhooks"].isArray()) { return; }
  for (Value& hook : configuration.child("webhooks").array()) {
    if (hook.isObject()) { defaultHook(hook, resource.is(kMutatingId)); }
  }
}

std::vector<std::string> webhookWarnings(const json::Value& configuration, const json::Value& old) {
  std::vector<std::string> out;
  const auto& webhooks = configuration["webhooks"].items();
  for (std::size_t i = 0; i < webhooks.size(); ++i) {
    const Value& conditions = webhooks[i]["matchConditions"];
    if (conditions.items().empty() || conditions == old["webhooks"].at(i)["matchConditions"]) { continue; }
    out.push_back(
        fmt::format("webhooks[{}].matchConditions: the sandbox evaluates no CEL; webhook {} is asked about "
                    "all that its rules and selectors match",
                    i, goQuote(webhooks[i]["name"].str())));
  }
  return out;
}

}  // namespace gs::apiserver
