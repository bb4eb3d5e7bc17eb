// What kube-scheduler and Volcano send to an extender, read from a body's bytes without making objects of
// them: a body may hold a thousand Nodes of which only names are needed.
//
// Everything is a view into the body, which must outlive it unchanged. `pod` and `object` are JSON that was
// not checked: json::Document::read() does that. Keys are read in any case, as Go does; unknown ones are
// passed over; of a repeated one the last counts. A value of the wrong type is an error that names its key.
// Source: k8s.io/kube-scheduler/extender/v1 (its types are the same from 1.23 on), Volcano's
// pkg/scheduler/plugins/extender.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/scanner.h"
#include "model/ids.h"

namespace gs::extender {

// What is taken: more than any cluster has (Kubernetes supports 5,000 nodes and 150,000 pods; an API server
// takes objects up to 3 MiB), and so little that no body can make a process large.
inline constexpr std::size_t kMostBody = std::size_t{128} << 20;  // bytes
inline constexpr std::size_t kMostNodes = 100'000;                // also of those that have victims
inline constexpr std::size_t kMostVictims = 1'000'000;            // on all nodes together
inline constexpr std::size_t kMostVictimsOfNode = 10'000;         // no kubelet runs so many pods
inline constexpr std::size_t kMostObject = std::size_t{4} << 20;  // bytes of one pod or node

/// A node that somebody asks about.
struct NodeArg {
  std::string_view name;
  std::string_view object;       // its JSON; "": given by name only
  model::Revision revision = 0;  // of `object`; 0: none is said
};

/// ExtenderArgs: the body of filter and prioritize.
struct FilterArgs {
  std::string_view pod;  // JSON; "": none was given
  bool by_name = false;  // NodeNames was given (nodeCacheCapable), else Nodes or neither
  bool with_objects = false;
  std::vector<NodeArg> nodes;     // in the order given
  std::string_view nodes_object;  // the NodeList's JSON, with `with_objects`
};

/// One node's victims in ExtenderPreemptionArgs.
struct VictimsArg {
  std::string node;
  std::vector<std::string_view> uids;
  std::int64_t pdb_violations = 0;
};

struct PreemptArgs {
  std::string_view pod;
  /// In the order given, of whichever of the two maps was given; each node once.
  std::vector<VictimsArg> victims;
};

struct BindArgs {
  model::ObjectKey pod;
  model::Uid uid;
  model::NodeName node;
};

/// Volcano's predicate (one node), prioritize (several) and allocateFunc, deallocateFunc (none).
struct TaskArgs {
  std::string_view pod;      // task.Pod
  std::string_view on_node;  // task.NodeName: the node that it was given, "" before
  std::vector<NodeArg> nodes;
};

// Error Invalid: in Go's words first for a body that is empty or cut off ("EOF", "unexpected EOF: ..."), as
// users of the ancestor know them; what is no JSON is told by where it stops being that.
[[nodiscard]] Result<FilterArgs> readFilterArgs(json::Scanner& scanner, std::string& body);
[[nodiscard]] Result<PreemptArgs> readPreemptArgs(json::Scanner& scanner, std::string& body);
[[nodiscard]] Result<BindArgs> readBindArgs(json::Scanner& scanner, std::string& body);
[[nodiscard]] Result<TaskArgs> readTaskArgs(json::Scanner& scanner, std::string& body);

}  // namespace gs::extender
