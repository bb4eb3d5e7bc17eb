// The GpuNodeStatus of a node as the agent means it, and as JSON (docs/use/agent.md, "What it publishes"; the
// CRD names every field).
//
// Ids are places in PCI order, from 0. What the CRD would refuse is never written: more GPUs, links,
// partitions or users than it takes are left out (a GPU whose users are cut is Unhealthy, since one that is
// left out may still use it).
#pragma once

#include <string>
#include <vector>

#include "agent/hardware.h"
#include "base/clock.h"
#include "json/value.h"
#include "model/ids.h"
#include "model/node.h"

namespace gs::agent {

/// Of one GPU, as in the CRD.
inline constexpr std::size_t kMostUsers = 256;

struct DeviceLink {
  int to = 0;
  LinkType type{};
  std::int64_t gbps = 0;
  friend bool operator==(const DeviceLink&, const DeviceLink&) = default;
};

struct Device {
  int id = 0;
  Gpu gpu;
  std::string island;
  std::int64_t bandwidth_gbps = 0;  // the worst pair inside the island
  std::vector<DeviceLink> links;    // by `to`
  std::vector<model::Uid> in_use_by;
  friend bool operator==(const Device&, const Device&) = default;
};

/// A GPU's name for as long as it lives: its UUID, else its id.
[[nodiscard]] std::string nameOf(const Device& device);

struct Condition {
  std::string type;
  bool holds = false;
  std::string reason;   // one word
  std::string message;  // a sentence
  Wall since{};         // when `holds` changed last
  friend bool operator==(const Condition&, const Condition&) = default;
};

struct NodeView {
  std::vector<Device> devices;
  std::string driver_version;
  model::Enforcement enforcement = model::Enforcement::Off;
  std::vector<Condition> conditions;
  friend bool operator==(const NodeView&, const NodeView&) = default;
};

/// Sorted into PCI order and numbered, with islands and links. Users: nobody.
[[nodiscard]] std::vector<Device> devicesOf(const Hardware& hardware);

/// The body of a server-side apply of the status. `observed`: when the agent last looked; "" leaves it out.
/// `revision`: only on the object as it was then; 0: on whatever stands there.
/// `says_dra`: the scheduler wrote there what the GPUs of a pod come by, and that stays.
[[nodiscard]] json::Value statusBody(const model::NodeName& node, const NodeView& view,
                                     const std::string& observed, model::Revision revision = 0,
                                     bool says_dra = false);
/// Names the boot of the machine that the status is of (/proc/sys/kernel/random/boot_id).
inline constexpr const char* kBootIdKey = "gpu.scheduling/boot-id";
/// Of the object itself, owned by the Node. `boot_id` "": not known.
[[nodiscard]] json::Value specBody(const model::NodeName& node, const model::Uid& node_uid,
                                   const std::string& boot_id = {});
/// The body of a merge patch that makes the list of devices these, whoever wrote others into it. (An apply
/// takes out only what its own field manager put there.) Only on the object as it was at `revision`.
[[nodiscard]] json::Value devicesBody(const NodeView& view, model::Revision revision);

}  // namespace gs::agent
