// The label selectors that stand in specs (matchLabels, matchExpressions),
// and amounts that may be a percentage. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "json/value.h"

namespace gs::apiserver {

/// An empty selector selects everything, an absent one nothing.
[[nodiscard]] bool selects(const json::Value& selector, const json::Value& labels);
/// As a query writes it, in the order of its keys: "app=a,!old,tier in (x,y)"; "" for an empty one.
[[nodiscard]] std::string selectorText(const json::Value& selector);

enum class Round : bool { Down, Up };
/// 3, or "30%" of `of`; 0 for what is neither.
[[nodiscard]] std::int64_t amountOf(const json::Value& value, std::int64_t of, Round round);

}  // namespace gs::apiserver
