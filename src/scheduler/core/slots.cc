#include "scheduler/core/slots.h"

#include <algorithm>
#include <utility>

#include "base/mutant.h"

namespace gs::scheduler {

int Slots::free(const std::string& ns) const {
  if (GS_MUTANT(NoWindows)) { return used_.any() ? 1 : 0; }
  const auto it = namespaces_.find(ns);
  const Namespace known = it == namespaces_.end() ? Namespace{} : it->second;
  const int open = known.open - known.parked;
  const int room = std::min(known.window - (open - known.stuck), kMost - open);
  return std::max(0, std::min(room, used_.free(ns)));
}

void Slots::open(const model::Uid& pod, const std::string& ns) {
  if (!placements_.try_emplace(pod, Placement{ns}).second) {
    goOn(pod);
    return;
  }
  ++namespaces_[ns].open;
  used_.take(ns);
}

void Slots::wait(const model::Uid& pod) {
  const auto it = placements_.find(pod);
  if (it != placements_.end()) { unpark(it->second); }
  if (GS_MUTANT(WaitsInSlots)) { return; }
  if (it == placements_.end() || std::exchange(it->second.waits, true)) { return; }
  freed_ = true;
  used_.giveBack(it->second.ns);
}

void Slots::park(const model::Uid& pod) {
  wait(pod);
  const auto it = placements_.find(pod);
  if (it == placements_.end() || it->second.stuck) { return; }
  it->second.parked = true;
  ++namespaces_.at(it->second.ns).parked;
  freed_ = true;
}

void Slots::unpark(Placement& placement) {
  if (std::exchange(placement.parked, false)) { --namespaces_.at(placement.ns).parked; }
}

void Slots::goOn(const model::Uid& pod) {
  const auto it = placements_.find(pod);
  if (it != placements_.end()) { unpark(it->second); }
  if (it == placements_.end() || !std::exchange(it->second.waits, false)) { return; }
  used_.take(it->second.ns);
}

void Slots::close(const model::Uid& pod) {
  const auto it = placements_.find(pod);
  if (it == placements_.end()) { return; }
  freed_ = true;
  unpark(it->second);
  if (!it->second.waits) { used_.giveBack(it->second.ns); }
  const auto ns = namespaces_.find(it->second.ns);
  if (it->second.stuck) { --ns->second.stuck; }
  if (--ns->second.open == 0) { namespaces_.erase(ns); }
  placements_.erase(it);
}

void Slots::stuck(const model::Uid& pod) {
  const auto it = placements_.find(pod);
  if (it == placements_.end() || std::exchange(it->second.stuck, true)) { return; }
  unpark(it->second);
  ++namespaces_.at(it->second.ns).stuck;
  freed_ = true;
}

bool Slots::anyStuck(const std::string& ns) const {
  const auto it = namespaces_.find(ns);
  return it != namespaces_.end() && it->second.stuck > 0;
}

void Slots::worked(const std::string& ns) {
  const auto it = namespaces_.find(ns);
  if (it == namespaces_.end() || it->second.window == kMost) { return; }
  ++it->second.window;
  freed_ = true;
}

void Slots::failed(const std::string& ns) {
  const auto it = namespaces_.find(ns);
  if (it != namespaces_.end()) { it->second.window = kFirst; }
}

void Slots::reset() {
  placements_.clear();
  namespaces_.clear();
  used_.reset();
}

}  // namespace gs::scheduler
