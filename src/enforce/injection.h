// How exactly these devices, and nothing else, come into a container, by the first way that there is:
//
//   CDI        by reference to the vendor's CDI devices, with their libraries and hooks
//   edits      those devices written out, where the runtime injects no CDI by NRI
//   runtime    nvidia-container-runtime injects what NVIDIA_VISIBLE_DEVICES (or mounts) names
//   nodes      device nodes alone, where that is what the plugin gives, and for AMD's
//
// What the device plugin put in comes out (given.h). Variables are set to UUIDs, or for AMD's to numbers
// from 0: right inside, whatever was there. NVIDIA_VISIBLE_DEVICES has the UUIDs as well; by CDI the
// vendor's file sets it to "void" after us, as it wants: nothing is left for nvidia-container-runtime to
// do. Pure.
#pragma once

#include <string>
#include <vector>

#include "enforce/given.h"
#include "enforce/plan_types.h"

namespace gs::enforce {

/// The container in question; `label` names it in sentences: "container c of pod ns/p".
struct Target {
  const Reading& reading;
  const Given& given;
  const RuntimeFacts& facts;
  const std::string& label;
};

/// The nodes of the host that RuntimeFacts::stats is to have: /dev/kfd, and where CDI devices are written out
/// those that the record's devices need.
[[nodiscard]] std::vector<std::string> nodesToStat(const NodeRecord& record, const cdi::Index& index,
                                                   bool injects_cdi);

/// Adds to `plan.adjustment`, sets `plan.devices`. Refused where there is no way.
[[nodiscard]] tl::expected<void, Refusal> inject(const std::vector<model::DeviceId>& devices,
                                                 const Target& target, Plan& plan);
/// It has no GPU, and no runtime gives it one.
[[nodiscard]] tl::expected<void, Refusal> hideAll(const Target& target, Plan& plan);

}  // namespace gs::enforce
