// Secrets and ConfigMaps: what is kept under keys.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "apiserver/meta/meta_check.h"
#include "apiserver/registry/fill_in.h"
#include "apiserver/registry/kind_checks.h"
#include "apiserver/wire/go_json.h"
#include "base/base64.h"

namespace gs::apiserver {
namespace {

using json::Value;

constexpr std::size_t kMostBytes = std::size_t{1} << 20;
constexpr const char* kAccountNote = "kubernetes.io/service-account.name";
constexpr const char* kNotShown = "<secret contents redacted>";

/// Of what is kept as base64.
std::size_t bytesOf(const Value& value) { return value.str().size() / 4 * 3; }

void checkKeys(const Value& owner, const char* part, FieldErrors& errors) {
  for (const auto& [key, value] : owner[part].members()) {
    for (const std::string& why : configKeyErrors(key)) {
      errors.push_back(fieldInvalid(fmt::format("{}[{}]", part, key), Value{key}, why));
    }
  }
}

/// A type that needs some of its keys, `all` of them or one.
struct NeededKeys {
  const char* type;
  std::array<const char*, 2> keys;
  bool all;
};
constexpr std::array<NeededKeys, 2> kNeededKeys{
    {{"kubernetes.io/tls", {"tls.crt", "tls.key"}, true},
     {"kubernetes.io/basic-auth", {"username", "password"}, false}}};

void checkNeededKeys(const NeededKeys& needed, const Value& data, FieldErrors& errors) {
  const auto missing = [&](const char* key) { return data.find(key) == nullptr; };
  const bool some = !std::all_of(needed.keys.begin(), needed.keys.end(), missing);
  if (some && !needed.all) { return; }
  for (const char* key : needed.keys) {
    if (missing(key)) { errors.push_back(fieldRequired(fmt::format("data[{}]", key))); }
  }
}

/// What Go's encoding/json says where it reads another value into a map; "": nothing.
std::string notAMap(const Value& value) {
  if (value.isObject() || value.isNull()) { return {}; }
  const char* kind = value.isArray()    ? "array"
                     : value.isString() ? "string"
                     : value.isBool()   ? "bool"
                                        : "number";
  return fmt::format("json: cannot unmarshal {} into Go value of type map[string]interface {{}}", kind);
}

/// The configuration of a container registry's client: it is there, and is a JSON object.
void checkDockerConfig(const Value& data, const char* key, FieldErrors& errors) {
  const std::string field = fmt::format("data[{}]", key);
  const Value* there = data.find(key);
  if (there == nullptr) {
    errors.push_back(fieldRequired(field));
    return;
  }
  const std::string text = decodeBase64(there->str()).value_or("");
  std::string why = goJsonError(text);
  if (const auto parsed = json::parse(text); why.empty() && parsed) { why = notAMap(*parsed); }
  if (!why.empty()) { errors.push_back(fieldInvalid(field, Value{kNotShown}, why)); }
}

void checkSecretType(const Value& secret, FieldErrors& errors) {
  const auto type = secret["type"].str();
  const Value& data = secret["data"];
  for (const NeededKeys& needed : kNeededKeys) {
    if (type == needed.type) { checkNeededKeys(needed, data, errors); }
  }
  if (type == "kubernetes.io/dockercfg") { checkDockerConfig(data, ".dockercfg", errors); }
  if (type == "kubernetes.io/dockerconfigjson") { checkDockerConfig(data, ".dockerconfigjson", errors); }
  if (type == "kubernetes.io/ssh-auth" && data["ssh-privatekey"].str().empty()) {
    errors.push_back(fieldRequired("data[ssh-privatekey]"));
  }
  if (type == "kubernetes.io/service-account-token" &&
      secret["metadata"]["annotations"][kAccountNote].str().empty()) {
    errors.push_back(fieldRequired(fmt::format("metadata.annotations[{}]", kAccountNote)));
  }
}

/// Of what was made immutable.
void checkKept(const Value& next, const Value& old, std::initializer_list<const char*> parts,
               FieldErrors& errors) {
  if (!old["immutable"].boolOr(false)) { return; }
  const auto refuse_change = [&](const char* field) {
    errors.push_back(fieldForbidden(field, "field is immutable when `immutable` is set"));
  };
  if (!next["immutable"].boolOr(false)) { refuse_change("immutable"); }
  for (const char* part : parts) {
    if (next[part] != old[part]) { refuse_change(part); }
  }
}

}  // namespace

FieldErrors checkConfigMap(const json::Value& map, const json::Value& old) {
  FieldErrors errors;
  std::size_t bytes = 0;
  checkKeys(map, "data", errors);
  checkKeys(map, "binaryData", errors);
  for (const auto& [key, value] : map["data"].members()) {
    bytes += value.str().size();
    if (map["binaryData"].find(key) == nullptr) { continue; }
    errors.push_back(
        fieldInvalid(fmt::format("data[{}]", key), Value{key}, "duplicate of key present in binaryData"));
  }
  for (const auto& [key, value] : map["binaryData"].members()) { bytes += bytesOf(value); }
  if (bytes > kMostBytes) {
    errors.push_back({"", "TooLong", fmt::format("Too long: may not be more than {} bytes", kMostBytes)});
  }
  checkKept(map, old, {"data", "binaryData"}, errors);
  return errors;
}

FieldErrors checkSecret(const json::Value& secret, const json::Value& old) {
  FieldErrors errors;
  checkKeys(secret, "data", errors);
  std::size_t bytes = 0;
  for (const auto& [key, value] : secret["data"].members()) { bytes += bytesOf(value); }
  if (bytes > kMostBytes) {
    errors.push_back({"data", "TooLong", fmt::format("Too long: may not be more than {} bytes", kMostBytes)});
  }
  checkSecretType(secret, errors);
  if (!old.isNull() && secret["type"] != old["type"]) {
    errors.push_back(fieldInvalid("type", secret["type"], "field is immutable"));
  }
  checkKept(secret, old, {"data"}, errors);
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

}  // namespace gs::apiserver
