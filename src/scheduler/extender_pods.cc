#include "scheduler/extender_pods.h"

#include <algorithm>

#include "base/due.h"
#include "sched/placement/fit.h"

namespace gs::scheduler {
/// What kube-scheduler knows of it may be older than what we do, never other.
const model::Pod& ExtenderPods::newest(const model::Pod& pod) const {
  const model::Pod* known = c_.cache().pod(pod.uid);
  return known == nullptr ? pod : *known;
}

sched::OfferedNodes ExtenderPods::statesOf(const std::vector<model::NodeName>& nodes) const {
  sched::OfferedNodes out;
  out.reserve(nodes.size());
  for (const auto& name : nodes) {
    const sched::NodeState* state = c_.engine.ledger().find(name);
    out.push_back(state != nullptr && state->exists ? state : nullptr);
  }
  return out;
}

void ExtenderPods::filter(FilterRequest request) {
  const bool too_many = paced_.size() >= std::max<std::size_t>(1, c_.config.max_waiting_binds / 4);
  if (too_many || !b_.binds.isCrowded(request.pod->key.ns)) { return answerFilter(request); }
  paced_.emplace_back(c_.now.mono + AskedBinds::kPaced, std::move(request));
}

void ExtenderPods::answerFilter(const FilterRequest& request) {
  filter_answers_.push_back({request.id, true, offersFor(newest(*request.pod), request.nodes)});
}

sched::Offers ExtenderPods::offersFor(const model::Pod& pod, const std::vector<model::NodeName>& nodes) {
  const auto held = b_.holds.suspend(pod.uid);
  auto offers = lookAt(pod, nodes, held);
  noteOffers(pod, offers);
  return offers;
}

sched::Offers ExtenderPods::lookAt(const model::Pod& pod, const std::vector<model::NodeName>& nodes,
                                   const std::optional<Holds::Suspended>& held) {
  const auto door = b_.pending.readDoor(pod);
  const auto* request = std::get_if<sched::PodRequest>(&door);
  auto offers = request == nullptr ? sched::refusedBy(nodes.size(), std::get<sched::Blocked>(door).text, true)
                                   : sched::offersFor(statesOf(nodes), *request, pod.uid);
  if (request != nullptr && !offers.anyFits() && b_.pending.nowhereElse(pod.uid)) {
    return lookAt(pod, nodes, held);  // where it was tried longer ago it may be tried again
  }
  if (!held) { return offers; }
  const bool is_asked_about = std::find(nodes.begin(), nodes.end(), held->node) != nodes.end();
  if (request != nullptr && is_asked_about) {
    b_.holds.resume(pod, *request, *held, held->node);
  } else {
    b_.holds.end(*held);
  }
  return offers;
}

void ExtenderPods::noteOffers(const model::Pod& pod, const sched::Offers& offers) {
  if (c_.cache().pod(pod.uid) == nullptr || pod.bound() || b_.binder.has(pod.uid)) { return; }
  b_.nominator.asked(pod.uid, offers.anyFits());
}

std::vector<int> ExtenderPods::prioritize(const model::Pod& asked,
                                          const std::vector<model::NodeName>& nodes) {
  const model::Pod& pod = newest(asked);
  const auto held = b_.holds.suspend(pod.uid);
  const auto door = b_.pending.readDoor(pod);
  const auto* request = std::get_if<sched::PodRequest>(&door);
  std::vector<int> scores(nodes.size(), 0);
  if (request != nullptr) {
    scores = sched::scoresFor(
        statesOf(nodes), *request, pod.uid,
        [this](const auto& caches, const auto& node) { return b_.node_caches.bonus(caches, node); });
  }
  const auto best = std::max_element(scores.begin(), scores.end());
  const bool known = c_.cache().pod(pod.uid) != nullptr && !pod.bound() && !b_.binder.has(pod.uid);
  if (best == scores.end() || *best == 0 || !known) {
    if (held) { b_.holds.end(*held); }
    return scores;
  }
  const int highest = *best;
  for (auto it = scores.begin(); it != scores.end(); ++it) {
    if (it != best && *it == highest) { *it = highest - 1; }
  }
  const model::NodeName& node = nodes[static_cast<std::size_t>(best - scores.begin())];
  held ? b_.holds.resume(pod, *request, *held, node) : void(b_.holds.begin(pod, *request, node));
  return scores;
}

void ExtenderPods::settle() {
  std::erase_if(paced_, [this](const auto& paced) {
    if (b_.binds.isCrowded(paced.second.pod->key.ns)) { return false; }
    answerFilter(paced.second);
    return true;
  });
}

void ExtenderPods::tick(Now now, kapi::Effects& /*out*/) {
  while (!paced_.empty() && paced_.front().first <= now.mono) {
    answerFilter(paced_.front().second);
    paced_.pop_front();
  }
  b_.binds.tick(now.mono);
}

std::optional<Mono> ExtenderPods::nextDue() const {
  const auto due = b_.binds.nextDue();
  return paced_.empty() ? due : sooner(due, paced_.front().first);
}

void ExtenderPods::reset() {
  for (const auto& [until, request] : paced_) { filter_answers_.push_back({request.id}); }
  paced_.clear();
  b_.binds.reset();
}

}  // namespace gs::scheduler
