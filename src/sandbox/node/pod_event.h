// Warnings about pods, as Events that `kubectl describe pod` and `kubectl get events` show: what the sandbox
// itself has to tell a user. Once per pod and reason: the Event is named after both.
#pragma once

#include <string>

#include "base/clock.h"
#include "json/value.h"

namespace gs::apiserver {
class Api;
}

namespace gs::sandbox {

void warnAbout(apiserver::Api& api, const json::Value& pod, const std::string& reason,
               const std::string& message, Now now);

/// Pods that wait for a scheduler that is not here. Looks at what changed in the store since the last look.
class UnclaimedPods {
 public:
  /// `scheduler`: the name of the one that is here. `api` must outlive it.
  UnclaimedPods(apiserver::Api& api, std::string scheduler);
  void look(Now now);

 private:
  apiserver::Api& api_;
  const std::string scheduler_;
  std::uint64_t position_;  // of the store's history
};

}  // namespace gs::sandbox
