// JSON that a test writes down. Included by tests only.
#pragma once

#include <gtest/gtest.h>

#include <string_view>

#include "json/value.h"

namespace gs::kapi {

/// What is no JSON fails the test, and is null.
[[nodiscard]] inline json::Value parsed(std::string_view text) {
  auto v = json::parse(text);
  EXPECT_TRUE(v) << text << "\n" << (v ? "" : v.error().message);
  return v ? *v : json::Value{};
}

}  // namespace gs::kapi
