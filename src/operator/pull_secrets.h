// PullSecrets: reads Secrets that caches name in spec.imagePullSecrets, for whoever waits for one: a review,
// a fetch. Nothing is kept, so that a Secret that changed counts; nothing of one is logged.
//
// A machine, to be run beside another one: give it the answers to its own calls (isForIt()). Each read is
// answered once, by an error where the API server gives none. One thread.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/result.h"
#include "kapi/call.h"
#include "kapi/kind.h"
#include "model/ids.h"

namespace gs::gkm {

/// A Secret as far as registries' credentials need it.
struct PullSecret {
  model::ObjectKey key;
  model::Uid uid;
  model::Revision revision = 0;
  std::string text;  // type and data, as JSON
  friend bool operator==(const PullSecret&, const PullSecret&) = default;
};
extern const kapi::Kind kPullSecret;

class PullSecrets {
 public:
  /// The Secret's text. Errors: it is not there, or may not be read, and what to do then.
  using Done = std::function<void(Result<std::string>)>;

  [[nodiscard]] kapi::Effects read(const model::ObjectKey& secret, Done done);
  [[nodiscard]] kapi::Effects handle(const kapi::MachineEvent& event);
  [[nodiscard]] static bool isForIt(const kapi::MachineEvent& event);

 private:
  struct Asked {
    model::ObjectKey secret;
    Done done;
  };
  std::map<kapi::Token, Asked> asked_;
  std::uint64_t next_ = 1;
};

}  // namespace gs::gkm
