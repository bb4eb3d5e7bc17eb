#include "serve/trust/gate.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "cacherim/registry/pause.h"

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
  for (const char* bad : {"rules: [{imagse: [a]}]", ": : :", "rules: 1", "{}\n---\n{}"}) {
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

}  // namespace
}  // namespace gs::serve
