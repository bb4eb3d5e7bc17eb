// A grant's calls: which comes next, and what becomes of each. After one that failed the next waits, the
// longer the more failed in a row, whatever the answer was and whatever is asked meanwhile.
#include <fmt/format.h>

#include <algorithm>

#include "base/mutant.h"
#include "extender/extender.h"
#include "extender/grants/metrics.h"
#include "kapi/kinds.h"
#include "kapi/retry_wait.h"
#include "kapi/write.h"
#include "model/annotations.h"

namespace gs::extender {
namespace {

constexpr Duration kCallTimeout = std::chrono::seconds{3};  // a waiting scheduler gives up after 5

bool isGone(const kapi::Outcome& outcome, const model::Uid& uid) {
  if (outcome.notFound()) { return true; }
  const auto pod = outcome.object.as<model::Pod>();
  return pod != nullptr && pod->uid != uid;
}

}  // namespace

void Extender::call(kapi::Call c, Purpose purpose, const model::Uid& uid, std::string slot) {
  c.token = kapi::makeToken(kOwner, next_++);
  c.timeout = kCallTimeout;
  c.leader_only = c.verb != kapi::Verb::Get;
  // A wake keeps nobody waiting: of it and another write the version decides which takes effect.
  if (c.leader_only) { c.ordering_key = (purpose == Purpose::Wake ? "wake/" : "pod/") + uid.text; }
  calls_[c.token] = {purpose, uid, std::move(slot)};
  if (Grant* g = grantOf(uid); g != nullptr && purpose != Purpose::ReadForBind) { g->write.sent(c.token); }
  c_.out.emplace_back(std::move(c));
}

/// The version that the next write is based on: the newest that is known.
const model::Pod* Extender::versionOf(const Grant& g) const {
  const model::Pod* known = c_.engine.cache().pod(g.uid);
  const model::Pod* seen = g.seen.get();
  return known == nullptr || (seen != nullptr && seen->revision > known->revision) ? seen : known;
}

kapi::Call Extender::nextCall(Grant& g, const model::Pod* pod, Purpose& purpose) {
  if (g.write.mustRead() || pod == nullptr || pod->revision == 0) {
    purpose = Purpose::Read;
    return kapi::getObject(kapi::kPod, g.pod);
  }
  if (g.write.isWriting()) {
    purpose = Purpose::Write;
    const model::Annotations note = model::printVcudaNote(g.note);
    g.told = pod->scheduled;  // the PATCH is of this version
    return kapi::annotatePod(*pod, note, model::vcudaKeys(pod->annotations, note));
  }
  purpose = Purpose::Remove;
  // With a PATCH that may still land something has to change, so that it cannot.
  model::Annotations fence;
  if (g.write.isUnsettled()) { fence[model::kFenceKey] = c_.rng.uuid(); }
  return kapi::annotatePod(*pod, fence, model::vcudaKeys(pod->annotations));
}

/// The next call, unless one is under way or it is too early.
void Extender::advance(Grant& g) {
  if (!g.write.mayLeave(c_.now.mono)) { return; }
  const model::Pod* pod = versionOf(g);
  if (pod != nullptr && pod->bound() && !g.write.mustRead()) { return; }  // its review ends the grant
  // What nobody was told of is not kept for long: it goes with the first failure.
  const bool is_waited_for = !g.callers.empty() || (g.write.isWriting() && !wasTold(g));
  const bool idle = g.write.needsSlot(is_waited_for);
  const bool waits = idle && !slots_.take(g.pod.ns, g.uid);
  g.write.queued(waits);
  if (waits) { return; }
  Purpose purpose{};
  kapi::Call next = nextCall(g, pod, purpose);
  call(std::move(next), purpose, g.uid, idle ? g.pod.ns : "");
}

bool Extender::handle(const kapi::Outcome& outcome, Now now) {
  if (kapi::tokenOwner(outcome.token) != kOwner) { return false; }
  c_.now = now;
  const auto it = calls_.find(outcome.token);
  if (it == calls_.end()) { return true; }  // of an earlier term
  const Pending pending = it->second;
  calls_.erase(it);
  if (!pending.slot.empty()) { slots_.give(pending.slot); }
  if (pending.purpose == Purpose::Wake) {
    wakeAnswered(pending.uid, outcome);
    return true;
  }
  Grant* g = grantOf(pending.uid);
  if (pending.purpose == Purpose::Bind || pending.purpose == Purpose::ReadForBind) {
    bindAnswered(pending, outcome);
    if (Grant* still = grantOf(pending.uid); still != nullptr && !still->write.isUnderWay()) {
      askAgain(*still);
    }
  } else if (g != nullptr && g->write.answered(outcome.token)) {
    switch (pending.purpose) {
      case Purpose::Write: writeAnswered(*g, outcome); break;
      case Purpose::Remove: removeAnswered(*g, outcome); break;
      case Purpose::Read: readAnswered(*g, outcome); break;
      case Purpose::Bind:
      case Purpose::ReadForBind:
      case Purpose::Wake: break;
    }
  }
  goOn(pending.uid);
  plan(pending.uid);
  tellTheNext();
  return true;
}

/// Who waited for a slot.
void Extender::tellTheNext() {
  while (const auto uid = slots_.next()) {
    if (Grant* g = grantOf(*uid)) {
      g->write.queued(false);
      advance(*g);
      plan(*uid);
    }
  }
}

void Extender::tryLater(Grant& g, Duration at_least) {
  g.write.failed(c_.now.mono, troubles_.rejectionsOf(g.uid), at_least);
}

std::string Extender::notWrittenText(const model::ObjectKey& pod) const {
  const std::string* stuck = troubles_.stuckIn(pod.ns);
  return fmt::format("the annotations of pod {} could not be written{}; ask again", pod.text(),
                     stuck == nullptr ? "" : ", no write in its namespace goes through: " + *stuck);
}

/// Its scheduler may know of it, and bind.
bool Extender::wasTold(const Grant& g) { return !g.noted.node.empty(); }

/// Whatever it wants to write came to nothing, and nobody waits for it. What landed without an answer a read
/// would show first.
bool Extender::isInVain(const Grant& g) {
  if (GS_MUTANT(KeepsUntold)) { return false; }
  const bool is_open = !g.write.isWritten() && !g.write.isOrphan();
  const bool is_known = !g.write.mustRead() || g.write.hasReadFailed();
  return is_open && is_known && g.write.hasFailed() && !g.write.isUnderWay() && !g.callers.awaitWrite();
}

/// What its scheduler was never told others may have. What may still land reserves nothing, and is taken off;
/// until that goes through the pod gets nothing.
void Extender::letGo(Grant& g) {
  const model::Uid uid = g.uid;
  if (c_.engine.cache().pod(uid) != nullptr && troubles_.rejectionOf(uid, c_.now.mono) == nullptr) {
    (void)troubles_.refused(uid, notWrittenText(g.pod), c_.now.mono);
  }
  auto waiting = g.callers.takeForDecision();
  g.holds.clear();
  g.note = {};
  g.write.letGo();
  for (auto& w : waiting) { place(std::move(w)); }
}

/// It keeps the place that its scheduler was told of, until that is taken off.
void Extender::moveBack(Grant& g, const model::Pod& pod) {
  g.note = g.noted;
  g.picks = std::exchange(g.before, {})[g.noted.node];
  g.holds.clear();
  reserve(g, pod);
  remove(g, true);
}

/// The next thing that is to be done for a grant, if it is there. It may end: `uid` is not a part of it.
void Extender::goOn(const model::Uid& uid) {
  Grant* g = grantOf(uid);
  if (g != nullptr && isInVain(*g)) {
    const model::Pod* pod = c_.engine.cache().pod(uid);
    const bool moves = g->write.isWriting() && g->before.contains(g->noted.node);
    if (!wasTold(*g)) {
      letGo(*g);
    } else if (moves && pod != nullptr) {
      moveBack(*g, *pod);
    }
    g = grantOf(uid);
  }
  if (g != nullptr) { advance(*g); }
}

/// Nobody asks for the pod any more, and none is known: where it may not be read or written, nothing will
/// ever tell more. Nobody was told that it has its node, since what was written is known.
bool Extender::isForgotten(const Grant& g, const kapi::Outcome& outcome) const {
  return outcome.http == 403 && g.callers.empty() && c_.now.mono >= g.asked + kForgottenAfter &&
         c_.engine.cache().pod(g.uid) == nullptr;
}

void Extender::noteWorked(const Grant& g) {
  if (!g.write.isOrphan()) { return troubles_.worked(g.uid, g.pod.ns); }
  troubles_.showed(g.uid, g.pod.ns);
}

/// What every write of ours may meet: true when it did not take effect, or may not have.
bool Extender::failed(Grant& g, const kapi::Outcome& outcome) {
  if (outcome.result == kapi::CallResult::Applied && outcome.object.is<model::Pod>()) {
    g.write.applied();
    noteWorked(g);
    return false;
  }
  if (isForgotten(g, outcome)) {
    end(g.uid);
    return true;
  }
  if (c_.engine.cache().pod(g.uid) != nullptr) { troubles_.failed(g.uid, c_.now.mono); }
  if (outcome.result == kapi::CallResult::Refused && outcome.http != 429) {
    if (outcome.http == 409 || outcome.http == 404 || outcome.http == 422) {
      g.write.readFirst();  // another version, another uid, or gone
      troubles_.failedIn(g.pod.ns, outcome);
      tryLater(g, {});
    } else {
      refused(g, fmt::format("cannot annotate pod {}: {} {}; the account needs patch on pods/status",
                             g.pod.text(), outcome.http, outcome.message));
    }
    return true;
  }
  if (outcome.result != kapi::CallResult::NotSent && outcome.http != 429) { g.write.mayLand(); }
  troubles_.failedIn(g.pod.ns, outcome);
  tryLater(g, outcome.retry_after);
  return true;
}

/// The API server will not have it: who asks again is told so until it is time to try again. What was never
/// written needs no removal.
void Extender::refused(Grant& g, std::string why) {
  c_.failAll(g.callers.takeAll(), why);
  c_.out.emplace_back(kapi::Log{kapi::Level::Error, why, {}});
  if (c_.engine.cache().pod(g.uid) != nullptr) {
    g.write.waitUntil(troubles_.refused(g.uid, std::move(why), c_.now.mono));
  }
  if (g.write.isWriting() && !g.write.isUnsettled()) { return restore(g); }
  tryLater(g, {});
}

void Extender::writeAnswered(Grant& g, const kapi::Outcome& outcome) {
  if (failed(g, outcome)) { return; }
  const auto pod = outcome.object.as<model::Pod>();
  c_.engine.learn(outcome.object, c_.now.mono);
  if (pod->uid != g.uid) { return isOfAnother(g); }
  if (g.write.isWriting() && !pod->bound()) {
    written(g, *pod);
  } else if (g.callers.awaitDecision()) {
    askAgain(g);
  }
}

/// The answer shows a pod of another uid, which no API server does that was told ours.
void Extender::isOfAnother(Grant& g) {
  g.write.readFirst();
  tryLater(g, {});
}

/// There is no such pod of that name. What a caller said of a pod that nobody else knew proves nothing.
void Extender::nameIsGone(Grant& g) {
  const model::Uid uid = g.uid;
  const model::Pod* known = c_.engine.cache().pod(uid);
  if (known == nullptr) {
    c_.failAll(g.callers.takeAll(), "the pod is gone");
    end(uid);
  } else if (known->key != g.pod) {
    g.pod = known->key;
    g.seen.reset();
    tryLater(g, {});
  } else {
    c_.engine.podGone(uid, c_.now.mono);  // its review ends the grant
  }
}

void Extender::readAnswered(Grant& g, const kapi::Outcome& outcome) {
  if (isGone(outcome, g.uid)) { return nameIsGone(g); }
  if (isForgotten(g, outcome)) { return end(g.uid); }
  const auto pod = outcome.object.as<model::Pod>();
  if (outcome.result != kapi::CallResult::Applied || pod == nullptr) {
    g.write.readFailed();
    return tryLater(g, outcome.retry_after);
  }
  c_.engine.learn(outcome.object, c_.now.mono);
  g.write.wasRead();
  g.seen.reset();  // its caller may have known a version that there never was
  if (pod->bound() || !asksFor(g, *pod)) {
    const model::Uid uid = g.uid;
    return review(uid);  // nobody else looks at a pod that asks for no GPU
  }
  if (g.write.isWriting() && model::readVcudaNote(pod->annotations, pod->share_limits.size()) == g.note) {
    g.write.settled();
    noteWorked(g);
    written(g, *pod);
  } else if (g.callers.awaitDecision()) {
    askAgain(g);
  }
}

void Extender::removeAnswered(Grant& g, const kapi::Outcome& outcome) {
  if (failed(g, outcome)) { return; }
  const auto pod = outcome.object.as<model::Pod>();
  c_.engine.learn(outcome.object, c_.now.mono);
  if (pod->uid != g.uid) { return isOfAnother(g); }
  if (pod->bound()) { return; }
  auto after = g.callers.takeForDecision();
  if (!g.write.isOrphan()) { taken_back_.insert(pod->uid); }
  end(pod->uid);
  for (auto& w : after) { place(std::move(w)); }
}

/// Not one with a grant: its scheduler has its answer, and a write of it may be under way.
void Extender::wakeSomebody() {
  if (!taking_) { return; }
  const auto may_be = [this](const model::Uid& uid) {
    return grantOf(uid) == nullptr && troubles_.isQuiet(uid, c_.now.mono);
  };
  const auto is_stuck = [this](const std::string& ns) { return troubles_.stuckIn(ns) != nullptr; };
  const auto uid = refusals_.next(c_.now.mono, may_be, is_stuck);
  const model::Pod* pod = uid ? c_.engine.cache().pod(*uid) : nullptr;
  if (pod == nullptr) { return; }
  call(kapi::wakePod(*pod, c_.rng.uuid()), Purpose::Wake, *uid);
  c_.out.emplace_back(kapi::Metric{kapi::MetricOp::Add, kWakes, {}, 1});
}

/// Where it was not written, the pod may have changed, which wakes kube-scheduler too; or it waits on, and
/// whoever asks about it meanwhile, too: no write of a pod is tried again at once.
void Extender::wakeAnswered(const model::Uid& uid, const kapi::Outcome& outcome) {
  const auto pod = outcome.object.as<model::Pod>();
  if (outcome.result == kapi::CallResult::Applied && pod != nullptr && pod->uid == uid) {
    troubles_.worked(uid, pod->key.ns);
    c_.engine.learn(outcome.object, c_.now.mono);
    return;
  }
  refusals_.notWoken(uid, c_.now.mono);
  if (const model::Pod* known = c_.engine.cache().pod(uid)) {
    if (outcome.http != 409) { troubles_.failedIn(known->key.ns, outcome); }  // it changed, no more
    (void)troubles_.refused(uid,
                            fmt::format("cannot annotate pod {}: {} {}; ask again", known->key.text(),
                                        outcome.http, outcome.message),
                            c_.now.mono);
  }
}

}  // namespace gs::extender
