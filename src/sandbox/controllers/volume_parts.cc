#include "sandbox/controllers/volume_parts.h"

#include <algorithm>
#include <utility>

#include "model/volumes.h"
#include "sandbox/controllers/objects.h"
#include "sandbox/controllers/volume_match.h"

namespace gs::sandbox::controllers {
namespace {

using json::Value;

Value claimReference(const Value& claim) {
  return json::Object{{"apiVersion", "v1"},
                      {"kind", "PersistentVolumeClaim"},
                      {"namespace", claim["metadata"]["namespace"]},
                      {"name", nameOf(claim)},
                      {"uid", uidOf(claim)}};
}

void noteYes(Value& object, const char* key) {
  object.child("metadata").child("annotations").set(key, "yes");
}

}  // namespace

std::string_view phaseOf(const json::Value& object) { return object["status"]["phase"].str(); }

Again setPhase(Client& client, const json::Value& object, const char* phase) {
  if (phaseOf(object) == phase) { return {}; }
  Value next = object;
  next.child("status").set("phase", phase);
  return afterWrite(client.replaceStatus(next));
}

Again takeFinalizer(Client& client, const json::Value& object, std::string_view name) {
  json::Array left = object["metadata"]["finalizers"].items();
  if (std::erase_if(left, [&](const Value& one) { return one.str() == name; }) == 0) { return {}; }
  Value next = object;
  next.child("metadata").set("finalizers", std::move(left));
  return afterWrite(client.replace(next));
}

Again bindVolume(Client& client, const json::Value& claim, const json::Value& volume) {
  if (volume["spec"]["claimRef"]["uid"].str() != uidOf(claim)) {
    Value next = volume;
    next.child("spec").set("claimRef", claimReference(claim));
    if (!isFor(volume, claim)) { noteYes(next, model::kBoundByControllerKey); }
    return afterWrite(client.replace(next));
  }
  if (phaseOf(volume) != "Bound") { return setPhase(client, volume, "Bound"); }
  const bool is_named = claim["spec"]["volumeName"].str() == nameOf(volume);
  if (annotation(claim, model::kBindCompletedKey).empty() || !is_named) {
    Value next = claim;
    if (!is_named) { noteYes(next, model::kBoundByControllerKey); }
    noteYes(next, model::kBindCompletedKey);
    next.child("spec").set("volumeName", nameOf(volume));
    return afterWrite(client.replace(next));
  }
  if (phaseOf(claim) == "Bound") { return {}; }
  Value next = claim;
  Value& status = next.child("status");
  status.set("phase", "Bound");
  status.set("accessModes", volume["spec"]["accessModes"]);
  status.set("capacity", volume["spec"]["capacity"]);
  return afterWrite(client.replaceStatus(next));
}

}  // namespace gs::sandbox::controllers
