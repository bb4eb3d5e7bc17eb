#include "model/map.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

namespace gs::model {
namespace {

using Map = std::map<std::int64_t, MapEntry>;

/// What it says of each of these ordinals.
Map readAll(std::string_view text) {
  Map out;
  for (std::int64_t ordinal = -5; ordinal <= 20; ++ordinal) {
    if (auto entry = readMap(text, ordinal).entry) { out.emplace(ordinal, *std::move(entry)); }
  }
  return out;
}

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
      {"99999999999999999999=a:1\n1=b:2", {{1, {"b", "2"}}}},
      {"-99999999999999999999=a:1\n1=b:2", {{1, {"b", "2"}}}},
      {"0=:1", {{0, {"", "1"}}}},
  };
  for (const auto& c : cases) { EXPECT_EQ(readAll(c.text), c.want) << c.text; }
}

TEST(MapGrammar, SaysWhereReadingEnded) {
  EXPECT_EQ(readMap("0=a:1\n x = b:2 \n2=c:3", 2).ended_at, "x = b:2");
  EXPECT_EQ(readMap("0=a:1\nno mark\n2=c:3", 5).ended_at, "");
  EXPECT_EQ(readMap("0=a:1\nno colon=\n2=c:3", 2).ended_at, "no colon=");
}

TEST(MapGrammar, SaysWhatItsOwnLineLacks) {
  EXPECT_EQ(readMap("0=a\n1=b\n 0 = node1 \n", 0).without_colon, "node1");
  EXPECT_EQ(readMap("0=a\n1=b:2", 1).without_colon, "");
}

/// What decides is the same, and what is shown begins alike.
void sameOfIts(std::string_view text, std::int64_t ordinal) {
  const std::string own = ownMap(text, ordinal);
  const MapReading whole = readMap(text, ordinal);
  const MapReading part = readMap(own, ordinal);
  EXPECT_LE(own.size(), 2'048U);
  EXPECT_EQ(ownMap(own, ordinal), own) << "once more changes nothing";
  ASSERT_EQ(part.entry.has_value(), whole.entry.has_value()) << text;
  if (whole.entry) {
    const bool is_name = whole.entry->node.size() <= kMostNodeName;
    EXPECT_EQ(part.entry->node.size() <= kMostNodeName, is_name);
    if (is_name) { EXPECT_EQ(part.entry->node, whole.entry->node); }
    const auto ids = parseMapGpus(whole.entry->gpus);
    const auto part_ids = parseMapGpus(part.entry->gpus);
    ASSERT_EQ(part_ids.has_value(), ids.has_value()) << text;
    if (ids) { EXPECT_EQ(part.entry->gpus, whole.entry->gpus); }
  }
  EXPECT_EQ(part.ended_at.substr(0, 128), whole.ended_at.substr(0, 128)) << text;
  if (!whole.entry) { EXPECT_EQ(part.without_colon.substr(0, 128), whole.without_colon.substr(0, 128)); }
}

TEST(MapGrammar, OfAMapAPodsOwnPartIsEnough) {
  const std::string far(5'000, ' ');
  const std::string name(400, 'n');
  const std::string texts[] = {
      "",
      "0=a:1\n2=b:0,1\n7=c:2",
      "0=a:1\nx=b:2\n2=c:3",
      "2=a:1\n" + name + "=b:2\n",
      "2=a",
      "2=" + name,
      "2=" + name + ":0",
      "2=n:0," + far + "1",
      "2=n:0" + far + "x",
      "2=n: " + far + "0" + far + "\n",
      "2=n:" + std::string(1'024, '0'),
      "2=n:" + std::string(1'025, '0'),
      "2=" + std::string(253, 'n') + ":0",
      "2=" + std::string(254, 'n') + ":0",
      "2=a=b:c:d\n=x",
      "2=a:\u20ac" + name + "\u20ac",
  };
  for (const std::string& text : texts) { sameOfIts(text, 2); }
}

RC_GTEST_PROP(MapGrammarProperty, OfAMapAPodsOwnPartIsEnough, ()) {
  const auto words = *rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(
      std::vector<std::string>{"2", "1", "=", "=", ":", ":", "a", "x", "\n", "\n", "2=", "0", ",", " ", "-",
                               "+", "_", "9999999999999999999999", "2=n:0"}));
  std::string text;
  for (const auto& word : words) { text += word; }
  sameOfIts(text, 2);
}

TEST(MapGrammar, ANodeIsCalledByALabelOrItsName) {
  EXPECT_TRUE(isLabelValue("Node_1.a-b"));
  EXPECT_TRUE(isLabelValue(std::string(63, 'n')));
  EXPECT_TRUE(isNodeName("node-1.example.com"));
  EXPECT_TRUE(isNodeName(std::string(253, 'n')));
  for (const char* no : {"", "node 1", "-a", "a-", "a,b", "a=b", "\u00e9", "a/b"}) {
    EXPECT_FALSE(isLabelValue(no) || isNodeName(no)) << no;
  }
  EXPECT_FALSE(isLabelValue(std::string(64, 'n')));
  EXPECT_FALSE(isNodeName(std::string(254, 'n')));
  EXPECT_FALSE(isNodeName("Node"));
  EXPECT_FALSE(isNodeName("a_b"));
  EXPECT_FALSE(isNodeName("a..b")) << "as no API server takes it";
}

TEST(MapGpus, AreToldAsTheyStandOrAsTheSameSet) {
  EXPECT_TRUE(tellsSame("0, 1", "0, 1"));
  EXPECT_TRUE(tellsSame("1,0", "0, 1"));
  EXPECT_TRUE(tellsSame("", ""));
  EXPECT_TRUE(tellsSame("x", "x"));
  EXPECT_FALSE(tellsSame("x", "y"));
  EXPECT_FALSE(tellsSame("", "0"));
  EXPECT_FALSE(tellsSame("0", "0,1"));
}

TEST(MapGrammar, OfVeryManyLinesTheLastOfAnOrdinalCounts) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) { text += std::to_string(i) + "=n:0\n"; }
  text += "7=again:1\n";
  EXPECT_EQ(readMap(text, 7).entry, (MapEntry{"again", "1"}));
  EXPECT_EQ(readMap(text, 99'999).entry, (MapEntry{"n", "0"}));
  EXPECT_EQ(readMap(text, 100'000).entry, std::nullopt);
}

TEST(MapGpus, AreIdsEachOnceInAnyOrder) {
  const struct {
    const char* text;
    std::vector<int> want;
  } cases[] = {
      {"", {}},        {"  ", {}},          {"0", {0}},       {"0,1,2", {0, 1, 2}},
      {"2,0", {0, 2}}, {" 3 , 1 ", {1, 3}}, {"1023", {1023}}, {"007", {7}},
  };
  for (const auto& c : cases) {
    const auto ids = parseMapGpus(c.text);
    ASSERT_TRUE(ids.has_value()) << c.text;
    EXPECT_EQ(*ids, c.want) << c.text;
  }
}

TEST(MapGpus, SayWhatIsWrong) {
  const struct {
    const char* text;
    const char* want;
  } cases[] = {
      {"x", "'x' is no GPU id; write ids from 0 to 1023 with a comma between them"},
      {"0 1", "'0 1' is no GPU id; write ids from 0 to 1023 with a comma between them"},
      {"0,", "'' is no GPU id; write ids from 0 to 1023 with a comma between them"},
      {",", "'' is no GPU id; write ids from 0 to 1023 with a comma between them"},
      {"-1", "'-1' is no GPU id; write ids from 0 to 1023 with a comma between them"},
      {"+1", "'+1' is no GPU id; write ids from 0 to 1023 with a comma between them"},
      {"1024", "'1024' is no GPU id; write ids from 0 to 1023 with a comma between them"},
      {"99999999999", "'99999999999' is no GPU id; write ids from 0 to 1023 with a comma between them"},
      {"0,GPU-1", "'GPU-1' is no GPU id; write ids from 0 to 1023 with a comma between them"},
      {"3/1", "'3/1' names a MIG partition; a map names whole GPUs, by their ids"},
      {"1,0,1", "names GPU 1 twice; write it once"},
      {"1,01", "names GPU 1 twice; write it once"},
      {"\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac"
       "\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac",
       "'\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac"
       "\u20ac\u20ac\u20ac\u20ac\u20ac' is no GPU id; "
       "write ids from 0 to 1023 with a comma between them"},
  };
  for (const auto& c : cases) {
    const auto ids = parseMapGpus(c.text);
    ASSERT_FALSE(ids.has_value()) << c.text;
    EXPECT_EQ(ids.error().message, c.want) << c.text;
  }
}

TEST(MapGpus, AreNotMoreThanOnePodGets) {
  std::string text = "0";
  for (std::size_t i = 1; i < kMostMapGpus; ++i) { text += "," + std::to_string(i); }
  EXPECT_EQ(parseMapGpus(text)->size(), kMostMapGpus);
  const auto one_more = parseMapGpus(text + ",64");
  ASSERT_FALSE(one_more.has_value());
  EXPECT_EQ(one_more.error().message, "names more than 64 GPUs; one pod gets no more");
}

TEST(MapGpus, AreWrittenInSoManyBytes) {
  const std::string space(kMostMapText - 3, ' ');
  EXPECT_TRUE(parseMapGpus("0," + space + "1").has_value());
  const auto longer = parseMapGpus("0, " + space + "1");
  ASSERT_FALSE(longer.has_value());
  EXPECT_EQ(longer.error().message, "the GPU ids are 1025 bytes long; write no more than 1024");
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
