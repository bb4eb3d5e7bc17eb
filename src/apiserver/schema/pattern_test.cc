#include "pattern/pattern.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "apiserver/schema/crd_schema.h"

namespace gs::apiserver {
namespace {

/// What Go's regexp says of it.
struct Dialect {
  const char* name;
  std::string pattern;
  std::vector<std::string> matching;
  std::vector<std::string> others;
};

class PatternDialect : public testing::TestWithParam<Dialect> {};

TEST_P(PatternDialect, IsGos) {
  const auto compiled = Pattern::compile(GetParam().pattern);
  ASSERT_TRUE(compiled) << GetParam().pattern;
  for (const auto& text : GetParam().matching) { EXPECT_TRUE(compiled->matches(text)) << text; }
  for (const auto& text : GetParam().others) { EXPECT_FALSE(compiled->matches(text)) << text; }
}

INSTANTIATE_TEST_SUITE_P(
    Table, PatternDialect,
    testing::Values(
        Dialect{"FoundAnywhere", "b+", {"abc"}, {"ac", ""}},
        Dialect{"DollarIsTheVeryEnd", "^a$", {"a"}, {"a\n", "b\na"}},
        Dialect{"LinesWhereAskedFor", "(?m)^a$", {"a\n", "b\na\nc"}, {"ab"}},
        Dialect{"ADotIsNoNewline", "^a.c$", {"abc", "a\u20acc"}, {"a\nc", "ac"}},
        Dialect{"ADotIsACharacter", "^.{3}$", {"\u00e9\u20ac\U0001f600"}, {"\u20ac"}},
        Dialect{"Classes", "^[[:alpha:]_]\\d\\w[^a-c]$", {"x1yd", "_9__"}, {"11yd", "x1yb"}},
        Dialect{"ClassesAreAscii", "^\\w$", {"a"}, {"\u00e9"}},
        Dialect{"UnicodeClasses", "^\\p{Greek}\\pL$", {"\u03b1\u00e9"}, {"ab"}},
        Dialect{"WordBorders", "\\bgpu\\b", {"a gpu b", "gpu"}, {"gpus"}},
        Dialect{"CaseFolding", "(?i)^gpu$", {"GpU"}, {"gp"}},
        Dialect{"Groups", "^(?:a|(b))(?P<rest>c)?$", {"a", "bc"}, {"ab", "c"}},
        Dialect{"LazyMatchesTheSame", "^a{2,3}?b*?$", {"aa", "aaab"}, {"a"}},
        Dialect{"QuotedText", "^\\Qa.b\\E$", {"a.b"}, {"axb"}},
        Dialect{"ABraceByItself", "^a{,2}$", {"a{,2}"}, {"aa"}},
        Dialect{"CountsWhatIsRepeated", "^(a{2,3}b){2}$", {"aabaaab"}, {"aab"}},
        Dialect{"AThousandTimes", "^(()x?){1000}$", {std::string(1000, 'x')}, {std::string(1001, 'x')}}),
    [](const auto& each) { return each.param.name; });

TEST(Pattern, WhatGoRefusesIsNone) {
  for (const char* bad : {"a**", "a{1001}", "(", ")", "[a", "*a", "\\", "(?=a)", "(?<!a)b", "(a)\\1", "\\Z",
                          "[z-a]", "a{2,1}", "\xff"}) {
    EXPECT_FALSE(Pattern::compile(bad)) << bad;
  }
}

TEST(Pattern, WhatWouldBeTooLargeIsNone) {
  for (const char* large : {"((((){1000}){1000}){1000}){1000}", "((((){0,1000}){1000}){1000}){1000}",
                            "(a{100}){11}", "\\pL{1000}"}) {
    EXPECT_FALSE(Pattern::compile(large)) << large;
  }
  EXPECT_TRUE(Pattern::compile("\\pL{10}"));
  EXPECT_TRUE(Pattern::compile(std::string(20'000, 'a')));
  EXPECT_FALSE(Pattern::compile(std::string(20'001, 'a')));
}

TEST(Pattern, WhatItsMemoryCannotHoldIsMatchedAllTheSame) {  // its automaton has a million states
  const auto compiled = Pattern::compile("(a|b)*a(a|b){20}c");
  ASSERT_TRUE(compiled);
  std::string text;
  for (unsigned i = 0, bits = 1; i < 20'000; ++i, bits = bits * 1664525 + 1013904223) {
    text += (bits >> 30U) % 2 == 0 ? 'a' : 'b';
  }
  EXPECT_FALSE(compiled->matches(text));
  EXPECT_TRUE(compiled->matches(text + "a" + std::string(20, 'b') + "c"));
}

TEST(Pattern, IsCompiledWithItsSchema) {
  const json::Value openapi = json::Object{
      {"type", "object"},
      {"properties", json::Object{{"good", json::Object{{"type", "string"}, {"pattern", "^a+$"}}},
                                  {"bad", json::Object{{"type", "string"}, {"pattern", "("}}}}}};
  const SchemaPtr schema = compileCrdSchema(openapi);
  EXPECT_TRUE(schema->field("good")->schema->limits->compiled);
  EXPECT_FALSE(schema->field("bad")->schema->limits->compiled);
  EXPECT_TRUE(validateSchema(*schema, json::Object{{"good", "aa"}, {"bad", "b"}}, {}).empty());
  const auto errors = validateSchema(*schema, json::Object{{"good", "b"}}, {});
  ASSERT_EQ(errors.size(), 1);
  EXPECT_EQ(errors[0].message, "Invalid value: \"b\": good in body should match '^a+$'");
}

}  // namespace
}  // namespace gs::apiserver
