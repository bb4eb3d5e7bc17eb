#include "scheduler/report/claim_warnings.h"

#include <utility>

#include "kapi/kinds.h"

namespace gs::scheduler {

void ClaimWarnings::touched(const model::ObjectKey& claim) {
  if (waiting_.insert(claim).second) { turn_[claim.ns].push_back(claim.name); }
}

/// Of the next namespace.
model::ObjectKey ClaimWarnings::takeNext() {
  auto ns = turn_.upper_bound(last_);
  if (ns == turn_.end()) { ns = turn_.begin(); }
  last_ = ns->first;
  model::ObjectKey key{ns->first, std::move(ns->second.front())};
  ns->second.pop_front();
  if (ns->second.empty()) { turn_.erase(ns); }
  waiting_.erase(key);
  return key;
}

void ClaimWarnings::pump() {
  looks_ = 0;
  while (!turn_.empty() && not_before_ <= c_.now.mono && looks_ < kLooksPerTurn) {
    ++looks_;
    const int said = look(takeNext());
    if (said > 0) { not_before_ = c_.now.mono + said * kGap; }
  }
}

int ClaimWarnings::look(const model::ObjectKey& key) {
  const model::GpuClaim* claim = c_.cache().claim(key);
  if (claim == nullptr) {
    const auto known = known_.extract(key);
    if (known.empty()) { return 0; }
    const auto oddity = oddityOfDeletion(usersOf(key, 0));
    if (!oddity) { return 0; }
    say(key, known.mapped().uid, 0, *oddity);
    return 1;
  }
  Known& known = known_[key];
  if (known.uid != claim->uid) { known = {claim->uid, 0, {}}; }
  int said = lookAtSpec(*claim, known);
  if (std::exchange(known.count, claim->count) == claim->count) { return said; }
  if (const auto oddity = oddityOfCount(usersOf(key, claim->count))) {
    say(key, claim->uid, claim->revision, *oddity);
    ++said;
  }
  return said;
}

/// What is not so any more may be said again.
int ClaimWarnings::lookAtSpec(const model::GpuClaim& claim, Known& known) {
  int said = 0;
  std::set<std::string> now;
  for (const auto& oddity : model::odditiesOfSpec(claim)) {
    now.insert(oddity.about);
    if (known.said.contains(oddity.about)) { continue; }
    say(claim.key, claim.uid, claim.revision, oddity);
    ++said;
  }
  known.said = std::move(now);
  return said;
}

sched::ClaimUsers ClaimWarnings::usersOf(const model::ObjectKey& key, std::int64_t count) {
  sched::ClaimUsers users{key, count};
  const auto& pods = c_.cache().podsOfClaim(key);
  looks_ += pods.size();
  for (const auto& [uid, known] : pods) { users.add(*known.pod); }
  return users;
}

void ClaimWarnings::say(const model::ObjectKey& key, const model::Uid& uid, model::Revision revision,
                        const sched::ClaimOddity& oddity) {
  c_.events.send(
      {kapi::kGpuClaim, key, uid, revision, true, oddity.reason, "Watching", oddity.text, oddity.about},
      c_.now, c_.out);
}

std::optional<Mono> ClaimWarnings::nextDue() const {
  return turn_.empty() ? std::nullopt : std::optional{not_before_};
}

void ClaimWarnings::reset() {
  known_.clear();
  waiting_.clear();
  turn_.clear();
  last_.clear();
  not_before_ = {};
  looks_ = 0;
}

}  // namespace gs::scheduler
