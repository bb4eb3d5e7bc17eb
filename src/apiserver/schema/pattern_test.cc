#include "apiserver/schema/pattern.h"

#include <gtest/gtest.h>

#include <string>

namespace gs::apiserver {
namespace {

bool matches(std::string_view pattern, std::string_view text) {
  const auto compiled = Pattern::compile(pattern);
  EXPECT_TRUE(compiled.has_value()) << pattern;
  return compiled && compiled->matches(text);
}

TEST(Pattern, CountsWhatIsRepeated) {
  EXPECT_TRUE(matches("^(a{2,3}b){2}$", "aabaaab"));
  EXPECT_FALSE(matches("^(a{2,3}b){2}$", "aab"));
  EXPECT_TRUE(matches("^(()x?){1000}$", std::string(1000, 'x')));
  EXPECT_FALSE(matches("^(()x?){1000}$", std::string(1001, 'x')));
}

TEST(Pattern, RepeatsOfNothingInEachOtherAreTooLarge) {
  EXPECT_FALSE(Pattern::compile("((((){1000}){1000}){1000}){1000}"));
  EXPECT_FALSE(Pattern::compile("((((){0,1000}){1000}){1000}){1000}"));
}

TEST(Pattern, ALongListOfCharactersIsTooLargeToBeRepeatedOften) {
  std::string list = "[";
  for (int i = 0; i < 1000; ++i) { list += "a-cx-z"; }
  EXPECT_TRUE(Pattern::compile(list + "]"));
  EXPECT_FALSE(Pattern::compile(list + "]{1000}"));
}

}  // namespace
}  // namespace gs::apiserver
