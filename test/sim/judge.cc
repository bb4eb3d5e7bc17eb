#include "test/sim/judge.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/annotations.h"

namespace gs::sim {
namespace {

using json::Value;

constexpr std::string_view kPodsId = "/pods";
constexpr std::string_view kNodesId = "/nodes";
constexpr std::string_view kLeasesId = "coordination.k8s.io/leases";
constexpr std::string_view kStatusesId = "gpu.scheduling/gpunodestatuses";
constexpr std::string_view kClaimsId = "gpu.scheduling/gpuclaims";
constexpr const char* kOurs = "gpu-scheduler";

std::string str(const Value& v) { return std::string{v.str()}; }

int number(const std::string& text) { return text.empty() ? -1 : std::stoi(text); }

std::string conditionOf(const Value& object, std::string_view type) {
  for (const Value& c : object["status"]["conditions"].items()) {
    if (c["type"].str() == type) { return str(c["status"]); }
  }
  return "";
}

}  // namespace

bool Judge::Pod::has(const Device& d) const {
  return node == d.node && std::find(ids.begin(), ids.end(), d.id) != ids.end();
}

void Judge::wrong(std::string what) {
  if (problem_.empty()) { problem_ = std::move(what); }
}

const std::string& Judge::watch() {
  const sandbox::Store& store = api_.store();
  for (; position_ < store.historyEnd(); ++position_) {
    const sandbox::HistoryEntry* entry = store.entry(position_);
    if (entry == nullptr) { continue; }  // the caller watches before it compacts
    const std::string& resource = entry->key.resource;
    if (resource == kPodsId) {
      podChanged(*entry);
    } else if (resource == kLeasesId) {
      leaseChanged(*entry);
    } else if (resource == kStatusesId) {
      statusChanged(*entry);
    } else if (resource == kNodesId) {
      nodeChanged(*entry);
    }
  }
  return problem_;
}

Judge::Pod Judge::podOf(const Value& object) {
  const Value& meta = object["metadata"];
  const Value& notes = meta["annotations"];
  Pod pod;
  pod.ns = str(meta["namespace"]);
  pod.name = str(meta["name"]);
  pod.scheduler = str(object["spec"]["schedulerName"]);
  pod.node = str(object["spec"]["nodeName"]);
  pod.claim = str(notes["gpu.scheduling/claim"]);
  pod.fence = str(notes["gpu.scheduling/fence"]);
  pod.deleting = !meta["deletionTimestamp"].isNull();
  const auto phase = object["status"]["phase"].str();
  pod.finished = phase == "Succeeded" || phase == "Failed";
  for (const Value& c : object["spec"]["containers"].items()) {
    const auto limit = c["resources"]["limits"]["nvidia.com/gpu"].str();
    if (!limit.empty()) { pod.gpus += number(std::string{limit}); }
  }
  const auto allocated = notes["gpu.scheduling/allocated"].str();
  if (const auto read = model::parseAllocation(allocated); !allocated.empty() && read) { pod.ids = read->ids; }
  return pod;
}

void Judge::podChanged(const sandbox::HistoryEntry& entry) {
  if (entry.after == nullptr) {
    pods_.erase(str((*entry.before)["metadata"]["uid"]));
    return;
  }
  const Value& meta = (*entry.after)["metadata"];
  const std::string uid = str(meta["uid"]);
  Pod pod = podOf(*entry.after);
  fences_[{uid, str(meta["resourceVersion"])}] = pod.fence;
  const auto known = pods_.find(uid);
  const bool bound_now = !pod.node.empty() && (known == pods_.end() || known->second.node.empty());
  const std::string fence_before = known == pods_.end() ? "" : known->second.fence;
  pods_[uid] = pod;
  if (!bound_now || pod.scheduler != kOurs || pod.ids.empty()) { return; }
  if (!decided_[uid].contains(fence_before)) {
    wrong(fmt::format("a Binding of pod {}/{} landed after its fence", pod.ns, pod.name));
  }
  bound(uid, pod);
}

/// The moment at which a pod becomes the owner of devices.
void Judge::bound(const std::string& uid, const Pod& pod) {
  for (const int id : pod.ids) { give(uid, pod, {pod.node, id}); }
}

void Judge::give(const std::string& uid, const Pod& pod, const Device& device) {
  const std::string who = fmt::format("pod {}/{}", pod.ns, pod.name);
  const auto lease = leases_.find(device);
  if (lease == leases_.end() || !lease->second.holders.contains(uid)) {
    if (!hand_) { wrong(fmt::format("{} was bound to {} without its lease", who, device.text())); }
    return;
  }
  const bool shared = lease->second.shared;
  for (const auto& [other_uid, other] : pods_) {
    if (other_uid == uid || !other.live() || !other.has(device)) { continue; }
    if (!(shared && lease->second.holders.contains(other_uid))) {
      wrong(fmt::format("{} was given {}, which pod {}/{} has", who, device.text(), other.ns, other.name));
    }
  }
  const auto gpu = gpus_.find(device);
  if (!agents_ || gpu == gpus_.end()) { return; }
  for (const auto& user : gpu->second.in_use) {
    // Which devices a pod without an allocation got is its kubelet's choice: such pods are only counted (design 1).
    const auto other = pods_.find(user);
    if (other != pods_.end() && other->second.live() && other->second.ids.empty()) { continue; }
    if (user != uid && !(shared && lease->second.holders.contains(user))) {
      wrong(fmt::format("{} was given {}, which containers of pod {} still have", who, device.text(), user));
    }
  }
}

std::pair<Judge::Device, Judge::Lease> Judge::leaseOf(const Value& object) {
  const Value& notes = object["metadata"]["annotations"];
  std::pair<Device, Lease> out{
      {str(notes["gpu.scheduling/node"]), number(str(notes["gpu.scheduling/gpu"]))}, {}};
  const std::string holder = str(object["spec"]["holderIdentity"]);
  out.second.shared = holder == "shared";
  if (!out.second.shared) {
    out.second.holders.insert(holder);
  } else if (const auto list = json::parse(notes["gpu.scheduling/holders"].str())) {
    for (const Value& h : list->items()) { out.second.holders.insert(str(h["uid"])); }
  }
  return out;
}

bool Judge::isOfRunningPod(const Value& object) const {
  const auto [device, lease] = leaseOf(object);
  return std::all_of(lease.holders.begin(), lease.holders.end(), [&, &d = device](const auto& uid) {
    const auto pod = pods_.find(uid);
    return pod != pods_.end() && pod->second.live() && pod->second.has(d);
  });
}

void Judge::leaseChanged(const sandbox::HistoryEntry& entry) {
  const Value& object = entry.after != nullptr ? *entry.after : *entry.before;
  if (object["metadata"]["labels"]["gpu.scheduling/managed"].str() != "true") { return; }
  auto [device, now] = leaseOf(object);
  if (entry.after == nullptr) { now = {}; }
  for (const auto& uid : leases_[device].holders) {
    const auto pod = pods_.find(uid);
    if (hand_ || now.holders.contains(uid) || pod == pods_.end()) { continue; }
    if (pod->second.live() && pod->second.has(device)) {
      wrong(fmt::format("the lease of {} was taken from pod {}/{}, which runs", device.text(), pod->second.ns,
                        pod->second.name));
    }
  }
  if (now.holders.empty()) {
    leases_.erase(device);
  } else {
    leases_[device] = std::move(now);
  }
}

void Judge::statusChanged(const sandbox::HistoryEntry& entry) {
  std::erase_if(gpus_, [&](const auto& gpu) { return gpu.first.node == entry.key.name; });
  if (entry.after == nullptr) { return; }
  for (const Value& d : (*entry.after)["status"]["devices"].items()) {
    Gpu& gpu = gpus_[{entry.key.name, static_cast<int>(d["id"].intOr(-1))}];
    gpu.health = str(d["health"]);
    for (const Value& uid : d["inUseBy"].items()) { gpu.in_use.insert(str(uid)); }
  }
}

void Judge::nodeChanged(const sandbox::HistoryEntry& entry) {
  if (entry.after == nullptr) {
    nodes_.erase(entry.key.name);
    return;
  }
  Node& node = nodes_[entry.key.name];
  node.ready = conditionOf(*entry.after, "Ready") == "True";
  const auto allocatable = (*entry.after)["status"]["allocatable"]["nvidia.com/gpu"].str();
  node.allocatable = allocatable.empty() ? 0 : number(std::string{allocatable});
}

void Judge::bindingSent(const kapi::Call& call) {
  const std::string uid = str(call.body["metadata"]["uid"]);
  const auto version = fences_.find({uid, str(call.body["metadata"]["resourceVersion"])});
  // Without a version of the pod in it a Binding may land at any time, whatever it was decided on.
  decided_[uid].insert(version == fences_.end() ? "(not decided on a version)" : version->second);
}

std::int64_t Judge::freeOn(const std::string& name) const {
  std::int64_t free = 0;
  for (const auto& [device, gpu] : gpus_) {
    if (device.node != name || gpu.health == "Unhealthy" || leases_.contains(device)) { continue; }
    const bool taken = std::any_of(pods_.begin(), pods_.end(),
                                   [&d = device](const auto& p) { return p.second.live() && p.second.has(d); });
    free += taken || !gpu.in_use.empty() ? 0 : 1;
  }
  for (const auto& [uid, pod] : pods_) {
    if (pod.live() && pod.node == name && pod.ids.empty()) { free -= pod.gpus; }
  }
  return free;
}

/// By counting alone, for the requests that the plan makes.
bool Judge::shouldFit(const Pod& pod) const {
  std::int64_t count = pod.gpus;
  if (!pod.claim.empty()) {
    const auto* claim = api_.store().find({std::string{kClaimsId}, pod.ns, pod.claim});
    if (claim == nullptr) { return false; }
    const Value& devices = (*claim->object)["spec"]["devices"];
    if (devices["exclusivity"].str() == "Shared" || (*claim->object)["spec"]["topology"]["mode"].isString()) {
      return false;  // not counted here
    }
    count = devices["count"].intOr(1);
  }
  return std::any_of(nodes_.begin(), nodes_.end(), [&](const auto& entry) {
    const auto& [name, node] = entry;
    if (!node.ready) { return false; }
    if (count == 0) { return true; }
    std::int64_t counted = 0;
    for (const auto& [uid, other] : pods_) {
      counted += other.live() && other.node == name ? other.gpus : 0;
    }
    return freeOn(name) >= count && (!pod.claim.empty() || node.allocatable - counted >= count);
  });
}

std::string Judge::claimWrong() const {
  const auto [first, last] = api_.store().range(std::string{kClaimsId});
  for (auto it = first; it != last; ++it) {
    const auto& [key, stored] = *it;
    const Value& status = (*stored.object)["status"];
    std::int64_t have = 0;
    for (const auto& [uid, pod] : pods_) {
      have += pod.live() && pod.ns == key.ns && pod.claim == key.name && !pod.ids.empty() ? 1 : 0;
    }
    if (status["allocationsTotal"].intOr(0) != have) {
      return fmt::format("claim {}/{} says {} allocations, there are {}", key.ns, key.name,
                         status["allocationsTotal"].intOr(0), have);
    }
    const auto phase = status["phase"].str();
    if (!status.isNull() && (have > 0) != (phase == "Bound") && phase != "Failed") {
      return fmt::format("claim {}/{} is {} with {} allocations", key.ns, key.name, phase, have);
    }
  }
  return "";
}

std::string Judge::settled() const {
  for (const auto& [device, lease] : leases_) {
    for (const auto& uid : lease.holders) {
      const auto pod = pods_.find(uid);
      // Another scheduler bound the pod to the very node of its leases: they stand, as if its annotation had been taken away.
      const bool theirs = pod != pods_.end() && pod->second.ids.empty() && pod->second.node == device.node;
      if (pod == pods_.end() || !pod->second.live() || !(theirs || pod->second.has(device))) {
        return fmt::format("the lease of {} names pod {}, which does not have it", device.text(), uid);
      }
    }
  }
  for (const auto& [uid, pod] : pods_) {
    if (pod.scheduler != kOurs) { continue; }
    for (const int id : pod.ids) {
      const auto lease = leases_.find({pod.node, id});
      if (pod.live() && (lease == leases_.end() || !lease->second.holders.contains(uid))) {
        return fmt::format("pod {}/{} has {}:{} without a lease", pod.ns, pod.name, pod.node, id);
      }
    }
    const bool waits = pod.node.empty() && !pod.deleting && !pod.finished;
    if (waits && !never_placed_.contains(pod.name) && shouldFit(pod)) {
      return fmt::format("pod {}/{} waits, and there is room", pod.ns, pod.name);
    }
  }
  return claimWrong();
}

}  // namespace gs::sim
