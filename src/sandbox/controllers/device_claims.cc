#include "sandbox/controllers/device_claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "sandbox/controllers/objects.h"
#include "sandbox/controllers/pods.h"

namespace gs::sandbox::controllers {
namespace {

using apiserver::ObjectPtr;
using json::Value;

constexpr const char* kProtection = "resource.kubernetes.io/delete-protection";
constexpr const char* kPodClaimNote = "resource.kubernetes.io/pod-claim-name";
constexpr std::size_t kMostConsumers = 256;
constexpr std::size_t kLongestPrefix = 57;  // of a generated name

Again outcomeOf(const apiserver::Response& response) { return {.failed = !succeeded(response)}; }

std::string spaceOf(const Value& object) { return std::string{object["metadata"]["namespace"].str()}; }

/// What the status says of a claim that the spec names; null: nothing.
const Value& statusOf(const Value& pod, const Value& pod_claim) {
  static const Value kNone;
  const auto& all = pod["status"]["resourceClaimStatuses"].items();
  const auto at = std::find_if(all.begin(), all.end(),
                               [&](const Value& one) { return one["name"] == pod_claim["name"]; });
  return at == all.end() ? kNone : *at;
}

// ---- making claims

/// Both names are cut, where they are too long together.
std::string prefixOf(const std::string& pod, const std::string& claim) {
  std::string prefix = fmt::format("{}-{}-", pod, claim);
  const std::size_t size = prefix.size();
  if (size <= kLongestPrefix) { return prefix; }
  const auto cut = [size](const std::string& name) {
    return name.substr(0, name.size() * kLongestPrefix / size);
  };
  return fmt::format("{}-{}", cut(pod), cut(claim));
}

Value claimFrom(const Value& pod, const Value& pod_claim, const Value& claim_template) {
  const Value& of_template = claim_template["spec"]["metadata"];
  const std::string name{pod_claim["name"].str()};
  Value owner = json::Object{{"apiVersion", "v1"},
                             {"kind", "Pod"},
                             {"name", nameOf(pod)},
                             {"uid", uidOf(pod)},
                             {"controller", true}};
  Value meta = json::Object{{"generateName", prefixOf(nameOf(pod), name)},
                            {"ownerReferences", json::Array{std::move(owner)}}};
  if (!of_template["labels"].isNull()) { meta.set("labels", of_template["labels"]); }
  Value notes = of_template["annotations"].isNull() ? Value{json::Object{}} : of_template["annotations"];
  notes.set(kPodClaimNote, name);
  meta.set("annotations", std::move(notes));
  return json::Object{{"metadata", std::move(meta)}, {"spec", claim_template["spec"]["spec"]}};
}

/// One that was made before, and that the pod's status does not name yet; null: none.
ObjectPtr madeBefore(Client& client, const Value& pod, const Value& pod_claim) {
  for (const ObjectPtr& claim : client.all(kDeviceClaims, spaceOf(pod))) {
    if (isControlledBy(*claim, pod) && annotation(*claim, kPodClaimNote) == pod_claim["name"].str()) {
      return claim;
    }
  }
  return nullptr;
}

enum class Need : std::uint8_t { Nothing, Claim };

Need needOf(Client& client, const Value& pod, const Value& pod_claim) {
  if (pod_claim["resourceClaimTemplateName"].isNull()) { return Need::Nothing; }
  const Value& said = statusOf(pod, pod_claim);
  if (said.isNull()) { return Need::Claim; }
  if (said["resourceClaimName"].isNull()) { return Need::Nothing; }  // somebody found that it needs none
  const auto claim = client.find(kDeviceClaims, spaceOf(pod), std::string{said["resourceClaimName"].str()});
  return claim && isControlledBy(*claim, pod) ? Need::Nothing : Need::Claim;
}

/// The name of the claim; "": it could not be made, and an Event says why.
std::string giveClaim(Client& client, const Value& pod, const Value& pod_claim) {
  if (const ObjectPtr there = madeBefore(client, pod, pod_claim)) { return nameOf(*there); }
  const std::string wanted{pod_claim["resourceClaimTemplateName"].str()};
  const ObjectPtr claim_template = client.find(kDeviceTemplates, spaceOf(pod), wanted);
  std::string why = fmt::format(
      "resource claim template \"{0}\": resourceclaimtemplate.resource.k8s.io \"{0}\" not found", wanted);
  if (claim_template) {
    const auto made = client.create(kDeviceClaims, spaceOf(pod), claimFrom(pod, pod_claim, *claim_template));
    if (succeeded(made)) { return nameOf(made.body); }
    why = "create ResourceClaim : " + reasonOf(made);
  }
  client.tell(pod, "Warning", "FailedResourceClaimCreation",
              fmt::format("PodResourceClaim {}: {}", pod_claim["name"].str(), why));
  return {};
}

Again nameClaims(Client& client, const Value& pod, const std::map<std::string, std::string>& made) {
  std::map<std::string, std::string> names = made;
  for (const Value& one : pod["status"]["resourceClaimStatuses"].items()) {
    if (one["resourceClaimName"].isString()) {
      names.emplace(one["name"].str(), one["resourceClaimName"].str());
    }
  }
  json::Array statuses;
  for (const auto& [name, claim] : names) {
    statuses.push_back(json::Object{{"name", name}, {"resourceClaimName", claim}});
  }
  Value next = pod;
  next.child("status").set("resourceClaimStatuses", std::move(statuses));
  return outcomeOf(client.replaceStatus(next));
}

// ---- reserving

bool isReservedFor(const Value& claim, const Value& pod) {
  const auto& all = claim["status"]["reservedFor"].items();
  return std::any_of(all.begin(), all.end(),
                     [&](const Value& one) { return one["uid"].str() == uidOf(pod); });
}

/// Whoever bound the pod may have left that to us.
Again reserve(Client& client, const Value& pod) {
  Again again;
  for (const Value& pod_claim : pod["spec"]["resourceClaims"].items()) {
    const Value& from = pod_claim["resourceClaimName"].isNull() ? statusOf(pod, pod_claim) : pod_claim;
    const ObjectPtr claim =
        client.find(kDeviceClaims, spaceOf(pod), std::string{from["resourceClaimName"].str()});
    if (!claim || (*claim)["status"]["allocation"].isNull() || isReservedFor(*claim, pod)) { continue; }
    if ((*claim)["status"]["reservedFor"].items().size() >= kMostConsumers) { continue; }
    Value next = *claim;
    next.child("status")
        .child("reservedFor")
        .array()
        .emplace_back(json::Object{{"resource", "pods"}, {"name", nameOf(pod)}, {"uid", uidOf(pod)}});
    again.unite(outcomeOf(client.replaceStatus(next)));
  }
  return again;
}

// ---- giving back

/// Of what is no pod nothing is known, and it stays.
bool staysReserved(Client& client, const Value& claim, const Value& consumer) {
  if (!consumer["apiGroup"].str().empty() || consumer["resource"].str() != "pods") { return true; }
  const ObjectPtr pod = client.find(kPods, spaceOf(claim), std::string{consumer["name"].str()});
  return pod && uidOf(*pod) == consumer["uid"].str() && !isDone(*pod);
}

bool isProtected(const Value& claim) {
  const auto& all = claim["metadata"]["finalizers"].items();
  return std::any_of(all.begin(), all.end(), [](const Value& one) { return one.str() == kProtection; });
}

Again takeProtection(Client& client, const Value& claim) {
  Value next = claim;
  std::erase_if(next.child("metadata").child("finalizers").array(),
                [](const Value& one) { return one.str() == kProtection; });
  return outcomeOf(client.replace(next));
}

/// Writes who still reserves it. Nobody does any more: it is given back, and needs no protection then.
Again writeReserved(Client& client, const Value& claim, json::Array remaining) {
  Value next = claim;
  const bool gives_back = remaining.empty() && isProtected(claim);
  next.child("status").set("reservedFor", std::move(remaining));
  if (gives_back) { next.child("status").erase("allocation"); }
  const auto written = client.replaceStatus(next);
  if (!succeeded(written)) { return {.failed = true}; }
  return gives_back ? takeProtection(client, written.body) : Again{};
}

/// A claim that is being deleted, and that nobody reserves.
Again letGo(Client& client, const Value& claim) {
  if (claim["status"]["allocation"].isNull()) { return takeProtection(client, claim); }
  return writeReserved(client, claim, {});
}

/// The garbage collector takes that of a pod that is gone.
bool isOfDonePod(Client& client, const Value& claim) {
  const Value& owner = controllerOf(claim);
  if (owner["kind"].str() != "Pod" || owner["apiVersion"].str() != "v1") { return false; }
  const ObjectPtr pod = client.find(kPods, spaceOf(claim), std::string{owner["name"].str()});
  return pod && (uidOf(*pod) != owner["uid"].str() || isDone(*pod));
}

}  // namespace

bool isDone(const json::Value& pod) {
  return hasEnded(pod) || (isDeleting(pod) && pod["spec"]["nodeName"].str().empty());
}

bool hasDeviceClaims(const json::Value& pod) {
  return !pod["spec"]["resourceClaims"].isNull() || !pod["status"]["extendedResourceClaimStatus"].isNull();
}

std::vector<std::string> deviceClaimsOf(const json::Value& pod) {
  std::vector<std::string> out;
  const auto add = [&](const Value& named) {
    const auto name = named["resourceClaimName"].str();
    if (!name.empty()) { out.emplace_back(name); }
  };
  for (const Value& one : pod["spec"]["resourceClaims"].items()) { add(one); }
  for (const Value& one : pod["status"]["resourceClaimStatuses"].items()) { add(one); }
  add(pod["status"]["extendedResourceClaimStatus"]);
  return out;
}

Again syncPodClaims(Client& client, const json::Value& pod) {
  if (isDeleting(pod) || hasEnded(pod)) { return {}; }
  std::map<std::string, std::string> made;
  for (const Value& pod_claim : pod["spec"]["resourceClaims"].items()) {
    if (needOf(client, pod, pod_claim) == Need::Nothing) { continue; }
    std::string name = giveClaim(client, pod, pod_claim);
    if (name.empty()) { return {.failed = true}; }
    made.emplace(pod_claim["name"].str(), std::move(name));
  }
  if (!made.empty()) { return nameClaims(client, pod, made); }
  return pod["spec"]["nodeName"].str().empty() ? Again{} : reserve(client, pod);
}

Again syncDeviceClaim(Client& client, const json::Value& claim) {
  const auto& reserved = claim["status"]["reservedFor"].items();
  json::Array remaining;
  for (const Value& consumer : reserved) {
    if (staysReserved(client, claim, consumer)) { remaining.push_back(consumer); }
  }
  if (remaining.size() < reserved.size()) { return writeReserved(client, claim, std::move(remaining)); }
  if (!remaining.empty()) { return {}; }
  if (isDeleting(claim)) { return isProtected(claim) ? letGo(client, claim) : Again{}; }
  return isOfDonePod(client, claim) ? outcomeOf(client.remove(claim)) : Again{};
}

}  // namespace gs::sandbox::controllers
