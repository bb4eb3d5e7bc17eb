#include "engine/unlisted.h"

#include <fmt/format.h>

namespace gs::engine {

bool Unlisted::mayList(kapi::Kind kind, bool may) {
  return may ? kinds_.erase(kind) > 0 : kinds_.insert(kind).second;
}

sched::Blocked Unlisted::why(kapi::Kind kind) const {
  if (!kinds_.contains(kind)) { return {}; }
  return {fmt::format("MayNotList:{}", kind->plural),
          fmt::format("gpu-scheduler may not list {0}: give its ClusterRole a rule with apiGroups [{1}], "
                      "resources [{0}] and verbs [list, watch]",
                      kind->plural, kind->group.empty() ? "\"\"" : kind->group)};
}

sched::Blocked Unlisted::whyAny() const { return kinds_.empty() ? sched::Blocked{} : why(*kinds_.begin()); }

}  // namespace gs::engine
