// Queue and decisions: which pod next, where, and what to say when nowhere.
#include <fmt/format.h>

#include <algorithm>

#include "base/planted.h"
#include "kapi/retry_wait.h"
#include "model/annotations.h"
#include "sched/quota.h"
#include "scheduler/metrics.h"
#include "scheduler/scheduler.h"

namespace gs::scheduler {
namespace {

constexpr Duration kClaimGrace = std::chrono::seconds{1};
constexpr Duration kRefusalGap = std::chrono::seconds{1};  // between two looks at what parked pods are told
constexpr std::size_t kNodesPerEvent = 200'000;            // looked at for parked classes in one handle()
constexpr std::size_t kMostInVain = 8;                     // nodes that one pod is kept from at once
constexpr std::size_t kMaxClasses = 4096;                  // over it, those without a pod are forgotten

}  // namespace

sched::DoorResult Scheduler::readDoor(const model::Pod& pod) const {
  auto door = sched::readPod(pod, engine_.cache().claim({pod.key.ns, sched::claimName(pod)}));
  if (auto* request = std::get_if<sched::PodRequest>(&door)) {
    if (request->devices) { request->devices->max_sharers = config_.max_sharers; }
    if (GS_PLANTED(IgnoresTopology) && request->devices) { request->devices->topology.reset(); }
    request->kept_away_by = engine_.keepAway().meaning(pod.key.ns, pod.labels);
    const std::int64_t milli = sched::gpuMilli(*request);
    if (milli > 0 && engine_.quota().awaited()) {
      return sched::Blocked{"QuotaUnknown", "the GPU quotas are not known: " + engine_.quota().state()};
    }
    if (milli > 0) { request->quota = engine_.quotaBound(pod.key.ns, milli); }
    notOn(pod, *request);
  }
  return door;
}

/// A node on which a try came to nothing is left out for a while, twice as long each time, so that others are tried before it.
void Scheduler::triedInVain(const Grant& grant) {
  if (engine_.cache().pod(grant.uid) == nullptr) { return; }
  NodesInVain& nodes = in_vain_[grant.uid];
  if (nodes.tries.size() >= kMostInVain && !nodes.tries.contains(grant.node)) { return; }
  const kapi::RetryTerms terms{std::chrono::seconds{2},
                               std::chrono::seconds{20}};  // longer than it waits itself
  const Mono until = now_.mono + kapi::retryWait(++nodes.tries[grant.node], {}, terms);
  nodes.until[grant.node] = until;
  review_later_.emplace(until, grant.uid);
}

void Scheduler::notOn(const model::Pod& pod, sched::PodRequest& request) const {
  const auto nodes = in_vain_.find(pod.uid);
  if (nodes == in_vain_.end()) { return; }
  for (const auto& [node, until] : nodes->second.until) {
    if (now_.mono < until) { request.not_on.push_back(node); }
  }
}

void Scheduler::enqueue(const model::Pod& pod) {
  if (pod.deleting || !taking_) {
    dequeue(pod.uid);
    return;
  }
  const auto door = readDoor(pod);
  if (const auto* blocked = std::get_if<sched::Blocked>(&door)) {
    dequeue(pod.uid);
    if (blocked->kind == "SchedulingGated") { return; }
    // Pod and claim are often applied together, and come by two watches: a moment before anybody is told.
    const auto seen = first_seen_.find(pod.uid);
    if (blocked->kind == "ClaimMissing" && seen != first_seen_.end() &&
        now_.mono < seen->second + kClaimGrace) {
      review_later_.emplace(seen->second + kClaimGrace, pod.uid);
      return;
    }
    tell(pod, {blocked->kind, std::make_shared<const std::string>(blocked->text)});
    return;
  }
  const sched::Queue::Item item{pod.uid, pod.priority, pod.created.time_since_epoch().count(),
                                engine_.decider().classOf(std::get<sched::PodRequest>(door))};
  const auto [known, fresh] = queued_.try_emplace(pod.uid, item);
  if (!fresh && known->second.pod_class == item.pod_class && known->second.priority == item.priority) {
    return;
  }
  known->second = item;
  held_back_.remove(pod.uid);
  if (!attempts_.due(pod.uid, now_.mono)) {
    engine_.queue().backOff(item, attempts_.notBefore(pod.uid).time_since_epoch().count());
    return;
  }
  engine_.queue().add(item);
  if (const auto parked = parked_.find(item.pod_class); parked != parked_.end()) {
    tell(pod, parked->second);
  }
}

void Scheduler::tell(const model::Pod& pod, const Refusal& refusal) {
  waiting_text_[pod.uid] = refusal.text;
  reporter_.waiting(pod.uid, refusal.kind, refusal.text);
  touchClaimOf(pod.uid);
}

/// Parked classes that something now fits become ready again. Looked at when the ledger changed, in turn, some at a time:
/// each costs what changed, but there may be as many as there are pods.
void Scheduler::unparkFitting() {
  const auto end = engine_.ledger().changesEnd();
  if (end != checked_changes_) {
    checked_changes_ = end;
    unchecked_ = engine_.queue().parkedClasses().size();
  }
  const std::size_t budget = parkedPerEvent();
  for (std::size_t i = 0; i < budget && unchecked_ > 0; ++i, --unchecked_) {
    const auto next = engine_.queue().nextParked(last_checked_);
    if (!next) {
      unchecked_ = 0;
      return;
    }
    last_checked_ = *next;
    if (engine_.decider().fits(last_checked_)) {
      engine_.queue().unpark(last_checked_);
      parked_.erase(last_checked_);
    } else if (!refresh_at_) {
      refresh_at_ = now_.mono + kRefusalGap;
    }
  }
}

/// Other quotas bind other pods, so everybody who waits is read anew; what is used of them moves whole classes.
void Scheduler::followQuotas() {
  if (!engine_.quota().config().on()) { return; }
  if (const auto warning = engine_.quota().takeWarning()) {
    log(kapi::Level::Warn, warning->note, {});
    events_.send(*warning, now_, out_);
  }
  const std::uint64_t table = engine_.quota().version();
  const std::uint64_t used = engine_.ledger().gpuUseVersion();
  const bool other_table = std::exchange(quota_version_, table) != table;
  const bool other_use = std::exchange(gpu_use_version_, used) != used;
  if (other_table) {
    for (const auto& [uid, pod] : engine_.cache().pods()) {
      if (ours(*pod) && !pod->bound()) { review_.insert(uid); }
    }
  }
  if (!other_table && !other_use) { return; }
  const auto bound = [this](const std::string& ns, std::int64_t milli) {
    return engine_.quotaBound(ns, milli);
  };
  if (engine_.decider().followQuotas(bound)) { unchecked_ = engine_.queue().parkedClasses().size(); }
}

/// Requests that no pod makes any more are forgotten, when there are many.
void Scheduler::retireClasses() {
  if (engine_.decider().classes() <= kMaxClasses) { return; }
  std::set<sched::ClassId> used;
  for (const auto& [uid, item] : queued_) { used.insert(item.pod_class); }
  engine_.decider().retireAllBut([&](sched::ClassId id) { return used.contains(id); });
  std::erase_if(parked_, [&](const auto& parked) { return !used.contains(parked.first); });
}

void Scheduler::scheduleSome() {
  constexpr int kPerRound = 256;  // keeps one handle() short
  if (!adopted_) { return; }
  engine_.queue().tick(now_.mono.time_since_epoch().count());
  unparkFitting();
  bringBack();
  for (int i = 0; i < kPerRound && slots_.any() && taking_; ++i) {
    const auto item = engine_.queue().pop();
    if (!item) { return; }
    if (!holdBack(*item)) { decideOne(*item); }
  }
}

/// Its namespace has no slot now: others go on without it.
bool Scheduler::holdBack(const sched::Queue::Item& item) {
  const model::Pod* pod = engine_.cache().pod(item.uid);
  if (pod == nullptr || slots_.free(pod->key.ns) > 0) { return false; }
  held_back_.add(pod->key.ns, item);
  return true;
}

/// Into the queue again, as many of each namespace as it has slots for now.
void Scheduler::bringBack() {
  if (!slots_.takeFreed()) { return; }
  for (const auto& ns : held_back_.namespaces()) {
    for (int n = slots_.free(ns); n > 0; --n) {
      const auto item = held_back_.take(ns);
      if (!item) { break; }
      engine_.queue().add(*item);
      const auto parked = parked_.find(item->pod_class);
      const model::Pod* pod = engine_.cache().pod(item->uid);
      if (parked != parked_.end() && pod != nullptr) { tell(*pod, parked->second); }
    }
  }
}

void Scheduler::decideOne(const sched::Queue::Item& item) {
  const model::Pod* pod = engine_.cache().pod(item.uid);
  queued_.erase(item.uid);
  if (pod == nullptr || pod->bound() || pod->deleting || grants_.contains(item.uid) ||
      repairs_.contains(item.uid)) {
    return;
  }
  followQuotas();
  const auto placed = engine_.decider().decide(item.pod_class);
  if (!placed) {
    queued_[item.uid] = item;
    engine_.queue().add(item);
    count(kScheduleAttempts, {{"result", "unschedulable"}, {"profile", config_.scheduler_name}});
    refuse(item.pod_class);
    return;
  }
  if (!placed->ids.empty() && !record_.ours()) {
    queued_[item.uid] = item;
    engine_.queue().backOff(item,
                            now_.mono.time_since_epoch().count() + Duration{std::chrono::seconds{1}}.count());
    const auto text = std::make_shared<const std::string>(
        "no GPU lease can be written yet: the GpuClaim CRD is missing; apply the CRDs");
    reporter_.waiting(item.uid, "NoLeaseRecord", text);
    return;
  }
  grantTo(*pod, item.pod_class, *placed);
}

/// Everybody of that class waits, and for the same reason. Who was told already is told again only when the words changed.
void Scheduler::refuse(sched::ClassId pod_class) {
  sched::Refusal now = engine_.decider().refusal(pod_class);
  auto untold = engine_.queue().park(pod_class);
  Refusal& refusal = parked_[pod_class];
  if (refusal.text == nullptr || *refusal.text != now.text) {
    refusal = {std::move(now.kind), std::make_shared<const std::string>(std::move(now.text))};
    untold = engine_.queue().parkedPods(pod_class);
  }
  for (const auto& uid : untold) {
    const model::Pod* pod = engine_.cache().pod(uid);
    const bool knows = in_vain_.contains(uid) && waiting_text_.contains(uid);  // what was refused says more
    if (pod != nullptr && !knows) { tell(*pod, refusal); }
  }
}

/// Classes that may be looked at in one event: for all we know each costs a look at every node.
std::size_t Scheduler::parkedPerEvent() const {
  return std::clamp<std::size_t>(kNodesPerEvent / std::max<std::size_t>(1, engine_.ledger().size()), 1, 64);
}

/// What parked pods are told follows the cluster: soon when the kind of refusal changed, by the sweep when only numbers did.
/// In turn, some at a time.
void Scheduler::refreshParked(bool numbers_too) {
  refresh_at_.reset();
  const std::size_t parked = engine_.queue().parkedClasses().size();
  const std::size_t budget = parkedPerEvent();
  if (parked > budget) { refresh_at_ = now_.mono + kRefusalGap; }
  for (std::size_t i = 0; i < std::min(budget, parked); ++i) {
    const auto pod_class = last_refreshed_ = *engine_.queue().nextParked(last_refreshed_);
    const auto told = parked_.find(pod_class);
    const bool same = told != parked_.end() && told->second.kind == engine_.decider().refusal(pod_class).kind;
    if (!same || numbers_too) { refuse(pod_class); }
  }
}

void Scheduler::grantTo(const model::Pod& pod, sched::ClassId pod_class, const sched::Placed& placed) {
  const sched::PodRequest& request = engine_.decider().request(pod_class);
  Grant grant;
  grant.id = model::ReservationId{rng_.uuid()};
  grant.uid = pod.uid;
  grant.pod = pod.key;
  grant.node = placed.node;
  grant.ids = placed.ids;
  if (GS_PLANTED(GrantsOneTooFew) && grant.ids.size() > 1) { grant.ids.pop_back(); }
  grant.shared = request.devices && request.devices->shared;
  grant.fence = fenceOf(pod);
  grant.hold = engine_.ledger().reserve(placed.node, pod.uid, request, grant.ids,
                                        {pod.key.ns, sched::gpuMilli(request)});
  reporter_.silent(pod.uid, false);
  slots_.open(pod.uid, pod.key.ns);
  Grant& kept = grants_.emplace(pod.uid, std::move(grant)).first->second;
  if (kept.ids.empty()) {
    advance(kept);
  } else {
    takeLeases(kept, false);
  }
}

}  // namespace gs::scheduler
