// Classes of pods that mount volumes: what is known of nodes for them is true for one moment of the volumes.
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>

#include "sched/ledger/test_nodes.h"
#include "sched/placement/decider.h"
#include "sched/placement/test_looks.h"

namespace gs::sched {
namespace {

/// Volumes that some nodes reach.
struct Reached {
  std::set<std::string> nodes;
  std::uint64_t moment = 1;
  void are(std::set<std::string> names) {
    nodes = std::move(names);
    ++moment;
  }
};

class Reaching final : public VolumeSelection {
 public:
  explicit Reaching(const Reached& reached) : reached_{reached} {}
  [[nodiscard]] std::optional<Misfit> refuse(Filter filter, const model::Node& node) const override {
    const bool is_refused = filter == Filter::Binding && !reached_.nodes.contains(node.name.text);
    return is_refused ? std::optional{Misfit{Reason::VolumeElsewhere, "", 0, 0}} : std::nullopt;
  }
  [[nodiscard]] std::uint64_t moment() const override { return reached_.moment; }

 private:
  const Reached& reached_;
};

class DeciderVolumes : public ::testing::Test {
 protected:
  static constexpr int kNodes = 30;
  DeciderVolumes() {
    for (int i = 0; i < kNodes; ++i) { testNode(name(i)).gpus(2).addTo(ledger_); }
  }
  static std::string name(int i) { return "node-" + std::to_string(100 + i); }
  PodRequest mounting() {
    PodRequest r = testClaim(1);
    r.volumes = std::make_shared<const Reaching>(reached_);
    return r;
  }
  std::string nodeFor(EquivalenceClass id) {
    const auto placed = decider_.decide(id);
    EXPECT_EQ(decider_.fits(id), placed.has_value());
    return placed ? placed->node.text : "";
  }

  Ledger ledger_;
  Reached reached_;
  Decider decider_{ledger_};
};

TEST_F(DeciderVolumes, WhatFittedNowhereFitsWhereTheyAreReachedNow) {
  const EquivalenceClass id = decider_.classOf(mounting());
  EXPECT_EQ(nodeFor(id), "");
  EXPECT_EQ(looksOf(decider_, [&] { EXPECT_FALSE(decider_.fits(id)); }), 0U) << "nothing changed";
  reached_.are({name(7)});
  EXPECT_EQ(nodeFor(id), name(7));
}

/// Decided on before, it has an order of all nodes.
TEST_F(DeciderVolumes, AnOrderIsMadeAnew) {
  reached_.are({name(3), name(9)});
  const EquivalenceClass id = decider_.classOf(mounting());
  const EquivalenceClass other = decider_.classOf(testClaim(1));
  EXPECT_EQ(nodeFor(id), name(3));
  EXPECT_EQ(nodeFor(other), name(0));
  reached_.are({name(9), name(20)});
  EXPECT_EQ(nodeFor(id), name(9));
  EXPECT_EQ(looksOf(decider_, [&] { EXPECT_EQ(nodeFor(other), name(0)); }), 0U) << "it mounts nothing";
  reached_.are({});
  EXPECT_EQ(nodeFor(id), "");
  reached_.are({name(1)});
  EXPECT_EQ(nodeFor(id), name(1));
}

TEST_F(DeciderVolumes, EvenWhenItIsStillOnTheWay) {
  reached_.are({name(29)});
  const EquivalenceClass id = decider_.classOf(mounting());
  EXPECT_FALSE(decider_.prepare(id, 5));
  reached_.are({name(0)});
  EXPECT_EQ(nodeFor(id), name(0)) << "one that was looked at before";
}

TEST_F(DeciderVolumes, OneWhoseOrderWasDroppedIsLookedAtAgain) {
  Decider small{ledger_, 1};
  const EquivalenceClass id = small.classOf(mounting());
  EXPECT_FALSE(small.decide(id));
  reached_.are({name(4)});
  EXPECT_TRUE(small.decide(small.classOf(testClaim(1)))) << "its order needs the room";
  EXPECT_EQ(small.decide(id)->node.text, name(4));
}

TEST_F(DeciderVolumes, TheWordsFollow) {
  reached_.are({name(0)});
  PodRequest many = mounting();
  many.devices->count = 3;
  const EquivalenceClass id = decider_.classOf(many);
  const std::string elsewhere = "node(s) didn't match PersistentVolume's node affinity";
  const std::string few = "node(s) had too few GPUs: need 3 and the largest has 2";
  EXPECT_EQ(decider_.rejection(id).text, "0/30 nodes are available: 29 " + elsewhere + ", 1 " + few + ".");
  RejectionBoard half;
  EXPECT_FALSE(decider_.rejection(id, 2, half));
  reached_.are({name(0), name(1)});
  const std::string now = "0/30 nodes are available: 28 " + elsewhere + ", 2 " + few + ".";
  EXPECT_EQ(decider_.rejection(id).text, now);
  EXPECT_EQ(decider_.rejection(id, ~std::uint64_t{0}, half)->text, now);
  EXPECT_FALSE(decider_.decide(id));
  EXPECT_EQ(decider_.rejection(id).text, now);
  reached_.are({});
  EXPECT_EQ(decider_.rejection(id).text, "0/30 nodes are available: 30 " + elsewhere + ".");
}

TEST_F(DeciderVolumes, TheOneNodeThatAMapNamesIsAskedAgain) {
  PodRequest named = testMapped(name(5), {0});
  named.volumes = mounting().volumes;
  const EquivalenceClass id = decider_.classOf(named);
  EXPECT_EQ(nodeFor(id), "");
  reached_.are({name(5)});
  EXPECT_EQ(nodeFor(id), name(5));
}

/// Of what changed nobody was told.
TEST_F(DeciderVolumes, WhoIsToBeLookedAtAnewIs) {
  const EquivalenceClass with_order = decider_.classOf(mounting());
  reached_.are({name(3)});
  EXPECT_EQ(nodeFor(with_order), name(3));
  PodRequest named = testMapped(name(5), {0});
  named.volumes = mounting().volumes;
  const EquivalenceClass of_one = decider_.classOf(named);
  PodRequest other = mounting();
  other.resources.cpu_milli = 1;
  const EquivalenceClass without = decider_.classOf(other);
  reached_.are({});
  for (const auto id : {with_order, of_one, without}) { EXPECT_FALSE(decider_.fits(id)); }
  reached_.nodes = {name(5)};
  for (const auto id : {with_order, of_one, without}) {
    EXPECT_FALSE(decider_.fits(id));
    decider_.lookAnew(id);
    EXPECT_EQ(nodeFor(id), name(5));
  }
}

/// kube-scheduler counts them with the other amounts, before it looks at volumes.
TEST_F(DeciderVolumes, TooFewGpusByNumberAreToldBeforeThem) {
  testNode("x").gpus(2).resource(model::kNvidiaGpu, 2).addTo(ledger_);
  const auto reason = [&](std::int64_t gpus) {
    PodRequest r = testPlain(gpus);
    r.volumes = mounting().volumes;
    return misfitOn(stateOf(ledger_, "x"), r)->reason;
  };
  EXPECT_EQ(reason(3), Reason::TooFewGpus);
  EXPECT_EQ(reason(2), Reason::VolumeElsewhere);
}

}  // namespace
}  // namespace gs::sched
