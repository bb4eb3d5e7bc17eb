#include "sched/placement/decider.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "sched/ledger/anti_affinity.h"
#include "sched/ledger/quota.h"
#include "sched/ledger/test_facts.h"
#include "sched/placement/test_looks.h"

namespace gs::sched {
namespace {

std::optional<Placed> decideOnce(const Ledger& ledger, const PodRequest& request) {
  Decider d{ledger};
  return d.decide(d.classOf(request));
}

/// The rule, node by node: best score, then fewer free devices, then name.
std::optional<Placed> decideByTheRule(const Ledger& ledger, const PodRequest& request) {
  std::optional<Placed> best;
  std::tuple<std::int64_t, std::int64_t, std::string> place;
  for (Ledger::NodeIndex i = 0; i < ledger.size(); ++i) {
    const NodeState& n = ledger.at(i);
    const auto fit = fitOn(n, request);
    if (!n.exists || !fit) { continue; }
    const std::tuple here{-fit->score, n.free_devices, n.node.name.text};
    if (!best || here < place) {
      best = Placed{n.node.name, fit->ids, fit->score};
      place = here;
    }
  }
  return best;
}

std::string nodeFor(const Ledger& ledger, const PodRequest& request) {
  const auto placed = decideOnce(ledger, request);
  return placed ? placed->node.text : "none";
}

TEST(Decider, TheFullerNodeThenTheName) {
  Ledger l;
  testNode("c").gpus(4).addTo(l);
  testNode("b").gpus(8).addTo(l);
  testNode("a").gpus(8).addTo(l);
  EXPECT_EQ(nodeFor(l, testClaim(1)), "c");
  EXPECT_EQ(nodeFor(l, testClaim(5)), "a");
  for (int id = 0; id < 5; ++id) { l.hold(model::NodeName{"b"}, id, model::Uid{"p"}, Source::Lease, {}); }
  EXPECT_EQ(nodeFor(l, testClaim(1)), "b");
}

TEST(Decider, TheBetterPlacementBeatsTheFullerNode) {
  Ledger l;
  testNode("full").gpus(2, "x", 300).addTo(l);
  testNode("fast").gpus(8, "x", 900).addTo(l);
  EXPECT_EQ(nodeFor(l, testClaim(2)), "fast");
  EXPECT_EQ(nodeFor(l, testClaim(1)), "full") << "for one device bandwidth is no part of the score";
  PodRequest ignoring = testClaim(2);
  ignoring.devices->topology = model::TopologyMode::Ignore;
  EXPECT_EQ(nodeFor(l, ignoring), "full");
}

TEST(Decider, HealthyDevicesElsewhereBeatUnknownOnes) {
  Ledger l;
  testNode("a").gpus(1).health(0, model::Health::Unknown).addTo(l);
  testNode("b").gpus(8).addTo(l);
  EXPECT_EQ(nodeFor(l, testClaim(1)), "b");
}

TEST(Decider, AnOrdinaryPodGoesWhereNoGpuIsFree) {
  Ledger l;
  testNode("a").gpus(8).addTo(l);
  testNode("b").withoutStatus().addTo(l);
  PodRequest ordinary;
  EXPECT_EQ(nodeFor(l, ordinary), "b");
}

TEST(Decider, TheUsageGuidesExamples) {
  Ledger l;
  testNode("node-a").gpus(4).addTo(l);
  testNode("node-b").gpus(4, "nvlink-0").gpus(4, "nvlink-1").label("gpu-type", "a100").addTo(l);
  std::vector<Reservation> running;
  Decider d{l};
  const auto run = [&](const PodRequest& request, const char* uid) {
    const auto placed = d.decide(d.classOf(request));
    running.push_back(l.reserve(placed->node, model::Uid{uid}, request, placed->ids));
    return std::pair{placed->node.text, placed->ids};
  };
  EXPECT_EQ(run(testClaim(1), "gpu-test"), (std::pair{std::string{"node-a"}, std::vector<int>{0}}));
  EXPECT_EQ(run(testClaim(4), "training-job"),
            (std::pair{std::string{"node-b"}, std::vector<int>{0, 1, 2, 3}}));
  PodRequest pinned = testClaim(testDevices(2, model::Policy::PreferIds));
  pinned.devices->prefer_ids = {0, 1};
  EXPECT_EQ(run(pinned, "pinned"), (std::pair{std::string{"node-a"}, std::vector<int>{1, 2}}))
      << "0 is taken, 1 is not";
  PodRequest eight = testClaim(8);
  eight.match_labels["gpu-type"] = "a100";
  EXPECT_EQ(d.decide(d.classOf(eight)), std::nullopt);
  running.erase(running.begin() + 1);
  EXPECT_EQ(run(eight, "specific"),
            (std::pair{std::string{"node-b"}, std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}}));
}

TEST(Decider, EqualRequestsAreOneClass) {
  Ledger l;
  Decider d{l};
  const EquivalenceClass one = d.classOf(testClaim(1));
  EXPECT_EQ(d.classOf(testClaim(1)), one);
  EXPECT_NE(d.classOf(testClaim(2)), one);
  PodRequest other = testClaim(1);
  other.resources.ephemeral = 1;
  EXPECT_NE(d.classOf(other), one);
  EXPECT_EQ(d.request(one), testClaim(1));
}

TEST(Decider, ARetiredClassComesBackUnderAnotherId) {
  Ledger l;
  testNode("a").gpus(2).addTo(l);
  Decider d{l};
  const EquivalenceClass first = d.classOf(testClaim(2));
  EXPECT_TRUE(d.fits(first));
  d.retire(first);
  d.retire(first);
  const EquivalenceClass second = d.classOf(testClaim(2));
  EXPECT_NE(second, first);
  EXPECT_TRUE(d.fits(second));
}

TEST(Decider, NodesMayComeAndGoBetweenDecisions) {
  Ledger l;
  Decider d{l};
  const EquivalenceClass c = d.classOf(testClaim(1));
  EXPECT_FALSE(d.fits(c));
  testNode("b").gpus(1).addTo(l);
  EXPECT_EQ(d.decide(c)->node.text, "b");
  testNode("a").gpus(1).addTo(l);
  EXPECT_EQ(d.decide(c)->node.text, "a");
  l.removeNode(model::NodeName{"a"});
  l.removeStatus(model::NodeName{"a"});
  EXPECT_EQ(d.decide(c)->node.text, "b");
  testNode("c").gpus(1).addTo(l);  // has the index that "a" had
  EXPECT_EQ(d.decide(c)->node.text, "b");
}

TEST(Decider, AnIndexThatChangedItsNodeIsRankedByItsNewName) {
  Ledger l;
  testNode("m").gpus(1).addTo(l);
  testNode("n").gpus(1).addTo(l);
  for (int i = 0; i < 20; ++i) {
    testNode("other-" + std::to_string(i)).addTo(l);
  }  // so that not all are looked at anew
  Decider d{l};
  const EquivalenceClass c = d.classOf(testClaim(1));
  EXPECT_EQ(d.decide(c)->node.text, "m");
  l.removeNode(model::NodeName{"m"});
  l.removeStatus(model::NodeName{"m"});
  testNode("z").gpus(1).addTo(l);  // the same index, the same score
  ASSERT_EQ(l.size(), 22U);
  EXPECT_EQ(d.decide(c)->node.text, "n");
}

TEST(Decider, AHolderThatChangesItsAmountIsNoticed) {
  Ledger l;
  testNode("a").gpus(1).addTo(l);
  const model::NodeName a{"a"};
  const model::Uid p{"p"};
  l.hold(a, 0, p, Source::Lease, {true, 0, 0});
  PodRequest shared = testClaim(1);
  shared.devices->shared = true;
  Decider d{l};
  const EquivalenceClass c = d.classOf(shared);
  EXPECT_TRUE(d.fits(c));
  l.hold(a, 0, p, Source::Lease, {});
  EXPECT_FALSE(d.fits(c));
  l.hold(a, 0, p, Source::BoundPod, {true, 0, 0});
  EXPECT_FALSE(d.fits(c));
  l.release(a, 0, p, Source::Lease);
  EXPECT_FALSE(d.fits(c)) << "that it shares only its annotation says, which its author may have edited";
  l.hold(a, 0, p, Source::Lease, {true, 0, 0});
  EXPECT_TRUE(d.fits(c));
}

TEST(Decider, MoreClassesThanOrdersAreKept) {
  Ledger l;
  for (int i = 0; i < 20; ++i) { testNode("node-" + std::to_string(i)).gpus(8).cpu(1'000 + i).addTo(l); }
  Decider d{l};
  std::vector<EquivalenceClass> classes;
  for (std::size_t i = 0; i < kMaxOrders + 50; ++i) {
    PodRequest r = testClaim(1);
    r.resources.cpu_milli = static_cast<std::int64_t>(990 + i % 30);
    r.resources.memory = static_cast<std::int64_t>(i);
    classes.push_back(d.classOf(r));
  }
  Rng rng{1};
  for (int i = 0; i < 2'000; ++i) {
    const EquivalenceClass c = classes[rng.below(classes.size())];
    EXPECT_EQ(d.decide(c), decideByTheRule(l, d.request(c)));
    const auto node = l.at(static_cast<Ledger::NodeIndex>(rng.below(20))).node.name;
    if (rng.chance(50)) {
      l.hold(node, static_cast<int>(rng.below(8)), model::Uid{"p"}, Source::Lease, {});
    } else {
      l.release(node, static_cast<int>(rng.below(8)), model::Uid{"p"}, Source::Lease);
    }
  }
}

/// Some nodes of one GPU each, all held, and `count` kinds of pods that want one.
struct FullCluster {
  explicit FullCluster(std::size_t count, int nodes = 100) {
    for (int i = 0; i < nodes; ++i) {
      testNode("node-" + std::to_string(i)).gpus(1).addTo(ledger);
      take(i);
    }
    for (std::size_t i = 0; i < count; ++i) {
      PodRequest r = testClaim(1);
      r.resources.cpu_milli = static_cast<std::int64_t>(i);
      classes.push_back(decider.classOf(r));
    }
  }
  static model::NodeName name(int i) { return model::NodeName{"node-" + std::to_string(i)}; }
  void take(int i) { ledger.hold(name(i), 0, model::Uid{"p"}, Source::Lease, {}); }
  void give(int i) { ledger.release(name(i), 0, model::Uid{"p"}, Source::Lease); }

  Ledger ledger;
  Decider decider{ledger};
  std::vector<EquivalenceClass> classes;
};

TEST(Decider, AClassThatFitsNowhereLooksOnlyAtNodesThatChangedHoweverManyThereAre) {
  FullCluster cluster{4 * kMaxOrders};
  for (const EquivalenceClass c : cluster.classes) { EXPECT_FALSE(cluster.decider.decide(c)); }
  const auto ask = [&] {
    for (const EquivalenceClass c : cluster.classes) { EXPECT_FALSE(cluster.decider.fits(c)); }
  };
  EXPECT_EQ(looksOf(cluster.decider, ask), 0U) << "nothing changed";
  cluster.give(5);
  cluster.take(5);
  EXPECT_LE(looksOf(cluster.decider, ask), cluster.classes.size());
  cluster.give(7);
  const auto place = [&] {
    for (const EquivalenceClass c : cluster.classes) {
      EXPECT_EQ(cluster.decider.decide(c)->node, FullCluster::name(7));
    }
  };
  EXPECT_LE(looksOf(cluster.decider, place), cluster.classes.size()) << "one node has room, for everybody";
}

TEST(Decider, OneOrderTooManyForgetsTheOneThatWasUsedLeast) {
  FullCluster cluster{2};
  cluster.give(5);
  Decider one{cluster.ledger, 1};
  const EquivalenceClass first = one.classOf(cluster.decider.request(cluster.classes[0]));
  const EquivalenceClass second = one.classOf(cluster.decider.request(cluster.classes[1]));
  EXPECT_TRUE(one.decide(first));
  EXPECT_TRUE(one.decide(second));
  const std::uint64_t before = one.looks();
  EXPECT_TRUE(one.decide(first));
  EXPECT_GE(one.looks() - before, 100U) << "at all nodes again";
}

TEST(Decider, ARefusalThatIsRememberedCostsLittleToTellAgain) {
  FullCluster cluster{1};
  const EquivalenceClass c = cluster.classes[0];
  EXPECT_FALSE(cluster.decider.decide(c));
  const Rejection first = cluster.decider.rejection(c);
  ASSERT_TRUE(cluster.decider.remembersRejection(c));
  const auto again = [&] { EXPECT_EQ(cluster.decider.rejection(c).text, first.text); };
  EXPECT_LT(looksOf(cluster.decider, again), 10U) << "a pass over 100 numbers";
}

TEST(Decider, ALookMayBeTakenInParts) {
  FullCluster cluster{1};
  const EquivalenceClass c = cluster.classes[0];
  int parts = 1;
  while (cluster.decider.look(c, 30) == Decider::Standing::Unknown) { ++parts; }
  EXPECT_EQ(parts, 4);
  EXPECT_EQ(cluster.decider.looks(), 100U);
  cluster.give(3);
  EXPECT_EQ(cluster.decider.look(c, 1), Decider::Standing::Fits);
}

/// Whoever makes pods can bind them to nodes that there are not.
TEST(Decider, NodesThatOnlyPodsNameMakeNoOrderBeMadeAnew) {
  FullCluster cluster{1, 1'000};
  cluster.give(5);
  const EquivalenceClass c = cluster.classes[0];
  EXPECT_EQ(cluster.decider.decide(c)->node, FullCluster::name(5));
  const auto use = [&](int i) {
    const std::string n = std::to_string(i);
    cluster.ledger.usePod(model::NodeName{"a-" + n}, model::Uid{"p-" + n}, Source::BoundPod, {}, 0);
  };
  const auto ask = [&] {
    for (int i = 0; i < 1'000; ++i) {
      use(i);
      EXPECT_EQ(cluster.decider.decide(c)->node, FullCluster::name(5));
    }
  };
  EXPECT_LE(looksOf(cluster.decider, ask), 1'500U) << "about the nodes that are new";
  testNode("a-500").gpus(1).addTo(cluster.ledger);
  EXPECT_EQ(cluster.decider.decide(c)->node.text, "a-500") << "the one that came is ranked by its name";
  testNode("z").gpus(1).addTo(cluster.ledger);
  EXPECT_EQ(cluster.decider.decide(c)->node.text, "a-500");
  testNode("a-499").gpus(1).addTo(cluster.ledger);
  EXPECT_EQ(cluster.decider.decide(c)->node.text, "a-499");
  cluster.ledger.removeNode(model::NodeName{"a-499"});
  EXPECT_EQ(cluster.decider.decide(c)->node.text, "a-500");
}

TEST(Decider, ARefusalFollowsTheNodesAndForgetsOldDetails) {
  Ledger l;
  testNode("a").gpus(4).addTo(l);
  Decider d{l};
  const EquivalenceClass c = d.classOf(testClaim(8));
  EXPECT_EQ(d.rejection(c).text,
            "0/1 nodes are available: 1 node(s) had too few GPUs: need 8 and the largest has 4.");
  for (int i = 0; i < 3'000; ++i) {
    testNode("b").gpus(8).taint("key", std::to_string(i), "NoSchedule").addTo(l);
    EXPECT_EQ(d.rejection(c), explainRejection(l, d.request(c)));
  }
  EXPECT_EQ(d.rejection(c).kind, "UntoleratedTaint,TooFewGpus");
}

TEST(Decider, AReaderThatFellBehindTheLogLooksAtAllNodes) {
  Ledger l;
  testNode("a").gpus(2).addTo(l);
  testNode("b").gpus(2).addTo(l);
  Decider d{l};
  const EquivalenceClass c = d.classOf(testClaim(2));
  EXPECT_EQ(d.decide(c)->node.text, "a");
  l.hold(model::NodeName{"a"}, 0, model::Uid{"p"}, Source::Lease, {});
  for (int i = 0; i < 10'000; ++i) {
    l.hold(model::NodeName{"b"}, 0, model::Uid{"p"}, Source::Lease, {});
    l.release(model::NodeName{"b"}, 0, model::Uid{"p"}, Source::Lease);
  }
  EXPECT_GT(l.changesBegin(), 0U);
  EXPECT_EQ(d.decide(c)->node.text, "b");
}

TEST(DeciderDeathTest, ARequestForNoDevicesIsABug) {
  Ledger l;
  Decider d{l};
  EXPECT_DEATH((void)d.classOf(testClaim(0)), "a request for 0 devices");
}

// ---- Laws

RC_GTEST_PROP(DeciderProperty, EqualsOneThatStartsAnewAfterAnyChanges, (std::uint64_t seed)) {
  Ledger l;
  TestFacts facts{l, seed};
  Decider d{l};
  std::vector<EquivalenceClass> classes;
  for (int i = 0; i < 6; ++i) { classes.push_back(d.classOf(drawRequest(facts.rng()))); }
  if (facts.rng().chance(70)) { facts.fill(); }
  int placed = 0;
  for (int i = 0; i < 60; ++i) {
    for (std::uint64_t n = facts.rng().below(4); n > 0; --n) { facts.step(); }
    const EquivalenceClass c = classes[facts.rng().below(classes.size())];
    const auto answer = d.decide(c);
    placed += answer ? 1 : 0;
    RC_ASSERT(answer == decideOnce(l, d.request(c)));
    RC_ASSERT(answer == decideByTheRule(l, d.request(c)));
    RC_ASSERT(d.fits(c) == answer.has_value());
    if (!answer && facts.rng().chance(50)) { RC_ASSERT(d.rejection(c) == explainRejection(l, d.request(c))); }
  }
  RC_CLASSIFY(placed > 20, "many placed");
}

/// Facts, quotas and anti-affinity that change, and kinds of pods that go by all of them.
struct RestlessCluster {
  static constexpr int kNodes = 7;
  static constexpr const char* kNs = "ml";

  explicit RestlessCluster(std::uint64_t seed) : facts{ledger, seed} {
    ledger.setModelLabel("zone");
    if (rng.chance(70)) { facts.fill(); }
    drawQuota();
  }
  static model::NodeName name(std::uint64_t i) { return model::NodeName{"node-" + std::to_string(i)}; }
  [[nodiscard]] std::optional<QuotaRoom> room(const std::string& ns) const {
    return quotaRoom(quotas, {"zone", "pool"}, ledger, ns);
  }
  void drawQuota() {
    quotas[kNs].gpus = {{"east", static_cast<std::int64_t>(rng.below(4))}};
    if (rng.chance(50)) { quotas[kNs].gpus["west"] = static_cast<std::int64_t>(rng.below(4)); }
    quotas_changed = true;
  }
  [[nodiscard]] model::AntiAffinityTerm drawTerm() {
    return {rng.chance(50) ? "zone" : "gpu.scheduling/enforcer",
            {},
            {{{rng.chance(50) ? "a" : "b", model::LabelRequirement::Op::Exists, {}}}}};
  }
  PodRequest draw() {
    PodRequest r = drawRequest(rng);
    if (rng.chance(30)) { r.kept_away_by.push_back(model::idOf(drawTerm())); }
    if (r.devices && rng.chance(40)) {
      const std::int64_t milli = gpuMilli(r);
      r.quota = QuotaBound{kNs, milli, termsOf(*room(kNs), milli)};
    }
    return r;
  }
  void step() {
    const model::Uid uid{"own-" + std::to_string(rng.below(4))};
    switch (rng.below(8)) {
      case 0: rules.put(uid, "default", name(rng.below(kNodes)), {drawTerm()}); break;
      case 1: rules.remove(uid); break;
      case 2:
        ledger.usePod(name(rng.below(kNodes)), uid, Source::BoundPod, {}, 0,
                      {kNs, static_cast<std::int64_t>(rng.below(3) * 1000)});
        break;
      case 3: ledger.unusePod(name(rng.below(kNodes)), uid, Source::BoundPod); break;
      case 4: drawQuota(); break;
      default: facts.step();
    }
    for (std::uint64_t i = 0; i < kNodes; ++i) { rules.nodeChanged(name(i)); }
  }

  Ledger ledger;
  AntiAffinity rules{ledger};
  TestFacts facts;
  Rng& rng = facts.rng();
  model::Quotas quotas;
  bool quotas_changed = false;
};

/// With few orders to keep, so that classes lose theirs all the time.
RC_GTEST_PROP(DeciderProperty, EqualsTheRuleWhateverIsForgotten, (std::uint64_t seed)) {
  RestlessCluster cluster{seed};
  Rng& rng = cluster.rng;
  Decider d{cluster.ledger, 1 + static_cast<std::size_t>(rng.below(4))};
  std::vector<EquivalenceClass> classes;
  const auto draw = [&] { return d.classOf(cluster.draw()); };
  for (int i = 0; i < 10; ++i) { classes.push_back(draw()); }
  int placed = 0;
  for (int i = 0; i < 120; ++i) {
    for (std::uint64_t n = rng.below(3); n > 0; --n) { cluster.step(); }
    EquivalenceClass& c = classes[rng.below(classes.size())];
    if (rng.chance(3)) {
      const EquivalenceClass old = std::exchange(c, draw());
      if (std::find(classes.begin(), classes.end(), old) == classes.end()) { d.retire(old); }
    }
    (void)d.followQuotas([&](const std::string& ns) { return cluster.room(ns); },
                         std::exchange(cluster.quotas_changed, false));
    const PodRequest& request = d.request(c);
    if (request.quota) {
      RC_ASSERT(request.quota->terms == termsOf(*cluster.room(request.quota->ns), request.quota->milli));
    }
    const auto rule = decideByTheRule(cluster.ledger, request);
    if (rng.chance(60)) {
      auto standing = d.look(c, rng.below(3));
      while (standing == Decider::Standing::Unknown) { standing = d.look(c, 1); }
      RC_ASSERT((standing == Decider::Standing::Fits) == rule.has_value());
    }
    if (rng.chance(60)) { (void)d.prepare(c, rng.below(4)); }
    if (rng.chance(60)) { RC_ASSERT(d.decide(c) == rule); }
    if (!rule && rng.chance(50)) { RC_ASSERT(d.rejection(c) == explainRejection(cluster.ledger, request)); }
    placed += rule ? 1 : 0;
  }
  RC_CLASSIFY(placed > 20, "many placed");
  RC_CLASSIFY(placed < 100, "many not placed");
}

RC_GTEST_PROP(DeciderProperty, OneAnswerInWhateverOrderTheNodesCame, (std::uint64_t seed)) {
  Ledger l;
  TestFacts facts{l, seed};
  facts.fill();
  for (std::uint64_t i = facts.rng().below(40); i > 0; --i) { facts.step(); }
  const PodRequest request = drawRequest(facts.rng());
  Ledger other;
  facts.retell(other, facts.rng());
  const auto answer = decideOnce(l, request);
  RC_CLASSIFY(answer.has_value(), "placed");
  RC_ASSERT(answer == decideOnce(other, request));
  RC_ASSERT(rejectionText(l, request) == rejectionText(other, request));
}

/// Takes device 1 of node b, and nothing else.
struct OneOfB : DeviceSelection {
  [[nodiscard]] Picked pick(const model::NodeName& node, const std::vector<int>& free,
                            const std::vector<Joinable>& /*joinable*/) const override {
    const bool is_there = node.text == "b" && std::binary_search(free.begin(), free.end(), 1);
    return {is_there ? std::vector{1} : std::vector<int>{}, is_there ? "" : "no", 0, 0, 1'000'000};
  }
  [[nodiscard]] std::int64_t most() const override { return 1; }
};

TEST(DeciderSelecting, FindsTheNodeThatHasWhatTheClaimsSelect) {
  Ledger l;
  for (const char* name : {"a", "b", "c"}) { testNode(name).gpus(4).dra().addTo(l); }
  Decider d{l};
  PodRequest request;
  request.door = &kDraDoor;
  request.devices.emplace().selection = std::make_shared<const OneOfB>();
  const auto id = d.classOf(request);
  const auto before = d.looks();
  EXPECT_EQ(d.decide(id), (Placed{model::NodeName{"b"}, {1}, 1'000'000'000'000'000'000}));
  EXPECT_GT(d.looks() - before, 3 * 1'000'000 / kStepsPerLook) << "what it takes is counted";
  EXPECT_EQ(d.classOf(request), id);
  request.devices->selection = std::make_shared<const OneOfB>();
  EXPECT_NE(d.classOf(request), id) << "another selection may select others";
  l.hold(model::NodeName{"b"}, 1, model::Uid{"other"}, Source::Lease, {});
  EXPECT_EQ(d.decide(id), std::nullopt);
}

/// Says yes to the look, and no after it, as when what is published changed and nobody told the ledger.
struct Fickle : DeviceSelection {
  [[nodiscard]] Picked pick(const model::NodeName& /*node*/, const std::vector<int>& free,
                            const std::vector<Joinable>& /*joinable*/) const override {
    if (++asked > 1) { return {{}, "no", 0, 0, 1}; }
    return {{free.front()}, "", 0, 0, 1};
  }
  [[nodiscard]] std::int64_t most() const override { return 1; }
  mutable int asked = 0;
};

TEST(DeciderSelecting, OneThatChangesItsMindIsNotPlaced) {
  Ledger l;
  testNode("a").gpus(4).dra().addTo(l);
  Decider d{l};
  PodRequest request;
  request.door = &kDraDoor;
  request.devices.emplace().selection = std::make_shared<const Fickle>();
  const auto id = d.classOf(request);
  EXPECT_EQ(d.decide(id), std::nullopt);
  l.publishedAnew(model::NodeName{"a"});
  EXPECT_EQ(d.decide(id), std::nullopt);
}

}  // namespace
}  // namespace gs::sched
