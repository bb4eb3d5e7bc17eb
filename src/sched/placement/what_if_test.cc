#include "sched/placement/what_if.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <tuple>

#include "base/random.h"
#include "sched/ledger/ledger.h"
#include "sched/ledger/test_nodes.h"

namespace gs::sched {
namespace {

const model::NodeName kOnA{"a"};

std::int64_t freeWithout(const Ledger& l, const std::vector<const char*>& gone) {
  NodeWithout node{*l.find(kOnA)};
  for (const char* uid : gone) { node.take(model::Uid{uid}); }
  return node.state().free_devices;
}

TEST(WhatIf, WithoutPodsTheirDevicesAreFreeNamedOrCounted) {
  Ledger l;
  testNode("a").gpus(4, "x").addTo(l);
  l.usePod(kOnA, model::Uid{"counts"}, Source::BoundPod, {}, 1);
  l.hold(kOnA, 2, model::Uid{"named"}, Source::Lease, {});
  l.reclaimCounted(kOnA, model::Uid{"ended"}, 1);
  EXPECT_EQ(freeWithout(l, {}), 1);
  EXPECT_EQ(freeWithout(l, {"counts"}), 2);
  EXPECT_EQ(freeWithout(l, {"named"}), 2);
  EXPECT_EQ(freeWithout(l, {"named", "ended"}), 3);
  EXPECT_EQ(freeWithout(l, {"nobody"}), 1);
  EXPECT_EQ(l.find(kOnA)->free_devices, 1);
}

TEST(WhatIf, SaysWhoHasSomethingAndWhoseEndIsKnown) {
  Ledger l;
  testNode("a").gpus(4, "x").addTo(l);
  l.hold(kOnA, 0, model::Uid{"runs"}, Source::Lease, {});
  l.hold(kOnA, 1, model::Uid{"runs"}, Source::Draining, {});
  l.hold(kOnA, 2, model::Uid{"ended"}, Source::Draining, {});
  l.usePod(kOnA, model::Uid{"counts"}, Source::BoundPod, {}, 1);
  const NodeWithout node{*l.find(kOnA)};
  ASSERT_EQ(node.holdings().size(), 3U);
  const auto& runs = node.holdings().at(model::Uid{"runs"});
  EXPECT_EQ(runs.devices, (std::vector<std::size_t>{0, 1}));
  EXPECT_FALSE(runs.ended);
  EXPECT_TRUE(node.holdings().at(model::Uid{"ended"}).ended);
  EXPECT_TRUE(node.holdings().at(model::Uid{"counts"}).counted);
}

TEST(WhatIf, WithoutAPodItsOrdinaryResourcesAreFreeToo) {
  Ledger l;
  testNode("a").gpus(1, "x").cpu(1'000).pods(1).addTo(l);
  model::Pod pod;
  pod.uid = model::Uid{"v"};
  pod.node = kOnA;
  pod.requests.cpu_milli = 800;
  l.usePod(kOnA, pod.uid, Source::BoundPod, pod.requests, 0);
  NodeWithout node{*l.find(kOnA)};
  node.take(pod);
  EXPECT_EQ(node.state().used.cpu_milli, 0);
  EXPECT_EQ(node.state().used_pods, 0);
  node.giveBack(pod);
  EXPECT_EQ(node.state().used.cpu_milli, 800);
  EXPECT_EQ(node.state().used_pods, 1);
}

/// Everything of a node that a decision reads and that its pods make.
auto usedPartOf(const NodeState& n) {
  std::map<int, std::vector<Holder>> holders;
  for (const auto& d : n.devices) {
    if (!d.holders.empty()) { holders[d.facts.id] = d.holders; }
  }
  return std::tuple{holders,     n.counted,      n.in_flight,  n.used.cpu_milli, n.used_pods,     n.held,
                    n.anonymous, n.free_devices, n.free_milli, n.free_mib,       n.overcommitted, n.ports};
}

/// Whoever comes and goes in whatever order, it is as if those that are gone had never been there.
TEST(WhatIfProperty, IsTheNodeWithoutThosePodsWhateverWentBefore) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Rng rng{seed};
    Ledger all;
    model::Node facts = testNode("a").node;
    if (rng.chance(50)) { facts.share_capacity = {400, 64}; }
    TestNode node = testNode("a").gpus(rng.chance(15) ? 70 : 4, "x");
    node.node = facts;
    if (rng.chance(30)) { node.withoutStatus(); }
    if (!node.has_status) { node.resource(model::kNvidiaGpu, 4); }
    node.addTo(all);
    std::vector<std::function<void(Ledger&)>> says;
    std::vector<model::Pod> pods;
    for (int p = 0; p < 8; ++p) {
      model::Pod pod;
      pod.uid = model::Uid{"p" + std::to_string(p)};
      pod.node = kOnA;
      pod.requests.cpu_milli = static_cast<std::int64_t>(rng.below(3));
      if (p % 3 == 0) { pod.host_ports = {{80, "TCP", "0.0.0.0"}}; }
      const auto counted = static_cast<std::int64_t>(rng.below(2));
      const int id = static_cast<int>(rng.below(4));
      const Amount amount = rng.chance(50) ? Amount{} : Amount{true, 100, 512};
      const Source source = rng.chance(50) ? Source::Lease : Source::BoundPod;
      const SharePicks picks{{{0, 100, 512}, {id}}};
      const bool flies = rng.chance(30);
      says.emplace_back([=](Ledger& l) {
        l.usePod(kOnA, pod.uid, Source::BoundPod, pod.requests, counted, {}, pod.host_ports);
        l.hold(kOnA, id, pod.uid, source, amount);
        if (flies) { l.setInFlight(kOnA, pod.uid, Source::BoundPod, picks); }
      });
      pods.push_back(pod);
    }
    for (const auto& say : says) { say(all); }
    NodeWithout without{*all.find(kOnA)};
    std::vector<bool> gone(pods.size());
    for (int step = 0; step < 20; ++step) {
      const std::size_t p = rng.below(pods.size());
      gone[p] ? without.giveBack(pods[p]) : without.take(pods[p]);
      gone[p] = !gone[p];
      if (rng.chance(50)) { continue; }
      Ledger rest;
      node.addTo(rest);
      for (std::size_t i = 0; i < says.size(); ++i) {
        if (!gone[i]) { says[i](rest); }
      }
      ASSERT_EQ(usedPartOf(without.state()), usedPartOf(*rest.find(kOnA))) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace gs::sched
