// Who a registry's client is: challenges, tokens, redirects. And what it never tells to whom.
#include "base/base64.h"
#include "cacherim/registry/registry_fixture_test.h"

namespace gs::cacherim {
namespace {

using namespace std::chrono_literals;

const std::string kMe = "Basic " + encodeBase64("me:s3cret");

class RegistryAuth : public RegistryTest {
 protected:
  /// A registry with a token server beside it: /token. Tokens are "t0", "t1", ... ; `good` says which.
  FakeRegistry::Handle withTokens(std::function<bool(const std::string& token)> good,
                                  const std::string& expires = "300") {
    return [this, good = std::move(good), expires](Peer& peer, const net::Request& request, int) {
      if (request.path() == "/token") {
        peer.write(http(200, {},
                        R"({"token":"t)" + std::to_string(tokens_++) + R"(","expires_in":)" + expires + "}"));
        return true;
      }
      const std::string authorization = headerOf(request, "Authorization");
      if (authorization.starts_with("Bearer ") && good(authorization.substr(7))) {
        peer.write(http(200, {}, kManifest));
        return true;
      }
      const net::Headers ask{
          {"WWW-Authenticate", R"(Bearer realm="/token",service="s v",scope="repository:a/b:pull")"}};
      peer.write(http(401, ask, ""));
      return true;
    };
  }
  void beMe(const FakeRegistry& fake) {
    plain(fake).credentials.add(fake.name(), {.username = "me", .password = "s3cret"});
  }
  /// None of it is a secret.
  static void expectQuiet(const Error& error) {
    for (const std::string& word : {std::string{"s3cret"}, encodeBase64("me:s3cret"), std::string{"t0"}}) {
      EXPECT_EQ(error.message.find(word), std::string::npos) << error.message;
    }
  }
  std::atomic<int> tokens_ = 0;
};

TEST_F(RegistryAuth, ATokenIsFetchedOnceAndKept) {
  FakeRegistry fake{withTokens([](const std::string& token) { return token == "t0"; })};
  beMe(fake);
  Registry registry = this->registry();
  for (int i = 0; i < 3; ++i) {
    const auto out = registry.manifest(fake.image());
    ASSERT_TRUE(out) << out.error().message;
  }
  EXPECT_EQ(fake.asked(),
            (std::vector<std::string>{
                "GET /v2/a/b/manifests/v1", "GET /token?service=s%20v&scope=repository%3Aa%2Fb%3Apull",
                "GET /v2/a/b/manifests/v1", "GET /v2/a/b/manifests/v1", "GET /v2/a/b/manifests/v1"}));
  EXPECT_EQ(headerOf(fake.requests()[1], "Authorization"), kMe);
}

TEST_F(RegistryAuth, ATokenThatIsOverIsFetchedAgain) {
  FakeRegistry fake{withTokens([](const std::string&) { return true; }, "60")};
  plain(fake);
  Registry registry = this->registry();
  ASSERT_TRUE(registry.manifest(fake.image()));
  clock_.advance(54s);
  ASSERT_TRUE(registry.manifest(fake.image()));
  EXPECT_EQ(tokens_, 1);
  clock_.advance(2s);
  ASSERT_TRUE(registry.manifest(fake.image()));
  EXPECT_EQ(tokens_, 2);
}

TEST_F(RegistryAuth, ATokenThatIsRefusedSoonerIsFetchedAgainOnce) {
  std::atomic<int> newest = 0;
  FakeRegistry fake{
      withTokens([&](const std::string& token) { return token == "t" + std::to_string(newest); })};
  plain(fake);
  Registry registry = this->registry();
  ASSERT_TRUE(registry.manifest(fake.image()));
  newest = 1;
  ASSERT_TRUE(registry.manifest(fake.image()));
  EXPECT_EQ(tokens_, 2);
}

TEST_F(RegistryAuth, A401ForEverEnds) {
  FakeRegistry fake{withTokens([](const std::string&) { return false; })};
  beMe(fake);
  const auto out = registry().manifest(fake.image());
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, Code::Invalid);
  EXPECT_EQ(fake.requests().size(), 3U);
  EXPECT_TRUE(pause_.waits.empty());
  expectQuiet(out.error());
}

TEST_F(RegistryAuth, EachCredentialThatFitsIsTried) {
  FakeRegistry fake{[](Peer& peer, const net::Request& request, int) {
    const bool good = headerOf(request, "Authorization") == kMe;
    peer.write(good ? http(200, {}, kManifest) : http(401, {{"WWW-Authenticate", "Basic realm=x"}}, ""));
    return true;
  }};
  plain(fake).credentials.add(fake.name() + "/a", {.username = "other", .password = "x"});
  beMe(fake);
  Registry registry = this->registry();
  ASSERT_TRUE(registry.manifest(fake.image()));
  ASSERT_TRUE(registry.manifest(fake.image()));
  EXPECT_EQ(fake.requests().size(), 4U);  // nobody, other, me; then me at once
}

// A Secret of a namespace must not make the node guess passwords.
TEST_F(RegistryAuth, NoMoreThan16CredentialsAreTried) {
  FakeRegistry fake{[](Peer& peer, const net::Request&, int) {
    peer.write(http(401, {{"WWW-Authenticate", "Basic realm=x"}}, ""));
    return true;
  }};
  plain(fake);
  for (int i = 0; i < 100; ++i) {
    options_.credentials.add(fake.name(), {.username = "me" + std::to_string(i), .password = "x"});
  }
  const auto out = registry().manifest(fake.image());
  ASSERT_FALSE(out);
  EXPECT_EQ(fake.requests().size(), 17U);
  EXPECT_NE(out.error().message.find("100 credentials fit, and the first 16 were tried"), std::string::npos)
      << out.error().message;
}

TEST_F(RegistryAuth, AnIdentityTokenIsPosted) {
  FakeRegistry fake{withTokens([](const std::string&) { return true; })};
  plain(fake).credentials.add(fake.name(), {.username = "<token>", .identity_token = "re/fresh"});
  ASSERT_TRUE(registry().manifest(fake.image()));
  const net::Request token = fake.requests()[1];
  EXPECT_EQ(token.method, "POST");
  EXPECT_EQ(token.body,
            "grant_type=refresh_token&client_id=gkm&service=s%20v&scope=repository%3Aa%2Fb%3Apull"
            "&refresh_token=re%2Ffresh");
  EXPECT_EQ(headerOf(token, "Authorization"), "");
}

TEST_F(RegistryAuth, ATokenServerThatIsDownIsTriedAgain) {
  FakeRegistry tokens{[](Peer& peer, const net::Request&, int count) {
    if (count < 2) { return false; }
    peer.write(count < 4 ? http(503, {}, "") : http(200, {}, R"({"access_token":"t"})"));
    return true;
  }};
  FakeRegistry fake{[&](Peer& peer, const net::Request& request, int) {
    const bool good = headerOf(request, "Authorization") == "Bearer t";
    peer.write(good ? http(200, {}, kManifest)
                    : http(401, {{"WWW-Authenticate", "Bearer realm=\"" + tokens.url() + "/token\""}}, ""));
    return true;
  }};
  plain(fake);
  const auto out = registry().manifest(fake.image());
  EXPECT_TRUE(out) << out.error().message;
  EXPECT_GE(pause_.waits.size(), 2U);
}

TEST_F(RegistryAuth, NonsenseOfATokenServerIsAnErrorThatSaysNothingOfIt) {
  for (const char* body : {"", "{}", R"({"token":"s3cret\r\nX: y"})", "s3cret", R"({"token":7})"}) {
    FakeRegistry fake{[&](Peer& peer, const net::Request& request, int) {
      peer.write(request.path() == "/token"
                     ? http(200, {}, body)
                     : http(401, {{"WWW-Authenticate", "Bearer realm=\"/token\""}}, ""));
      return true;
    }};
    beMe(fake);
    const auto out = registry().manifest(fake.image());
    ASSERT_FALSE(out) << body;
    EXPECT_EQ(out.error().code, Code::Invalid);
    expectQuiet(out.error());
  }
}

TEST_F(RegistryAuth, ARedirectToAnotherHostDoesNotGetTheCredentials) {
  FakeRegistry elsewhere{[&](Peer& peer, const net::Request&, int) {
    peer.write(http(200, {}, large_));
    return true;
  }};
  FakeRegistry fake{[&](Peer& peer, const net::Request& request, int) {
    const bool good = headerOf(request, "Authorization") == kMe;
    peer.write(good ? http(307, {{"Location", elsewhere.url() + "/blob?sig=1"}}, "")
                    : http(401, {{"WWW-Authenticate", "Basic realm=x"}}, ""));
    return true;
  }};
  beMe(fake);
  const Status out = registry().blob(fake.image(), descriptorOf(large_), sink());
  EXPECT_TRUE(out) << out.error().message;
  EXPECT_EQ(got_, large_);
  ASSERT_EQ(elsewhere.requests().size(), 1U);
  EXPECT_EQ(headerOf(elsewhere.requests()[0], "Authorization"), "");
  EXPECT_EQ(elsewhere.requests()[0].target, "/blob?sig=1");
}

TEST_F(RegistryAuth, ARedirectWithinTheHostKeepsThem) {
  FakeRegistry fake{[&](Peer& peer, const net::Request& request, int) {
    if (request.target == "/blob") {
      peer.write(http(headerOf(request, "Authorization") == kMe ? 200 : 400, {}, large_));
    } else if (headerOf(request, "Authorization").empty()) {
      peer.write(http(401, {{"WWW-Authenticate", "Basic realm=x"}}, ""));
    } else {
      peer.write(http(307, {{"Location", "/blob"}}, ""));
    }
    return true;
  }};
  beMe(fake);
  const Status out = registry().blob(fake.image(), descriptorOf(large_), sink());
  EXPECT_TRUE(out) << out.error().message;
}

TEST_F(RegistryAuth, ACutAtAnotherHostIsAskedForAtTheRegistryAgain) {
  FakeRegistry elsewhere{[&](Peer& peer, const net::Request& request, int count) {
    if (count == 1) {
      peer.write(http(403, {}, "the link is too old"));
      return false;
    }
    const std::string range = headerOf(request, "Range");
    if (range.empty()) {
      peer.write(std::string_view{http(200, {}, large_)}.substr(0, 200'000));
    } else {
      const std::size_t from = std::stoul(range.substr(6));
      peer.write(http(
          206, {{"Content-Range", "bytes " + std::to_string(from) + "-/" + std::to_string(large_.size())}},
          large_.substr(from)));
    }
    return false;
  }};
  FakeRegistry fake{[&](Peer& peer, const net::Request&, int) {
    peer.write(http(307, {{"Location", elsewhere.url() + "/blob"}}, ""));
    return true;
  }};
  plain(fake);
  const Status out = registry().blob(fake.image(), descriptorOf(large_), sink());
  EXPECT_TRUE(out) << out.error().message;
  EXPECT_EQ(got_, large_);
  EXPECT_EQ(fake.requests().size(), 3U);
}

TEST_F(RegistryAuth, RedirectsInACircleEnd) {
  FakeRegistry fake{[](Peer& peer, const net::Request& request, int) {
    peer.write(http(302, {{"Location", request.target}}, ""));
    return true;
  }};
  plain(fake);
  const auto out = registry().manifest(fake.image());
  ASSERT_FALSE(out);
  EXPECT_NE(out.error().message.find("too many redirects"), std::string::npos) << out.error().message;
  EXPECT_EQ(fake.requests().size(), 6U);
}

TEST_F(RegistryAuth, ARedirectToNoUrlIsRefused) {
  for (const char* to : {"ftp://a/b", "file:///etc/passwd", "http://me:pw@a/", "gopher:x"}) {
    FakeRegistry fake{[&](Peer& peer, const net::Request&, int) {
      peer.write(http(307, {{"Location", to}}, ""));
      return true;
    }};
    plain(fake);
    const auto out = registry().manifest(fake.image());
    ASSERT_FALSE(out) << to;
    EXPECT_EQ(out.error().code, Code::Invalid) << to;
    EXPECT_EQ(out.error().message.find("pw"), std::string::npos) << out.error().message;
  }
}

}  // namespace
}  // namespace gs::cacherim
