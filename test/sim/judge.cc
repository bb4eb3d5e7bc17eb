#include "test/sim/judge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

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
/// What was bound so long before a Binding was decided was known to whom decided it, however late its watches are.
constexpr Duration kKnown = std::chrono::seconds{20};

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

const std::string& Judge::watch(Mono now) {
  now_ = now;
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
  pod.visible = str(notes["gpu.scheduling/visible-devices"]);
  pod.deleting = !meta["deletionTimestamp"].isNull();
  const auto phase = object["status"]["phase"].str();
  pod.finished = phase == "Succeeded" || phase == "Failed";
  for (const Value& c : object["status"]["conditions"].items()) {
    if (c["type"].str() == "PodScheduled" && c["status"].str() == "False") { pod.told = str(c["message"]); }
  }
  for (const Value& c : object["spec"]["containers"].items()) {
    const auto limit = c["resources"]["limits"]["nvidia.com/gpu"].str();
    if (!limit.empty()) { pod.gpus += number(std::string{limit}); }
  }
  pod.allocated = str(notes["gpu.scheduling/allocated"]);
  if (const auto read = model::parseAllocation(pod.allocated); !pod.allocated.empty() && read) { pod.ids = read->ids; }
  return pod;
}

void Judge::podChanged(const sandbox::HistoryEntry& entry) {
  last_change_ = now_;
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
  pod.bound_at = bound_now || known == pods_.end() ? now_ : known->second.bound_at;
  pods_[uid] = pod;
  if (pod.finished) { clean_.insert(uid); }
  if (pod.live() && pod.ids.empty()) { unnamed_.insert(uid); }
  if (!bound_now || pod.scheduler != kOurs || pod.ids.empty()) { return; }
  const auto decided = decided_[uid].find(fence_before);
  if (decided == decided_[uid].end()) {
    wrong(fmt::format("a Binding of pod {}/{} landed after its fence", pod.ns, pod.name));
  } else if (const auto sent = decided->second.find(pod.allocated); sent != decided->second.end()) {
    countOn(uid, pod, sent->second);
  } else {
    wrong(fmt::format("pod {}/{} was bound with {}, as no Binding said", pod.ns, pod.name, pod.allocated));
  }
  bound(uid, pod);
}

/// Pods without an allocation hold GPUs that nobody can name (design 1), but for those that the agent sees them use: all
/// together the node has no more than its GPUs. Who joins GPUs that others share takes none, also when they end meanwhile.
void Judge::countOn(const std::string& owner, const Pod& pod, Mono decided) {
  const bool joins = std::all_of(pod.ids.begin(), pod.ids.end(), [&](int id) {
    const auto lease = leases_.find({pod.node, id});
    return lease != leases_.end() && (lease->second.joined.contains(owner) || lease->second.holders.size() > 1);
  });
  if (joins) { return; }
  std::set<int> named;
  std::int64_t counted = 0;
  for (const auto& [uid, other] : pods_) {
    if (!other.live() || other.node != pod.node) { continue; }
    named.insert(other.ids.begin(), other.ids.end());
    if (!other.ids.empty() || other.bound_at + kKnown >= decided) { continue; }
    std::int64_t seen = 0;
    for (const auto& [device, gpu] : gpus_) {
      if (device.node != pod.node || !gpu.in_use.contains(uid)) { continue; }
      named.insert(device.id);
      ++seen;
    }
    counted += std::max<std::int64_t>(0, other.gpus - seen);
  }
  const std::int64_t most = most_allocatable_[pod.node];
  if (counted > 0 && static_cast<std::int64_t>(named.size()) + counted > most) {
    wrong(fmt::format("pod {}/{} was bound to {}, where {} GPUs are named and {} counted, of {}", pod.ns, pod.name,
                      pod.node, named.size(), counted, most));
  }
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
  for (const auto& [user, used_since] : gpu->second.in_use) {
    // Which devices a pod without an allocation got is its kubelet's choice: such pods are only counted (design 1). When one
    // comes and goes, or one has ended with all its containers, whoever decided may not have heard of the use.
    const auto other = pods_.find(user);
    if (other != pods_.end() && other->second.live() && other->second.ids.empty()) { continue; }
    const bool unheard = lease->second.since.at(uid) <= used_since + kKnown;
    if (unheard && (clean_.contains(user) || unnamed_.contains(user))) { continue; }
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
    out.second.holders[holder] = str(notes["gpu.scheduling/devices"]);
  } else if (const auto list = json::parse(notes["gpu.scheduling/holders"].str())) {
    for (const Value& h : list->items()) { out.second.holders[str(h["uid"])] = str(h["devices"]); }
  }
  return out;
}

bool Judge::isOfRunningPod(const Value& object) const {
  const auto [device, lease] = leaseOf(object);
  return std::all_of(lease.holders.begin(), lease.holders.end(), [&, &d = device](const auto& holder) {
    const auto pod = pods_.find(holder.first);
    return pod != pods_.end() && pod->second.live() && pod->second.has(d);
  });
}

void Judge::leaseChanged(const sandbox::HistoryEntry& entry) {
  const Value& object = entry.after != nullptr ? *entry.after : *entry.before;
  if (object["metadata"]["labels"]["gpu.scheduling/managed"].str() != "true") { return; }
  last_change_ = now_;
  auto [device, now] = leaseOf(object);
  if (entry.after == nullptr) { now = {}; }
  for (const auto& [uid, devices] : leases_[device].holders) {
    const auto pod = pods_.find(uid);
    if (hand_ || now.holders.contains(uid) || pod == pods_.end()) { continue; }
    if (pod->second.live() && pod->second.has(device)) {
      wrong(fmt::format("the lease of {} was taken from pod {}/{}, which runs", device.text(), pod->second.ns,
                        pod->second.name));
    }
  }
  if (now.holders.empty()) {
    leases_.erase(device);
    return;
  }
  const Lease& before = leases_[device];
  for (const auto& [uid, devices] : now.holders) {
    const auto known = before.since.find(uid);
    const bool is_new = known == before.since.end();
    now.since[uid] = is_new ? now_ : known->second;
    if (is_new ? now.shared && !before.holders.empty() : before.joined.contains(uid)) { now.joined.insert(uid); }
  }
  leases_[device] = std::move(now);
}

void Judge::statusChanged(const sandbox::HistoryEntry& entry) {
  last_change_ = now_;
  const auto before = gpus_;
  std::erase_if(gpus_, [&](const auto& gpu) { return gpu.first.node == entry.key.name; });
  if (entry.after == nullptr) { return; }
  for (const Value& d : (*entry.after)["status"]["devices"].items()) {
    const Device device{entry.key.name, static_cast<int>(d["id"].intOr(-1))};
    Gpu& gpu = gpus_[device];
    gpu.health = str(d["health"]);
    const auto was = before.find(device);
    for (const Value& uid : d["inUseBy"].items()) {
      const bool known = was != before.end() && was->second.in_use.contains(str(uid));
      gpu.in_use[str(uid)] = known ? was->second.in_use.at(str(uid)) : now_;
    }
  }
}

void Judge::nodeChanged(const sandbox::HistoryEntry& entry) {
  last_change_ = now_;
  if (entry.after == nullptr) {
    nodes_.erase(entry.key.name);
    return;
  }
  Node& node = nodes_[entry.key.name];
  node.ready = conditionOf(*entry.after, "Ready") == "True";
  const auto allocatable = (*entry.after)["status"]["allocatable"]["nvidia.com/gpu"].str();
  node.allocatable = allocatable.empty() ? 0 : number(std::string{allocatable});
  std::int64_t& most = most_allocatable_[entry.key.name];
  most = std::max(most, node.allocatable);
}

void Judge::bindingSent(const kapi::Call& call, Mono now) {
  const std::string uid = str(call.body["metadata"]["uid"]);
  const auto version = fences_.find({uid, str(call.body["metadata"]["resourceVersion"])});
  // Without a version of the pod in it a Binding may land at any time, whatever it was decided on.
  const std::string fence = version == fences_.end() ? "(not decided on a version)" : version->second;
  decided_[uid][fence].try_emplace(str(call.body["metadata"]["annotations"]["gpu.scheduling/allocated"]), now);
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

/// Devices that one more sharer may join.
std::int64_t Judge::joinableOn(const std::string& name) const {
  return std::count_if(leases_.begin(), leases_.end(), [&](const auto& entry) {
    const Device& device = entry.first;
    const Lease& lease = entry.second;
    const auto gpu = gpus_.find(device);
    if (device.node != name || !lease.shared || lease.holders.size() >= model::kMaxSharers || gpu == gpus_.end() ||
        gpu->second.health == "Unhealthy") {
      return false;
    }
    // A pod without an allocation may use it too: its kubelet chose among GPUs of which it does not know the holders.
    const auto& users = gpu->second.in_use;
    return std::all_of(users.begin(), users.end(),
                       [&holders = lease.holders](const auto& user) { return holders.contains(user.first); });
  });
}

bool Judge::hasClaim(const Pod& pod) const {
  return api_.store().find({std::string{kClaimsId}, pod.ns, pod.claim}) != nullptr;
}

/// By counting alone, for the requests that the plan makes.
bool Judge::shouldFit(const Pod& pod) const {
  std::int64_t count = pod.gpus;
  bool shared = false;
  bool near = false;
  if (!pod.claim.empty()) {
    const auto* claim = api_.store().find({std::string{kClaimsId}, pod.ns, pod.claim});
    if (claim == nullptr) { return false; }
    const Value& devices = (*claim->object)["spec"]["devices"];
    shared = devices["exclusivity"].str() == "Shared";
    near = (*claim->object)["spec"]["topology"]["mode"].isString();
    count = devices["count"].intOr(1);
  }
  return std::any_of(nodes_.begin(), nodes_.end(), [&](const auto& entry) {
    const auto& [name, node] = entry;
    if (!node.ready) { return false; }
    if (count == 0) { return true; }
    if (near && name == "n-0") { return false; }  // no links there; elsewhere all are linked to all
    if (shared && joinableOn(name) >= count) { return true; }
    std::int64_t counted = 0;
    for (const auto& [uid, other] : pods_) {
      counted += other.live() && other.node == name ? other.gpus : 0;
    }
    return freeOn(name) >= count && (!pod.claim.empty() || node.allocatable - counted >= count);
  });
}

/// What the live pods of a claim have, as its status is to say it.
std::string Judge::allocationsOf(const sandbox::StoreKey& claim) const {
  std::set<std::string> out;
  for (const auto& [uid, pod] : pods_) {
    if (!pod.live() || pod.ids.empty() || pod.ns != claim.ns || pod.claim != claim.name) { continue; }
    out.insert(fmt::format("{} {} {}", pod.name, uid, model::printAllocation(model::NodeName{pod.node}, pod.ids)));
  }
  return fmt::format("{}", fmt::join(out, "; "));
}

std::string Judge::claimsWrong() const {
  const auto [first, last] = api_.store().range(std::string{kClaimsId});
  for (auto it = first; it != last; ++it) {
    const auto& [key, stored] = *it;
    const Value& status = (*stored.object)["status"];
    std::set<std::string> says;
    for (const Value& a : status["allocations"].items()) {
      std::vector<int> ids;
      for (const Value& id : a["gpuIds"].items()) { ids.push_back(static_cast<int>(id.intOr(-1))); }
      says.insert(fmt::format("{} {} {}", a["pod"].str(), a["uid"].str(),
                              model::printAllocation(model::NodeName{a["node"].str()}, ids)));
    }
    const std::string said = fmt::format("{}", fmt::join(says, "; "));
    const std::string have = allocationsOf(key);
    if (said != have || status["allocationsTotal"].intOr(0) != static_cast<std::int64_t>(says.size())) {
      return fmt::format("claim {}/{} says '{}', there is '{}'", key.ns, key.name, said, have);
    }
    const auto phase = status["phase"].str();
    if (!status.isNull() && !have.empty() != (phase == "Bound") && phase != "Failed") {
      return fmt::format("claim {}/{} is {} with '{}'", key.ns, key.name, phase, have);
    }
  }
  return "";
}

std::string Judge::leasesWrong() const {
  for (const auto& [device, lease] : leases_) {
    for (const auto& [uid, devices] : lease.holders) {
      const auto pod = pods_.find(uid);
      // Another scheduler bound the pod to the very node of its leases: they stand, as if its annotation had been taken away.
      const bool theirs = pod != pods_.end() && pod->second.ids.empty() && pod->second.node == device.node;
      if (pod == pods_.end() || !pod->second.live() || !(theirs || pod->second.has(device))) {
        return fmt::format("the lease of {} names pod {}, which does not have it", device.text(), uid);
      }
      const auto has = model::printAllocation(model::NodeName{pod->second.node}, pod->second.ids);
      if (!theirs && devices != has) {
        return fmt::format("the lease of {} says that pod {} has {}, it has {}", device.text(), uid, devices, has);
      }
    }
  }
  return "";
}

std::string Judge::podWrong(const std::string& uid, const Pod& pod) const {
  for (const int id : pod.ids) {
    const auto lease = leases_.find({pod.node, id});
    if (pod.live() && (lease == leases_.end() || !lease->second.holders.contains(uid))) {
      return fmt::format("pod {}/{} has {}:{} without a lease", pod.ns, pod.name, pod.node, id);
    }
  }
  if (pod.live() && pod.visible != model::printIds(pod.ids)) {
    return fmt::format("pod {}/{} has GPUs {} and sees {}", pod.ns, pod.name, model::printIds(pod.ids), pod.visible);
  }
  const bool waits = pod.node.empty() && !pod.deleting && !pod.finished;
  if (waits && !never_placed_.contains(pod.name) && shouldFit(pod)) {
    return fmt::format("pod {}/{} waits, and there is room", pod.ns, pod.name);
  }
  if (waits && pod.told.empty()) { return fmt::format("pod {}/{} waits and is not told why", pod.ns, pod.name); }
  const bool missing = pod.told.find("not found in namespace") != std::string::npos;
  if (waits && !pod.claim.empty() && missing == hasClaim(pod)) {
    return fmt::format("pod {}/{} is told '{}', and its claim is {}", pod.ns, pod.name, pod.told,
                       missing ? "there" : "missing");
  }
  return "";
}

std::string Judge::settled() const {
  if (std::string wrong = leasesWrong(); !wrong.empty()) { return wrong; }
  for (const auto& [uid, pod] : pods_) {
    if (pod.scheduler != kOurs) { continue; }
    if (std::string wrong = podWrong(uid, pod); !wrong.empty()) { return wrong; }
  }
  return claimsWrong();
}

}  // namespace gs::sim
