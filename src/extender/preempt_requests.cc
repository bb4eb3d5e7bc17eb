#include "extender/preempt_requests.h"

#include <utility>

#include "sched/doors/vcuda.h"

namespace gs::extender {
namespace {

using Kind = Answer::Kind;

bool fitsShares(const sched::NodeState& node, const sched::PodRequest& request, const model::Uid& self,
                sched::Meter* /*meter*/) {
  return sched::fitShares(node, request, self).has_value();
}

}  // namespace

PreemptRequests::PreemptRequests(Context& context, Grants& grants, ShareChooser& chooser)
    : c_{context}, grants_{grants}, chooser_{chooser}, preemption_{context.engine, fitsShares} {}

/// Who asks for no GPU may have every candidate.
void PreemptRequests::ask(Caller w) {
  const model::PodPtr pod = c_.newest(w.request.pod);
  const Candidates& c = w.request.candidates;
  Answer a;
  a.kind = Kind::Kept;
  if (!sched::wantsVcuda(*pod)) {
    for (std::size_t i = 0; i < c.nodes.size(); ++i) { a.kept.push_back(i); }
    return c_.answer(w, std::move(a));
  }
  if (c_.engine.quota().awaited()) {  // nobody is to die for a pod that will be refused
    return c_.answer(w, Kind::Unavailable, kQuotaAwaited);
  }
  auto door = chooser_.requestOf(*pod);
  auto* request = std::get_if<sched::PodRequest>(&door);
  if (request == nullptr) { return c_.answer(w, std::move(a)); }
  request->only_certain = false;  // whom gpu-manager has not taken yet it takes while the victims end
  engine::Preemption::Question q;
  q.id = w.request_id;
  q.pod = pod;
  q.request = std::move(*request);
  q.milli = sched::vcudaMilli(*pod);
  q.nodes.resize(c.nodes.size());
  for (std::size_t i = 0; i < c.nodes.size(); ++i) {
    if (c.nodes[i] != NodeTable::kUnknown) { q.nodes[i] = c.nodes[i]; }
  }
  q.given = w.request.victims;
  q.until = w.until;
  const bool at_once = !hasWork();
  preemption_.ask(std::move(q));
  callers_.insert_or_assign(w.request_id, std::move(w));
  if (at_once) { work(); }
}

/// What the pod holds itself counts neither there nor for its quota.
void PreemptRequests::work() {
  if (!hasWork()) { return; }
  const model::Pod pod = *preemption_.next();
  {
    const Grants::Aside own = grants_.setAside(pod);
    preemption_.work(c_.now.mono);
  }
  for (auto& found : preemption_.takeAnswers()) {
    const auto w = callers_.extract(found.id);
    if (!w.empty()) { c_.answer(w.mapped(), answerOf(std::move(found), chooser_.table())); }
  }
}

void PreemptRequests::refuseAll(const std::string& why) {
  (void)preemption_.drop();
  for (const auto& [id, w] : std::exchange(callers_, {})) { c_.answer(w, Kind::Unavailable, why); }
}

}  // namespace gs::extender
