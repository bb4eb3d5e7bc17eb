// The moment at which a pod becomes the owner of devices: whether it may have just those.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "model/annotations.h"
#include "test/sim/judge.h"

namespace gs::sim {
namespace {

constexpr auto kSo = [](bool is) { return is; };
constexpr Duration kAdopted = std::chrono::seconds{3};

}  // namespace

/// By our scheduler. `fence`: that of the version before.
void Judge::bound(const std::string& uid, const Pod& pod, const std::string& fence) {
  const auto& decided = decided_[uid];
  const auto of_fence = decided.find(fence);
  if (of_fence == decided.end()) {
    return wrong(fmt::format("a Binding of {} landed after its fence", pod.text()));
  }
  const auto sent = of_fence->second.find(pod.allocated.empty() ? toNode(pod.node) : pod.reservation);
  if (sent == of_fence->second.end() || sent->second.allocated != pod.allocated) {
    return wrong(
        fmt::format("{} was bound to {} with '{}', as no Binding said", pod.text(), pod.node, pod.allocated));
  }
  const Mono decided_at = decidedAt(pod, sent->second);
  if (went_back_ != Mono{} && decided_at <= went_back_) {  // what it was decided on is lost
    overtaken_.insert(uid);
    return;
  }
  quotaOn(uid, pod, decided_at);
  if (plan_.has(Feature::Resources) && !pod.isKubes()) { resourcesOn(uid, pod, sent->second.at); }
  if (pod.allocated.empty()) {
    if (!pod.map.empty()) { asMapped(uid, pod, decided_at); }
    return countOn(uid, pod, sent->second, decided_at);
  }
  if (pod.claim.empty() && pod.map.empty() && !enforced_.contains(pod.node)) {
    wrong(fmt::format("{} was bound to {}, where its node's device plugin picks", pod.text(), pod.allocated));
  }
  for (const int id : pod.ids) {
    give(uid, pod, {pod.node, id}, sent->second.by, decided_at);
    mayBeGiven(pod, {pod.node, id}, decided_at);
    besideUnnamed(pod, {pod.node, id}, decided_at);
  }
  asAsked(uid, pod, decided_at);
  countOn(uid, pod, sent->second, decided_at);
  seesWhatItHas(pod, decided_at);
  if (!pod.isKubes()) { healthyFirst(uid, pod, decided_at); }  // which node is not ours to say
  limitsOn(uid, pod, decided_at);
}

/// Not later than the first of its leases, which may be long before its Binding.
Mono Judge::decidedAt(const Pod& pod, const Sent& sent) const {
  const auto lease = reserved_.find(pod.reservation);
  return lease == reserved_.end() ? sent.at : std::min(lease->second, sent.at);
}

/// A Binding left that gives a pod no devices: one that asks for some is only counted where nobody says which
/// there are, or gives it those.
void Judge::namesNone(const Pod& pod, const std::string& node, Mono sent) {
  const bool named = isListed(node, sent);
  const bool maps_some = pod.mapped && !pod.mapped->second.empty();
  if (!pod.claim.empty() || maps_some || (pod.gpus > 0 && named && enforced_.contains(node))) {
    wrong(fmt::format("a Binding of {} to {} names none of the GPUs that it asks for", pod.text(), node));
  }
}

void Judge::asAsked(const std::string& uid, const Pod& pod, Mono decided) {
  const auto size = static_cast<std::int64_t>(pod.ids.size());
  if (pod.allocated != model::printAllocation(model::NodeName{pod.node}, pod.ids)) {
    return wrong(fmt::format("{} was bound to {} with {}", pod.text(), pod.node, pod.allocated));
  }
  if (!pod.claim.empty()) { return asClaimed(uid, pod, decided); }
  if (!pod.map.empty()) { return asMapped(uid, pod, decided); }
  if (size != pod.gpus) {
    wrong(fmt::format("{} was bound to {}, and asks for {} GPUs", pod.text(), pod.allocated, pod.gpus));
  }
  for (const int id : pod.ids) {
    const auto lease = leases_.find({pod.node, id});
    if (lease != leases_.end() && lease->second.isSharedBy(uid)) {
      wrong(fmt::format("{} shares {}:{}, and has no claim", pod.text(), pod.node, id));
    }
  }
}

/// As some version of its claim asked for that was to be known.
void Judge::asClaimed(const std::string& uid, const Pod& pod, Mono decided) {
  const auto& versions = claims_[{pod.ns, pod.claim}];
  const auto size = static_cast<std::int64_t>(pod.ids.size());
  const auto any = [&](const auto& is) { return versions.any(decided - kKnown, decided, is); };
  if (!any([&](const Ask& ask) { return ask.there && ask.count == size; })) {
    return wrong(fmt::format("{} was bound to {}, and claim {} asks for another number of GPUs", pod.text(),
                             pod.allocated, pod.claim));
  }
  const bool shares = std::any_of(pod.ids.begin(), pod.ids.end(), [&](int id) {
    const auto lease = leases_.find({pod.node, id});
    return lease != leases_.end() && lease->second.isSharedBy(uid);
  });
  const auto suits = [&](const Ask& ask) {
    return ask.there && ask.count == size && ask.shared == shares &&
           (!ask.near || isLinked(pod, ask.gbps, decided));
  };
  if (!any(suits)) {
    wrong(fmt::format("{} was bound to {}{}, which is not what claim {} asks for", pod.text(), pod.allocated,
                      shares ? " (Shared)" : "", pod.claim));
  }
}

/// What stands in its map, on the node that had that name; to be shared.
void Judge::asMapped(const std::string& uid, const Pod& pod, Mono decided) {
  if (!pod.mapped) {
    return wrong(fmt::format("{} was bound to {}, and its map is wrong: {}", pod.text(), pod.node, pod.map));
  }
  const auto& [name, ids] = *pod.mapped;
  const auto is_it = [&](const std::string& node) { return node == pod.node; };
  const auto named = named_.find(name);
  if (named == named_.end() || !named->second.any(decided - kKnown, decided, is_it) || pod.ids != ids) {
    return wrong(fmt::format("{} was bound to {} with {}, and its map says {}", pod.text(), pod.node,
                             pod.allocated, pod.map));
  }
  for (const int id : ids) {
    const auto lease = leases_.find({pod.node, id});
    if (lease != leases_.end() && !lease->second.isSharedBy(uid)) {
      wrong(fmt::format("{} has a map, and holds {}:{} alone", pod.text(), pod.node, id));
    }
  }
}

/// All in one island, where each pair has so much bandwidth. One GPU needs no link.
bool Judge::isLinked(const Pod& pod, std::int64_t gbps, Mono decided) const {
  const auto past = links_.find(pod.node);
  if (pod.ids.size() < 2 || past == links_.end()) { return pod.ids.size() < 2; }
  return past->second.any(decided - kKnown, decided, [&](const std::map<int, Link>& links) {
    const auto linkOf = [&](int id) {
      const auto link = links.find(id);
      return link == links.end() ? Link{} : link->second;
    };
    const std::string island = linkOf(pod.ids.front()).island;
    return std::all_of(pod.ids.begin(), pod.ids.end(),
                       [&](int id) { return linkOf(id).island == island && linkOf(id).gbps >= gbps; });
  });
}

/// Pods without an allocation hold GPUs that nobody can name (R13), but for those that the agent sees them
/// use: there is a GPU left for each of them, of those that may be given. Who joins GPUs that others share
/// takes none, also when they end meanwhile.
void Judge::countOn(const std::string& owner, const Pod& pod, const Sent& sent, Mono decided) {
  if (wereRenumberedSince(pod.node, decided)) { return; }  // who uses which was otherwise then
  const bool bare = isBare(pod.node, decided);
  if (pod.ids.empty() && (pod.gpus == 0 || (!bare && !isListed(pod.node, decided)))) { return; }
  const bool joins = !pod.ids.empty() && std::all_of(pod.ids.begin(), pod.ids.end(), [&](int id) {
    const auto lease = leases_.find({pod.node, id});
    if (lease == leases_.end()) { return false; }
    // Others whose part of the lease went by hand, or has the number that it had; or whose Binding is on its
    // way since before their GPU got this number.
    const bool has_others =
        lease->second.shared && (std::any_of(pods_.begin(), pods_.end(),
                                             [&](const auto& other) {
                                               return other.first != owner && other.second.live() &&
                                                      holds(other.first, other.second, {pod.node, id});
                                             }) ||
                                 std::any_of(leases_.begin(), leases_.end(), [&](const auto& other) {
                                   const auto& [device, by] = other;
                                   return device.node == pod.node && device.id != id && by.shared &&
                                          !by.uuid.empty() && by.uuid == lease->second.uuid &&
                                          !by.isSharedBy(owner) && !by.holders.empty();
                                 }));
    if (has_others || lease->second.joined.contains(owner) || lease->second.holders.size() > 1) {
      return true;
    }
    const auto gpu = gpus_.find({pod.node, id});  // who went shared it, and its containers run on
    return gpu != gpus_.end() &&
           std::any_of(gpu->second.in_use.begin(), gpu->second.in_use.end(), [&](const auto& user) {
             return user.first != owner && isShared({pod.node, id}, lease->second, user.first);
           });
  });
  if (joins) { return; }
  std::set<int> named;
  std::int64_t counted = 0;
  for (const auto& [uid, other] : pods_) {
    if (!other.live() || other.node != pod.node) { continue; }
    if (areGivenByTheNextLeader(other, pod, sent)) { continue; }
    const bool is_named = !other.ids.empty() && !other.isUnspoken();
    for (const Device& held : is_named ? heldByName(other) : std::vector<Device>{}) { named.insert(held.id); }
    if (is_named || other.bound_at + kKnown >= decided) { continue; }
    if (other.gpus == 0 && other.claim.empty() && other.map.empty()) {
      continue;
    }  // it asked for none; what it uses it was told by hand
    std::int64_t seen = 0;
    for (const auto& [device, gpu] : gpus_) {
      const auto lease = leases_.find(device);
      const bool leased = lease != leases_.end() && lease->second.holders.contains(uid);
      if (device.node != pod.node || (!leased && !gpu.in_use.contains(uid))) { continue; }
      named.insert(device.id);
      ++seen;
    }
    seen +=
        std::count_if(leases_.begin(), leases_.end(), [&, &its = uid](const auto& entry) {  // those that went
          return entry.first.node == pod.node && !gpus_.contains(entry.first) &&
                 entry.second.holders.contains(its);
        });
    counted +=
        std::max<std::int64_t>(0, other.gpus - std::max(seen, static_cast<std::int64_t>(other.named.size())));
  }
  for (const auto& [uid, gpus] : goneCounted(pod.node, sent, decided)) {
    std::int64_t seen = 0;
    for (const auto& [device, gpu] : gpus_) {
      if (device.node != pod.node || !gpu.in_use.contains(uid)) { continue; }
      named.insert(device.id);
      ++seen;
    }
    counted += std::max<std::int64_t>(0, gpus - seen);
  }
  auto left = std::count_if(givable_.begin(), givable_.end(), [&](const auto& gpu) {
    return gpu.first.node == pod.node && !named.contains(gpu.first.id) &&
           gpu.second.any(decided - kKnown, decided, kSo);
  });
  if (bare) {
    left = mostAllocatable(pod.node, decided) - static_cast<std::int64_t>(named.size());
    if (!pod.ids.empty() && counted == 0) { return; }  // ids are taken as given there, whatever is offered
  }
  if (pod.ids.empty()) { counted += pod.gpus; }
  if (counted > left) {
    wrong(fmt::format("{} was bound to {}, where {} GPUs are named, {} counted, and {} left for them",
                      pod.text(), pod.node, named.size(), counted, left));
  }
}

/// A counted pod has no leases. So who leads next cannot know of its Binding that is under way, and may give
/// the same GPUs by name before it lands (R41).
bool Judge::areGivenByTheNextLeader(const Pod& named, const Pod& counted, const Sent& sent) const {
  if (!counted.ids.empty() || sent.at > led_since_) { return false; }
  const auto leased = reserved_.find(named.reservation);
  return leased != reserved_.end() && leased->second >= led_since_;
}

/// Its GPUs were surely known then.
bool Judge::isListed(const std::string& node, Mono decided) const {
  const auto status = has_status_.find(node);
  return status != has_status_.end() && !status->second.any(decided - kReopened, decided, std::not_fn(kSo));
}

/// Surely nobody said which GPUs it has: its object says how many.
bool Judge::isBare(const std::string& node, Mono decided) const {
  const auto status = has_status_.find(node);
  return status != has_status_.end() && status->second.all(decided - kReopened, decided, std::not_fn(kSo));
}

std::int64_t Judge::mostAllocatable(const std::string& node, Mono decided) const {
  std::int64_t most = 0;
  const auto past = past_nodes_.find(node);
  if (past == past_nodes_.end()) { return most; }
  (void)past->second.any(decided - kKnown, decided, [&](const Node& n) {
    most = std::max(most, n.allocatable);
    return false;
  });
  return most;
}

/// Pods that were deleted by force while they held GPUs that nobody named, and whose containers run on: uid
/// -> GPUs, of those that the node still has. Of pods that whoever decided knew.
std::map<std::string, std::int64_t> Judge::goneCounted(const std::string& node, const Sent& sent,
                                                       Mono decided) const {
  std::map<std::string, std::int64_t> out;
  if (!agents_ || !plan_.has(Feature::Foreign)) { return out; }
  const auto is_there = [&](const std::string& uuid) {
    return std::any_of(gpus_.begin(), gpus_.end(),
                       [&](const auto& gpu) { return gpu.first.node == node && gpu.second.uuid == uuid; });
  };
  for (const auto& running : kubelet_.running(node)) {
    const auto gone = gone_.find(running.uid);
    if (gone == gone_.end() || gone->second.counted == 0 || clean_.contains(running.uid)) { continue; }
    const Mono since = gone->second.bound_at + kKnown;
    const bool known = std::max(sent.by.began + kKnown, since) < gone->second.went_at && since < decided;
    // After a restore everybody begins anew.
    const bool restored = went_back_ != Mono{} && gone->second.went_at < went_back_ + kKnown;
    if (known && !restored) {
      const auto held = machines_.heldBy(running.uid);
      out[running.uid] = std::count_if(held.begin(), held.end(), is_there);
    }
  }
  return out;
}

/// The CPUs of its node and its taints, as far as they were to be known.
void Judge::resourcesOn(const std::string& uid, const Pod& pod, Mono decided) {
  if (!pod.tolerates &&
      past_nodes_[pod.node].all(decided - kKnown, decided, [](const Node& n) { return n.tainted; })) {
    wrong(
        fmt::format("{} was bound to {}, which has a taint that it does not tolerate", pod.text(), pod.node));
  }
  if (!hasResourcesFor(pod, uid, pod.node, decided - kKnown)) {
    wrong(fmt::format("{} was bound to {}, where pods ask for more than {} CPUs or {} GiB", pod.text(),
                      pod.node, kCpus, kMemory));
  }
}

/// The ids that it has, or the UUIDs that those had. What stands in its container was written when it came.
void Judge::seesWhatItHas(const Pod& pod, Mono decided) {
  const auto told = pod.literal ? model::parseAllocation(*pod.literal) : fail(Code::Invalid, "");
  if (pod.literal && (!told || told->ids != pod.ids)) {
    wrong(fmt::format("{} has GPUs {}, and its container sees {}", pod.text(), model::printIds(pod.ids),
                      *pod.literal));
  }
  if (!plan_.has(Feature::Uuids) || !pod.map.empty()) {
    if (pod.visible != model::printIds(pod.ids)) {
      wrong(fmt::format("{} has GPUs {} and sees {}", pod.text(), model::printIds(pod.ids), pod.visible));
    }
    return;
  }
  std::size_t at = 0;
  for (const int id : pod.ids) {
    const auto comma = std::min(pod.visible.find(',', at), pod.visible.size());
    const std::string seen =
        pod.visible.substr(std::min(at, pod.visible.size()), comma - std::min(at, pod.visible.size()));
    at = comma + 1;
    // A GPU that went in the meantime has no UUID any more.
    const auto is_it = [&](const std::string& uuid) {
      return uuid == seen || (uuid.empty() && seen == std::to_string(id));
    };
    if (!uuids_[{pod.node, id}].any(decided - kKnown, now_, is_it)) {
      wrong(fmt::format("{} has {}:{} and sees '{}'", pod.text(), pod.node, id, pod.visible));
    }
  }
}

/// One GPU of its own: an Unknown one only when no Healthy one was free all the time.
void Judge::healthyFirst(const std::string& uid, const Pod& pod, Mono decided) {
  if (!unknown_seen_ || pod.ids.size() != 1 || pod.asksResources() || plan_.has(Feature::Quotas)) { return; }
  const Mono stuck = stuck_until_ == Mono{} ? Mono{} : stuck_until_ + kInVain;
  if (now_ < std::max(disturbed_until_, stuck)) { return; }  // it may have been tried in vain
  if (now_ < hangs_until_) {
    return;
  }  // Healthy ones may be held for pods that kube-scheduler is about to bind
  const Device device{pod.node, pod.ids.front()};
  const auto lease = leases_.find(device);
  const auto wished = wished_.find(uid);
  if (wished != wished_.end() && wished->second.contains(device)) {
    const Mono first = wished->second.at(device);
    if (first + kAdopted < decided) { return; }  // an earlier leader's: who knows what else it had decided
    decided = std::min(decided, first);
  }
  const Mono from = decided - kKnown;
  const bool shares = lease != leases_.end() && lease->second.shared;
  if (shares || !healths_[device].all(from, now_, [](const std::string& h) { return h == "Unknown"; })) {
    return;
  }
  const std::set<std::string> unproven = notUsable();
  for (const auto& [other, past] : open_) {
    if (!past.all(from, now_, kSo) || unproven.contains(other.node) || anyWentLately(other.node)) {
      continue;
    }
    if (plan_.has(Feature::Unenforced) && !enforced_.contains(other.node)) { continue; }  // it may be counted
    const auto tried = tried_[uid].find(other.node);
    if (other.node != pod.node && tried != tried_[uid].end() && tried->second + kInVain > decided) {
      continue;
    }
    if (other.node != pod.node && isFullFor(pod, other.node, from)) { continue; }
    if (hasLostOne(other.node)) { continue; }
    // Those that are free there are as many as pods have by their number that nothing names: a GPU that went
    // under such a pod, and its lease by hand, say.
    if (freeOn(other.node) + (other.node == pod.node ? 1 : 0) <= 0) { continue; }
    if (plan_.has(Feature::Large) && podsOn(other.node) + 48 >= 110) {
      continue;
    }  // those under way count there too
    return wrong(fmt::format("{} was given {}, which is Unknown, and {} is Healthy and free", pod.text(),
                             device.text(), other.text()));
  }
}

bool Judge::isFullFor(const Pod& pod, const std::string& node, Mono from) const {
  std::int64_t asked = pod.gpus;
  for (const auto& [uid, other] : pods_) { asked += other.live() && other.node == node ? other.gpus : 0; }
  const auto past = past_nodes_.find(node);
  return pod.gpus > 0 && past != past_nodes_.end() &&
         past->second.any(from, now_, [&](const Node& n) { return asked > n.allocatable; });
}

bool Judge::hasLostOne(const std::string& node) const {
  return renumbers() && std::any_of(pods_.begin(), pods_.end(), [&](const auto& entry) {
           const Pod& pod = entry.second;
           if (!pod.live() || pod.node != node || pod.gpus == 0) { return false; }
           const auto& told = pod.toldUuids();
           return std::any_of(told.begin(), told.end(), [&](const std::string& uuid) {
             return std::none_of(gpus_.begin(), gpus_.end(), [&](const auto& gpu) {
               return gpu.first.node == node && gpu.second.uuid == uuid;
             });
           });
         });
}

bool Judge::isUntold(const std::string& node) const {
  if (!renumbers()) { return false; }
  const auto there = machines_.devicesOf(node);
  return std::any_of(there.begin(), there.end(), [&](const model::Device& device) {
    const auto gpu = gpus_.find({node, device.id});
    return gpu == gpus_.end() || gpu->second.uuid != device.uuid;
  });
}

bool Judge::wereRenumberedSince(const std::string& node, Mono since) const {
  return renumbers() && std::any_of(uuids_.begin(), uuids_.end(), [&](const auto& entry) {
           const auto& past = entry.second;
           return entry.first.node == node &&
                  past.any(since, now_, [&](const std::string& uuid) { return uuid != past.now(); });
         });
}

bool Judge::changedLately(const Device& device, Mono decided) const {
  const auto gpu = gpus_.find(device);
  const auto past = uuids_.find(device);
  if (gpu == gpus_.end() || past == uuids_.end() || isUntold(device.node)) { return true; }
  const bool back = decided < went_back_ + kKnown && went_back_ != Mono{};
  return back || past->second.any(decided - kKnown, now_,
                                  [&](const std::string& uuid) { return uuid != gpu->second.uuid; });
}

/// What a pod without a claim asks for is a resource of its node too, which has no more of it than it says.
void Judge::limitsOn(const std::string& uid, const Pod& pod, Mono decided) {
  if (pod.gpus == 0) { return; }
  std::int64_t asked = pod.gpus;
  for (const auto& [other_uid, other] : pods_) {
    const bool counts =
        other_uid != uid && other.live() && other.node == pod.node && other.bound_at + kKnown < decided;
    asked += counts ? other.gpus : 0;
  }
  if (!past_nodes_[pod.node].any(decided - kKnown, decided,
                                 [&](const Node& n) { return n.allocatable >= asked; })) {
    wrong(
        fmt::format("{} was bound to {}, which has fewer nvidia.com/gpu than the {} that are asked for there",
                    pod.text(), pod.node, asked));
  }
}

/// There, not Unhealthy, on a node that is Ready: each at some time when it was decided.
void Judge::mayBeGiven(const Pod& pod, const Device& device, Mono decided) {
  const Mono from = decided - kKnown;
  if (!past_nodes_[device.node].any(from, decided, [](const Node& n) { return n.ready; })) {
    wrong(fmt::format("{} was bound to {}, which is not Ready", pod.text(), device.node));
  }
  if (past_nodes_[device.node].all(from, decided, [](const Node& n) { return n.other_enforcer; })) {
    wrong(fmt::format("{} was bound to {}, whose enforcer is another", pod.text(), device.node));
  }
  // Where no status lists GPUs, what a map names is taken as given.
  const bool as_given = !pod.map.empty() && !isListed(device.node, decided);
  if (!as_given && !givable_[device].any(from, decided, kSo)) {
    wrong(fmt::format("{} was given {}, which is {}", pod.text(), device.text(),
                      gpus_.contains(device) ? "Unhealthy" : "not there"));
  }
}

void Judge::give(const std::string& uid, const Pod& pod, const Device& device, Process by, Mono decided) {
  const auto lease = leases_.find(device);
  if (lease == leases_.end() || !lease->second.holders.contains(uid)) {
    if (!hand_) { wrong(fmt::format("{} was bound to {} without its lease", pod.text(), device.text())); }
    return;
  }
  for (const auto& [other_uid, other] : pods_) {
    if (other_uid == uid || !other.live() || !holds(other_uid, other, device)) { continue; }
    if (renumbers() && changedLately(device, decided)) { continue; }
    if (isUnseen(other_uid, other, device, decided)) { continue; }
    if (isUnheardOf(other_uid, other, decided)) { continue; }
    if (wasToldByOthers(other_uid) && !holdsByName(other, device)) { continue; }  // of anybody's GPUs
    if (!isShared(device, lease->second, other_uid)) {
      wrong(fmt::format("{} was given {} ({}), which is of {}, which {}", pod.text(), device.text(),
                        lease->second.uuid, other.text(), whatItHas(other_uid, other)));
    }
  }
  if (!agents_ || changedLately(device, decided)) { return; }  // nothing drains, or it is not known what
  agentSawItFree(uid, pod, device, lease->second, by);
  nothingRunsOn(uid, pod, device, lease->second, by, decided);
}

/// A pod there has it by its number. While its agent was to say so within seconds, nobody was to be given any
/// GPU there. That is judged of the first such pods of a node, while nothing is in anybody's way.
void Judge::besideUnnamed(const Pod& pod, const Device& device, Mono decided) {
  constexpr Duration kHeardOf = std::chrono::seconds{2};
  constexpr Duration kWaitedFor = std::chrono::seconds{12};
  constexpr Duration kTogether = std::chrono::seconds{5};
  if (!agents_ || !agents_calm_ || plan_.has(Feature::Renumber) || went_back_ != Mono{}) { return; }
  const auto gpu = gpus_.find(device);
  const auto status = has_status_.find(device.node);
  if (gpu == gpus_.end() || status == has_status_.end()) { return; }
  const auto first = unnamed_since_.find(device.node);
  for (const auto& [uid, other] : pods_) {
    if (!isUnnamed(other) || other.by_hand || other.node != device.node) { continue; }
    if (!machines_.heldBy(uid).contains(gpu->second.uuid)) { continue; }
    const bool is_first = first != unnamed_since_.end() && other.bound_at <= first->second + kTogether;
    const bool was_due = other.bound_at + kHeardOf <= decided && decided < other.bound_at + kWaitedFor;
    const bool calm = disturbed_until_ < other.bound_at && led_anew_ + kHeardOf < other.bound_at &&
                      status->second.all(other.bound_at - kHeardOf, decided, kSo);
    if (!is_first || !was_due || !calm) { continue; }
    wrong(
        fmt::format("{} was given {}, which {} has that came {} ms before: its agent was to say so",
                    pod.text(), device.text(), other.text(),
                    std::chrono::duration_cast<std::chrono::milliseconds>(decided - other.bound_at).count()));
  }
}

bool Judge::isUnheardOf(const std::string& uid, const Pod& pod, Mono decided) const {
  return (pod.comes_by_hand || overtaken_.contains(uid)) && pod.bound_at + kKnown >= decided;
}

bool Judge::isUnseen(const std::string& uid, const Pod& pod, const Device& device, Mono decided) const {
  const auto gpu = gpus_.find(device);
  if (!renumbers() || !agents_ || holdsByName(pod, device) || gpu == gpus_.end()) { return false; }
  const auto said = gpu->second.in_use.find(uid);
  if (said != gpu->second.in_use.end()) { return said->second + kKnown >= decided; }
  // Nothing says any more which GPU its number was when it started, to an agent that began later.
  if (pod.forgotten) { return true; }
  return machines_.isAgentDown(device.node) || pod.bound_at + kKnown >= decided;
}

bool Judge::sharesByAnotherName(const std::string& uid, const Device& device) const {
  return std::any_of(leases_.begin(), leases_.end(), [&](const auto& entry) {
    return entry.first.node == device.node && entry.second.isSharedBy(uid);
  });
}

void Judge::agentSawItFree(const std::string& uid, const Pod& pod, const Device& device, const Lease& lease,
                           Process by) {
  const auto gpu = gpus_.find(device);
  if (gpu == gpus_.end()) { return; }
  for (const auto& [user, used_since] : gpu->second.in_use) {
    // Which devices a pod without an allocation got is its kubelet's choice: such pods are only counted
    // (R13). When one comes and goes, or one has ended with all its containers, whoever decided may not have
    // heard of the use.
    const auto other = pods_.find(user);
    if (other != pods_.end() && other->second.live() && other->second.ids.empty()) { continue; }
    if (wasToldByOthers(user)) { continue; }  // of anybody's GPUs
    const bool unheard = lease.since.at(uid) <= used_since + kKnown;
    if (unheard && (clean_.contains(user) || unnamed_.contains(user) || isUnspoken(user))) { continue; }
    if (unheard && (gotAnother(user, device) || lost_.contains(user) || couldNotKnow(user, device, by))) {
      continue;
    }
    if (user != uid && !isShared(device, lease, user)) {
      wrong(fmt::format("{} was given {}, which containers of pod {} still have", pod.text(), device.text(),
                        user));
    }
  }
}

bool Judge::wasToldByOthers(const std::string& uid) const {
  const auto pod = pods_.find(uid);
  const auto gone = gone_.find(uid);
  return pod != pods_.end() ? pod->second.misled : gone != gone_.end() && gone->second.misled;
}

bool Judge::isUnspoken(const std::string& uid) const {
  const auto pod = pods_.find(uid);
  const auto gone = gone_.find(uid);
  return pod != pods_.end() ? pod->second.isUnspoken() : gone != gone_.end() && gone->second.unspoken;
}

/// An agent that is down sees nothing, and so confirms nothing: containers of a pod that went may run on.
void Judge::nothingRunsOn(const std::string& uid, const Pod& pod, const Device& device, const Lease& lease,
                          Process by, Mono decided) {
  for (const auto& running : kubelet_.running(device.node)) {
    if (running.uid == uid || running.devices.empty() || lease.hasShared(running.uid, uid)) { continue; }
    if (isShared(device, lease, running.uid)) { continue; }
    if (!machines_.heldBy(running.uid).contains(gpus_.at(device).uuid)) { continue; }
    if (lostBySwap(running.uid, gpus_.at(device).uuid)) { continue; }
    if (wasToldByOthers(running.uid)) { continue; }  // it may have taken what others had
    const auto other = pods_.find(running.uid);
    if (other != pods_.end() && other->second.live() &&
        isUnseen(running.uid, other->second, device, decided)) {
      continue;
    }
    if (other != pods_.end() && isUnheardOf(running.uid, other->second, decided)) { continue; }
    if (isUnspoken(running.uid)) { continue; }  // whoever heard its agent is asked by agentSawItFree()
    if (gotAnother(running.uid, device)) { continue; }
    if (lost_.contains(running.uid) || couldNotKnow(running.uid, device, by)) { continue; }
    if (couldNoAgentTell(running.uid, device.node)) { continue; }
    wrong(fmt::format("{} was given {}, where containers of pod {} run on unseen", pod.text(), device.text(),
                      running.uid));
  }
}

/// Another GPU took the place of that one since the pod was bound: it does not have it any more.
bool Judge::lostBySwap(const std::string& uid, const std::string& gpu) const {
  const auto taken_out = taken_out_.find(gpu);
  if (taken_out == taken_out_.end()) { return false; }
  const auto pod = pods_.find(uid);
  const auto gone = gone_.find(uid);
  const Mono bound_at = pod != pods_.end()    ? pod->second.bound_at
                        : gone != gone_.end() ? gone->second.bound_at
                                              : Mono{};
  return bound_at < taken_out->second;
}

bool Judge::gotAnother(const std::string& uid, const Device& device) const {
  const auto leased = leased_uuids_.find(uid);
  return renumbers() && leased != leased_uuids_.end() && !leased->second.contains(gpus_.at(device).uuid);
}

bool Judge::isShared(const Device& device, const Lease& lease, const std::string& uid) const {
  if (lease.isSharedBy(uid) || (lease.shared && sharesByAnotherName(uid, device))) { return true; }
  const auto shares = [&](int id) {
    const auto sharers = sharers_.find({device.node, id});
    return sharers != sharers_.end() && sharers->second.contains(uid);
  };
  const auto pod = pods_.find(uid);
  if (pod == pods_.end()) { return lease.shared && shares(device.id); }  // it went, and its containers run on
  if (!lease.shared || !pod->second.live()) { return false; }
  const auto& ids = pod->second.ids;  // its GPU may have another number now
  return shares(device.id) || std::any_of(ids.begin(), ids.end(), shares);
}

/// Its lease was taken by hand before it went, and that process neither bound it nor saw it bound: nothing
/// speaks of it.
bool Judge::couldNotKnow(const std::string& uid, const Device& device, Process who) const {
  const auto gone = gone_.find(uid);
  const bool unspoken = gone != gone_.end() && gone->second.unleased.contains(device.id);
  if (!unspoken || !decided_.contains(uid)) { return false; }
  for (const auto& [fence, bindings] : decided_.at(uid)) {
    const auto is_its_own = [&](const auto& binding) { return binding.second.by.number == who.number; };
    if (std::any_of(bindings.begin(), bindings.end(), is_its_own)) { return false; }
  }
  return std::max(who.began, gone->second.bound_at) + kKnown >= gone->second.went_at;
}

/// It went, and its containers were told numbers that changed while they ran (which takes a boot of a real
/// machine). An agent that began since, and of which nobody named it before, cannot tell what they have.
bool Judge::couldNoAgentTell(const std::string& uid, const std::string& node) const {
  const auto gone = gone_.find(uid);
  const auto down = agent_down_.find(node);
  if (gone == gone_.end() || down == agent_down_.end() || seen_using_.contains(uid)) { return false; }
  return down->second > gone->second.bound_at && wereRenumberedSince(node, gone->second.bound_at);
}

}  // namespace gs::sim
