// What a kubelet does with one pod, as a pure function: state and event in;
// next state and what is to be done now out.
//
//   Waiting --due--> (Take, then) Start --> Runs --due--> EndMain (sidecars run on), End --> Over
//   Runs --deletion--> Stopping --due--> Stop (reported terminated, then removed)
//   Runs, Stopping --pod gone by force--> Lingering --due--> Forget
//   Waiting --failed by somebody while containers wait--> Unseen (they run, for `linger`) --due--> Over
//   any --node gone--> Waiting (without containers) --due--> Orphan (a controller-manager's pod GC)
//
// Whoever drives it sends Due when `due` has come, and nothing of a node that is down. No I/O, no JSON:
// pod_status.h reads a pod and prints a report.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "base/clock.h"

namespace gs::sandbox {

struct PodTimes {
  Duration start_after = std::chrono::milliseconds{500};
  /// After a driver could not prepare its devices; sooner when its annotations change.
  Duration prepare_again = std::chrono::seconds{60};
  Duration stop_takes = std::chrono::milliseconds{100};
  Duration linger{};         // of containers that nobody sees
  Duration sidecar_takes{};  // after the main containers ended
  Duration orphan_after = std::chrono::seconds{40};
};

/// What a kubelet sees of a pod.
struct PodView {
  bool finished = false;  // the API says Succeeded or Failed
  bool deleting = false;
  Duration grace = std::chrono::seconds{30};
  bool said_to_wait = false;  // a container status says so
  bool has_sidecars = false;
  friend bool operator==(const PodView&, const PodView&) = default;
};

enum class PodPhase : std::uint8_t { Waiting, Runs, Stopping, Unseen, Over, Lingering };

struct PodState {
  PodPhase phase = PodPhase::Waiting;
  std::optional<Mono> due{};
  std::optional<int> exit_code{};  // set: it ends at the next chance
  bool to_take = false;            // by a device plugin, first
  bool main_ended = false;         // only sidecars run
  PodView pod{};                   // last seen
  /// Its containers exist.
  [[nodiscard]] bool hasContainers() const { return phase != PodPhase::Waiting && phase != PodPhase::Over; }
  /// The API says that its pod ended or went.
  [[nodiscard]] bool ended() const { return pod.finished || phase == PodPhase::Lingering; }
  friend bool operator==(const PodState&, const PodState&) = default;
};

namespace pod_event {
/// Seen for the first time, with its node set. `taken_after`: a device plugin takes it, so much later.
struct Bound {
  PodView pod;
  std::optional<Duration> taken_after{};
};
/// Seen for the first time, and it runs already; until `end`, if it has one.
struct Adopted {
  PodView pod;
  std::optional<Mono> end{};
};
struct Changed {
  PodView pod;
};
struct Gone {};
struct NodeCame {};
struct NodeWent {};
struct Due {};
/// Its device plugin took it, and that was written.
struct Taken {};
/// Its device plugin will not have it.
struct Refused {};
/// Its volumes are not mounted yet: it is to start later.
struct NotMounted {};
/// A driver could not prepare its devices.
struct NotPrepared {};
/// Its containers were started.
struct Started {};
/// That was written. They end by themselves after `run_for`, or at once with `exit_code`.
struct Reported {
  std::optional<int> exit_code{};
  std::optional<Duration> run_for{};
};
/// Somebody says that its containers end.
struct Told {
  int exit_code = 0;
};
}  // namespace pod_event
using PodEvent = std::variant<pod_event::Bound, pod_event::Adopted, pod_event::Changed, pod_event::Gone,
                              pod_event::NodeCame, pod_event::NodeWent, pod_event::Due, pod_event::Taken,
                              pod_event::Refused, pod_event::NotMounted, pod_event::NotPrepared,
                              pod_event::Started, pod_event::Reported, pod_event::Told>;

enum class PodStep : std::uint8_t {
  Nothing,
  Take,       // ask the device plugin, then Taken or Refused
  Start,      // start the containers and report it: Started, then Reported; or Refused, NotMounted or
              // NotPrepared
  RunUnseen,  // start the containers, and say nothing
  EndMain,    // report that the main containers ended
  End,        // report that all ended
  Stop,       // the same, then remove the pod
  Remove,     // delete the pod with grace 0
  Orphan,     // fail the pod unless it is finished, and delete it
  Forget,     // the pod is nobody's any more
};

struct Surroundings {
  Mono now{};
  PodTimes times{};
  bool node_exists = true;
  bool node_down = false;
};

struct PodTransition {
  PodState state;
  PodStep step = PodStep::Nothing;
  bool changed = false;  // which containers exist, or whether they ended
};

[[nodiscard]] PodTransition next(const PodState& state, const PodEvent& event, const Surroundings& around);

/// What a pod's status says after a step. Exit codes: of containers that ended; nothing: they run.
struct PodReport {
  const char* phase = nullptr;  // null: what it is
  bool ready = false;
  const char* reason = nullptr;  // of not being ready
  std::optional<int> exit_code{};
  std::optional<int> sidecar_exit_code{};
};
/// Of Start, EndMain, End and Stop. `state`: before the step. `by_itself`:
/// the exit code of containers that nobody ends.
[[nodiscard]] PodReport reportOf(PodStep step, const PodState& state, int by_itself = 0);

}  // namespace gs::sandbox
