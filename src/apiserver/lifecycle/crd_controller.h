// The controllers of CustomResourceDefinitions: one that was written is served and says so; one that is being
// deleted loses its objects, goes once there are none, and takes what is served with it.
//
// A definition that is called as a built-in kind serves nothing, and takes nothing along. One thread.
#pragma once

#include <string>

#include "apiserver/lifecycle/deleter.h"
#include "apiserver/registry/resources.h"
#include "apiserver/storage/store.h"
#include "apiserver/storage/watch_cache.h"
#include "base/clock.h"
#include "json/value.h"

namespace gs::apiserver {

class CrdController {
 public:
  CrdController(Store& store, Resources& resources, WatchCache& watches)
      : store_{store}, resources_{resources}, watches_{watches} {}

  /// A stored CRD is served from now on, and its status says so; that of one which is going stays as it is.
  void establish(const json::Value& crd, Now now);
  /// The CRD as it is once its deletion was asked for.
  [[nodiscard]] static json::Value terminating(json::Value crd, Now now);
  /// Deletes its objects, and it once they are gone. Does nothing to one that is not being deleted.
  void empty(const std::string& name, Deleter& deleter, Now now);
  /// An object of this resource (a key of the store) is gone for good. Called while a CRD's objects are
  /// deleted because of another one: does nothing.
  void objectWent(const std::string& resource, Deleter& deleter, Now now);
  /// The CRD is gone: nothing of it can be asked for or watched any more, so that objects which are left
  /// would be in nobody's way for ever.
  void forget(const json::Value& crd);

 private:
  [[nodiscard]] const Resource* served(const json::Value& crd) const;

  Store& store_;
  Resources& resources_;
  WatchCache& watches_;
  bool emptying_ = false;
};

}  // namespace gs::apiserver
