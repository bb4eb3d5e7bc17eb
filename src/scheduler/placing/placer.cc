#include "scheduler/placing/placer.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/due.h"
#include "sched/placement/fit.h"
#include "scheduler/core/metrics.h"

namespace gs::scheduler {
namespace {

constexpr Duration kAgainSoon = std::chrono::seconds{1};
constexpr Duration kLetGoGap = std::chrono::seconds{1};

}  // namespace

void Placer::enqueue(const model::Pod& pod) {
  const auto unschedulable = b_.pending.enqueue(pod);
  if (unschedulable) { b_.unschedulable.joined(pod, *unschedulable); }
}

void Placer::followQuotas() {
  if (const auto warning = c_.engine.quota().takeWarning()) {
    c_.log(kapi::Level::Warn, warning->note);
    c_.events.send(*warning, c_.now, c_.out);
  }
  const std::uint64_t table = c_.engine.quota().version();
  const std::uint64_t used = c_.engine.ledger().gpuUseVersion();
  const bool other_table = std::exchange(quota_version_, table) != table;
  const bool other_use = std::exchange(gpu_use_version_, used) != used;
  if (other_table) {
    for (const auto& [uid, pod] : c_.cache().pods()) {
      if (c_.places(*pod) && !pod->bound()) { c_.reconciles.add(uid); }
    }
  }
  if (!other_table && !other_use) { return; }
  const auto room = [this](const std::string& ns) { return c_.engine.quotaRoom(ns); };
  b_.unschedulable.lookAt(c_.engine.decider().followQuotas(room, other_table));
}

void Placer::placeSome(int& left) {
  ran_out_ = left == 0;
  if (ran_out_) { return; }
  b_.unschedulable.rejoined(c_.engine.queue().tick(c_.now.mono.time_since_epoch().count()));
  b_.unschedulable.activateFitting();
  bringBack();
  letKeptGo();
  const std::uint64_t until = c_.engine.looks() + Unschedulable::kLooksPerTurn;
  for (; left > 0 && b_.slots.any() && c_.engine.looks() < until; --left) {
    const auto item = c_.engine.queue().pop();
    if (!item) { return; }
    if (!heldBack(*item)) { decide(*item, until); }
  }
}

void Placer::letKeptGo() {
  if (!b_.pending.keepsOffSome() || c_.now.mono < next_let_go_) { return; }
  next_let_go_ = c_.now.mono + kLetGoGap;
  b_.pending.keepOffOnly(
      [this](const model::Pod& pod, const model::NodeName& node) { return b_.preemptor.isKept(node, pod); });
}

bool Placer::heldBack(const sched::Queue::Item& item) {
  const model::Pod* pod = c_.cache().pod(item.uid);
  if (pod == nullptr || b_.slots.free(pod->key.ns) > 0) { return false; }
  b_.pending.holdBack(item, pod->key.ns, b_.probes.failed(item.uid));
  return true;
}

/// As many of each namespace as it has free slots.
void Placer::bringBack() {
  if (!b_.slots.takeFreed() && !std::exchange(brought_back_, false)) { return; }
  for (const auto& ns : b_.pending.namespacesHeldBack()) {
    for (int n = b_.slots.free(ns); n > 0; --n) {
      const auto item = b_.pending.bringBack(ns);
      if (!item) { break; }
      brought_back_ = true;  // it may need no slot after all: then the next one has its turn
      if (const model::Pod* pod = c_.cache().pod(item->uid)) {
        b_.unschedulable.joined(*pod, item->pod_class);
      }
    }
  }
}

void Placer::decide(const sched::Queue::Item& item, std::uint64_t until) {
  const model::Pod* pod = c_.cache().pod(item.uid);
  b_.pending.leave(item.uid);
  if (pod == nullptr || pod->bound() || pod->deleting || b_.binder.has(item.uid) ||
      b_.leftovers.removing(item.uid)) {
    return;
  }
  // The pod that was decided before it may want no such pod beside it.
  c_.reconciles.add(c_.engine.takeTouched());
  if (c_.reconciles.contains(item.uid)) {
    return;
  }  // it asks for something else now: it will be queued again
  followQuotas();
  sched::Decider& decider = c_.engine.decider();
  const std::uint64_t left = until - std::min(until, c_.engine.looks());
  if (!decider.prepare(item.pod_class, left)) { return b_.pending.putBack(item); }  // it goes on there
  const sched::PodRequest& request = decider.request(item.pod_class);
  auto placed = onNominatedNode(*pod, request);
  if (!placed) { placed = decider.decide(item.pod_class); }
  if (placed) {
    const auto& node = *c_.engine.ledger().find(placed->node);
    if (b_.preemptor.admits(node, *pod, request)) { return place(*pod, item, *placed); }
    auto kept = b_.preemptor.keptFrom(*pod, request, placed->node);
    kept.push_back(placed->node);
    return b_.pending.keepOff(item.uid, kept);
  }
  b_.pending.putBack(item);
  if (c_.places(*pod)) {
    c_.count(kScheduleAttempts, {{"result", "unschedulable"}, {"profile", c_.config.scheduler_name}});
  }
  b_.unschedulable.reject(item.pod_class);
}

std::optional<sched::Placed> Placer::onNominatedNode(const model::Pod& pod,
                                                     const sched::PodRequest& request) const {
  if (!c_.places(pod)) { return std::nullopt; }
  const model::NodeName name = b_.preemptor.nominatedTo(pod.uid).value_or(pod.nominated);
  const auto* node = name.empty() ? nullptr : c_.engine.ledger().find(name);
  if (node == nullptr) { return std::nullopt; }
  auto fit = sched::fitOn(*node, request, pod.uid);
  if (!fit || !b_.preemptor.admits(*node, pod, request)) { return std::nullopt; }
  return sched::Placed{name, std::move(fit->ids), fit->score};
}

void Placer::place(const model::Pod& pod, const sched::Queue::Item& item, const sched::Placed& placed) {
  if (!c_.places(pod)) {
    return b_.nominator.wake(pod, c_.engine.decider().request(item.pod_class), placed.node);
  }
  if (!placed.ids.empty() && !b_.record.ours()) {
    b_.pending.backOff(item, c_.now.mono + kAgainSoon);
    const auto text = std::make_shared<const std::string>(
        "no GPU lease can be written yet: the GpuClaim CRD is missing; apply the CRDs");
    b_.pending.tell(pod, {"NoLeaseRecord", text});
    return;
  }
  // An extender on this engine was asked in the pod's name before it was known: it gives that back when it
  // sees the pod.
  if (c_.engine.ledger().isReserved(placed.node, pod.uid)) {
    return b_.pending.backOff(item, c_.now.mono + kAgainSoon);
  }
  if (b_.slots.anyStuck(pod.key.ns) && !b_.probes.wentThrough(item.uid)) { return b_.probes.probe(pod); }
  b_.probes.end(item.uid);
  b_.binder.begin(pod, c_.engine.decider().request(item.pod_class), placed);
}

bool Placer::hasMore() const {
  const bool may_come_back = b_.slots.freed() && b_.pending.heldBack() > 0;
  return ran_out_ || b_.unschedulable.mayFit() || brought_back_ || may_come_back ||
         (c_.engine.queue().ready() && b_.slots.any());
}

std::optional<Mono> Placer::nextDue() const {
  const auto ns = c_.engine.queue().nextDueNs();
  auto due = ns ? std::optional{Mono{Duration{*ns}}} : std::nullopt;
  if (b_.pending.keepsOffSome()) { due = sooner(due, next_let_go_); }
  return due;
}

}  // namespace gs::scheduler
