#include "enforce/variables.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gs::enforce {
namespace {

using Env = std::vector<std::string>;

rpc::nri::Adjustment setting(const std::string& key, const std::string& value) {
  rpc::nri::Adjustment out;
  setVariable(out, key, value);
  return out;
}

TEST(Variables, TheLastOneCounts) {
  EXPECT_EQ(lastOf(Env{"A=1", "B=2", "A=3"}, "A"), "3");
  EXPECT_EQ(lastOf(Env{"A="}, "A"), "");
  EXPECT_EQ(lastOf(Env{"AB=1", "A"}, "A"), std::nullopt);
}

TEST(Variables, NriReplacesTheFirstAndTheLastCounts) {
  const cdi::Index none;
  EXPECT_EQ(valueAfter(Env{}, setting("A", "new"), none, "A"), "new");
  EXPECT_EQ(valueAfter(Env{"A=1"}, setting("A", "new"), none, "A"), "new");
  EXPECT_EQ(valueAfter(Env{"A=1", "A=2"}, setting("A", "new"), none, "A"), "2");
  EXPECT_EQ(valueAfter(Env{"A=1", "A=2"}, {}, none, "A"), "2");
  EXPECT_EQ(valueAfter(Env{}, {}, none, "A"), std::nullopt);
}

TEST(Variables, EachIsSetOnce) {
  auto adjustment = setting("A", "1");
  setVariable(adjustment, "A", "2");
  EXPECT_EQ(adjustment.env, (std::vector<std::pair<std::string, std::string>>{{"A", "2"}}));
}

TEST(Variables, TheFirstThatIsLostIsNamed) {
  const cdi::Index none;
  const std::vector<Told> told{{"A", "1", {}}, {"B", "2", {"two"}}};
  EXPECT_EQ(firstLost(Env{"A=1", "B=two"}, {}, none, told), nullptr);
  EXPECT_EQ(firstLost(Env{"A=1"}, {}, none, told), &told[1]);
  EXPECT_EQ(firstLost(Env{"A=1", "B=x", "B=y"}, setting("B", "2"), none, told), &told[1]);
}

}  // namespace
}  // namespace gs::enforce
