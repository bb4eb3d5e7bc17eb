#include "enforce/containers.h"

#include <algorithm>
#include <utility>

#include "enforce/device_table.h"

namespace gs::enforce {

bool Containers::set(const std::string& id, Has has) {
  if (has.devices.empty()) {
    by_id_.erase(id);
    return true;
  }
  const auto it = by_id_.find(id);
  if (it == by_id_.end() && by_id_.size() >= kMost) { return false; }
  by_id_[id] = std::move(has);
  return true;
}

void Containers::remove(const std::string& id) { by_id_.erase(id); }

void Containers::clear() { by_id_.clear(); }

std::optional<std::string> Containers::userOf(model::DeviceId id, const model::Uid& but) const {
  for (const auto& [container, has] : by_id_) {
    if (!but.empty() && has.pod == but) { continue; }
    if (std::any_of(has.devices.begin(), has.devices.end(), [&](auto one) { return overlap(one, id); })) {
      return container;
    }
  }
  return std::nullopt;
}

bool Containers::isLent(model::DeviceId id, const model::Uid& but) const {
  return std::any_of(by_id_.begin(), by_id_.end(), [&](const auto& one) {
    const Has& has = one.second;
    return has.pod != but && std::any_of(has.moves.begin(), has.moves.end(),
                                         [&](const Move& move) { return overlap(move.to, id); });
  });
}

std::optional<model::DeviceId> Containers::movedTo(model::DeviceId from, const model::Uid& pod) const {
  for (const auto& [container, has] : by_id_) {
    if (has.pod != pod) { continue; }
    for (const Move& move : has.moves) {
      if (move.from == from) { return move.to; }
    }
  }
  return std::nullopt;
}

}  // namespace gs::enforce
