#include "sandbox/api_test.h"

namespace gs::sandbox {
namespace {

using json::Array;
using json::Object;
using json::Value;

class RemoveTest : public ApiTest {};

TEST_F(RemoveTest, ANamespaceGoesOnceItIsEmpty) {
  ASSERT_EQ(send("POST", "/api/v1/namespaces", named("team")).code, 201);
  EXPECT_EQ(get("/api/v1/namespaces/team/serviceaccounts/default")["kind"].str(), "ServiceAccount");
  const std::string maps = "/api/v1/namespaces/team/configmaps";
  (void)send("POST", maps, named("kept", Object{{"finalizers", Array{Value{"ex.io/f"}}}}));
  (void)send("POST", maps, named("free"));
  EXPECT_EQ(send("DELETE", "/api/v1/namespaces/team").body["status"]["phase"].str(), "Terminating");
  EXPECT_EQ(names(maps), "kept ");
  EXPECT_EQ(send("POST", maps, named("late")).code, 403);
  merge(maps + "/kept", Object{{"metadata", Object{{"finalizers", nullptr}}}});
  EXPECT_EQ(send("GET", "/api/v1/namespaces/team").code, 404);
}

TEST_F(RemoveTest, DeleteOptionsOfAQueryAreRead) {
  runningPod("p");
  for (const char* query : {"gracePeriodSeconds=abc", "gracePeriodSeconds=", "gracePeriodSeconds=1s",
                            "gracePeriodSeconds=9999999999999999999"}) {
    EXPECT_EQ(send("DELETE", std::string{kPods} + "/p?" + query).code, 400) << query;
    EXPECT_EQ(send("DELETE", std::string{kPods} + "?" + query).code, 400) << query;
  }
  EXPECT_TRUE(pod("p")["metadata"]["deletionTimestamp"].isNull());
  EXPECT_EQ(send("DELETE", std::string{kPods} + "/p?gracePeriodSeconds=7").code, 200);
  EXPECT_EQ(pod("p")["metadata"]["deletionGracePeriodSeconds"].intOr(0), 7);
  // Beside a body they count for nothing.
  EXPECT_EQ(send("DELETE", std::string{kPods} + "/p?gracePeriodSeconds=0", Object{}).code, 200);
  EXPECT_EQ(pod("p")["metadata"]["deletionGracePeriodSeconds"].intOr(0), 7);
}

TEST_F(RemoveTest, ACollectionIsDeletedOrSaysWhyNot) {
  for (const char* name : {"a", "b"}) { (void)send("POST", kMaps, named(name)); }
  EXPECT_EQ(send("DELETE", kMaps, Object{{"propagationPolicy", "Nope"}}).code, 422);
  EXPECT_EQ(send("DELETE", kMaps, Object{{"gracePeriodSeconds", "x"}}).code, 500);  // as for one of them
  EXPECT_EQ(send("DELETE", kMaps, Object{{"preconditions", Object{{"uid", "abc"}}}}).code, 409);
  EXPECT_EQ(names(kMaps), "a b ");
  EXPECT_EQ(send("DELETE", kMaps, Object{{"dryRun", Array{Value{"All"}}}}).code, 200);
  EXPECT_EQ(names(kMaps), "a b ");
  EXPECT_EQ(send("DELETE", kMaps).code, 200);
  EXPECT_EQ(names(kMaps), "");
}

TEST_F(RemoveTest, WhatLosesItsOwnerGoesAsIfItHadBeenDeleted) {
  const Value a = send("POST", kMaps, named("a")).body["metadata"];
  const Value child = ownedMap("child", a);
  (void)ownedMap("grandchild", child);
  const Value kept = ownedMap("kept", a, {Value{"ex.io/f"}});
  (void)ownedMap("of-kept", kept);
  EXPECT_EQ(send("DELETE", std::string{kMaps} + "/a").code, 200);
  EXPECT_EQ(names(kMaps), "kept of-kept ");
  EXPECT_FALSE(get(std::string{kMaps} + "/kept")["metadata"]["deletionTimestamp"].isNull());
  removeFinalizers(std::string{kMaps} + "/kept");
  EXPECT_EQ(names(kMaps), "");
}

TEST_F(RemoveTest, WhatHasAnotherOwnerStays) {
  const Value a = send("POST", kMaps, named("a")).body["metadata"];
  const Value b = send("POST", kMaps, named("b")).body["metadata"];
  Value meta = ownedBy(a);
  meta.child("ownerReferences").array().push_back(ownedBy(b)["ownerReferences"].at(0));
  (void)send("POST", kMaps, named("of-both", std::move(meta)));
  (void)send("DELETE", std::string{kMaps} + "/a");
  EXPECT_EQ(names(kMaps), "b of-both ");
  (void)send("DELETE", std::string{kMaps} + "/b");
  EXPECT_EQ(names(kMaps), "");
}

TEST_F(RemoveTest, OwnersAreKnownAfterARestart) {
  const Value a = send("POST", kMaps, named("z-owner")).body["metadata"];
  (void)ownedMap("owned", a);
  ASSERT_TRUE(api_.restore(api_.save()));
  (void)send("POST", kMaps, named("other"));
  (void)send("DELETE", std::string{kMaps} + "/other");
  EXPECT_EQ(names(kMaps), "owned z-owner ");
  (void)send("DELETE", std::string{kMaps} + "/z-owner");
  EXPECT_EQ(names(kMaps), "");
}

TEST_F(RemoveTest, APodThatLosesItsOwnerHasItsGrace) {
  const Value a = send("POST", kMaps, named("a")).body["metadata"];
  runningPod("p");
  merge(std::string{kPods} + "/p", Object{{"metadata", ownedBy(a)}});
  (void)send("DELETE", std::string{kMaps} + "/a");
  EXPECT_EQ(pod("p")["metadata"]["deletionGracePeriodSeconds"].intOr(0), 30);
}

TEST_F(RemoveTest, ADefinitionGoesOnceItsObjectsAreGone) {
  const std::string gears = "/apis/ex.io/v1/gears";
  ASSERT_EQ(send("POST", kCrds, definition("gears", "ex.io")).code, 201);
  const auto gear = [&](const char* name, Array finalizers = {}) {
    Value object = named(name, Object{{"finalizers", std::move(finalizers)}});
    object.set("apiVersion", "ex.io/v1");
    object.set("kind", "Taken");
    return send("POST", gears, std::move(object));
  };
  ASSERT_EQ(gear("free").code, 201);
  ASSERT_EQ(gear("kept", {Value{"ex.io/f"}}).code, 201);
  const std::string crd = std::string{kCrds} + "/gears.ex.io";
  for (int twice = 0; twice < 2; ++twice) { EXPECT_EQ(send("DELETE", crd).code, 200); }
  EXPECT_EQ(names(gears), "kept ");
  EXPECT_EQ(get(crd)["metadata"]["finalizers"].items().size(), 1U);
  const Response late = gear("late");
  EXPECT_EQ(late.code, 405);
  EXPECT_EQ(late.body["message"].str(), "create not allowed while custom resource definition is terminating");
  removeFinalizers(gears + "/kept");
  EXPECT_EQ(send("GET", crd).code, 404);
  EXPECT_EQ(send("GET", gears).code, 404);
}

TEST_F(RemoveTest, AnObjectMayTakeItsOwnDefinitionAlong) {
  Value crd = definition("gears", "ex.io");
  ASSERT_EQ(send("POST", kCrds, std::move(crd)).code, 201);
  const std::string gears = "/apis/ex.io/v1/gears";
  Value object = named("g");
  object.set("apiVersion", "ex.io/v1");
  object.set("kind", "Taken");
  const Value meta = send("POST", gears, std::move(object)).body["metadata"];
  merge(std::string{kCrds} + "/gears.ex.io", Object{{"metadata", ownedBy(meta)}});
  EXPECT_EQ(send("DELETE", gears).code, 200);
  EXPECT_EQ(names(kCrds), "");
  EXPECT_EQ(send("GET", gears).code, 404);
}

}  // namespace
}  // namespace gs::sandbox
