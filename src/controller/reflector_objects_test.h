// Objects that the tests of the reflector list and watch.
#pragma once

#include <memory>
#include <string>

#include "kapi/kinds.h"
#include "model/lease.h"
#include "model/object.h"

namespace gs::controller {

inline const kapi::Kind& kWatchedKind = kapi::kLease;

inline model::Object leaseObject(const model::ObjectKey& key, const std::string& uid,
                                 model::Revision revision) {
  auto lease = std::make_shared<model::Lease>();
  lease->key = key;
  lease->uid = model::Uid{uid};
  lease->revision = revision;
  return model::Object{model::Ptr<model::Lease>{lease}};
}

inline model::ObjectKey keyed(const std::string& name) { return {"ns", name}; }

}  // namespace gs::controller
