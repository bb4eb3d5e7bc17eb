#include "kapi/lease_format.h"

namespace gs::kapi {

int leaseFormat() { return 1; }

}  // namespace gs::kapi
