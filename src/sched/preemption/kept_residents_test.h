// For tests: Residents with who keeps the pods for them.
#pragma once

#include <map>

#include "sched/preemption/residents.h"

namespace gs::sched {

class KeptResidents : public Residents {
 public:
  void put(const model::PodPtr& pod) {
    auto& kept = kept_[pod->uid];
    changed(kept, pod);
    kept = pod;
  }
  void remove(const model::Uid& uid) {
    const auto it = kept_.find(uid);
    if (it == kept_.end()) { return; }
    const model::PodPtr last = it->second;
    kept_.erase(it);
    changed(last, nullptr);
  }

 private:
  std::map<model::Uid, model::PodPtr> kept_;
};

}  // namespace gs::sched
