// What kube-scheduler's filters say, for the judge of the plays with pods (pods_judge.h): a slow model, which
// reads the objects as the API server holds them, and looks at every pod and every node for each question.
// Nothing of the scheduler's code is asked.
//
// A decision is made on what its scheduler knew, and nobody can see what that was. So some questions are
// asked with two lists of pods: those that it knew for sure, and those that it may have known. What is said
// then is true whichever of them it knew.
// Pods ask for whole cpus, and for GPUs by limits or by a claim of the name `gpus-N`, with which N come.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "apiserver/storage/store.h"
#include "json/value.h"

namespace gs::sim::slow {

/// A pod that counts as being on a node.
struct There {
  apiserver::ObjectPtr pod;
  std::string node;
  bool leaves = false;  // it counts for nobody's spread
};

using Objects = std::map<std::string, apiserver::ObjectPtr>;  // by name
struct Places {
  Objects nodes;
  Objects namespaces;
};

// "" where nothing is refused, else why.

/// By what the node itself says: is it Ready, schedulable, tolerated, selected?
[[nodiscard]] std::string refusesFacts(const json::Value& node, const json::Value& pod);
/// Cpus, GPUs and ports, beside those.
[[nodiscard]] std::string refusesRoom(const json::Value& node, const json::Value& pod,
                                      const std::vector<There>& pods);
/// Required anti-affinity, the pod's own and that of those that are there.
[[nodiscard]] std::string refusesApart(const Places& places, const std::string& node, const json::Value& pod,
                                       const std::vector<There>& pods);
/// Required affinity. `sure` were known, and `most` are all that may have been.
[[nodiscard]] std::string refusesNear(const Places& places, const std::string& node, const json::Value& pod,
                                      const std::vector<There>& sure, const std::vector<There>& most);
/// DoNotSchedule. The same.
[[nodiscard]] std::string refusesSpread(const Places& places, const std::string& node, const json::Value& pod,
                                        const std::vector<There>& sure, const std::vector<There>& most);
/// All of them, where it is known who is there. `places` has that node.
[[nodiscard]] std::string refuses(const Places& places, const std::string& node, const json::Value& pod,
                                  const std::vector<There>& pods);

[[nodiscard]] std::int64_t gpusOf(const json::Value& pod);
[[nodiscard]] std::int64_t priorityOf(const json::Value& pod);
/// The pod means this one by every term of its required affinity; false: it has none.
[[nodiscard]] bool wantsNear(const Places& places, const json::Value& pod, const json::Value& other);
[[nodiscard]] bool hasNear(const json::Value& pod);
[[nodiscard]] bool hasSpread(const json::Value& pod);
[[nodiscard]] bool isFinished(const json::Value& pod);

}  // namespace gs::sim::slow
