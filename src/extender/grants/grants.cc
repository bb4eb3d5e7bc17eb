#include "extender/grants/grants.h"

#include <fmt/format.h>

#include <algorithm>

#include "extender/grants/config.h"
#include "sched/doors/vcuda.h"

namespace gs::extender {
namespace {

/// However often a pod was moved to and fro, it had those devices once.
void addOnce(sched::SharePicks& all, const sched::SharePicks& some) {
  if (std::search(all.begin(), all.end(), some.begin(), some.end()) != all.end()) { return; }
  all.insert(all.end(), some.begin(), some.end());
}

Mono dueOf(const Grant& g) {
  Mono due = g.callers.nextLate();
  if (g.write.isUnderWay()) { return due; }
  due = std::min(due, g.write.due());
  if (!g.write.isRemoving() && g.callers.empty()) { due = std::min(due, g.asked + kForgottenAfter); }
  if (g.write.isWritten()) {
    if (g.given_up) { due = std::min(due, *g.given_up + kGivenUpAfter); }
    if (g.contested) { due = std::min(due, *g.contested); }
  }
  return due;
}

}  // namespace

Grant* Grants::find(const model::Uid& uid) {
  const auto it = grants_.find(uid);
  return it == grants_.end() ? nullptr : &it->second;
}

Grant& Grants::of(const model::Uid& uid, const model::ObjectKey& pod) {
  Grant& g = grants_[uid];
  g.uid = uid;
  g.pod = pod;
  return g;
}

void Grants::end(const model::Uid& uid) {
  const auto grant = grants_.extract(uid);  // `uid` may be a part of it
  if (const auto due = grant.mapped().due) { due_.erase({*due, grant.key()}); }
}

void Grants::clear() {
  grants_.clear();
  due_.clear();
}

/// Under --compat=strict only bound pods count.
sched::GpuCharge Grants::chargeOf(const model::Pod& pod) const {
  return bound_count_only_ ? sched::GpuCharge{} : sched::GpuCharge{pod.key.ns, sched::vcudaMilli(pod)};
}

void Grants::moves(Grant& g) {
  if (!g.note.node.empty()) { addOnce(g.before[g.note.node], g.picks); }
}

void Grants::reserve(Grant& g, const model::Pod& pod) {
  g.holds.clear();
  if (g.note.node.empty()) { return; }
  const std::string gang = pod.gang.empty() ? "" : fmt::format("{}/{}", pod.key.ns, *pod.gang);
  sched::SharePicks here = g.picks;
  for (const auto& [node, picks] : g.before) {
    if (node == g.note.node) {
      here = picks;
      addOnce(here, g.picks);
    } else {
      reserveOn(g, node, picks, {}, gang);
    }
  }
  reserveOn(g, g.note.node, here, chargeOf(pod), gang);
}

void Grants::reserveOn(Grant& g, const model::NodeName& node, const sched::SharePicks& picks,
                       const sched::GpuCharge& charge, const std::string& gang) {
  if (engine_.ledger().isReserved(node, g.uid)) { return; }  // by gpu-scheduler
  g.holds.push_back(engine_.ledger().reserveShares(node, g.uid, picks, charge, gang));
}

Grants::Aside Grants::setAside(const model::Pod& pod) {
  Grant* own = find(pod.uid);
  if (own != nullptr) { own->holds.clear(); }
  return {*this, own, pod};
}

void Grants::plan(const model::Uid& uid) {
  Grant* g = find(uid);
  if (g == nullptr) { return; }
  const Mono due = dueOf(*g);
  if (g->due == due) { return; }
  if (g->due) { due_.erase({*g->due, uid}); }
  g->due = due;
  due_.emplace(due, uid);
}

Grant* Grants::takeDue(Mono now) {
  while (!due_.empty() && due_.begin()->first <= now) {
    const model::Uid uid = due_.extract(due_.begin()).value().second;
    if (Grant* g = find(uid)) {  // else it has ended since
      g->due.reset();
      return g;
    }
  }
  return nullptr;
}

}  // namespace gs::extender
