// Promises: how often a kube-scheduler was told one node for a pod, and whether nothing came of it. If so,
// another node is tried first.
//
// kube-scheduler does not tell an extender that a Binding was refused, or that one of its plugins rejected
// the pod: it asks about the pod again. But to ask again proves nothing. It may have given up waiting for
// our answer, it may have started anew, and two of them may ask at once. A promise counts as made in vain
// when
//   - the pod's condition PodScheduled is False and changed since the promise; or
//   - the node was promised kInVain times, at least kOneMoment apart. (kube-scheduler writes no condition
//     where the words would be the same as before.)
// Pure; one thread.
#pragma once

#include "base/clock.h"
#include "model/pod.h"

namespace gs::extender {

class Promises {
 public:
  static constexpr int kInVain = 3;
  static constexpr Duration kOneMoment = std::chrono::seconds{1};

  /// `scheduled`: what the pod said of that at the time.
  void made(const model::ScheduledCondition& scheduled, Mono now) {
    if (times_ == 0 || now >= last_ + kOneMoment) {
      ++times_;
      last_ = now;
    }
    scheduled_ = scheduled;
  }
  /// `scheduled`: what the pod says as it is asked about again.
  [[nodiscard]] bool inVain(const model::ScheduledCondition& scheduled) const {
    const bool was_said = scheduled.status == "False" && scheduled != scheduled_;
    return times_ >= kInVain || (times_ > 0 && was_said);
  }

 private:
  int times_ = 0;
  Mono last_{};
  model::ScheduledCondition scheduled_;
};

}  // namespace gs::extender
