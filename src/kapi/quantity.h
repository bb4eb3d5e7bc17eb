// Kubernetes quantities ("500m", "1Gi", "2e3", "0.5") -> whole numbers, rounded up as resource.Quantity does.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "json/value.h"

namespace gs::kapi {

/// In units of 10^-3 ("100m" -> 100, "2" -> 2000). Error Invalid: malformed or over 2^63.
[[nodiscard]] Result<std::int64_t> quantityMilli(std::string_view text);
/// In whole units, rounded up ("100m" -> 1, "1Ki" -> 1024).
[[nodiscard]] Result<std::int64_t> quantityUnits(std::string_view text);
/// A JSON string or number. (Another name: a text would convert to both.)
[[nodiscard]] Result<std::int64_t> milliOf(const json::Value& v);
[[nodiscard]] Result<std::int64_t> unitsOf(const json::Value& v);

}  // namespace gs::kapi
