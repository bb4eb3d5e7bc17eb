// What must hold once nothing happens any more.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "model/annotations.h"
#include "test/sim/cluster.h"
#include "test/sim/judge.h"

namespace gs::sim {

using json::Value;

/// Containers of a pod that went with what a restored API server has forgotten may still have its number.
bool Judge::isNumberOfUnknown(const Device& device) const {
  const auto may_have = [&](const auto& use) {
    const auto gone = deleted_.find(use.first);
    return !pods_.contains(use.first) &&
           (gone == deleted_.end() ||
            std::count(gone->second.ids.begin(), gone->second.ids.end(), device.id) > 0);
  };
  return plan_.has(Feature::Restore) && std::any_of(gpus_.begin(), gpus_.end(), [&](const auto& entry) {
           const auto& in_use = entry.second.in_use;
           return entry.first.node == device.node && std::any_of(in_use.begin(), in_use.end(), may_have);
         });
}

/// Nobody's, as far as somebody knows.
bool Judge::isFree(const Device& device, const Gpu& gpu) const {
  if (gpu.health == "Unhealthy" || leases_.contains(device) || others_.contains(device)) { return false; }
  if (isLeasedByOldNumber(device.node, gpu) || !gpu.in_use.empty()) { return false; }
  if (isNumberOfUnknown(device)) { return false; }
  return std::none_of(pods_.begin(), pods_.end(),
                      [&](const auto& p) { return p.second.live() && mayHold(p.first, p.second, device); });
}

std::int64_t Judge::freeOn(const std::string& name) const {
  std::int64_t free = 0;
  for (const auto& [device, gpu] : gpus_) { free += device.node == name && isFree(device, gpu) ? 1 : 0; }
  for (const auto& [uid, pod] : pods_) {
    if (!pod.live() || pod.node != name) { continue; }
    // Whose annotation names fewer than it asks for since somebody edited it, or what the leases of others
    // name, or what could not be given or has another number by now, and no lease of it names, may have been
    // given others.
    const std::vector<int>& says = pod.by_hand && !pod.ids.empty() ? pod.named : pod.ids;
    const auto named =
        std::count_if(says.begin(), says.end(), [this, &name, &pod_uid = uid, &of = pod](int id) {
          const auto lease = leases_.find({name, id});
          if (lease != leases_.end()) { return lease->second.holders.contains(pod_uid); }
          const auto gpu = gpus_.find({name, id});
          return !of.forgotten && gpu != gpus_.end() && gpu->second.health != "Unhealthy" &&
                 holdsByName(of, {of.node, id});
        });
    free -= std::max<std::int64_t>(0, pod.gpus - named);
  }
  return free;
}

/// One more sharer may join.
bool Judge::isJoinable(const Device& device, const Lease& lease) const {
  const auto gpu = gpus_.find(device);
  if (!lease.shared || lease.holders.size() >= model::kMaxSharers || gpu == gpus_.end() ||
      gpu->second.health == "Unhealthy") {
    return false;
  }
  // It stands for another GPU than the one that has this id now: nobody can join either by its name.
  if (!lease.uuid.empty() && !gpu->second.uuid.empty() && lease.uuid != gpu->second.uuid) { return false; }
  const bool others_have_it = std::any_of(pods_.begin(), pods_.end(), [&](const auto& pod) {
    return !lease.holders.contains(pod.first) && pod.second.live() && mayHold(pod.first, pod.second, device);
  });
  if (others_have_it) { return false; }
  // A pod without an allocation may use it too: its kubelet chose among GPUs of which it does not know the
  // holders.
  const auto& users = gpu->second.in_use;
  return std::all_of(users.begin(), users.end(),
                     [&](const auto& user) { return lease.holders.contains(user.first); });
}

std::int64_t Judge::joinableOn(const std::string& name) const {
  return std::count_if(leases_.begin(), leases_.end(), [&](const auto& entry) {
    return entry.first.node == name && isJoinable(entry.first, entry.second);
  });
}

/// Each of its GPUs is there, and free or to be joined; of the free ones as many are left as pods have by
/// their number.
bool Judge::shouldFitAsMapped(const Pod& pod, const std::set<std::string>& without) const {
  if (!pod.mapped) { return false; }
  const std::string name = nodeNamed(pod.mapped->first);
  const auto node = nodes_.find(name);
  if (node == nodes_.end() || !node->second.ready || node->second.other_enforcer || node->second.tainted ||
      without.contains(name)) {
    return false;
  }
  if (plan_.has(Feature::Large) && podsOn(name) >= 110) { return false; }
  const auto& ids = pod.mapped->second;
  if (!ids.empty() && !isWithinQuota(pod, name, static_cast<std::int64_t>(ids.size()))) { return false; }
  std::int64_t untouched = 0;
  for (const int id : ids) {
    const Device device{name, id};
    const auto gpu = gpus_.find(device);
    const auto lease = leases_.find(device);
    if (gpu == gpus_.end() || gpu->second.moved) { return false; }
    if (isFree(device, gpu->second)) {
      ++untouched;
    } else if (lease == leases_.end() || !isJoinable(device, lease->second)) {
      return false;
    }
  }
  return untouched == 0 || untouched <= freeOn(name);
}

bool Judge::hasResourcesFor(const Pod& pod, const std::string& uid, const std::string& node,
                            Mono bound_before) const {
  std::int64_t cpu = pod.cpu;
  std::int64_t memory = pod.memory;
  for (const auto& [other_uid, other] : pods_) {
    if (other_uid == uid || !other.live() || other.node != node || other.bound_at >= bound_before) {
      continue;
    }
    cpu += other.cpu;
    memory += other.memory;
  }
  return (pod.cpu == 0 || cpu <= kCpus) && (pod.memory == 0 || memory <= kMemory);
}

std::int64_t Judge::podsOn(const std::string& node) const {
  return std::count_if(pods_.begin(), pods_.end(),
                       [&](const auto& entry) { return entry.second.live() && entry.second.node == node; });
}

bool Judge::hasClaim(const Pod& pod) const {
  return api_.store().find({kClaimsId, pod.ns, pod.claim}) != nullptr;
}

/// By counting alone, for the requests that the plan makes.
bool Judge::shouldFit(const Pod& pod, const std::set<std::string>& without) const {
  if (!pod.map.empty()) { return shouldFitAsMapped(pod, without); }
  std::int64_t count = pod.gpus;
  bool shared = false;
  bool near = false;
  if (!pod.claim.empty()) {
    const auto* claim = api_.store().find({kClaimsId, pod.ns, pod.claim});
    if (claim == nullptr) { return false; }
    const Value& devices = (*claim->object)["spec"]["devices"];
    shared = devices["exclusivity"].str() == "Shared";
    near = (*claim->object)["spec"]["topology"]["mode"].isString();
    count = devices["count"].intOr(1);
  }
  return std::any_of(nodes_.begin(), nodes_.end(), [&](const auto& entry) {
    const auto& [name, node] = entry;
    if (!node.ready || without.contains(name) || node.other_enforcer || (node.tainted && !pod.tolerates)) {
      return false;
    }
    if (plan_.has(Feature::Large) && podsOn(name) >= 110) { return false; }
    if (!hasResourcesFor(pod, "", name, Mono::max())) { return false; }
    if (count == 0) { return true; }
    if (!isWithinQuota(pod, name, count)) { return false; }
    if (near && name == "n-0") { return false; }  // no links there; elsewhere all are linked to all
    if (shared && joinableOn(name) >= count) { return true; }
    std::int64_t counted = 0;
    for (const auto& [uid, other] : pods_) { counted += other.live() && other.node == name ? other.gpus : 0; }
    return freeOn(name) >= count && (!pod.claim.empty() || node.allocatable - counted >= count);
  });
}

/// What the live pods of a claim have, as its status is to say it.
std::string Judge::allocationsOf(const apiserver::StoreKey& claim) const {
  std::set<std::string> out;
  for (const auto& [uid, pod] : pods_) {
    if (!pod.live() || pod.ids.empty() || pod.ns != claim.ns || pod.claim != claim.name) { continue; }
    out.insert(
        fmt::format("{} {} {}", pod.name, uid, model::printAllocation(model::NodeName{pod.node}, pod.ids)));
  }
  return fmt::format("{}", fmt::join(out, "; "));
}

std::string Judge::claimsWrong() const {
  const auto [first, last] = api_.store().range(kClaimsId);
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
    const bool is_edited = std::any_of(pods_.begin(), pods_.end(), [&, &k = key](const auto& entry) {
      return entry.second.by_hand && entry.second.ns == k.ns && entry.second.claim == k.name;
    });
    if (is_edited) { continue; }
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

bool Judge::holds(const std::string& uid, const Pod& pod, const Device& device) const {
  if (pod.node != device.node) { return false; }
  if (holdsByName(pod, device)) { return true; }
  // A number that meant another GPU when its containers came: whoever decides knows it from the agent, and
  // what that has to say is judged by AgentSide.
  const auto gpu = gpus_.find(device);
  return renumbers() && !pod.ids.empty() && gpu != gpus_.end() && !gpu->second.uuid.empty() &&
         !isUntold(pod.node) && (!agents_ || gpu->second.in_use.contains(uid)) &&
         machines_.heldBy(uid).contains(gpu->second.uuid);
}

bool Judge::mayHold(const std::string& uid, const Pod& pod, const Device& device) const {
  const bool named = std::find(pod.named.begin(), pod.named.end(), device.id) != pod.named.end();
  const auto gpu = gpus_.find(device);
  // A leader that saw its lease before that was taken by hand remembers the GPU.
  const bool remembered = pod.forgotten && gpu != gpus_.end() && pod.uuids.contains(gpu->second.uuid);
  // A lease that was written for a pod that came bound names the GPU that had the number then.
  const bool forged = pod.by_hand && gpu != gpus_.end() &&
                      std::any_of(leases_.begin(), leases_.end(), [&](const auto& entry) {
                        return entry.first.node == device.node && entry.second.uuid == gpu->second.uuid &&
                               entry.second.holders.contains(uid);
                      });
  return (pod.node == device.node && (named || remembered || forged)) || holds(uid, pod, device);
}

std::string Judge::whatItHas(const std::string& uid, const Pod& pod) const {
  return fmt::format("has {}, was told {}, was given {}, and whose containers have {}", pod.allocated,
                     pod.visible, fmt::join(pod.uuids, ","), fmt::join(machines_.heldBy(uid), ","));
}

bool Judge::holdsByName(const Pod& pod, const Device& device) const {
  if (pod.isUnspoken()) { return false; }
  if (pod.node != device.node) { return false; }
  if (!renumbers()) { return pod.has(device); }
  const std::vector<std::string>& told = pod.toldUuids();
  const auto gpu = gpus_.find(device);
  const std::string& uuid = gpu == gpus_.end() ? "" : gpu->second.uuid;
  if (told.empty()) { return pod.has(device) || (!pod.forgotten && pod.uuids.contains(uuid)); }
  const auto here = [&](const std::string& gpu_uuid) {
    return std::any_of(gpus_.begin(), gpus_.end(), [&](const auto& entry) {
      return entry.first.node == pod.node && entry.second.uuid == gpu_uuid;
    });
  };
  // Which number a GPU had that went says its annotation, unless somebody wrote another one, or none, there.
  for (std::size_t i = 0; i < told.size(); ++i) {
    const bool had_number = !pod.renamed && pod.ids[i] == device.id;
    if (told[i] == uuid || (had_number && !here(told[i]))) { return true; }
  }
  return false;
}

std::vector<Judge::Device> Judge::heldByName(const Pod& pod) const {
  std::set<Device> out;
  for (const int id : pod.ids) {
    if (holdsByName(pod, {pod.node, id})) { out.insert({pod.node, id}); }
  }
  for (const auto& [device, gpu] : gpus_) {
    if (holdsByName(pod, device)) { out.insert(device); }
  }
  return {out.begin(), out.end()};
}

bool Judge::awaitsName(const std::string& uid, const Pod& pod) const {
  const auto held = renumbers() ? heldByName(pod) : std::vector<Device>{};
  return std::any_of(held.begin(), held.end(), [&](const Device& device) {
    const auto lease = leases_.find(device);
    return lease != leases_.end() && !lease->second.holders.contains(uid);
  });
}

bool Judge::mayHaveGot(const std::string& uid, const Pod& pod, const std::string& uuid) const {
  if (!renumbers() || uuid.empty()) { return false; }
  if (agents_ && machines_.heldBy(uid).contains(uuid)) { return true; }
  // Without agents nobody knows when they started. A lease that went by hand is written again for what has
  // its id then.
  const Mono known = agents_ && !pod.forgotten ? pod.bound_at + kKnown : now_;
  const auto lease = reserved_.find(pod.reservation);
  const Mono decided = lease == reserved_.end() ? pod.bound_at : std::min(lease->second, pod.bound_at);
  return std::any_of(pod.ids.begin(), pod.ids.end(), [&](int id) {
    const auto past = uuids_.find({pod.node, id});
    return past != uuids_.end() &&
           past->second.any(decided - kKnown, known, [&](const std::string& u) { return u == uuid; });
  });
}

bool Judge::isLate(const std::string& uid, const Pod& pod, const Device& device) const {
  const auto wished = wished_.find(uid);
  if (wished == wished_.end()) { return false; }
  const auto left = wished->second.find(device);
  return left != wished->second.end() && left->second + kKnown < pod.bound_at;
}

/// A lease of that age. Objects say seconds, so one of the same second may look older than the Binding.
bool Judge::landedUnknown(const Pod& pod, Mono landed) {
  return landed + kKnown >= pod.bound_at && landed <= pod.bound_at + std::chrono::seconds{1};
}

std::string Judge::leasesWrong() const {
  for (const auto& [device, lease] : leases_) {
    for (const auto& [uid, part] : lease.holders) {
      const auto pod = pods_.find(uid);
      if (pod != pods_.end() && (pod->second.by_hand || isMisread(uid, pod->second))) { continue; }
      if (overtaken_.contains(uid)) {
        continue;
      }  // leases of a later decision for it may have been there first
      // Another scheduler bound the pod to the very node of its leases: they stand, as if its annotation had
      // been taken away.
      // So does one that landed long after it had left.
      // And one that landed just before the Binding, unknown to whom sent that.
      const bool theirs = pod != pods_.end() && pod->second.ids.empty() && pod->second.node == device.node &&
                          (pod->second.foreign || isLate(uid, pod->second, device) ||
                           landedUnknown(pod->second, lease.since.at(uid)));
      // What an invented UUID stood for nobody knows: it may be of a GPU that went, so the pod keeps the id
      // that it was given.
      const bool kept = pod != pods_.end() && pod->second.has(device) && invented_.contains(lease.uuid);
      const bool has_it = pod != pods_.end() && pod->second.live() &&
                          (theirs || kept || holds(uid, pod->second, device) ||
                           awaitsName(uid, pod->second) || mayHaveGot(uid, pod->second, lease.uuid));
      if (!has_it) {
        const std::string has = pod == pods_.end() ? "is not there" : whatItHas(uid, pod->second);
        return fmt::format("the lease of {} for GPU '{}' names pod {}, which {}", device.text(), lease.uuid,
                           uid, has);
      }
      const auto has = model::printAllocation(model::NodeName{pod->second.node}, pod->second.ids);
      if (!theirs && part.devices != has) {
        return fmt::format("the lease of {} says that pod {} has {}, it has {}", device.text(), uid,
                           part.devices, has);
      }
    }
  }
  return "";
}

/// Its own leases were deleted by hand while one of an earlier decision stood: to who leads next that is what
/// a pod looks like whose annotations were edited. It believes both: nothing is given twice.
bool Judge::isMisread(const std::string& uid, const Pod& pod) const {
  return pod.forgotten && pod.live() && std::any_of(leases_.begin(), leases_.end(), [&](const auto& entry) {
           const auto& [device, lease] = entry;
           const auto since = lease.since.find(uid);
           return device.node == pod.node && !pod.has(device) && since != lease.since.end() &&
                  since->second <=
                      pod.bound_at + std::chrono::seconds{1};  // times of objects have whole seconds
         });
}

bool Judge::isOfForged(const Lease& lease) const {
  return std::any_of(lease.holders.begin(), lease.holders.end(), [&](const auto& holder) {
    const auto pod = pods_.find(holder.first);
    return pod != pods_.end() && pod->second.by_hand;
  });
}

/// Its containers see other GPUs than it has, or count them in another order than the ids do, though
/// admission asked the webhook, which tells those of our schedulers' pods. What somebody edited, or a restore
/// took back, they do not see.
bool Judge::isToldOther(const std::string& uid, const Pod& pod) const {
  const bool edited =
      pod.scheduler != kOurs || pod.retold || pod.misled || pod.renamed || went_back_ != Mono{};
  if (!plan_.has(Feature::Webhook) || pod.claim.empty() || edited) { return false; }
  const sandbox::Env* env = kubelet_.envOf(uid);
  if (env == nullptr) { return false; }
  const auto is = [&](const char* name, const std::string& value) {
    const auto at = env->find(name);
    return at != env->end() && at->second == value;
  };
  const bool refers = !env->contains(kRefers) || is(kRefers, pod.visible);
  return !is("CUDA_VISIBLE_DEVICES", pod.visible) || !refers || !is("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
}

std::string Judge::podWrong(const std::string& uid, const Pod& pod) const {
  if (pod.by_hand) { return ""; }
  for (const Device& device : pod.live() ? heldByName(pod) : std::vector<Device>{}) {
    const auto lease = leases_.find(device);
    if (others_.contains(device)) { continue; }  // somebody took its name
    // Of who has GPUs by their number a lease that went by hand is not written for what could not be given,
    // when nobody remembers it.
    const auto gpu = gpus_.find(device);
    const bool is_sick = gpu == gpus_.end() || gpu->second.health == "Unhealthy";
    if (pod.gpus > 0 && lease == leases_.end() && is_sick) { continue; }
    if (lease != leases_.end() && isOfForged(lease->second)) {
      continue;
    }  // it came first when there was none
    // For all that is known of them its GPU and the lease's are two:
    // who lost its own entry by hand does not join it.
    const bool misnamed = lease != leases_.end() && lease->second.shared && pod.forgotten &&
                          (invented_.contains(lease->second.uuid) || misnamed_.contains(uid));
    if (misnamed) { continue; }
    // leasesWrong() looks by whom.
    const bool others = lease != leases_.end() && (renumbers() || overtaken_.contains(uid));
    const bool taken = others || isMisread(uid, pod);
    if (!taken && (lease == leases_.end() || !lease->second.holders.contains(uid))) {
      return fmt::format("pod {}/{} has {} without a lease", pod.ns, pod.name, device.text());
    }
  }
  if (pod.live() && !plan_.has(Feature::Uuids) && pod.visible != model::printIds(pod.ids)) {
    return fmt::format("pod {}/{} has GPUs {} and sees {}", pod.ns, pod.name, model::printIds(pod.ids),
                       pod.visible);
  }
  if (pod.live() && isToldOther(uid, pod)) {
    return fmt::format("{} has GPUs {}, and its containers are told others", pod.text(), pod.visible);
  }
  const bool waits = pod.node.empty() && !pod.deleting && !pod.finished;
  if (waits && !never_placed_.contains(pod.name) && shouldFit(pod)) {
    return fmt::format("pod {}/{} waits, and there is room; it is told: {}", pod.ns, pod.name, pod.told);
  }
  if (pod.isKubes()) {  // its scheduler tells it, which it does not here
    return pod.told.empty() ? "" : fmt::format("{} is told by us: {}", pod.text(), pod.told);
  }
  if (waits && pod.told.empty()) {
    return fmt::format("pod {}/{} waits and is not told why", pod.ns, pod.name);
  }
  if (waits && !pod.map.empty() && !pod.mapped && pod.told.find("gpu-scheduling-map") == std::string::npos) {
    return fmt::format("{} has a wrong map, and is told '{}'", pod.text(), pod.told);
  }
  const bool missing = pod.told.find("not found in namespace") != std::string::npos;
  if (waits && !pod.claim.empty() && missing == hasClaim(pod)) {
    return fmt::format("pod {}/{} is told '{}', and its claim is {}", pod.ns, pod.name, pod.told,
                       missing ? "there" : "missing");
  }
  return "";
}

std::set<std::string> Judge::knownToSome() const {
  std::set<std::string> out;
  for (const auto& [uid, pod] : pods_) {
    const bool renumbered = renumbers();
    if ((pod.forgotten && (pod.renamed || renumbered)) || (pod.renamed && renumbered)) { out.insert(uid); }
    // A restore brought it back as it was when it ended: who began later has not seen that its GPUs drained.
    if (pod.finished && went_back_ != Mono{}) { out.insert(uid); }
  }
  return out;
}

/// Two pods that run have one GPU, which its lease gives to one of them: both are told.
std::string Judge::unsaid() const {
  if (plan_.has(Feature::Renumber) || went_back_ != Mono{}) { return ""; }
  std::set<std::string> told;  // uids
  for (const auto& [key, stored] : api_.store().objects()) {
    const Value& event = *stored.object;
    if (event["reason"].str() == "GpuInUseByOther") { told.emplace(event["regarding"]["uid"].str()); }
  }
  const auto runs = [this](const std::string& uid, const Device& device) {
    const auto pod = pods_.find(uid);
    return pod != pods_.end() && pod->second.live() && pod->second.node == device.node;
  };
  const auto isItsOwn = [this](const std::string& uid, const Device& at, const std::string& uuid) {
    return std::any_of(leases_.begin(), leases_.end(), [&](const auto& one) {
      return one.first.node == at.node && one.second.uuid == uuid && one.second.holders.contains(uid);
    });
  };
  for (const auto& [device, lease] : leases_) {
    const auto gpu = gpus_.find(device);
    if (gpu == gpus_.end() || (!lease.uuid.empty() && lease.uuid != gpu->second.uuid)) { continue; }
    for (const auto& [user, since] : gpu->second.in_use) {
      if (isItsOwn(user, device, gpu->second.uuid)) { continue; }  // its number was another one
      if (lease.holders.contains(user) || !runs(user, device) || since <= disturbed_until_) { continue; }
      for (const auto& [holder, part] : lease.holders) {
        if (!runs(holder, device) || lease.since.at(holder) <= disturbed_until_) { continue; }
        if (told.contains(user) && told.contains(holder)) { continue; }
        return fmt::format("{} is of pod {} by its lease, and pod {} uses it; they are not told",
                           device.text(), holder, user);
      }
    }
  }
  return "";
}

std::string Judge::settled() const {
  if (std::string wrong = leasesWrong(); !wrong.empty()) { return wrong; }
  if (std::string wrong = unsaid(); !wrong.empty()) { return wrong; }
  for (const auto& [uid, pod] : pods_) {
    if (!pod.isGivenByUs()) { continue; }
    if (std::string wrong = podWrong(uid, pod); !wrong.empty()) { return wrong; }
  }
  return claimsWrong();
}

}  // namespace gs::sim
