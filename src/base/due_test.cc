#include "base/due.h"

#include <gtest/gtest.h>

#include "base/clock.h"

namespace gs {
namespace {

using namespace std::chrono_literals;

TEST(Due, IsTheFirstOfThoseThatAre) {
  const std::optional<Mono> never;
  const std::optional<Mono> one{Mono{1s}};
  EXPECT_EQ(sooner(never, never), never);
  EXPECT_EQ(sooner(never, one), one);
  EXPECT_EQ(sooner(one, never), one);
  EXPECT_EQ(sooner(one, Mono{2s}), one);
  EXPECT_EQ(sooner(never, Mono{2s}), Mono{2s});
  EXPECT_EQ(soonest<Mono>({}), never);
  EXPECT_EQ(soonest<Mono>({never, Mono{3s}, one, never}), one);
}

}  // namespace
}  // namespace gs
