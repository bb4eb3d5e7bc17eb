// The kinds that the operator alone reads: the CSIDriver, and Nodes as far as that they are there.
#pragma once

#include <string>
#include <vector>

#include "kapi/kind.h"
#include "model/ids.h"

namespace gs::gkm {

struct CsiDriverObject {
  model::ObjectKey key;
  model::Uid uid;
  model::Revision revision = 0;
  bool attach_required = true;
  bool pod_info_on_mount = false;
  std::string fs_group_policy;
  std::vector<std::string> modes;
  friend bool operator==(const CsiDriverObject&, const CsiDriverObject&) = default;
};

/// A Node whose state is nobody's business here.
struct NodePresence {
  model::ObjectKey key;
  model::Uid uid;
  model::Revision revision = 0;
  friend bool operator==(const NodePresence&, const NodePresence&) = default;
};

extern const kapi::Kind kCsiDriver;
extern const kapi::Kind kNodePresence;

}  // namespace gs::gkm
