#include "apiserver/lifecycle/crd_controller.h"

#include "apiserver/lifecycle/deleter_test.h"
#include "apiserver/meta/selectors.h"

namespace gs::apiserver {
namespace {

using json::Array;
using json::Object;
using json::Value;

class CrdControllerTest : public LifecycleTest {
 protected:
  static constexpr const char* kGears = "ex.io/gears";

  void went(const StoreKey& key, const ObjectPtr& last, Now now) override {
    if (last && key.resource == kCrdsId) { controller_.forget(*last); }
    controller_.objectWent(key.resource, *this, now);
  }
  /// A CRD that was written, and is served.
  StoreKey define(const char* plural, const char* group) {
    const std::string name = std::string{plural} + "." + group;
    Value crd = Object{
        {"metadata", Object{{"name", name}, {"uid", name}}},
        {"spec",
         Object{{"group", group},
                {"scope", "Cluster"},
                {"names", Object{{"plural", plural}, {"kind", "Gear"}}},
                {"versions", Array{Value{Object{
                                 {"name", "v1"},
                                 {"served", true},
                                 {"storage", true},
                                 {"schema", Object{{"openAPIV3Schema", Object{{"type", "object"}}}}}}}}}}}};
    StoreKey key{std::string{kCrdsId}, "", name};
    const auto stored = store_.put(key, std::move(crd), nullptr);
    controller_.establish(*stored, clock_.now());
    return key;
  }
  void begin(const StoreKey& crd) {
    store_.put(crd, CrdController::terminating(*store_.find(crd)->object, clock_.now()), nullptr);
    controller_.empty(crd.name, *this, clock_.now());
  }

  WatchCache watches_{store_};
  CrdController controller_{store_, resources_, watches_};
};

TEST_F(CrdControllerTest, WhatIsEstablishedIsServedAndSaysSo) {
  EXPECT_EQ(resources_.find("ex.io", "gears"), nullptr);
  const auto crd = define("gears", "ex.io");
  ASSERT_NE(resources_.find("ex.io", "gears"), nullptr);
  const auto& conditions = (*store_.find(crd)->object)["status"]["conditions"].items();
  ASSERT_EQ(conditions.size(), 2U);
  EXPECT_EQ(conditions[1]["type"].str(), "Established");
}

TEST_F(CrdControllerTest, ItGoesOnceItsObjectsAreGone) {
  const auto crd = define("gears", "ex.io");
  (void)put(kGears, "", "free");
  const auto held = put(kGears, "", "held", kept());
  begin(crd);
  EXPECT_EQ(asked(), "free held ");
  const Value& going = *store_.find(crd)->object;
  EXPECT_EQ(going["metadata"]["finalizers"].items().size(), 1U);
  EXPECT_EQ(going["status"]["conditions"].at(2)["reason"].str(), "InstanceDeletionPending");
  drop(held, clock_.now());
  EXPECT_FALSE(isThere(crd));
  EXPECT_EQ(resources_.find("ex.io", "gears"), nullptr);
}

TEST_F(CrdControllerTest, AFinalizerOfItsOwnKeepsIt) {
  const auto crd = define("gears", "ex.io");
  Value next = *store_.find(crd)->object;
  next.child("metadata").set("finalizers", Array{Value{"x.io/y"}});
  store_.put(crd, std::move(next), nullptr);
  begin(crd);
  ASSERT_TRUE(isThere(crd));
  EXPECT_EQ(json::print((*store_.find(crd)->object)["metadata"]["finalizers"]), R"(["x.io/y"])");
  EXPECT_NE(resources_.find("ex.io", "gears"), nullptr);
}

TEST_F(CrdControllerTest, OneThatIsGoingIsServedAndKeepsItsStatus) {
  const auto crd = define("gears", "ex.io");
  (void)put(kGears, "", "held", kept());
  begin(crd);
  const Value before = *store_.find(crd)->object;
  controller_.establish(before, clock_.now());
  EXPECT_EQ(*store_.find(crd)->object, before);
  EXPECT_NE(resources_.find("ex.io", "gears"), nullptr);
}

TEST_F(CrdControllerTest, OneThatIsCalledAsABuiltInKindTakesNothingAlong) {
  const auto lease = put("coordination.k8s.io/leases", "default", "lease");
  const auto crd = define("leases", "coordination.k8s.io");
  begin(crd);
  EXPECT_FALSE(isThere(crd));
  EXPECT_TRUE(isThere(lease));
  EXPECT_NE(resources_.find("coordination.k8s.io", "leases"), nullptr);
}

TEST_F(CrdControllerTest, WhoWatchesItsObjectsSeesThemGoAndIsDone) {
  const auto crd = define("gears", "ex.io");
  (void)put(kGears, "", "held", kept());
  const auto watch = watches_.open({resources_.find("ex.io", "gears"), "", *Selector::labels(""),
                                    *Selector::fields("", kGears), store_.revision()});
  drop(crd, clock_.now());  // by force, with an object left
  const auto gone = watches_.poll(watch);
  ASSERT_TRUE(gone);
  EXPECT_EQ((*gone)["type"].str(), "DELETED");
  EXPECT_FALSE(watches_.poll(watch));
  EXPECT_FALSE(watches_.isOpen(watch));
}

}  // namespace
}  // namespace gs::apiserver
