#include "sandbox/controllers/pods.h"

#include <gtest/gtest.h>

#include <functional>

#include "kapi/time.h"

namespace gs::sandbox::controllers {
namespace {

using json::Object;
using json::Value;

const Now kNow{Mono{}, *kapi::parseTime("2025-06-15T12:00:00Z")};

/// A pod that runs on node n and is Ready since 11:00, with `changes` merged in at the top.
apiserver::ObjectPtr pod(
    const char* uid, const std::function<void(Value&)>& change = [](Value&) {}) {
  const Value ready =
      Object{{"type", "Ready"}, {"status", "True"}, {"lastTransitionTime", "2025-06-15T11:00:00Z"}};
  Value out = Object{{"metadata", Object{{"uid", uid}, {"creationTimestamp", "2025-06-15T10:00:00Z"}}},
                     {"spec", Object{{"nodeName", "n"}}},
                     {"status", Object{{"phase", "Running"}, {"conditions", json::Array{ready}}}}};
  change(out);
  return std::make_shared<const Value>(std::move(out));
}

void readySince(Value& pod, const char* time) {
  pod.child("status").child("conditions").array().at(0).set("lastTransitionTime", time);
}

struct RankCase {
  const char* name;
  std::function<void(Value&)> goes;
};
class GoesFirst : public testing::TestWithParam<RankCase> {};
TEST_P(GoesFirst, BeforeAnOrdinaryPod) {
  std::vector<apiserver::ObjectPtr> pods{pod("a"), pod("b"), pod("z", GetParam().goes), pod("c")};
  sortForRemoval(pods, {{"crowded", 3}, {"n", 1}}, kNow);
  EXPECT_EQ((*pods.front())["metadata"]["uid"].str(), "z");
}
INSTANTIATE_TEST_SUITE_P(
    Table, GoesFirst,
    testing::Values(
        RankCase{"WithoutANode", [](Value& p) { p.child("spec").erase("nodeName"); }},
        RankCase{"Pending", [](Value& p) { p.child("status").set("phase", "Pending"); }},
        RankCase{"NotReady", [](Value& p) { p.child("status").erase("conditions"); }},
        RankCase{"Cheap",
                 [](Value& p) {
                   p.child("metadata")
                       .set("annotations", Object{{"controller.kubernetes.io/pod-deletion-cost", "-5"}});
                 }},
        RankCase{"InACrowd", [](Value& p) { p.child("spec").set("nodeName", "crowded"); }},
        RankCase{"ReadyForAShortTime", [](Value& p) { readySince(p, "2025-06-15T11:59:50Z"); }},
        RankCase{
            "RestartedOften",
            [](Value& p) {
              p.child("status").set("containerStatuses", json::Array{Value{Object{{"restartCount", 2}}}});
            }},
        RankCase{"Young",
                 [](Value& p) { p.child("metadata").set("creationTimestamp", "2025-06-15T11:59:00Z"); }}),
    [](const auto& info) { return std::string{info.param.name}; });

TEST(SortForRemoval, TimesOfOneMagnitudeAreEqualSoThatTheUidDecides) {
  std::vector<apiserver::ObjectPtr> pods{pod("b", [](Value& p) { readySince(p, "2025-06-15T11:00:30Z"); }),
                                         pod("a")};
  sortForRemoval(pods, {}, kNow);
  EXPECT_EQ((*pods.front())["metadata"]["uid"].str(), "a");
}

TEST(IsAvailable, AfterItsTime) {
  const auto since = pod("a");
  EXPECT_TRUE(isAvailable(*since, 0, kNow));
  EXPECT_TRUE(isAvailable(*since, 3600, kNow));
  EXPECT_FALSE(isAvailable(*since, 3601, kNow));
  EXPECT_EQ(untilAvailable(*since, 3601, kNow), Duration{std::chrono::seconds{1}});
}

TEST(PodOf, TakesTheTemplateAndNamesItsOwner) {
  const Value owner = *json::parse(
      R"({"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"r","uid":"u"},"spec":{"template":{
          "metadata":{"name":"ignored","labels":{"a":"b"},"annotations":{"c":"d"}},
          "spec":{"containers":[{"name":"x"}]}}}})");
  EXPECT_EQ(podOf(owner),
            *json::parse(
                R"({"apiVersion":"v1","kind":"Pod","metadata":{"labels":{"a":"b"},"annotations":{"c":"d"},
      "ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"r","uid":"u","controller":true,
      "blockOwnerDeletion":true}]},
      "spec":{"containers":[{"name":"x"}]}})"));
}

}  // namespace
}  // namespace gs::sandbox::controllers
