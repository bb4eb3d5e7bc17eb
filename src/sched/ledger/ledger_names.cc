// By which names maps mean nodes (model/map.h). The rest of the ledger is in ledger.cc.
#include <iterator>

#include "model/annotations.h"
#include "sched/ledger/ledger.h"

namespace gs::sched {
namespace {

/// "": it has none.
const std::string& nameLabelOf(const model::Node& node) {
  static const std::string kNone;
  const auto label = node.labels.find(model::kNodeNameLabel);
  return label == node.labels.end() ? kNone : label->second;
}

}  // namespace

std::optional<Ledger::NodeIndex> Ledger::named(const std::string& name) const {
  if (const auto nodes = labelled_.find(name); nodes != labelled_.end()) {
    return nodes->second.begin()->second;
  }
  const auto own = indexOf(model::NodeName{name});
  return own && at(*own).exists ? own : std::nullopt;
}

/// Node `i` is there, with these labels. Whoever answered to its name, or label, answers no more.
void Ledger::takeName(NodeIndex i) {
  NodeState& n = *nodes_[i];
  n.by_own_name = !labelled_.contains(n.node.name.text);
  const std::string& label = nameLabelOf(n.node);
  if (label.empty()) { return; }
  auto& nodes = labelled_[label];
  const auto mine = nodes.emplace(n.node.name, i).first;
  const auto next = std::next(mine);
  n.by_label = mine == nodes.begin();
  if (n.by_label && next != nodes.end()) {
    nodes_[next->second]->by_label = false;
    factsChanged(next->second);
  }
  const auto own = nodes.size() == 1 ? indexOf(model::NodeName{label}) : std::nullopt;
  if (own && nodes_[*own]->by_own_name) {
    nodes_[*own]->by_own_name = false;
    factsChanged(*own);
  }
}

/// Node `i` goes, or its labels change.
void Ledger::leaveName(NodeIndex i) {
  NodeState& n = *nodes_[i];
  n.by_own_name = n.by_label = false;
  const std::string& label = nameLabelOf(n.node);
  const auto nodes = label.empty() ? labelled_.end() : labelled_.find(label);
  if (nodes == labelled_.end() || nodes->second.erase(n.node.name) == 0) { return; }
  if (!nodes->second.empty()) {
    const NodeIndex first = nodes->second.begin()->second;
    if (nodes_[first]->by_label) { return; }
    nodes_[first]->by_label = true;
    return factsChanged(first);
  }
  labelled_.erase(nodes);
  const auto own = indexOf(model::NodeName{label});
  if (!own || !nodes_[*own]->exists || *own == i) { return; }
  nodes_[*own]->by_own_name = true;
  factsChanged(*own);
}

}  // namespace gs::sched
