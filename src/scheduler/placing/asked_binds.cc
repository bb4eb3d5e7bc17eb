#include "scheduler/placing/asked_binds.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/due.h"
#include "base/mutant.h"
#include "controller/fair_share.h"
#include "sched/placement/explain.h"
#include "sched/placement/fit.h"
#include "scheduler/core/metrics.h"

namespace gs::scheduler {
namespace {

/// Of one node, as kube-scheduler's user reads it in the pod's event.
std::string onNode(const model::NodeName& node, const std::string& why) {
  return fmt::format("node {}: {}", node.text, why);
}

std::string cannotBeWritten(const std::string& ns) {
  return fmt::format("pods of namespace {} cannot be written now; ask again", ns);
}

}  // namespace

// ---- how many wait

template <class See>
void AskedBinds::eachWaiting(const See& see) const {
  for (const auto& [uid, request] : waiting_) { see(request); }
  for (const auto& [uid, request] : probed_) { see(request); }
  for (const auto& [ns, queue] : queued_) {
    for (const auto& request : queue) { see(request); }
  }
}

AskedBinds::Namespaces AskedBinds::slowNamespaces() const {
  Namespaces out;
  eachWaiting([&](const BindRequest& request) {
    const bool takes_long = c_.now.mono - request.since >= kPaced;
    if (takes_long || b_.slots.anyStuck(request.pod.ns)) { out.insert(request.pod.ns); }
  });
  return out;
}

bool AskedBinds::isSlow(const std::string& ns) const {
  return b_.slots.anyStuck(ns) || slowNamespaces().contains(ns);
}

int AskedBinds::placesFor(const std::string& ns, const Namespaces& slow) const {
  controller::FairShare places{static_cast<int>(c_.config.max_waiting_binds)};
  eachWaiting([&](const BindRequest& request) {
    if (slow.contains(ns) || !slow.contains(request.pod.ns)) { places.take(request.pod.ns); }
  });
  return places.free(ns);
}

bool AskedBinds::findPlace(const std::string& ns) {
  const Namespaces slow = slowNamespaces();
  if (placesFor(ns, slow) == 0) { return false; }
  if (waiting() < c_.config.max_waiting_binds) { return true; }
  const BindRequest* longest = nullptr;
  eachWaiting([&](const BindRequest& request) {
    if (!slow.contains(request.pod.ns) || c_.now.mono - request.since < kHanging) { return; }
    if (longest == nullptr || request.since < longest->since) { longest = &request; }
  });
  if (longest == nullptr) { return false; }  // an API server that is slow for all is no fault of theirs
  turnAway([id = longest->id](const BindRequest& request) { return request.id == id; });
  return true;
}

bool AskedBinds::isCrowded(const std::string& ns) const {
  if (isSlow(ns)) { return false; }
  const auto queued = queued_.find(ns);
  if (queued != queued_.end() && queued->second.size() >= kQueued) { return true; }
  return placesFor(ns, slowNamespaces()) <= static_cast<int>(c_.config.max_waiting_binds) / 4;
}

// ---- a request comes

void AskedBinds::answer(std::uint64_t id, BindAnswer::Kind kind, std::string text) {
  answers_.push_back({id, kind, std::move(text)});
}

void AskedBinds::busy(const BindRequest& request, std::string text) {
  c_.count(kExtenderBinds, {{"result", "busy"}});
  answer(request.id, BindAnswer::Kind::Failed, std::move(text));
}

void AskedBinds::bind(BindRequest request) {
  const model::Pod* pod = c_.cache().pod(request.uid);
  if (pod == nullptr) {
    return answer(request.id, BindAnswer::Kind::Failed, "gpu-scheduler does not know the pod yet; ask again");
  }
  request.pod = pod->key;
  request.since = c_.now.mono;
  if (!findPlace(pod->key.ns)) {
    return busy(request, fmt::format("as many pods of namespace {} as may are being bound already; ask again",
                                     pod->key.ns));
  }
  goOn(*pod, std::move(request));
}

void AskedBinds::goOn(const model::Pod& pod, BindRequest request) {
  if (b_.binder.has(pod.uid) || pod.bound()) { return beginOrAnswer(std::move(request)); }
  if (queued_.contains(pod.key.ns) || b_.slots.free(pod.key.ns) == 0) {
    return enqueue(pod, std::move(request));
  }
  mustShow(pod) ? probe(pod, std::move(request)) : beginOrAnswer(std::move(request));
}

/// Others of its namespace cannot be written, and hold GPUs for as long.
bool AskedBinds::mustShow(const model::Pod& pod) const {
  return b_.slots.anyStuck(pod.key.ns) && !b_.binder.has(pod.uid) && !pod.bound() &&
         !b_.probes.wentThrough(pod.uid) && c_.cache().leasesOf(pod.uid).empty();
}

void AskedBinds::probe(const model::Pod& pod, BindRequest request) {
  b_.holds.release(pod.uid);
  if (!b_.probes.underWay(pod.uid)) {
    if (!b_.pending.mayTry(pod.uid)) { return busy(request, cannotBeWritten(request.pod.ns)); }
    b_.probes.probe(pod);
  }
  probed_.emplace(pod.uid, std::move(request));
}

void AskedBinds::enqueue(const model::Pod& pod, BindRequest request) {
  auto& queue = queued_[pod.key.ns];
  const auto other = std::find_if(queue.begin(), queue.end(),
                                  [&](const BindRequest& before) { return before.uid == request.uid; });
  std::string why;
  if (other == queue.end()) {
    why = whyNotInLine(pod, request.node);
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

/// "": its GPUs are held meanwhile, unless what is written about pods of its namespace takes long: who waits
/// for those would hold much. Who has leases of an earlier decision holds by those.
std::string AskedBinds::whyNotInLine(const model::Pod& pod, const model::NodeName& node) {
  if (!c_.cache().leasesOf(pod.uid).empty()) { return ""; }
  b_.holds.release(pod.uid);
  const Room room = roomFor(pod, node);
  if (!room.why.empty()) { return onNode(node, room.why); }
  if (!isSlow(pod.key.ns)) { (void)b_.holds.inLine(pod, room.request, node); }
  return "";
}

void AskedBinds::beginOrAnswer(BindRequest request) {
  b_.holds.release(request.uid);
  const model::Pod* pod = c_.cache().pod(request.uid);
  if (pod == nullptr) { return answer(request.id, BindAnswer::Kind::Failed, "the pod is gone"); }
  if (pod->bound() && pod->node == request.node) { return answer(request.id, BindAnswer::Kind::Bound); }
  if (std::string why = whyNot(*pod, request); !why.empty()) {
    c_.count(kExtenderBinds, {{"result", "failed"}});
    return answer(request.id, BindAnswer::Kind::Failed, std::move(why));
  }
  if (!b_.binder.has(request.uid)) {
    b_.probes.end(request.uid);
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

std::string AskedBinds::whyNot(const model::Pod& pod, const BindRequest& request) const {
  if (pod.bound()) { return fmt::format("pod {} is bound to {}", pod.key.text(), pod.node.text); }
  if (pod.deleting || pod.finished()) { return fmt::format("pod {} is going", pod.key.text()); }
  const auto there = b_.binder.nodeOf(request.uid);
  if (there && *there != request.node) {
    return fmt::format("pod {} is being bound to {}; ask again", pod.key.text(), there->text);
  }
  return "";
}

AskedBinds::Room AskedBinds::lookAt(const model::Pod& pod, const model::NodeName& node) const {
  Room room;
  const auto door = b_.pending.readDoor(pod);
  const sched::NodeState* state = c_.engine.ledger().find(node);
  if (const auto* blocked = std::get_if<sched::Blocked>(&door)) {
    room.why = blocked->text;
  } else if (state == nullptr || !state->exists) {
    room.why = "gpu-scheduler does not know it yet; ask again";
  } else if (c_.engine.ledger().isReserved(node, pod.uid)) {
    room.why = "its GPUs are reserved for the pod; ask again";
  } else {
    room.request = std::get<sched::PodRequest>(door);
    auto fit = sched::fitOn(*state, room.request, pod.uid);
    room.raced = !fit;
    if (fit) { room.placement = std::move(*fit); }
    if (!fit) { room.why = sched::wordsOf(fit.error()); }
  }
  return room;
}

/// What is held there by courtesy makes room.
AskedBinds::Room AskedBinds::roomFor(const model::Pod& pod, const model::NodeName& node) {
  Room room = lookAt(pod, node);
  if (!room.raced) { return room; }
  Room again;
  const bool fits = b_.holds.yield(node, [&] {
    again = lookAt(pod, node);
    return again.why.empty();
  });
  if (!fits) { c_.count(kExtenderBinds, {{"result", "raced"}}); }
  return fits ? std::move(again) : std::move(room);
}

/// The GPUs are chosen now: others may have got those that there were when its node was filtered.
std::string AskedBinds::begin(const model::Pod& pod, const model::NodeName& node) {
  if (!c_.cache().leasesOf(pod.uid).empty()) {
    const model::NodeName* only_there = GS_MUTANT(AdoptsElsewhere) ? nullptr : &node;
    if (!b_.leftovers.removing(pod.uid) && b_.leftovers.adopt(pod, only_there)) { return ""; }
    left_[pod.uid] = c_.now.mono - kAskedAgainWithin;  // not there: then they go at once
    c_.reconciles.add(pod.uid);
    return "leases of an earlier decision are being taken back; ask again";
  }
  Room room = roomFor(pod, node);
  if (!room.why.empty()) { return std::move(room.why); }
  if (!room.placement.ids.empty() && !b_.record.ours()) {
    return "no GPU lease can be written yet: the GpuClaim CRD is missing; apply the CRDs";
  }
  b_.binder.begin(pod, room.request, {node, std::move(room.placement.ids), room.placement.score});
  return "";
}

// ---- what comes of them

void AskedBinds::settle() {
  for (auto& end : b_.binder.takeEnded()) {
    const auto [first, last] = waiting_.equal_range(end.uid);
    for (auto it = first; it != last; ++it) {
      c_.count(kExtenderBinds, {{"result", end.bound ? "bound" : "failed"}});
      answer(it->second.id, end.bound ? BindAnswer::Kind::Bound : BindAnswer::Kind::Failed, end.why);
    }
    waiting_.erase(first, last);
  }
  if (!probed_.empty()) { goOnWithProbed(); }
  if (!queued_.empty()) { beginQueued(); }
}

void AskedBinds::goOnWithProbed() {
  for (auto it = probed_.begin(); it != probed_.end();) {
    if (b_.probes.underWay(it->first)) {
      ++it;
      continue;
    }
    BindRequest request = std::move(it->second);
    it = probed_.erase(it);
    const model::Pod* pod = c_.cache().pod(request.uid);
    if (pod == nullptr) {
      answer(request.id, BindAnswer::Kind::Failed, "the pod is gone");
    } else if (mustShow(*pod)) {
      busy(request, cannotBeWritten(request.pod.ns));
    } else {
      goOn(*pod, std::move(request));
    }
  }
}

/// In the order in which they asked.
void AskedBinds::beginQueued() {
  for (auto it = queued_.begin(); it != queued_.end();) {
    while (!it->second.empty() && b_.slots.free(it->first) > 0) {
      BindRequest next = std::move(it->second.front());
      it->second.pop_front();
      --queued_in_all_;
      const model::Pod* pod = c_.cache().pod(next.uid);
      if (pod != nullptr && mustShow(*pod)) {
        probe(*pod, std::move(next));
      } else {
        beginOrAnswer(std::move(next));
      }
    }
    it = it->second.empty() ? queued_.erase(it) : std::next(it);
  }
}

bool AskedBinds::mayBeAskedAgain(const model::Uid& uid) {
  const Mono since = left_.try_emplace(uid, c_.now.mono).first->second;
  const Mono until = since + kAskedAgainWithin;
  if (until <= c_.now.mono) { return false; }
  c_.reconciles.addAt(until, uid);
  return true;
}

/// Whoever gave up asks again, and then for another node perhaps.
void AskedBinds::tick(Mono now) {
  turnAway([now](const BindRequest& request) { return request.until <= now; });
}

void AskedBinds::turnAway(const std::function<bool(const BindRequest&)>& which) {
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    if (!which(it->second)) {
      ++it;
      continue;
    }
    answer(it->second.id, BindAnswer::Kind::Failed,
           "its leases and its Binding were not confirmed in time; ask again");
    const model::Uid uid = it->first;
    it = waiting_.erase(it);
    if (!waiting_.contains(uid)) { b_.binder.notAskedForAnyMore(uid); }
  }
  std::erase_if(probed_, [&](const auto& probed) {
    if (!which(probed.second)) { return false; }
    busy(probed.second, cannotBeWritten(probed.second.pod.ns));
    return true;
  });
  for (auto it = queued_.begin(); it != queued_.end();) {
    queued_in_all_ -= std::erase_if(it->second, [&](const BindRequest& request) {
      if (!which(request)) { return false; }
      answer(
          request.id, BindAnswer::Kind::Failed,
          fmt::format("pods of namespace {} that asked before are still being bound; ask again", it->first));
      return true;
    });
    it = it->second.empty() ? queued_.erase(it) : std::next(it);
  }
}

std::optional<Mono> AskedBinds::nextDue() const {
  std::optional<Mono> due;
  eachWaiting([&due](const BindRequest& request) { due = sooner(due, request.until); });
  return due;
}

void AskedBinds::reset() {
  eachWaiting([this](const BindRequest& request) {
    answer(request.id, BindAnswer::Kind::Unavailable, "this replica does not lead any more; ask again");
  });
  waiting_.clear();
  probed_.clear();
  queued_.clear();
  queued_in_all_ = 0;
  left_.clear();
}

}  // namespace gs::scheduler
