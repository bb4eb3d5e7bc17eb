#include "sched/preemption/search.h"
#include "sched/preemption/kept_residents_test.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>
#include <string>

#include "sched/preemption/test_cluster.h"

namespace gs::sched {
namespace {

// ---- By hand

class PreemptionSearchTest : public ::testing::Test {
 protected:
  model::PodPtr runs(const std::string& name, const std::string& node, std::int32_t priority,
                     const std::vector<int>& ids, int started = 0, model::Labels labels = {}) {
    model::Pod pod;
    pod.uid = model::Uid{name};
    pod.key = {"default", name};
    pod.node = model::NodeName{node};
    pod.priority = priority;
    pod.started = Wall{std::chrono::seconds{1'000 + started}};
    pod.labels = std::move(labels);
    return comes(std::move(pod), ids);
  }
  model::PodPtr comes(model::Pod pod, const std::vector<int>& ids = {}) {
    auto made = std::make_shared<const model::Pod>(std::move(pod));
    residents.put(made);
    l.usePod(made->node, made->uid, Source::BoundPod, made->requests, 0);
    for (const int id : ids) { l.hold(made->node, id, made->uid, Source::Lease, {}); }
    return made;
  }
  void protects(const std::string& app, std::int64_t allowed) {
    model::DisruptionBudget budget;
    budget.key = {"default", "for-" + app};
    budget.pods = model::LabelSelector{{{"app", model::LabelRequirement::Op::In, {app}}}};
    budget.allowed = allowed;
    budgets.put(std::make_shared<const model::DisruptionBudget>(std::move(budget)));
  }
  PreemptionSearch::Question asks(std::int64_t gpus, std::int32_t priority = 100) {
    model::Pod pod;
    pod.uid = model::Uid{"self"};
    pod.key = {"default", "self"};
    pod.priority = priority;
    return {std::make_shared<const model::Pod>(std::move(pod)), testClaim(gpus)};
  }
  std::optional<Candidate> answer(PreemptionSearch::Question q) {
    search.begin(std::move(q));
    for (turns = 1; !search.work(cost_of_turn); ++turns) {}
    return search.best();
  }
  /// "a: low,high" or "-".
  std::string text(const std::optional<Candidate>& candidate) const {
    if (!candidate) { return "-"; }
    std::string out = l.at(candidate->node).node.name.text + ":";
    for (const auto& pod : candidate->victims) { out += " " + pod->uid.text; }
    return out;
  }

  Ledger l;
  KeptResidents residents;
  Budgets budgets;
  Nominations nominations;
  PreemptionSearch search{{l, residents, budgets, nominations}};
  std::uint64_t cost_of_turn = ~std::uint64_t{0} / 2;
  int turns = 0;
};

TEST_F(PreemptionSearchTest, TheNodeWhoseMostImportantVictimIsTheLeastImportant) {
  testNode("a").gpus(2).addTo(l);
  testNode("b").gpus(2).addTo(l);
  runs("a-high", "a", 9, {0, 1});
  runs("b-low", "b", 1, {0});
  runs("b-mid", "b", 5, {1});
  EXPECT_EQ(text(answer(asks(1))), "b: b-low");
  EXPECT_EQ(text(answer(asks(2))), "b: b-mid b-low");
  EXPECT_EQ(text(answer(asks(2, 9))), "b: b-mid b-low");
  EXPECT_EQ(text(answer(asks(2, 5))), "-") << "nobody of its own priority";
  EXPECT_EQ(text(answer(asks(3))), "-");
}

TEST_F(PreemptionSearchTest, ThenTheSumThenTheNumberThenTheStart) {
  testNode("a").gpus(2).addTo(l);
  testNode("b").gpus(2).addTo(l);
  testNode("c").gpus(2).addTo(l);
  runs("a-1", "a", 5, {0}, 1);
  runs("a-2", "a", 5, {1}, 2);
  runs("b-1", "b", 5, {0, 1}, 3);
  runs("c-1", "c", 5, {0, 1}, 2);
  EXPECT_EQ(text(answer(asks(2))), "b: b-1") << "one, and it started later than that of c";
  EXPECT_EQ(text(answer(asks(1))), "b: b-1");
  residents.remove(model::Uid{"b-1"});
  EXPECT_EQ(text(answer(asks(1))), "a: a-2") << "both started then, and a comes first";
}

TEST_F(PreemptionSearchTest, WhoProtectsNobodyComesBeforeAll) {
  testNode("a").gpus(1).addTo(l);
  testNode("b").gpus(2).addTo(l);
  runs("a-web", "a", 1, {0}, 0, {{"app", "web"}});
  runs("b-1", "b", 50, {0}, 0, {{"app", "db"}});
  runs("b-2", "b", 40, {1}, 0, {{"app", "db"}});
  EXPECT_EQ(text(answer(asks(1))), "a: a-web");
  protects("web", 0);
  EXPECT_EQ(text(answer(asks(1))), "b: b-2");
  protects("db", 1);
  EXPECT_EQ(text(answer(asks(1))), "b: b-1") << "the budget is counted from the most important on";
  protects("web", 1);
  EXPECT_EQ(text(answer(asks(1))), "a: a-web");
}

TEST_F(PreemptionSearchTest, WhereSomebodyLeavesByItselfNobodyIsToldToGo) {
  testNode("a").gpus(1).addTo(l);
  testNode("b").gpus(1).addTo(l);
  runs("a-low", "a", 1, {0});
  model::Pod leaves = *runs("b-high", "b", 500, {0});
  leaves.deleting = true;
  comes(leaves, {0});
  EXPECT_EQ(text(answer(asks(1))), "b:");
  auto impatient = asks(1);
  impatient.awaits = false;
  EXPECT_EQ(text(answer(impatient)), "a: a-low");
  residents.remove(leaves.uid);
  l.unusePod(leaves.node, leaves.uid, Source::BoundPod);
  l.hold(leaves.node, 0, leaves.uid, Source::Draining, {});
  EXPECT_EQ(text(answer(asks(1))), "b:") << "its lease stays until the device is free";
  l.release(leaves.node, 0, leaves.uid, Source::Lease);
  EXPECT_EQ(text(answer(asks(1))), "b:") << "its containers may run yet";
}

/// A pod that is being deleted for ever, and GPUs that do not become free: their room is taken.
TEST_F(PreemptionSearchTest, WhoIsKnownNotToEndStays) {
  testNode("a").gpus(1).addTo(l);
  testNode("b").gpus(2).addTo(l);
  testNode("c").gpus(1).addTo(l);
  model::Pod stuck = *runs("stuck", "a", 1, {0});
  stuck.deleting = true;
  comes(stuck, {0});
  l.hold(model::NodeName{"b"}, 0, model::Uid{"zombie"}, Source::Draining, {});
  runs("b-low", "b", 7, {1});
  runs("c-low", "c", 5, {0});
  EXPECT_EQ(text(answer(asks(1))), "a:");
  std::set<model::Uid> known{model::Uid{"stuck"}};
  PreemptionSearch knowing{
      {l, residents, budgets, nominations, {}, [&](const model::Uid& uid) { return known.contains(uid); }}};
  const auto answered = [&](bool awaits) {
    auto q = asks(1);
    q.awaits = awaits;
    knowing.begin(std::move(q));
    while (!knowing.work(100)) {}
    return text(knowing.best());
  };
  EXPECT_EQ(answered(true), "b:");
  known.insert(model::Uid{"zombie"});
  EXPECT_EQ(answered(true), "c: c-low");
  EXPECT_EQ(answered(false), "c: c-low") << "nor is it a victim, which nobody would delete again";
}

TEST_F(PreemptionSearchTest, SaysWhyThereIsNobody) {
  testNode("a").gpus(1).addTo(l);
  testNode("b").gpus(1).addTo(l);
  testNode("c").gpus(1).taint("team", "x", "NoSchedule").addTo(l);
  runs("a-high", "a", 9, {0});
  runs("b-high", "b", 9, {0});
  EXPECT_EQ(text(answer(asks(1, 5))), "-");
  EXPECT_EQ(
      search.whyNobody(),
      "preemption: 0/3 nodes are available: 2 No preemption victims found for incoming pod, 1 Preemption "
      "is not helpful for scheduling.");
}

TEST_F(PreemptionSearchTest, ADeviceOfSeveralIsFreeWhenAllOfThemGo) {
  testNode("a").gpus(1).addTo(l);
  const auto one = runs("one", "a", 1, {});
  const auto two = runs("two", "a", 2, {});
  for (const auto& pod : {one, two}) { l.hold(pod->node, 0, pod->uid, Source::Claim, {true, 0, 0}); }
  EXPECT_EQ(text(answer(asks(1))), "a: two one");
  EXPECT_EQ(text(answer(asks(1, 2))), "-");
}

TEST_F(PreemptionSearchTest, WhoIsNominatedThereAndIsNotLessImportantCountsAsThere) {
  testNode("a").gpus(2).addTo(l);
  runs("low-1", "a", 1, {0}, 1);
  runs("low-2", "a", 1, {1}, 2);
  Nomination other{model::Uid{"other"}, model::NodeName{"a"}, 100, testClaim(1)};
  nominations.put(other);
  EXPECT_EQ(text(answer(asks(1))), "a: low-1 low-2") << "one goes for the other one";
  EXPECT_EQ(text(answer(asks(2))), "-");
  other.priority = 99;
  nominations.put(other);
  EXPECT_EQ(text(answer(asks(1))), "a: low-2");
}

TEST_F(PreemptionSearchTest, APodOnItsWayIsNoVictim) {
  testNode("a").gpus(1).addTo(l);
  auto coming = l.reserve(model::NodeName{"a"}, model::Uid{"coming"}, testClaim(1), {0});
  EXPECT_EQ(text(answer(asks(1))), "-");
}

TEST_F(PreemptionSearchTest, WhatIsWrongWithTheNodeItselfNobodysGoingCures) {
  testNode("a").gpus(1).taint("team", "x", "NoSchedule").addTo(l);
  testNode("b").gpus(1).unschedulable().addTo(l);
  runs("a-low", "a", 1, {0});
  runs("b-low", "b", 1, {0});
  EXPECT_EQ(text(answer(asks(1))), "-");
}

TEST_F(PreemptionSearchTest, TheQuotaThatVictimsGiveBackIsCounted) {
  testNode("a").gpus(2).label("model", "x").addTo(l);
  l.setModelLabel("model");
  model::Pod mine;
  mine.uid = model::Uid{"mine"};
  mine.key = {"default", "mine"};
  mine.node = model::NodeName{"a"};
  auto made = std::make_shared<const model::Pod>(mine);
  residents.put(made);
  l.usePod(mine.node, mine.uid, Source::BoundPod, {}, 0, {"default", 1'000});
  l.hold(mine.node, 0, mine.uid, Source::Lease, {});
  runs("others", "a", -5, {1});
  auto q = asks(1);
  q.milli = 1'000;
  q.quota = QuotaRoom{"model", {{"x", 0}}, "", {}};
  EXPECT_EQ(text(answer(q)), "a: mine") << "its GPU serves, and nobody else's going gives back quota";
  EXPECT_EQ(text(answer(asks(1))), "a: others");
}

TEST_F(PreemptionSearchTest, TheSameInPartsAndOneNodeByItself) {
  for (int n = 0; n < 20; ++n) {
    const std::string name = "n" + std::to_string(10 + n);
    testNode(name).gpus(4).addTo(l);
    for (int i = 0; i < 4; ++i) { runs(name + "-" + std::to_string(i), name, 1 + (n + i) % 3, {i}, n * i); }
  }
  const std::string whole = text(answer(asks(3)));
  EXPECT_EQ(turns, 1);
  cost_of_turn = 1;
  const auto again = answer(asks(3));
  EXPECT_EQ(text(again), whole);
  EXPECT_GT(turns, 5);
  EXPECT_EQ(search.lookAt(asks(3), again->node), again);
}

TEST_F(PreemptionSearchTest, ANodeThatComesMeanwhileIsSeen) {
  testNode("a").gpus(1).addTo(l);
  runs("a-low", "a", 5, {0});
  search.begin(asks(1));
  EXPECT_FALSE(search.work(0));
  testNode("b").gpus(1).addTo(l);
  runs("b-low", "b", 1, {0});
  while (!search.work(1)) {}
  EXPECT_EQ(text(search.best()), "b: b-low");
}

/// All nodes are full of pods that look alike: a look at one of them is enough, and the next pod costs that
/// and what changed.
TEST_F(PreemptionSearchTest, OfManyFullNodesOneIsLookedAt) {
  constexpr int kNodes = 400;
  for (int n = 0; n < kNodes; ++n) {
    const std::string name = "n" + std::to_string(1'000 + n);
    testNode(name).gpus(8).addTo(l);
    for (int i = 0; i < 8; ++i) { runs(name + "-" + std::to_string(i), name, 1, {i}, n); }
  }
  EXPECT_EQ(text(answer(asks(1))), "n1399: n1399-7") << "of the last node any, the last one by uid";
  const std::uint64_t before = search.cost();
  EXPECT_EQ(answer(asks(8))->victims.size(), 8U);
  EXPECT_LT(search.cost() - before, 4'000U) << "no look at every node, which would be 16'000";
}

// ---- Equal to the rules, written down once more

/// Whose going breaks a budget; `pods` are the most important first.
std::set<model::Uid> brokenBy(const std::vector<model::DisruptionBudget>& budgets,
                              const std::vector<model::PodPtr>& pods) {
  std::map<std::string, std::int64_t> gone;
  std::set<model::Uid> out;
  for (const auto& pod : pods) {
    for (const auto& budget : budgets) {
      if (budget.key.ns != pod->key.ns || !budget.pods || pod->labels.empty()) { continue; }
      if (!budget.pods->matches(pod->labels)) { continue; }
      const auto& names = budget.disrupted;
      if (std::find(names.begin(), names.end(), pod->key.name) != names.end()) { continue; }
      if (++gone[budget.key.text()] > budget.allowed) { out.insert(pod->uid); }
    }
  }
  return out;
}

/// Higher priority first, then the longest running; whoever has not started comes last; then by uid.
bool comesFirst(const model::PodPtr& a, const model::PodPtr& b) {
  if (a->priority != b->priority) { return a->priority > b->priority; }
  const bool a_runs = a->started != Wall{};
  const bool b_runs = b->started != Wall{};
  if (a_runs != b_runs) { return a_runs; }
  if (a->started != b->started) { return a->started < b->started; }
  return a->uid < b->uid;
}

struct Expected {
  std::string node;
  std::vector<model::PodPtr> victims;
  std::int64_t broken = 0;
};

/// A ledger that knows one node, without some of its pods, and with those that are nominated there.
class Reference {
 public:
  explicit Reference(const DrawnCluster& cluster) : c_{cluster} {}

  [[nodiscard]] bool fits(const DrawnNode& n, const std::set<model::Uid>& gone) const {
    Ledger ledger;
    n.addTo(ledger, gone);
    const auto& name = n.node.node.name;
    std::vector<const Nomination*> before;
    for (const auto& one : c_.nominated) {
      if (one.node == name && one.priority >= c_.question.pod->priority) { before.push_back(&one); }
    }
    std::stable_sort(before.begin(), before.end(),
                     [](const auto* a, const auto* b) { return a->priority > b->priority; });
    for (const auto* one : before) { nominate(ledger, *one); }
    return !misfitOn(*ledger.find(name), c_.question.request, model::Uid{"self"});
  }

  /// nullopt: nobody's going helps there.
  [[nodiscard]] std::optional<Expected> on(const DrawnNode& n) const {
    const auto& q = c_.question;
    std::set<model::Uid> gone;
    std::vector<model::PodPtr> lower;
    for (const auto& holder : n.holders) {
      const bool leaves = holder.pod == nullptr || (holder.pod->deleting && !holder.coming);
      if (leaves && c_.staying.contains(holder.uid)) { continue; }
      if (leaves && q.awaits) {
        gone.insert(holder.uid);
      } else if (holder.pod != nullptr && !holder.coming && holder.pod->priority < q.pod->priority) {
        lower.push_back(holder.pod);
      }
    }
    Expected out{n.node.node.name.text, {}, 0};
    if (!gone.empty() && fits(n, gone)) { return out; }
    std::sort(lower.begin(), lower.end(), comesFirst);
    std::set<model::Uid> all = gone;
    for (const auto& pod : lower) { all.insert(pod->uid); }
    if (lower.empty() || !fits(n, all)) { return std::nullopt; }
    const auto broken = brokenBy(c_.budgets, lower);
    for (const bool breaks : {true, false}) {
      for (const auto& pod : lower) {
        if (broken.contains(pod->uid) != breaks) { continue; }
        all.erase(pod->uid);
        if (fits(n, all)) { continue; }
        all.insert(pod->uid);
        out.victims.push_back(pod);
        out.broken += breaks ? 1 : 0;
      }
    }
    std::sort(out.victims.begin(), out.victims.end(), comesFirst);
    return out;
  }

  [[nodiscard]] std::optional<Expected> best() const {
    std::vector<Expected> left;
    for (const auto& n : c_.nodes) {
      if (auto found = on(n)) { left.push_back(*std::move(found)); }
    }
    if (std::any_of(left.begin(), left.end(), [](const auto& e) { return e.victims.empty(); })) {
      std::erase_if(left, [](const auto& e) { return !e.victims.empty(); });
      return first(left);
    }
    keepLeast(left, [](const Expected& e) { return static_cast<double>(e.broken); });
    keepLeast(left, [](const Expected& e) { return static_cast<double>(e.victims.front()->priority); });
    keepLeast(left, [](const Expected& e) {
      double sum = 0;
      for (const auto& pod : e.victims) { sum += 2147483648.0 + pod->priority; }
      return sum;
    });
    keepLeast(left, [](const Expected& e) { return static_cast<double>(e.victims.size()); });
    keepLeast(left, [](const Expected& e) {
      const auto& oldest = e.victims.front();  // of the highest priority
      if (oldest->started == Wall{}) { return -1e18; }
      return -static_cast<double>(oldest->started.time_since_epoch().count());
    });
    return first(left);
  }

 private:
  static void nominate(Ledger& ledger, const Nomination& one) {
    const NodeState& n = *ledger.find(one.node);
    const auto& devices = one.request.devices;
    std::optional<Placement> placed;
    if (takesDevices(n, one.request)) { placed = tryPlace(n, *devices, one.uid); }
    const bool by_id = placed && namesDevices(n, one.request);
    const bool by_number = devices && !devices->shared && !by_id;
    ledger.usePod(one.node, one.uid, Source::Reservation, one.request.resources,
                  by_number ? devices->count : 0);
    if (!by_id) { return; }
    for (const int id : placed->ids) {
      ledger.hold(one.node, id, one.uid, Source::Reservation, {devices->shared, 0, 0});
    }
  }
  template <class Value>
  static void keepLeast(std::vector<Expected>& left, const Value& value) {
    double least = 1e300;
    for (const auto& e : left) { least = std::min(least, value(e)); }
    std::erase_if(left, [&](const Expected& e) { return value(e) > least; });
  }
  [[nodiscard]] std::optional<Expected> first(const std::vector<Expected>& left) const {
    std::optional<Expected> out;
    const std::string& before = c_.question.pod->nominated->text;
    for (const auto& e : left) {
      const bool better = !out || e.node == before || (out->node != before && e.node < out->node);
      if (better) { out = e; }
    }
    return out;
  }

  const DrawnCluster& c_;
};

std::string textOf(const std::string& node, const std::vector<model::PodPtr>& victims, std::int64_t broken) {
  std::string out = node + ":";
  for (const auto& pod : victims) { out += " " + pod->uid.text; }
  return out + " (" + std::to_string(broken) + ")";
}

struct Played {
  explicit Played(const DrawnCluster& cluster) : staying{cluster.staying} {
    for (const auto& node : cluster.nodes) {
      node.addTo(ledger);
      for (const auto& holder : node.holders) {
        if (holder.pod != nullptr && !holder.coming) { residents.put(holder.pod); }
      }
    }
    for (const auto& budget : cluster.budgets) {
      budgets.put(std::make_shared<const model::DisruptionBudget>(budget));
    }
    for (const auto& one : cluster.nominated) { nominations.put(one); }
  }
  Ledger ledger;
  KeptResidents residents;
  Budgets budgets;
  Nominations nominations;
  std::set<model::Uid> staying;
  PreemptionSearch search{{ledger, residents, budgets, nominations, {}, [this](const auto& uid) {
                             return staying.contains(uid);
                           }}};
};

TEST(PreemptionSearchProperty, ChoosesWhatTheRulesChooseOnTenThousandClusters) {
  int evicting = 0;
  int waiting = 0;
  int breaking = 0;
  int several = 0;
  for (std::uint64_t seed = 1; seed <= 10'000; ++seed) {
    const DrawnCluster cluster{seed};
    const Reference reference{cluster};
    const auto fits_now = [&](const DrawnNode& n) { return reference.fits(n, {}); };
    if (std::any_of(cluster.nodes.begin(), cluster.nodes.end(), fits_now)) { continue; }
    Played played{cluster};
    played.search.begin(cluster.question);
    while (!played.search.work(1 + seed % 1'000)) {}
    const auto& best = played.search.best();
    const auto expected = reference.best();
    const std::string said =
        best ? textOf(played.ledger.at(best->node).node.name.text, best->victims, best->broken) : "-";
    const std::string rules = expected ? textOf(expected->node, expected->victims, expected->broken) : "-";
    ASSERT_EQ(said, rules) << "seed " << seed;
    if (!best) { continue; }
    ++(best->victims.empty() ? waiting : evicting);
    breaking += best->broken > 0 ? 1 : 0;
    several += best->victims.size() > 1 ? 1 : 0;
  }
  EXPECT_GT(evicting, 500);
  EXPECT_GT(waiting, 50);
  EXPECT_GT(breaking, 20);
  EXPECT_GT(several, 50);
}

/// What the order of looks rests on.
TEST(PreemptionBoundProperty, IsNeverMoreThanTheNodeCosts) {
  int tight = 0;
  int all = 0;
  for (std::uint64_t seed = 20'001; seed <= 22'000; ++seed) {
    const DrawnCluster cluster{seed};
    Played played{cluster};
    const Amounts needs = needsOf(cluster.question.request);
    for (Ledger::NodeIndex i = 0; i < played.ledger.size(); ++i) {
      const auto found = played.search.lookAt(cluster.question, i);
      if (!found || fitsOn(played.ledger.at(i), cluster.question.request, cluster.question.pod->uid)) {
        continue;
      }
      const auto profile = profileOf(played.ledger, i, played.residents.on(played.ledger.at(i).node.name));
      const auto least = leastCost(profile, needs, cluster.question.pod->priority);
      ASSERT_TRUE(least) << "seed " << seed;
      ASSERT_LE(*least, costOf(*found)) << "seed " << seed;
      ++all;
      tight += *least == costOf(*found) ? 1 : 0;
    }
  }
  EXPECT_GT(all, 200);
  EXPECT_GT(tight, all / 5) << "else it saves nothing";
}

}  // namespace
}  // namespace gs::sched
