#include "extender/note_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/mutant.h"
#include "kapi/kinds.h"
#include "kapi/write.h"
#include "model/annotations.h"
#include "sched/doors/vcuda.h"

namespace gs::extender {
namespace {

using Purpose = PodCalls::Purpose;

std::uint64_t nanosecondsOf(Wall t) {
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(t.time_since_epoch()).count();
  return ns > 0 ? static_cast<std::uint64_t>(ns) : 0;
}

bool isGone(const kapi::Outcome& outcome, const model::Uid& uid) {
  if (outcome.notFound()) { return true; }
  const auto pod = outcome.object.as<model::Pod>();
  return pod != nullptr && pod->uid != uid;
}

}  // namespace

void NoteWriter::write(Grant& g) {
  if (std::exchange(g.adopted, false)) {
    g.note.time = nextTime();
    g.note.assigned = false;
  }
  g.contested.reset();
  g.write.begin();
  advance(g);
}

void NoteWriter::remove(Grant& g, bool idly) {
  if (g.write.isRemoving()) { return; }
  c_.failAll(g.callers.takeForWrite(), "what was reserved for this pod has been given up; ask again");
  if (idly) {
    g.write.removeIdly();
  } else {
    g.write.remove();
  }
  advance(g);
}

void NoteWriter::removeFound(const model::Pod& pod) {
  Grant& g = grants_.of(pod.uid, pod.key);
  g.asked = c_.now.mono;
  g.write.removeOrphan(c_.now.mono + kFoundNoteStays, troubles_.rejectionsOf(pod.uid));
}

void NoteWriter::end(const model::Uid& uid) {
  slots_.forget(grants_.find(uid)->pod.ns, uid);
  grants_.end(uid);
}

void NoteWriter::forget(const model::Uid& uid) {
  taken_back_.erase(uid);
  troubles_.forget(uid);
}

void NoteWriter::reset() {
  troubles_.reset();
  slots_.clear();
  taken_back_.clear();
}

// ---- Calls

/// The version that the next write is based on: the newest that is known.
const model::Pod* NoteWriter::versionOf(const Grant& g) const {
  const model::Pod* known = c_.engine.cache().pod(g.uid);
  const model::Pod* seen = g.seen.get();
  return known == nullptr || (seen != nullptr && seen->revision > known->revision) ? seen : known;
}

kapi::Call NoteWriter::nextCall(Grant& g, const model::Pod* pod, Purpose& purpose) {
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

void NoteWriter::advance(Grant& g) {
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
  g.write.sent(calls_.send(std::move(next), purpose, g.uid, c_.out, idle ? g.pod.ns : ""));
}

void NoteWriter::useFreeSlots() {
  while (const auto uid = slots_.next()) {
    if (Grant* g = grants_.find(*uid)) {
      g->write.queued(false);
      advance(*g);
      grants_.plan(*uid);
    }
  }
}

// ---- What became of them

void NoteWriter::answered(const PodCalls::Answered& call, const kapi::Outcome& outcome) {
  if (!call.slot.empty()) { slots_.give(call.slot); }
  Grant* g = grants_.find(call.uid);
  if (g == nullptr || !g->write.answered(outcome.token)) { return; }
  switch (call.purpose) {
    case Purpose::Write: writeAnswered(*g, outcome); break;
    case Purpose::Remove: removeAnswered(*g, outcome); break;
    case Purpose::Read: readAnswered(*g, outcome); break;
    case Purpose::Bind:
    case Purpose::ReadForBind:
    case Purpose::Wake: break;
  }
}

void NoteWriter::writeAnswered(Grant& g, const kapi::Outcome& outcome) {
  if (failed(g, outcome)) { return; }
  const auto pod = outcome.object.as<model::Pod>();
  c_.engine.learn(outcome.object, c_.now.mono);
  if (pod->uid != g.uid) { return isOfAnother(g); }
  if (g.write.isWriting() && !pod->bound()) {
    coordinator_.written(g, *pod);
  } else if (g.callers.awaitDecision()) {
    coordinator_.placeAll(g.callers.takeForDecision());
  }
}

void NoteWriter::readAnswered(Grant& g, const kapi::Outcome& outcome) {
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
    return coordinator_.review(uid);  // nobody else looks at a pod that asks for no GPU
  }
  if (g.write.isWriting() && noteOn(*pod) == g.note) {
    g.write.settled();
    noteWorked(g);
    coordinator_.written(g, *pod);
  } else if (g.callers.awaitDecision()) {
    coordinator_.placeAll(g.callers.takeForDecision());
  }
}

void NoteWriter::removeAnswered(Grant& g, const kapi::Outcome& outcome) {
  if (failed(g, outcome)) { return; }
  const auto pod = outcome.object.as<model::Pod>();
  c_.engine.learn(outcome.object, c_.now.mono);
  if (pod->uid != g.uid) { return isOfAnother(g); }
  if (pod->bound()) { return; }
  auto after = g.callers.takeForDecision();
  // It was given a node meanwhile (isShowing()): that is written next.
  if (g.write.isWriting()) { return coordinator_.placeAll(std::move(after)); }
  if (!g.write.isOrphan()) { taken_back_.insert(pod->uid); }
  end(pod->uid);
  coordinator_.placeAll(std::move(after));
}

/// The answer shows a pod of another uid, which no API server does that was told ours.
void NoteWriter::isOfAnother(Grant& g) {
  g.write.readFirst();
  tryLater(g, {});
}

/// There is no such pod of that name. What a caller said of a pod that nobody else knew proves nothing.
void NoteWriter::nameIsGone(Grant& g) {
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

/// Nobody asks for the pod any more, and none is known: where it may not be read or written, nothing will
/// ever tell more. Nobody was told that it has its node, since what was written is known.
bool NoteWriter::isForgotten(const Grant& g, const kapi::Outcome& outcome) const {
  return outcome.http == 403 && g.callers.empty() && c_.now.mono >= g.asked + kForgottenAfter &&
         c_.engine.cache().pod(g.uid) == nullptr;
}

/// What every write of ours may meet: true when it did not take effect, or may not have.
bool NoteWriter::failed(Grant& g, const kapi::Outcome& outcome) {
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
void NoteWriter::refused(Grant& g, std::string why) {
  c_.failAll(g.callers.takeAll(), why);
  c_.out.emplace_back(kapi::Log{kapi::Level::Error, why, {}});
  if (c_.engine.cache().pod(g.uid) != nullptr) {
    g.write.waitUntil(troubles_.refused(g.uid, std::move(why), c_.now.mono));
  }
  if (g.write.isWriting() && !g.write.isUnsettled()) { return restore(g); }
  tryLater(g, {});
}

/// What was to be written is not: it has what its annotations say still, if we wrote them.
void NoteWriter::restore(Grant& g) {
  const model::Uid uid = g.uid;
  const model::Pod* pod = c_.engine.cache().pod(uid);
  const bool had_some =
      !g.noted.node.empty() && pod != nullptr && noteOn(*pod) == g.noted && asksFor(g, *pod);
  if (had_some) {
    g.note = g.noted;
    g.picks = sched::vcudaPicks(*pod);
    g.before.clear();
    g.write.stands();
    return grants_.reserve(g, *pod);
  }
  end(uid);
  coordinator_.endedUnwritten(uid);
}

void NoteWriter::tryLater(Grant& g, Duration at_least) {
  g.write.failed(c_.now.mono, troubles_.rejectionsOf(g.uid), at_least);
}

void NoteWriter::noteWorked(const Grant& g) {
  if (!g.write.isOrphan()) { return troubles_.worked(g.uid, g.pod.ns); }
  troubles_.showed(g.uid, g.pod.ns);
}

// ---- What came to nothing

/// Whatever it wants to write came to nothing, and nobody waits for it. What landed without an answer a read
/// would show first.
bool NoteWriter::isInVain(const Grant& g) {
  if (GS_MUTANT(KeepsUntold)) { return false; }
  const bool is_open = !g.write.isWritten() && !g.write.isOrphan();
  const bool is_known = !g.write.mustRead() || g.write.hasReadFailed();
  return is_open && is_known && g.write.hasFailed() && !g.write.isUnderWay() && !g.callers.awaitWrite();
}

/// What its scheduler was never told others may have. What may still land reserves nothing, and is taken off;
/// until that goes through the pod gets nothing.
void NoteWriter::letGo(Grant& g) {
  const model::Uid uid = g.uid;
  if (c_.engine.cache().pod(uid) != nullptr && troubles_.rejectionOf(uid, c_.now.mono) == nullptr) {
    (void)troubles_.refused(uid, notWrittenText(g.pod), c_.now.mono);
  }
  auto waiting = g.callers.takeForDecision();
  g.holds.clear();
  g.note = {};
  g.write.letGo();
  coordinator_.placeAll(std::move(waiting));
}

/// It keeps the place that its scheduler was told of, until that is taken off.
void NoteWriter::moveBack(Grant& g, const model::Pod& pod) {
  g.note = g.noted;
  g.picks = std::exchange(g.before, {})[g.noted.node];
  g.holds.clear();
  grants_.reserve(g, pod);
  remove(g, true);
}

/// The next thing that is to be done for a grant, if it is there. It may end: `uid` is not a part of it.
void NoteWriter::goOn(const model::Uid& uid) {
  Grant* g = grants_.find(uid);
  if (g != nullptr && isInVain(*g)) {
    const model::Pod* pod = c_.engine.cache().pod(uid);
    const bool moves = g->write.isWriting() && g->before.contains(g->noted.node);
    if (!wasTold(*g)) {
      letGo(*g);
    } else if (moves && pod != nullptr) {
      moveBack(*g, *pod);
    }
    g = grants_.find(uid);
  }
  if (g != nullptr) { advance(*g); }
}

std::string NoteWriter::notWrittenText(const model::ObjectKey& pod) const {
  const std::string* stuck = troubles_.stuckIn(pod.ns);
  return fmt::format("the annotations of pod {} could not be written{}; ask again", pod.text(),
                     stuck == nullptr ? "" : ", no write in its namespace goes through: " + *stuck);
}

bool NoteWriter::isShowing(const Grant& g) const {
  return g.write.isOrphan() && (g.write.failures() > 0 || troubles_.stuckIn(g.pod.ns) != nullptr);
}

/// Whether a write of the pod is to go through before it is given anything, which others could have
/// meanwhile: where none of its namespace does, or its own came to nothing. Of what its scheduler was told
/// that write is its removal, so that it does not hold two places.
bool NoteWriter::mustShow(const Grant* before, const model::Pod& pod) const {
  if (troubles_.stuckIn(pod.key.ns) != nullptr && !troubles_.hasShown(pod.uid)) { return true; }
  if (before == nullptr || before->write.failures() == 0) { return false; }
  return before->write.isOrphan() || (wasTold(*before) && before->write.isRemoving());
}

std::uint64_t NoteWriter::nextTime() {
  last_time_ = std::max(nanosecondsOf(c_.now.wall), last_time_ + 1);
  return last_time_;
}

void NoteWriter::sawTime(std::uint64_t time) { last_time_ = std::max(last_time_, time); }

}  // namespace gs::extender
