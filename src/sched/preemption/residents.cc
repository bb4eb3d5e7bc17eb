#include "sched/preemption/residents.h"

#include <algorithm>

namespace gs::sched {
namespace {

bool isThere(const model::PodPtr& pod) { return pod != nullptr && pod->bound() && !pod->finished(); }

}  // namespace

std::size_t Residents::Pods::placeOf(const model::Uid& uid) const {
  const auto at = std::lower_bound(pods_.begin(), pods_.end(), uid,
                                   [](const model::PodPtr& a, const model::Uid& b) { return a->uid < b; });
  return static_cast<std::size_t>(at - pods_.begin());
}

std::vector<model::PodPtr>::const_iterator Residents::Pods::find(const model::Uid& uid) const {
  const auto at = pods_.begin() + static_cast<std::ptrdiff_t>(placeOf(uid));
  return at != pods_.end() && (*at)->uid == uid ? at : pods_.end();
}

void Residents::changed(const model::PodPtr& before, const model::PodPtr& after) {
  const bool was_there = isThere(before);
  const bool is_there = isThere(after);
  if (was_there) { remove(*before); }
  if (is_there) { put(after); }
  if (was_there && !(is_there && before->node == after->node)) {
    changes_.append(before->node, kMostChanges);
  }
  if (is_there) { changes_.append(after->node, kMostChanges); }
}

void Residents::put(const model::PodPtr& pod) {
  Pods& there = on_[pod->node];
  there.pods_.insert(there.pods_.begin() + static_cast<std::ptrdiff_t>(there.placeOf(pod->uid)), pod);
  ++priorities_[pod->priority];
  ++size_;
}

void Residents::remove(const model::Pod& pod) {
  const auto on = on_.find(pod.node);
  on->second.pods_.erase(on->second.find(pod.uid));
  if (on->second.empty()) { on_.erase(on); }
  const auto same = priorities_.find(pod.priority);
  if (--same->second == 0) { priorities_.erase(same); }
  --size_;
}

const Residents::Pods& Residents::on(const model::NodeName& node) const {
  static const Pods kNone;
  const auto pods = on_.find(node);
  return pods == on_.end() ? kNone : pods->second;
}

}  // namespace gs::sched
