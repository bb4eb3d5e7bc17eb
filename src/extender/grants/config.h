// What the extender component is told at start.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "base/clock.h"
#include "model/pod.h"
#include "model/quota.h"

namespace gs::extender {

struct Config {
  /// --compat=strict: a pod that has annotations of an earlier call is an error, 150 cores are one GPU, quota
  /// counts bound pods only, and choices that are not certain are given.
  bool strict = false;
  /// Of the scheduler in the same process, which places its pods itself; "": there is none.
  std::string own_scheduler{};
  /// Pods that others of this process bind: requests for those are handed back. None: there are none.
  std::function<bool(const model::Pod&)> is_bound_by_others{};
  model::QuotaConfig quota{};              // of an extender that runs alone; else the engine's counts
  std::string instance = "gpu-admission";  // who reports events
  /// A caller is told that its pod's annotations could not be written yet.
  /// Schedulers wait for 5 s by default.
  Duration answer_within = std::chrono::seconds{4};
};

// When a reservation ends (R54).
inline constexpr Duration kGivenUpAfter =
    std::chrono::seconds{10};  // since its scheduler wrote PodScheduled=False
inline constexpr Duration kForgottenAfter = std::chrono::minutes{15};
/// Annotations of unbound pods that nobody promised are taken off after so long: a scheduler that is told by
/// another extender may be about to bind the pod. What two pods say that they have counts for both as long.
inline constexpr Duration kFoundNoteStays = std::chrono::seconds{10};
/// Calls at a time that nobody waits for, and of one namespace.
inline constexpr std::size_t kIdleCalls = 16;
inline constexpr std::size_t kIdleCallsOfNamespace = 4;
/// Volcano without allocateFunc: since the pod was last told that one node fits, no other one does for so
/// long; a session asks about many nodes at once, and binds to any that fits.
inline constexpr Duration kHeldForPredicate = std::chrono::seconds{5};
/// Its node has so many turns in a row, each as long as that. Then it rests, so that a pod whose node some
/// other plugin refuses gets another: until others may fit, and as long again,
/// since sessions may begin as seldom.
inline constexpr int kTurnsOfPredicate = 4;

}  // namespace gs::extender
