#include "yaml/yaml.h"

#include <gtest/gtest.h>

namespace gs::yaml {
namespace {

std::string json(std::string_view text) {
  const auto out = toJson(text);
  if (!out) { return "error: " + out.error().message; }
  std::string all;
  for (const std::string& document : *out) { all += (all.empty() ? "" : " | ") + document; }
  return all;
}

struct ScalarCase {
  const char* name;
  const char* yaml;
  const char* json;
};
class YamlScalar : public testing::TestWithParam<ScalarCase> {};
TEST_P(YamlScalar, HasTheTypeOfTheCoreSchema) {
  EXPECT_EQ(json(std::string{"a: "} + GetParam().yaml), std::string{"{\"a\":"} + GetParam().json + "}");
}
INSTANTIATE_TEST_SUITE_P(
    Table, YamlScalar,
    testing::Values(ScalarCase{"Nothing", "", "null"}, ScalarCase{"Tilde", "~", "null"},
                    ScalarCase{"Null", "NULL", "null"}, ScalarCase{"NulL", "nulL", "\"nulL\""},
                    ScalarCase{"True", "True", "true"}, ScalarCase{"False", "false", "false"},
                    ScalarCase{"YesIsText", "yes", "\"yes\""}, ScalarCase{"OnIsText", "on", "\"on\""},
                    ScalarCase{"QuotedTrue", "\"true\"", "\"true\""},
                    ScalarCase{"QuotedNumber", "'64'", "\"64\""}, ScalarCase{"Int", "64", "64"},
                    ScalarCase{"PlusInt", "+7", "7"}, ScalarCase{"Minus", "-7", "-7"},
                    ScalarCase{"LeadingZeros", "007", "7"}, ScalarCase{"Octal", "0o17", "15"},
                    ScalarCase{"Hex", "0xfF", "255"}, ScalarCase{"NoHex", "0xg", "\"0xg\""},
                    ScalarCase{"Float", "1.50", "1.50"}, ScalarCase{"PointOnly", "1.", "1.0"},
                    ScalarCase{"NoWhole", ".5", "0.5"}, ScalarCase{"Exponent", "1e3", "1e3"},
                    ScalarCase{"SignedExponent", "-1.5E-3", "-1.5E-3"},
                    ScalarCase{"NoExponent", "1e", "\"1e\""}, ScalarCase{"Quantity", "512Gi", "\"512Gi\""},
                    ScalarCase{"Version", "1.2.3", "\"1.2.3\""}, ScalarCase{"Dot", ".", "\".\""},
                    ScalarCase{"Date", "2025-06-15", "\"2025-06-15\""},
                    ScalarCase{"Colon", "node-a:0,1", "\"node-a:0,1\""},
                    ScalarCase{"StrTag", "!!str 5", "\"5\""}, ScalarCase{"IntTag", "!!int \"5\"", "5"},
                    ScalarCase{"Escapes", R"("a\n\"\\\t\u00e9")", R"("a\n\"\\\té")"},
                    ScalarCase{"Folded", ">-\n  one\n  two", "\"one two\""},
                    ScalarCase{"Literal", "|\n  one\n  two\n", R"("one\ntwo\n")"}),
    [](const auto& info) { return std::string{info.param.name}; });

TEST(Yaml, NestsMapsAndLists) {
  EXPECT_EQ(json("nodes:\n- name: node-a\n  labels: {gpu-type: l40s}\n  ids: [0, 1]\n- {}\n- []\n"),
            R"({"nodes":[{"name":"node-a","labels":{"gpu-type":"l40s"},"ids":[0,1]},{},[]]})");
}

TEST(Yaml, EachDocumentIsOneText) {
  EXPECT_EQ(json("a: 1\n---\n- 2\n---\n---\nx\n"), R"({"a":1} | [2] | null | "x")");
  EXPECT_EQ(toJson("").value().size(), 0U);
  EXPECT_EQ(toJson("# only a comment\n").value().size(), 0U);
}

TEST(Yaml, ReadsJson) { EXPECT_EQ(json(R"({"a": [1, true, null, "x"]})"), R"({"a":[1,true,null,"x"]})"); }

TEST(Yaml, KeysAreText) {
  EXPECT_EQ(json("1: a\ntrue: b\n\"c d\": e\n"), R"({"1":"a","true":"b","c d":"e"})");
}

TEST(Yaml, AliasesAreCopies) {
  EXPECT_EQ(json("a: &x {k: [1]}\nb: *x\nc: [*x, *x]\n"),
            R"({"a":{"k":[1]},"b":{"k":[1]},"c":[{"k":[1]},{"k":[1]}]})");
  EXPECT_EQ(json("&k name: 1\nb: *k\n"), R"({"name":1,"b":"name"})");
  EXPECT_EQ(json("a: &n 5\nb: {*n : 1}\n"), R"({"a":5,"b":{"5":1}})");
  EXPECT_EQ(json("&a \"q\\\"\": &b \"x\"\n*b : *a\n"), R"({"q\"":"x","x":"q\""})");
}

struct BadYaml {
  const char* name;
  std::string yaml;
  const char* says;
};
class YamlRefuses : public testing::TestWithParam<BadYaml> {};
TEST_P(YamlRefuses, AndSaysWhereAndWhat) {
  const auto out = toJson(GetParam().yaml);
  ASSERT_FALSE(out) << out->at(0);
  EXPECT_EQ(out.error().code, Code::Invalid);
  EXPECT_NE(out.error().message.find(GetParam().says), std::string::npos) << out.error().message;
}

std::string bomb() {
  std::string text = "a0: &a0 [xxxxxxxxxxxxxxxxxxxx]\n";
  for (int i = 1; i < 30; ++i) {
    const std::string n = std::to_string(i);
    const std::string p = std::to_string(i - 1);
    text += "a" + n + ": &a" + n + " [*a" + p + ", *a" + p + ", *a" + p + "]\n";
  }
  return text;
}

std::string deepByAliases() {
  std::string text = "a0: &a0 [[[[[[[[[[x]]]]]]]]]]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string n = std::to_string(i);
    text += "a" + n + ": &a" + n + " [[[[[[[[[[*a" + std::to_string(i - 1) + "]]]]]]]]]]\n";
  }
  return text;
}

INSTANTIATE_TEST_SUITE_P(
    Table, YamlRefuses,
    testing::Values(BadYaml{"RepeatedKey", "a: 1\nb: 2\na: 3\n",
                            "line 3, column 1: the key \"a\" is there twice"},
                    BadYaml{"RepeatedKeyOfAnotherType", "1: a\n\"1\": b\n", "the key \"1\" is there twice"},
                    BadYaml{"MergeKey", "a: &x {b: 1}\nc:\n  <<: *x\n", "line 3, column 3: merge keys"},
                    BadYaml{"NullKey", "~: 1\n", "must not be empty or null"},
                    BadYaml{"ListAsKey", "[1]: 1\n", "a key must be a plain word"},
                    BadYaml{"Infinity", "a: .inf\n", "no form in JSON"},
                    BadYaml{"CustomTag", "a: !secret x\n", "the tag !secret"},
                    BadYaml{"CustomTagOnAMap", "a: !secret {}\n", "the tag !secret"},
                    BadYaml{"Unclosed", "a: [1, 2\n", "line 2"}, BadYaml{"Tab", "a:\n\t- b\n", "line 2"},
                    BadYaml{"UnknownAlias", "a: *x\n", "line 1, column 4"},
                    BadYaml{"AliasInsideItself", "a: &x [*x]\n", "an alias inside the value"},
                    BadYaml{"StrayComma", "{a: b}, c", "line 1, column 7: something that belongs"},
                    BadYaml{"AliasBomb", bomb(), "aliases make this more than 16 times"},
                    BadYaml{"TooDeep", std::string(101, '[') + std::string(101, ']'), "100 levels"},
                    BadYaml{"TooDeepByAliases", deepByAliases(), "100 levels"},
                    BadYaml{"VeryDeep", std::string(100'000, '['), ""},
                    BadYaml{"NotUtf8", "a: \xff\n", "UTF-8"},
                    BadYaml{"EscapeWithoutUtf8", "a: \"x\\N\"\n", "line 1, column 4"},
                    BadYaml{"Utf32", std::string{"2\0\0\0\"[\"[,1{\"\"", 13}, "UTF-8"}),
    [](const auto& info) { return std::string{info.param.name}; });

TEST(Yaml, RefusesTextOverTheLimit) {
  EXPECT_TRUE(toJson("a: 1", 4));
  EXPECT_FALSE(toJson("a: 1", 3));
}

}  // namespace
}  // namespace gs::yaml
