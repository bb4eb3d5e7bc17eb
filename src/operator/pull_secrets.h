// PullSecrets: reads Secrets that caches name in spec.imagePullSecrets, for whoever waits for one: a review,
// a fetch. Nothing is kept, so that a Secret that changed counts; nothing of one is logged.
//
// It runs beside a machine, and gets the answers to its calls by `parts`. Each read is answered once, by an
// error where the API server gives none. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "base/result.h"
#include "controller/parts.h"
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

class PullSecrets final : public controller::Part {
 public:
  /// The Secret's text. Errors: it is not there, or may not be read, and what to do then.
  using Done = std::function<void(Result<std::string>)>;

  explicit PullSecrets(controller::Parts& parts) : owner_{parts.add(*this)} {}

  [[nodiscard]] kapi::Effects read(const model::ObjectKey& secret, Done done);
  void handle(const kapi::Outcome& outcome, Now now, kapi::Effects& out) override;

 private:
  struct Asked {
    model::ObjectKey secret;
    Done done;
  };
  const std::uint8_t owner_;
  std::map<kapi::Token, Asked> asked_;
  std::uint64_t next_ = 1;
};

}  // namespace gs::gkm
