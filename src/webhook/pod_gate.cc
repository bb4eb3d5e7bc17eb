#include "webhook/pod_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <string_view>

#include "base/utf8.h"
#include "model/gate.h"
#include "model/resources.h"
#include "webhook/pod_mutation.h"

namespace gs::webhook {
namespace {

using json::Array;
using json::Object;
using json::View;

constexpr std::size_t kShown = 63;  // bytes of a name that somebody chose

bool isSomething(const View& amount) { return amount.str() != "0" && amount.integer() != 0; }

bool hasGpuLimits(const View& pod) {
  for (const char* list : {"initContainers", "containers"}) {
    for (const View container : pod["spec"][list].items()) {
      const View resources = container["resources"];
      for (const View amounts : {resources["limits"], resources["requests"]}) {
        const auto gpus = amounts.find(model::kNvidiaGpu);
        if (gpus && isSomething(*gpus)) { return true; }
      }
    }
  }
  return false;
}

bool isMounted(const View& pod) {
  for (const char* list : {"initContainers", "containers"}) {
    for (const View container : pod["spec"][list].items()) {
      for (const View mount : container["volumeMounts"].items()) {
        if (mount["name"].str() == model::kGateVolume) { return true; }
      }
    }
  }
  return false;
}

/// At the end of a list that may not be there yet.
void append(admission::JsonPatch& patch, const std::string& path, const View& list, Object one) {
  if (list.items().size() == 0) {
    Array all;
    all.push_back(std::move(one));
    return patch.add(path, std::move(all));
  }
  patch.add(path + "/-", std::move(one));
}

tl::unexpected<Error> noGate(std::string text) { return fail(Code::Invalid, std::move(text)); }

/// False: it is not there. Error: another one has its name.
Result<bool> hasVolume(const View& pod) {
  for (const View volume : pod["spec"]["volumes"].items()) {
    if (volume["name"].str() != model::kGateVolume) { continue; }
    if (volume["csi"]["driver"].str() == model::kGateDriver) { return true; }
    return noGate(
        fmt::format("spec.volumes has a volume {} that is not of CSI driver {}: the name is kept for the "
                    "volume that this pod starts behind, since it asks for GPUs; give yours another name",
                    model::kGateVolume, model::kGateDriver));
  }
  return false;
}

}  // namespace

bool isToHaveGate(const View& pod, const std::set<std::string, std::less<>>& schedulers) {
  const View spec = pod["spec"];
  if (!spec["nodeName"].str().empty() || !schedulers.contains(spec["schedulerName"].str())) { return false; }
  const View annotations = pod["metadata"]["annotations"];
  return hasGpuLimits(pod) || std::any_of(kAskedBy.begin(), kAskedBy.end(),
                                          [&](const char* key) { return annotations.find(key).has_value(); });
}

Status addGate(admission::JsonPatch& patch, const View& pod) {
  const auto has_volume = hasVolume(pod);
  if (!has_volume) { return tl::unexpected(has_volume.error()); }
  const View first = pod["spec"]["containers"].at(0);
  const bool has_mount = isMounted(pod) || !first.isObject();
  for (const View mount : has_mount ? View{}.items() : first["volumeMounts"].items()) {
    if (mount["mountPath"].str() != model::kGatePath) { continue; }
    return noGate(fmt::format(
        "spec.containers[0] mounts volume {} at {}, where this pod has the volume {} that it starts behind, "
        "since it asks for GPUs; mount yours elsewhere",
        utf8Prefix(mount["name"].str(), kShown), model::kGatePath, model::kGateVolume));
  }
  if (!*has_volume) {
    append(patch, "/spec/volumes", pod["spec"]["volumes"],
           Object{{"name", model::kGateVolume},
                  {"csi", Object{{"driver", model::kGateDriver}, {"readOnly", true}}}});
  }
  if (!has_mount) {
    append(patch, "/spec/containers/0/volumeMounts", first["volumeMounts"],
           Object{{"name", model::kGateVolume}, {"mountPath", model::kGatePath}, {"readOnly", true}});
  }
  return {};
}

}  // namespace gs::webhook
