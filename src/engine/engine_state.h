// What the handlers of the kinds share (pod_handler.h and its like): the objects, the ledger that is made of
// them, and what is waited for.
//
// Each part keeps an invariant of its own and says it in its header; nothing here decides anything. A handler
// tells them of a change in an order that matters: first the cache, then what is derived from it.
// Members refer to those above them, so it is not copied or moved. One thread.
#pragma once

#include <utility>

#include "dra/drivers.h"
#include "engine/allocated_claims.h"
#include "engine/awaited_status.h"
#include "engine/cache.h"
#include "engine/claim_memory.h"
#include "engine/default_spreads.h"
#include "engine/derived_holds.h"
#include "engine/device_blocks.h"
#include "engine/device_claims.h"
#include "engine/device_reclaim.h"
#include "engine/lease_memory.h"
#include "engine/near_pods.h"
#include "engine/node_devices.h"
#include "engine/pod_devices.h"
#include "engine/pod_ends.h"
#include "engine/touched.h"
#include "engine/unnamed_gpus.h"
#include "engine/uuids.h"
#include "sched/doors/door.h"
#include "sched/ledger/anti_affinity.h"
#include "sched/ledger/ledger.h"
#include "sched/near/near.h"
#include "sched/preemption/budgets.h"
#include "sched/preemption/residents.h"
#include "sched/volumes/volume_selections.h"
#include "sched/volumes/volumes.h"

namespace gs::engine {

struct EngineState {
  EngineState(sched::Doors by, dra::Drivers drivers) : doors{by}, node_devices{std::move(drivers)} {
    ledger.setReservedListener([this](const model::NodeName& node, const model::Uid& uid, bool is) {
      near_pods.reserved(node, uid, is);
    });
  }
  EngineState(const EngineState&) = delete;
  EngineState& operator=(const EngineState&) = delete;

  const sched::Doors doors;
  /// Somebody asks who has to go for a pod: else nobody pays for what only that asks.
  bool keeps_residents = false;
  Cache cache;
  NodeDevices node_devices;
  LeaseMemory leases{cache};
  Touched touched;

  sched::Ledger ledger{doors};
  AllocatedClaims claims;
  ClaimMemory taken{cache};
  DeviceClaims device_claims{cache, claims, node_devices};
  PodDevices devices{cache, leases, claims, taken, doors};
  DerivedHolds held{devices, ledger};
  DeviceBlocks blocks{ledger};
  sched::AntiAffinity anti_affinity{ledger};
  sched::Near near{ledger};
  NearPods near_pods{cache, near, anti_affinity, touched};
  DefaultSpreads default_spreads{near_pods};
  Uuids uuids{ledger};
  sched::Volumes volumes{ledger};
  sched::VolumeSelections volume_selections{volumes};
  sched::Residents residents;
  sched::Budgets budgets;

  DeviceReclaim reclaim{ledger};
  PodEnds ends{cache, devices, taken, reclaim, touched};
  AwaitedStatus awaited{ledger};
  UnnamedGpus unnamed{cache, devices, reclaim, ledger};
};

}  // namespace gs::engine
