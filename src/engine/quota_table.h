// The quotas that count now: the last good ones of the ConfigMap that holds them (design 3.16), none while there is no such
// ConfigMap, the fallback while it may not be read. nullptr: not known yet. A part of the engine.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "kapi/reflector.h"
#include "model/object.h"

namespace gs::engine {

class QuotaTable {
 public:
  void setFallback(model::Quotas quotas) { fallback_ = std::move(quotas); }
  void apply(const kapi::Change& change);
  /// Its list is complete; or it may not be read.
  void listed(bool forbidden);

  [[nodiscard]] const model::Quotas* quotas() const { return quotas_ ? &*quotas_ : nullptr; }
  /// The ConfigMap as it is, when it cannot be used; else nullptr.
  [[nodiscard]] const model::Ptr<model::QuotaMap>& unusable() const { return unusable_; }
  [[nodiscard]] bool forbidden() const { return forbidden_; }
  /// Another number whenever quotas() changes.
  [[nodiscard]] std::uint64_t version() const { return version_; }

 private:
  void use(const model::Quotas& quotas);

  model::Quotas fallback_;
  std::optional<model::Quotas> quotas_;
  model::Ptr<model::QuotaMap> unusable_;
  bool there_ = false;  // as far as we know
  bool forbidden_ = false;
  std::uint64_t version_ = 0;
};

}  // namespace gs::engine
