#include "scheduler/placing/holds.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/mutant.h"
#include "sched/ledger/quota.h"
#include "sched/placement/fit.h"

namespace gs::scheduler {
namespace {

sched::GpuCharge chargeOf(const std::string& ns, const sched::PodRequest& request) {
  return {ns, sched::gpuMilli(request)};
}

}  // namespace

bool Holds::mayBegin(const std::string& ns, const model::NodeName& node) const {
  return of_.free(ns) > 0 && !rests_.contains(node) && !quotas_rest_.contains(ns);
}

bool Holds::begin(const model::Pod& pod, const sched::PodRequest& request, const model::NodeName& node) {
  const bool may = given_.due(pod.uid, c_.now.mono) && mayBegin(pod.key.ns, node);
  if (!may || !hold(pod, request, node, c_.now.mono + kHeld, true)) { return false; }
  given_.tried(pod.uid, c_.now.mono);
  return true;
}

bool Holds::inLine(const model::Pod& pod, const sched::PodRequest& request, const model::NodeName& node) {
  return mayBegin(pod.key.ns, node) && hold(pod, request, node, c_.now.mono + kHeldInLine, false);
}

bool Holds::hold(const model::Pod& pod, const sched::PodRequest& request, const model::NodeName& node,
                 Mono until, bool yields) {
  release(pod.uid);
  sched::Ledger& ledger = c_.engine.ledger();
  const sched::NodeState* state = ledger.find(node);
  if (state == nullptr || !state->exists || ledger.isReserved(node, pod.uid)) { return false; }
  const auto fit = sched::fitOn(*state, request, pod.uid);
  if (!fit) { return false; }
  held_.emplace(pod.uid,
                Held{pod.key.ns, node, until, yields, request,
                     ledger.reserve(node, pod.uid, request, fit->ids, chargeOf(pod.key.ns, request))});
  of_.take(pod.key.ns);
  return true;
}

Holds::All::iterator Holds::erase(All::iterator held) {
  of_.giveBack(held->second.ns);
  return held_.erase(held);
}

std::optional<Holds::Suspended> Holds::suspend(const model::Uid& uid) {
  const auto held = held_.find(uid);
  if (held == held_.end()) { return std::nullopt; }
  Suspended was{held->second.node, held->second.until, held->second.yields, held->second.quotaOf()};
  erase(held);
  return was;
}

void Holds::resume(const model::Pod& pod, const sched::PodRequest& request, const Suspended& was,
                   const model::NodeName& node) {
  const bool goes_on = node == was.node || mayBegin(pod.key.ns, node);
  const Mono until = GS_MUTANT(HoldsAnew) ? c_.now.mono + kHeld : was.until;
  if (!goes_on || !hold(pod, request, node, until, was.yields)) { end(was); }
}

bool Holds::yield(const model::NodeName& node, const std::function<bool()>& fits) {
  std::vector<All::iterator> there;
  for (auto it = held_.begin(); it != held_.end(); ++it) {
    if (it->second.node == node && it->second.yields) { there.push_back(it); }
  }
  std::stable_sort(there.begin(), there.end(),
                   [](auto a, auto b) { return a->second.until < b->second.until; });
  std::vector<std::vector<int>> ids;
  for (std::size_t n = 0; n < there.size(); ++n) {
    ids.push_back(there[n]->second.reservation.ids());
    there[n]->second.reservation.release();
    if (!fits()) { continue; }
    for (std::size_t i = 0; i <= n; ++i) { erase(there[i]); }
    return true;
  }
  for (std::size_t i = 0; i < there.size(); ++i) {
    Held& held = there[i]->second;
    held.reservation = c_.engine.ledger().adopt(node, there[i]->first, held.request, ids[i],
                                                chargeOf(held.ns, held.request));
  }
  return false;
}

void Holds::rest(const model::NodeName& node, const std::string& quota_of) {
  rests_[node] = c_.now.mono + kRests;
  if (!quota_of.empty()) { quotas_rest_[quota_of] = c_.now.mono + kRests; }
}

void Holds::forget(const model::Uid& uid) {
  end(uid);
  given_.forget(uid);
}

void Holds::tick(Mono now) {
  const auto is_over = [&](const auto& rests) { return rests.second <= now; };
  std::erase_if(rests_, is_over);
  std::erase_if(quotas_rest_, is_over);
  for (auto it = held_.begin(); it != held_.end();) {
    if (now < it->second.until || GS_MUTANT(HoldsForEver)) {
      ++it;
      continue;
    }
    rest(it->second.node, it->second.quotaOf());
    it = erase(it);
  }
  (void)given_.takeDue(now);
}

std::optional<Mono> Holds::nextDue() const {
  std::optional<Mono> due = given_.nextDue();
  const auto sooner = [&due](Mono at) { due = due ? std::min(*due, at) : at; };
  for (const auto& [uid, held] : held_) { sooner(held.until); }
  for (const auto& [node, until] : rests_) { sooner(until); }
  for (const auto& [ns, until] : quotas_rest_) { sooner(until); }
  return due;
}

void Holds::reset() {
  held_.clear();
  of_.reset();
  given_.reset();
  rests_.clear();
  quotas_rest_.clear();
}

}  // namespace gs::scheduler
