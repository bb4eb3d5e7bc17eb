// The vcuda door: shares of GPUs in container limits, on nodes of gpu-manager (model/vcuda.h has the convention).
#include "model/vcuda.h"

#include <fmt/format.h>
#include <algorithm>

#include "model/resources.h"
#include "sched/doors/door.h"

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

bool wantsVcuda(const model::Pod& pod) { return model::sumOf(pod.vcuda).wantsGpu(); }

DoorResult vcudaDoor(const model::Pod& pod, bool any_count, PodRequest base) {
  base.door = Door::Vcuda;
  if (pod.vcuda.size() > kMostContainers) {
    return Blocked{"VcudaTooMany",
                   fmt::format("spec.containers: {}; a pod that asks for {} may have {} of them at most",
                               pod.vcuda.size(), model::kVcudaCore, kMostContainers)};
  }
  for (std::size_t i = 0; i < pod.vcuda.size(); ++i) {
    const model::VcudaLimits& limits = pod.vcuda[i];
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
  if (pod.vcuda.empty()) { return {}; }
  const model::VcudaNote note = model::readVcudaNote(pod.annotations, pod.vcuda.size());
  SharePicks picks;
  for (std::size_t i = 0; i < pod.vcuda.size(); ++i) {
    const auto ids = note.ids.find(static_cast<int>(i));
    picks.push_back({shareOf(pod.vcuda[i]), ids == note.ids.end() ? std::vector<int>{} : ids->second});
  }
  return picks;
}

std::int64_t vcudaMilli(const model::Pod& pod) {
  return std::clamp<std::int64_t>(model::sumOf(pod.vcuda).cores, 0, kMost) * model::kMilliPerVcudaCore;
}

}  // namespace gs::sched
