#include "sandbox/controllers/volumes.h"

#include <algorithm>
#include <utility>

#include "sandbox/controllers/objects.h"

namespace gs::sandbox::controllers {
namespace {

using apiserver::ObjectPtr;
using json::Value;

constexpr const char* kClaimProtection = "kubernetes.io/pvc-protection";
constexpr const char* kVolumeProtection = "kubernetes.io/pv-protection";
constexpr const char* kBindCompleted = "pv.kubernetes.io/bind-completed";

Again answerOf(const apiserver::Response& response) { return {.failed = !succeeded(response)}; }

std::string namespaceOf(const Value& object) { return std::string{object["metadata"]["namespace"].str()}; }
std::string_view phaseOf(const Value& object) { return object["status"]["phase"].str(); }

/// It is for that claim, or for one of its name whose uid nobody has written yet.
bool isFor(const Value& volume, const Value& claim) {
  const Value& of = volume["spec"]["claimRef"];
  const auto uid = of["uid"].str();
  return of.isObject() && of["namespace"].str() == namespaceOf(claim) && of["name"].str() == nameOf(claim) &&
         (uid.empty() || uid == uidOf(claim));
}

Again setPhase(Client& client, const Value& object, const char* phase) {
  if (phaseOf(object) == phase) { return {}; }
  Value next = object;
  next.child("status").set("phase", phase);
  return answerOf(client.replaceStatus(next));
}

bool hasFinalizer(const Value& object, std::string_view name) {
  const auto& all = object["metadata"]["finalizers"].items();
  return std::any_of(all.begin(), all.end(), [&](const Value& one) { return one.str() == name; });
}

Again takeFinalizer(Client& client, const Value& object, std::string_view name) {
  if (!hasFinalizer(object, name)) { return {}; }
  Value next = object;
  json::Array left;
  for (const Value& one : object["metadata"]["finalizers"].items()) {
    if (one.str() != name) { left.push_back(one); }
  }
  next.child("metadata").set("finalizers", std::move(left));
  return answerOf(client.replace(next));
}

bool isInUse(Client& client, const Value& claim) {
  const auto pods = client.all(kPods, namespaceOf(claim));
  return std::any_of(pods.begin(), pods.end(), [&](const ObjectPtr& pod) {
    const auto phase = phaseOf(*pod);
    if (phase == "Succeeded" || phase == "Failed" || (*pod)["spec"]["nodeName"].str().empty()) {
      return false;
    }
    const auto claims = claimsOf(*pod);
    return std::find(claims.begin(), claims.end(), nameOf(claim)) != claims.end();
  });
}

/// The volume that it names, or one that names it; null: none.
ObjectPtr volumeFor(Client& client, const Value& claim) {
  const std::string name{claim["spec"]["volumeName"].str()};
  if (!name.empty()) { return client.find(kVolumes, "", name); }
  for (const ObjectPtr& volume : client.all(kVolumes, "")) {
    if (isFor(*volume, claim)) { return volume; }
  }
  return nullptr;
}

Value claimReference(const Value& claim) {
  return json::Object{{"apiVersion", "v1"},
                      {"kind", "PersistentVolumeClaim"},
                      {"namespace", namespaceOf(claim)},
                      {"name", nameOf(claim)},
                      {"uid", uidOf(claim)}};
}

/// The volume first: a claim is bound only when its volume says so.
Again bind(Client& client, const Value& claim, const Value& volume) {
  if (volume["spec"]["claimRef"]["uid"].str().empty()) {
    Value next = volume;
    next.child("spec").set("claimRef", claimReference(claim));
    return answerOf(client.replace(next));
  }
  if (phaseOf(volume) != "Bound") { return setPhase(client, volume, "Bound"); }
  if (annotation(claim, kBindCompleted).empty() || claim["spec"]["volumeName"].str().empty()) {
    Value next = claim;
    next.child("metadata").child("annotations").set(kBindCompleted, "yes");
    next.child("spec").set("volumeName", nameOf(volume));
    return answerOf(client.replace(next));
  }
  if (phaseOf(claim) == "Bound") { return {}; }
  Value next = claim;
  Value& status = next.child("status");
  status.set("phase", "Bound");
  status.set("accessModes", volume["spec"]["accessModes"]);
  status.set("capacity", volume["spec"]["capacity"]);
  return answerOf(client.replaceStatus(next));
}

}  // namespace

std::vector<std::string> claimsOf(const json::Value& pod) {
  std::vector<std::string> out;
  for (const Value& volume : pod["spec"]["volumes"].items()) {
    const auto name = volume["persistentVolumeClaim"]["claimName"].str();
    if (!name.empty()) { out.emplace_back(name); }
  }
  return out;
}

Again syncVolumeClaim(Client& client, const json::Value& claim) {
  if (isDeleting(claim) && !isInUse(client, claim)) { return takeFinalizer(client, claim, kClaimProtection); }
  const ObjectPtr volume = volumeFor(client, claim);
  const bool is_its = volume && ((*volume)["spec"]["claimRef"].isNull() || isFor(*volume, claim));
  if (is_its) { return isDeleting(*volume) ? Again{} : bind(client, claim, *volume); }
  const bool was_bound = !annotation(claim, kBindCompleted).empty();
  return setPhase(client, claim, was_bound ? "Lost" : "Pending");
}

Again syncVolume(Client& client, const json::Value& volume) {
  const Value& of = volume["spec"]["claimRef"];
  const bool is_given = !of["uid"].str().empty();
  const ObjectPtr claim =
      is_given ? client.find(kClaims, std::string{of["namespace"].str()}, std::string{of["name"].str()})
               : nullptr;
  const bool has_claim = claim && isFor(volume, *claim);
  if (isDeleting(volume) && !has_claim) { return takeFinalizer(client, volume, kVolumeProtection); }
  if (has_claim) { return {}; }  // the claim's turn binds it
  return setPhase(client, volume, is_given ? "Released" : "Available");
}

}  // namespace gs::sandbox::controllers
