// Queue and decisions: which pod next, where, and what to say when nowhere.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "base/planted.h"
#include "kapi/retry_wait.h"
#include "model/annotations.h"
#include "sched/quota.h"
#include "scheduler/metrics.h"
#include "scheduler/scheduler.h"

namespace gs::scheduler {
namespace {

constexpr Duration kClaimGrace = std::chrono::seconds{1};
constexpr Duration kRefusalGap =
    std::chrono::seconds{1};  // between two rounds through what parked pods are told
constexpr Duration kRefusalTurn = std::chrono::milliseconds{50};  // between two parts of a round
constexpr Duration kAfterTurn = std::chrono::seconds{1};  // whoever was held back may be tried anywhere again
constexpr std::size_t kMaxClasses = 4096;                 // over it, those without a pod are forgotten
constexpr std::size_t kMostRetired = 8192;                // at once
// At nodes (Decider::looks): after so many for parked pods, and again for ready ones, another event has its turn.
constexpr std::uint64_t kLooksPerTurn = 8'192;
constexpr std::size_t kFewNodes = 512;         // looking at all of them is cheap
constexpr std::size_t kParkedPerTurn = 4'096;  // classes
constexpr std::size_t kUnparkedPerTurn = 256;
constexpr std::size_t kToldPerTurn = 1'024;
constexpr Duration kMostInVainFor = std::chrono::minutes{3};
constexpr std::size_t kMostInVain = 64;  // nodes that one pod is kept from at once

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
    if (milli > 0 && !GS_PLANTED(IgnoresQuotas)) { request->quota = engine_.quotaBound(pod.key.ns, milli); }
    notOn(pod, *request);
  }
  return door;
}

/// A node on which a try came to nothing is left out while any other may do, and for a while in any case:
/// longer each time, and the longer the more of them there are, so that each has its turn.
void Scheduler::triedInVain(const Grant& grant) {
  if (engine_.cache().pod(grant.uid) == nullptr) { return; }
  NodesInVain& in_vain = in_vain_[grant.uid];
  in_vain.refused = grant.refused;
  if (in_vain.nodes.size() >= kMostInVain && !in_vain.nodes.contains(grant.node)) { return; }
  const kapi::RetryTerms terms{std::chrono::seconds{2},
                               std::chrono::seconds{20}};  // longer than it waits itself
  NodesInVain::Tries& tries = in_vain.nodes[grant.node];
  const Duration one = kapi::retryWait(++tries.number, {}, terms);
  const Duration each = one * std::max<std::size_t>(2, in_vain.nodes.size()) / 2;
  tries.until = now_.mono + std::min<Duration>(each, kMostInVainFor);
  review_later_.emplace(tries.until, grant.uid);
}

void Scheduler::notOn(const model::Pod& pod, sched::PodRequest& request) const {
  const auto in_vain = in_vain_.find(pod.uid);
  if (in_vain == in_vain_.end()) { return; }
  const bool all = !in_vain->second.nowhere_else || held_back_.contains(pod.uid);
  for (const auto& [node, tries] : in_vain->second.nodes) {
    if (all || now_.mono < tries.until) { request.not_on.push_back(node); }
  }
}

/// It is parked, so nothing fits but where it was tried: it is tried there again, as the time of each is
/// over.
void Scheduler::fitsNowhereElse(const model::Uid& uid) {
  const auto in_vain = in_vain_.find(uid);
  if (in_vain != in_vain_.end()) { in_vain->second.nowhere_else = true; }
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
  const bool is_parked = engine_.queue().add(item);
  const auto told = parked_.find(item.pod_class);
  if (is_parked) { fitsNowhereElse(pod.uid); }
  if (is_parked && told != parked_.end()) { tell(pod, told->second); }
}

void Scheduler::tell(const model::Pod& pod, const Refusal& refusal) {
  ++told_;
  waiting_text_[pod.uid] = refusal.text;
  reporter_.waiting(pod.uid, refusal.kind, refusal.text);
  touchClaimOf(pod.uid);
}

/// Parked classes that something now fits become ready again. Looked at when the ledger changed, in turn, some at a time:
/// each looks at the nodes that changed since its last turn, and may stop among them. So `c` classes and `n` changed nodes take
/// at most 1 + c / kParkedPerTurn + c * n / kLooksPerTurn events, which follow each other at once.
void Scheduler::unparkFitting() {
  const auto end = engine_.ledger().changesEnd() + engine_.ledger().closings().end();
  if (end != checked_changes_) {
    checked_changes_ = end;
    unchecked_ = engine_.queue().parkedClasses().size();
  }
  sched::Decider& decider = engine_.decider();
  const std::uint64_t until = decider.looks() + kLooksPerTurn;
  std::size_t unparked = 0;
  for (std::size_t i = 0; i < kParkedPerTurn && unparked < kUnparkedPerTurn && unchecked_ > 0; ++i) {
    if (decider.looks() >= until) { return; }
    const auto next = engine_.queue().nextParked(last_checked_);
    if (!next) {
      unchecked_ = 0;
      return;
    }
    const auto standing = decider.look(*next, until - decider.looks());
    if (standing == sched::Decider::Standing::Unknown) { return; }  // it goes on there
    last_checked_ = *next;
    --unchecked_;
    if (standing == sched::Decider::Standing::Fits) {
      engine_.queue().unpark(*next);
      ++unparked;
    } else {
      words_are_old_ = true;
    }
  }
  if (words_are_old_ && !refresh_at_) { refresh_at_ = now_.mono + kRefusalGap; }
}

/// Other quotas bind other pods, so everybody who waits is read anew; what is used of them moves whole classes.
void Scheduler::followQuotas() {
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
  const auto room = [this](const std::string& ns) { return engine_.quotaRoom(ns); };
  if (engine_.decider().followQuotas(room, other_table)) {
    unchecked_ = engine_.queue().parkedClasses().size();
  }
}

/// Requests that no pod makes any more are forgotten, when there are many.
void Scheduler::retireClasses() {
  if (engine_.decider().classes() <= kMaxClasses) { return; }
  std::unordered_set<sched::ClassId> used;
  for (const auto& [uid, item] : queued_) { used.insert(item.pod_class); }
  const auto is_used = [&](sched::ClassId id) { return used.contains(id); };
  engine_.decider().retireAllBut(is_used, kMostRetired);
  std::erase_if(parked_, [&](const auto& parked) { return !is_used(parked.first); });
}

void Scheduler::scheduleSome() {
  constexpr int kPerRound = 256;  // keeps one handle() short
  if (!adopted_) { return; }
  engine_.queue().tick(now_.mono.time_since_epoch().count());
  unparkFitting();
  bringBack();
  const std::uint64_t until = engine_.decider().looks() + kLooksPerTurn;
  for (int i = 0; i < kPerRound && slots_.any() && taking_ && engine_.decider().looks() < until; ++i) {
    const auto item = engine_.queue().pop();
    if (!item) { return; }
    if (!holdBack(*item)) { decideOne(*item); }
  }
}

/// Its namespace has no slot now: others go on without it.
bool Scheduler::holdBack(const sched::Queue::Item& item) {
  const model::Pod* pod = engine_.cache().pod(item.uid);
  if (pod == nullptr || slots_.free(pod->key.ns) > 0) { return false; }
  const auto probe = probes_.find(item.uid);
  const bool failed = probe != probes_.end() && probe->second == Probe::Failed;
  held_back_.add(pod->key.ns, item, failed || in_vain_.contains(item.uid));
  return true;
}

/// Into the queue again, as many of each namespace as it has free slots.
void Scheduler::bringBack() {
  if (!slots_.takeFreed() && !std::exchange(brought_back_, false)) { return; }
  for (const auto& ns : held_back_.namespaces()) {
    for (int n = slots_.free(ns); n > 0; --n) {
      const auto item = held_back_.take(ns);
      if (!item) { break; }
      brought_back_ = true;  // it may need no slot after all: then the next one has its turn
      engine_.queue().add(*item);
      if (in_vain_.contains(item->uid)) { review_later_.emplace(now_.mono + kAfterTurn, item->uid); }
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
  if (review_.contains(item.uid)) { return; }  // it asks for something else now: its review queues it again
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
  // An extender on this engine was asked in the pod's name before it was known: it gives that back when it sees the pod.
  if (engine_.ledger().isReserved(placed->node, pod->uid)) {
    queued_[item.uid] = item;
    engine_.queue().backOff(item,
                            now_.mono.time_since_epoch().count() + Duration{std::chrono::seconds{1}}.count());
    return;
  }
  if (slots_.anyStuck(pod->key.ns)) {
    const auto known = probes_.find(item.uid);
    if (known == probes_.end() || known->second != Probe::WentThrough) { return probe(*pod); }
  }
  endProbe(item.uid);
  grantTo(*pod, item.pod_class, *placed);
}

bool Scheduler::probing(const model::Uid& uid) const {
  const auto it = probes_.find(uid);
  return it != probes_.end() && it->second == Probe::UnderWay;
}

/// A fence says whether its placement could be taken back. It has a slot meanwhile, and no GPU.
void Scheduler::probe(const model::Pod& pod) {
  probes_[pod.uid] = Probe::UnderWay;
  slots_.open(pod.uid, pod.key.ns);
  count(kFences, {{"why", "probe"}});
  call(kapi::fencePod(pod.key, pod.uid, rng_.uuid()), Purpose::Probe, pod.uid);
}

void Scheduler::probed(const model::Uid& uid, const kapi::Outcome& outcome) {
  if (!probing(uid)) { return; }
  slots_.close(uid);
  const auto* answer = std::get_if<model::PodPtr>(&outcome.object);
  if (outcome.fate == kapi::Fate::Applied && answer != nullptr && (*answer)->uid == uid) {
    probes_[uid] = Probe::WentThrough;
    engine_.learn(outcome.object, now_.mono);
    return;
  }
  probes_[uid] = Probe::Failed;
  const kapi::RetryTerms terms{std::chrono::seconds{1}, std::chrono::seconds{30}};
  attempts_.tried(uid, now_.mono, kapi::retryWait(attempts_.tries(uid) + 1, outcome.retry_after, terms));
  if (const model::Pod* pod = engine_.cache().pod(uid)) {
    slots_.failed(pod->key.ns);
    warnOnce(*pod, "FailedScheduling",
             fmt::format("the pod's status cannot be written: {} {}", outcome.http, outcome.message));
  }
}

void Scheduler::endProbe(const model::Uid& uid) {
  if (probing(uid)) { slots_.close(uid); }
  probes_.erase(uid);
}

/// A round through the parked classes that is under way comes to this one too, and so to all others.
std::vector<model::Uid> Scheduler::park(sched::ClassId pod_class) {
  const std::size_t before = engine_.queue().parkedClasses().size();
  auto untold = engine_.queue().park(pod_class);
  const std::size_t more = engine_.queue().parkedClasses().size() - before;
  if (unchecked_ > 0) { unchecked_ += more; }
  if (unrefreshed_ > 0) { unrefreshed_ += more; }
  return untold;
}

/// Everybody of that class waits, and for the same reason. Where it takes a look at many nodes to find new words, the old ones do
/// until refreshParked() comes to them.
void Scheduler::refuse(sched::ClassId pod_class) {
  sched::Decider& decider = engine_.decider();
  const bool cheap = decider.remembersRefusal(pod_class) || engine_.ledger().size() <= kFewNodes;
  const auto told = parked_.find(pod_class);
  if (cheap || told == parked_.end()) { return refuse(pod_class, decider.refusal(pod_class)); }
  tellSoon(pod_class, park(pod_class));
  words_are_old_ = true;
  if (!refresh_at_) { refresh_at_ = now_.mono + kRefusalGap; }
}

/// Who was told already is told again only when the words changed.
void Scheduler::refuse(sched::ClassId pod_class, sched::Refusal now) {
  auto untold = park(pod_class);
  Refusal& refusal = parked_[pod_class];
  if (refusal.text == nullptr || *refusal.text != now.text) {
    refusal = {std::move(now.kind), std::make_shared<const std::string>(std::move(now.text))};
    untold_.erase(pod_class);  // equivalent: some would be told twice
    untold = engine_.queue().parkedPods(pod_class);
  }
  tellSoon(pod_class, std::move(untold));
}

void Scheduler::tellSoon(sched::ClassId pod_class, std::vector<model::Uid> pods) {
  if (pods.empty()) { return; }
  auto& untold = untold_[pod_class];
  untold.insert(untold.end(), std::make_move_iterator(pods.begin()), std::make_move_iterator(pods.end()));
}

/// Very many may have been parked at once.
void Scheduler::tellSome() {
  for (std::size_t left = kToldPerTurn; left > 0 && !untold_.empty(); --left) {
    const auto first = untold_.begin();
    const sched::ClassId pod_class = first->first;
    const model::Uid uid = std::move(first->second.back());
    first->second.pop_back();
    if (first->second.empty()) { untold_.erase(first); }
    const auto refusal = parked_.find(pod_class);
    const auto item = queued_.find(uid);
    const model::Pod* pod = engine_.cache().pod(uid);
    const bool waits = item != queued_.end() && item->second.pod_class == pod_class && pod != nullptr;
    if (!waits || refusal == parked_.end()) { continue; }
    fitsNowhereElse(uid);
    if (!knowsMore(uid, pod_class)) { tell(*pod, refusal->second); }
  }
}

/// It is kept from nodes that refused it a moment ago, and what they answered says more than that.
bool Scheduler::knowsMore(const model::Uid& uid, sched::ClassId pod_class) {
  const auto nodes = in_vain_.find(uid);
  return nodes != in_vain_.end() && nodes->second.refused &&
         !engine_.decider().request(pod_class).not_on.empty();
}

/// What parked pods are told follows the cluster: soon when the kind of refusal changed, by the sweep when only numbers did.
/// In turn, some at a time: one round through all of them, and another one if the ledger changed meanwhile.
void Scheduler::refreshParked(bool numbers_too) {
  refresh_at_.reset();
  sched::Decider& decider = engine_.decider();
  if (unrefreshed_ == 0 || numbers_too) {
    unrefreshed_ = engine_.queue().parkedClasses().size();
    refresh_numbers_ = numbers_too;
    words_are_old_ = false;
  }
  const std::uint64_t until = decider.looks() + kLooksPerTurn;
  for (; unrefreshed_ > 0 && decider.looks() < until; --unrefreshed_) {
    const auto next = engine_.queue().nextParked(last_refreshed_);
    if (!next) { break; }
    last_refreshed_ = *next;
    const auto told = parked_.find(*next);
    sched::Refusal now = decider.refusal(*next);
    const bool same = told != parked_.end() && told->second.kind == now.kind;
    if (!same || refresh_numbers_) { refuse(*next, std::move(now)); }
  }
  unrefreshed_ = std::min(unrefreshed_, engine_.queue().parkedClasses().size());
  if (unrefreshed_ > 0) {
    refresh_at_ = now_.mono + kRefusalTurn;
  } else if (words_are_old_) {
    refresh_at_ = now_.mono + kRefusalGap;
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
  grant.uuids = gpuUuids(grant.node, grant.ids);
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
