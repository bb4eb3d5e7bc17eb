#include "extender/extender.h"

#include <algorithm>

namespace gs::extender {
namespace {

using Kind = Answer::Kind;

}  // namespace

Extender::Extender(engine::Engine& engine, Config config, Rng rng, controller::Owners owners)
    : c_{engine, std::move(config), rng}, calls_{owners.take()} {
  c_.engine.noteShares();
}

// ---- Whether it decides

void Extender::lead(Now now) {
  c_.now = now;
  leading_ = true;
  found_.adoptAll();
}

void Extender::stopTaking() {
  taking_ = false;
  why_not_ = kStopping;
}

void Extender::giveUp() {
  stopTaking();
  standBy(kStopping);
}

void Extender::standBy(std::string why) {
  leading_ = false;
  why_not_ = std::move(why);
  const auto refuse = [&](const std::vector<Caller>& waiting) {
    for (const Caller& w : waiting) { c_.answer(w, Kind::Unavailable, why_not_); }
  };
  for (auto& [uid, grant] : grants_.all()) { refuse(grant.callers.takeAll()); }
  refuse(bindings_.takeAll());
  grants_.clear();
  calls_.reset();
  writer_.reset();
  c_.log.reset();
  wakes_.refusals().reset();
  preempt_requests_.refuseAll(why_not_);
  chooser_.reset();
}

// ---- Requests

void Extender::serve(Caller w, Now now) {
  c_.now = now;
  const Verb verb = w.request.verb;
  if (verb == Verb::Deallocate) { return deallocate(w); }
  if (auto lacking = chooser_.lackingObjects(w.request.candidates); !lacking.empty()) {
    Answer a;
    a.kind = Kind::SendObjects;
    a.kept = std::move(lacking);
    return c_.answer(w, std::move(a));
  }
  const model::Uid uid = verb == Verb::Rank ? model::Uid{} : w.request.pod->uid;
  switch (verb) {
    case Verb::Filter:
    case Verb::Predicate:
    case Verb::Allocate: placer_.place(std::move(w)); break;
    case Verb::Look: placer_.look(w); break;
    case Verb::Rank: c_.answer(w, chooser_.rank(w.request.candidates)); break;
    case Verb::Preempt: preempt_requests_.ask(std::move(w)); break;
    case Verb::Bind: bindings_.bind(std::move(w)); break;
    case Verb::Deallocate: break;
  }
  grants_.plan(uid);
}

void Extender::deallocate(const Caller& w) {
  const model::Uid uid = w.request.pod->uid;
  if (Grant* grant = grants_.find(uid)) {
    if (const model::Pod* pod = c_.engine.cache().pod(uid)) { chooser_.givenBack(*pod); }
    writer_.remove(*grant);
  }
  c_.answer(w, Kind::Done);
  grants_.plan(uid);
}

/// It waited, and its numbers may mean other nodes by now.
void Extender::place(Caller w) {
  if (auto other_table = otherTableAnswer(w, table())) { return c_.answer(w, *std::move(other_table)); }
  placer_.place(std::move(w));
}

void Extender::endedUnwritten(const model::Uid& uid) {
  if (const model::Pod* pod = c_.engine.cache().pod(uid)) { found_.takeOff(*pod); }
}

// ---- Answers, and time

bool Extender::handle(const kapi::Outcome& outcome, Now now) {
  if (kapi::tokenOwner(outcome.token) != owner()) { return false; }
  c_.now = now;
  const auto call = calls_.answered(outcome.token);
  if (!call) { return true; }  // of an earlier term
  using Purpose = PodCalls::Purpose;
  if (call->purpose == Purpose::Wake) {
    wakes_.answered(call->uid, outcome);
    return true;
  }
  if (call->purpose == Purpose::Bind || call->purpose == Purpose::ReadForBind) {
    bindings_.answered(*call, outcome);
    Grant* grant = grants_.find(call->uid);
    if (grant != nullptr && !grant->write.isUnderWay()) { placeAll(grant->callers.takeForDecision()); }
  } else {
    writer_.answered(*call, outcome);
  }
  writer_.goOn(call->uid);
  grants_.plan(call->uid);
  writer_.useFreeSlots();
  return true;
}

void Extender::settle(Now now) {
  c_.now = now;
  const auto touched = c_.engine.takeTouchedShares();
  if (!leading_) { return; }
  for (const auto& uid : touched) {
    reviews_.review(uid);
    grants_.plan(uid);
  }
  found_.recheckQuotas();
  tick();
  writer_.useFreeSlots();
  if (taking_) { wakes_.wakeSomebody(); }
}

void Extender::tick() {
  while (Grant* grant = grants_.takeDue(c_.now.mono)) {
    const model::Uid uid = grant->uid;
    reviews_.tick(*grant);
    grants_.plan(uid);
    const Grant* still = grants_.find(uid);
    if (still != nullptr && still->due && *still->due <= c_.now.mono) { break; }
  }
  bindings_.tick();
  preempt_requests_.work();
}

std::optional<Mono> Extender::nextDue() const {
  Mono due = std::min(grants_.nextDue(), bindings_.nextDue());
  if (taking_) { due = std::min(due, wakes_.nextDue().value_or(Mono::max())); }
  if (preempt_requests_.hasWork()) { due = std::min(due, c_.now.mono); }
  return due == Mono::max() ? std::nullopt : std::optional{due};
}

Extender::Sizes Extender::grants() const {
  Sizes sizes;
  sizes.timers = grants_.timers();
  sizes.in_vain = chooser_.inVain();
  sizes.showed = writer_.troubles().showed();
  for (const auto& [uid, grant] : grants_.all()) {
    ++(grant.write.isWriting() ? sizes.writing : grant.write.isWritten() ? sizes.written : sizes.removing);
  }
  return sizes;
}

}  // namespace gs::extender
