#include "engine/quota_table.h"

namespace gs::engine {

void QuotaTable::use(const model::Quotas& quotas) {
  if (quotas_ == quotas) { return; }
  quotas_ = quotas;
  ++version_;
}

void QuotaTable::apply(const kapi::Change& change) {
  const auto* map = std::get_if<model::Ptr<model::QuotaMap>>(&change.object);
  const bool usable = map == nullptr || (*map)->quotas;
  unusable_ = usable ? nullptr : *map;
  if (usable) { use(map != nullptr ? *(*map)->quotas : model::Quotas{}); }
  there_ = map != nullptr;
}

void QuotaTable::listed(bool forbidden) {
  forbidden_ = forbidden;
  if (there_) { return; }  // what was read last counts
  use(forbidden ? fallback_ : model::Quotas{});
}

}  // namespace gs::engine
