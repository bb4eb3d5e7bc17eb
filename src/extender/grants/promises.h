// How often a kube-scheduler was told one node for a pod, and whether something came of it.
//
// A kube-scheduler asks about a pod again only when its last try failed: that its Binding was refused, or
// that some other plugin let go of the pod, it tells nobody but the pod, and not even that where the words
// are the same as before. But it may have given up waiting for an answer, or have started anew, and two may
// ask at once. So the pod's condition counts, where it changed since a promise, and else several promises
// that are not of one moment. Pure; one thread.
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
