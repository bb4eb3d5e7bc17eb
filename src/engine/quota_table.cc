#include "engine/quota_table.h"

#include "kapi/kinds.h"

#include <fmt/format.h>

namespace gs::engine {

void QuotaTable::use(std::shared_ptr<const model::Quotas> quotas) {
  if (quotas_ != nullptr && *quotas_ == *quotas) { return; }
  quotas_ = std::move(quotas);
  ++version_;
}

void QuotaTable::apply(const controller::Change& change) {
  const auto map = change.object.as<model::QuotaMap>();
  const bool usable = map == nullptr || map->quotas;
  unusable_ = usable ? nullptr : map;
  if (usable && map != nullptr) { use({map, &*map->quotas}); }
  if (map == nullptr) { useNone(); }
  there_ = map != nullptr;
}

void QuotaTable::listed() {
  notForbidden();
  forbidden_ = false;
  if (!there_) { useNone(); }
}

void QuotaTable::forbidden(Mono now) {
  if (!forbidden_since_) { forbidden_since_ = now; }
  if (now - *forbidden_since_ < kForbiddenFor) { return; }
  forbidden_ = true;
  if (!there_) {
    use(std::make_shared<const model::Quotas>(config_.if_forbidden));
  }  // else what was read last counts
}

std::string QuotaTable::state() const {
  if (!config_.on()) { return "off"; }
  if (unusable_ != nullptr) {
    return fmt::format(
        "ConfigMap {}: {}; {}", config_.map.text(), unusable_->malformed,
        quotas_ ? "the quotas that were read before count" : "no pod gets a GPU until this is mended");
  }
  if (forbidden_ && there_) {
    return fmt::format("ConfigMap {} may not be read any more; what was read last counts",
                       config_.map.text());
  }
  if (forbidden_) {
    return fmt::format("{}: ConfigMap {} may not be read",
                       config_.if_forbidden.empty() ? "off" : "those of the configuration file",
                       config_.map.text());
  }
  if (undecided()) {
    return fmt::format("ConfigMap {} may not be read; waiting whether it stays so", config_.map.text());
  }
  if (quotas_ && !there_) { return fmt::format("no quotas: there is no ConfigMap {}", config_.map.text()); }
  return quotas_ ? "ok" : "not read yet";
}

std::optional<controller::EventNote> QuotaTable::takeWarning() {
  if (unusable_ == nullptr || std::exchange(warned_, unusable_->revision) == unusable_->revision) {
    return std::nullopt;
  }
  return controller::EventNote{.kind = kapi::kQuotaMap,
                               .object = unusable_->key,
                               .uid = unusable_->uid,
                               .revision = unusable_->revision,
                               .warning = true,
                               .reason = "InvalidQuota",
                               .action = "ReadingQuota",
                               .note = state()};
}

}  // namespace gs::engine
