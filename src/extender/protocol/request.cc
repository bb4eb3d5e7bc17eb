#include "extender/protocol/request.h"

#include <utility>

namespace gs::extender {

std::optional<std::size_t> positionOf(const Candidates& c, const model::NodeName& node) {
  const NodeTable::Index wanted = c.table->find(node.text);
  for (std::size_t i = 0; i < c.nodes.size(); ++i) {
    if (c.nodes[i] == wanted && wanted != NodeTable::kUnknown) { return i; }
  }
  for (const auto& [i, object] : c.objects) {
    if (object->name == node) { return i; }
  }
  return std::nullopt;
}

model::NodeName nodeAt(const Candidates& c, std::size_t i) {
  const auto object = c.objects.find(i);
  if (object != c.objects.end()) { return object->second->name; }
  return c.nodes[i] == NodeTable::kUnknown ? model::NodeName{} : model::NodeName{c.table->name(c.nodes[i])};
}

const sched::NodeStanding* standingAt(const Answer& a, const Candidates& c, std::size_t i) {
  const auto object = a.of_objects.find(i);
  if (object != a.of_objects.end()) { return &object->second; }
  const bool known = a.standings != nullptr && c.nodes[i] < a.standings->size();
  return known ? &(*a.standings)[c.nodes[i]] : nullptr;
}

Answer answerOf(engine::Preemption::Answer found, const NodeTablePtr& table) {
  using How = engine::Preemption::Answer::Kind;
  using Kind = Answer::Kind;
  Answer a;
  a.kind = found.kind == How::Found ? Kind::Kept : Kind::Unavailable;
  if (found.kind == How::NodesChanged) {
    a.kind = Kind::NewTable;
    a.table = table;
  } else if (found.kind == How::TooLate) {
    a.text = "too many requests about preemption are being answered; ask again";
  }
  for (auto& kept : found.kept) {
    a.kept.push_back(kept.position);
    a.victims.push_back(std::move(kept.victims));
  }
  return a;
}

}  // namespace gs::extender
