// A Node and its GpuNodeStatus as values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "model/ids.h"
#include "model/resources.h"

namespace gs::model {

struct Taint {
  std::string key;
  std::string value;
  std::string effect;  // NoSchedule, PreferNoSchedule, NoExecute
  friend auto operator<=>(const Taint&, const Taint&) = default;
};

struct Node {
  NodeName name;
  Uid uid;
  Revision revision = 0;
  Wall created{};  // by the API server's clock; the epoch: it does not say
  std::map<std::string, std::string> labels;
  std::vector<Taint> taints;
  bool unschedulable = false;
  bool ready = false;  // condition Ready=True; absent counts as not ready
  Resources allocatable;
  std::int64_t allocatable_pods = 0;
  ShareAmounts share_capacity{};        // of kShareResources in status.capacity; decides the enforcer
  std::string kubelet;                  // status.nodeInfo.kubeletVersion: "v1.36.3"
  std::vector<std::string> features{};  // status.declaredFeatures; sorted, unique
  friend bool operator==(const Node&, const Node&) = default;
};
[[nodiscard]] inline ObjectKey keyOf(const Node& node) { return {"", node.name.text}; }

enum class Health : std::uint8_t { Healthy, Unhealthy, Unknown };

/// As the status says it.
[[nodiscard]] constexpr const char* healthName(Health health) {
  switch (health) {
    case Health::Healthy: return "Healthy";
    case Health::Unhealthy: return "Unhealthy";
    case Health::Unknown: break;
  }
  return "Unknown";
}

/// `gbps` between this device and device `to`.
struct Link {
  int to = 0;
  std::int64_t gbps = 0;
  friend auto operator<=>(const Link&, const Link&) = default;
};

/// One GPU as the agent reports it (R5).
struct Device {
  int id = 0;  // PCI order; unique on the node
  std::string uuid;
  std::string model;
  std::string pci_bus_id;  // "00000000:17:00.0"; "" not known
  std::int64_t memory_mib = 0;
  Health health = Health::Unknown;
  std::string health_reason;
  std::string island;
  std::int64_t bandwidth_gbps = 0;  // the worst pair inside the island
  std::vector<Link> links;          // empty: every pair of one island has bandwidth_gbps, all others 0
  bool partitioned = false;         // status lists MIG partitions
  bool id_moved = false;            // whoever is told its id may get another GPU
  std::vector<Uid> in_use_by;       // pods whose containers hold it, sorted
  DeviceName dra;                   // as its DRA driver publishes it; none: no driver does
  friend bool operator==(const Device&, const Device&) = default;
};

/// What the node's agent makes of the devices that a pod was given (R4).
enum class Enforcement : std::uint8_t {
  Off,      // nothing
  Env,      // the container is told them
  Devices,  // the container has those, and no others
  Dra,      // and it does not start otherwise: the vendor's DRA driver prepares them
};

/// As the status says it.
[[nodiscard]] constexpr const char* enforcementName(Enforcement e) {
  switch (e) {
    case Enforcement::Dra: return "dra";
    case Enforcement::Devices: return "devices";
    case Enforcement::Env: return "env";
    case Enforcement::Off: break;
  }
  return "off";
}

/// Who keeps a GpuNodeStatus, by its label (kWrittenByKey).
enum class Writer : std::uint8_t {
  Unsaid,  // somebody by hand, or an agent of before there was the label
  Agent,
  Scheduler,  // where only a DRA driver speaks of the node
};

struct GpuNodeStatus {
  NodeName node;
  Uid uid;
  Uid node_uid;  // of the Node that owns it; "" where no owner is named
  Revision revision = 0;
  std::vector<Device> devices;  // sorted by id
  std::string
      observed_time;  // "" : made by hand. Compared only for change (the agent's clock is nobody else's)
  Enforcement enforcement = Enforcement::Off;
  std::string dra_resource{};  // with Dra: what limits of containers call its GPUs, "nvidia.com/gpu"
  Writer writer = Writer::Unsaid;
  bool says_dra = false;  // its text does; nothing is decided by it, for it follows from what drivers publish
  /// False: nobody has looked at the node. It only repeats what a driver publishes, or its agent has yet to
  /// write the first status.
  [[nodiscard]] bool isReport() const { return writer == Writer::Unsaid || !observed_time.empty(); }
  friend bool operator==(const GpuNodeStatus&, const GpuNodeStatus&) = default;
};
[[nodiscard]] inline ObjectKey keyOf(const GpuNodeStatus& status) { return {"", status.node.text}; }

}  // namespace gs::model
