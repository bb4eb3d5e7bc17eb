#include "sched/preemption/residents.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace gs::sched {
namespace {

bool isThere(const model::PodPtr& pod) { return pod != nullptr && pod->bound() && !pod->finished(); }

}  // namespace

void Residents::Pods::put(const model::PodPtr& pod) {
  pods_.push_back(pod);
  is_sorted_ = false;
}

void Residents::Pods::remove(const model::PodPtr& pod) {
  const auto it = std::find(pods_.begin(), pods_.end(), pod);
  GS_CHECK(it != pods_.end(), "pod {} on node {} is not the value that was told", pod->uid.text,
           pod->node.text);
  pods_.erase(it);
}

void Residents::Pods::sort() {
  if (std::exchange(is_sorted_, true)) { return; }
  std::sort(pods_.begin(), pods_.end(),
            [](const model::PodPtr& a, const model::PodPtr& b) { return a->uid < b->uid; });
}

std::vector<model::PodPtr>::const_iterator Residents::Pods::find(const model::Uid& uid) const {
  const auto at = std::lower_bound(pods_.begin(), pods_.end(), uid,
                                   [](const model::PodPtr& a, const model::Uid& b) { return a->uid < b; });
  return at != pods_.end() && (*at)->uid == uid ? at : pods_.end();
}

void Residents::changed(const model::PodPtr& before, const model::PodPtr& after) {
  const bool was_there = isThere(before);
  const bool is_there = isThere(after);
  if (was_there) { remove(before); }
  if (is_there) { put(after); }
  if (was_there && !(is_there && before->node == after->node)) {
    changes_.append(before->node, kMostChanges);
  }
  if (is_there) { changes_.append(after->node, kMostChanges); }
}

void Residents::put(const model::PodPtr& pod) {
  on_[pod->node].put(pod);
  ++priorities_[pod->priority];
  ++size_;
}

void Residents::remove(const model::PodPtr& pod) {
  const auto on = on_.find(pod->node);
  GS_CHECK(on != on_.end(), "pod {} on node {} was never told", pod->uid.text, pod->node.text);
  on->second.remove(pod);
  if (on->second.empty()) { on_.erase(on); }
  const auto same = priorities_.find(pod->priority);
  if (--same->second == 0) { priorities_.erase(same); }
  --size_;
}

const Residents::Pods& Residents::on(const model::NodeName& node) const {
  static const Pods kNone;
  const auto pods = on_.find(node);
  if (pods == on_.end()) { return kNone; }
  pods->second.sort();
  return pods->second;
}

}  // namespace gs::sched
