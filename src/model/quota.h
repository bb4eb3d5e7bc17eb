// Quotas of GPUs by namespace and model of GPU (gpu-admission's convention), as values. Read by kapi/quota.h.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "model/ids.h"

namespace gs::model {

/// Of one namespace. Models that are not named are forbidden.
struct Quota {
  std::map<std::string, std::int64_t> gpus;  // by model, whole GPUs
  std::set<std::string> pools;               // empty: any
  friend bool operator==(const Quota&, const Quota&) = default;
};

/// By namespace; one that is not named may have what there is.
using Quotas = std::map<std::string, Quota>;

/// What we read of the ConfigMap that holds them.
struct QuotaMap {
  ObjectKey key;
  Uid uid;
  Revision revision = 0;
  std::optional<Quotas> quotas;
  std::string malformed;  // why there are none
  friend bool operator==(const QuotaMap&, const QuotaMap&) = default;
};

/// The node labels that say what its GPUs are, and whose they are.
struct QuotaLabels {
  std::string model = "gaia.tencent.com/gpu-model";
  std::string pool = "gaia.tencent.com/gpu-pool";
  friend bool operator==(const QuotaLabels&, const QuotaLabels&) = default;
};

/// What a component is told of quotas at start.
struct QuotaConfig {
  ObjectKey map{};  // the ConfigMap; name "": there are no quotas
  QuotaLabels labels{};
  Quotas if_forbidden{};  // count while the ConfigMap may not be read
  [[nodiscard]] bool on() const { return !map.name.empty(); }
};

}  // namespace gs::model
