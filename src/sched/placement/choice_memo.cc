#include "sched/placement/choice_memo.h"

namespace gs::sched {

ChoiceMemo::ShapeId ChoiceMemo::join(const DeviceRequest& request) {
  const auto [it, fresh] = shapes_.try_emplace(request);
  if (fresh) { it->second.id = next_++; }
  ++it->second.users;
  return it->second.id;
}

void ChoiceMemo::leave(const DeviceRequest& request) {
  const auto it = shapes_.find(request);
  if (it != shapes_.end() && --it->second.users == 0) { shapes_.erase(it); }
}

std::optional<Choice> ChoiceMemo::choose(ShapeId shape, const DeviceRequest& request, const Topology& t,
                                         Mask free, Meter* meter) {
  // One device, or no serial: nothing to save, or nothing to know it by.
  const bool cheap = request.count == 1 && request.prefer_ids.empty();
  if (cheap || t.serial() == 0) { return chooseWhole(t, free, request, meter); }
  if (known_.size() >= kMost) { known_.clear(); }
  const auto [it, fresh] = known_.try_emplace(Key{t.serial(), free, shape});
  if (fresh) { it->second = chooseWhole(t, free, request, meter); }
  return it->second;
}

}  // namespace gs::sched
