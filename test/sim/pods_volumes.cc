#include "test/sim/pods_volumes.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "test/sim/cluster.h"
#include "test/world/volume_objects.h"

namespace gs::sim {
namespace {

using json::Array;
using json::Object;
using json::Value;
using test::isBoundClaim;

constexpr const char* kVolumesId = "/persistentvolumes";
constexpr const char* kVolumeClaimsId = "/persistentvolumeclaims";
// Annotations of pods.
constexpr const char* kClassOfVolume = "sim/volume";        // the class that its claim names
constexpr const char* kClaimOfVolume = "sim/volume-claim";  // its claim, which outlives it; none: its own
constexpr const char* kSecondVolume = "sim/second-volume";  // the class of another one
constexpr std::string_view kForOnePod = "only-";            // claims that are ReadWriteOncePod

std::string wordOf(const Value& v) { return std::string{v.str()}; }
std::string nsOf(const Value& object) { return wordOf(object["metadata"]["namespace"]); }
std::string nameIn(const Value& object) { return wordOf(object["metadata"]["name"]); }
bool isGoing(const Value& object) { return !object["metadata"]["deletionTimestamp"].isNull(); }
std::string selectedNode(const Value& claim) {
  return wordOf(claim["metadata"]["annotations"][test::kSelectedNode]);
}
std::string pathOfClaim(const std::string& ns, const std::string& name) {
  return fmt::format("/api/v1/namespaces/{}/persistentvolumeclaims/{}", ns, name);
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

struct WantedClaim {
  std::string name;
  std::string of;
};
/// What its annotations say.
std::vector<WantedClaim> wantedBy(const Value& pod) {
  const Value& notes = pod["metadata"]["annotations"];
  const std::string of = wordOf(notes[kClassOfVolume]);
  if (of.empty()) { return {}; }
  const std::string named = wordOf(notes[kClaimOfVolume]);
  const std::string first = named.empty() ? "of-" + nameIn(pod) : named;
  std::vector<WantedClaim> out{{first, of}};
  if (const std::string second = wordOf(notes[kSecondVolume]); !second.empty()) {
    out.push_back({"two-" + first, second});
  }
  return out;
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
  if (!is_played_) { return; }
  world_.create(test::localClass());
  world_.create(test::storageClass("made"));
  world_.create(test::storageClass("late", Object{{"late", "15s"}}));
  world_.create(test::storageClass("slow", Object{{"late", "50s"}}));
  world_.create(test::storageClass("fails", Object{{"fails", "1"}, {"late", "1s"}}));
  world_.create(test::storageClass("wrong", Object{{"zone", "wrong"}, {"late", "2s"}}));
  Value at_once = test::storageClass("now");
  at_once.set("volumeBindingMode", "Immediate");
  world_.create(at_once);
  for (const auto& node : nodes) {
    for (const char* which : {"a", "b"}) {
      if (!rng_.chance(60)) { continue; }
      world_.create(test::localVolume(fmt::format("local-{}-{}", node.name.text, which), node.name.text));
    }
  }
}

void PodVolumes::addTo(Value& pod) {
  if (!is_played_ || !rng_.chance(35)) { return; }
  static constexpr const char* kClasses[] = {"local", "local", "made",  "late",
                                             "slow",  "fails", "wrong", "now"};
  const auto draw = [this] { return std::string{kClasses[rng_.below(std::size(kClasses))]}; };
  std::string of = draw();
  Value notes = pod["metadata"]["annotations"];
  const auto whose = rng_.below(10);
  if (whose < 3) {
    notes.set(kClaimOfVolume, "of-" + wordOf(pod["metadata"]["labels"]["sim/origin"]));
  } else if (whose < 5) {
    notes.set(kClaimOfVolume, fmt::format("shared-{}", rng_.below(2)));
  } else if (whose < 6) {
    notes.set(kClaimOfVolume, fmt::format("{}{}", kForOnePod, rng_.below(2)));
    if (of == "local") { of = "made"; }  // local volumes are for one node, and so for any pods there
  }
  notes.set(kClassOfVolume, of);
  if (rng_.chance(15)) { notes.set(kSecondVolume, draw()); }
  pod.child("metadata").set("annotations", std::move(notes));
}

void PodVolumes::make(const Value& pod, const std::string& name, const std::string& of) {
  const bool is_for_one = name.starts_with(kForOnePod);
  world_.create(test::volumeClaim(name, of, nsOf(pod), is_for_one ? "ReadWriteOncePod" : "ReadWriteOnce"));
}

void PodVolumes::claimsFor(Value& pod) {
  const auto wanted = wantedBy(pod);
  if (wanted.empty()) { return; }
  const bool is_kept = !pod["metadata"]["annotations"][kClaimOfVolume].isNull();
  std::vector<std::string> names;
  for (const WantedClaim& claim : wanted) {
    names.push_back(claim.name);
    if (!is_kept) { brought_[nsOf(pod) + "/" + claim.name] = nameIn(pod); }
    const bool comes_late = rng_.chance(15);
    if (!comes_late && !find(kVolumeClaimsId, nsOf(pod), claim.name)) { make(pod, claim.name, claim.of); }
  }
  pod = test::withVolumes(std::move(pod), names);
}

/// Of pods that wait for them.
void PodVolumes::makeMissing() {
  std::vector<apiserver::ObjectPtr> waiting;
  const auto [first, last] = world_.api().store().range(kPodsId);
  for (auto it = first; it != last; ++it) {
    const Value& pod = *it->second.object;
    const bool waits = pod["spec"]["nodeName"].str().empty() && !isGoing(pod) && !slow::isFinished(pod);
    if (waits && hasAny(pod)) { waiting.push_back(it->second.object); }
  }
  for (const auto& pod : waiting) {
    for (const WantedClaim& claim : wantedBy(*pod)) {
      if (find(kVolumeClaimsId, nsOf(*pod), claim.name) || !rng_.chance(30)) { continue; }
      make(*pod, claim.name, claim.of);
    }
  }
}

void PodVolumes::freeReleased() {
  std::vector<std::string> released;
  const auto [first, last] = world_.api().store().range(kVolumesId);
  for (auto it = first; it != last; ++it) {
    const Value& volume = *it->second.object;
    const bool is_local = volume["spec"]["storageClassName"].str() == "local";
    const bool is_over = is_local && volume["status"]["phase"].str() == "Released";
    if (is_over && rng_.chance(30)) { released.push_back(nameIn(volume)); }
  }
  for (const auto& name : released) {
    (void)world_.request("PATCH", test::kVolumes + name, Object{{"spec", Object{{"claimRef", Value{}}}}},
                         "application/merge-patch+json");
  }
}

void PodVolumes::tend() {
  if (!is_played_) { return; }
  std::erase_if(brought_, [this](const auto& one) {
    const auto slash = one.first.find('/');
    const std::string ns = one.first.substr(0, slash);
    if (find(kPodsId, ns, one.second)) { return false; }
    (void)world_.request("DELETE", pathOfClaim(ns, one.first.substr(slash + 1)));
    return true;
  });
  makeMissing();
  freeReleased();
}

std::string PodVolumes::deleteOne() {
  if (!is_played_ || !rng_.chance(6)) { return {}; }
  const auto [first, last] = world_.api().store().range(kVolumeClaimsId);
  const auto all = static_cast<std::uint64_t>(std::distance(first, last));
  if (all == 0) { return {}; }
  const apiserver::StoreKey key = std::next(first, static_cast<std::ptrdiff_t>(rng_.below(all)))->first;
  (void)world_.request("DELETE", pathOfClaim(key.ns, key.name));
  return key.name;
}

// ---- what is so

void PodVolumes::watch() {
  if (!is_played_) { return; }
  const auto& store = world_.api().store();
  for (; position_ < store.historyEnd(); ++position_) {
    const auto* entry = store.entry(position_);
    if (entry == nullptr) { continue; }
    const std::string& resource = entry->key.resource;
    if (resource == kVolumeClaimsId) { claimChanged(*entry); }
    if (resource == kVolumesId) { volumeChanged(*entry); }
    if (resource == kNodesId) { nodeChanged(*entry); }
    if (resource != kPodsId || entry->after == nullptr || entry->before == nullptr) { continue; }
    const bool is_new = (*entry->before)["spec"]["nodeName"].str().empty();
    const bool is_ours = (*entry->after)["spec"]["schedulerName"].str() == "gpu-scheduler";
    if (is_new && is_ours && !(*entry->after)["spec"]["nodeName"].str().empty()) { podBound(*entry->after); }
  }
}

void PodVolumes::claimChanged(const apiserver::HistoryEntry& entry) {
  const std::string key = entry.key.ns + "/" + entry.key.name;
  claim_changed_[key] = now();
  const bool is_bound = entry.after != nullptr && isBoundClaim(*entry.after);
  if (entry.before != nullptr && isBoundClaim(*entry.before) && !is_bound) { went_[key] = now(); }
  if (entry.before != nullptr && entry.after != nullptr) {
    const std::string was = selectedNode(*entry.before);
    const std::string is = selectedNode(*entry.after);
    if (!was.empty() && !is.empty() && was != is) {
      wrong(fmt::format("claim {} is to have its volume made on {}, and is told {}", key, was, is));
    }
  }
  const std::string volume = entry.after == nullptr ? "" : wordOf((*entry.after)["spec"]["volumeName"]);
  std::erase_if(claim_of_, [&](const auto& one) { return one.second == key && one.first != volume; });
  if (volume.empty()) { return; }
  const auto [it, is_new] = claim_of_.try_emplace(volume, key);
  if (!is_new && it->second != key) {
    wrong(fmt::format("volume {} is claim {}'s and claim {}'s", volume, it->second, key));
  }
}

void PodVolumes::volumeChanged(const apiserver::HistoryEntry& entry) {
  volume_changed_ = now();
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

/// One that goes and comes back may have other labels then.
void PodVolumes::nodeChanged(const apiserver::HistoryEntry& entry) {
  if (entry.after == nullptr) { return; }
  const Value& labels = (*entry.after)["metadata"]["labels"];
  const auto [known, is_new] = labels_.try_emplace(entry.key.name, labels);
  if (is_new || known->second == labels) { return; }
  known->second = labels;
  node_changed_[entry.key.name] = now();
}

bool PodVolumes::changedSince(const Value& pod, Mono then) const {
  const auto names = claimNames(pod);
  return volume_changed_ >= then || std::any_of(names.begin(), names.end(), [&](const auto& name) {
           const auto changed = claim_changed_.find(nsOf(pod) + "/" + name);
           return changed != claim_changed_.end() && changed->second >= then;
         });
}

/// "": it is bound, and its volume says so.
std::string PodVolumes::whyUnbound(const Value& pod, const std::string& name) const {
  const auto claim = find(kVolumeClaimsId, nsOf(pod), name);
  if (claim == nullptr) { return fmt::format("there is no claim {}", name); }
  if (!isBoundClaim(*claim)) { return fmt::format("claim {} is not bound", name); }
  const std::string volume_name = wordOf((*claim)["spec"]["volumeName"]);
  const auto volume = find(kVolumesId, "", volume_name);
  if (volume == nullptr) { return fmt::format("there is no volume {}", volume_name); }
  const bool is_its = (*volume)["spec"]["claimRef"]["uid"] == (*claim)["metadata"]["uid"];
  return is_its ? "" : fmt::format("volume {} is another claim's than {}", volume_name, name);
}

/// "": the pod's node reaches its volume, or did until a moment ago.
std::string PodVolumes::whyFar(const Value& pod, const std::string& name) const {
  const std::string node_name = wordOf(pod["spec"]["nodeName"]);
  const auto changed = node_changed_.find(node_name);
  if (changed != node_changed_.end() && changed->second + known_ >= now()) { return {}; }
  const auto node = find(kNodesId, "", node_name);
  const auto claim = find(kVolumeClaimsId, nsOf(pod), name);
  if (node == nullptr || claim == nullptr) { return {}; }
  const std::string volume_name = wordOf((*claim)["spec"]["volumeName"]);
  const auto volume = find(kVolumesId, "", volume_name);
  if (volume == nullptr || takesNode(*volume, *node)) { return {}; }
  return fmt::format("volume {} cannot be reached from {}", volume_name, node_name);
}

bool PodVolumes::wentLately(const std::string& claim) const {
  const auto went = went_.find(claim);
  return went != went_.end() && went->second + known_ >= now();
}

void PodVolumes::podBound(const Value& pod) {
  for (const auto& name : claimNames(pod)) {
    auto why = whyUnbound(pod, name);
    if (!why.empty() && wentLately(nsOf(pod) + "/" + name)) {
      excused_.insert(wordOf(pod["metadata"]["uid"]));
      continue;
    }
    if (why.empty()) { why = whyFar(pod, name); }
    if (!why.empty()) {
      return wrong(fmt::format("{} is bound to {}: {}", nameIn(pod), pod["spec"]["nodeName"].str(), why));
    }
    ++bound_;
  }
}

/// Local volumes that nobody has, and that the node reaches.
std::size_t PodVolumes::freeOn(const Value& node) const {
  const auto [first, last] = world_.api().store().range(kVolumesId);
  return static_cast<std::size_t>(std::count_if(first, last, [&](const auto& stored) {
    const Value& volume = *stored.second.object;
    return volume["spec"]["storageClassName"].str() == "local" && volume["spec"]["claimRef"].isNull() &&
           volume["status"]["phase"].str() == "Available" && !isGoing(volume) && takesNode(volume, node);
  }));
}

std::string PodVolumes::refuses(const Value& pod, const std::string& node_name) const {
  const auto node = find(kNodesId, "", node_name);
  if (node == nullptr) { return "the node is not there"; }
  std::size_t wanted = 0;  // local volumes
  for (const auto& name : claimNames(pod)) {
    const auto claim = find(kVolumeClaimsId, nsOf(pod), name);
    if (claim == nullptr) { return fmt::format("there is no claim {}", name); }
    if (isGoing(*claim)) { return fmt::format("claim {} goes", name); }
    if (const std::string volume_name = wordOf((*claim)["spec"]["volumeName"]); !volume_name.empty()) {
      const auto volume = find(kVolumesId, "", volume_name);
      if (volume == nullptr) { return fmt::format("there is no volume {}", volume_name); }
      if (!takesNode(*volume, *node)) { return fmt::format("{} is elsewhere", volume_name); }
      continue;
    }
    if ((*claim)["spec"]["storageClassName"].str() == "local") { ++wanted; }
    const std::string selected = selectedNode(*claim);
    if (!selected.empty() && selected != node_name) {
      return fmt::format("the volume of {} is being made for {}", name, selected);
    }
  }
  return wanted > freeOn(*node) ? "too few local volumes are free" : "";
}

std::string PodVolumes::usesTheSame(const Value& pod, const std::vector<slow::There>& pods) {
  for (const auto& name : claimNames(pod)) {
    if (!name.starts_with(kForOnePod)) { continue; }
    for (const slow::There& other : pods) {
      const auto theirs = claimNames(*other.pod);
      const bool is_used = std::find(theirs.begin(), theirs.end(), name) != theirs.end();
      if (!is_used || nsOf(*other.pod) != nsOf(pod)) { continue; }
      return fmt::format("claim {} is for one pod, and {} uses it", name, nameIn(*other.pod));
    }
  }
  return {};
}

void PodVolumes::settled() {
  if (!is_played_) { return; }
  watch();
  const auto [first, last] = world_.api().store().range(kPodsId);
  for (auto it = first; it != last; ++it) {
    const Value& pod = *it->second.object;
    const bool is_ours = pod["spec"]["schedulerName"].str() == "gpu-scheduler";
    const bool runs = is_ours && !pod["spec"]["nodeName"].str().empty() && !slow::isFinished(pod);
    if (!runs || excused_.contains(wordOf(pod["metadata"]["uid"]))) { continue; }
    for (const auto& name : claimNames(pod)) {
      const auto why = whyUnbound(pod, name);
      if (!why.empty()) { return wrong(fmt::format("{} runs: {}", nameIn(pod), why)); }
    }
  }
}

}  // namespace gs::sim
