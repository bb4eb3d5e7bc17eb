#include "runner/send_rule.h"

#include <utility>

namespace gs::runner {

kapi::Outcome notSent(const kapi::Call& call, std::string why) {
  kapi::Outcome outcome;
  outcome.token = call.token;
  outcome.result = kapi::CallResult::NotSent;
  outcome.message = std::move(why);
  return outcome;
}

std::optional<kapi::Outcome> whyNotSent(const QueuedCall& queued, bool stopping, bool leads) {
  const kapi::Call& call = queued.call;
  if (stopping) { return notSent(call, "not sent: this process is stopping"); }
  if (queued.overdue) {
    auto outcome =
        notSent(call, "not sent: the API server asked to wait (429) for longer than this call may take");
    outcome.retry_after = queued.held_for;
    return outcome;
  }
  if (call.leader_only && !leads) { return notSent(call, "not sent: we do not lead"); }
  return std::nullopt;
}

}  // namespace gs::runner
