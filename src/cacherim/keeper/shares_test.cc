#include "cacherim/keeper/shares.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <optional>
#include <vector>

#include "base/random.h"

namespace gs::cacherim {
namespace {

using Coming = Shares::Coming;

kcache::Digest image(const std::string& name) { return kcache::Digest::of(name); }

TEST(Shares, WithoutAQuotaThereIsNoLimit) {
  Shares shares{0};
  shares.areHere({}, std::uint64_t{1} << 60);
  Coming coming{shares, "ml", image("x")};
  EXPECT_TRUE(coming.add(std::uint64_t{1} << 60));
}

// Three images of 150 kB whose empty folders take all inodes of a disk.
TEST(Shares, InodesHaveAQuotaOfTheirOwn) {
  Shares shares{{1'000'000, 600}};
  shares.areHere({{"greedy", {{image("a"), {1000, 600}}}}, {"small", {}}}, {1000, 600});
  Coming greedy{shares, "greedy", image("c")};
  const Status refused = greedy.add({0, 1});
  ASSERT_FALSE(refused);
  EXPECT_EQ(
      refused.error().message,
      "no room on this node: the caches of namespace greedy have 600 inodes (files and folders) here, and "
      "601 or more with what comes; while all caches have more than the quota (--cache-inodes), a "
      "namespace may have 100: delete caches, or raise the quota");
  EXPECT_TRUE(greedy.add({1000, 0})) << "bytes there are enough of";
  Coming small{shares, "small", image("d")};
  EXPECT_TRUE(small.add({10, 100})) << "of two: a sixth";
  EXPECT_FALSE(small.add({0, 1}));
  Shares without{{1'000'000, 0}};
  EXPECT_TRUE(Coming(without, "ml", image("x")).add({1, std::uint64_t{1} << 40})) << "no limit of those";
}

TEST(Shares, OneThatIsAloneMayHaveAllOfIt) {
  Shares shares{100};
  shares.areHere({{"ml", {{image("a"), 60}}}}, 60);
  Coming coming{shares, "ml", image("x")};
  EXPECT_TRUE(coming.add(40));
  EXPECT_FALSE(coming.add(1));
}

TEST(Shares, WhoComesLaterWithLittleGetsItThoughAnotherHasTakenAll) {
  Shares shares{600};
  shares.areHere({{"greedy", {{image("a"), 360}, {image("b"), 240}}}, {"small", {}}}, 600);
  Coming greedy{shares, "greedy", image("c")};
  EXPECT_FALSE(greedy.add(1));
  Coming small{shares, "small", image("d")};
  EXPECT_FALSE(small.add(101));
  EXPECT_TRUE(small.add(100)) << "of two: a sixth";
}

TEST(Shares, WhatIsRefusedNamesWhoHasHowMuchAndDoesNotCount) {
  Shares shares{120};
  shares.areHere({{"ml", {{image("a"), 60}}}, {"other", {}}}, 60);
  Coming coming{shares, "ml", image("x")};
  ASSERT_TRUE(coming.add(10));
  const Status refused = coming.add(51);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::Unavailable);
  EXPECT_EQ(
      refused.error().message,
      "no room on this node: the caches of namespace ml have 60 bytes here, and 121 or more with what comes; "
      "while all caches have more than the quota (--cache-quota), a namespace may have 20: delete caches, or "
      "raise the quota");
  EXPECT_EQ(coming.needed(), 61U);
  EXPECT_TRUE(coming.add(50));
  Coming cluster{shares, "", image("y")};
  EXPECT_NE(cluster.add(1000).error().message.find("the cluster's caches have 0 bytes"), std::string::npos);
}

TEST(Shares, WhatComesCountsUntilItIsHereOrGivenUp) {
  Shares shares{100};
  shares.areHere({{"ml", {}}, {"other", {}}}, 0);
  std::optional<Coming> first;
  first.emplace(shares, "ml", image("x"));
  ASSERT_TRUE(first->add(80));
  Coming second{shares, "ml", image("y")};
  EXPECT_FALSE(second.add(21));
  shares.areHere({{"ml", {{image("x"), 80}}}, {"other", {}}}, 80);
  EXPECT_FALSE(second.add(21));
  EXPECT_TRUE(second.add(20)) << "it counts once, though both say that it is there";
  first.reset();
  shares.areHere({{"ml", {}}, {"other", {}}}, 0);
  EXPECT_TRUE(second.add(80));
}

TEST(Shares, WhatIsReservedNobodyElseGets) {
  Shares shares{100};
  Coming first{shares, "a", image("x")};
  Coming second{shares, "b", image("y")};
  ASSERT_TRUE(first.reserve(60));
  EXPECT_FALSE(second.reserve(60)) << "so they do not end each other half-way";
  EXPECT_EQ(second.needed(), 60U);
  EXPECT_TRUE(first.add(60));
  EXPECT_TRUE(second.add(40));
}

TEST(Shares, AnImageThatManyNamespacesHaveIsOnTheDiskOnce) {
  Shares shares{100};
  shares.areHere({{"a", {{image("x"), 40}}}, {"b", {{image("x"), 40}}}, {"c", {{image("x"), 40}}}}, 40);
  Coming once{shares, "c", image("y")};
  EXPECT_TRUE(once.add(60));
  Coming again{shares, "a", image("y")};
  EXPECT_TRUE(again.add(60)) << "also while it comes";
  Coming other{shares, "a", image("z")};
  EXPECT_FALSE(other.add(1));
}

TEST(Shares, WhereFilesThatNobodyNeedsFillTheStoreNothingComes) {
  Shares shares{100};
  shares.areHere({{"ml", {}}}, 201);
  Coming coming{shares, "ml", image("x")};
  EXPECT_FALSE(coming.add(1));
  shares.areHere({{"ml", {}}}, 200);
  EXPECT_TRUE(coming.add(1));
}

RC_GTEST_PROP(SharesProperty, WhoeverComesGetsItsShareAndAllHaveLessThanTwiceTheQuota, (std::uint64_t seed)) {
  Rng rng{seed};
  const std::uint64_t quota = 1000 + rng.below(100'000);
  Shares shares{quota};
  Shares::Here here;
  std::uint64_t all = 0;
  for (std::uint64_t n = 1; n <= 12; ++n) {
    const std::string ns = "ns-" + std::to_string(n);
    std::uint64_t has = 0;
    here[ns];
    for (int step = 0; step < 10; ++step) {
      shares.areHere(here, all);
      const std::uint64_t bytes = 1 + rng.below(quota / n);
      const std::uint64_t share = quota / (n * (n + 1));
      Coming coming{shares, ns, image(ns + std::to_string(step))};
      const bool took = coming.add(bytes).has_value();
      RC_ASSERT(took == (has + bytes <= share || all + bytes <= quota));
      if (!took) { continue; }
      has += bytes;
      all += bytes;
      here[ns][image(ns + std::to_string(step))] = bytes;
      RC_ASSERT(all < 2 * quota);
    }
  }
}

}  // namespace
}  // namespace gs::cacherim
