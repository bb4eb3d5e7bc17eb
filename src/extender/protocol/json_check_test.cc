#include "extender/protocol/json_check.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gs::extender {
namespace {

using CheckKind = JsonCheck::Kind;

TEST(JsonCheck, SaysWhereATextStopsBeingJson) {
  struct Row {
    const char* text;
    std::size_t at;
    const char* expected;
  };
  for (const Row& row : std::vector<Row>{
           {"hello", 0, "a value"},
           {"<html>", 0, "a value"},
           {"{}{}", 2, "nothing more"},
           {"{\"a\" 1}", 5, "':'"},
           {"{\"a\":1 \"b\"}", 7, "',' or '}'"},
           {"[1 2]", 3, "',' or ']'"},
           {"[}", 1, "a value or ']'"},
           {"[1,]", 3, "a value"},
           {"{1:2}", 1, "a key or '}'"},
           {"{\"a\":1,}", 7, "a key"},
           {"nix", 1, "null"},
           {"{\"a\":\"\\x\"}", 7, "an escape such as \\n or \\u0041"},
           {"\"\\u12g4\"", 5, "an escape such as \\n or \\u0041"},
           {"\"a\nb\"", 2, "no control character in a string"},
           {"[-]", 2, "a value or ']'"},
           {"[1.]", 3, "a value or ']'"},
           {"[1e]", 3, "a value or ']'"},
           {"01", 1, "nothing more"},
       }) {
    const JsonCheck check = checkJson(row.text);
    EXPECT_EQ(check.kind, CheckKind::Wrong) << row.text;
    EXPECT_EQ(check.at, row.at) << row.text;
    EXPECT_EQ(check.expected, row.expected) << row.text;
  }
}

TEST(JsonCheck, CutAnywhereATextIsCutOff) {
  const std::string whole = R"( {"a": [true, false, null, -1.5e+3, 0, {"b\n\u00e4\"": {}}, []], "c": "}]"} )";
  ASSERT_EQ(checkJson(whole).kind, CheckKind::Whole);
  for (std::size_t size = 0; size + 1 < whole.size(); ++size) {
    const JsonCheck check = checkJson(whole.substr(0, size));
    EXPECT_EQ(check.kind, CheckKind::CutOff) << size;
    EXPECT_EQ(check.at, size);
  }
  EXPECT_EQ(checkJson(std::string(1'000'000, '[')).kind, CheckKind::CutOff);
}

}  // namespace
}  // namespace gs::extender
