#include "sandbox/controllers/provisioner.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "apiserver/admission/default_class.h"
#include "base/duration.h"
#include "model/volumes.h"
#include "sandbox/controllers/objects.h"
#include "sandbox/controllers/volume_parts.h"

namespace gs::sandbox::controllers {
namespace {

using apiserver::ObjectPtr;
using json::Array;
using json::Object;
using json::Value;

constexpr const char* kZone = "topology.kubernetes.io/zone";
constexpr const char* kHostname = "kubernetes.io/hostname";

Value termOf(const std::string& key, Array values) {
  return Object{{"matchExpressions",
                 Array{Value{Object{{"key", key}, {"operator", "In"}, {"values", std::move(values)}}}}}};
}

Value affinityOf(Array terms) {
  return Object{{"required", Object{{"nodeSelectorTerms", std::move(terms)}}}};
}

/// What some other node has there; where none has anything else, what no node has.
std::string otherThan(Client& client, const char* key, std::string_view value) {
  for (const ObjectPtr& node : client.all(kNodes, "")) {
    const auto other = (*node)["metadata"]["labels"][key].str();
    if (!other.empty() && other != value) { return std::string{other}; }
  }
  return std::string{value} + "-elsewhere";
}

/// Null: it can be reached from everywhere.
Value nodesAround(Client& client, const Value& node, bool in_wrong_zone) {
  const Value& labels = node["metadata"]["labels"];
  const char* key = labels[kZone].str().empty() ? kHostname : kZone;
  std::string value{labels[key].str()};
  if (value.empty()) { return {}; }
  if (in_wrong_zone) { value = otherThan(client, key, value); }
  return affinityOf(Array{termOf(key, Array{Value{value}})});
}

Value nodesOf(const Value& of) {
  Array terms;
  for (const Value& term : of["allowedTopologies"].items()) {
    Array expressions;
    for (const Value& one : term["matchLabelExpressions"].items()) {
      expressions.emplace_back(Object{{"key", one["key"]}, {"operator", "In"}, {"values", one["values"]}});
    }
    terms.emplace_back(Object{{"matchExpressions", std::move(expressions)}});
  }
  return terms.empty() ? Value{} : affinityOf(std::move(terms));
}

/// By its claim, so that it is made once.
std::string volumeNameFor(const Value& claim) { return "pvc-" + uidOf(claim); }

Value volumeFor(const Value& claim, const Value& of, Value nodes) {
  const std::string name = volumeNameFor(claim);
  Value spec = Object{{"capacity", Object{{"storage", claim["spec"]["resources"]["requests"]["storage"]}}},
                      {"accessModes", claim["spec"]["accessModes"]},
                      {"volumeMode", claim["spec"]["volumeMode"]},
                      {"persistentVolumeReclaimPolicy", of["reclaimPolicy"]},
                      {"storageClassName", nameOf(of)},
                      {"csi", Object{{"driver", kProvisioner}, {"volumeHandle", name}}},
                      {"claimRef", Object{{"apiVersion", "v1"},
                                          {"kind", "PersistentVolumeClaim"},
                                          {"namespace", claim["metadata"]["namespace"]},
                                          {"name", nameOf(claim)},
                                          {"uid", uidOf(claim)}}}};
  if (!nodes.isNull()) { spec.set("nodeAffinity", std::move(nodes)); }
  if (of["mountOptions"].isArray()) { spec.set("mountOptions", of["mountOptions"]); }
  return Object{{"metadata", Object{{"name", name}, {"annotations", Object{{kProvisionedBy, kProvisioner}}}}},
                {"spec", std::move(spec)}};
}

/// How often it is to fail; what cannot be read is 0.
int failuresOf(const Value& of) {
  constexpr int kAlways = 1'000'000'000;
  const auto text = of["parameters"]["fails"].str();
  if (text == "always") { return kAlways; }
  int out = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

Duration latenessOf(const Value& of) {
  return parseDuration(of["parameters"]["late"].str()).value_or(Duration{});
}

/// The scheduler is to look for another node.
Again takeNode(Client& client, const Value& claim) {
  if (annotation(claim, model::kSelectedNodeKey).empty()) { return {.failed = true}; }
  Value next = claim;
  next.child("metadata").child("annotations").erase(model::kSelectedNodeKey);
  return afterWrite(client.replace(next));
}

}  // namespace

Again Provisioner::failed(Client& client, const json::Value& claim, Work& work) {
  ++work.failures;
  work.begun = client.now().mono;
  client.tell(
      claim, "Warning", "ProvisioningFailed",
      fmt::format("failed to provision volume with StorageClass \"{}\": the class's parameters say so",
                  apiserver::classOfClaim(claim)));
  return takeNode(client, claim);
}

Again Provisioner::syncClaim(Client& client, const json::Value& claim) {
  const std::string uid = uidOf(claim);
  const bool asks = annotation(claim, model::kStorageProvisionerKey) == kProvisioner && !isDeleting(claim) &&
                    claim["spec"]["volumeName"].str().empty();
  const ObjectPtr of = asks ? client.find(kStorageClasses, "", apiserver::classOfClaim(claim)) : nullptr;
  if (!of || client.find(kVolumes, "", volumeNameFor(claim))) {
    works_.erase(uid);
    return {};
  }
  const std::string name{annotation(claim, model::kSelectedNodeKey)};
  const bool waits = (*of)["volumeBindingMode"].str() == "WaitForFirstConsumer";
  if (waits && name.empty()) { return {}; }  // how often it failed still counts
  const ObjectPtr node = waits ? client.find(kNodes, "", name) : nullptr;
  if (waits && !node) {
    client.tell(claim, "Warning", "ProvisioningFailed",
                fmt::format("failed to get target node: node \"{}\" not found", name));
    return takeNode(client, claim);
  }
  const auto [at, is_new] = works_.try_emplace(uid, Work{name, client.now().mono, 0});
  Work& work = at->second;
  if (is_new) {
    client.tell(claim, "Normal", "Provisioning",
                fmt::format("External provisioner is provisioning volume for claim \"{}/{}\"",
                            claim["metadata"]["namespace"].str(), nameOf(claim)));
  } else if (work.node != name) {
    work.node = name;
    work.begun = client.now().mono;
  }
  const Mono done = work.begun + latenessOf(*of);
  if (client.now().mono < done) { return {.after = done - client.now().mono}; }
  if (work.failures < failuresOf(*of)) { return failed(client, claim, work); }
  Value nodes =
      node ? nodesAround(client, *node, (*of)["parameters"]["zone"].str() == "wrong") : nodesOf(*of);
  const auto made = client.create(kVolumes, "", volumeFor(claim, *of, std::move(nodes)));
  if (!succeeded(made)) {
    client.tell(claim, "Warning", "ProvisioningFailed", reasonOf(made));
    return {.failed = true};
  }
  client.tell(claim, "Normal", "ProvisioningSucceeded",
              "Successfully provisioned volume " + volumeNameFor(claim));
  works_.erase(uid);
  return {};
}

Again Provisioner::syncVolume(Client& client, const json::Value& volume) {
  const bool goes = annotation(volume, kProvisionedBy) == kProvisioner && phaseOf(volume) == "Released" &&
                    volume["spec"]["persistentVolumeReclaimPolicy"].str() == "Delete" && !isDeleting(volume);
  return goes ? afterWrite(client.remove(volume)) : Again{};
}

}  // namespace gs::sandbox::controllers
