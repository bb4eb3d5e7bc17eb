// Bugs that can be put in on purpose, so that the simulation shows that it would find them
// (test/sim/mutants_main.cc).
// Only that program is compiled with GS_MUTANTS; everywhere else GS_MUTANT(X) is `false`, and the compiler
// leaves nothing of it.
#pragma once

#ifdef GS_MUTANTS
#define GS_MUTANT(bug) (::gs::mutant::isIn(::gs::mutant::Bug::bug))
#else
#define GS_MUTANT(bug) false
#endif

namespace gs::mutant {

enum class Bug {
  ReleaseOnUnknownBinding,  // no answer is taken for a refusal
  ConflictIsSuccess,        // a 409 of a Binding is taken for 201
  CacheSaysGone,            // a pod that the cache does not have is gone
  NoFenceForLeftovers,      // leases of an unbound pod are deleted without a fence
  NoInitialSync,            // a new leader decides from what it has
  ForgetsSharers,           // a new sharer replaces the others on the lease
  FreesDraining,            // an ended pod's GPUs are free at once
  FreesUnobserved,          // two looks of the agent are not waited for after an unclean end
  FreesInUse,               // an ended pod's GPUs are free though the agent still sees them in use
  DeletesBlindly,           // DELETE of a lease without uid and resourceVersion
  UpdatesBlindly,           // PUT of a lease without resourceVersion
  BindsBlindly,             // Binding without resourceVersion
  BindsUnnamedBlindly,      // only those that name no devices
  BindsEarly,               // a Binding is sent before all its leases are written
  IgnoresFences,            // a Binding is sent on a version with another fence than it was decided on
  SameFenceTwice,           // a fence value is used again: that PATCH changes nothing
  KeepsOrphans,             // leases of a bound pod that landed late stay
  ForgetsOnEnd,             // an ended pod's leases stay
  TakesOthersLeases,        // a lease of another pod is written over
  ForgetsCounted,           // GPUs of pods without an allocation are not counted
  FenceCoversAll,           // leases from after a fence are deleted by it too
  GrantsOneTooFew,          // of several GPUs one is left out
  GrantsUnhealthy,          // every device counts as Healthy
  IgnoresTopology,          // a claim's topology is not read
  TrustsSilence,            // an agent that is not Ready is not waited for after an unclean end
  IgnoresUuids,             // a GPU is the number that it had when its pod was bound
  ReclaimsByNumber,         // what drains does not follow its GPU to another number
  FreesAnonymous,           // GPUs that nobody named are free when their pod ends
  IgnoresSidecars,          // init containers that run are not asked for
  IgnoresRecord,            // another installation's record does not keep anybody from working
  DropsOthersLeases,        // leases that name pods of other schedulers go
  RetriesAtOnce,            // every wait after a failure is a millisecond
  WaitsInSlots,             // who waits after a failure keeps its slot
  NoWindows,                // a namespace may use every slot
  UnknownIsHealthy,         // a device whose health nobody knows counts as Healthy
  ForgetsCpu,               // what pods ask for of cpu is not read
  IgnoresEnforcer,          // the enforcer label of a node is not read
  IgnoresQuotas,            // a namespace may have any number of any model
  StandbyIsDeaf,            // who does not lead misses what is deleted
};

/// Defined by the program that plants.
bool isIn(Bug bug);

}  // namespace gs::mutant
