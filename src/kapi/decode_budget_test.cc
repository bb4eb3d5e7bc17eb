#include <gtest/gtest.h>

#include <string>

#include "kapi/decode.h"
#include "kapi/json_text_test.h"
#include "kapi/kinds.h"
#include "kapi/paths.h"
#include "kapi/write.h"

namespace gs::kapi {
namespace {

model::DisruptionBudget budgetOf(const std::string& spec, const std::string& status = "{}") {
  const std::string text =
      R"({"metadata":{"namespace":"team-a","name":"web","uid":"u-1","resourceVersion":"7"},"spec":)" + spec +
      R"(,"status":)" + status + "}";
  return decodeDisruptionBudget(parsed(text));
}

model::Pod podWith(const std::string& name, model::Labels labels, const std::string& ns = "team-a") {
  model::Pod pod;
  pod.key = {ns, name};
  pod.labels = std::move(labels);
  return pod;
}

TEST(DecodeDisruptionBudget, ReadsWhatPreemptionAsks) {
  const auto budget = budgetOf(R"({"selector":{"matchLabels":{"app":"web"}}})",
                               R"({"disruptionsAllowed":2,"disruptedPods":{"web-1":"2026-01-01T00:00:00Z",
                                   "web-0":"2026-01-01T00:00:00Z"}})");
  EXPECT_EQ(budget.key, (model::ObjectKey{"team-a", "web"}));
  EXPECT_EQ(budget.uid, model::Uid{"u-1"});
  EXPECT_EQ(budget.revision, 7U);
  EXPECT_EQ(budget.allowed, 2);
  EXPECT_EQ(budget.disrupted, (std::vector<std::string>{"web-0", "web-1"}));
  EXPECT_TRUE(budget.protects(podWith("a", {{"app", "web"}, {"x", "y"}})));
  EXPECT_FALSE(budget.protects(podWith("a", {{"app", "db"}})));
  EXPECT_FALSE(budget.protects(podWith("a", {{"app", "web"}}, "team-b")));
  EXPECT_TRUE(budget.countsAsGone(podWith("web-1", {})));
  EXPECT_FALSE(budget.countsAsGone(podWith("web-2", {})));
}

TEST(DecodeDisruptionBudget, ReadsExpressions) {
  const auto budget = budgetOf(
      R"({"selector":{"matchExpressions":[{"key":"app","operator":"In","values":["b","a","a"]},
                                          {"key":"old","operator":"DoesNotExist"}]}})");
  EXPECT_TRUE(budget.protects(podWith("p", {{"app", "a"}})));
  EXPECT_FALSE(budget.protects(podWith("p", {{"app", "c"}})));
  EXPECT_FALSE(budget.protects(podWith("p", {{"app", "a"}, {"old", "1"}})));
}

/// As kube-scheduler reads it: an absent and an empty selector select nobody.
TEST(DecodeDisruptionBudget, WithoutASelectorItProtectsNobody) {
  for (const char* spec :
       {"{}", R"({"selector":null})", R"({"selector":{}})", R"({"selector":{"matchLabels":{}}})",
        R"({"selector":{"matchExpressions":[{"key":"app","operator":"Near","values":["a"]}]}})"}) {
    EXPECT_FALSE(budgetOf(spec).protects(podWith("p", {{"app", "a"}}))) << spec;
  }
}

TEST(DecodeDisruptionBudget, APodWithoutLabelsIsProtectedByNone) {
  const auto budget =
      budgetOf(R"({"selector":{"matchExpressions":[{"key":"x","operator":"DoesNotExist"}]}})");
  EXPECT_TRUE(budget.protects(podWith("p", {{"app", "a"}})));
  EXPECT_FALSE(budget.protects(podWith("p", {})));
}

TEST(DecodeDisruptionBudget, OneThatSelectsByVeryMuchProtectsAll) {
  std::string values;
  for (int i = 0; i < 5'000; ++i) { values += (i == 0 ? "\"v" : ",\"v") + std::to_string(i) + "\""; }
  const auto budget = budgetOf(R"({"selector":{"matchExpressions":[{"key":"app","operator":"In","values":[)" +
                               values + "]}]}}");
  EXPECT_TRUE(budget.protects(podWith("p", {{"app", "none of them"}})));
}

TEST(DecodeDisruptionBudget, WrongTypesReadAsNothing) {
  const auto budget = budgetOf(R"({"selector":"web"})", R"({"disruptionsAllowed":"2","disruptedPods":[1]})");
  EXPECT_FALSE(budget.pods);
  EXPECT_EQ(budget.allowed, 0);
  EXPECT_TRUE(budget.disrupted.empty());
}

TEST(DecodeDisruptionBudget, IsServedByThePolicyGroup) {
  EXPECT_EQ(target(listObjects(kDisruptionBudget, "", 0)), "/apis/policy/v1/poddisruptionbudgets");
}

}  // namespace
}  // namespace gs::kapi
