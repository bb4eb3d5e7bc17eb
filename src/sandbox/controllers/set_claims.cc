#include "sandbox/controllers/set_claims.h"

#include <fmt/format.h>

#include <utility>

#include "sandbox/controllers/objects.h"

namespace gs::sandbox::controllers {
namespace {

using json::Object;
using json::Value;

Value claimOfSet(const Value& set, const Value& of, const std::string& name) {
  Value meta = of["metadata"].isObject() ? of["metadata"] : Value{Object{}};
  meta.set("name", name);
  meta.set("namespace", set["metadata"]["namespace"]);
  for (const auto& [key, value] : set["spec"]["selector"]["matchLabels"].members()) {
    meta.child("labels").set(key, value);
  }
  return Object{{"metadata", std::move(meta)}, {"spec", of["spec"]}};
}

/// In place of what the pod's template says of a volume of that name.
void mountClaim(Value& pod, std::string_view volume, const std::string& name) {
  json::Array volumes = pod["spec"]["volumes"].items();
  std::erase_if(volumes, [&](const Value& one) { return one["name"].str() == volume; });
  volumes.emplace_back(Object{{"name", volume}, {"persistentVolumeClaim", Object{{"claimName", name}}}});
  pod.child("spec").set("volumes", std::move(volumes));
}

}  // namespace

bool giveClaims(Client& client, const json::Value& set, std::int64_t ordinal, json::Value& pod) {
  const std::string ns{set["metadata"]["namespace"].str()};
  for (const Value& of : set["spec"]["volumeClaimTemplates"].items()) {
    const auto volume = of["metadata"]["name"].str();
    const std::string name = fmt::format("{}-{}-{}", volume, nameOf(set), ordinal);
    mountClaim(pod, volume, name);
    if (client.find(kClaims, ns, name)) { continue; }
    const auto made = client.create(kClaims, ns, claimOfSet(set, of, name));
    const std::string what = fmt::format("create Claim {} Pod {} in StatefulSet {}", name,
                                         pod["metadata"]["name"].str(), nameOf(set));
    if (!succeeded(made)) {
      client.tell(set, "Warning", "FailedCreate", fmt::format("{} failed error: {}", what, reasonOf(made)));
      return false;
    }
    client.tell(set, "Normal", "SuccessfulCreate", what + " success");
  }
  return true;
}

}  // namespace gs::sandbox::controllers
