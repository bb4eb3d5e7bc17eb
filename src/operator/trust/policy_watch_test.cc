#include "operator/trust/policy_watch.h"

#include <gtest/gtest.h>

#include <optional>

#include "operator/beside_test.h"

namespace gs::gkm {
namespace {

constexpr const char* kName = "gkm-trust-policy";

class PolicyWatchTest : public BesideTest {
 protected:
  std::optional<std::shared_ptr<const PolicyTexts>> told;  // nullopt: nothing was said
  bool is_listable = true;

  void start() {
    watch_.emplace(
        parts_, "gkm-system", kName, [this](auto texts) { told = std::move(texts); }, Rng{1});
    BesideTest::start(*watch_);
  }
  void put(const std::string& name, const std::string& policy) {
    server.put(kind_, json::Object{{"metadata", json::Object{{"name", name}, {"namespace", "gkm-system"}}},
                                   {"data", json::Object{{"policy.yaml", policy}}}});
  }
  void remove(const std::string& name) { server.remove(kind_, {"gkm-system", name}); }
  [[nodiscard]] PolicyWatch& watch() { return *watch_; }

 private:
  kapi::Outcome answerTo(const kapi::Call& call) override {
    kind_ = call.kind;
    return is_listable ? server.carryOut(call) : kapi::Outcome{};
  }

  static constexpr kapi::KindInfo kConfigMaps{"", "v1", "configmaps", "ConfigMap", true, nullptr};
  kapi::Kind kind_{kConfigMaps};
  std::optional<PolicyWatch> watch_;
};

TEST_F(PolicyWatchTest, SaysWhichPolicyThereIsAndEachChange) {
  put(kName, "rules: []");
  start();
  ASSERT_TRUE(told && *told);
  EXPECT_EQ((*told)->at("policy.yaml"), "rules: []");
  EXPECT_TRUE(watch().isKnown());
  put(kName, "rules: [1]");
  settle();
  EXPECT_EQ((*told)->at("policy.yaml"), "rules: [1]");
  remove(kName);
  settle();
  EXPECT_EQ(*told, nullptr);
}

TEST_F(PolicyWatchTest, SaysThatThereIsNone) {
  start();
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(*told, nullptr);
}

TEST_F(PolicyWatchTest, BeforeAnythingWasListedItSaysNothing) {
  is_listable = false;
  start();
  EXPECT_FALSE(told.has_value());
  EXPECT_FALSE(watch().isKnown());
  EXPECT_NE(watch().check().state, "ok");
  is_listable = true;
  pass(std::chrono::minutes{1});
  EXPECT_TRUE(watch().isKnown());
}

TEST_F(PolicyWatchTest, OtherConfigMapsAreNobodysBusiness) {
  start();
  told.reset();
  put("another", "rules: []");
  settle();
  EXPECT_FALSE(told.has_value());
}

}  // namespace
}  // namespace gs::gkm
