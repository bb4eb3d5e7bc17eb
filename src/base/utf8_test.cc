#include "base/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace gs {
namespace {

struct Sequence {
  const char* name;
  std::string bytes;
  std::size_t length;  // 0: no UTF-8
};

class Utf8 : public testing::TestWithParam<Sequence> {};

TEST_P(Utf8, IsReadStrictly) {
  const auto& [name, bytes, length] = GetParam();
  EXPECT_EQ(utf8Length(bytes), length);
  EXPECT_EQ(utf8Length(bytes + "x"), length);
  EXPECT_EQ(isUtf8("a" + bytes + "z"), length != 0);
  const std::size_t each = length == 0 ? bytes.size() : 1;  // a byte that is part of nothing is one
  EXPECT_EQ(codePoints("a" + bytes + "z"), 2 + each);
}

INSTANTIATE_TEST_SUITE_P(Table, Utf8,
                         testing::Values(Sequence{"Ascii", "a", 1}, Sequence{"Zero", std::string(1, '\0'), 1},
                                         Sequence{"Two", "\u00e9", 2}, Sequence{"Three", "\u20ac", 3},
                                         Sequence{"Four", "\U0001f600", 4}, Sequence{"Last", "\U0010ffff", 4},
                                         Sequence{"LoneTail", "\x80", 0}, Sequence{"CutOff", "\xe2\x82", 0},
                                         Sequence{"Overlong", "\xc0\xaf", 0},
                                         Sequence{"OverlongThree", "\xe0\x80\xaf", 0},
                                         Sequence{"Surrogate", "\xed\xa0\x80", 0},
                                         Sequence{"TooHigh", "\xf4\x90\x80\x80", 0},
                                         Sequence{"NoLead", "\xff", 0}),
                         [](const auto& each) { return each.param.name; });

TEST(Utf8Text, ABeginningEndsBetweenCharacters) {
  const struct {
    const char* text;
    std::size_t most;
    const char* want;
  } cases[] = {
      {"abc", 3, "abc"},
      {"abc", 2, "ab"},
      {"abc", 0, ""},
      {"", 0, ""},
      {"a\u00e9", 2, "a"},
      {"a\u00e9b", 3, "a\u00e9"},
      {"\u20ac\u20ac", 4, "\u20ac"},
      {"\u20ac\u20ac", 5, "\u20ac"},
      {"\U0001f600x", 3, ""},
      {"x\U0001f600x", 4, "x"},
      {"x\U0001f600x", 5, "x\U0001f600"},
      {"\x80\x80\x80\x80\x80", 4, "\x80\x80\x80\x80"},
      {"a\xe2\x82z", 3, "a\xe2\x82"},
  };
  for (const auto& c : cases) { EXPECT_EQ(utf8Prefix(c.text, c.most), c.want) << c.text << c.most; }
}

TEST(Utf8Text, NothingHasNoCharacters) {
  EXPECT_TRUE(isUtf8(""));
  EXPECT_EQ(codePoints(""), 0);
}

}  // namespace
}  // namespace gs
