#include "sandbox/controllers/ephemeral.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sandbox/controllers/objects.h"
#include "sandbox/controllers/volumes.h"

namespace gs::sandbox::controllers {
namespace {

using json::Array;
using json::Object;
using json::Value;

Value claimForPod(const Value& pod, const Value& volume) {
  const Value& of = volume["ephemeral"]["volumeClaimTemplate"];
  Value meta = Object{{"name", ephemeralClaim(pod, volume)},
                      {"ownerReferences", Array{Value{Object{{"apiVersion", "v1"},
                                                             {"kind", "Pod"},
                                                             {"name", nameOf(pod)},
                                                             {"uid", uidOf(pod)},
                                                             {"controller", true},
                                                             {"blockOwnerDeletion", true}}}}}};
  for (const char* part : {"labels", "annotations"}) {
    if (!of["metadata"][part].isNull()) { meta.set(part, of["metadata"][part]); }
  }
  return Object{{"metadata", std::move(meta)}, {"spec", of["spec"]}};
}

/// "": it has its claim, or never will.
std::string makeMissing(Client& client, const Value& pod, const Value& volume) {
  const std::string ns{pod["metadata"]["namespace"].str()};
  const std::string name = ephemeralClaim(pod, volume);
  if (const auto there = client.find(kClaims, ns, name)) {
    if (isControlledBy(*there, pod)) { return {}; }
    return fmt::format("PVC {0}/{1} was not created for pod {0}/{2} (pod is not owner)", ns, name,
                       nameOf(pod));
  }
  const auto made = client.create(kClaims, ns, claimForPod(pod, volume));
  if (succeeded(made) || isForEver(made)) { return {}; }
  return fmt::format("create PVC {}: {}", name, reasonOf(made));
}

}  // namespace

bool hasEphemeral(const json::Value& pod) {
  const auto& volumes = pod["spec"]["volumes"].items();
  return std::any_of(volumes.begin(), volumes.end(),
                     [](const Value& volume) { return volume["ephemeral"].isObject(); });
}

Again syncEphemeral(Client& client, const json::Value& pod) {
  if (isDeleting(pod)) { return {}; }
  for (const Value& volume : pod["spec"]["volumes"].items()) {
    if (!volume["ephemeral"].isObject()) { continue; }
    const std::string why = makeMissing(client, pod, volume);
    if (why.empty()) { continue; }
    client.tell(pod, "Warning", "FailedBinding",
                fmt::format("ephemeral volume {}: {}", volume["name"].str(), why));
    return {.failed = true};
  }
  return {};
}

}  // namespace gs::sandbox::controllers
