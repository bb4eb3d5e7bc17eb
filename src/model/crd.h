// What we read of a CustomResourceDefinition: the record of the lease namespace (R20), and how new it is.
#pragma once

#include <string>

#include "model/ids.h"

namespace gs::model {

struct Crd {
  std::string name;
  Uid uid;
  Revision revision = 0;
  std::string lease_namespace;  // annotation gpu.scheduling/lease-namespace, "" when absent
  std::string lease_term;       // annotation gpu.scheduling/lease-namespace-term
  std::string
      lease_scheduler{};  // annotation gpu.scheduling/lease-namespace-scheduler, "" of an earlier version
  int schema = 0;         // annotation gpu.scheduling/schema-version, 0 of an earlier version
  friend bool operator==(const Crd&, const Crd&) = default;
};

[[nodiscard]] inline ObjectKey keyOf(const Crd& crd) { return {"", crd.name}; }

}  // namespace gs::model
