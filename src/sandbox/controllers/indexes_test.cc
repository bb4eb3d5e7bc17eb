#include "sandbox/controllers/indexes.h"

#include <gtest/gtest.h>

namespace gs::sandbox::controllers {
namespace {

struct IndexCase {
  Indexes indexes;
  const char* text;
};
class IndexText : public testing::TestWithParam<IndexCase> {};
TEST_P(IndexText, ThereAndBack) {
  EXPECT_EQ(indexText(GetParam().indexes), GetParam().text);
  EXPECT_EQ(readIndexes(GetParam().text, 100), GetParam().indexes);
}
INSTANTIATE_TEST_SUITE_P(Table, IndexText,
                         testing::Values(IndexCase{{}, ""}, IndexCase{{0}, "0"}, IndexCase{{0, 1}, "0,1"},
                                         IndexCase{{0, 1, 2}, "0-2"}, IndexCase{{1, 3, 4, 5, 7}, "1,3-5,7"},
                                         IndexCase{{10, 11, 98, 99}, "10,11,98,99"}));

TEST(Indexes, WhatIsBeyondTheEndOrMalformedIsLeftOut) {
  EXPECT_EQ(readIndexes("0-9999999999,x,3", 3), (Indexes{0, 1, 2}));
  EXPECT_EQ(readIndexes("-1,2-1,,1-", 9), Indexes{});
}

}  // namespace
}  // namespace gs::sandbox::controllers
