// Which nodes a pod wants (spec.affinity.nodeAffinity), and what it takes of its node besides amounts, from
// JSON.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "json/document.h"
#include "model/node_affinity.h"
#include "model/pod_affinity.h"

namespace gs::kapi {

/// A NodeSelectorTerm. One with a requirement that is wrong in form, which kube-scheduler cannot read and API
/// servers refuse, means no node: it comes back empty.
[[nodiscard]] model::NodeTerm nodeTermOf(const json::View& term);

/// spec.affinity.nodeAffinity. One with very many requirements or values comes back empty, and is named in
/// `unsupported`: each node is compared with all of them.
[[nodiscard]] model::NodeAffinity nodeAffinityOf(const json::View& spec, std::set<std::string>& unsupported);

/// Those that kube-scheduler counts: of containers and sidecars. (Of a pod with hostNetwork the API server
/// writes a hostPort for each containerPort.) Sorted, unique.
[[nodiscard]] std::vector<model::HostPort> hostPortsOf(const json::View& spec);

/// What its node must declare that it can do, as kube-scheduler infers it from 1.36 on
/// (NodeDeclaredFeatures). API servers before that take no pod that would need any. Sorted, unique.
[[nodiscard]] std::vector<std::string> nodeFeaturesOf(const json::View& spec);

}  // namespace gs::kapi
