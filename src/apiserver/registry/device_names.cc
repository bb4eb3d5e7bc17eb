#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "apiserver/meta/meta_check.h"
#include "apiserver/registry/device_parts.h"
#include "apiserver/registry/pod_parts.h"
#include "base/ascii.h"

namespace gs::apiserver {
namespace {

using json::Value;

constexpr std::size_t kLongestDriver = 63;
constexpr std::size_t kLongestPool = 253;
constexpr std::size_t kLongestIdentifier = 32;

constexpr const char* kAnyCaseRule =
    "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and must start and end with "
    "an alphanumeric character (e.g. 'Example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr const char* kIdentifierRule =
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric "
    "characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is "
    "'[A-Za-z_][A-Za-z0-9_]*')";

/// As newer code of kube-apiserver says it.
Texts inBytes(Texts texts) {
  constexpr std::string_view kOld = "characters";
  for (std::string& text : texts) {
    const bool of_length = text.find("no more than") != std::string::npos && text.ends_with(kOld);
    if (of_length) { text.replace(text.size() - kOld.size(), kOld.size(), "bytes"); }
  }
  return texts;
}

std::vector<std::string> slashed(std::string_view name) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at <= name.size();) {
    const auto end = std::min(name.find('/', at), name.size());
    out.emplace_back(name.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

void checkIdentifier(const std::string& name, const std::string& field, FieldErrors& errors) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const bool fine =
      !name.empty() && is_letter(name.front()) &&
      std::all_of(name.begin(), name.end(), [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
  if (name.size() > kLongestIdentifier) { errors.push_back(fieldTooLong(field, kLongestIdentifier)); }
  if (!fine) { errors.push_back(fieldInvalid(field, Value{name}, kIdentifierRule)); }
}

/// Members of all types here, each before those that it stands before in any of them.
constexpr std::array<std::string_view, 26> kDeclared{"apiGroup",
                                                     "resource",
                                                     "name",
                                                     "uid",
                                                     "exactly",
                                                     "firstAvailable",
                                                     "driver",
                                                     "pool",
                                                     "device",
                                                     "shareID",
                                                     "deviceClassName",
                                                     "selectors",
                                                     "allocationMode",
                                                     "count",
                                                     "adminAccess",
                                                     "key",
                                                     "operator",
                                                     "value",
                                                     "effect",
                                                     "tolerationSeconds",
                                                     "timeAdded",
                                                     "tolerations",
                                                     "capacity",
                                                     "counterSet",
                                                     "counters",
                                                     "conditions"};

std::size_t rankOf(std::string_view member) {
  return static_cast<std::size_t>(std::find(kDeclared.begin(), kDeclared.end(), member) - kDeclared.begin());
}

}  // namespace

FieldError fieldTooLong(std::string field, std::size_t most, const char* unit) {
  return {std::move(field), "TooLong", fmt::format("Too long: may not be more than {} {}", most, unit)};
}

Texts labelKeyErrors(std::string_view key) { return inBytes(qualifiedNameErrors(key)); }
Texts labelTextErrors(std::string_view value) { return inBytes(labelValueErrors(value)); }

void checkDeviceLabel(const json::Value& name, const std::string& field, FieldErrors& errors) {
  refuseFor(errors, field, name, dnsLabelErrors(name.str()));
}

void checkDriverName(const json::Value& name, const std::string& field, FieldErrors& errors) {
  if (name.str().empty()) {
    errors.push_back(fieldRequired(field));
  } else {
    checkCsiDriverName(name, field, errors);
  }
}

void checkDriverNameTagged(const json::Value& name, const std::string& field, FieldErrors& errors) {
  if (name.str().empty()) {
    errors.push_back(fieldRequired(field));
  } else if (name.str().size() > kLongestDriver) {
    errors.push_back(fieldTooLong(field, kLongestDriver, "characters"));
  } else if (!dnsSubdomainErrors(inLowerCase(name.str())).empty()) {
    errors.push_back(fieldInvalid(field, name, kAnyCaseRule));
  }
}

void checkPoolName(const json::Value& name, const std::string& field, FieldErrors& errors) {
  if (name.str().empty()) {
    errors.push_back(fieldRequired(field));
    return;
  }
  if (name.str().size() > kLongestPool) { errors.push_back(fieldTooLong(field, kLongestPool)); }
  for (const std::string& part : slashed(name.str())) {
    refuseFor(errors, field, Value{part}, dnsSubdomainErrors(part));
  }
}

void checkPoolNameTagged(const json::Value& name, const std::string& field, FieldErrors& errors) {
  if (name.str().empty()) {
    errors.push_back(fieldRequired(field));
    return;
  }
  if (name.str().size() > kLongestPool) { errors.push_back(fieldTooLong(field, kLongestPool)); }
  const auto parts = slashed(name.str());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].empty()) {
      errors.push_back(fieldInvalid(field, name, fmt::format("segment {}: must not be empty", i)));
      continue;
    }
    for (const std::string& why : inBytes(dnsSubdomainErrors(parts[i]))) {
      errors.push_back(fieldInvalid(field, Value{parts[i]}, fmt::format("segment {}: {}", i, why)));
    }
  }
}

void checkAttributeName(std::string_view name, const std::string& field, FieldErrors& errors) {
  const auto parts = slashed(name);
  if (parts.size() == 1) { checkIdentifier(parts[0], field, errors); }
  if (parts.size() != 2) { return; }  // more slashes: the real server does not look at it
  if (parts[0].empty()) {
    errors.push_back(fieldInvalid(field, Value{""}, "the domain must not be empty"));
  } else {
    checkDriverName(Value{parts[0]}, field, errors);
  }
  if (parts[1].empty()) {
    errors.push_back(fieldInvalid(field, Value{""}, "the name must not be empty"));
  } else {
    checkIdentifier(parts[1], field, errors);
  }
}

void checkAttributeNameTagged(const json::Value& name, const std::string& field, FieldErrors& errors) {
  const auto parts = slashed(name.str());
  if (parts.size() == 1) {
    checkIdentifier(parts[0], field, errors);
    errors.push_back(
        fieldInvalid(field, name, "a fully qualified name must be a domain and a name separated by a slash"));
  }
  if (parts.size() != 2) { return; }
  if (parts[0].empty()) {
    errors.push_back(fieldInvalid(field, Value{""}, "prefix must not be empty"));
  } else {
    if (parts[0].size() > kLongestDriver) { errors.push_back(fieldTooLong(field, kLongestDriver)); }
    for (const std::string& why : inBytes(dnsSubdomainErrors(parts[0]))) {
      errors.push_back(fieldInvalid(field, Value{parts[0]}, "prefix: " + why));
    }
  }
  if (parts[1].empty()) {
    errors.push_back(fieldInvalid(field, Value{""}, "name must not be empty"));
  } else {
    checkIdentifier(parts[1], field, errors);
  }
}

void checkExtendedNameTagged(const json::Value& name, const std::string& field, FieldErrors& errors) {
  const auto text = name.str();
  if (text.find('/') == std::string_view::npos) {
    errors.push_back(
        fieldInvalid(field, name, "a name must be a domain-prefixed path, such as 'example.com/my-prop'"));
  } else if (text.find("kubernetes.io/") != std::string_view::npos) {
    errors.push_back(fieldInvalid(field, name, R"(must not have "kubernetes.io/" domain)"));
  }
  if (text.starts_with("requests.")) {
    errors.push_back(fieldInvalid(field, name, R"(must not have "requests." prefix)"));
  }
  refuseFor(errors, field, name, labelKeyErrors(fmt::format("requests.{}", text)));
}

void checkShareId(const json::Value& uid, const std::string& field, FieldErrors& errors) {
  constexpr std::string_view kShape = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  if (uid.isNull()) { return; }
  const auto text = uid.str();
  bool fine = text.size() == kShape.size();
  for (std::size_t i = 0; fine && i < kShape.size(); ++i) {
    const bool hex = (text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f');
    fine = kShape[i] == '-' ? text[i] == '-' : hex;
  }
  if (!fine) { errors.push_back(fieldInvalid(field, uid, "must be a lowercase UUID in 8-4-4-4-12 format")); }
}

std::string goDeviceJson(const json::Value& value) {
  if (value.isArray()) {
    std::string out;
    for (const Value& item : value.items()) { out += (out.empty() ? "" : ",") + goDeviceJson(item); }
    return "[" + out + "]";
  }
  if (!value.isObject()) { return json::print(value); }
  std::vector<const json::Member*> members;
  for (const auto& member : value.members()) { members.push_back(&member); }
  std::sort(members.begin(), members.end(), [](const auto* a, const auto* b) {
    return std::pair{rankOf(a->first), std::string_view{a->first}} <
           std::pair{rankOf(b->first), std::string_view{b->first}};
  });
  std::string out;
  for (const auto* member : members) {
    out += fmt::format("{}{}:{}", out.empty() ? "" : ",", json::print(Value{member->first}),
                       goDeviceJson(member->second));
  }
  return "{" + out + "}";
}

void refuseRepeated(const json::Value& list, const std::string& field,
                    std::string (*key)(const json::Value& element), FieldErrors& errors) {
  std::set<std::string> keys;
  for (std::size_t i = 0; i < list.items().size(); ++i) {
    const Value& element = list.items()[i];
    if (keys.insert(key(element)).second) { continue; }
    errors.push_back(fieldDuplicate(fmt::format("{}[{}]", field, i), goDeviceJson(element)));
  }
}

std::string nameKey(const json::Value& element) { return std::string{element["name"].str()}; }

}  // namespace gs::apiserver
