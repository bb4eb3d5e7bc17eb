#include "scheduler/preempt/preemption_step.h"

#include "base/mutant.h"

namespace gs::scheduler {

PreemptionStep nextStep(const PreemptionFacts& facts) {
  if (!facts.waits) { return PreemptionStep::GiveUp; }
  if (facts.blocked) { return PreemptionStep::Wait; }
  if (facts.fits_now) { return PreemptionStep::Place; }
  if (!facts.has_room) { return PreemptionStep::GiveUp; }
  if (!facts.nominated && !GS_MUTANT(EvictsUnnominated)) { return PreemptionStep::Nominate; }
  return facts.all_go ? PreemptionStep::Wait : PreemptionStep::Evict;
}

const char* whyGivenUp(const PreemptionFacts& facts) {
  return facts.waits ? "nobody's going makes room on that node any more" : "the pod does not wait any more";
}

VictimStep nextStep(const model::Pod& victim, bool marked, bool deleted) {
  if (victim.deleting || deleted) { return VictimStep::Nothing; }
  return victim.preempted || marked || GS_MUTANT(EvictsUnmarked) ? VictimStep::Delete : VictimStep::Mark;
}

}  // namespace gs::scheduler
