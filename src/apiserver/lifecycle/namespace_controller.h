// The namespace controller: a namespace that is being deleted loses all that is in it,
// and goes once it is empty.
//
// What keeps finalizers, and pods that have grace left, keep their namespace; each object that went is a
// reason to look again. One thread.
#pragma once

#include <string>

#include "apiserver/lifecycle/deleter.h"
#include "apiserver/registry/resources.h"
#include "apiserver/storage/store.h"
#include "base/clock.h"
#include "json/value.h"

namespace gs::apiserver {

class NamespaceController {
 public:
  NamespaceController(Store& store, const Resources& resources) : store_{store}, resources_{resources} {}

  /// The Namespace as it is once its deletion was asked for.
  [[nodiscard]] static json::Value terminating(json::Value space, Now now);
  /// Deletes what is in it, and it once that is gone. Does nothing to a namespace that is not being deleted.
  void empty(const std::string& ns, Deleter& deleter, Now now);
  /// An object of this namespace ("": none) is gone for good. Called while a namespace is emptied because of
  /// another one: does nothing.
  void objectWent(const std::string& ns, Deleter& deleter, Now now);

 private:
  Store& store_;
  const Resources& resources_;
  bool emptying_ = false;
};

}  // namespace gs::apiserver
