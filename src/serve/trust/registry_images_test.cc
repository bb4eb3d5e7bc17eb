#include "serve/trust/registry_images.h"

#include <gtest/gtest.h>

#include "base/base64.h"
#include "base/clock.h"
#include "cacherim/registry/registry_fixture_test.h"

namespace gs::serve {
namespace {

using namespace std::chrono_literals;

/// A registry that has one manifest, for one user, until it is withdrawn.
class RegistryImagesTest : public ::testing::Test {
 protected:
  /// What the registry that `cache` names says to who it is by those Secrets.
  Status ask(const model::ObjectKey& cache, const std::vector<std::string>& secrets) {
    auto source = images_.source(cache, secrets);
    EXPECT_TRUE(source) << source.error().message;
    return (*source)->serves(fake_.image().pinned(kcache::Digest::of(cacherim::kManifest)));
  }
  /// Requests that gave the manifest.
  [[nodiscard]] int given() const { return given_; }

  static cacherim::Credentials as(const std::string& registry, const std::string& password) {
    cacherim::Credentials out;
    out.add(registry, {.username = "u", .password = password});
    return out;
  }
  static bool isTheirs(const net::Request& request) {
    return cacherim::headerOf(request, "Authorization") == "Basic " + encodeBase64("u:right");
  }

  std::atomic<int> given_ = 0;
  std::atomic<bool> is_withdrawn_ = false;
  ManualClock clock_;
  TrustGate gate_;
  cacherim::FakeRegistry fake_{[this](cacherim::Peer& peer, const net::Request& request, int) {
    if (!isTheirs(request)) {
      peer.write(cacherim::http(401, {{"WWW-Authenticate", "Basic realm=\"x\""}}, ""));
    } else if (is_withdrawn_) {
      peer.write(cacherim::http(404, {}, ""));
    } else {
      ++given_;
      peer.write(cacherim::http(200, {}, cacherim::kManifest));
    }
    return true;
  }};
  RegistryImages images_{
      {.own = [this](const model::ObjectKey&, const std::vector<std::string>& secrets,
                     Duration) -> Result<cacherim::Credentials> { return as(fake_.name(), secrets.front()); },
       .environment = [](const char*) { return std::nullopt; },
       .registry = {.plain_http = {fake_.name()}, .direct = true}},
      gate_,
      clock_,
      Rng{1}};
};

TEST_F(RegistryImagesTest, AManifestIsAskedForOnceByAllCachesOfOneUser) {
  EXPECT_TRUE(ask({"team-a", "one"}, {"right"}));
  EXPECT_TRUE(ask({"team-a", "two"}, {"right"}));
  EXPECT_TRUE(ask({"team-b", "one"}, {"right"}));
  EXPECT_EQ(given(), 1);
}

TEST_F(RegistryImagesTest, WhoIsSomebodyElseOrNobodyIsNotGivenIt) {
  EXPECT_TRUE(ask({"team-a", "one"}, {"right"}));
  EXPECT_FALSE(ask({"team-a", "one"}, {"wrong"})) << "its Secret changed";
  EXPECT_FALSE(ask({"team-a", "one"}, {}));
  EXPECT_TRUE(ask({"team-a", "one"}, {"right"}));
  EXPECT_EQ(given(), 1);
}

TEST_F(RegistryImagesTest, WhatIsWithdrawnIsGivenForTenMinutesMore) {
  EXPECT_TRUE(ask({"team-a", "one"}, {"right"}));
  is_withdrawn_ = true;
  clock_.advance(9min);
  EXPECT_TRUE(ask({"team-a", "two"}, {"right"}));
  clock_.advance(2min);
  EXPECT_FALSE(ask({"team-a", "three"}, {"right"}));
  is_withdrawn_ = false;
  EXPECT_TRUE(ask({"team-a", "three"}, {"right"})) << "a no is not remembered";
}

TEST_F(RegistryImagesTest, ATagIsAskedForEachTime) {
  for (int i = 0; i < 2; ++i) {
    auto source = images_.source({"team-a", "one"}, {"right"});
    ASSERT_TRUE(source);
    EXPECT_TRUE((*source)->manifest(fake_.image("v1")));
  }
  EXPECT_EQ(given(), 2);
  EXPECT_TRUE(ask({"team-a", "one"}, {"right"})) << "whoever gave a tag has not been asked for the digest";
  EXPECT_EQ(given(), 3);
}

}  // namespace
}  // namespace gs::serve
