// NodeRecord: what the agent knows of its node at a moment, for whoever answers the container runtime: which
// GPUs there are, which pod holds which devices, and whether that has been checked against the leases. A
// value that is never changed: the agent's owner thread makes a new one when something changes, and the
// threads that answer NRI and the kubelet read the last one.
//
// What is written in a pod's annotations is only a claim. A pod holds devices (Hold::Verified) when each of
// them has a Lease whose holder is the pod's uid, of the reservation that the pod was bound with (R8, R21).
// Everything else is refused, with the sentence in Holding::why.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/device_id.h"
#include "model/ids.h"
#include "model/vendor.h"

namespace gs::enforce {

/// A GPU of this node, or a partition of one.
struct NodeDevice {
  model::DeviceId id;
  std::string uuid;         // "" not known: it can't be given
  int minor = -1;           // of /dev/nvidia<minor>; -1 not known
  std::string render_node;  // "/dev/dri/renderD128"; "" none
  std::string pci_bus_id;
  model::Vendor vendor = model::Vendor::Nvidia;
  friend bool operator==(const NodeDevice&, const NodeDevice&) = default;
};

enum class Hold : std::uint8_t {
  Unverified,  // its leases were not read yet
  Verified,    // all of them are its own
  Refuted,     // a lease says otherwise, or the pod's record cannot be read
};

/// What a pod that is bound to this node was given by us.
struct Holding {
  Hold hold = Hold::Unverified;
  std::vector<model::DeviceId> devices;  // ascending
  std::string reservation;
  bool is_shared = false;  // others may hold the same devices
  std::string why;         // of Unverified and Refuted: a sentence for the pod's events
  friend bool operator==(const Holding&, const Holding&) = default;
};

struct NodeRecord {
  std::string node;
  std::vector<NodeDevice> devices;         // by id
  std::map<model::Uid, Holding> holdings;  // of pods that are bound here and name us or have our annotations
  /// Devices that some lease holds, as far as this is known: no other pod's container may have them. One of a
  /// lease that nobody here knows the pod of has an empty uid.
  std::map<model::DeviceId, model::Uid> held;
  bool knows_pods =
      false;  // the list of the node's pods was read: who is not in `holdings` has nothing of ours
  /// A DRA driver prepares the GPUs of this node: kubelet and driver see to it that containers have theirs,
  /// and no container is changed or judged.
  bool by_driver = false;
  std::uint64_t version = 0;
};
using NodeRecordPtr = std::shared_ptr<const NodeRecord>;

}  // namespace gs::enforce
