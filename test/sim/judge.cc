#include "test/sim/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "model/annotations.h"
#include "test/sim/cluster.h"

namespace gs::sim {
namespace {

using json::Value;

std::string str(const Value& v) { return std::string{v.str()}; }

int number(const std::string& text) { return text.empty() ? -1 : std::stoi(text); }

std::string conditionOf(const Value& object, std::string_view type) {
  for (const Value& c : object["status"]["conditions"].items()) {
    if (c["type"].str() == type) { return str(c["status"]); }
  }
  return "";
}

/// A container of it may have been started since that was said.
bool isSaidToWait(const Value& pod) {
  const auto& said = pod["status"]["containerStatuses"].items();
  return std::any_of(said.begin(), said.end(),
                     [](const Value& c) { return c["state"]["waiting"].isObject(); });
}

/// None when one of them is an id.
std::vector<std::string> uuidsOf(const std::string& visible) {
  if (!visible.starts_with("GPU-")) { return {}; }
  std::vector<std::string> out;
  std::istringstream list{visible};
  for (std::string word; std::getline(list, word, ',');) {
    if (!word.starts_with("GPU-")) { return {}; }
    out.push_back(word);
  }
  return out;
}

}  // namespace

bool Judge::Pod::has(const Device& d) const {
  return node == d.node && std::find(ids.begin(), ids.end(), d.id) != ids.end();
}

const std::vector<std::string>& Judge::Pod::toldUuids() const {
  static const std::vector<std::string> kNone;
  if (retold && forgotten) { return kNone; }  // nothing says any more what they were
  return told_uuids.size() == ids.size() ? told_uuids : kNone;
}

void Judge::wrong(std::string what) {
  if (problem_.empty()) { problem_ = std::move(what); }
}

const std::string& Judge::watch(Mono now) {
  now_ = now;
  const apiserver::Store& store = api_.store();
  for (; position_ < store.historyEnd(); ++position_) {
    const apiserver::HistoryEntry* entry = store.entry(position_);
    if (entry == nullptr) { continue; }  // the caller watches before it compacts
    read(*entry);
  }
  for (const auto& [name, node] : nodes_) {
    if (agents_ && machines_.isAgentDown(name)) { agent_down_[name] = now_; }
  }
  const bool anything_fails = stuck_until_ > now_ || hangs_until_ > now_;
  if (anything_fails && now_ >= looked_ + std::chrono::seconds{1}) { lookAtWaiting(); }
  return problem_;
}

void Judge::read(const apiserver::HistoryEntry& entry) {
  const std::string& resource = entry.key.resource;
  if (resource == kPodsId) {
    podChanged(entry);
  } else if (resource == kLeasesId) {
    leaseChanged(entry);
  } else if (resource == kStatusesId) {
    statusChanged(entry);
  } else if (resource == kNodesId) {
    nodeChanged(entry);
  } else {
    if (resource == kClaimsId) { claimChanged(entry); }
    if (resource == "/configmaps") { quotasChanged(entry); }
    return;  // nobody has or loses a GPU by it
  }
  if (unknown_seen_) {
    noteOpen(std::exchange(notes_open_, true) ? nodesIn(entry) : std::set<std::string>{""});
  }
}

/// What went since it was saved was never there, and nobody is to blame.
void Judge::wentBack() {
  const apiserver::Store& store = api_.store();
  position_ = store.historyEnd();
  went_back_ = last_change_ = now_;
  hand_ = true;
  std::set<std::string> there;
  for (const auto& [key, stored] : store.objects()) {
    if (key.resource == kPodsId) { there.emplace((*stored.object)["metadata"]["uid"].str()); }
  }
  for (const auto& [uid, pod] : deleted_) { pods_.try_emplace(uid, pod); }
  for (const auto& [uid, pod] : pods_) {
    if (pod.live() && !pod.node.empty() && !there.contains(uid)) { lost_pods_on_.insert(pod.node); }
  }
  std::erase_if(pods_, [&](const auto& pod) { return !there.contains(pod.first); });
  leases_.clear();
  gpus_.clear();
  nodes_.clear();
  for (auto& [key, ask] : claims_) { (void)ask.set({}, now_); }
  noQuotas();
  for (const auto& [key, stored] : store.objects()) {
    read({store.revision(), key, nullptr, stored.object, nullptr});
  }
  hand_ = false;
  for (const auto& [name, node] : nodes_) {
    for (const auto& running : kubelet_.running(name)) {
      const auto pod = pods_.find(running.uid);
      if (pod == pods_.end() || pod->second.node != name) { lost_.insert(running.uid); }
    }
  }
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
  pod.map = str(notes["gpu-scheduling-map"]);
  pod.fence = str(notes["gpu.scheduling/fence"]);
  pod.reservation = str(notes["gpu.scheduling/reservation"]);
  pod.visible = str(notes["gpu.scheduling/visible-devices"]);
  pod.told_uuids = uuidsOf(pod.visible);
  pod.deleting = !meta["deletionTimestamp"].isNull();
  const auto phase = object["status"]["phase"].str();
  pod.finished = phase == "Succeeded" || phase == "Failed";
  for (const Value& c : object["status"]["conditions"].items()) {
    if (c["type"].str() == "PodScheduled" && c["status"].str() == "False") { pod.told = str(c["message"]); }
  }
  for (const Value& c : object["spec"]["containers"].items()) {
    for (const Value& e : c["env"].items()) {
      if (e["name"].str() == "CUDA_VISIBLE_DEVICES" && e.find("value")) { pod.literal = str(e["value"]); }
    }
    const auto limit = c["resources"]["limits"]["nvidia.com/gpu"].str();
    if (!limit.empty()) { pod.gpus += number(std::string{limit}); }
    const auto cpu = c["resources"]["requests"]["cpu"].str();
    if (!cpu.empty()) { pod.cpu += number(std::string{cpu}); }
    const auto memory = c["resources"]["requests"]["memory"].str();  // always in Gi
    if (!memory.empty()) { pod.memory += number(std::string{memory.substr(0, memory.size() - 2)}); }
  }
  if (!pod.map.empty()) { readMap(pod); }
  const auto& tolerations = object["spec"]["tolerations"].items();
  pod.tolerates = std::any_of(tolerations.begin(), tolerations.end(),
                              [](const Value& t) { return t["key"].str() == "sim"; });
  pod.allocated = str(notes["gpu.scheduling/allocated"]);
  const auto read = model::parseAllocation(pod.allocated);
  const bool is_here = read && (read->node.empty() || read->node.text == pod.node);
  if (!pod.allocated.empty() && is_here) { pod.ids = read->ids; }
  return pod;
}

namespace {

std::string_view stripped(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) {
    text.remove_prefix(1);
  }
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) {
    text.remove_suffix(1);
  }
  return text;
}

/// As Python's int() reads it, without leading zeros and signs: "" when it doesn't.
std::string wholeNumber(std::string_view text) {
  text = stripped(text);
  if (text.starts_with('+') || text.starts_with('-')) { text.remove_prefix(1); }
  std::string digits{text};
  std::erase(digits, '_');
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string::npos) { return {}; }
  return digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));
}

}  // namespace

/// The last line of the pod's number that has a colon; reading ends where a number is none.
void Judge::readMap(Pod& pod) {
  const std::string own = pod.name.substr(pod.name.rfind('-') + 1);
  std::optional<std::string> found;
  std::istringstream lines{pod.map};
  for (std::string line; std::getline(lines, line);) {
    const auto mark = line.find('=');
    if (mark == std::string::npos) { continue; }
    const std::string number = wholeNumber(line.substr(0, mark));
    if (number.empty()) { break; }
    if (number == own && line.find(':', mark) != std::string::npos) { found = line.substr(mark + 1); }
  }
  if (!found) { return; }
  const auto colon = found->find(':');
  std::set<int> ids;
  std::istringstream words{found->substr(colon + 1)};
  for (std::string each; std::getline(words, each, ',');) {
    const std::string word{stripped(each)};
    if (word.empty() && stripped(found->substr(colon + 1)).empty()) { break; }
    const bool is_id = !word.empty() && word.find_first_not_of("0123456789") == std::string::npos;
    if (!is_id || !ids.insert(number(word)).second) { return; }
  }
  pod.mapped = {std::string{stripped(found->substr(0, colon))}, std::vector<int>{ids.begin(), ids.end()}};
}

void Judge::podChanged(const apiserver::HistoryEntry& entry) {
  last_change_ = now_;
  if (entry.after == nullptr) {
    podWent(str((*entry.before)["metadata"]["uid"]));
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
  const bool is_bound = !bound_now && !pod.node.empty();
  if (is_bound && known != pods_.end()) {
    pod.by_hand = known->second.by_hand;
    pod.comes_by_hand = known->second.comes_by_hand;
    pod.foreign = known->second.foreign;
    pod.renamed = known->second.renamed;
    pod.retold = known->second.retold;
    pod.misled = known->second.misled;
  }
  if (known != pods_.end()) { pod.forgotten = known->second.forgotten; }
  if (is_bound && known != pods_.end()) { pod.uuids = known->second.uuids; }
  const bool by_user = hand_ && (went_back_ == Mono{} || went_back_ != now_);
  if (by_user && bound_now) { pod.foreign = true; }
  // Who asks for no GPUs is bound as it is, by its kube-scheduler through us: what it says its author wrote.
  const bool says_own = by_user || (pod.isKubes() && !pod.isGivenByUs());
  if (says_own && bound_now && (!pod.allocated.empty() || !pod.visible.empty())) {
    pod.by_hand = pod.comes_by_hand = pod.misled = true;
  }
  if (by_user && is_bound && known != pods_.end()) { editedByHand(uid, pod, known->second); }
  // Its containers were started anew since, on a node that came back.
  if (pod.retold && !pod.visible.empty() && kubelet_.devicesAtStart(uid) == pod.visible) {
    pod.misled = true;
  }
  for (const int id : pod.ids) {
    const auto lease = leases_.find({pod.node, id});
    if (bound_now && lease != leases_.end() && lease->second.holders.contains(uid)) {
      pod.uuids.insert(lease->second.uuid);
    }
  }
  if (pod.by_hand && is_bound &&
      known != pods_.end()) {  // it has what it was bound with, whatever is written there now
    pod.named = std::exchange(pod.ids, known->second.ids);
    pod.allocated = known->second.allocated;
    pod.reservation = known->second.reservation;
    pod.told_uuids = known->second.told_uuids;
  }
  if (bound_now) { leased_uuids_[uid] = pod.uuids; }
  pods_[uid] = pod;
  if (pod.finished && !isSaidToWait(*entry.after)) { clean_.insert(uid); }
  if (pod.live() && pod.ids.empty()) { unnamed_.insert(uid); }
  if (bound_now && isUnnamed(pod)) { unnamed_since_.try_emplace(pod.node, now_); }
  const bool by_others = hand_;
  if (bound_now && pod.isGivenByUs() && !by_others) { bound(uid, pod, fence_before); }
}

void Judge::editedByHand(const std::string& uid, Pod& pod, const Pod& known) const {
  pod.by_hand = true;
  pod.renamed = known.renamed || pod.allocated != known.allocated;
  const bool leased = std::any_of(leases_.begin(), leases_.end(),
                                  [&](const auto& lease) { return lease.second.holders.contains(uid); });
  pod.forgotten = pod.forgotten || (pod.renamed && pod.live() && !leased);  // nobody led who had written one
  // What its kubelet reads when it starts them is `visible`, else `allocated`.
  const bool sees_others = pod.visible != known.visible || pod.visible.empty();
  pod.retold = known.retold || sees_others;
  pod.misled = known.misled || (sees_others && !kubelet_.devicesAtStart(uid));
}

void Judge::podWent(const std::string& uid) {
  const auto it = pods_.find(uid);
  if (it == pods_.end()) { return; }
  const Pod& pod = it->second;
  std::set<std::string> nodes{pod.node};
  for (const auto& [device, lease] : leases_) {  // for all that a later leader knows it was bound there
    if (lease.holders.contains(uid)) { nodes.insert(device.node); }
  }
  for (const auto& node : nodes) { went_[node].push_back(now_); }
  if (pod.live()) {
    Gone gone{pod.bound_at,     now_,       {}, pod.node, pod.ids.empty() ? pod.gpus : 0, pod.misled,
              pod.isUnspoken(), pod.renamed};
    for (const int id : pod.ids) {
      const auto lease = leases_.find({pod.node, id});
      if (lease == leases_.end() || !lease->second.holders.contains(uid)) { gone.unleased.insert(id); }
    }
    gone_[uid] = std::move(gone);
  }
  if (plan_.has(Feature::Restore)) { deleted_[uid] = pod; }
  pods_.erase(it);
}

std::pair<Judge::Device, Judge::Lease> Judge::leaseOf(const Value& object) {
  const Value& notes = object["metadata"]["annotations"];
  std::pair<Device, Lease> out{{str(notes["gpu.scheduling/node"]), number(str(notes["gpu.scheduling/gpu"]))},
                               {}};
  const std::string holder = str(object["spec"]["holderIdentity"]);
  out.second.shared = holder == "shared";
  out.second.uuid = str(notes["gpu.scheduling/uuid"]);
  if (!out.second.shared) {
    out.second.holders[holder] = {str(notes["gpu.scheduling/devices"]),
                                  str(notes["gpu.scheduling/reservation"])};
  } else if (const auto list = json::parse(notes["gpu.scheduling/holders"].str())) {
    for (const Value& h : list->items()) {
      out.second.holders[str(h["uid"])] = {str(h["devices"]), str(h["reservation"])};
    }
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

void Judge::leaseChanged(const apiserver::HistoryEntry& entry) {
  const Value& object = entry.after != nullptr ? *entry.after : *entry.before;
  const auto is_managed = [](const apiserver::ObjectPtr& o) {
    return o != nullptr && (*o)["metadata"]["labels"]["gpu.scheduling/managed"].str() == "true";
  };
  if (entry.key.name.starts_with("gpu-n-")) {
    noteOthers(entry.key.name, entry.after != nullptr && !is_managed(entry.after));
  }
  if (!is_managed(entry.after) && !is_managed(entry.before)) { return; }
  last_change_ = now_;
  mustBeReadable(entry);
  auto [device, now] = leaseOf(is_managed(entry.after) ? object : *entry.before);
  if (!is_managed(entry.after)) { now = {}; }
  if (hand_ && !now.uuid.empty() && now.uuid != leases_[device].uuid) {
    invented_.insert(now.uuid);
    for (const auto& [uid, part] : now.holders) { misnamed_.insert(uid); }
  }
  const Mono left = std::min(now_ - kKnown, leftAt(entry.key.name));
  const bool of_lost_history = went_back_ != Mono{} && left < went_back_;
  for (const auto& [uid, part] : leases_[device].holders) {
    const auto pod = pods_.find(uid);
    if ((hand_ || of_lost_history) && pod != pods_.end()) { pod->second.forgotten = true; }
    if (!hand_ && !now.holders.contains(uid)) { sharers_[device].erase(uid); }
    if (hand_ || now.holders.contains(uid) || pod == pods_.end()) { continue; }
    // The write may have left before the API server went back, or before anybody heard of the new numbers.
    const bool late = of_lost_history || (renumbers() && changedLately(device, leftAt(entry.key.name)));
    if (!late && pod->second.live() && holdsByName(pod->second, device)) {
      wrong(fmt::format("the lease of {} was taken from {}, which runs and {}", device.text(),
                        pod->second.text(), whatItHas(uid, pod->second)));
    }
  }
  if (now.holders.empty()) {
    leases_.erase(device);
  } else {
    holdersChanged(device, std::move(now));
  }
}

/// "gpu-n-1-2" is what a lease of n-1:2 is called.
void Judge::noteOthers(const std::string& name, bool is) {
  const auto dash = name.rfind('-');
  const Device device{name.substr(4, dash - 4), number(name.substr(dash + 1))};
  if (is) {
    others_.insert(device);
  } else {
    if (others_.erase(device) > 0) { name_free_[device.node] = now_; }
  }
}

/// Others share that GPU by a lease that has the number which it had.
bool Judge::isSharedUnderAnother(const Device& device, const std::string& uuid) const {
  return std::any_of(leases_.begin(), leases_.end(), [&](const auto& other) {
    const auto& [its, lease] = other;
    return its.node == device.node && its.id != device.id && lease.shared && !uuid.empty() &&
           lease.uuid == uuid && !lease.holders.empty();
  });
}

void Judge::holdersChanged(const Device& device, Lease now) {
  const Lease& before = leases_[device];
  for (const auto& [uid, part] : now.holders) {
    reserved_.try_emplace(part.reservation, now_);
    if (now.shared) {
      sharers_[device].insert(uid);
    } else {
      sharers_[device].erase(uid);
    }
    const auto known = before.since.find(uid);
    const bool is_new = known == before.since.end();
    now.since[uid] = is_new ? now_ : known->second;
    const bool joins = now.shared && (!before.holders.empty() || isSharedUnderAnother(device, now.uuid));
    if (is_new ? joins : before.joined.contains(uid)) { now.joined.insert(uid); }
    const auto had = before.company.find(uid);
    if (had != before.company.end()) { now.company[uid] = had->second; }
    for (const auto& [other, its] : now.holders) { now.company[uid].insert(other); }
    if (!is_new || !before.shared) { continue; }
    for (const auto& [other, its] : before.holders) { now.company[uid].insert(other); }
  }
  leases_[device] = std::move(now);
}

void Judge::statusChanged(const apiserver::HistoryEntry& entry) {
  last_change_ = now_;
  const std::string& node = entry.key.name;
  const auto before = gpus_;
  std::map<int, Link> links;
  has_status_[node].set(entry.after != nullptr, now_);
  std::erase_if(gpus_, [&](const auto& gpu) { return gpu.first.node == node; });
  const Value& after = entry.after == nullptr ? Value{} : *entry.after;
  if (after["status"]["enforcement"].str() == "devices") { enforced_.insert(node); }  // none changes
  for (const Value& d : after["status"]["devices"].items()) {
    const Device device{node, static_cast<int>(d["id"].intOr(-1))};
    Gpu& gpu = gpus_[device];
    gpu.health = str(d["health"]);
    gpu.uuid = str(d["uuid"]);
    gpu.moved = d["idMoved"].boolOr(false);
    uuids_[device].set(gpu.uuid, now_);
    healths_[device].set(gpu.health, now_);
    unknown_seen_ = unknown_seen_ || (gpu.health == "Unknown" && plan_.has(Feature::Unknown));
    links[device.id] = {str(d["island"]), d["bandwidthGBps"].intOr(0)};
    givable_[device].set(gpu.health != "Unhealthy", now_);
    const auto was = before.find(device);
    for (const Value& uid : d["inUseBy"].items()) {
      const bool known = was != before.end() && was->second.in_use.contains(str(uid));
      gpu.in_use[str(uid)] = known ? was->second.in_use.at(str(uid)) : now_;
      seen_using_.insert(str(uid));
    }
  }
  if (entry.after != nullptr) { links_[node].set(std::move(links), now_); }
  noteTakenOut(before);
  for (const auto& [device, gpu] : before) {
    if (device.node != node || gpus_.contains(device)) { continue; }
    givable_[device].set(false, now_);
    uuids_[device].set("", now_);
    healths_[device].set("", now_);
  }
}

/// GPUs in whose place another one is now, or that its machine does not have now. Should one come back, the
/// containers that had it do not have it again.
void Judge::noteTakenOut(const std::map<Device, Gpu>& before) {
  for (const auto& [device, gpu] : before) {
    const auto is_it = [&was = gpu](const auto& other) { return other.uuid == was.uuid; };
    const bool is_listed = std::any_of(gpus_.begin(), gpus_.end(), [&, &at = device](const auto& entry) {
      return entry.first.node == at.node && is_it(entry.second);
    });
    if (is_listed) { continue; }
    const auto there = machines_.devicesOf(device.node);
    const bool is_out = gpus_.contains(device) || std::none_of(there.begin(), there.end(), is_it);
    if (is_out) { taken_out_[gpu.uuid] = now_; }
  }
}

void Judge::nodeChanged(const apiserver::HistoryEntry& entry) {
  last_change_ = now_;
  const std::string& name = entry.key.name;
  if (entry.before == nullptr) { has_status_[name].set(false, now_); }  // it comes after its Node
  if (entry.after == nullptr) {
    nodes_.erase(name);
    past_nodes_[name].set({}, now_);
    nameNodes();
    return;
  }
  const auto allocatable = (*entry.after)["status"]["allocatable"]["nvidia.com/gpu"].str();
  const auto enforcer = (*entry.after)["metadata"]["labels"]["gpu.scheduling/enforcer"].str();
  const bool is_other = !enforcer.empty() && enforcer != "agent" && enforcer != "kubelet";
  nodes_[name] = {true,
                  conditionOf(*entry.after, "Ready") == "True",
                  allocatable.empty() ? 0 : number(std::string{allocatable}),
                  !(*entry.after)["spec"]["taints"].items().empty(),
                  is_other,
                  str((*entry.after)["metadata"]["labels"]["gpu-node-name"])};
  past_nodes_[name].set(nodes_[name], now_);
  nameNodes();
}

/// The first by name that has the label; where none has, the one of that name.
std::string Judge::nodeNamed(const std::string& name) const {
  for (const auto& [node, facts] : nodes_) {
    if (facts.label == name) { return node; }
  }
  return nodes_.contains(name) ? name : "";
}

void Judge::nameNodes() {
  if (!plan_.has(Feature::Maps)) { return; }
  for (int which = 0; which <= 5; ++which) {
    (void)named_[logicalName(which)].set(nodeNamed(logicalName(which)), now_);
  }
}

void Judge::claimChanged(const apiserver::HistoryEntry& entry) {
  Ask ask;
  if (entry.after != nullptr) {
    const Value& spec = (*entry.after)["spec"];
    const Value& topology = spec["topology"];
    ask = {true, spec["devices"]["count"].intOr(1), spec["devices"]["exclusivity"].str() == "Shared",
           topology["mode"].str() == "Required", topology["minBandwidthGBps"].intOr(0)};
  }
  if (claims_[{entry.key.ns, entry.key.name}].set(ask, now_)) { last_change_ = now_; }
}

/// The last write over that lease, or its deletion.
Mono Judge::leftAt(const std::string& lease) const {
  const auto at = lease_writes_.find(lease);
  return at == lease_writes_.end() ? now_ : at->second;
}

void Judge::leaseSent(const kapi::Call& call, Mono now) {
  if (!call.key.name.empty()) { lease_writes_[call.key.name] = now; }
  if (call.body["spec"].isNull()) { return; }  // a Delete
  const auto [device, lease] = leaseOf(call.body);
  for (const auto& [uid, part] : lease.holders) {
    tried_[uid][device.node] = now;
    wished_[uid].try_emplace(device, now);
  }
}

void Judge::bindingSent(const kapi::Call& call, Mono now, Process by) {
  const Value& meta = call.body["metadata"];
  const std::string uid = str(meta["uid"]);
  const auto version = fences_.find({uid, str(meta["resourceVersion"])});
  // Without a version of the pod in it a Binding may land at any time, whatever it was decided on.
  const std::string fence = version == fences_.end() ? "(not decided on a version)" : version->second;
  const Value& notes = meta["annotations"];
  const Sent sent{str(notes["gpu.scheduling/allocated"]), now, by};
  const std::string node = str(call.body["target"]["name"]);
  tried_[uid][node] = now;
  const std::string what = sent.allocated.empty() ? toNode(node) : str(notes["gpu.scheduling/reservation"]);
  auto& of_fence = decided_[uid][fence];
  const auto before = of_fence.find(what);
  if (before != of_fence.end() && sent.allocated.empty() && before->second.at <= led_since_) {
    before->second = sent;  // decided anew
  }
  const bool is_new = of_fence.try_emplace(what, sent).second;
  const auto pod = pods_.find(uid);
  if (is_new && sent.allocated.empty() && pod != pods_.end()) { namesNone(pod->second, node, now); }
}

}  // namespace gs::sim
