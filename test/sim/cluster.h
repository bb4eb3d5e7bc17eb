// The objects of a play: its namespaces, claims, pods, nodes and GPUs.
#pragma once

#include <string>
#include <vector>

#include "json/value.h"
#include "kapi/node_file.h"
#include "model/node.h"
#include "sandbox/world/world.h"
#include "test/sim/plan.h"

namespace gs::sim {

inline constexpr const char* kNamespaces[] = {"a", "b"};
inline constexpr const char* kClaimNames[] = {"one", "two", "shared", "near", "late"};

// As the store of the API server names kinds.
inline constexpr const char* kPodsId = "/pods";
inline constexpr const char* kNodesId = "/nodes";
inline constexpr const char* kLeasesId = "coordination.k8s.io/leases";
inline constexpr const char* kStatusesId = "gpu.scheduling/gpunodestatuses";

/// one, two, shared, near (Required topology), late (made by a step only).
[[nodiscard]] json::Value claimObject(int which, const std::string& ns);
[[nodiscard]] json::Value podObject(int slot, int flavour);
/// A pod with a claim as its author might have written it: with variables that refer to what a container is
/// told, that would tell it something else, or by which CUDA would count GPUs in another order; other pods
/// are left as they are. `which`: any.
[[nodiscard]] json::Value withOwnVariables(json::Value pod, int which);
/// In env of those: what refers to the told variable.
inline constexpr const char* kRefers = "SIM_TOLD";
/// A pod with mapText().
[[nodiscard]] json::Value mappedPodObject(int slot, int name, int which);
/// One line for the pod of that slot, and some for others; for some `which` none for it, or a wrong one.
[[nodiscard]] std::string mapText(int slot, int name, int which);
/// By which maps mean nodes: 0..2 their own, 3..4 labels only, 5.. no node's. As a label: -1 and over 4 none.
[[nodiscard]] std::string logicalName(int which);
[[nodiscard]] std::string podName(int slot);
[[nodiscard]] std::string podPath(int slot);
[[nodiscard]] std::string nodeName(int node);
[[nodiscard]] std::vector<model::Device> gpus(int node, int count);
/// `enforced`: the agent of each gives containers the GPUs that were chosen; else of every second one.
[[nodiscard]] kapi::SimNode simNode(int node, bool enforced);
/// The World of that plan.
[[nodiscard]] sandbox::World::Options optionsOf(const Plan& plan);

/// The models of GPUs that nodes' labels say, and the ConfigMap of kube-system that says how many of each a
/// namespace may have.
inline constexpr const char* kModels[] = {"small", "big"};
inline constexpr const char* kQuotaMap = "gpuquota";
[[nodiscard]] std::string modelOf(const std::string& node);

}  // namespace gs::sim
