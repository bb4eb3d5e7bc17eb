// Amounts of resources and the number of pods, as kube-scheduler's NodeResourcesFit: what is asked (0 always
// fits) against what is allocatable and not used. What a pod asks is counted by kapi/pod_requests.h.
#include <utility>

#include "sched/filters/rows.h"

namespace gs::sched {
namespace {

/// Only what is asked for has to be there.
bool isShort(std::int64_t asked, std::int64_t allocatable, std::int64_t used) {
  return asked > 0 && asked > allocatable - used;
}

/// Calls `lacks(reason, what)` for each amount of which too little is left, until it returns false.
template <class Lacks>
void eachShort(const NodeState& n, const PodRequest& r, const Lacks& lacks) {
  const model::Resources& asked = r.resources;
  const model::Resources& have = n.node.allocatable;
  if (n.used_pods + 1 > n.node.allocatable_pods && !lacks(Reason::TooManyPods, "")) { return; }
  const auto goes_on = [&](std::int64_t wants, std::int64_t all, std::int64_t used, const char* what) {
    return !isShort(wants, all, used) || lacks(Reason::InsufficientResource, what);
  };
  if (!goes_on(asked.cpu_milli, have.cpu_milli, n.used.cpu_milli, "cpu")) { return; }
  if (!goes_on(asked.memory, have.memory, n.used.memory, "memory")) { return; }
  if (!goes_on(asked.ephemeral, have.ephemeral, n.used.ephemeral, "ephemeral-storage")) { return; }
  for (const auto& [name, wants] : asked.extended) {
    if (name == model::kNvidiaGpu) { continue; }
    if (!goes_on(wants, have.get(name), n.used.get(name), name.c_str())) { return; }
  }
}

}  // namespace

std::optional<Misfit> refuseResources(const NodeState& n, const PodRequest& r) {
  std::optional<Misfit> first;
  eachShort(n, r, [&](Reason reason, const char* what) {
    first = Misfit{reason, what, 0, 0};
    return false;
  });
  return first;
}

std::vector<Misfit> shortOf(const NodeState& n, const PodRequest& r) {
  std::vector<Misfit> all;
  eachShort(n, r, [&](Reason reason, const char* what) {
    all.push_back({reason, what, 0, 0});
    return true;
  });
  return all;
}

}  // namespace gs::sched
