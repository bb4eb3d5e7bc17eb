// Any object that a watch may bring, as one closed set.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>

#include "model/claim.h"
#include "model/lease.h"
#include "model/node.h"
#include "model/pod.h"
#include "model/quota.h"

namespace gs::model {

/// The kinds that we watch or write. Order: index into tables, and the order in which caches are named in messages.
enum class Kind : std::uint8_t { Pod, Node, GpuClaim, GpuNodeStatus, Lease, Crd, Event, ConfigMap };
inline constexpr int kKinds = 8;

/// What we read of a CustomResourceDefinition: the record of the lease namespace (R20).
struct Crd {
  std::string name;
  Uid uid;
  Revision revision = 0;
  std::string lease_namespace;  // annotation gpu.scheduling/lease-namespace, "" when absent
  std::string lease_term;       // annotation gpu.scheduling/lease-namespace-term
  std::string
      lease_scheduler{};  // annotation gpu.scheduling/lease-namespace-scheduler, "" of an earlier version
  friend bool operator==(const Crd&, const Crd&) = default;
};

template <class T>
using Ptr = std::shared_ptr<const T>;

/// monostate: nothing (no body, or a kind that we do not decode).
using Object = std::variant<std::monostate, Ptr<Pod>, Ptr<Node>, Ptr<GpuClaim>, Ptr<GpuNodeStatus>,
                            Ptr<Lease>, Ptr<Crd>, Ptr<QuotaMap>>;

}  // namespace gs::model
