#include "operator/trust/policy_watch.h"

#include <gtest/gtest.h>

#include <optional>

#include "operator/server_test.h"

namespace gs::gkm {
namespace {

constexpr const char* kName = "gkm-trust-policy";

class PolicyWatchTest : public ::testing::Test {
 protected:
  Server server;
  std::optional<std::shared_ptr<const PolicyTexts>> told;  // nullopt: nothing was said
  bool is_listable = true;

  void start() {
    watch_.emplace(
        parts_, "gkm-system", kName, [this](auto texts) { told = std::move(texts); }, Rng{1});
    kapi::Effects out;
    watch_->start(clock_.now(), out);
    carry(std::move(out));
  }
  void settle() {
    for (auto& event : server.takeNews()) { give(event); }
  }
  void pass(Duration time) {
    clock_.advance(time);
    kapi::Effects out;
    parts_.tick(clock_.now(), out);
    carry(std::move(out));
    settle();
  }
  void put(const std::string& name, const std::string& policy) {
    server.put(kind_, json::Object{{"metadata", json::Object{{"name", name}, {"namespace", "gkm-system"}}},
                                   {"data", json::Object{{"policy.yaml", policy}}}});
  }
  void remove(const std::string& name) { server.remove(kind_, {"gkm-system", name}); }
  [[nodiscard]] PolicyWatch& watch() { return *watch_; }

 private:
  void give(const kapi::MachineEvent& event) {
    kapi::Effects out;
    EXPECT_TRUE(parts_.handle(event, clock_.now(), out));
    carry(std::move(out));
  }
  void carry(kapi::Effects effects) {
    for (auto& effect : effects) {
      if (auto* call = std::get_if<kapi::Call>(&effect)) {
        kind_ = call->kind;
        kapi::Outcome answer;
        if (is_listable) { answer = server.carryOut(*call); }
        answer.token = call->token;
        give(answer);
      } else if (const auto* open = std::get_if<kapi::OpenWatch>(&effect)) {
        server.open(*open);
      }
    }
  }

  static constexpr kapi::KindInfo kConfigMaps{"", "v1", "configmaps", "ConfigMap", true, nullptr};
  kapi::Kind kind_{kConfigMaps};
  controller::Parts parts_;
  std::optional<PolicyWatch> watch_;
  ManualClock clock_;
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
