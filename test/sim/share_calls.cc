#include "test/sim/share_calls.h"

#include <fmt/format.h>

#include "test/sim/cluster.h"
#include "test/sim/plan.h"

namespace gs::sim {

using json::Object;
using json::Value;

std::string sharePodName(int slot, bool of_two_namespaces) {
  return fmt::format("{}{}", of_two_namespaces && slot % 2 == 1 ? 'o' : 's', slot);
}

const char* shareNamespace(const std::string& pod) { return kNamespaces[pod.starts_with('o') ? 1 : 0]; }

std::string sharePodPath(const std::string& pod, const char* sub) {
  return fmt::format("/api/v1/namespaces/{}/pods/{}{}", shareNamespace(pod), pod, sub);
}

Value storedPod(sandbox::World& world, const std::string& pod) {
  const auto* stored = world.api().store().find({kPodsId, shareNamespace(pod), pod});
  return stored == nullptr ? Value{} : *stored->object;
}

bool isWaiting(const Value& pod, const std::string& uid) {
  return pod["metadata"]["uid"].str() == uid && pod["spec"]["nodeName"].str().empty() &&
         pod["metadata"].find("deletionTimestamp") == nullptr;
}

void writeUnscheduled(sandbox::World& world, const std::string& pod, std::uint64_t number) {
  Value condition = Object{{"type", "PodScheduled"},
                           {"status", "False"},
                           {"reason", "Unschedulable"},
                           {"message", fmt::format("0/2 nodes are available, try {}", number)}};
  (void)world.request("PATCH", sharePodPath(pod, "/status"),
                      Object{{"status", Object{{"conditions", json::Array{std::move(condition)}}}}},
                      "application/strategic-merge-patch+json");
}

void writeBinding(sandbox::World& world, const std::string& pod, const std::string& uid,
                  const std::string& node) {
  (void)world.request("POST", sharePodPath(pod, "/binding"),
                      Object{{"apiVersion", "v1"},
                             {"kind", "Binding"},
                             {"metadata", Object{{"name", pod}, {"uid", uid}}},
                             {"target", Object{{"kind", "Node"}, {"name", node}}}});
}

/// A standby forwards to the leader; who has just lost the lease, or will, may be asked too.
sandbox::ReplicaId drawExtender(sandbox::World& world, Rng& rng, int extenders, bool is_fair) {
  const int first = extenders > 0 ? kReplicas : 0;
  const int count = extenders > 0 ? extenders : kReplicas;
  const auto any = static_cast<sandbox::ReplicaId>(first + rng.below(static_cast<std::uint64_t>(count)));
  const bool any_will_do = !rng.chance(60) && (!is_fair || world.alive(any));
  return any_will_do ? any : world.leadingExtender().value_or(any);
}

}  // namespace gs::sim
