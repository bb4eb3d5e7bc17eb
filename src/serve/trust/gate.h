// TrustGate: whether a cache may have an image, by the policy of signatures that there is
// (kcache/trust/policy.h, cacherim/trust/verify.h).
//
// policyIs() says which one there is, with each change; until then nobody may have anything (Unavailable). A
// policy that cannot be read refuses everything, with what is wrong in it: a slip of the pen must not turn
// checks off.
// Any thread.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "base/result.h"
#include "cacherim/registry/registry.h"
#include "cacherim/trust/judge.h"
#include "kcache/trust/policy.h"
#include "model/ids.h"

namespace gs::serve {

class TrustGate {
 public:
  /// The ConfigMap's values by key; nullptr: there is none.
  void policyIs(const std::shared_ptr<const std::map<std::string, std::string>>& texts) GS_EXCLUDES(mutex_);

  /// Why it may: who signed it, or which rule lets it through; for people. `image` names a digest. Errors:
  /// Conflict, it may not; Unavailable, Deadline: nobody can say it now.
  [[nodiscard]] Result<std::string> admit(cacherim::Registry& registry, const model::ObjectKey& cache,
                                          const kcache::Reference& image) const GS_EXCLUDES(mutex_);
  /// Why the policy cannot be used; "" it can, or there is none.
  [[nodiscard]] std::string trouble() const GS_EXCLUDES(mutex_);

 private:
  struct Rules {
    kcache::trust::Policy policy;
    cacherim::trust::TrustedRoots roots;
  };
  using Read = Result<std::shared_ptr<const Rules>>;
  [[nodiscard]] static Read read(const std::map<std::string, std::string>& texts);
  [[nodiscard]] Read rules() const GS_EXCLUDES(mutex_);

  mutable Mutex mutex_;
  Read read_ GS_GUARDED_BY(mutex_) = fail(Code::Unavailable, "the policy of signatures is not known yet");
};

}  // namespace gs::serve
