#include "serve/operator/image_resolver.h"

#include <gtest/gtest.h>

#include <fstream>
#include <future>
#include <map>
#include <memory>

#include "base/system_clock.h"
#include "base/temp_folder_test.h"
#include "cacherim/registry/registry_fixture_test.h"

namespace gs::serve {
namespace {

using namespace std::chrono_literals;
using cacherim::FakeRegistry;
using cacherim::http;

const kcache::Digest kOfManifest = kcache::Digest::of(cacherim::kManifest);

bool answers(cacherim::Peer& peer) {
  peer.write(
      http(200, {{"Content-Type", "application/vnd.oci.image.manifest.v1+json"}}, cacherim::kManifest));
  return true;
}

class ImageResolverTest : public ::testing::Test {
 protected:
  std::unique_ptr<ImageResolver> resolverOf(const FakeRegistry& fake) {
    options_.images.registry.plain_http.insert(fake.name());
    options_.images.registry.direct = true;
    options_.images.environment = [this](const char* name) {
      const auto it = environment_.find(name);
      return it == environment_.end() ? std::nullopt : std::optional{it->second};
    };
    return std::make_unique<ImageResolver>(
        options_,
        [this](const model::ObjectKey& cache, const kcache::Reference& image, const std::vector<std::string>&,
               Mono) -> Result<std::string> {
          verified_.push_back(cache.text() + " " + image.text());
          if (!refuses_.empty()) { return fail(Code::Invalid, refuses_); }
          return std::string{"cosign"};
        },
        clock_, Rng{1}, metrics_);
  }
  [[nodiscard]] double counted(const char* result) {
    return metrics_.counter("gkm_operator_resolves_total", "", {{"result", result}}).value();
  }

  SystemClock clock_;
  Metrics metrics_;
  std::map<std::string, std::string> environment_;
  ImageResolver::Options options_;
  std::vector<std::string> verified_;
  std::string refuses_;
  const model::ObjectKey cache_{"ns", "c"};
};

TEST_F(ImageResolverTest, ATagIsResolvedAndThatDigestVerified) {
  FakeRegistry fake{[](cacherim::Peer& peer, const net::Request&, int) { return answers(peer); }};
  const auto resolver = resolverOf(fake);
  const auto is = resolver->resolve(cache_, fake.image());
  ASSERT_TRUE(is.has_value()) << is.error().message;
  EXPECT_EQ(is->digest, kOfManifest);
  EXPECT_EQ(is->by, "cosign");
  EXPECT_EQ(verified_, std::vector{"ns/c " + fake.image().pinned(kOfManifest).text()});
  EXPECT_EQ(counted("resolved"), 1);
}

// A digest says what the bytes are, and nothing of where they come from: a policy trusts names of registries.
TEST_F(ImageResolverTest, ADigestIsAskedForAtTheRegistryThatIsNamed) {
  bool has_it = true;
  FakeRegistry fake{[&](cacherim::Peer& peer, const net::Request&, int) {
    if (has_it) { return answers(peer); }
    peer.write(http(404, {}, ""));
    return true;
  }};
  const auto resolver = resolverOf(fake);
  EXPECT_EQ(resolver->resolve(cache_, fake.image().pinned(kOfManifest))->digest, kOfManifest);
  EXPECT_EQ(verified_.size(), 1U);
  const auto other = resolver->resolve(cache_, fake.image().pinned(kcache::Digest::of("other bytes")));
  EXPECT_EQ(other.error().code, Code::Invalid) << "what came is not what was asked for";
  has_it = false;
  EXPECT_EQ(resolver->resolve(cache_, fake.image().pinned(kOfManifest)).error().code, Code::NotFound);
  EXPECT_EQ(verified_.size(), 1U);
}

TEST_F(ImageResolverTest, WhatFailsIsSaidAsTheAncestorSaysIt) {
  bool is_there = false;
  FakeRegistry fake{[&](cacherim::Peer& peer, const net::Request&, int) {
    if (is_there) { return answers(peer); }
    peer.write(http(404, {}, ""));
    return true;
  }};
  const auto resolver = resolverOf(fake);
  const std::string name = fake.image().text();
  const auto none = resolver->resolve(cache_, fake.image());
  EXPECT_TRUE(none.error().message.starts_with("image digest resolution failed for '" + name + "': "));
  is_there = true;
  refuses_ = "nobody signed it";
  EXPECT_EQ(resolver->resolve(cache_, fake.image()).error().message,
            "image signature verification failed for '" + name + "': nobody signed it");
  EXPECT_EQ(counted("failed"), 1);
  EXPECT_EQ(counted("refused"), 1);
}

TEST_F(ImageResolverTest, CredentialsAreReadEachTime) {
  FakeRegistry fake{[](cacherim::Peer& peer, const net::Request& request, int) {
    if (cacherim::headerOf(request, "Authorization") == "Basic dTpw") { return answers(peer); }  // u:p
    peer.write(http(401, {{"WWW-Authenticate", "Basic realm=\"r\""}}, ""));
    return true;
  }};
  const auto resolver = resolverOf(fake);
  EXPECT_FALSE(resolver->resolve(cache_, fake.image()).has_value());
  const TempFolder folder;
  std::ofstream{folder.path("auth.json")} << R"({"auths":{")" + fake.name() + R"(":{"auth":"dTpw"}}})";
  environment_["REGISTRY_AUTH_FILE"] = folder.path("auth.json");
  EXPECT_TRUE(resolver->resolve(cache_, fake.image()).has_value());
}

/// A registry that answers nobody until it is let go.
class Stalled {
 public:
  [[nodiscard]] bool wait() {
    came_.set_value();
    go_.get_future().wait();
    return false;
  }
  void came() { came_.get_future().wait(); }
  void letGo() { go_.set_value(); }

 private:
  std::promise<void> came_;
  std::promise<void> go_;
};

TEST_F(ImageResolverTest, ARegistryThatStallsHoldsUpOnlyWhoAsksIt) {
  Stalled stalled;
  FakeRegistry slow{[&](cacherim::Peer&, const net::Request&, int) { return stalled.wait(); }};
  FakeRegistry quick{[](cacherim::Peer& peer, const net::Request&, int) { return answers(peer); }};
  options_.limits.of_pair = 1;
  options_.limits.waiting = 0;
  options_.images.registry.plain_http.insert(slow.name());
  const auto resolver = resolverOf(quick);
  auto hangs = std::async(std::launch::async, [&] { return resolver->resolve(cache_, slow.image()); });
  stalled.came();
  const auto busy = resolver->resolve(cache_, slow.image());
  EXPECT_NE(busy.error().message.find("busy with other images of"), std::string::npos);
  EXPECT_EQ(counted("busy"), 1);
  EXPECT_TRUE(resolver->resolve(cache_, quick.image()).has_value());
  resolver->stop();
  EXPECT_EQ(hangs.get().error().code, Code::Unavailable);
  EXPECT_FALSE(resolver->resolve(cache_, quick.image()).has_value()) << "it was stopped";
  stalled.letGo();
}

TEST_F(ImageResolverTest, OneThatNeverAnswersIsGivenUp) {
  Stalled stalled;
  FakeRegistry slow{
      [&](cacherim::Peer&, const net::Request&, int count) { return count == 0 && stalled.wait(); }};
  options_.budget = 200ms;
  const auto resolver = resolverOf(slow);
  const Mono began = clock_.now().mono;
  EXPECT_FALSE(resolver->resolve(cache_, slow.image()).has_value());
  EXPECT_LT(clock_.now().mono - began, 5s);
  stalled.letGo();
}

}  // namespace
}  // namespace gs::serve
