#include "cacherim/keeper/shares.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <optional>
#include <vector>

#include "base/random.h"

namespace gs::cacherim {
namespace {

kcache::Digest image(const std::string& name) { return kcache::Digest::of(name); }

TEST(Shares, WithoutAQuotaThereIsNoLimit) {
  Shares shares{0};
  Shares::Coming coming{shares, "ml"};
  EXPECT_TRUE(coming.add(std::uint64_t{1} << 60));
}

TEST(Shares, OneThatIsAloneMayHaveAllOfIt) {
  Shares shares{100};
  shares.areHere({{"ml", {{image("a"), 60}}}});
  Shares::Coming coming{shares, "ml"};
  EXPECT_TRUE(coming.add(40));
  EXPECT_FALSE(coming.add(1));
}

TEST(Shares, WhoComesLaterWithLittleGetsItThoughAnotherHasTakenAll) {
  Shares shares{100};
  shares.areHere({{"greedy", {{image("a"), 60}, {image("b"), 40}}}, {"small", {}}});
  Shares::Coming small{shares, "small"};
  EXPECT_TRUE(small.couldAdd(50));
  EXPECT_FALSE(small.couldAdd(51));
  EXPECT_TRUE(small.add(50));
  Shares::Coming greedy{shares, "greedy"};
  EXPECT_FALSE(greedy.add(1));
}

TEST(Shares, WhatIsRefusedNamesWhoHasHowMuchAndDoesNotCount) {
  Shares shares{100};
  shares.areHere({{"ml", {{image("a"), 60}}}, {"other", {}}});
  Shares::Coming coming{shares, "ml"};
  ASSERT_TRUE(coming.add(10));
  const Status refused = coming.add(31);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::Unavailable);
  EXPECT_EQ(refused.error().message,
            "no room on this node: the caches of namespace ml have 70 bytes here, and with this image 101 or "
            "more; all caches have 70; the quota is 100 (--cache-quota), and a share of it for each of 2 "
            "namespaces 50: delete caches, or raise the quota");
  EXPECT_TRUE(coming.add(30));
  Shares::Coming cluster{shares, ""};
  EXPECT_NE(cluster.add(1000).error().message.find("the cluster's caches have 0 bytes"), std::string::npos);
}

TEST(Shares, WhatComesCountsUntilItIsHereOrGivenUp) {
  Shares shares{100};
  shares.areHere({{"ml", {}}, {"other", {}}});
  std::optional<Shares::Coming> first;
  first.emplace(shares, "ml");
  ASSERT_TRUE(first->add(80));
  Shares::Coming second{shares, "ml"};
  EXPECT_FALSE(second.add(21));
  first.reset();
  EXPECT_TRUE(second.add(21));
}

TEST(Shares, AnImageThatManyNamespacesHaveIsOnTheDiskOnce) {
  Shares shares{100};
  shares.areHere({{"a", {{image("x"), 40}}}, {"b", {{image("x"), 40}}}, {"c", {{image("x"), 40}}}});
  Shares::Coming coming{shares, "c"};
  EXPECT_TRUE(coming.add(60));
}

RC_GTEST_PROP(SharesProperty, NoMoreThanTwiceTheQuotaAndNobodyIsRefusedItsShareBelowThat,
              (std::uint64_t seed)) {
  Rng rng{seed};
  const std::uint64_t quota = 1 + rng.below(1000);
  Shares shares{quota};
  Shares::Here here;
  std::uint64_t namespaces = 1 + rng.below(6);
  for (std::uint64_t n = 0; n < namespaces; ++n) { here["ns-" + std::to_string(n)]; }
  shares.areHere(here);
  std::map<std::string, std::uint64_t> has;
  std::uint64_t all = 0;
  for (int step = 0; step < 100; ++step) {
    if (rng.chance(20)) {
      here["ns-" + std::to_string(namespaces++)];  // shares get smaller, and what others have stays
      shares.areHere(here);
    }
    const std::string ns = "ns-" + std::to_string(rng.below(namespaces));
    const std::uint64_t bytes = rng.below(1 + (rng.chance(50) ? quota / namespaces : quota / 3));
    const bool fits_share = has[ns] + bytes <= quota / namespaces && all + bytes <= 2 * quota;
    Shares::Coming coming{shares, ns};
    const bool took = coming.add(bytes).has_value();
    RC_ASSERT(took == (fits_share || all + bytes <= quota));
    if (!took) { continue; }
    has[ns] += bytes;
    all += bytes;
    here[ns][image(std::to_string(step))] = bytes;
    shares.areHere(here);
    RC_ASSERT(all <= 2 * quota);
  }
}

}  // namespace
}  // namespace gs::cacherim
