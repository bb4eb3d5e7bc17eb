#include "k8s/token_source.h"

#include <gtest/gtest.h>

#include <string>

#include <cstdio>
#include <fstream>

#include "base/temp_folder_test.h"

namespace gs::k8s {
namespace {

using namespace std::chrono_literals;

class TokenFile : public testing::Test {
 protected:
  void write(const std::string& text) const { std::ofstream{path_} << text; }

  const TempFolder folder_;
  const std::string path_ = folder_.path("token");
  ManualClock clock_;
};

TEST_F(TokenFile, FixedTokenNeverChanges) {
  TokenSource source{"abc", "", clock_};
  EXPECT_EQ(source.current(), "abc");
  EXPECT_FALSE(source.renewed("abc"));
}

TEST_F(TokenFile, IsReadAgainAfterTenSeconds) {
  write("one\n");
  TokenSource source{"", path_, clock_};
  EXPECT_EQ(source.current(), "one");
  write("two\n");
  clock_.advance(9s);
  EXPECT_EQ(source.current(), "one");
  clock_.advance(1s);
  EXPECT_EQ(source.current(), "two");
}

TEST_F(TokenFile, IsReadAtOnceAfterA401) {
  write("one");
  TokenSource source{"", path_, clock_};
  EXPECT_EQ(source.current(), "one");
  EXPECT_FALSE(source.renewed("one"));
  write("two");
  EXPECT_TRUE(source.renewed("one"));
  EXPECT_EQ(source.current(), "two");
  EXPECT_TRUE(source.renewed("one"));  // another thread's 401 with the old one
}

TEST_F(TokenFile, KeepsTheLastGoodToken) {
  TokenSource source{"first", path_, clock_};
  EXPECT_EQ(source.current(), "first");  // there is no file yet
  write("good");
  EXPECT_TRUE(source.renewed("first"));
  for (const char* bad : {"", "\n", "a b", "a\nX: y"}) {
    write(bad);
    clock_.advance(10s);
    EXPECT_EQ(source.current(), "good") << bad;
  }
}

}  // namespace
}  // namespace gs::k8s
