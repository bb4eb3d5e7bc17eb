#include "serve/combined/offered_pods.h"

#include <algorithm>
#include <iterator>

namespace gs::serve {
namespace {

using AnswerKind = extender::Answer::Kind;
using Answers = std::vector<std::pair<extender::RequestId, extender::Answer>>;

constexpr const char* kLeadsNoMore = "this replica does not lead any more; ask again";

extender::Answer answerOfKind(AnswerKind kind, std::string text = {}) {
  extender::Answer a;
  a.kind = kind;
  a.text = std::move(text);
  return a;
}

/// nullopt: there is none of that name.
std::vector<std::optional<extender::NodeTable::Index>> knownOf(const extender::Candidates& candidates) {
  std::vector<std::optional<extender::NodeTable::Index>> out(candidates.nodes.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (candidates.nodes[i] != extender::NodeTable::kUnknown) { out[i] = candidates.nodes[i]; }
  }
  return out;
}

/// "": there is none of that name.
std::vector<model::NodeName> namesOf(const extender::Candidates& candidates) {
  std::vector<model::NodeName> out;
  for (const auto index : candidates.nodes) {
    const bool known = index != extender::NodeTable::kUnknown;
    out.emplace_back(known ? candidates.table->name(index) : std::string{});
  }
  return out;
}

}  // namespace

bool isOffered(const scheduler::Scheduler& scheduler, const model::Pod& pod) {
  return scheduler.asksUs(pod) && sched::asksAtOwnDoor(pod, scheduler.engine().doors());
}

bool OfferedPods::isTheirs(const extender::Request& request) const {
  if (request.pod == nullptr) { return false; }
  // Who places it never changes.
  const model::Pod* known = scheduler_.engine().cache().pod(request.pod->uid);
  return isOffered(scheduler_, known != nullptr ? *known : *request.pod);
}

std::string OfferedPods::refusesBecause() const {
  return taking_ ? scheduler_.answersNobodyBecause() : extender::kStopping;
}

void OfferedPods::refuse(const extender::Caller& caller, extender::Answer answer) {
  answers_.emplace_back(caller.request_id, std::move(answer));
}

void OfferedPods::serve(extender::Caller caller, Now now) {
  const extender::RequestId id = caller.request_id;
  const extender::Request& request = caller.request;
  scheduler::ExtenderPods& pods = scheduler_.extenderPods(now);
  asked_ = true;
  switch (request.verb) {
    case extender::Verb::Filter: return pods.filter({id, request.pod, namesOf(request.candidates)});
    case extender::Verb::Rank: {
      extender::Answer a = answerOfKind(AnswerKind::Offered);
      a.scores = pods.prioritize(*request.pod, namesOf(request.candidates));
      answers_.emplace_back(id, std::move(a));
      return;
    }
    case extender::Verb::Preempt:
      return scheduler_.extenderPreemption(now).ask(
          {id, request.pod, knownOf(request.candidates), request.victims, caller.until});
    case extender::Verb::Bind:
      return pods.bind({id, request.pod->key, request.pod->uid, request.node, caller.until});
    default:
      asked_ = false;
      answers_.emplace_back(
          id, answerOfKind(AnswerKind::Failed,
                           "Volcano's pods are not placed this way; see docs/use/kube-scheduler.md"));
  }
}

void OfferedPods::takeAnswers(Answers& out) {
  std::move(answers_.begin(), answers_.end(), std::back_inserter(out));
  answers_.clear();
  for (auto& offered : scheduler_.takeFilterAnswers()) {
    extender::Answer a = offered.decided ? answerOfKind(AnswerKind::Offered)
                                         : answerOfKind(AnswerKind::Unavailable, kLeadsNoMore);
    a.offers = std::move(offered.offers);
    out.emplace_back(offered.id, std::move(a));
  }
  takePreemptions(out);
  for (auto& bound : scheduler_.takeBindAnswers()) {
    using How = scheduler::BindAnswer::Kind;
    const AnswerKind kind = bound.kind == How::Bound    ? AnswerKind::Done
                            : bound.kind == How::Failed ? AnswerKind::Failed
                                                        : AnswerKind::Unavailable;
    out.emplace_back(bound.id, answerOfKind(kind, std::move(bound.text)));
  }
}

void OfferedPods::takePreemptions(Answers& out) {
  scheduler::ExtenderPreemption& preemption = scheduler_.extenderPreemption();
  for (auto& found : preemption.takeAnswers()) {
    const extender::RequestId id = found.id;
    out.emplace_back(id, extender::answerOf(std::move(found), table()));
  }
  for (const std::uint64_t id : preemption.takeDropped()) {
    out.emplace_back(id, answerOfKind(AnswerKind::Unavailable, kLeadsNoMore));
  }
}

}  // namespace gs::serve
