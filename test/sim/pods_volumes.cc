#include "test/sim/pods_volumes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "test/sim/slow_filters.h"

namespace gs::sim {
namespace {

using json::Array;
using json::Object;
using json::Value;

constexpr const char* kVolumesId = "/persistentvolumes";
constexpr const char* kVolumeClaimsId = "/persistentvolumeclaims";
constexpr const char* kClassOfVolume = "sim/volume";  // annotation: the class that the pod's claim names
constexpr const char* kKept = "sim/volume-kept";      // its claim outlives it
constexpr const char* kSimProvisioner = "sandbox.gpu.scheduling";
constexpr Duration kLabelsKnown = std::chrono::seconds{75};

std::string wordOf(const Value& v) { return std::string{v.str()}; }
std::string nsOf(const Value& object) { return wordOf(object["metadata"]["namespace"]); }
std::string nameIn(const Value& object) { return wordOf(object["metadata"]["name"]); }

Value storageClass(const char* name, const char* provisioner, bool waits, Object parameters = {}) {
  Object out{{"apiVersion", "storage.k8s.io/v1"},
             {"kind", "StorageClass"},
             {"metadata", Object{{"name", name}}},
             {"provisioner", provisioner},
             {"volumeBindingMode", waits ? "WaitForFirstConsumer" : "Immediate"}};
  if (!parameters.empty()) { out["parameters"] = std::move(parameters); }
  return out;
}

Value onlyOn(const std::string& node) {
  const Object requirement{
      {"key", "kubernetes.io/hostname"}, {"operator", "In"}, {"values", Array{Value{node}}}};
  const Object term{{"matchExpressions", Array{Value{requirement}}}};
  return Object{{"required", Object{{"nodeSelectorTerms", Array{Value{term}}}}}};
}

Value localVolume(const std::string& name, const std::string& node) {
  return Object{{"apiVersion", "v1"},
                {"kind", "PersistentVolume"},
                {"metadata", Object{{"name", name}}},
                {"spec", Object{{"capacity", Object{{"storage", "10Gi"}}},
                                {"accessModes", Array{"ReadWriteOnce"}},
                                {"persistentVolumeReclaimPolicy", "Retain"},
                                {"storageClassName", "local"},
                                {"local", Object{{"path", "/mnt/" + name}}},
                                {"nodeAffinity", onlyOn(node)}}}};
}

Value volumeClaim(const std::string& ns, const std::string& name, const std::string& of) {
  return Object{{"apiVersion", "v1"},
                {"kind", "PersistentVolumeClaim"},
                {"metadata", Object{{"name", name}, {"namespace", ns}}},
                {"spec", Object{{"accessModes", Array{"ReadWriteOnce"}},
                                {"storageClassName", of},
                                {"resources", Object{{"requests", Object{{"storage", "10Gi"}}}}}}}};
}

/// As a pod that asks for such nodes: the volume's node affinity is read as the pod's is.
bool takesNode(const Value& volume, const Value& node) {
  const Value& required = volume["spec"]["nodeAffinity"]["required"];
  if (!required.isObject()) { return true; }
  Value pod = Object{};
  pod.child("spec").child("affinity").child("nodeAffinity") =
      Object{{"requiredDuringSchedulingIgnoredDuringExecution", required}};
  Value plain = Object{{"metadata", node["metadata"]}};
  plain.child("status").set("conditions", Array{Value{Object{{"type", "Ready"}, {"status", "True"}}}});
  return slow::refusesFacts(plain, pod).empty();
}

std::vector<std::string> claimNames(const Value& pod) {
  std::vector<std::string> out;
  for (const Value& v : pod["spec"]["volumes"].items()) {
    const auto name = v["persistentVolumeClaim"]["claimName"].str();
    if (!name.empty()) { out.emplace_back(name); }
  }
  return out;
}

bool isBound(const Value& claim) {
  return !claim["spec"]["volumeName"].str().empty() &&
         claim["metadata"]["annotations"]["pv.kubernetes.io/bind-completed"].isString();
}

}  // namespace

void PodVolumes::wrong(std::string what) {
  if (problem_.empty()) { problem_ = std::move(what); }
}

bool PodVolumes::hasAny(const Value& pod) { return !claimNames(pod).empty(); }

apiserver::ObjectPtr PodVolumes::find(const char* resource, const std::string& ns,
                                      const std::string& name) const {
  const auto* stored = world_.api().store().find({resource, ns, name});
  return stored == nullptr ? nullptr : stored->object;
}

// ---- what there is

void PodVolumes::begin(const std::vector<kapi::SimNode>& nodes) {
  if (!kPlayed) { return; }
  world_.create(storageClass("local", "kubernetes.io/no-provisioner", true));
  world_.create(storageClass("made", kSimProvisioner, true));
  world_.create(storageClass("late", kSimProvisioner, true, {{"late", "15s"}}));
  world_.create(storageClass("fails", kSimProvisioner, true, {{"fails", "1"}}));
  world_.create(storageClass("wrong", kSimProvisioner, true, {{"zone", "wrong"}}));
  world_.create(storageClass("now", kSimProvisioner, false));
  for (const auto& node : nodes) {
    for (const char* which : {"a", "b"}) {
      if (!rng_.chance(60)) { continue; }
      world_.create(localVolume(fmt::format("local-{}-{}", node.name.text, which), node.name.text));
    }
  }
}

void PodVolumes::addTo(Value& pod) {
  if (!kPlayed || !rng_.chance(35)) { return; }
  const char* const kClasses[] = {"local", "local", "made", "late", "fails", "wrong", "now"};
  Value notes = pod["metadata"]["annotations"];
  notes.set(kClassOfVolume, kClasses[rng_.below(std::size(kClasses))]);
  if (rng_.chance(40)) { notes.set(kKept, "true"); }
  pod.child("metadata").set("annotations", std::move(notes));
}

void PodVolumes::claimsFor(Value& pod) {
  const std::string of{pod["metadata"]["annotations"][kClassOfVolume].str()};
  if (of.empty()) { return; }
  const bool is_kept = !pod["metadata"]["annotations"][kKept].isNull();
  const std::string ns = nsOf(pod);
  const std::string name =
      is_kept ? "of-" + wordOf(pod["metadata"]["labels"]["sim/origin"]) : "of-" + nameIn(pod);
  if (!find(kVolumeClaimsId, ns, name)) { world_.create(volumeClaim(ns, name, of)); }
  if (!is_kept) { brought_[ns + "/" + name] = nameIn(pod); }
  pod.child("spec").set(
      "volumes",
      Array{Value{Object{{"name", "data"}, {"persistentVolumeClaim", Object{{"claimName", name}}}}}});
}

void PodVolumes::step() {
  std::erase_if(brought_, [this](const auto& one) {
    const auto slash = one.first.find('/');
    const std::string ns = one.first.substr(0, slash);
    if (find("/pods", ns, one.second)) { return false; }
    (void)world_.request("DELETE", fmt::format("/api/v1/namespaces/{}/persistentvolumeclaims/{}", ns,
                                               one.first.substr(slash + 1)));
    return true;
  });
}

// ---- what is so

void PodVolumes::watch() {
  if (!kPlayed) { return; }
  const auto& store = world_.api().store();
  for (; position_ < store.historyEnd(); ++position_) {
    const auto* entry = store.entry(position_);
    if (entry == nullptr) { continue; }
    const std::string& resource = entry->key.resource;
    if (resource == kVolumeClaimsId) { claimChanged(*entry); }
    if (resource == kVolumesId) { volumeChanged(*entry); }
    if (resource == "/nodes" && entry->after != nullptr && entry->before != nullptr &&
        (*entry->after)["metadata"]["labels"] != (*entry->before)["metadata"]["labels"]) {
      node_changed_[entry->key.name] = now();
    }
    if (resource != "/pods" || entry->after == nullptr || entry->before == nullptr) { continue; }
    const bool is_new = (*entry->before)["spec"]["nodeName"].str().empty();
    const bool is_ours = (*entry->after)["spec"]["schedulerName"].str() == "gpu-scheduler";
    if (is_new && is_ours && !(*entry->after)["spec"]["nodeName"].str().empty()) { podBound(*entry->after); }
  }
}

void PodVolumes::claimChanged(const apiserver::HistoryEntry& entry) {
  const std::string key = entry.key.ns + "/" + entry.key.name;
  const std::string volume = entry.after == nullptr ? "" : wordOf((*entry.after)["spec"]["volumeName"]);
  std::erase_if(claim_of_, [&](const auto& one) { return one.second == key && one.first != volume; });
  if (volume.empty()) { return; }
  const auto [it, is_new] = claim_of_.try_emplace(volume, key);
  if (!is_new && it->second != key) {
    wrong(fmt::format("volume {} is claim {}'s and claim {}'s", volume, it->second, key));
  }
}

void PodVolumes::volumeChanged(const apiserver::HistoryEntry& entry) {
  if (entry.after == nullptr || entry.before == nullptr) { return; }
  const Value& was = (*entry.before)["spec"]["claimRef"];
  const Value& is = (*entry.after)["spec"]["claimRef"];
  const bool is_another = !was["uid"].str().empty() && !is["uid"].str().empty() && was["uid"] != is["uid"];
  if (!is_another) { return; }
  const auto claim = find(kVolumeClaimsId, wordOf(was["namespace"]), wordOf(was["name"]));
  if (claim == nullptr || (*claim)["metadata"]["uid"] != was["uid"]) { return; }  // it is gone
  wrong(fmt::format("volume {} was claim {}'s and is given to claim {}", entry.key.name, was["name"].str(),
                    is["name"].str()));
}

/// "": it is bound, and the node takes its volume.
std::string PodVolumes::whyUnbound(const Value& pod, const std::string& name) const {
  const auto claim = find(kVolumeClaimsId, nsOf(pod), name);
  if (claim == nullptr) { return fmt::format("there is no claim {}", name); }
  if (!isBound(*claim)) { return fmt::format("claim {} is not bound", name); }
  const std::string volume_name = wordOf((*claim)["spec"]["volumeName"]);
  const auto volume = find(kVolumesId, "", volume_name);
  if (volume == nullptr) { return fmt::format("there is no volume {}", volume_name); }
  if ((*volume)["spec"]["claimRef"]["uid"] != (*claim)["metadata"]["uid"]) {
    return fmt::format("volume {} is another claim's than {}", volume_name, name);
  }
  const std::string node_name = wordOf(pod["spec"]["nodeName"]);
  const auto changed = node_changed_.find(node_name);
  const bool is_known = changed == node_changed_.end() || changed->second + kLabelsKnown < now();
  const auto node = find("/nodes", "", node_name);
  const bool takes = !is_known || node == nullptr || takesNode(*volume, *node);
  return takes ? "" : fmt::format("volume {} cannot be reached from {}", volume_name, node_name);
}

void PodVolumes::podBound(const Value& pod) {
  for (const auto& name : claimNames(pod)) {
    const auto why = whyUnbound(pod, name);
    if (!why.empty()) {
      return wrong(fmt::format("{} is bound to {}: {}", nameIn(pod), pod["spec"]["nodeName"].str(), why));
    }
    ++bound_;
  }
}

/// A local volume that nobody has, and that the node reaches.
bool PodVolumes::isAnyFree(const Value& claim, const Value& node) const {
  const auto [first, last] = world_.api().store().range(kVolumesId);
  return std::any_of(first, last, [&](const auto& stored) {
    const Value& volume = *stored.second.object;
    const Value& ref = volume["spec"]["claimRef"];
    const bool is_its = ref["uid"] == claim["metadata"]["uid"];
    return volume["spec"]["storageClassName"] == claim["spec"]["storageClassName"] &&
           volume["metadata"]["deletionTimestamp"].isNull() && (ref.isNull() || is_its) &&
           takesNode(volume, node);
  });
}

std::string PodVolumes::refuses(const Value& pod, const std::string& node_name) const {
  const auto node = find("/nodes", "", node_name);
  if (node == nullptr) { return "the node is not there"; }
  for (const auto& name : claimNames(pod)) {
    const auto claim = find(kVolumeClaimsId, nsOf(pod), name);
    if (claim == nullptr) { return fmt::format("there is no claim {}", name); }
    if (!(*claim)["metadata"]["deletionTimestamp"].isNull()) { return fmt::format("claim {} goes", name); }
    const std::string volume_name = wordOf((*claim)["spec"]["volumeName"]);
    const auto volume = volume_name.empty() ? nullptr : find(kVolumesId, "", volume_name);
    if (volume != nullptr && !takesNode(*volume, *node)) {
      return fmt::format("{} is elsewhere", volume_name);
    }
    const bool is_local = (*claim)["spec"]["storageClassName"].str() == "local";
    if (volume == nullptr && is_local && !isAnyFree(*claim, *node)) { return "no local volume is free"; }
    const std::string selected =
        wordOf((*claim)["metadata"]["annotations"]["volume.kubernetes.io/selected-node"]);
    if (volume == nullptr && !selected.empty() && selected != node_name) {
      return fmt::format("the volume of {} is being made for {}", name, selected);
    }
  }
  return {};
}

void PodVolumes::settled() {
  if (!kPlayed) { return; }
  watch();
  const auto [first, last] = world_.api().store().range("/pods");
  for (auto it = first; it != last; ++it) {
    const Value& pod = *it->second.object;
    const bool is_ours = pod["spec"]["schedulerName"].str() == "gpu-scheduler";
    if (!is_ours || pod["spec"]["nodeName"].str().empty() || slow::isFinished(pod)) { continue; }
    for (const auto& name : claimNames(pod)) {
      const auto why = whyUnbound(pod, name);
      if (!why.empty()) { return wrong(fmt::format("{} runs: {}", nameIn(pod), why)); }
    }
  }
}

}  // namespace gs::sim
