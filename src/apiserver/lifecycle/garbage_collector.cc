#include "apiserver/lifecycle/garbage_collector.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace gs::apiserver {
namespace {

using json::Value;

bool isCollectors(const Value& finalizer) {
  return finalizer.str() == kOrphanFinalizer || finalizer.str() == kForegroundFinalizer;
}

}  // namespace

std::string_view collectorsFinalizer(const json::Value& options, const json::Value& meta) {
  if (const Value& orphan = options["orphanDependents"]; !orphan.isNull()) {
    return orphan.boolOr(false) ? kOrphanFinalizer : "";
  }
  if (const auto policy = options["propagationPolicy"].str(); !policy.empty()) {
    return policy == "Orphan" ? kOrphanFinalizer : policy == "Foreground" ? kForegroundFinalizer : "";
  }
  const auto& finalizers = meta["finalizers"].items();
  const auto it = std::find_if(finalizers.begin(), finalizers.end(), isCollectors);
  return it == finalizers.end()          ? ""
         : it->str() == kOrphanFinalizer ? kOrphanFinalizer
                                         : kForegroundFinalizer;
}

void takeCollectorsFinalizers(json::Value& object) {
  if (object["metadata"]["finalizers"].isNull()) { return; }
  auto& finalizers = object.child("metadata").child("finalizers").array();
  std::erase_if(finalizers, isCollectors);
  if (finalizers.empty()) { object.child("metadata").erase("finalizers"); }
}

void GarbageCollector::collect(Deleter& deleter, Now now) {
  if (std::exchange(collecting_, true)) { return; }  // who is at it will see to this too
  for (auto orphans = store_.takeOrphans(); !orphans.empty(); orphans = store_.takeOrphans()) {
    for (const auto& key : orphans) {
      if (isGarbage(key)) { deleter.removeByItself(key, now); }
    }
  }
  collecting_ = false;
}

bool GarbageCollector::isGarbage(const StoreKey& orphan) const {
  const auto* there = store_.find(orphan);
  if (there == nullptr) { return false; }  // it went with another one
  const auto& owners = (*there->object)["metadata"]["ownerReferences"].items();
  return std::all_of(owners.begin(), owners.end(), [&](const Value& owner) {
    return resources_.ofKind(owner["apiVersion"].str(), owner["kind"].str()) != nullptr;
  });
}

void GarbageCollector::orphanDependentsOf(std::string_view uid) {
  std::vector<std::pair<StoreKey, Value>> changed;
  for (const auto& [key, stored] : store_.objects()) {
    const auto& owners = (*stored.object)["metadata"]["ownerReferences"].items();
    if (std::none_of(owners.begin(), owners.end(), [&](const Value& o) { return o["uid"].str() == uid; })) {
      continue;
    }
    Value next = *stored.object;
    auto& list = next.child("metadata").child("ownerReferences").array();
    std::erase_if(list, [&](const Value& o) { return o["uid"].str() == uid; });
    if (list.empty()) { next.child("metadata").erase("ownerReferences"); }
    changed.emplace_back(key, std::move(next));
  }
  for (auto& [key, object] : changed) { store_.put(key, std::move(object), store_.find(key)->owners); }
}

}  // namespace gs::apiserver
