#include "sched/preemption/residents.h"

namespace gs::sched {

void Residents::put(const model::PodPtr& pod) {
  const bool is_there = pod->bound() && !pod->finished();
  remove(pod->uid, is_there ? pod->node : model::NodeName{});
  if (!is_there) { return; }
  all_.insert(pod);
  on_[pod->node].insert(pod);
  ++priorities_[pod->priority];
  changes_.append(pod->node, kMostChanges);
}

void Residents::remove(const model::Uid& uid) { remove(uid, {}); }

/// `next`: where it is put then. That node is noted once.
void Residents::remove(const model::Uid& uid, const model::NodeName& next) {
  const auto known = all_.find(uid);
  if (known == all_.end()) { return; }
  const model::PodPtr& pod = *known;
  const auto pods = on_.find(pod->node);
  pods->second.erase(pods->second.find(uid));
  const auto same = priorities_.find(pod->priority);
  if (--same->second == 0) { priorities_.erase(same); }
  if (pods->second.empty()) { on_.erase(pods); }
  if (pod->node != next) { changes_.append(pod->node, kMostChanges); }
  all_.erase(known);  // last: `pod` is its element
}

const Residents::Pods& Residents::on(const model::NodeName& node) const {
  static const Pods kNone;
  const auto pods = on_.find(node);
  return pods == on_.end() ? kNone : pods->second;
}

}  // namespace gs::sched
