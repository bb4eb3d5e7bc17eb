#include "scheduler/leases/lease_desk.h"

#include <fmt/format.h>
#include <algorithm>

#include "base/due.h"
#include "base/mutant.h"
#include "kapi/kinds.h"
#include "kapi/write.h"

namespace gs::scheduler {
namespace {

using kapi::CallResult;
using kapi::Verb;
using What = LeaseNotice::What;

constexpr Duration kKept = std::chrono::minutes{1};
/// A wish for which nothing can be done now is looked at again then, whatever the reason: never at once.
constexpr Duration kLookAgainAfter = std::chrono::milliseconds{100};

/// The lease names this pod with this reservation.
bool namesExactly(const model::Lease& lease, const Claimant& c) {
  const auto part = lease.partOf(c.uid);
  return part && lease.shared() == c.shared && part->reservation == c.reservation;
}

model::ShareHolder shareOf(const Claimant& c) { return {c.uid, c.pod, 0, 0, c.reservation, c.devices}; }

model::Lease newLease(const model::ObjectKey& key, const Claimant& c) {
  model::Lease l;
  l.key = key;
  l.managed = true;
  l.node = c.node;
  l.gpu = c.gpu;
  l.uuid = c.gpu_uuid;
  l.pod = c.pod;
  l.pod_uid = c.uid;
  l.reservation = c.reservation;
  l.devices = c.devices;
  l.holder = c.shared ? "shared" : c.uid.text;
  return l;
}

/// It is the claimant's lease of this device, but for its label.
bool isOursUnlabelled(const model::Lease& lease, const Claimant& c) {
  return lease.isOurs() && lease.malformed.empty() && lease.node == c.node && lease.gpu == c.gpu &&
         namesExactly(lease, c);
}

void putShare(std::vector<model::ShareHolder>& holders, model::ShareHolder share) {
  std::erase_if(holders, [&](const auto& h) { return h.uid == share.uid; });
  holders.push_back(std::move(share));
  std::sort(holders.begin(), holders.end());
}

}  // namespace

void LeaseDesk::take(const model::ObjectKey& lease, Claimant claimant, bool confirm) {
  const model::Uid uid = claimant.uid;
  Desk& desk = desks_[lease];
  const model::Lease* known = engine_.cache().lease(lease);
  const bool joins = claimant.shared && !claimant.over_own && known != nullptr && known->shared();
  desk.wishes[uid] = Wish{std::move(claimant), {}, confirm, false, false, joins};
  desk.must_read |= confirm || desk.unlabelled != nullptr;  // found for an earlier wish
  active_.insert(lease);
}

void LeaseDesk::give(const model::ObjectKey& lease, const model::Uid& uid,
                     const std::optional<model::ReservationId>& only) {
  Desk& desk = desks_[lease];
  Wish& wish = desk.wishes[uid];
  if (wish.take) { wish = Wish{}; }
  wish.only = only;
  active_.insert(lease);
}

void LeaseDesk::forget(const model::ObjectKey& lease, const model::Uid& uid) {
  const auto it = desks_.find(lease);
  if (it != desks_.end() && it->second.wishes.erase(uid) > 0) { active_.insert(lease); }
}

bool LeaseDesk::idle(const model::ObjectKey& lease, const model::Uid& uid) const {
  const auto it = desks_.find(lease);
  return it == desks_.end() || !it->second.wishes.contains(uid);
}

bool LeaseDesk::isGiving(const model::ObjectKey& lease, const model::Uid& uid) const {
  const auto it = desks_.find(lease);
  if (it == desks_.end()) { return false; }
  const auto wish = it->second.wishes.find(uid);
  return wish != it->second.wishes.end() && !wish->second.take;
}

bool LeaseDesk::failing(const model::ObjectKey& lease) const { return calls_.failures(lease) > 0; }

void LeaseDesk::notify(What what, const model::ObjectKey& key, const model::Uid& uid, bool was_unknown,
                       std::string why) {
  notices_.push_back({what, key, uid, was_unknown, std::move(why)});
}

bool LeaseDesk::mayBeWith(const Claimant& claimant, const model::Lease& lease) const {
  if (!claimant.only_by) { return true; }
  const auto others = lease.uids();
  return std::all_of(others.begin(), others.end(), [&](const model::Uid& uid) {
    return uid == claimant.uid || engine_.deviceClaims().isUser(*claimant.only_by, uid);
  });
}

bool LeaseDesk::settleOne(const model::ObjectKey& key, Desk& desk, const model::Uid& uid, Wish& wish,
                          const model::Lease* lease) {
  if (!wish.take) {
    const auto part = lease == nullptr ? std::nullopt : lease->partOf(uid);
    if (part && (!wish.only || part->reservation == *wish.only)) { return false; }
    notify(What::Gone, key, uid, false, "");
    return true;
  }
  const bool read = wish.confirmed;
  if (lease == nullptr && read && desk.unlabelled != nullptr &&
      !isOursUnlabelled(*desk.unlabelled, *wish.take)) {
    engine_.blocks().block(wish.take->node, wish.take->gpu);
    notify(What::Lost, key, uid, false,
           fmt::format("a Lease {} exists that is not managed by this scheduler", key.text()));
    return true;
  }
  if (lease == nullptr && wish.joins) {
    notify(What::Lost, key, uid, false, fmt::format("the shared lease {} is gone", key.text()));
    return true;
  }
  if (lease == nullptr) { return false; }
  if (namesExactly(*lease, *wish.take)) {
    if (wish.confirm && !read) {
      desk.must_read = true;
      return false;
    }
    notify(What::Held, key, uid, wish.was_unknown, "");
    return true;
  }
  const bool own_part = lease->names(uid);
  const bool joins = lease->shared() && lease->malformed.empty() && wish.take->shared &&
                     lease->holders.size() < max_sharers_ && mayBeWith(*wish.take, *lease) &&
                     (own_part ? wish.take->over_own : !lease->isOfAnother(wish.take->gpu_uuid));
  const bool own = !lease->shared() && !wish.take->shared && own_part && wish.take->over_own;
  if (joins || own || GS_MUTANT(TakesOthersLeases)) { return false; }
  if (!read) {
    desk.must_read = true;
    return false;
  }  // the cache may be behind
  if (lease->uids().empty() || !lease->malformed.empty()) {
    engine_.blocks().block(wish.take->node, wish.take->gpu);
  }
  if (lease->node.empty()) { engine_.placeLease(key, wish.take->node, wish.take->gpu); }
  notify(What::Lost, key, uid, false,
         fmt::format("GPU {} of node {} is held by {}", wish.take->gpu, wish.take->node.text,
                     own_part                  ? "another decision for this pod"
                     : lease->pod.name.empty() ? "pod uid " + lease->holder
                                               : "pod " + lease->pod.text()));
  notices_.back().own_pod = own_part;
  return true;
}

void LeaseDesk::settle(const model::ObjectKey& key, Desk& desk, const model::Lease* lease, Mono now) {
  for (auto it = desk.wishes.begin(); it != desk.wishes.end();) {
    const std::size_t before = notices_.size();
    if (settleOne(key, desk, it->first, it->second, lease)) {
      const bool fulfilled = notices_.at(before).what == What::Held || notices_.at(before).what == What::Gone;
      if (fulfilled && desk.refused.empty()) {  // what was refused need not be given back
        desk.calls = 0;
        desk.kept_until = {};
        if (calls_.due(key, now)) { calls_.worked(key); }  // what the server asked to wait for is waited for
      }
      it = desk.wishes.erase(it);
    } else {
      ++it;
    }
  }
}

/// The Update that says again what an unlabelled lease of ours says, with the label.
std::optional<kapi::Call> LeaseDesk::takeBack(const model::ObjectKey& key, const Desk& desk) {
  const auto own = std::find_if(desk.wishes.begin(), desk.wishes.end(), [&](const auto& w) {
    return w.second.take && isOursUnlabelled(*desk.unlabelled, *w.second.take);
  });
  if (own == desk.wishes.end()) { return std::nullopt; }
  model::Lease next = desk.unlabelled->shared() ? *desk.unlabelled : newLease(key, *own->second.take);
  next.managed = true;
  next.uid = desk.unlabelled->uid;
  next.revision = desk.unlabelled->revision;
  return kapi::updateLease(next);
}

/// Of a shared lease that was not read in full, which may be another version's.
std::optional<kapi::Call> LeaseDesk::leave(const Desk& desk, const model::Lease& lease) {
  std::set<model::Uid> leaving;
  for (const auto& [uid, w] : desk.wishes) {
    if (!w.take && lease.names(uid)) { leaving.insert(uid); }
  }
  if (leaving.empty()) { return std::nullopt; }
  return kapi::leaveLease(lease, leaving);
}

/// The one write that brings the lease closest to all wishes, from its newest known state.
std::optional<kapi::Call> LeaseDesk::plan(const model::ObjectKey& key, const Desk& desk,
                                          const model::Lease* lease) const {
  const auto take = std::find_if(desk.wishes.begin(), desk.wishes.end(),
                                 [](const auto& w) { return w.second.take.has_value(); });
  if (lease == nullptr) {
    if (take == desk.wishes.end()) { return std::nullopt; }
    if (desk.unlabelled != nullptr) { return takeBack(key, desk); }
    model::Lease fresh = newLease(key, *take->second.take);
    for (const auto& [uid, w] : desk.wishes) {
      if (w.take && w.take->shared && fresh.shared()) { putShare(fresh.holders, shareOf(*w.take)); }
    }
    return kapi::createLease(fresh);
  }
  if (!lease->shared()) {
    const auto own = std::find_if(desk.wishes.begin(), desk.wishes.end(), [&](const auto& w) {
      return w.second.take && (lease->names(w.first) || GS_MUTANT(TakesOthersLeases));
    });
    if (own != desk.wishes.end()) {
      model::Lease next = newLease(key, *own->second.take);
      next.uid = lease->uid;
      next.revision = lease->revision;
      return kapi::updateLease(next);
    }
    return kapi::deleteLease(key, lease->uid, lease->revision);
  }
  if (!lease->as_written.empty()) { return leave(desk, *lease); }
  model::Lease next = *lease;
  if (GS_MUTANT(ForgetsSharers)) { next.holders.clear(); }
  for (const auto& [uid, w] : desk.wishes) {
    if (!w.take) {
      std::erase_if(next.holders, [&u = uid](const auto& h) { return h.uid == u; });
    }
    if (w.take && w.take->shared && next.holders.size() < max_sharers_) {
      putShare(next.holders, shareOf(*w.take));
    }
  }
  if (next.holders.empty()) { return kapi::deleteLease(key, lease->uid, lease->revision); }
  return kapi::updateLease(next);
}

void LeaseDesk::send(const model::ObjectKey& key, Desk& desk, kapi::Call call, kapi::Effects& out) {
  const auto* known = engine_.cache().lease(key);
  call.token = calls_.begin(key, {call.verb, known == nullptr ? model::Uid{} : known->uid});
  call.leader_only = call.verb != Verb::Get;
  ++desk.calls;
  out.emplace_back(std::move(call));
}

void LeaseDesk::step(const model::ObjectKey& key, Desk& desk, Mono now, kapi::Effects& out) {
  if (calls_.open(key)) { return; }
  settle(key, desk, engine_.cache().lease(key), now);
  const bool waits = !calls_.due(key, now);
  if (waits && !desk.refused.empty() && calls_.failures(key) > kAtOnce) { refuseTakes(key, desk); }
  if (desk.wishes.empty() || waits) { return; }
  if (desk.must_read) {
    desk.must_read = false;
    send(key, desk, kapi::getObject(kapi::kLease, key), out);
    return;
  }
  const model::Lease* lease = engine_.cache().lease(key);
  // What is left of takes that this lease cannot serve was settled as Lost;
  // gives of other holders do not get here.
  if (auto call = plan(key, desk, lease)) { send(key, desk, *std::move(call), out); }
}

void LeaseDesk::pump(Mono now, kapi::Effects& out) {
  for (auto& key : calls_.takeDue(now)) { active_.insert(std::move(key)); }
  while (!later_.empty() && later_.begin()->first <= now) {
    active_.insert(later_.extract(later_.begin()).value().second);
  }
  for (const auto& key : std::exchange(active_, {})) {
    const auto it = desks_.find(key);
    if (it == desks_.end()) { continue; }
    Desk& desk = it->second;
    step(key, desk, now, out);
    if (calls_.open(key)) { continue; }
    if (!desk.wishes.empty()) {
      if (calls_.due(key, now)) { later_.emplace(now + kLookAgainAfter, key); }
    } else if (now < desk.kept_until) {
      later_.emplace(desk.kept_until, key);
    } else {
      desks_.erase(it);
      calls_.forget(key);
    }
  }
}

std::optional<Mono> LeaseDesk::nextDue() const {
  const auto due = calls_.nextDue();
  return later_.empty() ? due : sooner(due, later_.begin()->first);
}

void LeaseDesk::backOff(const model::ObjectKey& key, const kapi::Outcome& outcome, Mono now) {
  calls_.failed(key, now, outcome.retry_after);
}

void LeaseDesk::refuseTakes(const model::ObjectKey& key, Desk& desk) {
  for (auto it = desk.wishes.begin(); it != desk.wishes.end();) {
    if (!it->second.take) {
      ++it;
      continue;
    }
    notify(What::Refused, key, it->first, it->second.was_unknown, desk.refused);
    it = desk.wishes.erase(it);
  }
}

void LeaseDesk::refuse(const model::ObjectKey& key, Desk& desk, const kapi::Outcome& outcome, Mono now) {
  desk.refused = fmt::format("lease {} was refused: {} {}", key.text(), outcome.http, outcome.message);
  refuseTakes(key, desk);
  backOff(key, outcome, now);
  desk.kept_until = calls_.notBefore(key) + kKept;
}

void LeaseDesk::readAnswered(const model::ObjectKey& key, Desk& desk, const Sent& sent,
                             const kapi::Outcome& outcome, Mono now) {
  if (outcome.result == CallResult::Applied || outcome.notFound()) {
    const auto read = outcome.object.as<model::Lease>();
    desk.unlabelled = read != nullptr && !read->managed ? read : nullptr;
    if (desk.unlabelled != nullptr) {
      engine_.leaseGone(key, read->uid, read->revision);  // as if it had left the watch
    } else if (read != nullptr) {
      engine_.learn(outcome.object, now);
    } else if (!sent.target.empty()) {  // one that the watch brought since the read left may be newer
      engine_.leaseGone(key, sent.target);
    }
    for (auto& [uid, wish] : desk.wishes) { wish.confirmed = true; }
    return;
  }
  desk.must_read = true;
  backOff(key, outcome, now);
}

void LeaseDesk::answered(const model::ObjectKey& key, Desk& desk, const Sent& sent,
                         const kapi::Outcome& outcome, Mono now) {
  switch (outcome.result) {
    case CallResult::Applied:
      desk.conflicts = 0;
      desk.unlabelled = nullptr;
      if (sent.verb != Verb::Delete) {
        engine_.learn(outcome.object, now);
      } else if (outcome.object.is<model::Lease>()) {
        engine_.learn(outcome.object, now);  // a finalizer keeps it
        backOff(key, outcome, now);
      } else {
        engine_.leaseGone(key, sent.target);
      }
      return;
    case CallResult::Unknown:
      for (auto& [uid, wish] : desk.wishes) {
        wish.was_unknown = true;
        wish.confirmed = false;
        wish.confirm = true;
      }
      desk.must_read = true;
      backOff(key, outcome, now);
      return;
    case CallResult::NotSent: backOff(key, outcome, now); return;
    case CallResult::Refused: break;
  }
  if (outcome.http == 409) {
    desk.unlabelled = nullptr;
    for (auto& [uid, wish] : desk.wishes) { wish.confirmed = false; }
    desk.must_read = true;
    if (++desk.conflicts > 1) { backOff(key, outcome, now); }  // a read did not help
  } else if (outcome.notFound() && sent.verb != Verb::Create) {
    desk.unlabelled = nullptr;
    engine_.leaseGone(key, sent.target);
  } else if (outcome.http == 429 || outcome.http == 401) {
    backOff(key, outcome, now);
  } else {
    refuse(key, desk, outcome, now);
  }
}

void LeaseDesk::handle(const kapi::Outcome& outcome, Now at, kapi::Effects& /*out*/) {
  const auto call = calls_.answered(outcome.token);
  if (!call) { return; }  // of an earlier term
  const auto& [key, sent, stale] = *call;
  const Mono now = at.mono;
  Desk& desk = desks_[key];
  desk.refused.clear();
  if (sent.verb == Verb::Get) {
    readAnswered(key, desk, sent, outcome, now);
  } else {
    answered(key, desk, sent, outcome, now);
  }
  if (desk.calls > kAtOnce && calls_.due(key, now)) { backOff(key, outcome, now); }
  active_.insert(key);
}

void LeaseDesk::reset() {
  desks_.clear();
  active_.clear();
  later_.clear();
  calls_.reset();
  notices_.clear();
}

}  // namespace gs::scheduler
