#include "base/rare.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gs {
namespace {

using Words = std::vector<std::string>;

TEST(Rare, IsTheDefaultValueUntilItIsWrittenTo) {
  Rare<Words> rare;
  EXPECT_TRUE(rare.empty());
  EXPECT_EQ(rare.begin(), rare.end());
  rare.push_back("a");
  EXPECT_EQ(*rare, Words{"a"});
  EXPECT_EQ(rare->front(), "a");
}

TEST(Rare, TakesNoMemoryForADefaultValue) {
  EXPECT_EQ(sizeof(Rare<Words>), sizeof(void*));
  const Rare<Words> empty{Words{}};
  EXPECT_EQ(&*empty, &*Rare<Words>{}) << "both are the one that all share";
}

TEST(Rare, CopiesAreValuesOfTheirOwn) {
  Rare<Words> first{"a", "b"};
  Rare<Words> second = first;
  second.push_back("c");
  EXPECT_EQ(*first, (Words{"a", "b"}));
  first = second;
  EXPECT_EQ(*first, (Words{"a", "b", "c"}));
  const Rare<Words> moved = std::move(second);
  EXPECT_EQ(first, moved);
}

TEST(Rare, AreEqualByTheirValues) {
  Rare<Words> written;
  written.change().clear();
  EXPECT_EQ(written, Rare<Words>{}) << "whether memory was taken or not";
  EXPECT_NE(Rare<Words>{"a"}, Rare<Words>{"b"});
}

}  // namespace
}  // namespace gs
