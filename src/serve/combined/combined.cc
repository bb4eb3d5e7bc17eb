#include "serve/combined/combined.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/mutant.h"
#include "extender/status_page.h"
#include "kapi/effects.h"
#include "scheduler/status_page.h"

namespace gs::serve {
namespace {

/// kube-scheduler places it, and the scheduler finds its GPUs.
bool isOffered(const scheduler::Scheduler& scheduler, const model::Pod& pod) {
  return scheduler.asksUs(pod) && sched::asksAtOwnDoor(pod, scheduler.engine().doors());
}

/// nullopt: there is none of that name.
std::vector<std::optional<extender::NodeTable::Index>> knownOf(const extender::Candidates& candidates) {
  std::vector<std::optional<extender::NodeTable::Index>> out(candidates.nodes.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (candidates.nodes[i] != extender::NodeTable::kUnknown) { out[i] = candidates.nodes[i]; }
  }
  return out;
}

extender::Config besideScheduler(extender::Config config, const scheduler::Scheduler& scheduler) {
  config.own_scheduler = scheduler.name();
  config.is_bound_by_others = [&scheduler](const model::Pod& pod) {
    return isOffered(scheduler, pod) && !GS_MUTANT(BindsUnseen);
  };
  return config;
}

}  // namespace

Combined::Combined(scheduler::Scheduler& scheduler, const extender::Config& config, Rng rng)
    : scheduler_{scheduler},
      answer_within_{config.answer_within},
      extender_{scheduler.engine(), besideScheduler(config, scheduler), rng.split()},
      recorder_{"gpu-admission", config.instance, rng.split()},
      events_{recorder_, parts_} {}

kapi::Effects Combined::start(Now now) {
  kapi::Effects out = scheduler_.start(now);
  settle(now, out);
  return out;
}

kapi::Effects Combined::handle(const kapi::MachineEvent& event, Now now) {
  kapi::Effects out;
  const auto* leadership = std::get_if<kapi::Leadership>(&event);
  if (leadership != nullptr && leadership->leading) { extender_.leadUntil(leadership->until); }
  const auto* outcome = std::get_if<kapi::Outcome>(&event);
  const bool taken =
      outcome != nullptr && (extender_.handle(*outcome, now) || parts_.handle(*outcome, now, out));
  if (!taken) {
    scheduler_.take(event, now);
    follow(now);  // what unbound pods were given counts before the scheduler places anybody
    decide(now, out);
  }
  if (std::holds_alternative<kapi::TimerDue>(event)) { events_.tick(now, out); }
  settle(now, out);
  return out;
}

/// The extender leads while the scheduler does.
void Combined::follow(Now now) {
  if (scheduler_.leading() && !extender_.leading() && taking_) {
    extender_.lead(now);
  } else if (!scheduler_.leading() && extender_.leading()) {
    extender_.standBy("this replica does not lead");
  }
}

void Combined::decide(Now now, kapi::Effects& out) {
  kapi::append(out, scheduler_.decide(now));
  seen_ = scheduler_.engine().ledger().changesEnd();
}

kapi::Effects Combined::ask(extender::RequestId request_id, extender::Request request, Now now) {
  kapi::Effects out;
  if (isOffered(request)) {
    askScheduler(request_id, request, now, out);
  } else {
    extender_.ask(request_id, std::move(request), now);
  }
  settle(now, out);
  return out;
}

bool Combined::isOffered(const extender::Request& request) const {
  if (request.pod == nullptr) { return false; }
  // Who places it never changes. Of one to be bound that is not known here there is only the name: the
  // extender reads it, and hands it back where it is not its own.
  const model::Pod* known = scheduler_.engine().cache().pod(request.pod->uid);
  return serve::isOffered(scheduler_, known != nullptr ? *known : *request.pod);
}

void Combined::askScheduler(extender::RequestId request_id, const extender::Request& request, Now now,
                            kapi::Effects& out) {
  using Kind = extender::Answer::Kind;
  extender::Answer a;
  const auto answer = [&](Kind kind, std::string text = {}) {
    a.kind = kind;
    a.text = std::move(text);
    answers_.emplace_back(request_id, std::move(a));
  };
  if (!taking_) { return answer(Kind::Unavailable, "this replica is stopping"); }
  if (std::string why = scheduler_.answersNobodyBecause(); !why.empty()) {
    return answer(Kind::Unavailable, std::move(why));
  }
  const Mono asked = request.asked == Mono{} ? now.mono : std::min(request.asked, now.mono);
  const Mono until = asked + answer_within_;
  if (now.mono >= until) { return answer(Kind::Unavailable, "this was asked too long ago"); }
  if (request.verb != extender::Verb::Bind && request.candidates.table != table()) {
    a.table = table();  // nodes came or went: the caller looks their names up again
    return answer(Kind::NewTable);
  }
  std::vector<model::NodeName> nodes;
  for (const auto index : request.candidates.nodes) {
    const bool known = index != extender::NodeTable::kUnknown;
    nodes.emplace_back(known ? request.candidates.table->name(index) : std::string{});
  }
  scheduler::ExtenderPods& pods = scheduler_.extenderPods(now);
  switch (request.verb) {
    case extender::Verb::Filter:
      pods.filter({request_id, request.pod, std::move(nodes)});
      return decide(now, out);
    case extender::Verb::Rank:
      a.scores = pods.prioritize(*request.pod, nodes);
      answer(Kind::Offered);
      return decide(now, out);
    case extender::Verb::Preempt:
      scheduler_.extenderPreemption(now).ask(
          {request_id, request.pod, knownOf(request.candidates), request.victims, until});
      return decide(now, out);
    case extender::Verb::Bind:
      pods.bind({request_id, request.pod->key, request.pod->uid, request.node, until});
      return decide(now, out);
    default:
      return answer(Kind::Failed, "Volcano's pods are not placed this way; see docs/use/kube-scheduler.md");
  }
}

std::vector<std::pair<extender::RequestId, extender::Answer>> Combined::takeAnswers() {
  auto out = extender_.takeAnswers();
  std::move(answers_.begin(), answers_.end(), std::back_inserter(out));
  answers_.clear();
  for (auto& offered : scheduler_.takeFilterAnswers()) {
    extender::Answer a;
    a.kind = offered.decided ? extender::Answer::Kind::Offered : extender::Answer::Kind::Unavailable;
    a.text = offered.decided ? "" : "this replica does not lead any more; ask again";
    a.offers = std::move(offered.offers);
    out.emplace_back(offered.id, std::move(a));
  }
  takePreemptions(out);
  for (auto& bound : scheduler_.takeBindAnswers()) {
    using Kind = scheduler::BindAnswer::Kind;
    extender::Answer a;
    a.kind = bound.kind == Kind::Bound    ? extender::Answer::Kind::Done
             : bound.kind == Kind::Failed ? extender::Answer::Kind::Failed
                                          : extender::Answer::Kind::Unavailable;
    a.text = std::move(bound.text);
    out.emplace_back(bound.id, std::move(a));
  }
  return out;
}

void Combined::takePreemptions(std::vector<std::pair<extender::RequestId, extender::Answer>>& out) {
  using Kind = extender::Answer::Kind;
  scheduler::ExtenderPreemption& preemption = scheduler_.extenderPreemption();
  for (auto& found : preemption.takeAnswers()) {
    const extender::RequestId id = found.id;
    out.emplace_back(id, extender::answerOf(std::move(found), table()));
  }
  for (const std::uint64_t id : preemption.takeDropped()) {
    extender::Answer a;
    a.kind = Kind::Unavailable;
    a.text = "this replica does not lead any more; ask again";
    out.emplace_back(id, std::move(a));
  }
}

void Combined::stopTaking() {
  taking_ = false;
  scheduler_.stopTaking();
  extender_.stopTaking();
}

bool Combined::underWay() const { return scheduler_.underWay() || extender_.underWay(); }

/// What the extender gave or took back may let the scheduler's pods in, or out.
void Combined::settle(Now now, kapi::Effects& out) {
  extender_.settle(now);
  for (const auto& caller : extender_.takeHandedBack()) {
    askScheduler(caller.request_id, caller.request, now, out);
  }
  kapi::append(out, extender_.takeEffects());
  for (const auto& note : extender_.takeNotes()) { events_.send(note, now, out); }
  if (scheduler_.engine().ledger().changesEnd() != seen_) { decide(now, out); }
  for (const auto due : {extender_.nextDue(), events_.nextDue()}) {
    if (due) { out.emplace_back(kapi::Wake{std::max(*due, now.mono)}); }
  }
}

std::string stateMetrics(const Combined& both) {
  return scheduler::stateMetrics(both.scheduler()) +
         extender::stateMetrics(both.extender(), both.scheduler().engine());
}

}  // namespace gs::serve
