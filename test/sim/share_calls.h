// What the simulated schedulers of pods that ask for shares read and write.
#pragma once

#include <string>

#include "base/random.h"
#include "json/value.h"
#include "sandbox/world/world.h"

namespace gs::sim {

/// Where writes of namespace b may fail (Feature::Stuck), every second slot is of that one: "o1", "o3", ...
[[nodiscard]] std::string sharePodName(int slot, bool of_two_namespaces);
/// All others, and members of gangs, are of namespace a.
[[nodiscard]] const char* shareNamespace(const std::string& pod);
[[nodiscard]] std::string sharePodPath(const std::string& pod, const char* sub = "");
/// Null: it is not there.
[[nodiscard]] json::Value storedPod(sandbox::World& world, const std::string& pod);
/// It is that one, and may be bound.
[[nodiscard]] bool isWaiting(const json::Value& pod, const std::string& uid);
/// PodScheduled=False; `number` makes no two equal.
void writeUnscheduled(sandbox::World& world, const std::string& pod, std::uint64_t number);
void writeBinding(sandbox::World& world, const std::string& pod, const std::string& uid,
                  const std::string& node);
/// Whom a scheduler asks: of so many that are extenders alone; 0: each scheduler has one beside it.
/// `is_fair`: no dead one, which a Service takes out of its endpoints.
[[nodiscard]] sandbox::ReplicaId drawExtender(sandbox::World& world, Rng& rng, int extenders, bool is_fair);

}  // namespace gs::sim
