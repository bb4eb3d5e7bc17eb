#include "sched/placement/part.h"

#include <algorithm>

namespace gs::sched {

std::size_t othersOn(const DeviceState& d, const model::Uid& self) {
  return static_cast<std::size_t>(
      std::count_if(d.holders.begin(), d.holders.end(), [&](const Holder& h) { return h.uid != self; }));
}

bool isFree(const DeviceState& d, const model::Uid& self) {
  return d.givable() &&
         std::all_of(d.holders.begin(), d.holders.end(), [&](const Holder& h) { return h.uid == self; });
}

Held heldFor(const DeviceState& d, const DeviceRequest& request, const model::Uid& self) {
  static constexpr Amount kJustShared{true, 0, 0};
  std::size_t others = 0;
  bool sure = false;
  Held held = Held::Open;
  for (const Holder& h : d.holders) {
    if (h.uid == self) { continue; }
    ++others;
    sure = sure || h.isSure();
    if (!h.amount.shared) { return Held::Alone; }
    if (h.amount != kJustShared) { held = Held::InPart; }
  }
  if (others == 0 || held != Held::Open) { return held; }
  if (!sure) { return Held::Unsure; }
  return others < request.max_sharers ? Held::Open : Held::Full;
}

bool isShareable(const DeviceState& d, const DeviceRequest& request, const model::Uid& self) {
  return d.givable() && heldFor(d, request, self) == Held::Open;
}

std::int64_t availableFor(const NodeState& n, const DeviceRequest& r, const model::Uid& self) {
  std::int64_t untouched = 0;
  std::int64_t joined = 0;
  for (const auto& d : n.devices) {
    if (isFree(d, self)) {
      ++untouched;
    } else if (r.shared && isShareable(d, r, self)) {
      ++joined;
    }
  }
  return joined + std::max<std::int64_t>(0, untouched - n.anonymous);
}

Part::Part(const NodeState& n)
    : healthy_{n.healthy}, unknown_{n.unknown}, anonymous_{n.anonymous}, topology_{n.topology.get()} {
  devices_.resize(n.topology == nullptr ? 0 : static_cast<std::size_t>(n.topology->size()));
  for (const auto& d : n.devices) {
    if (d.bit >= 0) { devices_[static_cast<std::size_t>(d.bit)] = &d; }
  }
}

void Part::add(const DeviceState& d, bool untouched, bool agent_stale) {
  if (size() == kMaxDevices) { return; }
  const Mask at = bit(static_cast<int>(size()));
  (d.facts.health == model::Health::Healthy && !agent_stale ? healthy_ : unknown_) |= at;
  untouched_ += untouched ? 1 : 0;
  devices_.push_back(&d);
}

void Part::leaveUntouched(std::int64_t most) { anonymous_ = std::max<std::int64_t>(0, untouched_ - most); }

std::vector<int> Part::ids(Mask set) const {
  std::vector<int> out;
  out.reserve(static_cast<std::size_t>(countOf(set)));
  for (; set != 0; set &= set - 1) {
    out.push_back(devices_[static_cast<std::size_t>(lowestOf(set))]->facts.id);
  }
  return out;
}

const Topology& Part::topology(Meter* meter) {
  if (topology_ != nullptr) { return *topology_; }
  if (!own_) {
    Topology::Devices facts;
    std::uint64_t links = 0;
    for (const DeviceState* d : devices_) {
      facts.push_back(&d->facts);
      links += d->facts.links.size();
    }
    addSteps(meter, devices_.size() * devices_.size() + links);
    own_.emplace(facts);
  }
  return *own_;
}

namespace {

/// A device that may be given.
struct Candidate {
  const DeviceState* device;
  std::size_t island;
  bool untouched;
};

}  // namespace

WideParts partsOf(const NodeState& n, const DeviceRequest& r, const model::Uid& self, Meter* meter) {
  std::vector<Candidate> candidates;
  std::vector<std::int64_t> sizes(n.islands);
  std::int64_t untouched = 0;
  std::uint64_t holders = 0;
  for (const auto& d : n.devices) {
    holders += d.holders.size();
    const bool free = isFree(d, self);
    if (!free && !(r.shared && isShareable(d, r, self))) { continue; }
    untouched += free ? 1 : 0;
    const auto island = static_cast<std::size_t>(d.island);
    ++sizes[island];
    candidates.push_back({&d, island, free});
  }
  addSteps(meter, kStepsPerDevice * (n.devices.size() + candidates.size()) + holders);

  WideParts out;
  const std::int64_t spare = std::max<std::int64_t>(0, untouched - n.anonymous);
  out.available = static_cast<std::int64_t>(candidates.size()) - untouched + spare;
  if (out.available < r.count) { return out; }
  std::vector<Part*> parts(sizes.size());
  out.islands.reserve(sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] >= r.count) { parts[i] = &out.islands.emplace_back(); }
  }
  for (const auto& [device, island, free] : candidates) {
    out.lowest.add(*device, free, n.agent_stale);
    if (parts[island] != nullptr) { parts[island]->add(*device, free, n.agent_stale); }
  }
  out.lowest.leaveUntouched(spare);
  for (Part& island : out.islands) { island.leaveUntouched(spare); }
  return out;
}

}  // namespace gs::sched
