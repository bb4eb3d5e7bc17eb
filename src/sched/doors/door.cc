#include "sched/doors/door.h"

#include <fmt/format.h>

#include "base/sort_unique.h"
#include "model/dra.h"
#include "model/gpu_limits.h"

namespace gs::sched {
namespace {

PodRequest baseRequest(const model::Pod& pod, const Objects& named, Filters filters) {
  PodRequest r;
  r.resources = pod.requests;
  r.theirs = filters == Filters::Theirs;
  r.mapped = !pod.mapped->claim.empty();
  const std::size_t results = model::resultsFor(pod.gpu_limits);
  if (results > model::kMaxResults) { r.too_many_results = static_cast<std::int64_t>(results); }
  if (filters == Filters::Theirs) {
    r.tolerations = {{.key = "", .value = "", .effect = "", .exists = true}};
    return r;
  }
  r.near.rules = nearRulesOf(pod, named.default_spread.get());
  r.node_selector = pod.node_selector;
  r.node_affinity = pod.node_affinity;
  r.node_features = pod.node_features;
  r.host_ports = pod.host_ports;
  r.tolerations = pod.tolerations;
  sortUnique(r.tolerations);
  return r;
}

std::string joined(const std::vector<std::string>& parts) {
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// The door at which the pod asks, and the keys by which it says so at doors that do not yield: one at most,
/// or it is refused.
struct Asked {
  const Door* door = nullptr;
  std::vector<AskedBy> by;
};

Asked askedAt(const model::Pod& pod, Doors doors, Filters filters = Filters::Ours) {
  Asked out;
  for (const Door* door : doors) {
    const bool is_served = !door->ours_alone || filters == Filters::Ours;
    const auto by = is_served ? door->asked(pod) : std::nullopt;
    if (!by) { continue; }
    if (!door->yields) { out.by.push_back(*by); }
    if (out.door == nullptr || (out.door->yields && !door->yields)) { out.door = door; }
  }
  return out;
}

std::string textOf(const AskedBy& by) { return fmt::format("{} {}", by.what, by.name); }

}  // namespace

bool asksAtOwnDoor(const model::Pod& pod, Doors doors) {
  const Asked asked = askedAt(pod, doors);
  return asked.door != nullptr && asked.door->own;
}

bool asksById(const model::Pod& pod, Doors doors) {
  const Asked asked = askedAt(pod, doors);
  return asked.door != nullptr && asked.door->by_id;
}

DoorResult readPod(const model::Pod& pod, const Objects& named, Doors doors, Filters filters) {
  const bool all = filters == Filters::Ours;
  if (all && !pod.scheduling_gates.empty()) {
    return Blocked{"SchedulingGated",
                   fmt::format("waiting for scheduling gates: {}", joined(pod.scheduling_gates))};
  }
  const Asked asked = askedAt(pod, doors, filters);
  if (asked.by.size() > 1) {
    std::vector<std::string> ways;
    for (const AskedBy& by : asked.by) { ways.push_back(textOf(by)); }
    return Blocked{"TwoDoors", fmt::format("the pod asks for GPUs in {} ways: {}; keep one", ways.size(),
                                           fmt::join(ways, " and "))};
  }
  if (all && !pod.unsupported.empty()) {
    return Blocked{
        "Unsupported:" + joined(pod.unsupported),
        fmt::format("{} is not supported by this scheduler yet; remove it or use another schedulerName",
                    fmt::join(pod.unsupported, " and "))};
  }
  // kube-scheduler looks at names of nodes before it looks at volumes.
  if (all && !named.no_volumes.kind.empty() && !model::namesNobody(pod.node_affinity)) {
    return named.no_volumes;
  }
  PodRequest base = baseRequest(pod, named, filters);
  if (all) { base.volumes = named.volumes; }
  if (asked.door == nullptr) { return base; }
  if (!asked.door->own || asked.door->request == nullptr) {
    return Blocked{"NoSuchDoor",
                   fmt::format("{} is not served by this scheduler yet", textOf(*asked.door->asked(pod)))};
  }
  base.door = asked.door;
  return asked.door->request(pod, named, std::move(base));
}

Holdings holdingsOf(const model::Pod& pod, Doors doors) {
  Holdings out;
  for (const Door* door : doors) {
    if (door->holdings != nullptr) { door->holdings(pod, out); }
  }
  return out;
}

std::optional<ShareNode> shareNodeOf(const model::Node& node, Doors doors) {
  for (const Door* door : doors) {
    auto said = door->node != nullptr ? door->node(node) : std::nullopt;
    if (said) { return said; }
  }
  return std::nullopt;
}

Annotations disowned(const model::Pod& pod, Doors doors) {
  Annotations out;
  for (const Door* door : doors) {
    for (const char* key : door->written) {
      if (pod.annotation(key) != nullptr) { out[key] = ""; }
    }
  }
  return out;
}

}  // namespace gs::sched
