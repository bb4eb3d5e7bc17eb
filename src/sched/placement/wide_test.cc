// Nodes with more devices than a mask has bits (sched/placement/part.h): what they give, and what a look at
// one costs.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "sched/ledger/derive.h"
#include "sched/ledger/test_facts.h"
#include "sched/placement/part.h"
#include "sched/placement/placement.h"

namespace gs::sched {
namespace {

using model::Health;
using model::Policy;
using model::TopologyMode;

/// `islands` of `each` devices, all links of an island as fast as drawn.
TestNode wideNode(int islands, int each, bool linked = false) {
  TestNode t = testNode("a");
  Rng rng{1};
  for (int i = 0; i < islands; ++i) {
    t.gpus(each, "island-" + std::to_string(i), 300 + i);
    for (int a = 0; linked && a < each; ++a) {
      for (int b = a + 1; b < each; ++b) {
        t.link(i * each + a, i * each + b, static_cast<std::int64_t>(100 + rng.below(900)));
      }
    }
  }
  return t;
}

DeviceRequest required(std::int64_t count, std::int64_t min_gbps, Policy policy = Policy::Contiguous) {
  DeviceRequest r = testDevices(count, policy);
  r.topology = TopologyMode::Required;
  r.min_bandwidth_gbps = min_gbps;
  return r;
}

// ---- What a look costs

std::uint64_t stepsOf(const TestNode& node, const DeviceRequest& request) {
  Ledger l;
  node.addTo(l);
  Meter meter;
  (void)place(stateOf(l, "a"), request, {}, &meter);
  return meter.steps;
}

/// Of nothing but the walk over the devices, which has to be there, and a few passes more.
TEST(WideCost, IsLinearInDevicesHoweverManyIslandsThereAre) {
  for (const auto& request :
       {testDevices(1), testDevices(2), required(1, 0), required(2, 0), required(2, 5'000),
        required(8, 5'000), required(2, 5'000, Policy::Spread), required(2, 5'000, Policy::PreferIds)}) {
    for (const int islands : {1, 4, 64, 512, 1'024}) {
      const std::uint64_t small = stepsOf(wideNode(islands, 1'024 / islands), request);
      EXPECT_GE(small, 1'024 * kStepsPerDevice) << "it is walked over";
      EXPECT_LE(small, 1'024 * 10 * kStepsPerDevice + std::uint64_t{2} * 64 * 1'024) << islands;
    }
  }
}

TEST(WideCost, AListOfPreferredIdsIsReadOnceAndNotForEachIsland) {
  DeviceRequest r = testDevices(1, Policy::PreferIds);
  for (int id = 1'023; id >= 0; --id) { r.prefer_ids.push_back(id); }
  EXPECT_LE(stepsOf(wideNode(1'024, 1), r), 1'024 * 12 * kStepsPerDevice);
}

TEST(WideCost, LinksAreReadOnceAndNotForEachPair) {
  // Each device has a link to 1,000 others that are not there, after those of its island.
  TestNode node = wideNode(16, 64, true);
  for (auto& d : node.status.devices) {
    for (int to = 0; to < 1'000; ++to) { d.links.push_back({2'000 + to, 1}); }
  }
  constexpr std::uint64_t kLinks = 1'024 * 1'063;
  EXPECT_LE(stepsOf(node, required(2, 5'000)), 2 * kLinks + std::uint64_t{40} * 64 * 1'024);
}

/// However many islands are searched, each for sets that are hardly there: as much as a few searches in one.
TEST(WideCost, SearchesInItsIslandsAreBoundedTogether) {
  constexpr std::uint64_t kMost = 12'000 * kStepsPerLook;
  std::uint64_t most = 0;
  const auto look = [&](const TestNode& node, DeviceRequest r) {
    for (const Policy policy : {Policy::Contiguous, Policy::Spread, Policy::PreferIds}) {
      for (const auto mode : {TopologyMode::Required, TopologyMode::Preferred}) {
        for (const bool shared : {false, true}) {
          r.policy = policy;
          r.topology = mode;
          r.shared = shared;
          const std::uint64_t steps = stepsOf(node, r);
          EXPECT_LE(steps, kMost) << r.count << " GPUs of " << r.min_bandwidth_gbps << " GB/s, policy "
                                  << static_cast<int>(policy) << ", mode " << static_cast<int>(mode);
          most = std::max(most, steps);
        }
      }
    }
  };
  for (const auto& [islands, each] : {std::pair{16, 64}, std::pair{32, 32}, std::pair{64, 16}}) {
    TestNode node = wideNode(islands, each, true);
    TestNode unknown = node;
    for (auto& d : unknown.status.devices) { d.health = d.id % each < 2 ? Health::Unknown : Health::Healthy; }
    for (const std::int64_t count : {3, 5, 8, each / 2, each - 3, each - 1}) {
      for (const std::int64_t gbps : {150, 400, 950, 2'000}) {
        look(node, required(count, gbps));
        look(unknown, required(count, gbps));
      }
    }
  }
  EXPECT_GE(most, kMost / 4) << "the bound says something";
}

/// 20 GPUs of one of 16 islands are faster among each other than any others. The lowest of the island, the
/// only one that a search with no steps left starts from, is none of them.
TEST(WideSearch, TheLastIslandIsSearchedAsTheFirstIs) {
  for (const int island : {0, 7, 15}) {
    TestNode node = testNode("a");
    Rng rng{3};
    std::set<int> fast;
    while (fast.size() < 20) { fast.insert(island * 64 + static_cast<int>(1 + rng.below(63))); }
    for (int i = 0; i < 16; ++i) {
      node.gpus(64, "island-" + std::to_string(i), 300);
      for (int a = i * 64; a < (i + 1) * 64; ++a) {
        for (int b = a + 1; b < (i + 1) * 64; ++b) {
          const bool both = fast.contains(a) && fast.contains(b);
          node.link(a, b, both ? 950 : static_cast<std::int64_t>(100 + rng.below(800)));
        }
      }
    }
    Ledger l;
    node.addTo(l);
    const auto placed = tryPlace(stateOf(l, "a"), required(20, 950), {});
    ASSERT_TRUE(placed) << "island " << island;
    EXPECT_EQ((std::set<int>{placed->ids.begin(), placed->ids.end()}), fast);
  }
}

TEST(WideCost, HoldersAreCounted) {
  Ledger l;
  wideNode(1'024, 1).addTo(l);
  for (int i = 0; i < 500; ++i) {
    l.hold(model::NodeName{"a"}, 3, model::Uid{"p" + std::to_string(i)}, Source::BoundPod, {true, 0, 0});
  }
  Meter meter;
  (void)place(stateOf(l, "a"), testDevices(2), {}, &meter);
  EXPECT_GE(meter.steps, 1'024 * kStepsPerDevice + 500);
}

// ---- Law: the same as each part of it as a node of its own

/// The devices that may be given to it, the lowest kMaxDevices; of one island if named.
NodeState partAsNode(const NodeState& n, const DeviceRequest& r, const model::Uid& self,
                     const std::string* island) {
  const auto untouched = [&](const NodeState& of) {
    return std::count_if(of.devices.begin(), of.devices.end(),
                         [&](const auto& d) { return isFree(d, self); });
  };
  NodeState out;
  out.agent_stale = n.agent_stale;
  for (const auto& d : n.devices) {
    const bool may = r.shared ? isShareable(d, r, self) : isFree(d, self);
    if (may && (island == nullptr || d.facts.island == *island) && out.devices.size() < kMaxDevices) {
      out.devices.push_back(d);
    }
  }
  deriveDevices(out, nullptr);
  out.anonymous =
      std::max<std::int64_t>(0, untouched(out) - std::max<std::int64_t>(0, untouched(n) - n.anonymous));
  return out;
}

std::optional<Placement> placedByTheRule(const NodeState& n, const DeviceRequest& r, const model::Uid& self) {
  std::optional<Placement> best;
  const auto look = [&](const std::string* island) {
    const auto p = tryPlace(partAsNode(n, r, self, island), r, self);
    if (p && (!best || p->score > best->score || (p->score == best->score && p->ids < best->ids))) {
      best = p;
    }
  };
  if (availableFor(n, r, self) < r.count) { return best; }
  look(nullptr);
  std::set<std::string> islands;
  for (const auto& d : n.devices) { islands.insert(d.facts.island); }
  for (const auto& island : islands) { look(&island); }
  return best;
}

/// 65 to 200 devices in 1 to 70 islands, some linked, sick, cut up, held or shared, and pods that are only
/// counted.
struct DrawnWide {
  Ledger ledger;
  Rng rng;

  explicit DrawnWide(std::uint64_t seed) : rng{seed} {
    model::GpuNodeStatus s;
    s.node = model::NodeName{"a"};
    s.enforcement = model::Enforcement::Devices;
    const std::uint64_t count = 65 + rng.below(135);
    const std::uint64_t islands = 1 + rng.below(rng.chance(50) ? 4 : 70);
    const bool linked = rng.chance(40);
    int id = 0;
    for (std::uint64_t i = 0; i < count; ++i) { s.devices.push_back(draw(id, islands, linked, count)); }
    testNode("a").addTo(ledger);
    ledger.upsertStatus(s);
    if (rng.chance(10)) { ledger.setAgentStale(s.node, true); }
    const std::uint64_t most_held = rng.chance(50) ? 20 : 190;
    for (std::uint64_t h = rng.below(most_held); h > 0; --h) { hold(static_cast<std::uint64_t>(id)); }
    if (rng.chance(40)) {
      ledger.usePod(s.node, model::Uid{"counted"}, Source::BoundPod, {},
                    static_cast<std::int64_t>(rng.below(count)));
    }
  }

  [[nodiscard]] const NodeState& node() const { return stateOf(ledger, "a"); }

  DeviceRequest request() {
    DeviceRequest r = testDevices(static_cast<std::int64_t>(1 + rng.below(rng.chance(80) ? 4 : 20)),
                                  static_cast<Policy>(rng.below(3)));
    for (std::uint64_t n = rng.below(8); r.policy == Policy::PreferIds && n > 0; --n) {
      r.prefer_ids.push_back(static_cast<int>(rng.below(230)));
    }
    r.shared = rng.chance(40);
    if (r.shared && rng.chance(30)) { r.max_sharers = 2; }
    if (rng.chance(70)) { r.topology = static_cast<TopologyMode>(rng.below(3)); }
    if (r.topology) { r.min_bandwidth_gbps = static_cast<std::int64_t>(150 * rng.below(6)); }
    return r;
  }

 private:
  model::Device draw(int& id, std::uint64_t islands, bool linked, std::uint64_t count) {
    model::Device d;
    d.id = id;
    id += rng.chance(10) ? 2 : 1;
    const std::uint64_t island = rng.below(islands);
    d.island = island == 0 ? "" : "island-" + std::to_string(island);
    d.bandwidth_gbps = static_cast<std::int64_t>(300 * (1 + island % 3));
    d.health = rng.chance(85) ? Health::Healthy : rng.chance(50) ? Health::Unknown : Health::Unhealthy;
    d.partitioned = rng.chance(3);
    for (std::uint64_t n = linked ? rng.below(12) : 0; n > 0; --n) {
      d.links.push_back({static_cast<int>(rng.below(count)), static_cast<std::int64_t>(100 * rng.below(8))});
    }
    return d;
  }

  void hold(std::uint64_t ids) {
    const Amount shared{true, rng.chance(10) ? 500 : 0, 0};
    ledger.hold(model::NodeName{"a"}, static_cast<int>(rng.below(ids)),
                model::Uid{"p" + std::to_string(rng.below(6))},
                rng.chance(80) ? Source::Lease : Source::BoundPod, rng.chance(50) ? shared : Amount{});
  }
};

RC_GTEST_PROP(WideProperty, GivesWhatTheBestOfItsPartsWouldGiveAsANode, (std::uint64_t seed)) {
  DrawnWide drawn{seed};
  const NodeState& n = drawn.node();
  RC_PRE(n.isWide());
  const model::Uid self{drawn.rng.chance(30) ? "p1" : ""};
  const DeviceRequest r = drawn.request();
  const auto expected = placedByTheRule(n, r, self);
  RC_CLASSIFY(expected.has_value(), "placed");
  RC_CLASSIFY(r.shared, "shared");
  RC_ASSERT(tryPlace(n, r, self) == expected);
  const auto placed = place(n, r, self);
  RC_ASSERT(placed.has_value() == expected.has_value());
  if (placed) { RC_ASSERT(*placed == *expected); }
}

}  // namespace
}  // namespace gs::sched
