#include "dra/pools.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "dra/test_slices.h"

namespace gs::dra {
namespace {

const model::NodeName kA{"a"};
const model::NodeName kB{"b"};

std::vector<std::string> namesOn(const Pools& pools, const model::NodeName& node) {
  std::vector<std::string> out;
  for (const auto& pool : pools.of(node)) {
    for (const auto* device : pool.devices) { out.push_back(device->name); }
  }
  return out;
}

std::string troubleOn(const Pools& pools, const model::NodeName& node) {
  const auto here = pools.of(node);
  return here.empty() ? "no pool" : here.front().trouble;
}

model::ResourceSlice part(const std::string& name, std::int64_t generation, std::int64_t of,
                          std::vector<model::SliceDevice> devices) {
  auto s = slice(name, std::move(devices));
  s.generation = generation;
  s.slices = of;
  return s;
}

TEST(PoolsTest, APoolIsWholeWhenAllSlicesOfItAreThere) {
  Pools pools;
  EXPECT_EQ(pools.put(shared(part("s-1", 1, 2, {gpu(1), gpu(0)}))), NodeNames{kA});
  EXPECT_EQ(troubleOn(pools, kA), "generation 1 of pool a of gpu.nvidia.com has 1 of 2 slices");
  pools.put(shared(part("s-2", 1, 2, {gpu(2)})));
  EXPECT_EQ(troubleOn(pools, kA), "");
  EXPECT_EQ(namesOn(pools, kA), (std::vector<std::string>{"gpu-0", "gpu-1", "gpu-2"}));
  EXPECT_EQ(pools.remove({"", "s-1"}), NodeNames{kA});
  EXPECT_NE(troubleOn(pools, kA), "");
  pools.remove({"", "s-2"});
  EXPECT_EQ(troubleOn(pools, kA), "no pool");
  EXPECT_TRUE(pools.nodes().empty());
}

TEST(PoolsTest, OnlyTheNewestGenerationCounts) {
  Pools pools;
  pools.put(shared(part("old", 1, 1, {gpu(0), gpu(1)})));
  pools.put(shared(part("new-1", 2, 2, {gpu(1)})));
  EXPECT_EQ(namesOn(pools, kA), std::vector<std::string>{"gpu-1"}) << "gpu-0 may be withdrawn";
  EXPECT_EQ(troubleOn(pools, kA), "generation 2 of pool a of gpu.nvidia.com has 1 of 2 slices");
  pools.put(shared(part("new-2", 2, 2, {gpu(2)})));
  EXPECT_EQ(troubleOn(pools, kA), "");
  pools.remove({"", "old"});
  EXPECT_EQ(namesOn(pools, kA), (std::vector<std::string>{"gpu-1", "gpu-2"}));
  EXPECT_EQ(troubleOn(pools, kA), "");
}

TEST(PoolsTest, ANewerGenerationThatGoesGivesTheOneBeforeBack) {
  Pools pools;
  pools.put(shared(part("old", 1, 1, {gpu(0)})));
  pools.put(shared(part("new", 2, 1, {gpu(1)})));
  EXPECT_EQ(pools.remove({"", "new"}), NodeNames{kA});
  EXPECT_EQ(namesOn(pools, kA), std::vector<std::string>{"gpu-0"});
  EXPECT_EQ(troubleOn(pools, kA), "");
}

TEST(PoolsTest, SlicesThatSayAnotherNumberOfThemAreNotWhole) {
  Pools pools;
  pools.put(shared(part("s-1", 1, 2, {gpu(0)})));
  pools.put(shared(part("s-2", 1, 3, {gpu(1)})));
  EXPECT_EQ(troubleOn(pools, kA), "generation 1 of pool a of gpu.nvidia.com has 2 of 3 slices");
}

TEST(PoolsTest, ADeviceThatIsNamedTwiceSpoilsItsPoolUntilOneGoes) {
  Pools pools;
  pools.put(shared(part("s-1", 1, 2, {gpu(0)})));
  pools.put(shared(part("s-2", 1, 2, {gpu(0)})));
  EXPECT_EQ(troubleOn(pools, kA), "pool a of gpu.nvidia.com has two devices gpu-0");
  auto mended = part("s-2", 1, 2, {gpu(1)});
  mended.revision = 2;
  pools.put(shared(mended));
  EXPECT_EQ(troubleOn(pools, kA), "");
}

TEST(PoolsTest, WhatIsKnownInANewerRevisionChangesNothing) {
  Pools pools;
  auto newer = slice("s", {gpu(1)});
  newer.revision = 5;
  pools.put(shared(newer));
  EXPECT_TRUE(pools.put(shared(slice("s", {gpu(0)}))).empty());
  EXPECT_EQ(namesOn(pools, kA), std::vector<std::string>{"gpu-1"});
  EXPECT_TRUE(pools.remove({"", "other"}).empty());
}

/// A slice of one name that is another object, of another pool.
TEST(PoolsTest, ASliceThatWasMadeAnewForAnotherPoolLeavesItsOld) {
  Pools pools;
  pools.put(shared(slice("s", {gpu(0)})));
  auto other = slice("s", {gpu(1)});
  other.uid = model::Uid{"other"};
  other.revision = 9;
  other.pool = "b";
  other.node = kB;
  EXPECT_EQ(pools.put(shared(other)), (NodeNames{kA, kB}));
  EXPECT_EQ(pools.nodes(), NodeNames{kB});
}

TEST(PoolsTest, DevicesMayEachSayTheirNode) {
  Pools pools;
  auto s = slice("s", {gpu(0), gpu(1)});
  s.node = model::NodeName{};
  s.devices[0].node = kA;
  s.devices[1].node = kB;
  EXPECT_EQ(pools.put(shared(s)), (NodeNames{kA, kB}));
  EXPECT_EQ(namesOn(pools, kA), std::vector<std::string>{"gpu-0"});
  EXPECT_EQ(namesOn(pools, kB), std::vector<std::string>{"gpu-1"});
}

/// One pool of 5,000 nodes: a slice concerns its own node, and all of them when the pool becomes whole.
TEST(PoolsTest, AChangeCostsItsSliceHoweverManyShareThePool) {
  constexpr int kNodes = 5000;
  Pools pools;
  std::size_t told = 0;
  for (int i = 0; i < kNodes; ++i) {
    auto device = gpu(0);
    device.name = "gpu-" + std::to_string(i);
    auto s = part("s-" + std::to_string(i), 1, kNodes, {device});
    s.node = model::NodeName{"n-" + std::to_string(i)};
    const auto touched = pools.put(shared(s));
    told += touched.size();
    if (i + 1 == kNodes) { EXPECT_EQ(touched.size(), std::size_t{kNodes}); }
  }
  EXPECT_LE(told, std::size_t{3 * kNodes});
}

/// Whatever the order, and whatever came between: the pools are a function of the slices that are there.
TEST(PoolsTest, AreAFunctionOfTheSlicesThatAreThere) {
  std::vector<model::ResourceSlice> all{part("s-1", 1, 2, {gpu(0)}), part("s-2", 1, 2, {gpu(1)}),
                                        part("s-3", 2, 1, {gpu(1), gpu(2)}), part("s-4", 3, 2, {gpu(3)})};
  std::vector<int> order{0, 1, 2, 3};
  do {
    for (int gone = 0; gone < 4; ++gone) {
      Pools pools;
      for (const int i : order) { pools.put(shared(all[static_cast<std::size_t>(i)])); }
      pools.remove(all[static_cast<std::size_t>(gone)].key);
      Pools fresh;
      for (int i = 0; i < 4; ++i) {
        if (i != gone) { fresh.put(shared(all[static_cast<std::size_t>(i)])); }
      }
      EXPECT_EQ(namesOn(pools, kA), namesOn(fresh, kA));
      EXPECT_EQ(troubleOn(pools, kA), troubleOn(fresh, kA));
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

}  // namespace
}  // namespace gs::dra
