#include "net/ops_handler.h"

#include <gtest/gtest.h>

namespace gs::net {
namespace {

Response ask(const OpsPages& pages, std::string target, std::string method = "GET") {
  return opsHandler(pages)({std::move(method), std::move(target), {}, {}});
}

TEST(OpsHandler, HealthzSaysWhyTheProcessIsDead) {
  EXPECT_EQ(ask({}, "/healthz").status, 200);
  const OpsPages hung{.dead = [] { return std::string{"the owner thread hangs"}; }};
  EXPECT_EQ(ask(hung, "/livez").status, 500);
  EXPECT_EQ(ask(hung, "/livez").body, "the owner thread hangs\n");
}

TEST(OpsHandler, ReadyzNamesTheChecksThatFail) {
  const OpsPages pages{.checks = [] {
    return std::vector<std::pair<std::string, std::string>>{{"pods", ""}, {"token", "401 Unauthorized"}};
  }};
  const Response answer = ask(pages, "/readyz");
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.body, "[+]pods ok\n[-]token failed: 401 Unauthorized\nreadyz check failed\n");
  EXPECT_EQ(ask({}, "/readyz").body, "ok\n");
  EXPECT_EQ(ask({}, "/readyz?verbose").body, "readyz check passed\n");
}

TEST(OpsHandler, OtherPathsAndMethodsAreRefused) {
  EXPECT_EQ(ask({}, "/").status, 404);
  EXPECT_EQ(ask({}, "/metrics", "POST").status, 405);
  EXPECT_EQ(ask({.metrics = [] { return std::string{"a 1\n"}; }}, "/metrics").body, "a 1\n");
}

}  // namespace
}  // namespace gs::net
