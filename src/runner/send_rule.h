// When a call that may start is sent, and when it comes back NotSent: the last word of whoever carries out a
// machine's calls, be it k8s/ over HTTP or the simulation. Pure.
//
// A leader-only call is sent in the term in which it was decided and in no other: what was decided in an
// earlier term is never sent in a later one, however long it waited behind others. From `until` on nothing
// is sent, whether or not the election has said so already.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "kapi/call.h"
#include "runner/call_queue.h"

namespace gs::runner {

/// May what was decided in `term` be sent at `now`, when the election said this last?
[[nodiscard]] inline bool maySend(const kapi::Leadership& last, std::uint64_t term, Mono now) {
  return last.leading && last.term == term && now < last.until;
}

/// That this call was not sent.
[[nodiscard]] kapi::Outcome notSent(const kapi::Call& call, std::string why);

/// Why a call that came out of the queue is not sent; nullopt: it is. `stopping`: the process ends.
/// `leads`: maySend() of its term; asked of leader-only calls only.
[[nodiscard]] std::optional<kapi::Outcome> whyNotSent(const QueuedCall& queued, bool stopping, bool leads);

}  // namespace gs::runner
