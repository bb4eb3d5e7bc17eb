#include "scheduler/volumes/volume_desk.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/due.h"
#include "kapi/kinds.h"
#include "kapi/write_volume.h"

namespace gs::scheduler {
namespace {

using CameOfVolumes = VolumeNotice::What;

/// The object that is written for a claim, as the user knows it.
std::string writtenFor(const ChosenVolume& chosen) {
  return chosen.how == ChosenVolume::How::Match
             ? fmt::format("PersistentVolume {}, for PersistentVolumeClaim {}", chosen.volume,
                           chosen.claim.text())
             : fmt::format("PersistentVolumeClaim {}", chosen.claim.text());
}

std::string_view pluralFor(const ChosenVolume& chosen) {
  return chosen.how == ChosenVolume::How::Match ? kapi::kPersistentVolume->plural
                                                : kapi::kPersistentVolumeClaim->plural;
}

VolumeNotice lostOf(const model::Uid& uid, std::string why, bool elsewhere) {
  return {.what = CameOfVolumes::Lost, .uid = uid, .why = std::move(why), .elsewhere = elsewhere};
}

}  // namespace

// ---- what is chosen

bool VolumeDesk::choose(const model::Pod& pod, const model::NodeName& node) {
  if (pod.volume_claims.empty() && pod.disks.empty()) { return true; }
  forget(pod.uid);
  const sched::NodeState* there = engine_.ledger().find(node);
  if (there == nullptr) { return false; }
  const auto choices = engine_.volumes().choose(pod, there->node);
  if (!choices) { return false; }
  Wish& wish = wishes_[pod.uid];
  wish.node = node;
  wish.claims = chosenVolumes(engine_.volumes(), pod, *choices);
  engine_.volumeChoices().assume(pod, node, *choices);
  return true;
}

VolumeStep VolumeDesk::nextStep(const Wish& wish) const {
  const sched::NodeState* node = engine_.ledger().find(wish.node);
  return nextVolumeStep(engine_.volumes(), wish.claims,
                        node == nullptr || !node->exists ? nullptr : &node->node);
}

bool VolumeDesk::areBound(const model::Uid& uid) const {
  const auto it = wishes_.find(uid);
  return it == wishes_.end() || nextStep(it->second).what == VolumeStep::What::Bound;
}

bool VolumeDesk::isWaiting(const model::Uid& uid) const {
  const auto it = wishes_.find(uid);
  return it != wishes_.end() && it->second.phase == Phase::Waiting;
}

void VolumeDesk::forget(const model::Uid& uid) {
  const auto it = wishes_.find(uid);
  if (it == wishes_.end()) { return; }
  due_.erase({it->second.until, uid});
  wishes_.erase(it);
  calls_.drop(uid);
  engine_.volumeChoices().forget(uid);
}

// ---- what is done for it

/// `until`: from then on it took too long.
void VolumeDesk::wakeAt(const model::Uid& uid, Wish& wish, Mono until) {
  due_.erase({wish.until, uid});
  wish.until = until;
  due_.insert({until, uid});
}

void VolumeDesk::bind(const model::Uid& uid, Mono now) {
  const auto it = wishes_.find(uid);
  if (it == wishes_.end() || it->second.phase != Phase::Chosen) { return; }
  Wish& wish = it->second;
  wish.phase = Phase::Writing;
  if (wish.since == Mono{}) { wish.since = now; }
  wakeAt(uid, wish, now + kWriteAtMost);
  active_.insert(uid);
}

void VolumeDesk::settle(const model::Uid& uid, Wish& wish, VolumeNotice notice) {
  due_.erase({wish.until, uid});
  wish.phase = Phase::Chosen;
  wish.trouble.clear();
  notices_.push_back(std::move(notice));
}

void VolumeDesk::waits(const model::Uid& uid, Wish& wish, Mono now) {
  if (wish.phase == Phase::Waiting) { return; }
  wish.phase = Phase::Waiting;
  calls_.worked(uid);
  wakeAt(uid, wish, now + kWaitAtMost);
  notices_.push_back({.what = CameOfVolumes::Waits, .uid = uid});
}

void VolumeDesk::write(const model::Uid& uid, const Wish& wish, const ChosenVolume& chosen,
                       kapi::Effects& out) {
  const auto claim = engine_.volumes().claim(chosen.claim);
  const auto volume = engine_.volumes().volume(chosen.volume);
  const bool is_match = chosen.how == ChosenVolume::How::Match;
  if (claim == nullptr || (is_match && volume == nullptr)) { return; }
  kapi::Call call = is_match ? kapi::bindVolume(*volume, *claim) : kapi::selectNode(*claim, wish.node);
  call.token = calls_.begin(uid, {chosen.claim, is_match ? volume->revision : claim->revision});
  call.leader_only = true;
  out.emplace_back(std::move(call));
}

void VolumeDesk::step(const model::Uid& uid, Wish& wish, Mono now, kapi::Effects& out) {
  if (wish.phase == Phase::Chosen || calls_.open(uid)) { return; }
  VolumeStep next = nextStep(wish);
  if (next.what == VolumeStep::What::Lost) {
    return settle(uid, wish, lostOf(uid, std::move(next.why), next.elsewhere));
  }
  if (next.what == VolumeStep::What::Bound) {
    calls_.worked(uid);
    return settle(uid, wish, {.what = CameOfVolumes::Bound, .uid = uid, .took = now - wish.since});
  }
  const ChosenVolume& chosen = wish.claims[next.which];
  if (next.what == VolumeStep::What::Wait) { waits(uid, wish, now); }
  if (now >= wish.until) {
    const std::string why =
        next.what == VolumeStep::What::Write
            ? fmt::format("{} could not be written in time: {}", writtenFor(chosen),
                          wish.trouble.empty() ? "the API server is busy" : wish.trouble)
            : fmt::format("PersistentVolumeClaim {} was not bound within {} s", chosen.claim.text(),
                          std::chrono::duration_cast<std::chrono::seconds>(kWaitAtMost).count());
    return settle(uid, wish, lostOf(uid, why, next.what == VolumeStep::What::Wait));
  }
  if (next.what == VolumeStep::What::Write && calls_.due(uid, now)) { write(uid, wish, chosen, out); }
}

void VolumeDesk::pump(Mono now, kapi::Effects& out) {
  for (auto& uid : calls_.takeDue(now)) { active_.insert(std::move(uid)); }
  while (!due_.empty() && due_.begin()->first <= now) {
    active_.insert(due_.begin()->second);
    due_.erase(due_.begin());
  }
  for (const auto& uid : std::exchange(active_, {})) {
    const auto it = wishes_.find(uid);
    if (it != wishes_.end()) { step(uid, it->second, now, out); }
  }
}

// ---- answers

/// What may pass is tried again, from what the watch shows by then: who changed the object has changed its
/// version.
void VolumeDesk::refused(const model::Uid& uid, Wish& wish, const ChosenVolume& chosen,
                         const kapi::Outcome& outcome, Mono now) {
  const bool may_pass =
      outcome.http == 409 || outcome.http == 429 || outcome.http == 401 || outcome.notFound();
  wish.trouble = fmt::format("{} {}", outcome.http, outcome.message);
  calls_.failed(uid, now, outcome.retry_after);
  if (may_pass) { return; }
  std::string why = fmt::format("{} cannot be written: {}", writtenFor(chosen), wish.trouble);
  if (outcome.http == 403 || outcome.http == 404) {
    why += fmt::format("; gpu-scheduler needs the right to patch {}, as deploy/rbac/scheduler.yaml gives it",
                       pluralFor(chosen));
  }
  settle(uid, wish, {.what = CameOfVolumes::Refused, .uid = uid, .why = std::move(why)});
}

void VolumeDesk::answered(const model::Uid& uid, Wish& wish, const Sent& sent, const kapi::Outcome& outcome,
                          Mono now) {
  const auto chosen = std::find_if(wish.claims.begin(), wish.claims.end(),
                                   [&](const ChosenVolume& one) { return one.claim == sent.claim; });
  if (chosen == wish.claims.end() || wish.phase == Phase::Chosen) { return; }
  switch (outcome.result) {
    case kapi::CallResult::Applied:
      chosen->written = std::max(outcome.object.empty() ? 0 : outcome.object.revision(), sent.version + 1);
      calls_.worked(uid);
      wish.trouble.clear();
      // Who waits already may have had to write again. It waits no longer for that.
      if (wish.phase == Phase::Writing) { wakeAt(uid, wish, now + kWriteAtMost); }
      return;
    case kapi::CallResult::Unknown:  // sent again it changes the same version, so that only one can land
    case kapi::CallResult::NotSent:
      wish.trouble =
          outcome.http == 0 ? outcome.message : fmt::format("{} {}", outcome.http, outcome.message);
      calls_.failed(uid, now, outcome.retry_after);
      return;
    case kapi::CallResult::Refused: refused(uid, wish, *chosen, outcome, now); return;
  }
}

void VolumeDesk::handle(const kapi::Outcome& outcome, Now now, kapi::Effects& /*out*/) {
  const auto call = calls_.answered(outcome.token);
  if (!call || call->stale) { return; }
  const auto it = wishes_.find(call->key);
  if (it == wishes_.end()) { return; }
  active_.insert(call->key);
  answered(call->key, it->second, call->what, outcome, now.mono);
}

std::optional<Mono> VolumeDesk::nextDue() const {
  return sooner(calls_.nextDue(), due_.empty() ? std::nullopt : std::optional{due_.begin()->first});
}

void VolumeDesk::podEnded(const model::Uid& uid) {
  forget(uid);
  calls_.forget(uid);
}

void VolumeDesk::reset() {
  for (const auto& [uid, wish] : wishes_) { engine_.volumeChoices().forget(uid); }
  wishes_.clear();
  active_.clear();
  due_.clear();
  notices_.clear();
  calls_.reset();
}

}  // namespace gs::scheduler
