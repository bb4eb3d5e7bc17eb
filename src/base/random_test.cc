#include "base/random.h"

#include <gtest/gtest.h>

#include <set>

namespace gs {
namespace {

TEST(Rng, SameSeedSameNumbers) {
  Rng a{7};
  Rng b{7};
  for (int i = 0; i < 100; ++i) { EXPECT_EQ(a.next(), b.next()); }
  EXPECT_NE(Rng{7}.next(), Rng{8}.next());
}

// xoshiro256** from the four splitmix64 outputs of seed 0, as the authors' reference code gives them.
TEST(Rng, IsTheReferenceGenerator) {
  Rng rng{0};
  EXPECT_EQ(rng.next(), 0x99ec5f36cb75f2b4ULL);
  EXPECT_EQ(rng.next(), 0xbf6e1f784956452aULL);
  EXPECT_EQ(rng.next(), 0x1a5f849d4933e6e0ULL);
}

TEST(Rng, BelowStaysBelowAndReachesEverything) {
  Rng rng{1};
  EXPECT_EQ(rng.below(0), 0U);
  EXPECT_EQ(rng.below(1), 0U);
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1000; ++i) { seen.insert(rng.below(6)); }
  EXPECT_EQ(seen, (std::set<std::uint64_t>{0, 1, 2, 3, 4, 5}));
  for (int i = 0; i < 1000; ++i) { EXPECT_LT(rng.below((1ULL << 63U) + 1), (1ULL << 63U) + 1); }
}

TEST(Rng, UnitIsInZeroToOne) {
  Rng rng{2};
  for (int i = 0; i < 1000; ++i) {
    const double x = rng.unit();
    EXPECT_GE(x, 0.0);
    EXPECT_LT(x, 1.0);
  }
}

TEST(Rng, ChanceKnowsNeverAndAlways) {
  Rng rng{3};
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(rng.chance(0));
    EXPECT_TRUE(rng.chance(100));
  }
}

TEST(Rng, UuidIsVersion4AndNew) {
  Rng rng{4};
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) {
    const std::string uuid = rng.uuid();
    ASSERT_EQ(uuid.size(), 36U);
    EXPECT_EQ(uuid.find_first_not_of("0123456789abcdef-"), std::string::npos) << uuid;
    for (const std::size_t dash : {8U, 13U, 18U, 23U}) { EXPECT_EQ(uuid[dash], '-') << uuid; }
    EXPECT_EQ(uuid[14], '4') << uuid;
    EXPECT_NE(std::string{"89ab"}.find(uuid[19]), std::string::npos) << uuid;
    seen.insert(uuid);
  }
  EXPECT_EQ(seen.size(), 100U);
}

TEST(Rng, SplitDoesNotFollowTheParent) {
  Rng parent{5};
  Rng child = parent.split();
  EXPECT_NE(parent.next(), child.next());
}

}  // namespace
}  // namespace gs
