#include "kcache/node/mount_paths.h"

#include <gtest/gtest.h>

namespace gs::kcache {
namespace {

TEST(MountPath, IsAbsoluteCleanShortAndShown) {
  for (const char* good : {"/cache", "/home/vllm/.cache/vllm", "/x \"y", "/gr\u00f6\u00dfe"}) {
    EXPECT_TRUE(isMountPath(good)) << good;
  }
  for (const char* bad : {"", "/", "cache", "/a/../b", "/a//b", "/a/", "/a\nb", "/a\x7f", "/a\xff"}) {
    EXPECT_FALSE(isMountPath(bad)) << bad;
  }
  EXPECT_TRUE(isMountPath('/' + std::string(kMostOfAMountPath - 1, 'a')));
  EXPECT_FALSE(isMountPath('/' + std::string(kMostOfAMountPath, 'a')));
}

}  // namespace
}  // namespace gs::kcache
