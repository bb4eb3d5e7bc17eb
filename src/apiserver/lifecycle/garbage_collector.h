// The garbage collector: what has none of its owners any more goes, and what that owned; and what becomes of
// the dependents of an object that is deleted, which its finalizers say until they are seen to.
//
// Orphans are known to the store; this one decides and deletes. As in a real server, an owner of a kind that
// is not served may be anywhere, so its dependents stay. What a collection makes garbage is collected by the
// same one. One thread.
#pragma once

#include <string_view>

#include "apiserver/lifecycle/deleter.h"
#include "apiserver/registry/resources.h"
#include "apiserver/storage/store.h"
#include "base/clock.h"
#include "json/value.h"

namespace gs::apiserver {

// What it does before an object goes.
inline constexpr std::string_view kOrphanFinalizer = "orphan";
inline constexpr std::string_view kForegroundFinalizer = "foregroundDeletion";

class GarbageCollector {
 public:
  GarbageCollector(Store& store, const Resources& resources) : store_{store}, resources_{resources} {}

  /// All that is garbage now. Called while it is at it: does nothing, it sees to that too.
  void collect(Deleter& deleter, Now now);
  /// Takes this owner out of all ownerReferences.
  void orphanDependentsOf(std::string_view uid);

 private:
  [[nodiscard]] bool isGarbage(const StoreKey& orphan) const;

  Store& store_;
  const Resources& resources_;
  bool collecting_ = false;
};

/// The finalizer that a deletion with these DeleteOptions gives an object with this metadata; "": dependents
/// go after it, in the background. Without an option its finalizers say it.
[[nodiscard]] std::string_view collectorsFinalizer(const json::Value& options, const json::Value& meta);
/// Without the collector's finalizers, and without an empty list of them.
void takeCollectorsFinalizers(json::Value& object);

}  // namespace gs::apiserver
