// Controllers whose pods wait for a webhook: the test is the webhook.
#include "sandbox/controllers/pod_orders.h"

#include <gtest/gtest.h>

#include <vector>

#include "apiserver/handlers/api.h"
#include "sandbox/controllers/controllers.h"

namespace gs::sandbox::controllers {
namespace {

using namespace std::chrono_literals;
using apiserver::AdmissionResponse;
using json::Array;
using json::Object;
using json::Value;

constexpr const char* kNamespace = "/namespaces/default/";

/// Puts aside each new pod.
class Late final : public apiserver::AdmissionPlugin {
 public:
  explicit Late(std::vector<apiserver::RequestId>& asked) : asked_{asked} {}
  std::optional<AdmissionResponse> mutate(const apiserver::AdmissionRequest& request, Value&) override {
    if (!request.resource.is("/pods") || request.request_id == 0) { return AdmissionResponse{}; }
    asked_.push_back(request.request_id);
    return std::nullopt;
  }

 private:
  std::vector<apiserver::RequestId>& asked_;
};

class PodOrdersTest : public testing::Test {
 protected:
  PodOrdersTest() { api_.admission().add(std::make_unique<Late>(asked_)); }

  void createSet(int replicas) {
    const Value labels = Object{{"a", "b"}};
    const Value pod = Object{{"metadata", Object{{"labels", labels}}},
                             {"spec", Object{{"containers", Array{Object{{"name", "c"}, {"image", "i"}}}}}}};
    const Value set = Object{
        {"metadata", Object{{"name", "web"}}},
        {"spec",
         Object{{"replicas", replicas}, {"selector", Object{{"matchLabels", labels}}}, {"template", pod}}}};
    const std::string path = std::string{"/apis/apps/v1"} + kNamespace + "replicasets";
    ASSERT_EQ(api_.handle({"POST", path, "application/json", set}, clock_.now()).code, 201);
    run(1s);
  }
  void run(Duration by) {
    for (Duration passed{}; passed < by; passed += 10ms) {
      clock_.advance(10ms);
      controllers_.tick(clock_.now());
    }
  }
  void answer(std::size_t index, AdmissionResponse said = {}) {
    const auto response = api_.answered(asked_.at(index), std::move(said), clock_.now());
    ASSERT_TRUE(response);
    controllers_.answered(asked_[index], *response, clock_.now());
  }
  [[nodiscard]] std::ptrdiff_t pods() const {
    const auto [first, last] = api_.store().range("/pods");
    return std::distance(first, last);
  }
  [[nodiscard]] int events(std::string_view reason) const {
    int count = 0;
    const auto [first, last] = api_.store().range("events.k8s.io/events");
    for (auto it = first; it != last; ++it) {
      count += (*it->second.object)["reason"].str() == reason ? 1 : 0;
    }
    return count;
  }

  ManualClock clock_;
  apiserver::Api api_{Rng{1}, clock_.now()};
  std::vector<apiserver::RequestId> asked_;
  Controllers controllers_{api_};
};

TEST_F(PodOrdersTest, WhatWaitsIsNotAskedForAgain) {
  createSet(3);
  ASSERT_EQ(asked_.size(), 3U);
  answer(1);
  run(1s);  // a turn, and two still wait
  EXPECT_EQ(pods(), 1);
  EXPECT_EQ(asked_.size(), 3U);
  answer(0);
  answer(2);
  run(1s);
  EXPECT_EQ(pods(), 3);
  EXPECT_EQ(asked_.size(), 3U);
  EXPECT_EQ(events("SuccessfulCreate"), 3);
}

TEST_F(PodOrdersTest, SoManyWaitAtOnceAndTheOthersComeThen) {
  createSet(10);
  ASSERT_EQ(asked_.size(), std::size_t{PodOrders::kMostOfOne});
  for (std::size_t i = 0; i < 8; ++i) { answer(i); }
  run(1s);
  ASSERT_EQ(asked_.size(), 10U);
  answer(8);
  answer(9);
  run(1s);
  EXPECT_EQ(pods(), 10);
}

TEST_F(PodOrdersTest, ALateRefusalIsSaidAndTriedAgainLater) {
  createSet(1);
  AdmissionResponse no;
  no.refused = apiserver::forbidden({"", "pods", "Pod"}, "p", "no").value();
  answer(0, std::move(no));
  EXPECT_EQ(events("FailedCreate"), 1);
  run(60ms);
  EXPECT_EQ(asked_.size(), 1U) << "not at once";
  run(100ms);
  ASSERT_EQ(asked_.size(), 2U);
  answer(1);
  run(1s);
  EXPECT_EQ(pods(), 1);
}

TEST_F(PodOrdersTest, TheAnswerForAnOwnerThatIsGoneIsNoTrouble) {
  createSet(1);
  const std::string path = std::string{"/apis/apps/v1"} + kNamespace + "replicasets/web";
  ASSERT_EQ(api_.handle({"DELETE", path}, clock_.now()).code, 200);
  answer(0);
  run(1s);
  EXPECT_EQ(asked_.size(), 1U);
}

}  // namespace
}  // namespace gs::sandbox::controllers
