// For tests only: a store with what the controllers of this room need,
// and a deletion that says what it was asked for.
#pragma once

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

#include "apiserver/lifecycle/deleter.h"
#include "apiserver/registry/resources.h"
#include "apiserver/storage/store.h"
#include "base/clock.h"
#include "json/value.h"

namespace gs::apiserver {

class LifecycleTest : public testing::Test, public Deleter {
 protected:
  static constexpr const char* kMaps = "/configmaps";

  ~LifecycleTest() = default;  // by nobody but gtest, as a Test

  /// Deletes at once, but for what finalizers keep.
  void removeByItself(const StoreKey& key, Now now) override {
    const auto* there = store_.find(key);
    if (there == nullptr || !(*there->object)["metadata"]["deletionTimestamp"].isNull()) { return; }
    asked_ += key.name + " ";
    if ((*there->object)["metadata"]["finalizers"].items().empty()) {
      drop(key, now);
    } else {
      mark(key);
    }
  }
  ObjectPtr drop(const StoreKey& key, Now now) override {
    auto last = store_.remove(key);
    went(key, last, now);
    return last;
  }
  /// What Deletes tells the controller under test.
  virtual void went(const StoreKey& key, const ObjectPtr& last, Now now) = 0;

  void mark(const StoreKey& key) {
    json::Value next = *store_.find(key)->object;
    next.child("metadata").set("deletionTimestamp", "2025-06-15T15:06:40Z");
    store_.put(key, std::move(next), nullptr);
  }
  /// An object called `name`, whose uid is its name; returns its key.
  StoreKey put(const char* resource, const char* ns, const char* name, json::Value meta = json::Object{}) {
    meta.set("name", name);
    meta.set("uid", name);
    StoreKey key{resource, ns, name};
    store_.put(key, json::Object{{"metadata", std::move(meta)}}, nullptr);
    return key;
  }
  static json::Value kept() { return json::Object{{"finalizers", json::Array{json::Value{"x.io/y"}}}}; }
  [[nodiscard]] bool isThere(const StoreKey& key) const { return store_.find(key) != nullptr; }
  /// What was deleted since the last time, or began to be.
  std::string asked() { return std::exchange(asked_, {}); }

  ManualClock clock_;
  Store store_;
  Resources resources_;

 private:
  std::string asked_;
};

}  // namespace gs::apiserver
