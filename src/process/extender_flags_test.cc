#include "process/extender_flags.h"

#include <gtest/gtest.h>

namespace gs::process {
namespace {

TEST(ExtenderFlags, TheLeaderIsShownTheServingPair) {
  ExtenderFlags f;
  f.cert_file = "/cert";
  f.key_file = "/key";
  f.leader_ca_file = "/ca";
  const net::ClientTls tls = leaderTls(f);
  EXPECT_EQ(tls.ca_file, "/ca");
  EXPECT_EQ(tls.cert_file, "/cert");
  EXPECT_EQ(tls.key_file, "/key");
}

}  // namespace
}  // namespace gs::process
