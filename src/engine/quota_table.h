// The quotas that count now (R49): the last good ones of the ConfigMap that holds them, none while there is
// no such ConfigMap, those of the configuration where it may not be read. A part of the engine.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "controller/event.h"
#include "controller/reflector.h"
#include "model/object.h"
#include "model/quota.h"

namespace gs::engine {

class QuotaTable {
 public:
  static constexpr Duration kForbiddenFor = std::chrono::seconds{5};

  void configure(model::QuotaConfig config) { config_ = std::move(config); }
  void apply(const controller::Change& change);
  /// Its list is complete.
  void listed();
  /// Its list was answered 403. That counts once nothing but this was answered for kForbiddenFor: an API
  /// server that has just started forbids for a moment what it allows.
  void forbidden(Mono now);
  /// Its list was answered otherwise, or not at all.
  void notForbidden() { forbidden_since_.reset(); }

  [[nodiscard]] const model::QuotaConfig& config() const { return config_; }
  /// nullptr: there are none, or none are known yet.
  [[nodiscard]] const model::Quotas* quotas() const { return quotas_.get(); }
  /// There is a ConfigMap to be read before anybody is placed, and it was not read yet.
  [[nodiscard]] bool awaited() const { return config_.on() && quotas_ == nullptr; }
  /// awaited(), and the last answer was 403: whether the ConfigMap may be read at all is known within
  /// kForbiddenFor.
  [[nodiscard]] bool undecided() const { return awaited() && forbidden_since_; }
  /// The ConfigMap may not be read: what was read before counts, or else the quotas of the configuration.
  [[nodiscard]] bool mayNotBeRead() const { return forbidden_; }
  /// The ConfigMap as it is now, when nothing can be made of it; else nullptr.
  [[nodiscard]] const model::Ptr<model::QuotaMap>& unusable() const { return unusable_; }
  /// Another number whenever quotas() changes.
  [[nodiscard]] std::uint64_t version() const { return version_; }

  /// For people: "ok", "off", or what is the matter and what counts meanwhile.
  [[nodiscard]] std::string state() const;
  /// The event that says that the ConfigMap cannot be used; once for each of its versions.
  [[nodiscard]] std::optional<controller::EventNote> takeWarning();

 private:
  void use(std::shared_ptr<const model::Quotas> quotas);
  void useNone() { use(std::make_shared<const model::Quotas>()); }

  model::QuotaConfig config_;
  std::shared_ptr<const model::Quotas> quotas_;  // of the ConfigMap as it was read: there may be many
  model::Ptr<model::QuotaMap> unusable_;
  model::Revision warned_ = 0;
  bool there_ = false;  // as far as we know
  std::optional<Mono> forbidden_since_;
  bool forbidden_ = false;
  std::uint64_t version_ = 0;
};

}  // namespace gs::engine
