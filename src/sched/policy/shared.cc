#include "sched/policy/shared.h"

#include "sched/policy/first_set.h"
#include "sched/policy/prefer_ids.h"
#include "sched/policy/spread.h"

namespace gs::sched {

std::optional<Mask> sharedSet(const Topology& t, const std::vector<int>& order, const DeviceRequest& request,
                              const Terms& terms) {
  if (request.policy == model::Policy::Spread) { return spread(t, order, terms); }
  if (request.policy != model::Policy::PreferIds) { return firstSet(t, order, terms); }
  Mask shareable = 0;
  for (const int i : order) { shareable |= bit(i); }
  const std::vector<int> listed = listedIn(t, shareable, request.prefer_ids);
  if (static_cast<int>(listed.size()) >= terms.count) { return firstSet(t, listed, terms); }
  Mask must = 0;
  for (const int i : listed) { must |= bit(i); }
  return firstSet(t, order, terms, must);
}

}  // namespace gs::sched
