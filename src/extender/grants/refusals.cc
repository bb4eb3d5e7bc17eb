#include "extender/grants/refusals.h"

#include <algorithm>
#include <utility>

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

Refusals::NodeSet Refusals::mendable(const sched::Ledger& ledger, const Candidates& c, const Answer& a) {
  NodeSet out;
  out.is_in.resize(ledger.size());
  for (std::size_t i = 0; i < c.nodes.size(); ++i) {
    const sched::NodeStanding* standing = standingAt(a, c, i);
    if (c.nodes[i] == NodeTable::kUnknown) {
      out.are_others = true;
    } else if (standing != nullptr && standing->refused && isMendable(*standing->refused)) {
      out.is_in[c.nodes[i]] = true;
    }
  }
  for (NodeIndex i = 0; out.are_others && i < ledger.size(); ++i) {
    if (!ledger.at(i).exists) { out.is_in[i] = true; }
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
  const bool any = by.are_others || std::find(by.is_in.begin(), by.is_in.end(), true) != by.is_in.end();
  if (!any || kept_.free(pod.key.ns) == 0) { return; }
  kept_.take(pod.key.ns);
  const auto kind = kindOf(pod, request);
  ++kind->second.pods;
  Refused& refused = pods_[pod.uid];
  refused = {kind->first, {-std::int64_t{pod.priority}, pod.created, pod.uid}, std::move(by)};
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
  kind.ready.erase(pod.place);
  kept_.giveBack(kind.ns);
  if (--kind.pods > 0) { return; }
  line_.remove(it->first);
  by_what_.erase(kind.what);
  kinds_.erase(it);
}

void Refusals::rest(const model::Uid& uid, Refused& pod, Mono until) {
  kinds_.at(pod.kind).ready.erase(pod.place);
  if (pod.rests_until) { resting_.erase({*pod.rests_until, uid}); }
  pod.rests_until = until;
  resting_.emplace(until, uid);
}

/// Who is not known by now was asked about by somebody who made it up, or is gone.
void Refusals::endRests(Mono now) {
  while (!resting_.empty() && resting_.begin()->first <= now) {
    const model::Uid uid = resting_.extract(resting_.begin()).value().second;
    Refused& pod = pods_.at(uid);
    pod.rests_until.reset();
    const model::Pod* known = engine_.cache().pod(uid);
    if (known == nullptr || known->bound() || known->deleting || known->finished()) {
      forget(uid);
      continue;
    }
    Kind& kind = kinds_.at(pod.kind);
    kind.ready.emplace(pod.place, &pod);
    lineUp(pod.kind, kind);
  }
}

/// It may have somebody to be woken.
void Refusals::lineUp(KindId id, const Kind& kind) {
  if (!kind.fits.empty() && !kind.ready.empty() && !line_.contains(id)) { line_.add(id, kind.ns); }
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
  const std::uint64_t until = looks_ + kLooksPerTurn;
  for (auto it = kinds_.upper_bound(*round_); it != kinds_.end(); ++it) {
    const bool done = look(it->second, until);
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
bool Refusals::look(Kind& kind, std::uint64_t until) {
  ++looks_;
  followQuota(kind);
  const sched::RecentChanges& recent = changes_.of(kind.request);
  auto looked_at = recent.now();
  bool done = true;
  recent.since(kind.looked_at, [&](NodeIndex i, sched::RecentChanges::Moment moment) {
    done = looks_ < until;
    if (!done) {
      looked_at = moment - 1;
    } else if (fits(kind, i)) {
      kind.fits.insert(i);
    } else {
      kind.fits.erase(i);
    }
    return done;
  });
  kind.looked_at = looked_at;
  return done;
}

bool Refusals::fits(const Kind& kind, NodeIndex i) {
  ++looks_;
  const sched::NodeState& node = engine_.ledger().at(i);
  return node.exists && sched::fitShares(node, kind.request).has_value();
}

/// Its first pod that a node refused which may take it now; nullopt: it has none, before something changes.
std::optional<model::Uid> Refusals::pick(Kind& kind, Mono now, const MayBe& may_be) {
  followQuota(kind);
  for (auto node = kind.fits.begin(); node != kind.fits.end();) {
    if (!fits(kind, *node)) {
      node = kind.fits.erase(node);
      continue;
    }
    for (auto next = kind.ready.begin(); next != kind.ready.end();) {
      const auto [place, pod] = *next++;
      if (!pod->by.contains(*node)) { continue; }
      const model::Uid& uid = std::get<model::Uid>(place);
      if (may_be(uid)) { return uid; }
      rest(uid, *pod, now + kRest);
    }
    ++node;
  }
  return std::nullopt;
}

std::optional<model::Uid> Refusals::next(Mono now, const MayBe& may_be) {
  (void)backoff_.takeDue(now);  // it forgets those of long ago
  for (const auto& uid : woken_.takeOver(now)) { notWoken(uid, now); }
  endRests(now);
  lookSome(now);
  const std::uint64_t until = looks_ + kLooksPerTurn;
  const auto has_room = [this](const std::string& ns) { return woken_.hasRoom(ns); };
  while (looks_ < until) {
    const auto id = line_.next(now, has_room);
    if (!id) { break; }
    Kind& kind = kinds_.at(*id);
    auto uid = pick(kind, now, may_be);
    if (!uid) { continue; }
    kind.ready.erase(pods_.at(*uid).place);
    lineUp(*id, kind);
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
  std::optional<Mono> due;
  const auto sooner = [&](std::optional<Mono> at) {
    if (at) { due = due ? std::min(*due, *at) : *at; }
  };
  sooner(woken_.nextDue());
  sooner(line_.nextDue());
  if (!resting_.empty()) { sooner(resting_.begin()->first); }
  if (round_) { sooner(Mono{}); }
  if (somethingChanged()) { sooner(next_round_); }
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
