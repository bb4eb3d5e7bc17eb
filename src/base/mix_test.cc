#include "base/mix.h"

#include <gtest/gtest.h>

namespace gs {
namespace {

TEST(Mix, EachThingAndTheirOrderCount) {
  const std::size_t both = mix(mix(0, std::string{"a"}), std::string{"b"});
  EXPECT_EQ(mix(mix(0, std::string{"a"}), std::string{"b"}), both);
  EXPECT_NE(mix(mix(0, std::string{"b"}), std::string{"a"}), both);
  EXPECT_NE(mix(0, std::string{"a"}), both);
  EXPECT_NE(mix(mix(0, 1), 2), mix(mix(0, 2), 1));
}

}  // namespace
}  // namespace gs
