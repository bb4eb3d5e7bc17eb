#include "model/resources.h"

#include <gtest/gtest.h>

#include <limits>

namespace gs::model {
namespace {

Resources amounts(std::int64_t cpu, std::int64_t gpus) {
  Resources r;
  r.cpu_milli = cpu;
  if (gpus != 0) { r.extended[kNvidiaGpu] = gpus; }
  return r;
}

TEST(Resources, AddAndSubtractComeBack) {
  Resources r = amounts(100, 1);
  const Resources more{.cpu_milli = 5, .memory = 6, .ephemeral = 7, .extended = {{kVcudaCore, 8}}};
  r += more;
  EXPECT_EQ(r.cpu_milli, 105);
  EXPECT_EQ(r.memory, 6);
  EXPECT_EQ(r.ephemeral, 7);
  EXPECT_EQ(r.get(kVcudaCore), 8);
  r -= more;
  EXPECT_EQ(r, amounts(100, 1));
}

TEST(Resources, NamesThatTheOtherHasNotMixWithThoseThatItHas) {
  Resources r{.extended = {{"b", 1}, {"d", 1}, {"f", 1}}};
  r += Resources{.extended = {{"a", 2}, {"b", 2}, {"c", 2}, {"f", 2}, {"g", 2}}};
  EXPECT_EQ(r, (Resources{.extended = {{"a", 2}, {"b", 3}, {"c", 2}, {"d", 1}, {"f", 3}, {"g", 2}}}));
  r -= Resources{.extended = {{"a", 2}, {"c", 2}, {"d", 1}, {"g", 2}}};
  EXPECT_EQ(r, (Resources{.extended = {{"b", 3}, {"f", 3}}}));
}

TEST(Resources, AZeroIsNeverStored) {
  Resources r = amounts(0, 2);
  r -= amounts(0, 2);
  EXPECT_TRUE(r.extended.empty());
  r.raiseTo(amounts(0, 0));
  EXPECT_TRUE(r.extended.empty());
}

TEST(Resources, RaiseToTakesTheLargerOfEach) {
  Resources r = amounts(5, 1);
  r.raiseTo(amounts(3, 4));
  EXPECT_EQ(r, amounts(5, 4));
}

TEST(Resources, SumsStopAtTheEndOfTheRange) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  Resources r = amounts(kMost, kMost);
  r += amounts(1, 1);
  EXPECT_EQ(r, amounts(kMost, kMost));
  Resources low = amounts(-kMost, 0);
  low -= amounts(kMost, 0);
  EXPECT_EQ(low.cpu_milli, std::numeric_limits<std::int64_t>::min());
}

TEST(Resources, GetOfWhatIsNotThereIsZero) { EXPECT_EQ(Resources{}.get(kNvidiaGpu), 0); }

}  // namespace
}  // namespace gs::model
