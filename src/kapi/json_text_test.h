// JSON that a test writes down. Included by tests only.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "json/value.h"

namespace gs::kapi {

/// What is no JSON fails the test, and is null.
[[nodiscard]] inline json::Value parsed(std::string_view text) {
  auto v = json::parse(text);
  EXPECT_TRUE(v) << text << "\n" << (v ? "" : v.error().message);
  return v ? *v : json::Value{};
}

/// So many of these, with "@" replaced by their number.
[[nodiscard]] inline std::string repeated(const std::string& entry, int n) {
  std::string out;
  for (int i = 0; i < n; ++i) {
    out += i == 0 ? "" : ",";
    for (const char c : entry) { out += c == '@' ? std::to_string(i) : std::string{c}; }
  }
  return out;
}

}  // namespace gs::kapi
