// What the scheduler component is told at start.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include "controller/reflector.h"
#include "dra/drivers.h"
#include "model/default_spread.h"
#include "model/lease.h"
#include "model/quota.h"

namespace gs::scheduler {

struct Config {
  std::string scheduler_name = "gpu-scheduler";
  bool schedules = true;                     // --schedule: it places pods of that name
  std::set<std::string> extender_pods;       // --extender-pods: schedulerNames of kube-schedulers that ask us
  std::string instance = "gpu-scheduler-0";  // reportingInstance of events
  std::string lease_namespace = "default";
  bool visible_uuids = false;                    // --visible-devices=uuid
  bool requires_injection = false;               // --require-injection: claim pods whose containers are told
  std::size_t max_sharers = model::kMaxSharers;  // --max-sharers: pods on one Shared GPU
  /// --kernel-cache-weight: how many free GPUs fewer a node counts as having where all of a pod's kernel
  /// caches are extracted; 0: nobody looks at them.
  std::int32_t cache_weight = 0;
  model::QuotaConfig quota{};                  // of GPUs by namespace; none by default
  model::DefaultSpread default_spread{};       // --default-spread-constraints; none by default
  dra::Drivers drivers = dra::knownDrivers();  // --dra-drivers: whose devices are GPUs
  std::size_t max_waiting_binds = 16;          // of --extender-pods: callers that wait at once
  int max_binding_cycles = 256;                // placements whose writes are under way at once
  std::size_t listed_to_catch_up = controller::Reflector::kListedToCatchUp;  // see there
  bool asks_server = false;  // which Kubernetes it is, before all else; without, it is taken for the newest
  int max_pending_writes = 16;  // conditions and FailedScheduling events in flight at once
};

inline constexpr std::int32_t kMostCacheWeight = 1000;

/// The name of our leader lease, in the lease namespace (R21).
inline constexpr const char* kLeaderLease = "scheduler.gpu.scheduling";

}  // namespace gs::scheduler
