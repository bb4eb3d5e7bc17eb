#include "sched/preemption/residents.h"

namespace gs::sched {

void Residents::put(const model::PodPtr& pod) {
  if (!pod->bound() || pod->finished()) { return remove(pod->uid); }
  const auto was = node_of_.find(pod->uid);
  if (was != node_of_.end() && was->second != pod->node) { remove(pod->uid); }
  node_of_[pod->uid] = pod->node;
  on_[pod->node][pod->uid] = pod;
  changes_.append(pod->node, kMostChanges);
}

void Residents::remove(const model::Uid& uid) {
  const auto node = node_of_.extract(uid);
  if (node.empty()) { return; }
  const auto pods = on_.find(node.mapped());
  pods->second.erase(uid);
  if (pods->second.empty()) { on_.erase(pods); }
  changes_.append(node.mapped(), kMostChanges);
}

const Residents::Pods& Residents::on(const model::NodeName& node) const {
  static const Pods kNone;
  const auto pods = on_.find(node);
  return pods == on_.end() ? kNone : pods->second;
}

}  // namespace gs::sched
