#include "apiserver/handlers/api_test.h"

namespace gs::apiserver {
namespace {

using json::Array;
using json::Object;
using json::Value;

class RemoveTest : public ApiTest {
 protected:
  static constexpr const char* kGears = "/apis/ex.io/v1/gears";
  static constexpr const char* kGearsCrd =
      "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gears.ex.io";

  void defineGears() { ASSERT_EQ(send("POST", kCrds, definition("gears", "ex.io")).code, 201); }
  /// An object of the kind that defineGears() defines.
  Response gear(const char* name, Array finalizers = {}) {
    Value object = named(name, Object{{"finalizers", std::move(finalizers)}});
    object.set("apiVersion", "ex.io/v1");
    object.set("kind", "Taken");
    return send("POST", kGears, std::move(object));
  }
  /// A ConfigMap with a finalizer of its own; its metadata.
  Value heldMap(const char* name) {
    return send("POST", kMaps, named(name, Object{{"finalizers", Array{Value{"x.io/y"}}}})).body["metadata"];
  }
  void takeFinalizer(const std::string& target, std::string_view finalizer) {
    Value list = get(target)["metadata"]["finalizers"];
    std::erase_if(list.array(), [&](const Value& f) { return f.str() == finalizer; });
    merge(target, Object{{"metadata", Object{{"finalizers", std::move(list)}}}});
  }
  Response removeMap(const char* name, Value options) {
    return send("DELETE", std::string{kMaps} + "/" + name, std::move(options));
  }
};

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
  defineGears();
  ASSERT_EQ(gear("free").code, 201);
  ASSERT_EQ(gear("kept", {Value{"ex.io/f"}}).code, 201);
  for (int twice = 0; twice < 2; ++twice) { EXPECT_EQ(send("DELETE", kGearsCrd).code, 200); }
  EXPECT_EQ(names(kGears), "kept ");
  EXPECT_EQ(get(kGearsCrd)["metadata"]["finalizers"].items().size(), 1U);
  const Response late = gear("late");
  EXPECT_EQ(late.code, 405);
  EXPECT_EQ(late.body["message"].str(), "create not allowed while custom resource definition is terminating");
  removeFinalizers(std::string{kGears} + "/kept");
  EXPECT_EQ(send("GET", kGearsCrd).code, 404);
  EXPECT_EQ(send("GET", kGears).code, 404);
}

TEST_F(RemoveTest, AnObjectMayTakeItsOwnDefinitionAlong) {
  defineGears();
  merge(kGearsCrd, Object{{"metadata", ownedBy(gear("g").body["metadata"])}});
  EXPECT_EQ(send("DELETE", kGears).code, 200);
  EXPECT_EQ(names(kCrds), "");
  EXPECT_EQ(send("GET", kGears).code, 404);
}

TEST_F(RemoveTest, WhoWatchesADefinitionsObjectsSeesThemGo) {
  defineGears();
  ASSERT_EQ(gear("g").code, 201);
  const auto first = api_.watch(std::string{kGears} + "?watch=true");
  const auto live = api_.watch(std::string{kGears} +
                               "?watch=true&resourceVersion=" + std::to_string(api_.store().revision()));
  ASSERT_TRUE(first && live);
  EXPECT_EQ(send("DELETE", kGearsCrd).code, 200);
  (void)send("GET", kMaps);  // what was forgotten is let go of
  EXPECT_EQ((*api_.poll(*first))["type"].str(), "ADDED");
  for (const WatchId watch : {*first, *live}) {
    EXPECT_TRUE(api_.isOpen(watch));
    const auto gone = api_.poll(watch);
    ASSERT_TRUE(gone.has_value());
    EXPECT_EQ((*gone)["type"].str(), "DELETED");
    EXPECT_EQ((*gone)["object"]["metadata"]["name"].str(), "g");
    api_.bookmark(watch);
    EXPECT_FALSE(api_.poll(watch).has_value());
    EXPECT_FALSE(api_.isOpen(watch));
  }
}

TEST_F(RemoveTest, AWatchThatWasTooOldIsToldSoWhenItsDefinitionGoes) {
  defineGears();
  const auto watch = api_.watch(std::string{kGears} + "?watch=true&resourceVersion=1");
  ASSERT_TRUE(watch.has_value());
  api_.compact();
  EXPECT_EQ(send("DELETE", kGearsCrd).code, 200);
  const auto ended = api_.poll(*watch);
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ((*ended)["object"]["code"].intOr(0), 410);
  EXPECT_FALSE(api_.poll(*watch).has_value());
  EXPECT_FALSE(api_.isOpen(*watch));
}

TEST_F(RemoveTest, ADefinitionThatIsGoingMayBeChanged) {
  defineGears();
  ASSERT_EQ(gear("kept", {Value{"ex.io/f"}}).code, 201);
  EXPECT_EQ(send("DELETE", kGearsCrd).code, 200);
  merge(kGearsCrd, Object{{"metadata", Object{{"labels", Object{{"a", "b"}}}}}});
  const Value crd = get(kGearsCrd);
  EXPECT_EQ(crd["metadata"]["labels"]["a"].str(), "b");
  EXPECT_EQ(crd["status"]["conditions"].at(crd["status"]["conditions"].items().size() - 1)["type"].str(),
            "Terminating");
  removeFinalizers(std::string{kGears} + "/kept");
  EXPECT_EQ(send("GET", kGearsCrd).code, 404);
}

TEST_F(RemoveTest, WhatKeepsAFinalizerOfItsOwnGoesWithThat) {
  for (const char* policy : {"Foreground", "Orphan"}) {
    (void)heldMap("m");
    const Response answer = removeMap("m", Object{{"propagationPolicy", policy}});
    EXPECT_EQ(answer.code, 200);
    EXPECT_EQ(answer.body["metadata"]["finalizers"].items().size(), 2U) << policy;
    const Value kept = get(std::string{kMaps} + "/m")["metadata"];
    EXPECT_EQ(json::print(kept["finalizers"]), R"(["x.io/y"])") << policy;
    EXPECT_FALSE(kept["deletionTimestamp"].isNull());
    takeFinalizer(std::string{kMaps} + "/m", "x.io/y");
    EXPECT_EQ(names(kMaps), "") << policy;
  }
}

TEST_F(RemoveTest, ANamespaceGoesWithTheLastFinalizerOfWhatWasDeletedInTheForeground) {
  ASSERT_EQ(send("POST", "/api/v1/namespaces", named("team")).code, 201);
  const std::string map = "/api/v1/namespaces/team/configmaps/m";
  (void)send("POST", "/api/v1/namespaces/team/configmaps",
             named("m", Object{{"finalizers", Array{Value{"x.io/y"}}}}));
  EXPECT_EQ(send("DELETE", map, Object{{"propagationPolicy", "Foreground"}}).code, 200);
  EXPECT_EQ(send("DELETE", "/api/v1/namespaces/team").code, 200);
  takeFinalizer(map, "x.io/y");
  EXPECT_EQ(send("GET", "/api/v1/namespaces/team").code, 404);
}

TEST_F(RemoveTest, FinalizersOfTheGarbageCollectorAreSeenToAtOnce) {
  const auto a = [&](const char* finalizer) {
    return send("POST", kMaps, named("a", Object{{"finalizers", Array{Value{finalizer}}}})).body["metadata"];
  };
  (void)ownedMap("child", a("orphan"));
  EXPECT_EQ(removeMap("a", {}).body["metadata"]["finalizers"].items().size(), 1U);  // it is there already
  EXPECT_EQ(names(kMaps), "child ");
  (void)ownedMap("other", a("orphan"));
  EXPECT_EQ(removeMap("a", Object{{"propagationPolicy", "Background"}}).code, 200);  // what is said counts
  EXPECT_EQ(names(kMaps), "child ");
  (void)ownedMap("other", a("foregroundDeletion"));
  EXPECT_EQ(removeMap("a", {}).code, 200);
  EXPECT_EQ(names(kMaps), "child ");
}

TEST_F(RemoveTest, WhatAPodOwnsMayBeOrphaned) {
  runningPod("p");
  (void)ownedMap("m", pod("p")["metadata"]);
  const std::string orphaning = std::string{kPods} + "/p?gracePeriodSeconds=0&propagationPolicy=Orphan";
  EXPECT_EQ(send("DELETE", orphaning + "&dryRun=All").code, 200);
  EXPECT_EQ(get(std::string{kMaps} + "/m")["metadata"]["ownerReferences"].items().size(), 1U);
  EXPECT_EQ(send("DELETE", orphaning).code, 200);
  EXPECT_EQ(names(kPods), "");
  EXPECT_EQ(names(kMaps), "m ");
}

TEST_F(RemoveTest, OrphanDependentsIsTheOldNameOfThePolicy) {
  (void)ownedMap("child", send("POST", kMaps, named("a")).body["metadata"]);
  EXPECT_EQ(removeMap("a", Object{{"orphanDependents", true}}).code, 200);
  EXPECT_EQ(names(kMaps), "child ");
  (void)ownedMap("other", send("POST", kMaps, named("a")).body["metadata"]);
  EXPECT_EQ(removeMap("a", Object{{"orphanDependents", false}}).code, 200);
  EXPECT_EQ(names(kMaps), "child ");
}

TEST_F(RemoveTest, WhatBeginsWithoutItsOwnerGoes) {
  (void)ownedMap("m", Object{{"name", "gone"}, {"uid", "9d6c8b1e-0000-4000-8000-000000000000"}});
  EXPECT_EQ(names(kMaps), "");
}

TEST_F(RemoveTest, WhoseOwnerIsOfAKindThatIsNotServedStays) {
  Value meta = ownedBy(Object{{"name", "web"}, {"uid", "9d6c8b1e-0000-4000-8000-000000000000"}});
  Value& owner = meta.child("ownerReferences").array().at(0);
  owner.set("apiVersion", "example.com/v1");
  owner.set("kind", "Web");
  (void)send("POST", kMaps, named("m", std::move(meta)));
  EXPECT_EQ(names(kMaps), "m ");
}

TEST_F(RemoveTest, WhatANamespaceOwnsGoesWithIt) {
  const Value team = send("POST", "/api/v1/namespaces", named("team")).body["metadata"];
  Value meta = ownedBy(team);
  meta.child("ownerReferences").array().at(0).set("kind", "Namespace");
  const std::string roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
  ASSERT_EQ(send("POST", roles, named("r", std::move(meta))).code, 201);
  EXPECT_EQ(names(roles), "r ");
  EXPECT_EQ(send("DELETE", "/api/v1/namespaces/team").code, 200);
  EXPECT_EQ(names(roles), "");
}

}  // namespace
}  // namespace gs::apiserver
