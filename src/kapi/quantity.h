// Kubernetes quantities ("500m", "1Gi", "2e3", "0.5") -> whole numbers, rounded up as resource.Quantity
// does; or to the billionth, where two are compared.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "json/document.h"
#include "model/dra.h"

namespace gs::kapi {

/// In units of 10^-3 ("100m" -> 100, "2" -> 2000). Error Invalid: malformed or over 2^63.
[[nodiscard]] Result<std::int64_t> quantityMilli(std::string_view text);
/// In whole units, rounded up ("100m" -> 1, "1Ki" -> 1024).
[[nodiscard]] Result<std::int64_t> quantityUnits(std::string_view text);
/// To the billionth, rounded up ("1.5" -> 1 and 500,000,000; "-0.5" -> -1 and 500,000,000).
[[nodiscard]] Result<model::Quantity> exactQuantity(std::string_view text);
/// A JSON string or number. (Another name: a text would convert to both.)
[[nodiscard]] Result<std::int64_t> milliOf(const json::View& v);
[[nodiscard]] Result<std::int64_t> unitsOf(const json::View& v);

/// As Quantity.String() gives it ("0.5" -> "500m", "1024Mi" -> "1Gi", "1000m" -> "1"), at most 2^63-1 units;
/// nothing when malformed or of more than 19 significant digits.
[[nodiscard]] std::optional<std::string> canonicalQuantity(std::string_view text);

}  // namespace gs::kapi
