// What plays can do beyond the plain ones, each on its own: a feature is drawn from the seed, adds its steps
// from a generator of its own, and can be played alone (sim --only NAME) or left out (--without NAME). So a
// seed without features is what it was before there were any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>

namespace gs::sim {

enum class Feature : std::uint8_t {
  Rates,          // judge: no key is tried again and again
  Standby,        // judge: a standby's ledger is like a rebuilt one
  Unknown,        // judge: an Unknown GPU is given only when nothing Healthy fits
  Uuids,          // --visible-devices=uuid
  Renumber,       // GPUs get other ids, are lost, swapped or replaced under running pods
  Foreign,        // pods of another scheduler, deleted by force while no agent has seen them
  Sidecars,       // containers that run on when the main ones ended
  Stuck,          // writes of one namespace, kind or object fail all the time
  Forbidden,      // leases may not be written for a while
  LeaseEdits,     // labels and annotations of leases are edited
  PodEdits,       // annotations of pods are edited
  Forged,         // pods that come with a node and annotations of their own
  Unmanaged,      // leases of others under the names of GPU leases
  Another,        // another installation, in the same lease namespace
  Restore,        // the API server goes back to an older state
  Resources,      // cpu, taints
  Enforcer,       // the enforcer label changes
  Clock,          // the wall clock jumps
  LatePatches,    // an extender's annotations land more than 10 s late
  Large,          // hundreds of pods
  Combined,       // scheduler and extender in one process, on one ledger
  Unstarted,      // pods are failed while their containers are said to wait, and run
  Quotas,         // GPUs of each model that a namespace may have, which change
  Unenforced,     // agents of some nodes give containers no GPUs: plain pods are counted there
  KubeScheduler,  // a kube-scheduler places some of the pods, and asks us as its extender
  Gangs,          // pods that ask for shares are bound together or not at all, as by Volcano
  Maps,           // pods that name node and GPUs in a map, which may be wrong; names of nodes move
  Agents,         // agents' calls fail and come late, agents die, drivers hang, runtimes are silent
  LateStatuses,   // of agents' calls that fail some land up to 10 s later
  Webhook,        // admission asks our webhook, by which containers of claims' pods are told their GPUs
  Ends,           // kubelets report that one of our processes was killed; another takes over at once
  Caches,         // kernel caches: operators, agents and drivers of their own, and pods that mount them
  OddShares,      // pods that ask for shares in ways that gpu-manager refuses, or serves uncounted
  Lost,           // GPUs are lost, which programs count or not, vanish and come back, while agents restart
  OddCaches,      // caches of registries that drip or do not have what is asked for; files that are damaged
};
inline constexpr std::size_t kFeatures = 35;
using Features = std::set<Feature>;

[[nodiscard]] const char* nameOf(Feature feature);
[[nodiscard]] std::optional<Feature> featureOf(std::string_view name);
/// Those that are played unless something else is asked for: all but kHeldBack.
[[nodiscard]] Features defaultFeatures();
[[nodiscard]] Features allFeatures();
/// In how many of 100 seeds, where it is allowed.
[[nodiscard]] int percentOf(Feature feature);

}  // namespace gs::sim
