#include "serve/trust/pull_secret_reader.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/base64.h"

namespace gs::serve {
namespace {

using namespace std::chrono_literals;

const model::ObjectKey kOne{"team-a", "one"};
const model::ObjectKey kWide{"", "wide"};

std::string secretWith(const char* user) {
  const std::string config =
      fmt::format(R"({{"auths": {{"quay.io": {{"username": "{}", "password": "p"}}}}}})", user);
  return fmt::format(R"({{"metadata": {{"name": "s"}}, "type": "kubernetes.io/dockerconfigjson",
                          "data": {{".dockerconfigjson": "{}"}}}})",
                     encodeBase64(config));
}

class PullSecretReaderTest : public ::testing::Test {
 protected:
  std::map<model::ObjectKey, std::string> secrets_;
  std::vector<model::ObjectKey> read_;
  bool answers_ = true;
  ManualClock clock_;
  Duration each_{};  // until one is read
  PullSecretReader reader_{"gkm-system",
                           [this](const model::ObjectKey& secret, const PullSecretReader::Done& done) {
                             read_.push_back(secret);
                             clock_.advance(each_);
                             if (!answers_) { return true; }
                             const auto it = secrets_.find(secret);
                             if (it == secrets_.end()) {
                               done(fail(Code::NotFound, secret.text() + " is not there"));
                             } else {
                               done(it->second);
                             }
                             return true;
                           },
                           clock_};

  std::string userAt(const model::ObjectKey& cache, const std::vector<std::string>& names) {
    const auto is = reader_.of(cache, names, 100ms);
    if (!is) { return "error: " + is.error().message; }
    const auto fit = is->of("quay.io", "a/b");
    return fit.empty() ? "nobody" : fit.front().username;
  }
};

TEST_F(PullSecretReaderTest, SecretsAreOfTheCachesNamespaceAndReadEachTime) {
  secrets_[{"team-a", "s"}] = secretWith("me");
  EXPECT_EQ(userAt(kOne, {"s"}), "me");
  secrets_[{"team-a", "s"}] = secretWith("another");
  EXPECT_EQ(userAt(kOne, {"s"}), "another");
  EXPECT_EQ(userAt(kOne, {}), "nobody");
  EXPECT_EQ(read_.size(), 2U);
}

TEST_F(PullSecretReaderTest, ThoseOfAClusterWideCacheAreGkmsOwn) {
  secrets_[{"gkm-system", "s"}] = secretWith("gkm");
  EXPECT_EQ(userAt(kWide, {"s"}), "gkm");
}

TEST_F(PullSecretReaderTest, OfSeveralTheFirstThatFitsGoesFirst) {
  secrets_[{"team-a", "s"}] = secretWith("first");
  secrets_[{"team-a", "t"}] = secretWith("second");
  EXPECT_EQ(userAt(kOne, {"s", "t"}), "first");
}

TEST_F(PullSecretReaderTest, WhatIsWrongIsSaidAndNothingThatASecretHolds) {
  EXPECT_EQ(userAt(kOne, {"s"}), "error: team-a/s is not there");
  secrets_[{"team-a", "s"}] = R"({"type": "Opaque", "data": {"password": "c2VjcmV0"}})";
  const std::string opaque = userAt(kOne, {"s"});
  EXPECT_TRUE(opaque.starts_with("error: Secret team-a/s (spec.imagePullSecrets): ")) << opaque;
  EXPECT_EQ(opaque.find("c2VjcmV0"), std::string::npos);
}

TEST_F(PullSecretReaderTest, ACachesOwnGoBeforeTheRestAndAreNobodyElses) {
  secrets_[{"team-a", "s"}] = secretWith("me");
  const RegistryImages::Options options{.own = reader_.forCaches(),
                                        .environment = [](const char*) { return std::nullopt; }};
  const auto mine = options.credentials(kOne, {"s"}, 100ms);
  ASSERT_TRUE(mine.has_value()) << mine.error().message;
  EXPECT_EQ(mine->of("quay.io", "a/b").front().username, "me");
  EXPECT_TRUE(options.credentials(kOne, {}, 100ms)->empty());
  const auto missing = options.credentials({"team-b", "one"}, {"s"}, 100ms);
  EXPECT_FALSE(missing.has_value());  // that of team-a is not theirs
}

TEST_F(PullSecretReaderTest, NobodyWaitsForEver) {
  answers_ = false;
  EXPECT_EQ(userAt(kOne, {"s"}),
            "error: Secret team-a/s (spec.imagePullSecrets) was not read in the time that all Secrets of a "
            "cache have; try again");
}

// A cache with many of them must not wait for each as long as for one.
TEST_F(PullSecretReaderTest, TheTimeIsForAllSecretsOfACache) {
  secrets_[{"team-a", "s"}] = secretWith("me");
  each_ = 40ms;
  const auto is = reader_.of(kOne, std::vector<std::string>(8, "s"), 100ms);
  ASSERT_FALSE(is.has_value());
  EXPECT_EQ(read_.size(), 3U);
  EXPECT_NE(is.error().message.find("all Secrets of a cache"), std::string::npos) << is.error().message;
}

TEST_F(PullSecretReaderTest, SoAreTheBytes) {
  const std::string config = R"({"auths": {"quay.io": {"username": "me", "password": "p"}}})" +
                             std::string(std::size_t{1} << 20, ' ');
  secrets_[{"team-a", "s"}] =
      fmt::format(R"({{"type": "kubernetes.io/dockerconfigjson", "data": {{".dockerconfigjson": "{}"}}}})",
                  encodeBase64(config));
  EXPECT_EQ(userAt(kOne, {"s"}), "me");
  const std::string many = userAt(kOne, {"s", "s", "s"});
  EXPECT_TRUE(many.starts_with("error: Secret team-a/s (spec.imagePullSecrets): all Secrets of a cache"))
      << many;
  EXPECT_LE(read_.size(), 3U);
}

}  // namespace
}  // namespace gs::serve
