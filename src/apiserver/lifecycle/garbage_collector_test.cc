#include "apiserver/lifecycle/garbage_collector.h"

#include <string>
#include <vector>

#include "apiserver/lifecycle/deleter_test.h"

namespace gs::apiserver {
namespace {

using json::Array;
using json::Object;
using json::Value;

class GarbageCollectorTest : public LifecycleTest {
 protected:
  void removeByItself(const StoreKey& key, Now now) override {
    EXPECT_EQ(depth_++, 0) << "a collection in a collection, of " << key.name;
    LifecycleTest::removeByItself(key, now);
    --depth_;
  }
  void went(const StoreKey&, const ObjectPtr&, Now now) override { garbage_.collect(*this, now); }

  static Value owners(const std::vector<const char*>& uids, const char* kind = "ConfigMap") {
    Array list;
    for (const char* uid : uids) {
      list.push_back(Object{{"apiVersion", "v1"}, {"kind", kind}, {"name", uid}, {"uid", uid}});
    }
    return Object{{"ownerReferences", std::move(list)}};
  }

  GarbageCollector garbage_{store_, resources_};

 private:
  int depth_ = 0;
};

TEST_F(GarbageCollectorTest, WhatLostAllItsOwnersGoesAndWhatThatOwned) {
  const auto a = put(kMaps, "d", "a");
  (void)put(kMaps, "d", "b");
  (void)put(kMaps, "d", "child", owners({"a"}));
  (void)put(kMaps, "d", "grandchild", owners({"child"}));
  const auto of_both = put(kMaps, "d", "of-both", owners({"a", "b"}));
  garbage_.collect(*this, clock_.now());
  EXPECT_EQ(asked(), "");
  store_.remove(a);
  garbage_.collect(*this, clock_.now());
  EXPECT_EQ(asked(), "child grandchild ");
  EXPECT_TRUE(isThere(of_both));
}

TEST_F(GarbageCollectorTest, AnOwnerOfAKindThatIsNotServedMayBeAnywhere) {
  (void)put(kMaps, "d", "m", owners({"gone"}, "ReplicaSet"));
  garbage_.collect(*this, clock_.now());
  EXPECT_EQ(asked(), "");
}

TEST_F(GarbageCollectorTest, OrphanedDependentsNameTheirOtherOwnersOnly) {
  const auto a = put(kMaps, "d", "a");
  (void)put(kMaps, "d", "b");
  const auto one = put(kMaps, "d", "one", owners({"a"}));
  const auto two = put(kMaps, "d", "two", owners({"b", "a"}));
  const auto other = put(kMaps, "d", "other", owners({"b"}));
  const auto revision = (*store_.find(other)->object)["metadata"]["resourceVersion"];
  garbage_.orphanDependentsOf("a");
  EXPECT_EQ((*store_.find(one)->object)["metadata"].find("ownerReferences"), nullptr);
  EXPECT_EQ((*store_.find(two)->object)["metadata"]["ownerReferences"], owners({"b"})["ownerReferences"]);
  EXPECT_EQ((*store_.find(other)->object)["metadata"]["resourceVersion"], revision);  // not written
  store_.remove(a);
  garbage_.collect(*this, clock_.now());
  EXPECT_EQ(asked(), "");
}

TEST(CollectorsFinalizer, OptionsCountBeforeFinalizers) {
  const auto meta = [](const char* finalizer) {
    return Value{Object{{"finalizers", Array{Value{"x.io/y"}, Value{finalizer}}}}};
  };
  struct Case {
    Value options;
    Value meta;
    std::string_view finalizer;
  };
  const std::vector<Case> cases{
      {Object{}, Object{}, ""},
      {Object{{"propagationPolicy", "Background"}}, Object{}, ""},
      {Object{{"propagationPolicy", "Foreground"}}, Object{}, "foregroundDeletion"},
      {Object{{"propagationPolicy", "Orphan"}}, Object{}, "orphan"},
      {Object{{"orphanDependents", true}}, Object{}, "orphan"},
      {Object{{"orphanDependents", false}}, meta("orphan"), ""},
      {Object{}, meta("orphan"), "orphan"},
      {Object{}, meta("foregroundDeletion"), "foregroundDeletion"},
      {Object{{"propagationPolicy", "Background"}}, meta("orphan"), ""},
      {Object{}, meta("other.io/z"), ""},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(collectorsFinalizer(c.options, c.meta), c.finalizer)
        << json::print(c.options) << json::print(c.meta);
  }
}

TEST(CollectorsFinalizer, OthersStay) {
  Value object = Object{{"metadata", Object{{"finalizers", Array{Value{"orphan"}, Value{"x.io/y"}}}}}};
  takeCollectorsFinalizers(object);
  EXPECT_EQ(json::print(object["metadata"]["finalizers"]), R"(["x.io/y"])");
  object.child("metadata").set("finalizers", Array{Value{"foregroundDeletion"}});
  takeCollectorsFinalizers(object);
  EXPECT_EQ(object["metadata"].find("finalizers"), nullptr);
}

}  // namespace
}  // namespace gs::apiserver
