// The objects of the plays with pods (pods_play.h), drawn: nodes in zones, PriorityClasses, budgets, and pods
// with everything that filters read. Values collide on purpose.
#pragma once

#include <string>
#include <vector>

#include "base/random.h"
#include "json/value.h"
#include "kapi/node_file.h"

namespace gs::sim {

inline constexpr const char* kTheirScheduler = "default-scheduler";
inline constexpr const char* kZoneLabel = "topology.kubernetes.io/zone";
inline constexpr const char* kOtherNamespace = "b";  // its label team is "t"

/// How many of a hundred pods of a play say what.
struct PodHabits {
  unsigned gpus = 0, claims = 0, cpus = 0, selects = 0, tolerates = 0, apart = 0, near = 0, spread = 0,
           ports = 0, priority = 0;
};
[[nodiscard]] PodHabits drawHabits(Rng& rng);

/// Three to eight in two or three zones, with four GPUs or none.
[[nodiscard]] std::vector<kapi::SimNode> drawNodes(Rng& rng);
[[nodiscard]] std::string drawZone(Rng& rng);

/// Besides: the other namespace, PriorityClasses low, mid, high and polite (which evicts nobody), GpuClaims
/// gpus-1 and gpus-2, and a budget in each namespace.
[[nodiscard]] std::vector<json::Value> clusterObjects();
[[nodiscard]] std::string budgetPath(const std::string& ns);

[[nodiscard]] std::string drawNamespace(Rng& rng);
/// `origin`: pods of the same one are made after each other, as by a controller.
[[nodiscard]] json::Value drawPod(Rng& rng, const PodHabits& habits, const std::string& origin);
/// Of another scheduler: it asks for no GPUs.
[[nodiscard]] json::Value drawTheirPod(Rng& rng, const PodHabits& habits, const std::string& origin);
/// The same again, by another name.
[[nodiscard]] json::Value named(json::Value pod, const std::string& name);

}  // namespace gs::sim
