#include "sandbox/controllers/objects.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "kapi/time.h"

namespace gs::sandbox::controllers {
namespace {

using json::Value;

const Value& nothing() {
  static const Value kNull;
  return kNull;
}

/// The letters and digits of generated names.
constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";

}  // namespace

std::string nameOf(const json::Value& object) { return std::string{object["metadata"]["name"].str()}; }
std::string uidOf(const json::Value& object) { return std::string{object["metadata"]["uid"].str()}; }
bool isDeleting(const json::Value& object) { return !object["metadata"]["deletionTimestamp"].isNull(); }
std::string_view annotation(const json::Value& object, std::string_view key) {
  return object["metadata"]["annotations"][key].str();
}
std::int64_t wantedReplicas(const json::Value& object) { return object["spec"]["replicas"].intOr(0); }

const json::Value& controllerOf(const json::Value& object) {
  for (const Value& owner : object["metadata"]["ownerReferences"].items()) {
    if (owner["controller"].boolOr(false)) { return owner; }
  }
  return nothing();
}

bool isControlledBy(const json::Value& object, const json::Value& owner) {
  const auto uid = controllerOf(object)["uid"].str();
  return !uid.empty() && uid == owner["metadata"]["uid"].str();
}

json::Value controllerReference(const json::Value& owner) {
  return json::Object{
      {"apiVersion", owner["apiVersion"]}, {"kind", owner["kind"]}, {"name", owner["metadata"]["name"]},
      {"uid", owner["metadata"]["uid"]},   {"controller", true},    {"blockOwnerDeletion", true}};
}

const json::Value& conditionOf(const json::Value& status, std::string_view type) {
  for (const Value& condition : status["conditions"].items()) {
    if (condition["type"].str() == type) { return condition; }
  }
  return nothing();
}

bool hasCondition(const json::Value& status, std::string_view type) {
  return conditionOf(status, type)["status"].str() == "True";
}

void dropCondition(json::Value& status, std::string_view type) {
  if (!status["conditions"].isArray()) { return; }
  auto& conditions = status.child("conditions").array();
  std::erase_if(conditions, [&](const Value& c) { return c["type"].str() == type; });
  if (conditions.empty()) { status.erase("conditions"); }
}

std::string shortHash(const json::Value& content, std::int64_t salt) {
  const std::string hex = sha256Hex(fmt::format("{} {}", json::print(content), salt)).substr(0, 8);
  std::string out;
  for (const char digit : fmt::format("{}", std::stoul(hex, nullptr, 16))) {
    out += kLetters[static_cast<unsigned char>(digit) % kLetters.size()];
  }
  return out;
}

Duration since(std::string_view time, Now now) {
  const auto at = kapi::parseTime(time);
  return at ? Duration{now.wall - *at} : Duration{};
}

}  // namespace gs::sandbox::controllers
