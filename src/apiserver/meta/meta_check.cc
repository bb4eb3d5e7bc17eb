#include "apiserver/meta/meta_check.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/ascii.h"
#include "base/dns_name.h"

namespace gs::apiserver {

bool isStandardFinalizer(std::string_view name) {
  return name == "orphan" || name == "foregroundDeletion" || name == "kubernetes";
}

namespace {

bool isAlnum(char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }

/// ([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]
bool isNamePart(std::string_view s) {
  return !s.empty() && isAlnum(s.front()) && isAlnum(s.back()) && std::all_of(s.begin(), s.end(), [](char c) {
    return isAlnum(c) || c == '-' || c == '_' || c == '.';
  });
}

std::string maxLength(std::size_t n) { return fmt::format("must be no more than {} characters", n); }

constexpr const char* kSubdomainRule =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
    "start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr const char* kLabelRule =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start "
    "and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
constexpr const char* kServiceNameRule =
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
    "character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for "
    "validation "
    "is '[a-z]([-a-z0-9]*[a-z0-9])?')";
constexpr const char* kNameRule =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
constexpr const char* kValueRule =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
    "start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for "
    "validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
constexpr const char* kKeyRule =
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or "
    "'KEY_NAME',  or "
    "'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

void addInvalid(FieldErrors& errors, const std::string& field, const json::Value& value,
                const std::vector<std::string>& findings) {
  for (const std::string& f : findings) { errors.push_back(fieldInvalid(field, value, f)); }
}

std::vector<std::string> nameErrors(std::string_view name, NameRule rule) {
  if (rule == NameRule::Service) { return serviceNameErrors(name); }
  if (rule == NameRule::PathSegment) { return pathSegmentErrors(name); }
  return rule == NameRule::Label ? dnsLabelErrors(name) : dnsSubdomainErrors(name);
}

void checkName(const json::Value& meta, NameRule rule, FieldErrors& errors) {
  if (const auto generate = meta["generateName"].str(); !generate.empty()) {
    addInvalid(errors, "metadata.generateName", meta["generateName"], nameErrors(asPrefix(generate), rule));
  }
  if (meta["name"].str().empty()) {
    errors.push_back(fieldRequired("metadata.name", "name or generateName is required"));
  } else {
    addInvalid(errors, "metadata.name", meta["name"], nameErrors(meta["name"].str(), rule));
  }
}

/// []v1.OwnerReference{v1.OwnerReference{APIVersion:"v1", ...}}, without what its pointers point to.
std::string goOwners(const json::Value& owners) {
  const auto pointer = [](const json::Value& v) { return v.isNull() ? "(nil)" : "(0x0)"; };
  std::string out;
  for (const json::Value& owner : owners.items()) {
    out += fmt::format(
        "{}v1.OwnerReference{{APIVersion:{}, Kind:{}, Name:{}, UID:{}, Controller:(*bool){}, "
        "BlockOwnerDeletion:(*bool){}}}",
        out.empty() ? "" : ", ", goQuote(owner["apiVersion"].str()), goQuote(owner["kind"].str()),
        goQuote(owner["name"].str()), goQuote(owner["uid"].str()), pointer(owner["controller"]),
        pointer(owner["blockOwnerDeletion"]));
  }
  return fmt::format("[]v1.OwnerReference{{{}}}", out);
}

void checkOwners(const json::Value& owners, FieldErrors& errors) {
  const std::string field = "metadata.ownerReferences";
  std::string first;  // controller
  for (const json::Value& owner : owners.items()) {
    const std::string_view version = owner["apiVersion"].str();
    if (version.empty() || version.back() == '/') {
      errors.push_back(fieldInvalid(field + ".apiVersion",
                                    owner["apiVersion"].isString() ? owner["apiVersion"] : "",
                                    "version must not be empty"));
    }
    for (const char* name : {"kind", "name", "uid"}) {
      if (owner[name].str().empty()) {
        errors.push_back(
            fieldInvalid(field + "." + name, json::Value{""}, fmt::format("{} must not be empty", name)));
      }
    }
    if (!owner["controller"].boolOr(false)) { continue; }
    const std::string shown = fmt::format("{}/{}", owner["kind"].str(), owner["name"].str());
    if (first.empty()) {
      first = shown;
      continue;
    }
    errors.push_back(
        fieldInvalid(field, goOwners(owners),
                     fmt::format("Only one reference can have Controller set to true. Found \"true\" in "
                                 "references for {} and {}",
                                 first, shown)));
  }
}

void checkFinalizers(const json::Value& finalizers, FinalizerRule rule, FieldErrors& errors) {
  for (std::size_t i = 0; i < finalizers.items().size(); ++i) {
    const std::string_view name = finalizers.at(i).str();
    const std::string field = fmt::format("metadata.finalizers[{}]", i);
    const auto findings = qualifiedNameErrors(name);
    addInvalid(errors, "metadata.finalizers", finalizers.at(i), findings);
    if (rule == FinalizerRule::Core && !isStandardFinalizer(name) &&
        name.find('/') == std::string_view::npos) {
      errors.push_back(fieldInvalid(field, finalizers.at(i),
                                    "name is neither a standard finalizer name nor is it fully qualified"));
    }
  }
}

/// Who is deleted cannot both keep and delete what it owns.
void checkBothOrders(const json::Value& finalizers, FieldErrors& errors) {
  const auto has = [&](std::string_view wanted) {
    const auto& all = finalizers.items();
    return std::any_of(all.begin(), all.end(), [&](const json::Value& f) { return f.str() == wanted; });
  };
  if (!has("orphan") || !has("foregroundDeletion")) { return; }
  std::string shown;
  for (const json::Value& f : finalizers.items()) { shown += (shown.empty() ? "" : ", ") + goQuote(f.str()); }
  errors.push_back(fieldInvalid("metadata.finalizers", fmt::format("[]string{{{}}}", shown),
                                "finalizer orphan and foregroundDeletion cannot be both set"));
}

void checkFinalizersAdded(const json::Value& meta, const json::Value& old, FieldErrors& errors) {
  std::string added;
  for (const json::Value& f : meta["finalizers"].items()) {
    const auto& had = old["finalizers"].items();
    if (std::find(had.begin(), had.end(), f) == had.end()) {
      added += (added.empty() ? "" : ", ") + goQuote(f.str());
    }
  }
  if (!added.empty()) {
    errors.push_back(fieldForbidden("metadata.finalizers",
                                    fmt::format("no new finalizers can be added if the object is being "
                                                "deleted, found new finalizers []string{{{}}}",
                                                added)));
  }
}

}  // namespace

std::string asPrefix(std::string_view name) {
  if (name.size() < 2 || name.back() != '-') { return std::string{name}; }
  return std::string{name.substr(0, name.size() - 2)} + "a";
}

std::vector<std::string> dnsSubdomainErrors(std::string_view name) {
  std::vector<std::string> out;
  if (name.size() > 253) { out.push_back(maxLength(253)); }
  if (!hasFormOfDnsSubdomain(name)) { out.emplace_back(kSubdomainRule); }
  return out;
}

std::vector<std::string> dnsLabelErrors(std::string_view name) {
  std::vector<std::string> out;
  if (name.size() > 63) { out.push_back(maxLength(63)); }
  if (!hasFormOfDnsLabel(name)) {
    out.emplace_back(hasFormOfDnsSubdomain(name) ? "must not contain dots" : kLabelRule);
  }
  return out;
}

std::vector<std::string> serviceNameErrors(std::string_view name) {
  std::vector<std::string> out;
  if (name.size() > 63) { out.push_back(maxLength(63)); }
  if (!hasFormOfDnsLabel(name) || name.front() < 'a') { out.emplace_back(kServiceNameRule); }
  return out;
}

std::vector<std::string> pathSegmentErrors(std::string_view name) {
  if (name == "." || name == "..") { return {fmt::format("may not be '{}'", name)}; }
  std::vector<std::string> out;
  for (const char* part : {"/", "%"}) {
    if (name.find(part) != std::string_view::npos) {
      out.push_back(fmt::format("may not contain '{}'", part));
    }
  }
  return out;
}

std::vector<std::string> qualifiedNameErrors(std::string_view name) {
  std::vector<std::string> out;
  const auto slashes = std::count(name.begin(), name.end(), '/');
  if (slashes > 1) {
    return {fmt::format(
        "a qualified name {} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
        kNameRule)};
  }
  if (slashes == 1) {
    const std::string_view prefix = name.substr(0, name.find('/'));
    name.remove_prefix(prefix.size() + 1);
    if (prefix.empty()) {
      out.emplace_back("prefix part must be non-empty");
    } else {
      for (const std::string& e : dnsSubdomainErrors(prefix)) { out.push_back("prefix part " + e); }
    }
  }
  if (name.empty()) { out.emplace_back("name part must be non-empty"); }
  if (name.size() > 63) { out.push_back("name part " + maxLength(63)); }
  if (!isNamePart(name)) { out.push_back(std::string{"name part "} + kNameRule); }
  return out;
}

std::vector<std::string> labelValueErrors(std::string_view value) {
  std::vector<std::string> out;
  if (value.size() > 63) { out.push_back(maxLength(63)); }
  if (!value.empty() && !isNamePart(value)) { out.emplace_back(kValueRule); }
  return out;
}

std::vector<std::string> configKeyErrors(std::string_view key) {
  std::vector<std::string> out;
  if (key.size() > 253) { out.push_back(maxLength(253)); }
  const bool fine = !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return isAlnum(c) || c == '-' || c == '_' || c == '.';
  });
  if (!fine) { out.emplace_back(kKeyRule); }
  if (key == "." || key == "..") {
    out.push_back(fmt::format("must not be '{}'", key));
  } else if (key.starts_with("..")) {
    out.emplace_back("must not start with '..'");
  }
  return out;
}

FieldErrors checkLabels(const json::Value& labels, const std::string& field) {
  FieldErrors errors;
  for (const auto& [key, value] : labels.members()) {
    addInvalid(errors, field, json::Value{key}, qualifiedNameErrors(key));
    addInvalid(errors, field, value, labelValueErrors(value.str()));
  }
  return errors;
}

FieldErrors checkAnnotations(const json::Value& annotations, const std::string& field) {
  FieldErrors errors;
  std::size_t size = 0;
  for (const auto& [key, value] : annotations.members()) {
    addInvalid(errors, field, json::Value{key}, qualifiedNameErrors(inLowerCase(key)));
    size += key.size() + value.str().size();
  }
  if (size > 256U * 1024) {
    errors.push_back({field, "TooLong", "Too long: may not be more than 262144 bytes"});
  }
  return errors;
}

FieldErrors checkMeta(const json::Value& meta, NameRule name_rule, FinalizerRule finalizer_rule) {
  FieldErrors errors;
  checkName(meta, name_rule, errors);
  FieldErrors labels = checkLabels(meta["labels"], "metadata.labels");
  errors.insert(errors.end(), labels.begin(), labels.end());
  const auto notes = checkAnnotations(meta["annotations"], "metadata.annotations");
  errors.insert(errors.end(), notes.begin(), notes.end());
  checkOwners(meta["ownerReferences"], errors);
  checkFinalizers(meta["finalizers"], finalizer_rule, errors);
  checkBothOrders(meta["finalizers"], errors);
  return errors;
}

namespace {

/// 2024-01-01T00:00:00Z as Go's %v shows it.
std::string goTime(std::string_view text) {
  if (text.size() != 20) { return std::string{text}; }
  return fmt::format("{} {} +0000 UTC", text.substr(0, 10), text.substr(11, 8));
}

}  // namespace

std::vector<std::string> finalizerWarnings(const json::Value& meta, const json::Value& old) {
  std::vector<std::string> out;
  const auto& had = old["finalizers"].items();
  for (const json::Value& f : meta["finalizers"].items()) {
    const bool domain = f.str().find('/') != std::string_view::npos;
    if (domain || isStandardFinalizer(f.str()) || std::find(had.begin(), had.end(), f) != had.end()) {
      continue;
    }
    out.push_back(
        fmt::format("metadata.finalizers: {}: prefer a domain-qualified finalizer name to avoid accidental "
                    "conflicts with "
                    "other finalizer writers",
                    goQuote(f.str())));
  }
  return out;
}

FieldErrors checkMetaUpdate(const json::Value& meta, const json::Value& old) {
  FieldErrors errors;
  for (const char* name :
       {"name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"}) {
    if (meta[name] == old[name]) { continue; }
    const std::string field = std::string{"metadata."} + name;
    if (std::string_view{name}.ends_with("Timestamp")) {
      errors.push_back(fieldInvalid(field, goTime(meta[name].str()), "field is immutable"));
    } else {
      errors.push_back(fieldInvalid(field, meta[name], "field is immutable"));
    }
  }
  if (old.find("deletionTimestamp") != nullptr) { checkFinalizersAdded(meta, old, errors); }
  return errors;
}

}  // namespace gs::apiserver
