#include "kapi/kinds.h"

namespace gs::kapi {
namespace {

constexpr KindInfo kEventInfo{"events.k8s.io", "v1", "events", "Event"};  // written, and never read

}  // namespace

constinit const Kind kEvent{kEventInfo};

}  // namespace gs::kapi
