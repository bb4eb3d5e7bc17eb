#include "scheduler/report/status_revision.h"

#include "kapi/kinds.h"
#include "kapi/write.h"

namespace gs::scheduler {

void StatusRevision::pump() {
  const auto number = c_.engine.reclaim().wantsFloor();
  if (!number || !calls_.due(kOnlyOne, c_.now.mono)) { return; }
  kapi::Call call = kapi::listObjects(kapi::kGpuNodeStatus, "", 1);
  call.token = calls_.begin(kOnlyOne, *number);
  c_.out.emplace_back(std::move(call));
}

void StatusRevision::handle(const kapi::Outcome& outcome, Now now, kapi::Effects& /*out*/) {
  const auto call = calls_.answered(outcome.token);
  if (!call) { return; }
  if (outcome.result == kapi::CallResult::Applied) {
    calls_.worked(kOnlyOne);
    c_.engine.tellStatusRevision(call->what, outcome.list_revision);
  } else {
    calls_.failed(kOnlyOne, now.mono, outcome.retry_after);  // GPUs wait for it
  }
}

std::optional<Mono> StatusRevision::nextDue() const {
  const bool wanted = c_.engine.reclaim().wantsFloor() && !calls_.open(kOnlyOne);
  return wanted ? std::optional{calls_.notBefore(kOnlyOne)} : std::nullopt;
}

}  // namespace gs::scheduler
