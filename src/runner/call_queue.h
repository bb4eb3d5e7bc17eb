// CallQueue: which call may start next. Pure: no threads, no clock; call_pool.h adds those.
//
// Ordering keys: of the calls of one ordering key one is out at a time, in the order given; ordering key ""
// has no order.
// Order: a Binding goes before what else is ready, because a pod waits for nothing but it. So that others are
// not kept waiting for ever, one of four calls in a row is no Binding. Otherwise first come, first served.
// Holds: after an answer 429 with Retry-After, further calls of the same kind of write (kind, subresource,
// verb) wait until then, others go on. A server that has too much to do answers in plain text, which holds
// all namespaces (k8s.io/apiserver/pkg/server/filters, priority-and-fairness.go). A Status comes from a
// webhook, or from a limit of something in the namespace: it holds that namespace only, for others have
// nothing to do with it. A call that would wait in a hold for longer than its own timeout comes out overdue,
// to be reported NotSent with what is left of the hold.
// Each call that goes in comes out of next() exactly once; answered() and then finished() must follow.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/clock.h"
#include "kapi/call.h"

namespace gs::runner {

/// A call with the term in which it was decided (LeaderGate).
struct QueuedCall {
  kapi::Call call;
  std::uint64_t term = 0;
  bool overdue = false;  // held back for longer than its timeout: do not send
  Duration held_for{};   // then: what is left of the hold
};

class CallQueue {
 public:
  void submit(QueuedCall queued);
  /// The next call that may start. Mono::max(): all holds are over.
  [[nodiscard]] std::optional<QueuedCall> next(Mono now);
  /// When next() may have something without a further submit() or finished(); Mono::max(): never.
  [[nodiscard]] Mono nextChange() const;
  /// A 429 with retry_after begins a hold, of at most a minute.
  void answered(const kapi::Call& call, const kapi::Outcome& outcome, Mono now);
  /// Frees the call's ordering key: its outcome was given back.
  void finished(const kapi::Call& call);
  /// Calls that have not come out yet.
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  /// The last is the namespace; "" all of them.
  using WriteKind = std::tuple<kapi::Kind, std::string, kapi::Verb, std::string>;
  struct Hold {
    Mono until{};
    std::multimap<Mono, QueuedCall> waiting;  // by when they are overdue
  };
  void ready(QueuedCall queued);
  [[nodiscard]] std::optional<QueuedCall> takeReady();
  static WriteKind writeKind(const kapi::Call& call, std::string ns) {
    return {call.kind, call.subresource, call.verb, std::move(ns)};
  }
  [[nodiscard]] Hold* holdOf(const kapi::Call& call);

  std::deque<QueuedCall> bindings_;  // ready, as are `others_`
  std::deque<QueuedCall> others_;
  int bindings_in_a_row_ = 0;
  std::unordered_map<std::string, std::deque<QueuedCall>>
      ordering_keys_;  // those with a call ready, held or out
  std::map<WriteKind, Hold> holds_;
  std::size_t size_ = 0;
};

}  // namespace gs::runner
