// What a pod was given, and how far that is written on it: a node and shares of its devices.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "extender/grants/callers.h"
#include "extender/grants/node_turns.h"
#include "extender/grants/note_write.h"
#include "extender/grants/promises.h"
#include "model/pod.h"
#include "model/vcuda.h"
#include "sched/ledger/ledger.h"
#include "sched/ledger/shares.h"

namespace gs::extender {

struct Grant {
  model::Uid uid;
  model::ObjectKey pod;
  sched::SharePicks picks;
  model::VcudaNote note;
  /// What it had before, by node: a Binding to there may land until it is known that its annotations say
  /// other.
  std::map<model::NodeName, sched::SharePicks> before{};
  std::vector<sched::Reservation> holds{};  // of all of these
  NoteWrite write{};
  model::PodPtr seen;               // as its caller had it; the cache may not have it yet
  model::VcudaNote noted{};         // what the API had when we last knew
  bool adopted = false;             // an earlier process wrote it, and may have another PATCH under way
  std::optional<Mono> contested{};  // adopted, and another one says the same: until then both count
  Mono asked{};                     // last
  NodeTurns turns{};                // of Predicates
  Promises promises{};              // of Filters
  model::ScheduledCondition told;   // PodScheduled when the annotations were written
  std::optional<Mono> given_up;     // its scheduler said since that it is not scheduled
  Callers callers;
  std::optional<Mono> due;  // its place among Grants' times
};

/// Its scheduler may know of it, and bind.
[[nodiscard]] inline bool wasTold(const Grant& g) { return !g.noted.node.empty(); }
/// The pod's limits are those for which it was given devices. Who asked in its name may have said others.
[[nodiscard]] bool asksFor(const Grant& grant, const model::Pod& pod);
/// As they are annotated, by container.
[[nodiscard]] std::map<int, std::vector<int>> idsOf(const sched::SharePicks& picks);
/// What its annotations say.
[[nodiscard]] model::VcudaNote noteOn(const model::Pod& pod);

}  // namespace gs::extender
