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

/// "spec.containers[0].resources.limits["tencent.com/vcuda-core"]=50"
std::string limitText(const char* list, std::size_t container, const char* resource, std::int64_t amount) {
  return fmt::format("spec.{}[{}].resources.limits[\"{}\"]={}", list, container, resource, amount);
}

/// The first of its limits that is there: all of them are one too many.
Blocked inInitContainer(std::size_t container, const model::VcudaLimits& limits) {
  const bool by_cores = limits.cores != 0;
  return {
      "VcudaInInitContainer",
      fmt::format("{}: gpu-manager gives GPUs to spec.containers only and refuses pods with shares in init "
                  "containers or sidecars; move it to one of spec.containers",
                  limitText("initContainers", container, by_cores ? model::kVcudaCore : model::kVcudaMemory,
                            by_cores ? limits.cores : limits.memory))};
}

/// What gpu-manager would not take of one container: nothing is to be bound that its node refuses then, or
/// runs without the GPU that it asks for.
std::optional<Blocked> refusedLater(std::size_t container, const model::VcudaLimits& limits) {
  const std::string cores = limitText("containers", container, model::kVcudaCore, limits.cores);
  const std::string memory = limitText("containers", container, model::kVcudaMemory, limits.memory);
  if (limits.cores < 0 || limits.memory < 0) {
    return Blocked{"VcudaNegative",
                   fmt::format("{}: write a number from 0 on", limits.cores < 0 ? cores : memory)};
  }
  if (limits.wholeGpus() > 0) {
    if (limits.cores % model::kVcudaCoresPerGpu == 0) { return std::nullopt; }
    return Blocked{"VcudaNotWhole",
                   fmt::format("{}: gpu-manager gives more than one GPU in whole ones only; make it a "
                               "multiple of {}",
                               cores, model::kVcudaCoresPerGpu)};
  }
  if (limits.cores > 0 && limits.memory == 0) {
    return Blocked{"VcudaNoMemory",
                   fmt::format("{} without {}: gpu-manager gives no such share; add {} (1 is {} MiB) or ask "
                               "for {} cores which are a whole GPU",
                               cores, model::kVcudaMemory, model::kVcudaMemory, model::kMibPerVcudaMemory,
                               model::kVcudaCoresPerGpu)};
  }
  if (limits.cores == 0 && limits.memory > 0) {
    return Blocked{"VcudaNoCores",
                   fmt::format("{} without {}: gpu-manager gives no GPU by it; add {} ({} is one GPU)",
                               memory, model::kVcudaCore, model::kVcudaCore, model::kVcudaCoresPerGpu)};
  }
  return std::nullopt;
}

std::optional<Blocked> refusedLater(const model::Pod& pod) {
  for (std::size_t i = 0; i < pod.init_share_limits.size(); ++i) {
    const model::VcudaLimits limits = model::vcudaOf(pod.init_share_limits[i].amounts);
    if (limits.isGiven()) { return inInitContainer(i, limits); }
  }
  for (std::size_t i = 0; i < pod.share_limits.size(); ++i) {
    if (auto blocked = refusedLater(i, model::vcudaOf(pod.share_limits[i]))) { return blocked; }
  }
  return std::nullopt;
}

/// As a quota counts one container.
std::int64_t coresOf(const model::ShareAmounts& amounts) {
  return std::clamp<std::int64_t>(model::vcudaOf(amounts).cores, 0, kMost);
}

}  // namespace

bool wantsVcuda(const model::Pod& pod, bool as_ancestor) {
  if (as_ancestor) { return model::sumOf(pod.share_limits).wantsGpu(); }
  const auto is_given = [](const model::ShareAmounts& amounts) { return model::vcudaOf(amounts).isGiven(); };
  return !pod.init_share_limits.empty() ||
         std::any_of(pod.share_limits.begin(), pod.share_limits.end(), is_given);
}

DoorResult vcudaDoor(const model::Pod& pod, bool as_ancestor, PodRequest base) {
  base.door = &kVcudaDoor;
  if (pod.share_limits.size() > kMostContainers) {
    return Blocked{"VcudaTooMany",
                   fmt::format("spec.containers: {}; a pod that asks for {} may have {} of them at most",
                               pod.share_limits.size(), model::kVcudaCore, kMostContainers)};
  }
  if (auto blocked = as_ancestor ? std::nullopt : refusedLater(pod)) { return *std::move(blocked); }
  for (const auto& amounts : pod.share_limits) { base.shares.push_back(shareOf(model::vcudaOf(amounts))); }
  return base;
}

SharePicks vcudaPicks(const model::Pod& pod) {
  if (pod.share_limits.empty()) { return {}; }
  auto ids = model::vcudaIds(pod.annotations, pod.share_limits.size());
  SharePicks picks;
  picks.reserve(pod.share_limits.size());
  for (std::size_t i = 0; i < pod.share_limits.size(); ++i) {
    picks.push_back({shareOf(model::vcudaOf(pod.share_limits[i])), std::move(ids[i])});
  }
  return picks;
}

/// As kube-scheduler counts a pod (kapi/pod_requests.h): containers and sidecars run together, an ordinary
/// init container beside the sidecars before it.
std::int64_t vcudaMilli(const model::Pod& pod) {
  std::int64_t running = 0;
  std::int64_t sidecars = 0;
  std::int64_t starting = 0;
  for (const auto& amounts : pod.share_limits) { running += coresOf(amounts); }
  for (const auto& init : pod.init_share_limits) {
    const std::int64_t cores = coresOf(init.amounts);
    starting = std::max(starting, sidecars + cores);
    if (init.is_sidecar) { sidecars += cores; }
  }
  return std::min(std::max(running + sidecars, starting), kMost) * model::kMilliPerVcudaCore;
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
  for (const auto& init : pod.init_share_limits) {  // no annotation says on which device it is
    if (init.is_sidecar) { picks.push_back({shareOf(model::vcudaOf(init.amounts)), {}}); }
  }
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
