// Events as kube-scheduler writes them (events.k8s.io/v1), and their aggregation into series:
// a pure recorder.
//
// The first occurrence of (object uid, type, reason, note) is a Create; a repeat within 6 minutes a PATCH of
// `series` (count, lastObservedTime), at most one write a `min_gap` per event. At most `max_tracked` are
// remembered (the oldest goes).
// Source: client-go tools/events (isomorphic key, series started at count 2).
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/random.h"
#include "kapi/call.h"
#include "kapi/kinds.h"

namespace gs::controller {

struct EventNote {
  kapi::Kind kind = kapi::kPod;
  model::ObjectKey object;
  model::Uid uid;
  model::Revision revision = 0;
  bool warning = false;
  std::string reason;  // "Scheduled", "FailedScheduling", ...
  std::string action;  // "Binding", "Scheduling"
  std::string note;    // at most 1024 bytes; cut by the recorder
  /// Not empty: to be said once. Uid, reason and this make the Event's name, so that a copy, of another
  /// process too, is answered AlreadyExists while the first one is there. Nothing is remembered of it: a
  /// caller that may have very many of them sees to it that each comes once.
  std::string once{};
};

class EventRecorder {
 public:
  /// `controller` e.g. "gpu-scheduler" (reportingController), `instance` e.g. "gpu-scheduler-<hostname>".
  EventRecorder(std::string controller, std::string instance, Rng rng);
  /// The call to make (leader-only, ordering key "", no token set), or nothing when the repeat came too soon.
  [[nodiscard]] std::optional<kapi::Call> record(const EventNote& note, Now now);
  /// The API server does not have that event (any more): its next occurrence is a Create again.
  void lost(const model::ObjectKey& event);

 private:
  std::string controller_;
  std::string instance_;
  Rng rng_;

  struct Series {
    std::string ns;
    std::string name;  // of the Event object
    std::int64_t count = 1;
    std::int64_t written = 1;  // the count that the API has
    Mono last{};
    Mono written_at{};
  };
  [[nodiscard]] kapi::Call create(const EventNote& note, const std::string& name, Now now) const;
  [[nodiscard]] static kapi::Call patchSeries(const Series& series, Now now);
  void forgetOld(Mono now);

  std::unordered_map<std::string, Series> series_;  // by uid, type, reason, note
  std::deque<std::pair<Mono, std::string>> order_;  // by first occurrence
};

}  // namespace gs::controller
