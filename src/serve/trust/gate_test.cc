#include "serve/trust/gate.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/files.h"
#include "cacherim/registry/pause.h"
#include "cacherim/registry/registry_fixture_test.h"
#include "cacherim/trust/image_of_test.h"
#include "json/value.h"
#include "serve/trust/registry_images.h"

namespace gs::serve {
namespace {

class TrustGateTest : public ::testing::Test {
 protected:
  void policy(const std::string& text) {
    gate_.policyIs(std::make_shared<const std::map<std::string, std::string>>(
        std::map<std::string, std::string>{{"policy.yaml", text}}));
  }
  /// Why it may, or "Conflict: ..".
  std::string admit(const model::ObjectKey& cache, const char* image = "quay.io/gkm/a") {
    auto reference = *kcache::parseReference(std::string{image} + "@sha256:" + std::string(64, 'a'));
    const auto why = gate_.admit(registry_, cache, reference);
    if (why) { return *why; }
    const char* code = why.error().code == Code::Conflict ? "Conflict" : "Unavailable";
    return std::string{code} + ": " + why.error().message;
  }

  TrustGate gate_;
  ManualClock clock_;
  cacherim::RealPause pause_{clock_};
  cacherim::Registry registry_{{}, clock_, Rng{1}, pause_};
};

TEST_F(TrustGateTest, BeforeThePolicyIsKnownNobodyMay) {
  EXPECT_EQ(admit({"ns", "one"}).find("Unavailable: "), 0U);
  EXPECT_EQ(gate_.trouble(), "");
}

TEST_F(TrustGateTest, WithoutAPolicyANamespaceMayAndTheClusterMayNot) {
  gate_.policyIs(nullptr);
  EXPECT_EQ(admit({"ns", "one"}).find("Conflict"), std::string::npos);
  EXPECT_EQ(admit({"", "wide"}).find("Conflict: "), 0U);
}

TEST_F(TrustGateTest, APolicyThatCannotBeReadRefusesAll) {
  for (const char* bad : {"rules: [{imagse: [a]}]", ": : :", "rules: 1", "{}\n---\n{}", "", "null",
                          "# none\n", "{}", "rules:", "rules: null", "---\n"}) {
    policy(bad);
    EXPECT_EQ(admit({"ns", "one"}).find("Conflict: "), 0U) << bad;
    EXPECT_NE(gate_.trouble(), "") << bad;
  }
  gate_.policyIs(std::make_shared<const std::map<std::string, std::string>>());
  EXPECT_NE(admit({"ns", "one"}).find("policy.yaml is missing"), std::string::npos);
}

TEST_F(TrustGateTest, ARuleThatLetsUnsignedImagesThroughAsksNobody) {
  policy("rules: [{images: ['quay.io/gkm/**'], scope: {cluster: true}, allowUnsigned: true}]");
  EXPECT_EQ(admit({"", "wide"}).find("Conflict"), std::string::npos);
  EXPECT_EQ(admit({"", "wide"}, "docker.io/library/a").find("Conflict: "), 0U);
  gate_.policyIs(nullptr);
  EXPECT_EQ(admit({"", "wide"}).find("Conflict: "), 0U);
}

/// A registry that has what is there of an image, and moves a clock by so much with each answer.
cacherim::FakeRegistry::Handle serving(cacherim::trust::MemoryImages& images, ManualClock& clock,
                                       const std::string& referrers = "", Duration each = {}) {
  return [&images, &clock, referrers, each](cacherim::Peer& peer, const net::Request& request, int) {
    const std::string last = request.target.substr(request.target.rfind('/') + 1);
    const bool is_blob = request.target.find("/blobs/") != std::string::npos;
    const bool is_list = request.target.find("/referrers/") != std::string::npos;
    const auto& from = is_blob ? images.blobs : images.manifests;
    const auto it = from.find(last);
    clock.advance(each);
    if (is_list && !referrers.empty()) {
      peer.write(cacherim::http(200, {}, referrers));
    } else {
      peer.write(it == from.end() || is_list ? cacherim::http(404, {}, "")
                                             : cacherim::http(200, {}, it->second));
    }
    return true;
  };
}

class RequiredSignatureTest : public TrustGateTest {
 protected:
  /// One rule for `registry`'s a/b, for team-a and for the cluster.
  void require(const std::string& registry, const json::Value& authority,
               std::map<std::string, std::string> texts = {}) {
    const json::Value rule =
        json::Object{{"images", json::Array{registry + "/a/b"}},
                     {"scope", json::Object{{"namespaces", json::Array{"team-a"}}, {"cluster", true}}},
                     {"require", json::Array{authority}}};
    texts["policy.yaml"] = json::print(json::Object{{"rules", json::Array{rule}}});
    gate_.policyIs(std::make_shared<const std::map<std::string, std::string>>(std::move(texts)));
  }
  [[nodiscard]] static json::Value keyOf(const signature::PrivateKey& key) {
    return json::Object{{"publicKeys", json::Array{key.publicPem()}}};
  }
  cacherim::RegistryOptions plain(const cacherim::FakeRegistry& fake) {
    return {.plain_http = {fake.name()}, .direct = true};
  }
  /// What is said of the image there.
  std::string ask(const cacherim::FakeRegistry& fake, const model::ObjectKey& cache) {
    cacherim::Registry registry{plain(fake), clock_, Rng{1}, pause_};
    const auto why = gate_.admit(registry, cache, fake.image().pinned(image_.digest));
    return why ? *why : why.error().message;
  }

  cacherim::trust::SignedImage image_;
  const signature::PrivateKey ours_ = signature::PrivateKey::generate();
};

TEST_F(RequiredSignatureTest, CountsForThePlaceOfItsRule) {
  cacherim::FakeRegistry fake{serving(image_.images, clock_)};
  require(fake.name(), keyOf(ours_));
  for (const char* ns : {"team-a", ""}) {
    EXPECT_NE(ask(fake, {ns, "one"}).find("has no signatures"), std::string::npos) << ns;
  }
  EXPECT_NE(ask(fake, {"team-b", "one"}).find("no rule of the ConfigMap"), std::string::npos);
  image_.addLayer(ours_, image_.payload());
  for (const char* ns : {"team-a", ""}) {
    EXPECT_EQ(ask(fake, {ns, "one"}), "signed by key sha256:" + ours_.publicKey().id()) << ns;
  }
  require(fake.name(), keyOf(signature::PrivateKey::generate()));
  EXPECT_NE(ask(fake, {"team-a", "one"}).find("it is of none of the keys"), std::string::npos);
}

TEST_F(RequiredSignatureTest, TheRootsOfTheConfigMapAreWhatRulesName) {
  cacherim::FakeRegistry fake{serving(image_.images, clock_)};
  image_.addLayer(ours_, image_.payload());
  const json::Value anybody = json::Object{{"issuerRegExp", ".*"}, {"subjectRegExp", ".*"}};
  const json::Value by = json::Object{{"trustedRoot", "root.json"}, {"identities", json::Array{anybody}}};
  const auto root = readFile("fuzz/corpus/signatures/public_trusted_root.json");
  ASSERT_TRUE(root);
  require(fake.name(), by, {{"root.json", *root}});
  EXPECT_NE(ask(fake, {"team-a", "one"}).find("it has no certificate"), std::string::npos);
  require(fake.name(), by);
  EXPECT_NE(ask(fake, {"team-a", "one"}).find("there is no 'root.json' beside the policy"),
            std::string::npos);
}

// Whoever may push can put many there; all that is asked about them ends with the budget.
TEST_F(RequiredSignatureTest, ManySlowBundlesEndWithTheBudget) {
  std::string list;
  for (int i = 0; i < 32; ++i) {
    image_.addBundle("no JSON " + std::to_string(i), image_.digest);
    const auto& one = image_.referrers.back();
    list += (i == 0 ? "" : ",") + ("{\"mediaType\":\"" + one.media_type) + "\",\"size\":1,\"digest\":\"" +
            one.digest.text() + "\",\"artifactType\":\"" + one.artifact_type + "\"}";
  }
  list = R"({"schemaVersion":2,"manifests":[)" + list + "]}";
  cacherim::FakeRegistry fake{serving(image_.images, clock_, list, std::chrono::seconds{1})};
  require(fake.name(), keyOf(ours_));
  RegistryImages images{{.environment = [](const char*) { return std::nullopt; }, .registry = plain(fake)},
                        gate_,
                        clock_,
                        Rng{1}};
  const auto why =
      images.admit({"team-a", "one"}, fake.image().pinned(image_.digest), {}, std::chrono::seconds{20});
  ASSERT_FALSE(why.has_value());
  EXPECT_EQ(why.error().code, Code::Deadline) << why.error().message;
  EXPECT_LE(fake.asked().size(), 20U);
}

}  // namespace
}  // namespace gs::serve
