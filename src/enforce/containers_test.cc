#include "enforce/containers.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "enforce/fixture_test.h"

namespace gs::enforce {
namespace {

using fixture::gpu;
const model::Uid kP{"p"};
const model::Uid kQ{"q"};

TEST(Containers, KnowsWhoUsesWhat) {
  Containers containers;
  EXPECT_TRUE(containers.set("c1", {kP, {gpu(1), {2, 0}}, {}}));
  EXPECT_EQ(containers.userOf(gpu(1)), "c1");
  EXPECT_EQ(containers.userOf({1, 0}), "c1") << "a partition of what it has";
  EXPECT_EQ(containers.userOf(gpu(2)), "c1") << "it has a partition of that";
  EXPECT_EQ(containers.userOf({2, 1}), std::nullopt);
  EXPECT_EQ(containers.userOf(gpu(1), kP), std::nullopt);
  EXPECT_EQ(containers.userOf(gpu(1), kQ), "c1");
  containers.remove("c1");
  containers.remove("c1");
  EXPECT_EQ(containers.userOf(gpu(1)), std::nullopt);
}

TEST(Containers, RemembersWhatItGaveInTheirPlace) {
  Containers containers;
  containers.set("c1", {kP, {gpu(2)}, {{gpu(0), gpu(2)}}});
  EXPECT_TRUE(containers.isLent(gpu(2), kQ));
  EXPECT_FALSE(containers.isLent(gpu(2), kP));
  EXPECT_FALSE(containers.isLent(gpu(0), kQ));
  EXPECT_EQ(containers.movedTo(gpu(0), kP), gpu(2));
  EXPECT_EQ(containers.movedTo(gpu(0), kQ), std::nullopt);
}

TEST(Containers, ThoseWithoutDevicesAreNotKeptAndTheOthersAreBounded) {
  Containers containers;
  containers.set("c1", {kP, {gpu(1)}, {}});
  EXPECT_TRUE(containers.set("c1", {kP, {}, {}}));
  EXPECT_EQ(containers.size(), 0U);
  for (std::size_t i = 0; i < Containers::kMost; ++i) {
    ASSERT_TRUE(containers.set("c" + std::to_string(i), {kP, {gpu(1)}, {}}));
  }
  EXPECT_FALSE(containers.set("one more", {kP, {gpu(1)}, {}}));
  EXPECT_TRUE(containers.set("c0", {kP, {gpu(2)}, {}})) << "it is known";
}

}  // namespace
}  // namespace gs::enforce
