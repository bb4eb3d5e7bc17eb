#include "extender/grants/write_slots.h"

namespace gs::extender {

bool WriteSlots::take(const std::string& ns, const model::Uid& pod) {
  Room& room = rooms_[ns];
  if (taken_ >= all_ || room.taken >= each_) {
    if (room.place_of.try_emplace(pod, last_place_ + 1).second) { room.waiting[++last_place_] = pod; }
    return false;
  }
  leave(room, pod);
  ++room.taken;
  ++taken_;
  return true;
}

void WriteSlots::give(const std::string& ns) {
  const auto it = rooms_.find(ns);
  if (it == rooms_.end() || it->second.taken == 0) { return; }
  --it->second.taken;
  --taken_;
  tidy(ns);
}

std::optional<model::Uid> WriteSlots::next() {
  if (taken_ >= all_) { return std::nullopt; }
  auto it = rooms_.upper_bound(last_);
  for (std::size_t i = 0; i < rooms_.size(); ++i, ++it) {
    if (it == rooms_.end()) { it = rooms_.begin(); }
    Room& room = it->second;
    if (room.taken >= each_ || room.waiting.empty()) { continue; }
    last_ = it->first;
    const model::Uid pod = room.waiting.begin()->second;
    leave(room, pod);
    tidy(last_);
    return pod;
  }
  return std::nullopt;
}

void WriteSlots::forget(const std::string& ns, const model::Uid& pod) {
  const auto it = rooms_.find(ns);
  if (it == rooms_.end()) { return; }
  leave(it->second, pod);
  tidy(ns);
}

void WriteSlots::leave(Room& room, const model::Uid& pod) {
  const auto place = room.place_of.extract(pod);
  if (!place.empty()) { room.waiting.erase(place.mapped()); }
}

void WriteSlots::clear() {
  rooms_.clear();
  taken_ = 0;
}

void WriteSlots::tidy(const std::string& ns) {
  const auto it = rooms_.find(ns);
  if (it != rooms_.end() && it->second.taken == 0 && it->second.waiting.empty()) { rooms_.erase(it); }
}

}  // namespace gs::extender
