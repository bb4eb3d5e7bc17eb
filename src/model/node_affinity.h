// Node selectors as values (core/v1 NodeSelector, NodeAffinity), as kube-scheduler reads them
// (k8s.io/component-helpers/scheduling/corev1/nodeaffinity).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace gs::model {

/// One expression over a label of the node. Gt and Lt compare with whole numbers, and fail where the label is
/// missing or is none. NotIn and DoesNotExist hold where it is missing.
struct NodeRequirement {
  enum class Op : std::uint8_t { In, NotIn, Exists, DoesNotExist, Gt, Lt };
  std::string key;
  Op op{};
  std::vector<std::string> values;  // In, NotIn: sorted, unique; Gt, Lt: one
  friend auto operator<=>(const NodeRequirement&, const NodeRequirement&) = default;
};

/// All must hold; a term with neither matches no node.
struct NodeTerm {
  std::vector<NodeRequirement> labels;  // matchExpressions; sorted, unique
  std::vector<NodeRequirement> fields;  // matchFields; the key is "metadata.name", the operator In or NotIn
  friend auto operator<=>(const NodeTerm&, const NodeTerm&) = default;
};

struct PreferredNodeTerm {
  std::int32_t weight = 0;  // 1 to 100
  NodeTerm term;
  friend auto operator<=>(const PreferredNodeTerm&, const PreferredNodeTerm&) = default;
};

/// spec.affinity.nodeAffinity.
struct NodeAffinity {
  bool is_required = false;
  std::vector<NodeTerm> required;  // one of them must match; none, though required: no node does
  std::vector<PreferredNodeTerm> preferred;
  friend auto operator<=>(const NodeAffinity&, const NodeAffinity&) = default;
};

}  // namespace gs::model
