// What PodDisruptionBudgets say of their pods, on the API server in memory.
#include <fmt/format.h>

#include "sandbox/controllers/controllers_test.h"

namespace gs::sandbox::controllers {
namespace {

using namespace std::chrono_literals;
using json::Value;

class BudgetsTest : public ControllersTest {
 protected:
  static constexpr const char* kBudget = "/apis/policy/v1/namespaces/default/poddisruptionbudgets/b";

  void makeBudget(const std::string& limit) {
    make(
        "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
        R"({"metadata": {"name": "b"}, "spec": {"selector": {"matchLabels": {"app": "a"}}, )" + limit + "}}");
  }
  void makePod(const std::string& name, const std::string& more = "") {
    make("/api/v1/namespaces/default/pods",
         fmt::format(R"({{"metadata": {{"name": "{}", "labels": {{"app": "a"}}{}}},
                        "spec": {{"containers": [{{"name": "m", "image": "i"}}]}}}})",
                     name, more));
  }
  void setReady(const std::string& name, bool ready = true) {
    merge(podPath(name) + "/status", fmt::format(R"({{"status": {{"phase": "Running", "conditions": [
        {{"type": "Ready", "status": "{}"}}]}}}})",
                                                 ready ? "True" : "False"));
  }
  /// allowed, healthy, desired, expected
  std::string status() {
    const Value is = get(kBudget)["status"];
    return fmt::format("{} {} {} {}", is["disruptionsAllowed"].intOr(-1), is["currentHealthy"].intOr(-1),
                       is["desiredHealthy"].intOr(-1), is["expectedPods"].intOr(-1));
  }
  std::string reason() { return std::string{get(kBudget)["status"]["conditions"].at(0)["reason"].str()}; }
  /// Three pods of a ReplicaSet, Ready as many.
  void makeSet(std::size_t ready) {
    make("/apis/apps/v1/namespaces/default/replicasets",
         R"({"metadata": {"name": "r"}, "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "a"}},
             "template": {"metadata": {"labels": {"app": "a"}},
                          "spec": {"containers": [{"name": "m", "image": "i"}]}}}})");
    const Value pods = get("/api/v1/namespaces/default/pods");
    ASSERT_EQ(pods["items"].items().size(), 3U);
    for (std::size_t i = 0; i < ready; ++i) {
      setReady(std::string{pods["items"].at(i)["metadata"]["name"].str()});
    }
  }
};

TEST_F(BudgetsTest, ANumberThatIsToBeThereCountsEveryPod) {
  makeBudget(R"("minAvailable": 1)");
  EXPECT_EQ(status(), "0 0 1 0");
  makePod("p");
  makePod("q");
  EXPECT_EQ(status(), "0 0 1 2");
  EXPECT_EQ(reason(), "InsufficientPods");
  setReady("p");
  setReady("q");
  EXPECT_EQ(status(), "1 2 1 2");
  EXPECT_EQ(reason(), "SufficientPods");
  EXPECT_EQ(get(kBudget)["status"]["observedGeneration"], get(kBudget)["metadata"]["generation"]);
  setReady("q", false);
  EXPECT_EQ(status(), "0 1 1 2");
  send("DELETE", podPath("p") + "?gracePeriodSeconds=0");
  EXPECT_EQ(status(), "0 0 1 1");
}

TEST_F(BudgetsTest, ANumberThatMayBeAwayIsOfThoseThatTheirControllerWants) {
  makeSet(2);
  makeBudget(R"("maxUnavailable": 1)");
  EXPECT_EQ(status(), "0 2 2 3");
  for (const Value& pod : get("/api/v1/namespaces/default/pods")["items"].items()) {
    setReady(std::string{pod["metadata"]["name"].str()});
  }
  EXPECT_EQ(status(), "1 3 2 3");
  merge("/apis/apps/v1/namespaces/default/replicasets/r", R"({"spec": {"replicas": 1}})");
  EXPECT_EQ(get(kBudget)["status"]["desiredHealthy"].intOr(-1), 0);
}

TEST_F(BudgetsTest, APartIsRoundedUp) {
  makeSet(3);
  makeBudget(R"("minAvailable": "50%")");
  EXPECT_EQ(status(), "1 3 2 3");
}

TEST_F(BudgetsTest, OfPodsWithoutAControllerNoneMayGo) {
  makePod("p");
  setReady("p");
  makeBudget(R"("maxUnavailable": 1)");
  EXPECT_EQ(status(), "0 1 0 0");
}

TEST_F(BudgetsTest, OfAControllerWithoutAScaleNothingIsKnown) {
  make("/api/v1/namespaces/default/configmaps", R"({"metadata": {"name": "m"}})");
  makePod("p", fmt::format(R"(, "ownerReferences": [{{"apiVersion": "v1", "kind": "ConfigMap", "name": "m",
                                "uid": "{}", "controller": true}}])",
                           uid("/api/v1/namespaces/default/configmaps/m")));
  makeBudget(R"("maxUnavailable": 1)");
  EXPECT_EQ(reason(), "SyncFailed");
  EXPECT_EQ(get(kBudget)["status"]["conditions"].at(0)["message"].str(),
            "found no controllers for pod \"p\"");
}

TEST_F(BudgetsTest, OneThatIsBeingEvictedDoesNotCountForTwoMinutes) {
  makeBudget(R"("minAvailable": 1)");
  makePod("p");
  makePod("q");
  setReady("p");
  setReady("q");
  Value budget = get(kBudget);
  budget.child("status").set("disruptedPods",
                             json::Object{{"p", get(podPath("p"))["metadata"]["creationTimestamp"]}});
  send("PUT", std::string{kBudget} + "/status", std::move(budget));
  EXPECT_EQ(status(), "0 1 1 2");
  run(2min);
  EXPECT_EQ(status(), "1 2 1 2");
  EXPECT_TRUE(get(kBudget)["status"]["disruptedPods"].isNull());
}

}  // namespace
}  // namespace gs::sandbox::controllers
