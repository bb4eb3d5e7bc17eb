#include "sched/doors/vcuda.h"

#include <fmt/format.h>
#include <algorithm>
#include <iterator>

#include "model/resources.h"
#include "model/vcuda.h"

namespace gs::sched {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 40;  // more than any node has, of whatever
constexpr std::size_t kMostContainers = 64;            // each costs a look at each device of each node

ContainerShare shareOf(const model::VcudaLimits& limits) {
  if (!limits.wantsGpu()) { return {}; }
  if (limits.wholeGpus() > 0) { return {std::min(limits.wholeGpus(), kMost), 0, 0}; }
  return {0, limits.cores * model::kMilliPerVcudaCore,
          std::min(limits.memory, kMost) * model::kMibPerVcudaMemory};
}

std::string fieldOf(std::size_t container) {
  return fmt::format("spec.containers[{}].resources.limits[\"{}\"]", container, model::kVcudaCore);
}

}  // namespace

bool wantsVcuda(const model::Pod& pod) { return model::sumOf(pod.share_limits).wantsGpu(); }

DoorResult vcudaDoor(const model::Pod& pod, bool any_count, PodRequest base) {
  base.door = &kVcudaDoor;
  if (pod.share_limits.size() > kMostContainers) {
    return Blocked{"VcudaTooMany",
                   fmt::format("spec.containers: {}; a pod that asks for {} may have {} of them at most",
                               pod.share_limits.size(), model::kVcudaCore, kMostContainers)};
  }
  for (std::size_t i = 0; i < pod.share_limits.size(); ++i) {
    const model::VcudaLimits limits = model::vcudaOf(pod.share_limits[i]);
    if (!any_count && limits.wholeGpus() > 0 && limits.cores % model::kVcudaCoresPerGpu != 0) {
      return Blocked{"VcudaNotWhole",
                     fmt::format("{}={}: gpu-manager gives more than one GPU in whole ones only; make it a "
                                 "multiple of {}",
                                 fieldOf(i), limits.cores, model::kVcudaCoresPerGpu)};
    }
    base.shares.push_back(shareOf(limits));
  }
  return base;
}

SharePicks vcudaPicks(const model::Pod& pod) {
  if (pod.share_limits.empty()) { return {}; }
  model::VcudaNote note = model::readVcudaNote(pod.annotations, pod.share_limits.size());
  SharePicks picks;
  picks.reserve(pod.share_limits.size());
  for (std::size_t i = 0; i < pod.share_limits.size(); ++i) {
    const auto ids = note.ids.find(static_cast<int>(i));
    picks.push_back({shareOf(model::vcudaOf(pod.share_limits[i])),
                     ids == note.ids.end() ? std::vector<int>{} : std::move(ids->second)});
  }
  return picks;
}

std::int64_t vcudaMilli(const model::Pod& pod) {
  return std::clamp<std::int64_t>(model::sumOf(pod.share_limits).cores, 0, kMost) * model::kMilliPerVcudaCore;
}

namespace {

/// By either limit, though there is a GPU for both only: no other door may be used beside it.
std::optional<AskedBy> vcudaAsked(const model::Pod& pod) {
  if (pod.requests.extended.empty()) { return std::nullopt; }
  for (const char* resource : {model::kVcudaCore, model::kVcudaMemory}) {
    if (pod.requests.get(resource) > 0) { return AskedBy{"resource", resource}; }
  }
  return std::nullopt;
}

DoorResult vcudaRequest(const model::Pod& pod, const Objects& /*named*/, PodRequest base) {
  return vcudaDoor(pod, false, std::move(base));
}

/// It was given shares by its annotations, and gpu-manager has not picked their devices yet; or whole
/// devices, and gpu-manager, which takes any, has not written which.
bool isOnTheWay(const model::Pod& pod) {
  const bool waits = pod.phase == model::PodPhase::Pending && !model::isVcudaAssigned(pod.annotations);
  const auto isWhole = [](const auto& limits) { return model::vcudaOf(limits).wholeGpus() > 0; };
  return waits &&
         (!pod.taken_by_kubelet || std::any_of(pod.share_limits.begin(), pod.share_limits.end(), isWhole));
}

void addVcuda(const model::Pod& pod, Holdings& holdings) {
  if (pod.share_limits.empty()) { return; }
  SharePicks picks = vcudaPicks(pod);
  if (holdings.shares.empty()) {
    holdings.shares = std::move(picks);
  } else {
    holdings.shares.insert(holdings.shares.end(), std::make_move_iterator(picks.begin()),
                           std::make_move_iterator(picks.end()));
  }
  holdings.milli += vcudaMilli(pod);
  holdings.on_the_way = holdings.on_the_way || isOnTheWay(pod);
}

Annotations vcudaAnnotations(const Decision& decision) {
  model::VcudaNote note{decision.node, {}, decision.time_ns, false};
  for (std::size_t i = 0; i < decision.shares.size(); ++i) {
    const auto& ids = decision.shares[i].ids;
    if (!ids.empty()) { note.ids[static_cast<int>(i)] = ids; }
  }
  return model::printVcudaNote(note);
}

/// Every node with vcuda-core is gpu-manager's; of less than a GPU it has none.
std::optional<ShareNode> vcudaNode(const model::Node& node) {
  const model::VcudaLimits has = model::vcudaOf(node.share_capacity);
  if (has.cores <= 0) { return std::nullopt; }
  const std::int64_t devices = has.wholeGpus();
  const std::int64_t memory = devices > 0 ? std::min(has.memory / devices, kMost) : 0;
  return ShareNode{Enforcer::GpuManager, devices, memory * model::kMibPerVcudaMemory};
}

}  // namespace

constinit const Door kVcudaDoor{.name = "vcuda",
                                .own = false,
                                .kept_by = bitOf(Enforcer::GpuManager),
                                .asked = vcudaAsked,
                                .request = vcudaRequest,
                                .holdings = addVcuda,
                                .annotations = vcudaAnnotations,
                                .node = vcudaNode};

}  // namespace gs::sched
