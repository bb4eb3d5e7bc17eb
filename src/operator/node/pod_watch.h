// PodWatch: where the pods of this node mount their caches (kcache/node/mount_paths.h), for the CSI driver.
//
// It runs beside a machine, and gets what is for it and the time by `parts`. Kept of a pod is where it mounts
// volumes of our driver and PersistentVolumeClaims, and nothing of pods that have neither, or have ended.
// That pods may not be listed (403) takes nothing away from what is known. One thread.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/random.h"
#include "base/readiness.h"
#include "controller/watches.h"
#include "kapi/call.h"
#include "kcache/node/mount_paths.h"
#include "model/ids.h"

namespace gs::gkm {

class PodWatch {
 public:
  /// All of them, each time that they changed; first when a list was complete. On the machine's thread.
  using Told = std::function<void(kcache::MountPathsPtr)>;
  PodWatch(controller::Parts& parts, const model::NodeName& node, Told told, Rng rng);

  void start(Now now, kapi::Effects& out) { watches_.start(now, out); }
  /// For /readyz.
  [[nodiscard]] Readiness::Check check() const;

 private:
  void take(const controller::Reflector::Output& output, kapi::Effects& out);

  const Told told_;
  controller::Watches watches_;
  std::map<model::ObjectKey, std::string> uids_;  // of pods that are in paths_
  kcache::MountPaths paths_;
};

}  // namespace gs::gkm
