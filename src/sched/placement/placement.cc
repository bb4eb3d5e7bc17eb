#include "sched/placement/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "sched/placement/part.h"
#include "sched/policy/best_set.h"
#include "sched/policy/contiguous.h"
#include "sched/policy/policy.h"
#include "sched/policy/prefer_ids.h"
#include "sched/policy/spread.h"

namespace gs::sched {
namespace {

// One decimal place of the score for each thing that counts (placement.h), the more important to the left.
constexpr std::int64_t kMetScore = 100'000'000'000'000'000;
constexpr std::int64_t kListedScore = 1'000'000'000'000'000;  // up to 64 of them
constexpr std::int64_t kLayoutScore = 100'000'000'000'000;
constexpr std::int64_t kWorstPairScore = 10'000'000;  // GB/s are at most 1,000,000
/// That all searches in the parts of a wide node take together, each its share of what is left, and what
/// each of them takes at least.
constexpr std::uint64_t kWideSearchSteps = 4'096 * kStepsPerLook;

Terms termsOf(const DeviceRequest& r, Meter* meter = nullptr) {
  const bool ignore = r.topology == model::TopologyMode::Ignore;
  return {static_cast<int>(r.count), r.topology == model::TopologyMode::Required,
          ignore ? 0 : r.min_bandwidth_gbps, meter};
}

/// What it takes to read the pairs of a chosen set, and the list of ids.
void addChoice(Meter* meter, const DeviceRequest& r) {
  const auto count = static_cast<std::uint64_t>(r.count);
  addSteps(meter, count * count / 2 + 2 * r.prefer_ids.size());
}

/// Any device is as good as another.
bool isAnyOfOne(const DeviceRequest& r) { return r.count == 1 && r.prefer_ids.empty(); }
std::optional<Choice> anyOne(Mask free) { return Choice{lowest(free, 1), kMetScore}; }

bool looksAtTopology(const DeviceRequest& r) { return r.topology != model::TopologyMode::Ignore; }

std::int64_t scoreOf(const Topology& t, Mask set, const DeviceRequest& r) {
  const Connection c = t.connectionOf(set);
  std::int64_t score = termsOf(r).metBy(c) ? kMetScore : 0;
  score += kListedScore * static_cast<std::int64_t>(listedIn(t, set, r.prefer_ids).size());
  if (r.count < 2) { return score; }
  if (policyOf(r.policy).over_islands) { return score + kListedScore * islandsOf(t, set); }
  const std::int64_t pairs = r.count * (r.count - 1) / 2;
  return score + kLayoutScore * static_cast<std::int64_t>(layoutOf(t, set)) + kWorstPairScore * c.worst +
         c.sum / pairs;
}

Mask heldByOthers(const NodeState& n, const model::Uid& self) {
  if (self.empty()) { return n.held; }
  Mask held = 0;
  for (const auto& d : n.devices) {
    if (d.bit >= 0 && othersOn(d, self) > 0) { held |= bit(d.bit); }
  }
  return held;
}

/// Bits of the devices of `among` that may be shared, fewest holders first. Of those that nobody holds only
/// as many as are surely not anonymous pods', listed ids before others.
std::vector<int> sharingOrder(Part& n, Mask among, const DeviceRequest& r, const model::Uid& self,
                              Meter* meter) {
  std::vector<std::pair<std::size_t, int>> joined;
  Mask untouched = 0;
  std::int64_t all_untouched = 0;
  std::uint64_t holders = 0;
  for (int i = 0; i < static_cast<int>(n.size()); ++i) {
    const DeviceState& d = *n.devices()[static_cast<std::size_t>(i)];
    holders += d.holders.size();
    const bool free = isFree(d, self);
    all_untouched += free ? 1 : 0;
    if ((among & bit(i)) == 0) { continue; }
    if (free) {
      untouched |= bit(i);
    } else if (isShareable(d, r, self)) {
      joined.emplace_back(othersOn(d, self), i);
    }
  }
  addSteps(meter, kStepsPerDevice * n.devices().size() + holders + r.prefer_ids.size());
  const auto spare =
      static_cast<int>(std::clamp<std::int64_t>(all_untouched - n.anonymous(), 0, kMaxDevices));
  Mask listed = 0;
  if (!r.prefer_ids.empty()) {
    for (const int i : listedIn(n.topology(meter), untouched, r.prefer_ids)) { listed |= bit(i); }
  }
  Mask kept = lowest(listed, spare);
  kept |= lowest(untouched & ~listed, spare - countOf(kept));
  std::vector<int> order = ascending(kept);
  std::sort(joined.begin(), joined.end());
  for (const auto& [others, at] : joined) { order.push_back(at); }
  return order;
}

/// Where sharers look, one after the other: everywhere, then, where one island is Required, in each. Which
/// untouched devices they may have depends on it.
std::vector<Mask> placesOf(Part& n, const DeviceRequest& r, Meter* meter) {
  std::vector<Mask> places{~Mask{0}};
  if (r.topology == model::TopologyMode::Required && n.anonymous() > 0) {
    const auto& islands = n.topology(meter).islands();
    places.insert(places.end(), islands.begin(), islands.end());
  }
  return places;
}

std::optional<Choice> offerShared(Part& n, Mask among, const DeviceRequest& r, const model::Uid& self,
                                  Meter* meter) {
  const std::vector<int> order = sharingOrder(n, among, r, self, meter);
  if (static_cast<std::int64_t>(order.size()) < r.count) { return std::nullopt; }
  const Topology& t = n.topology(meter);
  const auto set = policyOf(r.policy).shared(t, order, r, termsOf(r, meter));
  addChoice(meter, r);
  if (!set) { return std::nullopt; }
  const std::int64_t score = looksAtTopology(r) ? scoreOf(t, *set, r) : scoreOf(t.flat(), *set, r);
  return Choice{*set, score + ((*set & n.unknown()) == 0 ? kHealthyScore : 0)};
}

std::optional<Choice> offerShared(Part& n, const DeviceRequest& r, const model::Uid& self, Meter* meter) {
  for (const Mask health : {n.healthy(), n.healthy() | n.unknown()}) {
    for (const Mask place : placesOf(n, r, meter)) {
      if (const auto choice = offerShared(n, health & place, r, self, meter)) { return choice; }
    }
  }
  return std::nullopt;
}

std::string gpusText(const std::vector<int>& ids) {
  return fmt::format("GPU{} {}", ids.size() == 1 ? "" : "s", fmt::join(ids, " and "));
}

/// The first thing that is wrong with any of the ids; nullopt: they are there, and may be given to somebody.
std::optional<Misfit> refuseIds(const NodeState& n, const std::vector<int>& ids) {
  std::vector<int> missing;
  std::vector<int> cut_up;
  std::vector<int> twice;
  std::vector<int> unhealthy;
  std::vector<int> moved;
  for (const int id : ids) {
    const DeviceState* d = n.device(id);
    if (d == nullptr || !d->listed) {
      missing.push_back(id);
    } else if (d->facts.partitioned) {
      cut_up.push_back(id);
    } else if (d->twice) {
      twice.push_back(id);
    } else if (!d->givable()) {
      unhealthy.push_back(id);
    } else if (d->facts.id_moved) {
      moved.push_back(id);
    }
  }
  if (!missing.empty()) { return Misfit{Reason::NoSuchGpus, gpusText(missing), 0, 0}; }
  if (!cut_up.empty()) {
    return Misfit{Reason::NoSuchGpus, fmt::format("whole {}: MIG cuts it up", gpusText(cut_up)), 0, 0};
  }
  if (!twice.empty()) { return Misfit{Reason::GpusTwice, gpusText(twice), 0, 0}; }
  if (!unhealthy.empty()) { return Misfit{Reason::GpusUnhealthy, gpusText(unhealthy), 0, 0}; }
  if (!moved.empty()) {
    return Misfit{Reason::NoSuchGpus, fmt::format("{} by number: indices moved", gpusText(moved)), 0, 0};
  }
  return std::nullopt;
}

/// Where no status says which there are: as many as are allocatable may be named, or as no node has more of.
std::optional<Misfit> refuseTooMany(const NodeState& n, const std::vector<int>& ids) {
  constexpr std::int64_t kMostOfANode = 16;
  const std::int64_t allocatable = n.node.allocatable.get(model::kNvidiaGpu);
  const std::int64_t most = allocatable > 0 ? allocatable : kMostOfANode;
  if (static_cast<std::int64_t>(ids.size()) <= most) { return std::nullopt; }
  return Misfit{Reason::NoSuchGpus,
                fmt::format("GpuNodeStatus: a pod may name no more than {} GPUs there", most), 0, 0};
}

/// As many others as pods have by their number must stay untouched: nobody knows which these have. (Of a node
/// without a status its object says how many there are.)
bool mayBeAnonymous(const NodeState& n, std::int64_t wanted, const model::Uid& self) {
  if (n.anonymous <= 0 || wanted == 0) { return false; }
  const std::int64_t untouched = n.has_status
                                     ? std::count_if(n.devices.begin(), n.devices.end(),
                                                     [&](const DeviceState& d) { return isFree(d, self); })
                                     : unheldOf(n, self);
  return wanted > untouched - n.anonymous;
}

std::string heldText(const std::vector<int>& ids, Held held, const DeviceRequest& r) {
  const std::string gpus = gpusText(ids);
  switch (held) {
    case Held::Alone: return gpus + " held Exclusive by another pod";
    case Held::InPart: return gpus + " held in part by another pod";
    case Held::Full: return fmt::format("{} shared by {} pods already", gpus, r.max_sharers);
    default: return gpus + " named by another pod that has no lease of it";
  }
}

/// Why it cannot have exactly those that it names; nullopt: it can.
std::optional<Misfit> refuseNamed(const NodeState& n, const DeviceRequest& r, const model::Uid& self) {
  if (auto misfit = n.has_status ? refuseIds(n, r.exact) : refuseTooMany(n, r.exact)) { return misfit; }
  std::vector<int> taken;
  std::vector<int> untouched;
  Held how = Held::Open;  // the first of them
  for (const int id : r.exact) {
    const DeviceState* d = n.device(id);
    const Held held = d == nullptr ? Held::Open : heldFor(*d, r, self);
    if (how == Held::Open) { how = held; }
    if (held != Held::Open && held == how) { taken.push_back(id); }
    if (d == nullptr || othersOn(*d, self) == 0) { untouched.push_back(id); }
  }
  if (!taken.empty()) { return Misfit{Reason::GpusHeld, heldText(taken, how, r), 0, 0}; }
  if (mayBeAnonymous(n, static_cast<std::int64_t>(untouched.size()), self)) {
    return Misfit{Reason::GpusHeld,
                  fmt::format("{} in use perhaps: pods there have {} GPUs by {} and nobody says which",
                              gpusText(untouched), n.anonymous, model::kNvidiaGpu),
                  0, 0};
  }
  return std::nullopt;
}

/// Of a node that is not wide.
std::optional<Choice> offer(const NodeState& n, const DeviceRequest& r, const model::Uid& self,
                            Meter* meter) {
  if (n.topology == nullptr) { return std::nullopt; }
  if (r.shared) {
    Part all{n};
    return offerShared(all, r, self, meter);
  }
  return offerWhole(n, heldByOthers(n, self), r.count,
                    [&](const Topology& t, Mask free) { return chooseWhole(t, free, r, meter); });
}

/// Of a part of a wide one.
std::optional<Choice> offer(Part& part, const DeviceRequest& r, const model::Uid& self, Meter* meter) {
  if (r.shared) { return offerShared(part, r, self, meter); }
  const Offered whole{part.healthy(), part.unknown(), part.anonymous()};
  return offerWhole(whole, r.count, [&](Mask free) {
    return isAnyOfOne(r) ? anyOne(free) : chooseWhole(part.topology(meter), free, r, meter);
  });
}

/// The ids that the part has, in the order of the list.
std::vector<int> listedOf(const Part& part, const std::vector<std::size_t>& place_of) {
  std::vector<std::pair<std::size_t, int>> listed;
  for (const DeviceState* d : part.devices()) {
    const auto id = static_cast<std::size_t>(d->facts.id);
    if (id < place_of.size() && place_of[id] > 0) { listed.emplace_back(place_of[id], d->facts.id); }
  }
  std::sort(listed.begin(), listed.end());
  std::vector<int> ids;
  ids.reserve(listed.size());
  for (const auto& [place, id] : listed) { ids.push_back(id); }
  return ids;
}

/// By id, its place in the list from 1 on; 0: it is not in it. Of ids that a device may have.
std::vector<std::size_t> placesIn(const std::vector<int>& ids) {
  std::vector<std::size_t> place_of(ids.empty() ? 0 : model::kMaxDeviceId + 1);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto id = static_cast<std::size_t>(ids[i]);
    if (ids[i] >= 0 && id < place_of.size() && place_of[id] == 0) { place_of[id] = i + 1; }
  }
  return place_of;
}

std::optional<Placement> placeWide(const NodeState& n, const DeviceRequest& r, const model::Uid& self,
                                   Meter* outer) {
  Meter own;  // counted in any case: what is chosen depends on it
  Meter* const meter = &own;
  WideParts parts = partsOf(n, r, self, meter);
  std::optional<Placement> best;
  if (parts.available < r.count) {
    addSteps(outer, own.steps);
    return best;
  }
  const std::vector<std::size_t> place_of = placesIn(r.prefer_ids);
  DeviceRequest of_part = r;
  std::uint64_t left = kWideSearchSteps;
  std::uint64_t parts_left = 1 + parts.islands.size();
  const auto look = [&](Part& part) {
    if (!isAnyOfOne(r)) { (void)part.topology(meter); }  // reading its links is no search
    const std::uint64_t before = own.steps;
    own.most = before + left / parts_left--;
    if (!place_of.empty()) { of_part.prefer_ids = listedOf(part, place_of); }
    const auto choice = offer(part, of_part, self, meter);
    left -= std::min(left, own.steps - before);
    if (!choice || (best && choice->score < best->score)) { return; }
    Placement p{part.ids(choice->set), choice->score};
    if (!best || p.score > best->score || p.ids < best->ids) { best = std::move(p); }
  };
  look(parts.lowest);
  for (Part& island : parts.islands) { look(island); }
  addSteps(outer, own.steps);
  return best;
}

/// What the island that serves best has of `usable`, all of `must` in it.
Misfit islandMisfit(Reason reason, const Topology& t, Mask usable, Mask must, const DeviceRequest& r,
                    Meter* meter) {
  int most = 0;
  std::optional<std::int64_t> best_gbps;
  for (const Mask island : t.islands()) {
    const bool has_all = (must & ~island) == 0;
    most = std::max(most, countOf(has_all ? usable & island : must & island));
    const auto set =
        has_all ? bestSet(t, usable & island, static_cast<int>(r.count), must, meter) : std::nullopt;
    if (set) { best_gbps = std::max(best_gbps.value_or(0), t.connectionOf(*set).worst); }
  }
  if (!best_gbps) { return {reason, "", r.count, most}; }
  return {reason, std::to_string(r.count), r.min_bandwidth_gbps, *best_gbps};
}

/// Whoever ends and whatever is repaired there: no island allows it. (Of a wide node nobody says so.)
std::optional<Misfit> impossibleTopology(const NodeState& n, const DeviceRequest& r, Meter* meter) {
  if (r.topology != model::TopologyMode::Required || r.count < 2 || n.topology == nullptr) {
    return std::nullopt;
  }
  DeviceRequest any = r;
  any.policy = model::Policy::Contiguous;  // a policy chooses, but of the same sets
  any.prefer_ids.clear();
  if (chooseWhole(*n.topology, n.topology->all(), any, meter)) { return std::nullopt; }
  return islandMisfit(Reason::TopologyImpossible, *n.topology, n.topology->all(), 0, r, meter);
}

/// Enough may be given, but no set of them is allowed.
Misfit topologyMisfit(const NodeState& n, const DeviceRequest& r, const model::Uid& self, Meter* meter) {
  Part part = n.isWide() ? std::move(partsOf(n, r, self, meter).lowest) : Part{n};
  const Topology& t = part.topology(meter);
  Mask free = 0;
  if (r.shared) {
    for (const Mask place : placesOf(part, r, meter)) {
      const Mask among = place & (part.healthy() | part.unknown());
      for (const int i : sharingOrder(part, among, r, self, meter)) { free |= bit(i); }
    }
  } else {
    for (std::size_t i = 0; i < part.devices().size(); ++i) {
      if (isFree(*part.devices()[i], self)) { free |= bit(static_cast<int>(i)); }
    }
  }
  Mask must = 0;  // listed ids that have to be in it
  const auto listed = listedIn(t, free, r.prefer_ids);
  for (const int i : listed) { must |= bit(i); }
  if (static_cast<std::int64_t>(listed.size()) >= r.count) { free = std::exchange(must, 0); }
  return islandMisfit(Reason::TopologyUnmet, t, free, must, r, meter);
}

/// What never fits there.
std::optional<Misfit> permanentMisfit(const NodeState& n, const DeviceRequest& r, Meter* meter) {
  const std::int64_t most = std::min<std::int64_t>(n.whole, r.count > kMaxDevices ? kMaxDevices : n.whole);
  if (n.whole == 0) { return Misfit{Reason::NoGpu, "", 0, 0}; }
  if (most < r.count) { return Misfit{Reason::TooFewGpus, "", r.count, most}; }
  return impossibleTopology(n, r, meter);
}

/// Too few of something now, whatever the topology; nullopt: there are enough.
std::optional<Misfit> countMisfit(const NodeState& n, const DeviceRequest& r, const model::Uid& self,
                                  Meter* meter) {
  if (n.devices.size() > kMaxDevices) { addSteps(meter, 2 * kStepsPerDevice * n.devices.size()); }
  const auto usable =
      std::count_if(n.devices.begin(), n.devices.end(), [](const DeviceState& d) { return d.givable(); });
  if (usable < r.count) {
    const auto twice =
        std::count_if(n.devices.begin(), n.devices.end(), [](const DeviceState& d) { return d.twice; });
    const bool they_would_do = usable + twice >= r.count;
    return Misfit{they_would_do ? Reason::GpusTwice : Reason::TooFewHealthy, "", r.count, usable};
  }
  const std::int64_t free = availableFor(n, r, self);
  if (free < r.count) { return Misfit{Reason::TooFewFree, "", r.count, free}; }
  return std::nullopt;
}

std::vector<model::Uid> holdersOf(const DeviceState& d, const model::Uid& but) {
  std::vector<model::Uid> out;
  for (const Holder& h : d.holders) {
    if (h.uid != but) { out.push_back(h.uid); }
  }
  return out;
}

/// What a selection picks out of the devices that may be given; the Healthy ones first.
Verdict<Placement> pick(const NodeState& n, const DeviceRequest& r, const model::Uid& self, Meter* meter,
                        const std::set<int>* among = nullptr) {
  std::vector<int> healthy;
  std::vector<int> any;
  std::vector<DeviceSelection::Joinable> joinable;
  for (const auto& d : n.devices) {
    if (among != nullptr && !among->contains(d.facts.id)) { continue; }
    const bool is_free = isFree(d, self);
    if (!is_free && r.shared && isShareable(d, r, self)) {
      joinable.push_back({d.facts.id, holdersOf(d, self)});
    }
    if (!is_free) { continue; }
    any.push_back(d.facts.id);
    if (d.facts.health == model::Health::Healthy && !n.agent_stale) { healthy.push_back(d.facts.id); }
  }
  addSteps(meter, kStepsPerDevice * n.devices.size());
  auto picked = r.selection->pick(n.node.name, healthy, joinable);
  addSteps(meter, picked.steps);
  std::int64_t score = kHealthyScore;
  if (picked.ids.empty() && any.size() > healthy.size()) {
    picked = r.selection->pick(n.node.name, any, joinable);
    addSteps(meter, picked.steps);
    score = 0;
  }
  if (picked.ids.empty()) {
    return tl::unexpected(Misfit{Reason::ClaimsUnmet, std::move(picked.lack), picked.need, picked.have});
  }
  // As many others as pods have by their number must stay: nobody knows which these have.
  const auto spare = static_cast<std::int64_t>(any.size()) - n.anonymous;
  const auto count = std::count_if(picked.ids.begin(), picked.ids.end(),
                                   [&](int id) { return std::binary_search(any.begin(), any.end(), id); });
  if (count > spare) {
    return tl::unexpected(Misfit{Reason::TooFewFree, "", count, std::max<std::int64_t>(0, spare)});
  }
  return Placement{std::move(picked.ids), score};
}

}  // namespace

std::optional<Choice> chooseWhole(const Topology& t, Mask free, const DeviceRequest& r, Meter* meter) {
  if (countOf(free) < r.count) { return std::nullopt; }
  if (isAnyOfOne(r)) { return anyOne(free); }
  if (!looksAtTopology(r) && !policyOf(r.policy).over_islands) {
    DeviceRequest plain = r;
    plain.topology.reset();
    plain.min_bandwidth_gbps = 0;  // equivalent: the score of every set and node is lower by the same
    addSteps(meter, static_cast<std::uint64_t>(t.size()) * static_cast<std::uint64_t>(t.size()));
    return chooseWhole(t.flat(), free, plain, meter);
  }
  const auto set = policyOf(r.policy).whole(t, free, r, termsOf(r, meter));
  addChoice(meter, r);
  return set ? std::optional{Choice{*set, scoreOf(t, *set, r)}} : std::nullopt;
}

std::optional<Placement> tryPlace(const NodeState& node, const DeviceRequest& request, const model::Uid& self,
                                  Meter* meter) {
  if (!request.exact.empty()) {
    return refuseNamed(node, request, self) ? std::nullopt : std::optional{Placement{request.exact, 0}};
  }
  if (request.selection != nullptr) {
    auto picked = pick(node, request, self, meter);
    return picked ? std::optional{*std::move(picked)} : std::nullopt;
  }
  if (node.isWide()) { return placeWide(node, request, self, meter); }
  const auto choice = offer(node, request, self, meter);
  return choice ? std::optional{Placement{node.topology->ids(choice->set), choice->score}} : std::nullopt;
}

Verdict<Placement> place(const NodeState& node, const DeviceRequest& request, const model::Uid& self,
                         Meter* meter) {
  if (!request.exact.empty()) {
    if (auto misfit = refuseNamed(node, request, self)) { return tl::unexpected(*std::move(misfit)); }
    return Placement{request.exact, 0};
  }
  if (request.selection != nullptr) { return pick(node, request, self, meter); }
  if (auto placed = tryPlace(node, request, self, meter)) { return *std::move(placed); }
  if (auto misfit = permanentMisfit(node, request, meter)) { return tl::unexpected(*std::move(misfit)); }
  if (auto misfit = countMisfit(node, request, self, meter)) { return tl::unexpected(*std::move(misfit)); }
  return tl::unexpected(topologyMisfit(node, request, self, meter));
}

namespace {

/// These and no others.
std::optional<Misfit> exactTopology(const Topology& t, const DeviceRequest& r) {
  if (termsOf(r).allows(t, t.all())) { return std::nullopt; }
  if (t.inOneIsland(t.all())) {
    return Misfit{Reason::TopologyImpossible, std::to_string(r.count), r.min_bandwidth_gbps,
                  t.connectionOf(t.all()).worst};
  }
  int most = 0;
  for (const Mask island : t.islands()) { most = std::max(most, countOf(island)); }
  return Misfit{Reason::TopologyImpossible, "", r.count, most};
}

}  // namespace

std::optional<Misfit> refuseExact(const NodeState& node, const DeviceRequest& request,
                                  const std::vector<int>& ids, const model::Uid& self) {
  if (!request.exact.empty()) {
    if (ids != request.exact) { return Misfit{Reason::TooFewGpus, "", request.count, 0}; }
    return refuseNamed(node, request, self);
  }
  const std::set<int> wanted{ids.begin(), ids.end()};
  if (request.selection != nullptr) {
    auto picked = pick(node, request, self, nullptr, &wanted);
    if (!picked) { return std::move(picked.error()); }
    const bool is_all = picked->ids.size() == wanted.size();
    return is_all ? std::nullopt : std::optional{Misfit{Reason::ClaimsUnmet, "the claims take fewer", 0, 0}};
  }
  std::int64_t there = 0;
  std::int64_t usable = 0;
  std::int64_t free = 0;
  Topology::Devices devices;
  for (const int id : wanted) {
    const DeviceState* d = node.device(id);
    if (d == nullptr || !d->listed || d->facts.partitioned) { continue; }
    ++there;
    usable += d->givable() ? 1 : 0;
    free += (request.shared ? isShareable(*d, request, self) : isFree(*d, self)) ? 1 : 0;
    if (devices.size() < kMaxDevices) { devices.push_back(&d->facts); }
  }
  const std::int64_t need = request.count;
  if (node.whole == 0) { return Misfit{Reason::NoGpu, "", 0, 0}; }
  if (there != need || static_cast<std::int64_t>(wanted.size()) != need) {
    return Misfit{Reason::TooFewGpus, "", need, there};
  }
  if (auto misfit = exactTopology(Topology{devices}, request)) { return misfit; }
  if (usable < need) { return Misfit{Reason::TooFewHealthy, "", need, usable}; }
  free = std::min(free, availableFor(node, request, self));
  if (free < need) { return Misfit{Reason::TooFewFree, "", need, free}; }
  return std::nullopt;
}

std::vector<const DeviceState*> inItsWay(const NodeState& node, const DeviceRequest& request) {
  std::vector<const DeviceState*> out;
  for (const int id : request.exact) {
    const DeviceState* d = node.device(id);
    if (d != nullptr && heldFor(*d, request, {}) != Held::Open) { out.push_back(d); }
  }
  return out;
}

}  // namespace gs::sched
