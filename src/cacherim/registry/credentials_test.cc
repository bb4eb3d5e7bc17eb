#include "cacherim/registry/credentials.h"

#include <gtest/gtest.h>

#include "base/base64.h"

namespace gs::cacherim {
namespace {

Credentials readConfig(std::string_view text) {
  auto out = Credentials::parseDockerConfig(text);
  EXPECT_TRUE(out) << (out ? "" : out.error().message);
  return out ? *out : Credentials{};
}

Credential named(const std::string& name) { return {.username = name, .password = "p"}; }

using Names = std::vector<std::string>;

/// The names of all that fit.
Names names(const Credentials& all, const std::string& registry, const std::string& repository) {
  Names out;
  for (const Credential& one : all.of(registry, repository)) { out.push_back(one.username); }
  return out;
}

TEST(Credentials, FromAuthFromNameAndPasswordAndFromTokens) {
  const Credentials all = readConfig(R"({"auths":{
    "a.io":{"auth":")" + encodeBase64("me:pass:word") +
                                     R"(","email":"x"},
    "b.io":{"username":"you","password":"secret"},
    "c.io":{"auth":")" + encodeBase64("<token>:") +
                                     R"(","identitytoken":"refresh"},
    "d.io":{"registrytoken":"bearer"},
    "e.io":{}}})");
  EXPECT_EQ(all.of("a.io", "x"), (std::vector<Credential>{{"me", "pass:word", "", ""}}));
  EXPECT_EQ(all.of("b.io", "x"), (std::vector<Credential>{{"you", "secret", "", ""}}));
  EXPECT_EQ(all.of("c.io", "x"), (std::vector<Credential>{{"<token>", "", "refresh", ""}}));
  EXPECT_EQ(all.of("d.io", "x"), (std::vector<Credential>{{"", "", "", "bearer"}}));
  EXPECT_TRUE(all.of("e.io", "x").empty());
  EXPECT_TRUE(all.of("f.io", "x").empty());
}

TEST(Credentials, TheOldFileHasNoAuthsAroundIt) {
  const Credentials all = readConfig(R"({"https://a.io/v1/":{"username":"me","password":"p"}})");
  EXPECT_EQ(names(all, "a.io", "x/y"), Names{"me"});
}

TEST(Credentials, TheUsualPortMayBeNamedOrNot) {
  for (const char* key : {"a.io", "a.io:443"}) {
    Credentials all;
    all.add(key, named("me"));
    EXPECT_EQ(all.of("a.io", "443", true, "x").size(), 1U) << key;
    EXPECT_TRUE(all.of("a.io", "5000", false, "x").empty()) << key;
  }
  Credentials other;
  other.add("a.io:5000", named("me"));
  EXPECT_EQ(other.of("a.io", "5000", false, "x").size(), 1U);
  EXPECT_TRUE(other.of("a.io", "443", true, "x").empty());
}

TEST(Credentials, DockersOwnRegistryHasManyNames) {
  for (const std::string host : {"index.docker.io", "docker.io", "registry-1.docker.io"}) {
    for (const std::string& key : {host, "https://" + host + "/v1/"}) {
      Credentials all;
      all.add(key, named("me"));
      EXPECT_EQ(names(all, "docker.io", "library/x"), Names{"me"}) << key;
      EXPECT_TRUE(names(all, "quay.io", "library/x").empty()) << key;
    }
  }
}

struct Match {
  const char* key;
  const char* registry;
  const char* repository;
  bool fits;
};
class KeyMatches : public testing::TestWithParam<Match> {};
TEST_P(KeyMatches, AsKubeletHasIt) {
  Credentials all;
  all.add(GetParam().key, named("me"));
  EXPECT_EQ(!names(all, GetParam().registry, GetParam().repository).empty(), GetParam().fits)
      << GetParam().key << " for " << GetParam().registry << '/' << GetParam().repository;
}
INSTANTIATE_TEST_SUITE_P(
    Table, KeyMatches,
    testing::Values(
        Match{"quay.io", "quay.io", "a/b", true}, Match{"QUAY.io", "quay.io", "a/b", true},
        Match{"quay.io", "quay.io.evil", "a/b", false}, Match{"quay.io", "evil-quay.io", "a/b", false},
        Match{"quay.io", "quay.io:444", "a/b", false}, Match{"quay.io:444", "quay.io:444", "a/b", true},
        Match{"quay.io/a", "quay.io", "a/b", true}, Match{"quay.io/a", "quay.io", "b/a", false},
        Match{"quay.io/a", "quay.io", "ab/c", true}, Match{"https://quay.io/v2/a", "quay.io", "a/b", true},
        Match{"https://quay.io/", "quay.io", "a/b", true}, Match{"*.example.com", "a.example.com", "x", true},
        Match{"*.example.com", "example.com", "x", false},
        Match{"*.example.com", "a.b.example.com", "x", false},
        Match{"*.*.example.com", "a.b.example.com", "x", true},
        Match{"reg-*.example.com", "reg-1.example.com", "x", true},
        Match{"reg-*.example.com", "other.example.com", "x", false},
        Match{"*.example.com:5000", "a.example.com", "x", false},
        Match{"me:secret@quay.io", "quay.io", "x", true}, Match{"[::1]:5000", "[::1]:5000", "x", true},
        Match{"*", "quay.io", "x", false}));

TEST(Credentials, TheLongestKeyGoesFirstAndEachIsGivenOnce) {
  Credentials all;
  all.add("quay.io", named("all"));
  all.add("quay.io/team/a", named("a"));
  all.add("quay.io/team", named("team"));
  all.add("*.io", named("all"));
  EXPECT_EQ(names(all, "quay.io", "team/a"), (Names{"a", "team", "all"}));
  Credentials more;
  more.add("quay.io", named("second"));
  all.add(more);
  EXPECT_EQ(names(all, "quay.io", "x"), (Names{"all", "second"}));
}

TEST(Credentials, HelpersAreSaidAndNotRun) {
  EXPECT_TRUE(readConfig(R"({"credsStore":"desktop"})").helpers());
  EXPECT_TRUE(readConfig(R"({"credHelpers":{"a.io":"ecr-login"},"auths":{}})").helpers());
  EXPECT_FALSE(readConfig(R"({"auths":{}})").helpers());
}

TEST(Credentials, AnErrorNamesTheRegistryAndNoSecret) {
  for (const std::string& entry :
       {std::string{R"({"auth":"s3cret-no-base64!"})"}, R"({"auth":")" + encodeBase64("s3cret") + R"("})",
        std::string{R"({"registrytoken":"s3cret\r\nX: y"})"},
        std::string{R"({"username":"s3cret:x","password":"p"})"}}) {
    const auto bad = Credentials::parseDockerConfig(R"({"auths":{"me:s3cret@a.io/x":)" + entry + "}}");
    ASSERT_FALSE(bad) << entry;
    EXPECT_EQ(bad.error().code, Code::Invalid);
    EXPECT_EQ(bad.error().message.find("s3cret"), std::string::npos) << bad.error().message;
    EXPECT_NE(bad.error().message.find("'a.io'"), std::string::npos) << bad.error().message;
  }
  const auto no_json = Credentials::parseDockerConfig(R"({"auths":{"a.io":{"password":s3cret}}})");
  ASSERT_FALSE(no_json);
  EXPECT_EQ(no_json.error().message, "docker's config.json is no JSON object");
}

std::string pullSecret(const std::string& type, const std::string& key, const std::string& data) {
  return R"({"kind":"Secret","metadata":{"name":"pull","namespace":"team"},"type":")" + type +
         R"(","data":{")" + key + R"(":")" + encodeBase64(data) + R"("}})";
}

TEST(PullSecret, OfBothTypes) {
  const std::string entry = R"({"a.io":{"username":"me","password":"p"}})";
  const auto now = Credentials::parsePullSecret(
      pullSecret("kubernetes.io/dockerconfigjson", ".dockerconfigjson", R"({"auths":)" + entry + "}"));
  ASSERT_TRUE(now) << now.error().message;
  EXPECT_EQ(names(*now, "a.io", "x"), Names{"me"});
  const auto old = Credentials::parsePullSecret(pullSecret("kubernetes.io/dockercfg", ".dockercfg", entry));
  ASSERT_TRUE(old) << old.error().message;
  EXPECT_EQ(names(*old, "a.io", "x"), Names{"me"});
}

TEST(PullSecret, OneThatIsNoneIsNamed) {
  for (const std::string& text :
       {pullSecret("Opaque", ".dockerconfigjson", "{}"),
        pullSecret("kubernetes.io/dockerconfigjson", "other", "{}"),
        pullSecret("kubernetes.io/dockerconfigjson", ".dockerconfigjson", "s3cret")}) {
    const auto bad = Credentials::parsePullSecret(text);
    ASSERT_FALSE(bad);
    EXPECT_NE(bad.error().message.find("secret team/pull"), std::string::npos) << bad.error().message;
    EXPECT_EQ(bad.error().message.find("s3cret"), std::string::npos) << bad.error().message;
  }
  EXPECT_FALSE(Credentials::parsePullSecret("no json"));
}

TEST(Credentials, ThoseOfAnotherFileGoBehindWhatIsHereWithTheSameKey) {
  Credentials all;
  all.add("quay.io/a", named("a"));
  all.add("quay.io", named("mine"));
  Credentials other;
  other.add("quay.io", named("theirs"));
  other.add("quay.io/a/b", named("b"));
  other.add("quay.io/a", named("their a"));
  all.add(other);
  EXPECT_EQ(names(all, "quay.io", "a/b"), (Names{"b", "a", "their a", "mine", "theirs"}));
}

// Keys longer than any name of a repository fit none, and are compared with none.
TEST(Credentials, AKeyLongerThanAnyNameFitsNone) {
  Credentials all =
      readConfig(R"({"auths":{"*)" + std::string(600, '*') + R"(.io":{"username":"me","password":"p"}}})");
  EXPECT_TRUE(all.empty());
}

}  // namespace
}  // namespace gs::cacherim
