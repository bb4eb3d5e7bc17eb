#include "model/map.h"

#include <gtest/gtest.h>

namespace gs::model {
namespace {

using Map = std::map<std::int64_t, MapEntry>;

TEST(MapGrammar, IsReadAsTheMapSchedulerReadIt) {
  const struct {
    const char* text;
    Map want;
  } cases[] = {
      {"", {}},
      {"  0 = node1 : 0,1  ", {{0, {"node1", "0,1"}}}},
      {"0=n:", {{0, {"n", ""}}}},
      {"0=a:1\nx=b:2\n2=c:3", {{0, {"a", "1"}}}},
      {"0=node1:0,1\n1=node2:2\n2=node3:0,1,2\n",
       {{0, {"node1", "0,1"}}, {1, {"node2", "2"}}, {2, {"node3", "0,1,2"}}}},
      {"\n\n  \n0=a:1\r\n\t1=b:2\r\n", {{0, {"a", "1"}}, {1, {"b", "2"}}}},
      {"no mark\n0=a:1", {{0, {"a", "1"}}}},
      {"0=a\n1=b:2", {{1, {"b", "2"}}}},
      {"0=a:1\n0=b:2", {{0, {"b", "2"}}}},
      {"0=a=b:c:d", {{0, {"a=b", "c:d"}}}},
      {" +1_0 =a:1\n-3=b:2", {{10, {"a", "1"}}, {-3, {"b", "2"}}}},
      {"1__0=a:1\n1=b:2", {}},
      {"_1=a:1", {}},
      {"1_=a:1", {}},
      {"=a:1\n1=b:2", {}},
      {"99999999999999999999=a:1\n1=b:2", {}},
      {"0=:1", {{0, {"", "1"}}}},
  };
  for (const auto& c : cases) { EXPECT_EQ(parseMap(c.text), c.want) << c.text; }
}

TEST(MapGrammar, VeryManyLinesAreBounded) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) { text += std::to_string(i) + "=n:0\n"; }
  text += "7=again:1\n";
  const Map map = parseMap(text);
  EXPECT_EQ(map.size(), kMostMapEntries);
  EXPECT_EQ(map.at(7).node, "again");
}

TEST(MapGrammar, TheOrdinalIsTheNumberBehindTheLastHyphen) {
  const struct {
    const char* name;
    const char* generate_name;
    std::optional<std::int64_t> want;
  } cases[] = {
      {"my-app-0", "", 0},
      {"test-pod-42", "", 42},
      {"my-app-abc", "", std::nullopt},
      {"no-index", "", std::nullopt},
      {"test-pod-", "", std::nullopt},
      {"", "", std::nullopt},
      {"app7", "", std::nullopt},
      {"sts-2", "sts-", 2},
      {"sts2", "sts", 2},
      {"a-1-x", "a-", std::nullopt},
      {"other-3", "sts-", 3},
      {"sts-", "sts-", std::nullopt},
      {"a-99999999999999999999", "", std::nullopt},
  };
  for (const auto& c : cases) { EXPECT_EQ(ordinalOf(c.name, c.generate_name), c.want) << c.name; }
}

}  // namespace
}  // namespace gs::model
