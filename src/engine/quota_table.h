// The quotas that count now (design 3.16): the last good ones of the ConfigMap that holds them, none while there is no such
// ConfigMap, those of the configuration while it may not be read. A part of the engine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "kapi/event.h"
#include "kapi/reflector.h"
#include "model/object.h"

namespace gs::engine {

class QuotaTable {
 public:
  void configure(model::QuotaConfig config) { config_ = std::move(config); }
  void apply(const kapi::Change& change);
  /// Its list is complete; or it may not be read.
  void listed(bool forbidden);

  [[nodiscard]] const model::QuotaConfig& config() const { return config_; }
  /// nullptr: there are none, or none are known yet.
  [[nodiscard]] const model::Quotas* quotas() const { return quotas_ ? &*quotas_ : nullptr; }
  /// They are to be read before anybody is placed, and were not.
  [[nodiscard]] bool awaited() const { return config_.on() && !quotas_; }
  /// The ConfigMap as it is, when it cannot be used; else nullptr.
  [[nodiscard]] const model::Ptr<model::QuotaMap>& unusable() const { return unusable_; }
  /// Another number whenever quotas() changes.
  [[nodiscard]] std::uint64_t version() const { return version_; }

  /// For people: "ok", "off", or what is the matter and what counts meanwhile.
  [[nodiscard]] std::string state() const;
  /// Each time that the ConfigMap cannot be used: the event that says so, once.
  [[nodiscard]] std::optional<kapi::EventNote> takeWarning();

 private:
  void use(const model::Quotas& quotas);

  model::QuotaConfig config_;
  std::optional<model::Quotas> quotas_;
  model::Ptr<model::QuotaMap> unusable_;
  model::Revision warned_ = 0;
  bool there_ = false;  // as far as we know
  bool forbidden_ = false;
  std::uint64_t version_ = 0;
};

}  // namespace gs::engine
