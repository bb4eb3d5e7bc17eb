// Node selectors as values (core/v1 NodeSelector, NodeAffinity), as kube-scheduler reads them
// (k8s.io/component-helpers/scheduling/corev1/nodeaffinity). Made by kapi/decode_node_affinity.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/label_selector.h"

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

/// The only field of a node that a term may ask for.
inline constexpr const char* kNodeNameField = "metadata.name";
/// The label that each node has with a value of its own.
inline constexpr const char* kHostnameLabel = "kubernetes.io/hostname";

/// All must hold; a term with neither matches no node.
struct NodeTerm {
  std::vector<NodeRequirement> labels;  // matchExpressions; sorted, unique
  std::vector<NodeRequirement> fields;  // matchFields; of kNodeNameField, In or NotIn one value
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

/// Whether the term means a node with these labels and that name. Without a name ("") its fields are not
/// looked at, as of the node affinity of a volume.
[[nodiscard]] bool matches(const NodeTerm& term, const Labels& labels, const std::string& name);
/// Whether one of them does.
[[nodiscard]] bool matchesAny(const std::vector<NodeTerm>& terms, const Labels& labels,
                              const std::string& name);
/// False: each of the required terms names its nodes, and none of them this one. kube-scheduler asks that
/// before anything else.
[[nodiscard]] bool mayBeNamed(const NodeAffinity& affinity, const std::string& name);
/// True: each of the required terms names nodes, and no node is named by all that one of them says.
[[nodiscard]] bool namesNobody(const NodeAffinity& affinity);
/// It asks for values of kHostnameLabel: no node that is yet to come is meant.
[[nodiscard]] bool namesHosts(const NodeTerm& term);
/// Each of the required terms does, or names nodes by the field.
[[nodiscard]] bool namesNodes(const NodeAffinity& affinity);
/// The sum of the weights of preferred terms that mean it.
[[nodiscard]] std::int64_t preferredWeight(const NodeAffinity& affinity, const Labels& labels,
                                           const std::string& name);

/// As Go's strconv.ParseInt(text, 10, 64), by which Gt and Lt compare.
[[nodiscard]] std::optional<std::int64_t> integerOf(std::string_view text);

}  // namespace gs::model
