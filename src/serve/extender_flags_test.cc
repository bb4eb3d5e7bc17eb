#include "serve/extender_flags.h"

#include <gtest/gtest.h>

namespace gs::serve {
namespace {

TEST(ExtenderFlags, TheLeaderIsShownTheServingPair) {
  ExtenderFlags f;
  f.tls.cert_file = "/cert";
  f.tls.key_file = "/key";
  f.leader_ca_file = "/ca";
  const net::ClientTls tls = leaderTls(f);
  EXPECT_EQ(tls.ca_file, "/ca");
  EXPECT_EQ(tls.cert_file, "/cert");
  EXPECT_EQ(tls.key_file, "/key");
}

}  // namespace
}  // namespace gs::serve
