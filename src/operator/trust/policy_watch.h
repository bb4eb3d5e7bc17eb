// PolicyWatch: the ConfigMap with the policy of signatures (kcache/trust/policy.h), as its texts, for whoever
// decides by them. Another one than ours is not looked at.
//
// It runs beside a machine, and gets what is for it and the time by `parts`. Until a list was complete it
// has said nothing, and nobody may decide as if there were no policy. One that cannot be read any more (403,
// no answer) stays as it was. One thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/random.h"
#include "base/readiness.h"
#include "controller/watches.h"
#include "kapi/call.h"

namespace gs::gkm {

/// Values by key, as the ConfigMap has them; "data" only.
using PolicyTexts = std::map<std::string, std::string>;

class PolicyWatch {
 public:
  /// There is one, or (nullptr) there is none. On the machine's thread.
  using Told = std::function<void(std::shared_ptr<const PolicyTexts>)>;
  /// `ns`: our own namespace.
  PolicyWatch(controller::Parts& parts, const std::string& ns, std::string name, Told told, Rng rng);

  void start(Now now, kapi::Effects& out) { watches_.start(now, out); }
  /// It has said how it is.
  [[nodiscard]] bool isKnown() const { return is_known_; }
  /// For /readyz.
  [[nodiscard]] Readiness::Check check() const;

 private:
  void take(const controller::Reflector::Output& output);

  const std::string name_;
  const Told told_;
  controller::Watches watches_;
  bool is_known_ = false;
};

}  // namespace gs::gkm
