#include "sched/preemption/residents.h"

namespace gs::sched {

void Residents::put(const model::PodPtr& pod) {
  const bool is_there = pod->bound() && !pod->finished();
  remove(pod->uid, is_there ? pod->node : model::NodeName{});
  if (!is_there) { return; }
  node_of_[pod->uid] = pod->node;
  on_[pod->node][pod->uid] = pod;
  ++priorities_[pod->priority];
  changes_.append(pod->node, kMostChanges);
}

void Residents::remove(const model::Uid& uid) { remove(uid, {}); }

/// `next`: where it is put then. That node is noted once.
void Residents::remove(const model::Uid& uid, const model::NodeName& next) {
  const auto node = node_of_.extract(uid);
  if (node.empty()) { return; }
  const auto pods = on_.find(node.mapped());
  const auto pod = pods->second.extract(uid);
  const auto same = priorities_.find(pod.mapped()->priority);
  if (--same->second == 0) { priorities_.erase(same); }
  if (pods->second.empty()) { on_.erase(pods); }
  if (node.mapped() != next) { changes_.append(node.mapped(), kMostChanges); }
}

const Residents::Pods& Residents::on(const model::NodeName& node) const {
  static const Pods kNone;
  const auto pods = on_.find(node);
  return pods == on_.end() ? kNone : pods->second;
}

}  // namespace gs::sched
