// Bugs of decisions that can be put in on purpose, so that the simulation shows that it would find them
// (test/sim/mutants_main.cc), and the comparison with kube-scheduler does (test/filters/mutants_main.cc).
// Those that show in calls, answers and objects are put in there instead (test/sim/mutators.h). What only a
// raw object shows is here too: mutators are given decoded ones.
// Only these programs are compiled with GS_MUTANTS; everywhere else GS_MUTANT(X) is `false`, and the compiler
// leaves nothing of it.
#pragma once

#ifdef GS_MUTANTS
#define GS_MUTANT(bug) (::gs::mutant::isIn(::gs::mutant::Bug::bug))
#else
#define GS_MUTANT(bug) false
#endif

namespace gs::mutant {

enum class Bug {
  CacheSaysGone,        // a pod that the cache does not have is gone
  NoFenceForLeftovers,  // leases of an unbound pod are deleted without a fence
  NoInitialSync,        // a new leader decides from what it has
  ForgetsSharers,       // a new sharer replaces the others on the lease
  FreesDraining,        // an ended pod's GPUs are free at once
  FreesUnobserved,      // two looks of the agent are not waited for after an unclean end
  FreesInUse,           // an ended pod's GPUs are free though the agent still sees them in use
  BindsEarly,           // a Binding is sent before all its leases are written
  IgnoresFences,        // a Binding is sent on a version with another fence than it was decided on
  SameFenceTwice,       // a fence value is used again: that PATCH changes nothing
  KeepsOrphans,         // leases of a bound pod that landed late stay
  ForgetsOnEnd,         // an ended pod's leases stay
  TakesOthersLeases,    // a lease of another pod is written over
  ForgetsCounted,       // GPUs of pods without an allocation are not counted
  FenceCoversAll,       // leases from after a fence are deleted by it too
  GrantsOneTooFew,      // of several GPUs one is left out
  TrustsSilence,        // an agent that is not Ready is not waited for after an unclean end
  IgnoresUuids,         // a GPU is the number that it had when its pod was bound
  ReclaimsByNumber,     // what drains does not follow its GPU to another number
  FreesAnonymous,       // GPUs that nobody named are free when their pod ends
  IgnoresSidecars,      // init containers that run are not asked for
  IgnoresRecord,        // another installation's name on its leases keeps nobody from working
  DropsOthersLeases,    // leases that name pods of other schedulers go
  RetriesAtOnce,        // every wait after a failure is a millisecond
  WaitsInSlots,         // who waits after a failure keeps its slot
  NoWindows,            // a namespace may use every slot
  AnswersTooEarly,      // kube-scheduler is told that its pod is bound once its GPUs are reserved
  AdoptsElsewhere,      // leases of another node than kube-scheduler asks for are taken over
  BindsUnseen,          // a pod that is not seen yet is bound as one without GPUs
  WakesNobody,          // a pod that kube-scheduler found no GPUs for is not shown that there are some
  TakesMounted,         // images of kernel caches go whoever has them mounted
  KeepsCutLayers,       // what came of a layer until the registry failed counts as all of it
  MountsOthersCaches,   // a pod may mount caches of other namespaces
  MountsUnsaid,         // a mount of a kernel cache has no use
  LetsMountedGo,        // a kernel cache goes though nodes have it
  ForgetsInitShares,    // limits of init containers and sidecars ask for no share
  AwaitsNoLooks,        // GPUs are given beside pods whose GPUs the agent is about to name
  HidesContradictions,  // facts that contradict each other are not said
  HoldsForEver,         // GPUs that are held for kube-scheduler's next request are held until that comes
  HoldsAnew,            // they are held for as long again each time that it asks
  OffersRefused,        // nodes that refused a pod of kube-scheduler's are offered for it again
  KeepsUntold,          // shares that could not be written, and that nobody was told of, are kept
  GivesMoved,           // GPUs are given by numbers that may reach another one
  ForgetsVanished,      // an agent that starts anew numbers GPUs without those that its driver does not list
  KeepsItsWorker,       // an image is fetched to its end in one turn
  KeepsDamage,          // a file that is damaged stays when the same comes again
  ForgetsDamage,        // what is found damaged is not noted
  AsksNoRegistry,       // an image that the node has is given to whoever names its digest
  EvictsEquals,         // who is as important as a pod of kube-scheduler's is to go for it
  AppendsVariables,     // the webhook's variables stand after the container's own
  OnePathForAll,        // paths in a cache's files are those of one place, wherever pods mount it
  BindsUnmapped,        // on a node with a DRA driver a Binding is sent without the mapping of the limits
  NoLookAtOthers,       // after an allocation nobody looks whether others have one of its devices
  KeepsAllocation,      // what was decided in vain stays in the pod's ResourceClaim
  FreesAllocated,       // leases that an earlier leader left go before the pod's ResourceClaim is empty
  WrongRequestName,     // the limits are mapped to a request that the pod's ResourceClaim does not have
  TrustsMapping,        // what the API server answers to the mapping is not looked at
  JoinsUnreserved,      // a claim that is allocated what a pod wants is the pod's, reserved for it or not
  LeaveEmpties,         // who leaves a claim that others use empties it
  ForgetsTakenClaims,   // what a ResourceClaim gave a pod that runs is free once the claim goes
  ForgetsDrivers,       // without its slices a node with a DRA driver is one without
  StrangerJoins,        // whoever shares a GPU counts as a user of the claim that it is shared by
  // Of filters, which drawn cases show (test/filters/mutants_main.cc).
  NotInNeedsLabel,      // node affinity: a node without a label is none whose label is not in a list
  AddressesApart,       // a host port on every address and one on a single address can be beside each other
  EmptyKeyIsAKey,       // a toleration without a key tolerates taints without one
  ForgetsResidents,     // pods that are there keep nobody away
  EmptyIsNoSelector,    // a namespaceSelector without requirements is one that is not there
  NoFirstOfGroup,       // a pod that wants to be near its own kind waits for the first of them
  ForgetsLabelKeys,     // matchLabelKeys of a spread constraint are not read
  IgnoresMinDomains,    // minDomains is not read
  HonorsTaintsUnasked,  // nodeTaintsPolicy is Honor where nothing is said
  SidecarsComeFirst,    // sidecars are gone, as other init containers, when the containers run
  IgnoresPodLevel,      // spec.resources is not read
  SharesOncePod,        // several pods may use a ReadWriteOncePod claim
  IgnoresRoom,          // there is room for volumes everywhere, whatever CSIStorageCapacities say
  IgnoresReach,         // a bound volume is reached from every node
  OneVolumeMore,        // a node takes one volume more than its CSINode says
  // Of other pods and of preemption (test/sim/pods_play.h).
  MeetsKeepers,       // who is there and wants none of its kind beside it keeps nobody away
  IgnoresOthers,      // what a pod says of other pods is not asked
  CountsEnded,        // a pod that ended is still there for whoever speaks of such pods
  ForgetsReserved,    // a pod that was decided is there for others only once it is bound
  TellsNobody,        // who waits hears nothing of a pod that comes and keeps it away
  KeepsPorts,         // a pod that ended has its ports still
  ForgetsPorts,       // a pod that is bound has no ports
  PreemptsEquals,     // who is as important as a pod of ours may have to go for it
  PreemptsPolitely,   // preemptionPolicy Never is not read
  TakesKeptRoom,      // room that is kept for a nominated pod goes to whoever comes
  EvictsUnnominated,  // others go for a pod before it is nominated
  EvictsUnmarked,     // a victim is deleted without a word
  BindsUnbound,       // a Binding is sent before the pod's claims of volumes are bound
  KeepsInVain,        // a pod whose volumes come to nothing keeps its GPUs
  // Of what containers are given (enforce/plan.h).
  TrustsAnnotation,      // what a pod's annotation says is its own, whatever leases say
  ForgetsPluginDevices,  // what the kubelet's device plugin put into a container stays
  AnswersBeforeLease,    // a pod whose leases were not read yet has what it says
};

/// Defined by the program that plants.
bool isIn(Bug bug);

}  // namespace gs::mutant
