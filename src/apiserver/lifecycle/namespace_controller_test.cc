#include "apiserver/lifecycle/namespace_controller.h"

#include "apiserver/lifecycle/deleter_test.h"

namespace gs::apiserver {
namespace {

using json::Object;
using json::Value;

class NamespaceControllerTest : public LifecycleTest {
 protected:
  void went(const StoreKey& key, const ObjectPtr&, Now now) override {
    controller_.objectWent(key.ns, *this, now);
  }
  void begin(const StoreKey& space) {
    store_.put(space, NamespaceController::terminating(*store_.find(space)->object, clock_.now()), nullptr);
  }

  NamespaceController controller_{store_, resources_};
};

TEST_F(NamespaceControllerTest, AnEmptyOneGoesAtOnce) {
  const auto team = put("/namespaces", "", "team");
  begin(team);
  const Value& object = *store_.find(team)->object;
  EXPECT_EQ(object["status"]["phase"].str(), "Terminating");
  EXPECT_EQ(object["metadata"]["deletionTimestamp"].str(), "2025-06-15T15:06:40Z");
  controller_.empty("team", *this, clock_.now());
  EXPECT_FALSE(isThere(team));
}

TEST_F(NamespaceControllerTest, WhatKeepsAFinalizerKeepsItsNamespace) {
  const auto team = put("/namespaces", "", "team");
  const auto held = put(kMaps, "team", "held", kept());
  (void)put(kMaps, "team", "free");
  (void)put("coordination.k8s.io/leases", "team", "lease");
  const auto other = put(kMaps, "other", "m");
  const auto node = put("/nodes", "", "node");
  begin(team);
  controller_.empty("team", *this, clock_.now());
  EXPECT_EQ(asked(), "free held lease ");
  EXPECT_TRUE(isThere(team));
  EXPECT_TRUE(isThere(held));
  drop(held, clock_.now());
  EXPECT_FALSE(isThere(team));
  EXPECT_TRUE(isThere(other));
  EXPECT_TRUE(isThere(node));
}

TEST_F(NamespaceControllerTest, OneThatIsNotBeingDeletedIsLeftAlone) {
  const auto team = put("/namespaces", "", "team");
  const auto a = put(kMaps, "team", "a");
  (void)put(kMaps, "team", "b");
  drop(a, clock_.now());
  controller_.empty("team", *this, clock_.now());
  controller_.empty("nowhere", *this, clock_.now());
  EXPECT_EQ(asked(), "");
  EXPECT_TRUE(isThere(team));
}

}  // namespace
}  // namespace gs::apiserver
