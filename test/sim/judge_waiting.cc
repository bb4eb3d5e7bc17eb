// Who waits though nothing is in the way, while other writes fail all the time;
// and which GPUs were free all the time.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "test/sim/cluster.h"
#include "test/sim/judge.h"

namespace gs::sim {
namespace {

/// Long enough for a few decisions that are dropped and made anew.
constexpr Duration kFair = std::chrono::seconds{20};
/// Who is placed by kube-scheduler may have been woken in vain: then the next time is up to a minute later.
constexpr Duration kFairToKubes = std::chrono::seconds{80};
/// So long a node that takes no leases keeps a slot of a namespace, each time that a pod is tried there.
constexpr Duration kOneTry = std::chrono::seconds{3};
/// So long the lease of a pod that went may still be there, and its GPUs are proven free by two looks of a
/// calm agent.
constexpr Duration kLeased = std::chrono::seconds{60};
constexpr Duration kTwoLooks = std::chrono::seconds{130};
/// So long nothing is given by id beside a pod that came, at most.
constexpr Duration kNamed = std::chrono::seconds{50};

}  // namespace

void Judge::writesStick(int what, Mono until) {
  stuck_ = what;
  stuck_until_ = until;
  fits_since_.clear();
}

void Judge::nothingSticks() {
  if (stuck_until_ != Mono{}) { writesStick(0, now_); }
}

void Judge::disturbed(Duration how_long) {
  disturbed_until_ = std::max(disturbed_until_, now_ + how_long);
  fits_since_.clear();
}

void Judge::ledAnew(Duration how_long) {
  disturbed(how_long);
  if (std::exchange(is_led_, false)) { lost_at_ = now_; }
  led_anew_ = now_;
  left_leased_.clear();
  for (const auto& [device, lease] : leases_) {
    const bool any = std::any_of(lease.holders.begin(), lease.holders.end(),
                                 [this](const auto& holder) { return !pods_.contains(holder.first); });
    if (any) { left_leased_.insert(device.node); }
  }
}

/// None of its own writes fails, and its kube-scheduler, if it has one, does not hang.
bool Judge::isHealthy(const Pod& pod) const {
  if (!pod.isGivenByUs() || pod.deleting || pod.finished || !pod.node.empty()) { return false; }
  if (now_ < hangs_until_ && pod.ns != "a") { return false; }
  if (now_ >= stuck_until_) { return true; }
  switch (stuck_) {
    case 0:
    case 1:
    case 2: return pod.ns == "a";
    case 3: return pod.ns == "a" || pod.name != "p1";
    case 4: return true;  // but for one node
    default: return false;
  }
}

/// A Binding that names no devices was sent for it: that node enforces none, or had not said so yet.
bool Judge::wasCountedOn(const std::string& uid, const std::string& node) const {
  const auto decided = decided_.find(uid);
  return decided != decided_.end() &&
         std::any_of(decided->second.begin(), decided->second.end(),
                     [&](const auto& fence) { return fence.second.contains(toNode(node)); });
}

/// Nodes that take no leases now, and those where nobody says what containers of pods that are gone still
/// have.
std::set<std::string> Judge::notUsable() const {
  std::set<std::string> nodes;
  if (stuck_ == 4) { nodes.insert("n-1"); }
  for (const auto& [node, at] : name_free_) {  // somebody's lease that took a name is looked at now and then
    if (now_ < at + kTwoLooks) { nodes.insert(node); }
  }
  for (const auto& [uid, tried] : tried_) {
    // What a Binding that may have been carried out gives by number no lease names.
    const auto pod = pods_.find(uid);
    if (pod == pods_.end() || pod->second.gpus == 0 || !pod->second.node.empty()) { continue; }
    for (const auto& [node, at] : tried) {
      if (wasCountedOn(uid, node)) { nodes.insert(node); }
    }
  }
  for (const auto& [uid, pod] : pods_) {
    if (agents_ && isUnnamed(pod) && now_ < pod.bound_at + kNamed) { nodes.insert(pod.node); }
  }
  for (const auto& [uid, gone] : gone_) {
    // What no lease names drains as well: by count, or known to its leader only.
    const auto past = past_nodes_.find(gone.node);  // with its Node the leases went
    const bool away = past == past_nodes_.end() ||
                      past->second.any(gone.went_at, now_, [](const Node& n) { return !n.there; });
    // Under numbers that were those of its GPUs in between too.
    const bool renumbered = renumbers();
    const bool drains = now_ < gone.went_at + kTwoLooks &&
                        (away || gone.counted > 0 || !gone.unleased.empty() || renumbered || gone.renamed);
    if (agents_ && (drains || machines_.isAgentDown(gone.node))) { nodes.insert(gone.node); }
  }
  // Their containers are over when their agent has looked since.
  for (const auto& node : lost_pods_on_) {
    if (agents_ && (machines_.isAgentDown(node) || now_ < went_back_ + kTwoLooks)) { nodes.insert(node); }
  }
  // What was given by number no lease names, and what ends while ids change may be held under several. Who
  // did not hear how its pod ended, or saw it fail with containers that wait, waits for two looks too.
  for (const auto& [node, times] : went_) {
    const bool many = !enforced_.contains(node) || renumbers();
    if (many && anyWentLately(node)) { nodes.insert(node); }
  }
  if (led_anew_ == Mono{} || now_ >= led_anew_ + kTwoLooks) { return nodes; }
  for (const auto& [node, times] : went_) {  // a pod that went later this leader saw go
    const bool any = std::any_of(times.begin(), times.end(), [this](Mono went_at) {
      return went_at <= led_anew_ && went_at + kLeased > lost_at_;
    });
    if (agents_ && (any || left_leased_.contains(node))) { nodes.insert(node); }
  }
  return nodes;
}

/// Who did not hear how it ended waits for two looks of its agent: the API server was away, or forgot.
bool Judge::anyWentLately(const std::string& node) const {
  const auto went = went_.find(node);
  return agents_ && went != went_.end() && went->second.back() + kTwoLooks > now_;
}

/// And those where it was tried while a fault could spoil it: others come first for a while.
std::set<std::string> Judge::withSpoilt(const std::string& uid, std::set<std::string> nodes) const {
  const auto tried = tried_.find(uid);
  if (tried == tried_.end()) { return nodes; }
  for (const auto& [node, at] : tried->second) {
    if (at <= disturbed_until_ && now_ < at + kInVain) { nodes.insert(node); }
  }
  return nodes;
}

/// It was tried on the node that takes no leases, and waits a while before it is tried anywhere.
bool Judge::waitsForBackoff(const std::string& uid) const {
  const auto tried = tried_.find(uid);
  if (stuck_ != 4 || tried == tried_.end()) { return false; }
  const auto at = tried->second.find("n-1");
  return at != tried->second.end() && now_ < at->second + kFair;
}

/// Those of its namespace that are tried on the node that takes no leases have their turns before it.
Duration Judge::fairWait(const Pod& pod) const {
  Duration fair = pod.isKubes() ? kFairToKubes : kFair;
  if (stuck_ != 4) { return fair; }
  for (const auto& [uid, other] : pods_) {
    const auto tried = tried_.find(uid);
    const bool waits = other.ns == pod.ns && other.node.empty() && tried != tried_.end();
    if (waits && tried->second.contains("n-1")) { fair += kOneTry; }
  }
  return fair;
}

void Judge::lookAtWaiting() {
  looked_ = now_;
  // What the stuck ones of its namespace are to get counts for its quota;
  // a thousand pods take longer by three slots.
  if (now_ < disturbed_until_ || plan_.has(Feature::Quotas) || plan_.has(Feature::Large)) { return; }
  const std::set<std::string> not_usable = notUsable();
  for (const auto& [uid, pod] : pods_) {
    // Whose Binding may have been carried out keeps its CPUs and memory until that is known.
    const bool fits = isHealthy(pod) && !pod.asksResources() && !never_placed_.contains(pod.name) &&
                      (pod.isKubes() || !waitsForBackoff(uid)) && shouldFit(pod, withSpoilt(uid, not_usable));
    if (!fits) {
      fits_since_.erase(uid);
    } else if (fits_since_.try_emplace(uid, now_).first->second + fairWait(pod) < now_) {
      wrong(fmt::format("{} waits, and there is room, while writes of others fail; it is told: {}",
                        pod.text(), pod.told));
    }
  }
}

bool Judge::isLeasedByOldNumber(const std::string& node, const Gpu& gpu) const {
  return !gpu.uuid.empty() && std::any_of(leases_.begin(), leases_.end(), [&](const auto& entry) {
    return entry.first.node == node && entry.second.uuid == gpu.uuid;
  });
}

bool Judge::isOpen(const Device& device, const Gpu& gpu, const PodsOfNode& pods) const {
  const auto node = nodes_.find(device.node);
  if (node == nodes_.end() || !node->second.ready || node->second.tainted || node->second.other_enforcer) {
    return false;
  }
  if (gpu.health != "Healthy" || !gpu.in_use.empty() || leases_.contains(device) ||
      others_.contains(device)) {
    return false;
  }
  if (isNumberOfUnknown(device)) { return false; }
  const auto here = pods.find(device.node);
  const auto may_have = [&](const auto* entry) {
    const Pod& pod = entry->second;
    return mayHold(entry->first, pod, device) || ((pod.ids.empty() || pod.renamed) && pod.gpus > 0);
  };
  return !isLeasedByOldNumber(device.node, gpu) &&
         (here == pods.end() || std::none_of(here->second.begin(), here->second.end(), may_have));
}

/// The nodes whose GPUs an object speaks of; "": of any.
std::set<std::string> Judge::nodesIn(const apiserver::HistoryEntry& entry) {
  const bool is_pod = entry.key.resource == kPodsId;
  const bool is_lease = entry.key.resource == kLeasesId;
  if (!is_pod && !is_lease) { return {entry.key.name}; }
  std::set<std::string> nodes;
  for (const auto& object : {entry.before, entry.after}) {
    if (object == nullptr) { continue; }
    const Value& node =
        is_pod ? (*object)["spec"]["nodeName"] : (*object)["metadata"]["annotations"]["gpu.scheduling/node"];
    if (is_lease || !node.str().empty()) { nodes.emplace(node.str()); }
  }
  // Somebody's own may say another node than its name.
  if (is_lease && entry.key.name.starts_with("gpu-n-")) {
    nodes.insert(entry.key.name.substr(4, entry.key.name.rfind('-') - 4));
  }
  return nodes;
}

/// Which GPUs of these nodes are open; "": of any. After each change of an object, so what it costs shows.
void Judge::noteOpen(const std::set<std::string>& nodes) {
  const auto is_meant = [&](const std::string& node) { return nodes.contains("") || nodes.contains(node); };
  if (nodes.empty()) { return; }
  for (auto& [device, past] : open_) {
    if (is_meant(device.node) && !gpus_.contains(device)) { (void)past.set(false, now_); }
  }
  PodsOfNode pods;
  for (const auto& known : pods_) {
    const Pod& pod = known.second;
    if (pod.live() && is_meant(pod.node)) { pods[pod.node].push_back(&known); }
  }
  for (const auto& [device, gpu] : gpus_) {
    if (is_meant(device.node)) { (void)open_[device].set(isOpen(device, gpu, pods), now_); }
  }
}

}  // namespace gs::sim
