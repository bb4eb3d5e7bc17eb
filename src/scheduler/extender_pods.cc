#include "scheduler/extender_pods.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/mutant.h"
#include "sched/placement/explain.h"
#include "sched/placement/fit.h"
#include "scheduler/core/metrics.h"

namespace gs::scheduler {
namespace {

/// Of one node, as kube-scheduler's user reads it in the pod's event.
std::string onNode(const model::NodeName& node, const std::string& why) {
  return fmt::format("node {}: {}", node.text, why);
}

}  // namespace

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
  if (too_many || !isCrowded(request.pod->key.ns)) { return answerFilter(request); }
  paced_.emplace_back(c_.now.mono + kPaced, std::move(request));
}

/// So many of it are being bound, or of all, that the next would have to be told to ask again; or some wait
/// for a slot: more of them would only wait for longer. Nobody waits for those of whom the writes take long.
bool ExtenderPods::isCrowded(const std::string& ns) const {
  const std::size_t most = c_.config.max_waiting_binds;
  const std::set<std::string> slow = slowNamespaces();
  if (b_.slots.anyStuck(ns) || slow.contains(ns)) { return false; }
  std::size_t in_all = 0;
  for (const auto& [uid, request] : waiting_) { in_all += slow.contains(request.pod.ns) ? 0 : 1; }
  for (const auto& [of, queue] : queued_) { in_all += slow.contains(of) ? 0 : queue.size(); }
  const auto queued = queued_.find(ns);
  return waitingOf(ns) >= (most * 3 + 7) / 8 || in_all >= (most * 3 + 3) / 4 ||
         (queued != queued_.end() && queued->second.size() >= kQueued);
}

std::set<std::string> ExtenderPods::slowNamespaces() const {
  std::set<std::string> out;
  for (const auto& [uid, request] : waiting_) {
    if (c_.now.mono - request.since >= kPaced) { out.insert(request.pod.ns); }
  }
  return out;
}

void ExtenderPods::answerFilter(const FilterRequest& request) {
  filter_answers_.push_back({request.id, true, offersFor(newest(*request.pod), request.nodes)});
}

sched::Offers ExtenderPods::offersFor(const model::Pod& pod, const std::vector<model::NodeName>& nodes) {
  const auto held = b_.nominator.release(pod.uid);  // it counts for its quota and its node, too
  const auto door = b_.pending.readDoor(pod);
  if (const auto* blocked = std::get_if<sched::Blocked>(&door)) {
    auto offers = sched::refusedBy(nodes.size(), blocked->text, true);
    noteOffers(pod, offers);
    return offers;
  }
  const auto& request = std::get<sched::PodRequest>(door);
  auto offers = sched::offersFor(statesOf(nodes), request, pod.uid);
  const auto at = held ? std::find(nodes.begin(), nodes.end(), held->node) : nodes.end();
  if (at != nodes.end()) { b_.nominator.hold(pod, request, held->node, held->until); }
  noteOffers(pod, offers);
  return offers;
}

void ExtenderPods::noteOffers(const model::Pod& pod, const sched::Offers& offers) {
  if (c_.cache().pod(pod.uid) == nullptr || pod.bound() || b_.binder.has(pod.uid)) { return; }
  b_.nominator.asked(pod.uid,
                     std::find(offers.of.begin(), offers.of.end(), sched::Offers::kFits) != offers.of.end());
}

std::vector<int> ExtenderPods::prioritize(const model::Pod& asked,
                                          const std::vector<model::NodeName>& nodes) {
  const model::Pod& pod = newest(asked);
  if (!b_.binder.has(pod.uid)) { (void)b_.nominator.release(pod.uid); }
  const auto door = b_.pending.readDoor(pod);
  const auto* request = std::get_if<sched::PodRequest>(&door);
  if (request == nullptr) { return std::vector<int>(nodes.size(), 0); }
  auto scores = sched::scoresFor(
      statesOf(nodes), *request, pod.uid,
      [this](const auto& caches, const auto& node) { return b_.node_caches.bonus(caches, node); });
  const auto best = std::max_element(scores.begin(), scores.end());
  const bool known = c_.cache().pod(pod.uid) != nullptr && !pod.bound() && !b_.binder.has(pod.uid);
  if (best == scores.end() || *best == 0 || !known) { return scores; }
  const int highest = *best;
  for (auto it = scores.begin(); it != scores.end(); ++it) {
    if (it != best && *it == highest) { *it = highest - 1; }
  }
  b_.nominator.hold(pod, *request, nodes[static_cast<std::size_t>(best - scores.begin())],
                    c_.now.mono + kHeldForBind);
  return scores;
}

void ExtenderPods::answer(std::uint64_t id, BindAnswer::Kind kind, std::string text) {
  answers_.push_back({id, kind, std::move(text)});
}

std::size_t ExtenderPods::waitingOf(const std::string& ns) const {
  const auto queued = queued_.find(ns);
  const auto granted = std::count_if(waiting_.begin(), waiting_.end(),
                                     [&](const auto& waits) { return waits.second.pod.ns == ns; });
  return static_cast<std::size_t>(granted) + (queued == queued_.end() ? 0 : queued->second.size());
}

void ExtenderPods::bind(BindRequest request) {
  const model::Pod* pod = c_.cache().pod(request.uid);
  if (pod == nullptr) {
    return answer(request.id, BindAnswer::Kind::Failed, "gpu-scheduler does not know the pod yet; ask again");
  }
  const std::size_t most = c_.config.max_waiting_binds;
  if (waiting_.size() + queued_in_all_ >= most || waitingOf(pod->key.ns) >= (most + 1) / 2) {
    c_.count(kExtenderBinds, {{"result", "busy"}});
    return answer(
        request.id, BindAnswer::Kind::Failed,
        fmt::format("as many pods of namespace {} as may are being bound already; ask again", pod->key.ns));
  }
  request.pod = pod->key;
  const bool has_turn = b_.binder.has(request.uid) || pod->bound() ||
                        (!queued_.contains(pod->key.ns) && b_.slots.free(pod->key.ns) > 0);
  has_turn ? grant(std::move(request)) : enqueue(*pod, std::move(request));
}

void ExtenderPods::enqueue(const model::Pod& pod, BindRequest request) {
  if (b_.slots.anyStuck(pod.key.ns)) {
    c_.count(kExtenderBinds, {{"result", "busy"}});
    return answer(request.id, BindAnswer::Kind::Failed,
                  fmt::format("pods of namespace {} cannot be written now; ask again", pod.key.ns));
  }
  auto& queue = queued_[pod.key.ns];
  const auto other = std::find_if(queue.begin(), queue.end(),
                                  [&](const BindRequest& before) { return before.uid == request.uid; });
  std::string why;
  if (other == queue.end()) {
    why = holdUntilItsTurn(pod, request);
  } else if (other->node != request.node) {
    why = fmt::format("pod {} is being bound to {}; ask again", pod.key.text(), other->node.text);
  }
  if (why.empty()) {
    ++queued_in_all_;
    queue.push_back(std::move(request));
    return;
  }
  if (queue.empty()) { queued_.erase(pod.key.ns); }
  answer(request.id, BindAnswer::Kind::Failed, std::move(why));
}

/// "" or why not. Who has leases of an earlier decision holds by those.
std::string ExtenderPods::holdUntilItsTurn(const model::Pod& pod, const BindRequest& request) {
  if (!c_.cache().leasesOf(pod.uid).empty()) { return ""; }
  (void)b_.nominator.release(pod.uid);
  const auto door = b_.pending.readDoor(pod);
  if (const auto* blocked = std::get_if<sched::Blocked>(&door)) {
    return onNode(request.node, blocked->text);
  }
  const auto& wish = std::get<sched::PodRequest>(door);
  if (b_.nominator.hold(pod, wish, request.node, request.until)) { return ""; }
  const sched::NodeState* state = c_.engine.ledger().find(request.node);
  if (state == nullptr || !state->exists) {
    return onNode(request.node, "gpu-scheduler does not know it yet; ask again");
  }
  auto misfit = sched::misfitOn(*state, wish, pod.uid);
  if (!misfit) { return "its GPUs are reserved for the pod; ask again"; }
  c_.count(kExtenderBinds, {{"result", "raced"}});
  return onNode(request.node, sched::wordsOf(*misfit));
}

void ExtenderPods::grant(BindRequest request) {
  (void)b_.nominator.release(request.uid);
  const model::Pod* pod = c_.cache().pod(request.uid);
  if (pod == nullptr) { return answer(request.id, BindAnswer::Kind::Failed, "the pod is gone"); }
  if (pod->bound() && pod->node == request.node) { return answer(request.id, BindAnswer::Kind::Bound); }
  if (std::string why = whyNot(*pod, request); !why.empty()) {
    c_.count(kExtenderBinds, {{"result", "failed"}});
    return answer(request.id, BindAnswer::Kind::Failed, std::move(why));
  }
  if (!b_.binder.has(request.uid)) {
    if (std::string why = begin(*pod, request.node); !why.empty()) {
      return answer(request.id, BindAnswer::Kind::Failed, onNode(request.node, why));
    }
  }
  if (GS_MUTANT(AnswersTooEarly)) { return answer(request.id, BindAnswer::Kind::Bound); }
  b_.binder.askedFor(request.uid);
  request.since = c_.now.mono;
  left_.erase(request.uid);
  const model::Uid uid = request.uid;
  waiting_.emplace(uid, std::move(request));
}

/// In the order in which they asked.
void ExtenderPods::grantQueued() {
  for (auto it = queued_.begin(); it != queued_.end();) {
    while (!it->second.empty() && b_.slots.free(it->first) > 0) {
      BindRequest next = std::move(it->second.front());
      it->second.pop_front();
      --queued_in_all_;
      grant(std::move(next));
    }
    it = it->second.empty() ? queued_.erase(it) : std::next(it);
  }
}

std::string ExtenderPods::whyNot(const model::Pod& pod, const BindRequest& request) const {
  if (pod.bound()) { return fmt::format("pod {} is bound to {}", pod.key.text(), pod.node.text); }
  if (pod.deleting || pod.finished()) { return fmt::format("pod {} is going", pod.key.text()); }
  const auto there = b_.binder.nodeOf(request.uid);
  if (there && *there != request.node) {
    return fmt::format("pod {} is being bound to {}; ask again", pod.key.text(), there->text);
  }
  return "";
}

/// The GPUs are chosen now: others may have got those that there were when its node was filtered.
std::string ExtenderPods::begin(const model::Pod& pod, const model::NodeName& node) {
  if (!c_.cache().leasesOf(pod.uid).empty()) {
    const model::NodeName* only_there = GS_MUTANT(AdoptsElsewhere) ? nullptr : &node;
    if (!b_.leftovers.removing(pod.uid) && b_.leftovers.adopt(pod, only_there)) { return ""; }
    left_[pod.uid] = c_.now.mono - kAskedAgainWithin;  // not there: then they go at once
    c_.reconciles.add(pod.uid);
    return "leases of an earlier decision are being taken back; ask again";
  }
  const auto door = b_.pending.readDoor(pod);
  if (const auto* blocked = std::get_if<sched::Blocked>(&door)) { return blocked->text; }
  const auto& request = std::get<sched::PodRequest>(door);
  const sched::NodeState* state = c_.engine.ledger().find(node);
  if (state == nullptr || !state->exists) { return "gpu-scheduler does not know it yet; ask again"; }
  if (c_.engine.ledger().isReserved(node, pod.uid)) { return "its GPUs are reserved for the pod; ask again"; }
  auto fit = sched::fitOn(*state, request, pod.uid);
  if (!fit) {
    c_.count(kExtenderBinds, {{"result", "raced"}});
    return sched::wordsOf(fit.error());
  }
  if (!fit->ids.empty() && !b_.record.ours()) {
    return "no GPU lease can be written yet: the GpuClaim CRD is missing; apply the CRDs";
  }
  b_.binder.grant(pod, request, {node, std::move(fit->ids), fit->score});
  return "";
}

void ExtenderPods::settle() {
  for (auto& end : b_.binder.takeEnded()) {
    const auto [first, last] = waiting_.equal_range(end.uid);
    for (auto it = first; it != last; ++it) {
      c_.count(kExtenderBinds, {{"result", end.bound ? "bound" : "failed"}});
      answer(it->second.id, end.bound ? BindAnswer::Kind::Bound : BindAnswer::Kind::Failed, end.why);
    }
    waiting_.erase(first, last);
  }
  if (!queued_.empty()) { grantQueued(); }
  std::erase_if(paced_, [this](const auto& paced) {
    if (isCrowded(paced.second.pod->key.ns)) { return false; }
    answerFilter(paced.second);
    return true;
  });
}

bool ExtenderPods::mayBeAskedAgain(const model::Uid& uid) {
  const Mono since = left_.try_emplace(uid, c_.now.mono).first->second;
  const Mono until = since + kAskedAgainWithin;
  if (until <= c_.now.mono) { return false; }
  c_.reconciles.addAt(until, uid);
  return true;
}

/// Whoever gave up asks again, and then for another node perhaps: what was not sent yet is not sent any more.
void ExtenderPods::tick(Now now, kapi::Effects& /*out*/) {
  while (!paced_.empty() && paced_.front().first <= now.mono) {
    answerFilter(paced_.front().second);
    paced_.pop_front();
  }
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    if (now.mono < it->second.until) {
      ++it;
      continue;
    }
    answer(it->second.id, BindAnswer::Kind::Failed,
           "its leases and its Binding were not confirmed in time; ask again");
    const model::Uid uid = it->first;
    it = waiting_.erase(it);
    if (!waiting_.contains(uid)) { b_.binder.notAskedForAnyMore(uid); }
  }
  for (auto it = queued_.begin(); it != queued_.end();) {
    while (!it->second.empty() && it->second.front().until <= now.mono) {
      answer(
          it->second.front().id, BindAnswer::Kind::Failed,
          fmt::format("pods of namespace {} that asked before are still being bound; ask again", it->first));
      it->second.pop_front();
      --queued_in_all_;
    }
    it = it->second.empty() ? queued_.erase(it) : std::next(it);
  }
}

std::optional<Mono> ExtenderPods::nextDue() const {
  std::optional<Mono> due;
  const auto sooner = [&due](Mono at) { due = due ? std::min(*due, at) : at; };
  for (const auto& [uid, request] : waiting_) { sooner(request.until); }
  for (const auto& [ns, requests] : queued_) { sooner(requests.front().until); }
  if (!paced_.empty()) { sooner(paced_.front().first); }
  return due;
}

void ExtenderPods::reset() {
  const auto refuse = [this](const BindRequest& request) {
    answer(request.id, BindAnswer::Kind::Unavailable, "this replica does not lead any more; ask again");
  };
  for (const auto& [uid, request] : waiting_) { refuse(request); }
  for (const auto& [ns, requests] : queued_) {
    for (const auto& request : requests) { refuse(request); }
  }
  for (const auto& [until, request] : paced_) { filter_answers_.push_back({request.id}); }
  paced_.clear();
  waiting_.clear();
  queued_.clear();
  queued_in_all_ = 0;
  left_.clear();
}

}  // namespace gs::scheduler
