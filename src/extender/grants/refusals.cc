#include "extender/grants/refusals.h"

#include <algorithm>
#include <utility>

#include "base/due.h"
#include "sched/doors/vcuda.h"
#include "sched/ledger/quota.h"
#include "sched/ledger/shares.h"

namespace gs::extender {
namespace {

using sched::Reason;

/// Nothing that kube-scheduler watches says so when it is over.
bool isMendable(Reason reason) {
  return reason == Reason::TooFewFree || reason == Reason::NotTakenYet || reason == Reason::ExceedsQuota;
}

}  // namespace

NodeSet Refusals::mendable(const sched::Ledger& ledger, const Candidates& c, const Answer& a) {
  const bool with_others = std::find(c.nodes.begin(), c.nodes.end(), NodeTable::kUnknown) != c.nodes.end();
  NodeSet out{ledger.size(), with_others};
  for (std::size_t i = 0; i < c.nodes.size(); ++i) {
    const sched::NodeStanding* standing = standingAt(a, c, i);
    const bool known = c.nodes[i] != NodeTable::kUnknown && standing != nullptr;
    if (known && standing->refused && isMendable(*standing->refused)) { out.insert(c.nodes[i]); }
  }
  for (NodeIndex i = 0; with_others && i < ledger.size(); ++i) {
    if (!ledger.at(i).exists) { out.insert(i); }
  }
  return out;
}

/// Pods of which this is equal differ in nothing that decides which nodes take them.
Refusals::What Refusals::whatOf(const model::Pod& pod, const sched::PodRequest& request) {
  return {pod.key.ns, request.gang, sched::vcudaMilli(pod), request.shares};
}

Refusals::Kinds::iterator Refusals::kindOf(const model::Pod& pod, const sched::PodRequest& request) {
  const auto [known, fresh] = by_what_.try_emplace(whatOf(pod, request), last_kind_ + 1);
  if (!fresh) { return kinds_.find(known->second); }
  ++last_kind_;
  Kind kind;
  kind.what = known->first;
  kind.ns = pod.key.ns;
  kind.milli = sched::vcudaMilli(pod);
  kind.request = request;
  changes_.catchUp();
  kind.looked_at = changes_.of(request).now();
  return kinds_.emplace(last_kind_, std::move(kind)).first;
}

void Refusals::asked(const model::Uid& uid) {
  if (woken_.over(uid)) { line_.roomChanged(); }
  const auto pod = pods_.find(uid);
  if (pod == pods_.end()) { return; }
  leave(uid, pod->second);
  pods_.erase(pod);
}

void Refusals::refused(const model::Pod& pod, const sched::PodRequest& request, const Candidates& c,
                       const Answer& a, Mono now) {
  asked(pod.uid);
  NodeSet by = mendable(engine_.ledger(), c, a);
  if (by.empty() || kept_.free(pod.key.ns) == 0) { return; }
  kept_.take(pod.key.ns);
  const auto kind = kindOf(pod, request);
  kind->second.refused_by.insertAll(by);
  const auto group = kind->second.groups.try_emplace(std::move(by)).first;
  ++group->second.pods;
  const Place place{-std::int64_t{pod.priority}, pod.created, pod.uid};
  Refused& refused = pods_.emplace(pod.uid, Refused{kind->first, group, place}).first->second;
  rest(pod.uid, refused, std::max(now + kRest, backoff_.notBefore(pod.uid)));
}

void Refusals::forget(const model::Uid& uid) {
  asked(uid);
  backoff_.forget(uid);
}

/// It is none of its kind any more.
void Refusals::leave(const model::Uid& uid, Refused& pod) {
  const auto it = kinds_.find(pod.kind);
  Kind& kind = it->second;
  if (pod.rests_until) { resting_.erase({*pod.rests_until, uid}); }
  setReady(pod, false);
  kept_.giveBack(kind.ns);
  if (--pod.group->second.pods > 0) { return; }
  kind.groups.erase(pod.group);
  if (!kind.groups.empty()) { return; }
  line_.remove(it->first);
  by_what_.erase(kind.what);
  kinds_.erase(it);
}

void Refusals::rest(const model::Uid& uid, Refused& pod, Mono until) {
  setReady(pod, false);
  if (pod.rests_until) { resting_.erase({*pod.rests_until, uid}); }
  pod.rests_until = until;
  resting_.emplace(until, uid);
}

void Refusals::setReady(Refused& pod, bool ready) {
  Group& group = pod.group->second;
  if (ready) {
    group.ready.insert(pod.place);
  } else {
    group.ready.erase(pod.place);
  }
  placeGroup(kinds_.at(pod.kind), pod.group);
}

/// Where it stands among the groups of its kind, by its first pod that is ready.
void Refusals::placeGroup(Kind& kind, Groups::iterator at) {
  Group& group = at->second;
  const bool stands = group.fits && !group.ready.empty();
  const auto first = stands ? std::optional{*group.ready.begin()} : std::nullopt;
  if (first == group.first) { return; }
  if (group.first) { kind.fitting.erase(*group.first); }
  group.first = first;
  if (first) { kind.fitting.emplace(*first, at); }
}

/// Who is not known by now was asked about by somebody who made it up, or is gone.
void Refusals::endRests(Mono now) {
  const Work turn = endOfTurn();
  for (int i = 0; i < kRestsPerTurn && !isOver(turn); ++i) {
    if (resting_.empty() || resting_.begin()->first > now) { return; }
    const model::Uid uid = resting_.extract(resting_.begin()).value().second;
    Refused& pod = pods_.at(uid);
    pod.rests_until.reset();
    const model::Pod* known = engine_.cache().pod(uid);
    if (known == nullptr || known->bound() || known->deleting || known->finished()) {
      forget(uid);
      continue;
    }
    Kind& kind = kinds_.at(pod.kind);
    Group& group = pod.group->second;
    // While it had nobody ready, it was not compared with what its kind found.
    if (group.ready.empty() && !group.fits) { group.fits = commonNode(kind, pod.group->first).has_value(); }
    setReady(pod, true);
    lineUp(pod.kind, kind);
  }
}

/// It may have somebody to be woken.
void Refusals::lineUp(KindId id, const Kind& kind) {
  if (!kind.fitting.empty() && !line_.contains(id)) { line_.add(id, kind.ns); }
}

bool Refusals::somethingChanged() const {
  return !kinds_.empty() &&
         (seen_changes_ != engine_.ledger().changesEnd() || seen_use_ != engine_.ledger().gpuUseVersion() ||
          seen_quotas_ != engine_.quota().version());
}

void Refusals::lookSome(Mono now) {
  if (!round_) {
    if (!somethingChanged() || now < next_round_) { return; }
    seen_changes_ = engine_.ledger().changesEnd();
    seen_use_ = engine_.ledger().gpuUseVersion();
    seen_quotas_ = engine_.quota().version();
    changes_.catchUp();
    next_round_ = now + kLookGap;
    round_ = 0;
  }
  const Work turn = endOfTurn();
  for (auto it = kinds_.upper_bound(*round_); it != kinds_.end(); ++it) {
    const bool done = look(it->second, turn) && compareGroups(it->second, turn);
    lineUp(it->first, it->second);
    if (!done) { return; }
    round_ = it->first;
  }
  round_.reset();
}

/// Other terms may let it onto any node.
void Refusals::followQuota(Kind& kind) const {
  auto quota = engine_.quotaBound(kind.ns, kind.milli);
  const bool same = quota.has_value() == kind.request.quota.has_value() &&
                    (!quota || quota->terms == kind.request.quota->terms);
  if (same) { return; }
  kind.request.quota = std::move(quota);
  kind.looked_at = 0;
}

/// False: it goes on there in the next turn.
bool Refusals::look(Kind& kind, const Work& turn) {
  ++work_.looks;
  followQuota(kind);
  const sched::RecentChanges& recent = changes_.of(kind.request);
  auto looked_at = recent.now();
  bool done = true;
  recent.since(kind.looked_at, [&](NodeIndex i, sched::RecentChanges::Moment moment) {
    done = !isOver(turn);
    if (!done) {
      looked_at = moment - 1;
    } else if (!kind.refused_by.contains(i)) {
      ++work_.words;
    } else if (!fits(kind, i)) {
      kind.fits.erase(i);
    } else if (!kind.fits.contains(i)) {
      kind.fits.insert(i);
      kind.grew = true;
      kind.compared_to.reset();  // to those before it no one compared this node
    }
    return done;
  });
  kind.looked_at = looked_at;
  return done;
}

/// Which groups have a node among those that fit now. False: it goes on there in the next turn.
bool Refusals::compareGroups(Kind& kind, const Work& turn) {
  if (!kind.grew) { return true; }
  auto group = kind.compared_to ? kind.groups.upper_bound(*kind.compared_to) : kind.groups.begin();
  for (; group != kind.groups.end(); ++group) {
    if (isOver(turn)) {
      if (group != kind.groups.begin()) { kind.compared_to = std::prev(group)->first; }
      return false;
    }
    if (group->second.fits || group->second.ready.empty()) { continue; }
    group->second.fits = commonNode(kind, group->first).has_value();
    placeGroup(kind, group);
  }
  kind.grew = false;
  kind.compared_to.reset();
  return true;
}

bool Refusals::fits(const Kind& kind, NodeIndex i) {
  ++work_.looks;
  const sched::NodeState& node = engine_.ledger().at(i);
  return node.exists && sched::fitShares(node, kind.request).has_value();
}

/// That refused it, and may take it now.
std::optional<Refusals::NodeIndex> Refusals::commonNode(const Kind& kind, const NodeSet& by) {
  work_.words += kind.fits.words() + 1;
  return kind.fits.firstCommon(by);
}

/// Some node that refused it takes it now, unless the turn is over first.
bool Refusals::fitsSomewhere(Kind& kind, const NodeSet& by, const Work& turn) {
  while (!isOver(turn)) {
    const auto node = commonNode(kind, by);
    if (!node || fits(kind, *node)) { return node.has_value(); }
    kind.fits.erase(*node);
  }
  return true;
}

/// Its first pod that a node refused which may take it now; nullopt: it has none, before something changes,
/// or the turn is over.
std::optional<model::Uid> Refusals::pick(Kind& kind, Mono now, const MayBe& may_be, const Work& turn) {
  followQuota(kind);
  while (!kind.fitting.empty() && !isOver(turn)) {
    const auto group = kind.fitting.begin()->second;
    group->second.fits = fitsSomewhere(kind, group->first, turn);
    placeGroup(kind, group);
    while (group->second.first && !isOver(turn)) {
      const model::Uid uid = std::get<model::Uid>(*group->second.first);
      if (may_be(uid)) { return uid; }
      ++work_.looks;
      rest(uid, pods_.at(uid), now + kRest);
    }
  }
  return std::nullopt;
}

std::optional<model::Uid> Refusals::next(Mono now, const MayBe& may_be, const IsStuck& is_stuck) {
  (void)backoff_.takeDue(now);  // it forgets those of long ago
  for (const auto& uid : woken_.takeOver(now)) { notWoken(uid, now); }
  endRests(now);
  lookSome(now);
  const Work turn = endOfTurn();
  const auto has_room = [&](const std::string& ns) {
    return woken_.hasRoom(ns) && (woken_.of(ns) == 0 || !is_stuck || !is_stuck(ns));
  };
  while (!isOver(turn)) {
    const auto id = line_.next(now, has_room);
    if (!id) { break; }
    Kind& kind = kinds_.at(*id);
    auto uid = pick(kind, now, may_be, turn);
    if (uid) { setReady(pods_.at(*uid), false); }
    lineUp(*id, kind);
    if (!uid) { continue; }
    line_.used(now);
    woken_.add(*uid, kind.ns, now);
    (void)backoff_.tried(*uid, now);
    return uid;
  }
  return std::nullopt;
}

/// It may be again when it was long enough ago.
void Refusals::notWoken(const model::Uid& uid, Mono now) {
  (void)woken_.over(uid);
  line_.roomChanged();
  const auto pod = pods_.find(uid);
  if (pod != pods_.end()) { rest(uid, pod->second, std::max(now, backoff_.notBefore(uid))); }
}

std::optional<Mono> Refusals::nextDue() const {
  auto due = sooner(woken_.nextDue(), line_.nextDue());
  if (!resting_.empty()) { due = sooner(due, resting_.begin()->first); }
  if (round_) { due = sooner(due, Mono{}); }
  if (somethingChanged()) { due = sooner(due, next_round_); }
  return due;
}

void Refusals::reset() {
  pods_.clear();
  kinds_.clear();
  by_what_.clear();
  resting_.clear();
  kept_.reset();
  line_.reset();
  woken_.reset();
  backoff_.reset();
  round_.reset();
}

}  // namespace gs::extender
