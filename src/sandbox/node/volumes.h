// Volumes of pods that somebody else than the kubelet mounts (a CSI driver), as the kubelet meets them:
// containers start when all are mounted, and not before.
#pragma once

#include "base/clock.h"
#include "json/value.h"

namespace gs::sandbox {

class Volumes {
 public:
  virtual ~Volumes() = default;
  /// The containers of this pod are about to start. False: they wait, and it is asked again after
  /// PodTimes::start_after.
  [[nodiscard]] virtual bool areMounted(const json::Value& pod, Now now) = 0;
};

}  // namespace gs::sandbox
