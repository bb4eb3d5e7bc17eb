#include "apiserver/lifecycle/namespace_controller.h"

#include <utility>
#include <vector>

#include "kapi/time.h"

namespace gs::apiserver {

json::Value NamespaceController::terminating(json::Value space, Now now) {
  space.child("metadata").set("deletionTimestamp", kapi::timeText(now.wall));
  space.child("status").set("phase", "Terminating");
  return space;
}

void NamespaceController::empty(const std::string& ns, Deleter& deleter, Now now) {
  const StoreKey space{"/namespaces", "", ns};
  const auto* there = store_.find(space);
  if (there == nullptr || (*there->object)["metadata"]["deletionTimestamp"].isNull()) { return; }
  std::vector<StoreKey> inside;
  for (const auto& [id, r] : resources_.all()) {
    if (!r.namespaced || r.create_only || r.coreEvents()) { continue; }
    const auto [begin, end] = store_.range(r.storeId());
    for (auto it = begin; it != end; ++it) {
      if (it->first.ns == ns) { inside.push_back(it->first); }
    }
  }
  bool left = false;
  for (const auto& key : inside) {
    deleter.removeByItself(key, now);
    left = left || store_.find(key) != nullptr;
  }
  if (!left && store_.find(space) != nullptr) { store_.remove(space); }
}

void NamespaceController::objectWent(const std::string& ns, Deleter& deleter, Now now) {
  if (ns.empty() || std::exchange(emptying_, true)) { return; }
  empty(ns, deleter, now);
  emptying_ = false;
}

}  // namespace gs::apiserver
