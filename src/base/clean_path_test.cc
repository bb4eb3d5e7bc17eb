#include "base/clean_path.h"

#include <gtest/gtest.h>

#include <string>

namespace gs {
namespace {

TEST(CleanPath, IsAbsoluteAndSaysWhatItMeans) {
  for (const char* good : {"/a", "/a/b", "/var/lib/gkm", "/...", "/a/.b", "/a/b..", "/ü"}) {
    EXPECT_TRUE(isCleanPath(good)) << good;
  }
  for (const char* bad : {"", "/", "a", "a/b", "//", "//a", "/a/", "/a//b", "/.", "/..", "/a/.", "/a/..",
                          "/a/./b", "/a/../b", "./a", "../a"}) {
    EXPECT_FALSE(isCleanPath(bad)) << bad;
  }
  EXPECT_FALSE(isCleanPath(std::string{"/a\0b", 4}));
}

TEST(CleanPath, WhatIsMeantByOneThatIsNotClean) {
  for (const char* written : {"/a/b", "/a/b/", "/a//b", "//a/b", "a/b", "/a/./b", "/a/c/../b", "/../a/b"}) {
    EXPECT_EQ(cleanedPath(written), "/a/b") << written;
  }
  for (const char* written : {"", "/", "//", ".", "/.."}) { EXPECT_EQ(cleanedPath(written), "/") << written; }
}

}  // namespace
}  // namespace gs
