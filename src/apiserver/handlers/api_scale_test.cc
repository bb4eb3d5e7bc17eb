#include "apiserver/handlers/api_test.h"

namespace gs::apiserver {
namespace {

using json::Object;
using json::Value;

class ScaleTest : public ApiTest {
 protected:
  static constexpr const char* kSets = "/apis/apps/v1/namespaces/default/replicasets";
  static constexpr const char* kSet = "/apis/apps/v1/namespaces/default/replicasets/r";
  void SetUp() override {
    Value set = *json::parse(
        R"({"metadata":{"name":"r"},"spec":{"replicas":2,"selector":{"matchLabels":{"a":"b"}},
            "template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c",
            "image":"i"}]}}}})");
    ASSERT_EQ(send("POST", kSets, std::move(set)).code, 201);
  }
  Response scale(Value spec, const char* query = "") {
    return send("PATCH", std::string{kSet} + "/scale" + query, Object{{"spec", std::move(spec)}},
                "application/merge-patch+json");
  }
};

TEST_F(ScaleTest, IsAChangeOfTheSpec) {
  const Response done = scale(Object{{"replicas", 5}});
  EXPECT_EQ(done.code, 200);
  EXPECT_EQ(done.body["kind"].str(), "Scale");
  EXPECT_EQ(done.body["spec"]["replicas"].intOr(0), 5);
  EXPECT_EQ(done.body["status"]["selector"].str(), "a=b");
  const Value set = get(kSet);
  EXPECT_EQ(set["spec"]["replicas"].intOr(0), 5);
  EXPECT_EQ(set["metadata"]["generation"].intOr(0), 2);
  EXPECT_EQ(set["metadata"]["resourceVersion"], done.body["metadata"]["resourceVersion"]);
}

TEST_F(ScaleTest, ADryRunChangesNothing) {
  EXPECT_EQ(scale(Object{{"replicas", 5}}, "?dryRun=All").body["spec"]["replicas"].intOr(0), 5);
  EXPECT_EQ(get(kSet)["spec"]["replicas"].intOr(0), 2);
}

TEST_F(ScaleTest, ChangesNothingElse) {
  const Response done = send("PATCH", std::string{kSet} + "/scale",
                             *json::parse(R"({"spec":{"replicas":3},"status":{"replicas":7}})"),
                             "application/merge-patch+json");
  EXPECT_EQ(done.code, 200);
  EXPECT_EQ(get(kSet)["status"]["replicas"].intOr(-1), 0);
}

TEST_F(ScaleTest, OfAnOlderVersionIsRefused) {
  const Value before = get(std::string{kSet} + "/scale");
  ASSERT_EQ(scale(Object{{"replicas", 5}}).code, 200);
  Value late = before;
  late.child("spec").set("replicas", 1);
  EXPECT_EQ(send("PUT", std::string{kSet} + "/scale", std::move(late)).code, 409);
  EXPECT_EQ(get(kSet)["spec"]["replicas"].intOr(0), 5);
}

TEST_F(ScaleTest, WhatHasNoneSaysSo) {
  EXPECT_EQ(send("GET", std::string{kMaps} + "/m/scale").code, 404);
  EXPECT_EQ(send("DELETE", std::string{kSet} + "/scale").code, 405);
}

}  // namespace
}  // namespace gs::apiserver
