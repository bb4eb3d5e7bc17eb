#include "scheduler/pending/pending_pods.h"

#include <fmt/format.h>

#include <utility>

#include "base/mutant.h"
#include "sched/ledger/quota.h"

namespace gs::scheduler {
namespace {

constexpr Duration kClaimGrace = std::chrono::seconds{1};
constexpr Duration kAfterTurn = std::chrono::seconds{1};  // whoever was held back may be tried anywhere again

}  // namespace

PendingPods::PendingPods(Context& context)
    : c_{context},
      reporter_{c_.cache(), c_.recorder, c_.config.max_pending_writes, c_.parts},
      claims_{c_.cache(),
              {[this](const model::Uid& uid) { return whyWaiting(uid); },
               [this](const model::Uid& uid) { return reserved_(uid); }},
              c_.parts} {
  c_.parts.add(*this);
}

sched::DoorResult PendingPods::readDoor(const model::Pod& pod) const {
  const bool we_filter = !c_.asksUs(pod);
  sched::Objects named = we_filter ? c_.engine.deviceClaims().asked(pod) : sched::Objects{};
  named.claim = c_.cache().claim({pod.key.ns, sched::claimName(pod)});
  if (we_filter) {
    auto volumes = c_.engine.askedOfVolumes(pod);
    named.volumes = std::move(volumes.selection);
    named.no_volumes = std::move(volumes.blocked);
    named.default_spread = c_.engine.defaultSpreads().of(pod);
  }
  auto door = sched::readPod(pod, named, c_.engine.doors(),
                             we_filter ? sched::Filters::Ours : sched::Filters::Theirs);
  auto* request = std::get_if<sched::PodRequest>(&door);
  if (request == nullptr) { return door; }
  const bool by_id = request->door != nullptr && request->door->by_id;
  const bool selects = request->devices && request->devices->selection != nullptr;  // the driver tells these
  if (c_.config.requires_injection && !pod.untold.empty() && by_id && !selects) {
    return sched::Blocked{"GpuEnvMissing", untoldText(pod) +
                                               ": delete the pod and create it again while "
                                               "gpu-scheduler-webhook runs, or write that entry into it"};
  }
  if (request->devices) { request->devices->max_sharers = c_.config.max_sharers; }
  if (we_filter) {
    if (auto blocked = c_.engine.askNear(pod, *request)) { return *std::move(blocked); }
  }
  const std::int64_t milli = sched::gpuMilli(*request);
  const bool counts = milli > 0 || (selects && request->devices->count == 0);
  if (counts && c_.engine.quota().awaited()) {
    return sched::Blocked{"QuotaUnknown", "the GPU quotas are not known: " + c_.engine.quota().state()};
  }
  if (milli > 0) { request->quota = c_.engine.quotaBound(pod.key.ns, milli); }
  if (auto blocked = uncountable(pod, *request)) { return *std::move(blocked); }
  if (c_.config.cache_weight > 0) { request->better_with = pod.kernel_caches; }
  if (we_filter || !GS_MUTANT(OffersRefused)) {
    request->not_on = in_vain_.leftOut(pod.uid, held_back_.contains(pod.uid), c_.now.mono);
  }
  if (const auto kept = kept_off_.find(pod.uid); kept != kept_off_.end()) {
    for (const auto& [node, version] : kept->second) { request->kept_off.push_back(node); }
  }
  return door;
}

/// Where a quota of GPUs binds the namespace nobody may ask for as many as a node happens to have.
std::optional<sched::Blocked> PendingPods::uncountable(const model::Pod& pod,
                                                       const sched::PodRequest& request) const {
  const bool is_open =
      request.devices && request.devices->selection != nullptr && request.devices->count == 0;
  if (!is_open || !c_.engine.quotaBound(pod.key.ns, 0)) { return std::nullopt; }
  return sched::Blocked{
      "AllUnderQuota",
      fmt::format("a ResourceClaim of the pod asks for all devices of a node (allocationMode All), and a "
                  "quota of GPUs binds namespace {}: write ExactCount and a count",
                  pod.key.ns)};
}

std::optional<sched::EquivalenceClass> PendingPods::enqueue(const model::Pod& pod) {
  const auto door = readDoor(pod);
  if (const auto* blocked = std::get_if<sched::Blocked>(&door)) {
    dequeue(pod.uid);
    block(pod.uid, blocked->kind == "SchedulingGated");
    if (blocked->kind == "SchedulingGated") { return std::nullopt; }
    // What belongs together is often applied together, and comes by several watches: a moment before anybody
    // is told.
    const auto seen = first_seen_.find(pod.uid);
    const bool may_come = blocked->kind == "ClaimMissing" || blocked->kind == "ResourceClaimMissing" ||
                          blocked->kind == "DeviceClassMissing";
    if (may_come && seen != first_seen_.end() && c_.now.mono < seen->second + kClaimGrace) {
      c_.reconciles.addAt(seen->second + kClaimGrace, pod.uid);
      return std::nullopt;
    }
    if (waitsForTheFirst(pod.uid, *blocked)) { return std::nullopt; }
    tell(pod, {blocked->kind, std::make_shared<const std::string>(blocked->text)});
    return std::nullopt;
  }
  unblock(pod.uid);
  begun_since_.erase(pod.uid);
  const Item item{pod.uid, pod.priority, pod.created.time_since_epoch().count(),
                  c_.engine.decider().classOf(std::get<sched::PodRequest>(door))};
  const auto [known, fresh] = queued_.try_emplace(pod.uid, item);
  if (!fresh && known->second.pod_class == item.pod_class && known->second.priority == item.priority) {
    return std::nullopt;
  }
  known->second = item;
  held_back_.remove(pod.uid);
  if (!attempts_.due(pod.uid, c_.now.mono)) {
    backOff(item, attempts_.notBefore(pod.uid));
    return std::nullopt;
  }
  if (!c_.engine.queue().add(item)) { return std::nullopt; }
  return item.pod_class;
}

/// Another pod is allocated the claim that both share: mostly that takes some ms, and nothing is said.
bool PendingPods::waitsForTheFirst(const model::Uid& uid, const sched::Blocked& blocked) {
  if (blocked.kind != "ResourceClaimBegun") {
    begun_since_.erase(uid);
    return false;
  }
  const Mono until = begun_since_.try_emplace(uid, c_.now.mono).first->second + kClaimGrace;
  if (c_.now.mono >= until) { return false; }
  c_.reconciles.addAt(until, uid);
  return true;
}

void PendingPods::backOff(const Item& item, Mono until) {
  queued_[item.uid] = item;
  c_.engine.queue().backOff(item, until.time_since_epoch().count());
}

void PendingPods::putBack(const Item& item) {
  queued_[item.uid] = item;
  c_.engine.queue().add(item);
}

void PendingPods::block(const model::Uid& uid, bool gated) {
  unblock(uid);
  blocked_.emplace(uid, gated);
  gated_ += gated ? 1 : 0;
}

void PendingPods::unblock(const model::Uid& uid) {
  const auto blocked = blocked_.extract(uid);
  if (!blocked.empty() && blocked.mapped()) { --gated_; }
}

void PendingPods::dequeue(const model::Uid& uid) {
  unblock(uid);
  if (queued_.erase(uid) == 0) { return; }
  c_.engine.queue().remove(uid);
  held_back_.remove(uid);
}

bool PendingPods::waitsAs(const model::Uid& uid, sched::EquivalenceClass pod_class) const {
  const auto item = queued_.find(uid);
  return item != queued_.end() && item->second.pod_class == pod_class;
}

std::optional<sched::EquivalenceClass> PendingPods::classOf(const model::Uid& uid) const {
  const auto item = queued_.find(uid);
  return item == queued_.end() ? std::nullopt : std::optional{item->second.pod_class};
}

std::uint64_t PendingPods::versionOf(const model::NodeName& name) const {
  const auto* node = c_.engine.ledger().find(name);
  return node == nullptr ? 0 : std::max(static_cast<std::uint64_t>(node->version), node->closed_version);
}

void PendingPods::keepOff(const model::Uid& uid, const std::vector<model::NodeName>& nodes) {
  for (const auto& node : nodes) { kept_off_[uid].insert_or_assign(node, versionOf(node)); }
  c_.reconciles.add(uid);
}

void PendingPods::keepOffOnly(const std::function<bool(const model::Pod&, const model::NodeName&)>& is_kept) {
  constexpr int kMostReadAnew = 256;
  constexpr std::size_t kMostLookedAt = 1U << 15;  // nodes, of all pods together
  int most = kMostReadAnew;
  std::size_t looks = 0;
  auto it = kept_off_.upper_bound(last_let_go_);
  for (std::size_t left = kept_off_.size(); left > 0 && most > 0 && looks < kMostLookedAt; --left) {
    if (it == kept_off_.end()) { it = kept_off_.begin(); }
    looks += it->second.size();
    last_let_go_ = it->first;
    const model::Pod* pod = c_.cache().pod(it->first);
    const auto is_over = [&](const auto& off) {
      return pod == nullptr || off.second != versionOf(off.first) || !is_kept(*pod, off.first);
    };
    if (std::erase_if(it->second, is_over) > 0) {
      c_.reconciles.add(it->first);
      --most;
    }
    it = it->second.empty() ? kept_off_.erase(it) : std::next(it);
  }
}

std::unordered_set<sched::EquivalenceClass> PendingPods::classes() const {
  std::unordered_set<sched::EquivalenceClass> used;
  for (const auto& [uid, item] : queued_) { used.insert(item.pod_class); }
  return used;
}

void PendingPods::holdBack(const Item& item, const std::string& ns, bool last) {
  held_back_.add(ns, item, last || in_vain_.contains(item.uid));
}

std::optional<PendingPods::Item> PendingPods::bringBack(const std::string& ns) {
  auto item = held_back_.take(ns);
  if (!item) { return std::nullopt; }
  c_.engine.queue().add(*item);
  if (in_vain_.contains(item->uid)) { c_.reconciles.addAt(c_.now.mono + kAfterTurn, item->uid); }
  return item;
}

void PendingPods::tell(const model::Pod& pod, const Rejection& rejection) {
  const auto also = also_said_ ? also_said_(pod.uid) : AlsoSaid{};
  const bool is_of_nodes = rejection.pod_reason.has_value();
  if (also.text.empty() || (also.kind.empty() && !is_of_nodes)) { return say(pod, rejection); }
  say(pod, {also.kind.empty() ? rejection.kind : rejection.kind + "," + also.kind,
            std::make_shared<const std::string>(*rejection.text + " " + also.text),
            rejection.pod_reason ? *rejection.pod_reason : sched::podReasonOf(rejection.kind)});
}

void PendingPods::say(const model::Pod& pod, const Rejection& rejection) {
  ++told_;
  waiting_text_[pod.uid] = rejection.text;
  if (logged_.add(pod.uid, rejection.kind)) {
    c_.log(kapi::Level::Info, "waits", {{"pod", pod.key.text()}, {"reason", *rejection.text}});
  }
  if (c_.places(pod)) {  // else kube-scheduler says it
    const auto reason = rejection.pod_reason ? *rejection.pod_reason : sched::podReasonOf(rejection.kind);
    reporter_.waiting(pod.uid, rejection.kind, reason, rejection.text);
  }
  touchClaimOf(pod.uid);
}

std::string PendingPods::whyWaiting(const model::Uid& uid) const {
  const auto it = waiting_text_.find(uid);
  return it == waiting_text_.end() ? std::string{} : *it->second;
}

bool PendingPods::knowsMore(const model::Uid& uid, sched::EquivalenceClass pod_class) const {
  return in_vain_.refused(uid) && !c_.engine.decider().request(pod_class).not_on.empty();
}

void PendingPods::triedInVain(const BindingCycle& cycle) {
  if (c_.cache().pod(cycle.uid) == nullptr) { return; }
  const auto until = in_vain_.tried(cycle.uid, cycle.node, cycle.refused, c_.now.mono);
  if (until) { c_.reconciles.addAt(*until, cycle.uid); }
}

std::optional<Mono> PendingPods::placed(const model::Uid& uid) {
  attempts_.forget(uid);
  in_vain_.forget(uid);
  unblock(uid);
  logged_.forget(uid);
  const auto seen = first_seen_.extract(uid);
  reporter_.silent(uid, true);
  waiting_text_.erase(uid);
  return seen.empty() ? std::nullopt : std::optional{seen.mapped()};
}

void PendingPods::over(const model::Uid& uid) {
  dequeue(uid);
  logged_.forget(uid);
  reporter_.silent(uid, true);
  waiting_text_.erase(uid);
  first_seen_.erase(uid);
  begun_since_.erase(uid);
}

void PendingPods::podEnded(const model::Uid& uid) {
  over(uid);
  kept_off_.erase(uid);
  attempts_.forget(uid);
  in_vain_.forget(uid);
}

void PendingPods::touchClaimOf(const model::Uid& uid) {
  const model::Pod* pod = c_.cache().pod(uid);
  if (pod == nullptr) { return; }
  if (auto claim = sched::claimName(*pod); !claim.empty()) {
    claims_.touched({pod->key.ns, std::move(claim)});
  }
}

void PendingPods::tick(Now now, kapi::Effects& /*out*/) {
  for (auto& uid : attempts_.takeDue(now.mono)) { c_.reconciles.add(std::move(uid)); }
}

/// The next term sees them for the first time: who ends meanwhile is not reconciled.
void PendingPods::reset() {
  for (const auto& [uid, item] : queued_) { c_.engine.queue().remove(uid); }
  queued_.clear();
  held_back_.clear();
  kept_off_.clear();
  blocked_.clear();
  gated_ = 0;
  logged_.reset();
  attempts_.reset();
  in_vain_.reset();
  waiting_text_.clear();
  first_seen_.clear();
  begun_since_.clear();
}

}  // namespace gs::scheduler
