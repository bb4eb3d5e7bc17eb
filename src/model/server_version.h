// Which Kubernetes an API server is, as it says at /version.
#pragma once

#include "model/ids.h"

namespace gs::model {

struct ServerVersion {
  int minor = 0;  // of 1.`minor`; 0: it cannot be read
  // An answer's object has these; the server has none.
  ObjectKey key;
  Uid uid;
  Revision revision = 0;
  friend bool operator==(const ServerVersion&, const ServerVersion&) = default;
};

}  // namespace gs::model
