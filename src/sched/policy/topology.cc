#include "sched/policy/topology.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <string_view>

#include "base/check.h"

namespace gs::sched {
namespace {

constexpr std::int64_t kMostGbps = 1'000'000;  // more is read as this: scores have room for no more

const model::Link* linkTo(const model::Device& from, int to) {
  for (const auto& link : from.links) {
    if (link.to == to) { return &link; }
  }
  return nullptr;
}

/// By their links to each other, where they have some.
std::int64_t gbpsOf(const model::Device& a, const model::Device& b, const model::Link* there,
                    const model::Link* back) {
  std::int64_t gbps = 0;
  if (a.links.empty() && b.links.empty()) {
    gbps = a.island == b.island ? std::min(a.bandwidth_gbps, b.bandwidth_gbps) : 0;
  } else if (there != nullptr && back != nullptr) {
    gbps = std::min(there->gbps, back->gbps);
  } else if (there != nullptr || back != nullptr) {
    gbps = (there != nullptr ? there : back)->gbps;
  }
  return std::clamp<std::int64_t>(gbps, 0, kMostGbps);
}

}  // namespace

std::int64_t pairGbps(const model::Device& a, const model::Device& b) {
  return gbpsOf(a, b, linkTo(a, b.id), linkTo(b, a.id));
}

Topology::Topology(const Devices& devices) {
  GS_CHECK(devices.size() <= kMaxDevices, "{} devices", devices.size());
  std::map<std::string_view, std::uint8_t> islands;
  const bool descends = devices.size() > 1 && devices[1]->id < devices[0]->id;
  for (const auto* d : devices) {
    GS_CHECK(ids_.empty() || (ids_.back() < d->id) != descends, "device ids not in one order");
    ids_.push_back(d->id);
    const auto next = static_cast<std::uint8_t>(islands.size());
    island_of_.push_back(islands.try_emplace(d->island, next).first->second);
  }
  readPairs(devices);
  finish();
}

/// pairGbps() of every pair. A device may have a link to each other one, so each list is read once.
void Topology::readPairs(const Devices& devices) {
  const std::size_t n = devices.size();
  std::vector<const model::Link*> links(n * n);  // of a (row) to b, the first one
  for (std::size_t a = 0; a < n; ++a) {
    for (const model::Link& link : devices[a]->links) {
      const int b = find(link.to);
      if (b < 0) { continue; }
      const model::Link*& known = links[a * n + static_cast<std::size_t>(b)];
      if (known == nullptr) { known = &link; }
    }
  }
  gbps_.resize(n * n);
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      const std::int64_t gbps = gbpsOf(*devices[a], *devices[b], links[a * n + b], links[b * n + a]);
      gbps_[a * n + b] = gbps_[b * n + a] = static_cast<std::int32_t>(gbps);
    }
  }
}

/// Fills in what follows from ids_, island_of_ and gbps_.
void Topology::finish() {
  islands_.assign(island_of_.empty() ? 0 : *std::max_element(island_of_.begin(), island_of_.end()) + 1U, 0);
  for (int i = 0; i < size(); ++i) { islands_[island_of_[static_cast<std::size_t>(i)]] |= bit(i); }
  for (int i = 1; i < size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (std::abs(ids_[at] - ids_[at - 1]) == 1 && island_of_[at] == island_of_[at - 1]) { joined_ |= bit(i); }
  }
  for (const Mask island : islands_) {
    bool even = true;
    std::int64_t first = -1;
    for (Mask a = island; a != 0; a &= a - 1) {
      for (Mask b = a & (a - 1); b != 0; b &= b - 1) {
        const std::int64_t here = gbps(lowestOf(a), lowestOf(b));
        even = even && (first < 0 || first == here);
        first = here;
      }
    }
    even_.push_back(even);
  }
  key_.assign(ids_.begin(), ids_.end());
  key_.insert(key_.end(), island_of_.begin(), island_of_.end());
  key_.insert(key_.end(), gbps_.begin(), gbps_.end());
}

std::vector<int> Topology::ids(Mask set) const {
  std::vector<int> out;
  out.reserve(static_cast<std::size_t>(countOf(set)));
  for (; set != 0; set &= set - 1) { out.push_back(id(lowestOf(set))); }
  if (out.size() > 1 && out.back() < out.front()) { std::reverse(out.begin(), out.end()); }
  return out;
}

int Topology::find(int id) const {
  const bool descends = ids_.size() > 1 && ids_[1] < ids_[0];
  const auto it = descends ? std::lower_bound(ids_.begin(), ids_.end(), id, std::greater<>{})
                           : std::lower_bound(ids_.begin(), ids_.end(), id);
  return it == ids_.end() || *it != id ? -1 : static_cast<int>(it - ids_.begin());
}

Connection Topology::connectionOf(Mask set) const {
  Connection c;
  bool first = true;
  for (Mask a = set; a != 0; a &= a - 1) {
    for (Mask b = a & (a - 1); b != 0; b &= b - 1) {
      const std::int64_t here = gbps(lowestOf(a), lowestOf(b));
      c.worst = first ? here : std::min(c.worst, here);
      c.sum += here;
      first = false;
    }
  }
  return c;
}

bool Topology::isEven(Mask set) const {
  return set == 0 || (inOneIsland(set) && even_[island_of_[static_cast<std::size_t>(lowestOf(set))]]);
}

Topology Topology::flat() const {
  Topology t;
  t.ids_ = ids_;
  t.island_of_.assign(ids_.size(), 0);
  t.gbps_.assign(ids_.size() * ids_.size(), 0);
  t.finish();
  return t;
}

TopologyPtr TopologyPool::share(const Topology::Devices& devices) {
  Topology fresh{devices};
  if (const auto it = known_.find(fresh.key()); it != known_.end()) {
    if (auto shared = it->second.lock()) { return shared; }
  }
  if (known_.size() >= sweep_at_) {
    std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
    sweep_at_ = std::max<std::size_t>(64, known_.size() * 2);
  }
  fresh.serial_ = next_serial_++;
  auto shared = std::make_shared<const Topology>(std::move(fresh));
  known_[shared->key()] = shared;
  return shared;
}

}  // namespace gs::sched
