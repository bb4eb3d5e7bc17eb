#include "sandbox/controllers/volumes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "apiserver/admission/default_class.h"
#include "model/volumes.h"
#include "sandbox/controllers/objects.h"
#include "sandbox/controllers/pods.h"
#include "sandbox/controllers/volume_match.h"
#include "sandbox/controllers/volume_parts.h"

namespace gs::sandbox::controllers {
namespace {

using apiserver::ObjectPtr;
using json::Value;

constexpr const char* kClaimProtection = "kubernetes.io/pvc-protection";
constexpr const char* kVolumeProtection = "kubernetes.io/pv-protection";
constexpr const char* kBetaProvisioner = "volume.beta.kubernetes.io/storage-provisioner";

std::string namespaceOf(const Value& object) { return std::string{object["metadata"]["namespace"].str()}; }

/// Pods that name it and have not ended.
std::vector<ObjectPtr> usersOf(Client& client, const Value& claim) {
  std::vector<ObjectPtr> out = client.all(kPods, namespaceOf(claim));
  std::erase_if(out, [&](const ObjectPtr& pod) {
    const auto claims = claimsOf(*pod);
    return hasEnded(*pod) || std::find(claims.begin(), claims.end(), nameOf(claim)) == claims.end();
  });
  return out;
}

bool isInUse(Client& client, const Value& claim) {
  const auto pods = usersOf(client, claim);
  return std::any_of(pods.begin(), pods.end(),
                     [](const ObjectPtr& pod) { return !(*pod)["spec"]["nodeName"].str().empty(); });
}

// ---- claims that are not bound yet

/// Its class is looked up by what the claim says of it.
ObjectPtr classOf(Client& client, const Value& claim) {
  const std::string name = apiserver::classOfClaim(claim);
  return name.empty() ? nullptr : client.find(kStorageClasses, "", name);
}

bool waitsForPod(const ObjectPtr& of) {
  return of && (*of)["volumeBindingMode"].str() == "WaitForFirstConsumer";
}

void tellThatItWaits(Client& client, const Value& claim) {
  std::vector<std::string> pods;
  for (const ObjectPtr& pod : usersOf(client, claim)) {
    if ((*pod)["spec"]["nodeName"].str().empty()) { pods.push_back(nameOf(*pod)); }
  }
  if (pods.empty()) {
    client.tell(claim, "Normal", "WaitForFirstConsumer",
                "waiting for first consumer to be created before binding");
    return;
  }
  client.tell(
      claim, "Normal", "WaitForPodScheduled",
      fmt::format("waiting for pod{} {} to be scheduled", pods.size() > 1 ? "s" : "", fmt::join(pods, ",")));
}

/// Says by whom a volume is to be made.
Again askProvisioner(Client& client, const Value& claim, const ObjectPtr& of) {
  if (!of) {
    client.tell(claim, "Warning", "ProvisioningFailed",
                fmt::format("storageclass.storage.k8s.io \"{}\" not found", apiserver::classOfClaim(claim)));
    return {};
  }
  const auto name = (*of)["provisioner"].str();
  if (name.starts_with("kubernetes.io/")) {
    client.tell(claim, "Warning", "ProvisioningFailed",
                fmt::format("no volume plugin matched name: {}", name));
    return {};
  }
  if (annotation(claim, model::kStorageProvisionerKey) == name) { return {}; }
  Value next = claim;
  Value& notes = next.child("metadata").child("annotations");
  notes.set(kBetaProvisioner, name);
  notes.set(model::kStorageProvisionerKey, name);
  const auto written = client.replace(next);
  if (!succeeded(written)) { return {.failed = true}; }
  client.tell(
      claim, "Normal", "ExternalProvisioning",
      fmt::format("Waiting for a volume to be created either by the external provisioner '{}' or manually by "
                  "the system administrator. If volume creation is delayed, please verify that the "
                  "provisioner is running and correctly registered.",
                  name));
  return {};
}

/// A default class that came later is for claims without one, too.
Again giveDefaultClass(Client& client, const Value& claim, const std::string& name) {
  Value next = claim;
  next.child("spec").set("storageClassName", name);
  return afterWrite(client.replace(next));
}

Again chooseVolume(Client& client, const Value& claim) {
  const ObjectPtr of = classOf(client, claim);
  const bool waits = waitsForPod(of);
  if (const ObjectPtr volume = bestVolume(client.all(kVolumes, ""), claim, waits)) {
    return bindVolume(client, claim, *volume);
  }
  if (!apiserver::namesClass(claim)) {
    const std::string name = client.defaultStorageClass();
    if (!name.empty()) { return giveDefaultClass(client, claim, name); }
  }
  if (waits && annotation(claim, model::kSelectedNodeKey).empty()) {
    tellThatItWaits(client, claim);
  } else if (!apiserver::classOfClaim(claim).empty()) {
    return askProvisioner(client, claim, of);
  } else {
    client.tell(claim, "Normal", "FailedBinding",
                "no persistent volumes available for this claim and no storage class is set");
  }
  return setPhase(client, claim, "Pending");
}

Again takeNamedVolume(Client& client, const Value& claim) {
  const std::string name{claim["spec"]["volumeName"].str()};
  const ObjectPtr volume = client.find(kVolumes, "", name);
  if (!volume) { return setPhase(client, claim, "Pending"); }
  if (isFor(*volume, claim)) { return bindVolume(client, claim, *volume); }
  const bool is_free = (*volume)["spec"]["claimRef"].isNull();
  const std::string why = is_free ? whyNotBound(*volume, claim) : "";
  if (is_free && why.empty()) { return bindVolume(client, claim, *volume); }
  if (is_free) {
    client.tell(claim, "Warning", "VolumeMismatch",
                fmt::format("Cannot bind to requested volume \"{}\": {}", name, why));
  } else {
    client.tell(claim, "Warning", "FailedBinding",
                fmt::format("volume \"{}\" already bound to a different claim.", name));
  }
  return setPhase(client, claim, "Pending");
}

// ---- claims that were bound

Again lose(Client& client, const Value& claim, const char* reason, const char* message) {
  if (phaseOf(claim) == "Lost") { return {}; }
  client.tell(claim, "Warning", reason, message);
  Value next = claim;
  Value& status = next.child("status");
  status.set("phase", "Lost");
  status.erase("accessModes");
  status.erase("capacity");
  return afterWrite(client.replaceStatus(next));
}

Again keepBound(Client& client, const Value& claim) {
  const std::string name{claim["spec"]["volumeName"].str()};
  if (name.empty()) {
    return lose(client, claim, "ClaimLost",
                "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!");
  }
  const ObjectPtr volume = client.find(kVolumes, "", name);
  if (!volume) {
    return lose(client, claim, "ClaimLost",
                "Bound claim has lost its PersistentVolume. Data on the volume is lost!");
  }
  const Value& of = (*volume)["spec"]["claimRef"];
  if (of.isNull() || of["uid"].str() == uidOf(claim)) { return bindVolume(client, claim, *volume); }
  return lose(client, claim, "ClaimMisbound",
              "Two claims are bound to the same volume, this one is bound incorrectly");
}

// ---- volumes

/// Its claim has another one. One that was made for it is for nobody then; one that was chosen is free again.
Again notNeeded(Client& client, const Value& volume) {
  const bool is_made = !annotation(volume, kProvisionedBy).empty();
  if (is_made && volume["spec"]["persistentVolumeReclaimPolicy"].str() == "Delete") {
    return setPhase(client, volume, "Released");
  }
  Value next = volume;
  if (annotation(volume, model::kBoundByControllerKey).empty()) {
    next.child("spec").child("claimRef").erase("uid");
  } else {
    next.child("spec").erase("claimRef");
    next.child("metadata").child("annotations").erase(model::kBoundByControllerKey);
  }
  return afterWrite(client.replace(next));
}

}  // namespace

std::string ephemeralClaim(const json::Value& pod, const json::Value& volume) {
  return fmt::format("{}-{}", nameOf(pod), volume["name"].str());
}

std::vector<std::string> claimsOf(const json::Value& pod) {
  std::vector<std::string> out;
  for (const Value& volume : pod["spec"]["volumes"].items()) {
    const auto name = volume["persistentVolumeClaim"]["claimName"].str();
    if (!name.empty()) { out.emplace_back(name); }
    if (volume["ephemeral"].isObject()) { out.push_back(ephemeralClaim(pod, volume)); }
  }
  return out;
}

Again syncVolumeClaim(Client& client, const json::Value& claim) {
  if (isDeleting(claim) && !isInUse(client, claim)) { return takeFinalizer(client, claim, kClaimProtection); }
  if (!annotation(claim, model::kBindCompletedKey).empty()) { return keepBound(client, claim); }
  return claim["spec"]["volumeName"].str().empty() ? chooseVolume(client, claim)
                                                   : takeNamedVolume(client, claim);
}

Again syncVolume(Client& client, const json::Value& volume) {
  const Value& of = volume["spec"]["claimRef"];
  const bool is_given = !of["uid"].str().empty();
  const ObjectPtr claim =
      is_given ? client.find(kClaims, std::string{of["namespace"].str()}, std::string{of["name"].str()})
               : nullptr;
  const bool has_claim = claim && isFor(volume, *claim);
  if (isDeleting(volume) && !has_claim) { return takeFinalizer(client, volume, kVolumeProtection); }
  if (!has_claim) { return setPhase(client, volume, is_given ? "Released" : "Available"); }
  const auto named = (*claim)["spec"]["volumeName"].str();
  if (named.empty() || named == nameOf(volume)) { return {}; }  // the claim's turn binds it
  return notNeeded(client, volume);
}

}  // namespace gs::sandbox::controllers
