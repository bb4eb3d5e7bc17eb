#include "apiserver/lifecycle/crd_controller.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "apiserver/registry/kind_checks.h"
#include "kapi/time.h"

namespace gs::apiserver {
namespace {

using json::Value;

constexpr const char* kCrdFinalizer = "customresourcecleanup.apiextensions.k8s.io";

std::vector<StoreKey> keysOf(const Store& store, const std::string& resource) {
  std::vector<StoreKey> keys;
  const auto [begin, end] = store.range(resource);
  for (auto it = begin; it != end; ++it) { keys.push_back(it->first); }
  return keys;
}

}  // namespace

void CrdController::establish(const json::Value& crd, Now now) {
  resources_.serve(crd);
  if (!crd["metadata"]["deletionTimestamp"].isNull()) { return; }
  Value next = crd;
  next.set("status", establishedStatus(crd, now));
  const StoreKey key{std::string{kCrdsId}, "", std::string{crd["metadata"]["name"].str()}};
  const auto* there = store_.find(key);
  if (next != *there->object) { store_.put(key, std::move(next), there->owners); }
}

json::Value CrdController::terminating(json::Value crd, Now now) {
  crd.child("metadata").set("deletionTimestamp", kapi::timeText(now.wall));
  crd.child("metadata").child("finalizers").array().emplace_back(kCrdFinalizer);
  crd.child("status")
      .child("conditions")
      .array()
      .emplace_back(json::Object{
          {"lastTransitionTime", kapi::timeText(now.wall)},
          {"message",
           "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"},
          {"reason", "InstanceDeletionPending"},
          {"status", "True"},
          {"type", "Terminating"}});
  return crd;
}

/// Null: nothing of its own.
const Resource* CrdController::served(const json::Value& crd) const {
  const auto& spec = crd["spec"];
  const auto* found = resources_.find(spec["group"].str(), spec["names"]["plural"].str());
  return found != nullptr && found->custom ? found : nullptr;
}

void CrdController::empty(const std::string& name, Deleter& deleter, Now now) {
  const StoreKey key{std::string{kCrdsId}, "", name};
  const auto* crd = store_.find(key);
  if (crd == nullptr || (*crd->object)["metadata"]["deletionTimestamp"].isNull()) { return; }
  if (const auto* resource = served(*crd->object)) {
    const std::string id = resource->storeId();
    for (const auto& each : keysOf(store_, id)) { deleter.removeByItself(each, now); }
    if (!keysOf(store_, id).empty()) { return; }
  }
  crd = store_.find(key);
  if (crd == nullptr) { return; }  // its last object took it along
  Value next = *crd->object;
  auto& finalizers = next.child("metadata").child("finalizers").array();
  std::erase_if(finalizers, [](const Value& f) { return f.str() == kCrdFinalizer; });
  if (finalizers.empty()) {
    deleter.drop(key, now);
  } else if (next != *crd->object) {
    store_.put(key, std::move(next), crd->owners);
  }
}

void CrdController::objectWent(const std::string& resource, Deleter& deleter, Now now) {
  if (std::exchange(emptying_, true)) { return; }
  if (const auto* r = resources_.stored(resource); r != nullptr && r->custom) {
    empty(r->plural + "." + r->group, deleter, now);
  }
  emptying_ = false;
}

void CrdController::forget(const json::Value& crd) {
  const auto* resource = served(crd);
  if (resource == nullptr) { return; }
  for (const auto& key : keysOf(store_, resource->storeId())) { store_.remove(key); }
  watches_.end(*resource);
  resources_.forget(crd);
}

}  // namespace gs::apiserver
