#include "sched/placement/victims.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <set>
#include <utility>

#include "base/random.h"
#include "sched/ledger/ledger.h"
#include "sched/ledger/shares.h"
#include "sched/ledger/test_nodes.h"
#include "sched/placement/fit.h"

namespace gs::sched {
namespace {

const model::NodeName kVictimsNode{"a"};
using When = Room::When;

Room roomFor(const NodeWithout& node, NodePods pods, const FitsOn& fits) {
  RoomSearch search{node, std::move(pods)};
  for (;;) {
    if (auto room = search.look(fits)) { return *std::move(room); }
  }
}

/// Pods on node a, and what somebody who asks for GPUs there is told.
class VictimsTest : public ::testing::Test {
 protected:
  const model::Pod& add(const std::string& name, std::int32_t priority, const std::vector<int>& ids,
                        int bound_at = 0) {
    model::Pod pod;
    pod.uid = model::Uid{name};
    pod.node = kVictimsNode;
    pod.priority = priority;
    pod.bound_at = Wall{std::chrono::seconds{1'000 + bound_at}};
    l.usePod(kVictimsNode, pod.uid, Source::BoundPod, pod.requests, 0);
    for (const int id : ids) { l.hold(kVictimsNode, id, pod.uid, Source::Lease, {}); }
    return pods.emplace_back(std::move(pod));
  }
  Room room(std::int64_t gpus, const std::vector<std::string>& given = {},
            const std::vector<std::string>& leaving = {}) {
    NodePods of;
    for (const auto& pod : pods) {
      const auto isIn = [&](const auto& names) {
        return std::find(names.begin(), names.end(), pod.uid.text) != names.end();
      };
      if (isIn(given)) {
        of.given.push_back(&pod);
      } else if (isIn(leaving)) {
        of.leaving.push_back(pod.uid);
      } else if (pod.priority < 10) {
        of.lower.push_back(&pod);
      }
    }
    NodeWithout node{*l.find(kVictimsNode)};
    return roomFor(node, std::move(of), [&](const NodeState& state, std::int64_t) {
      return !misfitOn(state, testClaim(gpus), model::Uid{"self"});
    });
  }
  static std::vector<std::string> names(const Room& room) {
    std::vector<std::string> out;
    for (const model::Pod* pod : room.victims) { out.push_back(pod->uid.text); }
    return out;
  }
  using Names = std::vector<std::string>;

  Ledger l;
  std::deque<model::Pod> pods;
};

TEST_F(VictimsTest, TheLowestPriorityGoesThenTheYoungest) {
  testNode("a").gpus(4).addTo(l);
  add("high", 9, {0});
  add("old", 1, {1}, 5);
  add("young", 1, {2}, 7);
  add("lowest", 0, {3}, 1);
  EXPECT_EQ(names(room(1)), Names{"lowest"});
  EXPECT_EQ(names(room(2)), (Names{"young", "lowest"})) << "the most important first";
  EXPECT_EQ(names(room(4)), (Names{"high", "old", "young", "lowest"}));
}

TEST_F(VictimsTest, NobodyOfTheSamePriorityOrAHigherOne) {
  testNode("a").gpus(2).addTo(l);
  add("equal", 10, {0});
  add("low", 9, {1});
  EXPECT_EQ(names(room(1)), Names{"low"});
  EXPECT_EQ(room(2).when, When::Never);
  EXPECT_TRUE(room(2).victims.empty());
}

TEST_F(VictimsTest, OnePodThatFreesEnoughIsBetterThanTwo) {
  testNode("a").gpus(4).addTo(l);
  add("small-1", 2, {0});
  add("small-2", 2, {1}, 1);
  add("large", 1, {2, 3});
  EXPECT_EQ(names(room(2)), Names{"large"});
}

TEST_F(VictimsTest, WhoIsGivenGoesInAnyCaseAndNobodyElseWhereThatIsEnough) {
  testNode("a").gpus(2).addTo(l);
  add("a", 5, {0});
  add("b", 1, {1});
  EXPECT_EQ(room(1, {"a"}).when, When::WithGiven);
  EXPECT_TRUE(room(1, {"a"}).victims.empty());
  EXPECT_EQ(names(room(2, {"a"})), Names{"b"}) << "besides";
}

TEST_F(VictimsTest, WhoLeavesByItselfIsAsGoodAsGone) {
  testNode("a").gpus(2).addTo(l);
  add("leaves", 50, {0});
  add("low", 1, {1});
  EXPECT_EQ(room(1, {}, {"leaves"}).when, When::WithLeaving);
  EXPECT_EQ(names(room(2, {}, {"leaves"})), Names{"low"});
}

TEST_F(VictimsTest, WhereItFitsNobodyGoes) {
  testNode("a").gpus(2).addTo(l);
  add("low", 1, {0});
  const Room fits = room(1);
  EXPECT_EQ(fits.when, When::WithGiven);
  EXPECT_TRUE(fits.victims.empty());
}

TEST_F(VictimsTest, OfVeryManyPodsTheLeastImportantMayGo) {
  testNode("a").gpus(400).pods(1'000).addTo(l);
  for (int i = 0; i < 400; ++i) { add("p" + std::to_string(1'000 + i), i % 9, {i}, i); }
  EXPECT_EQ(room(1).victims.size(), 1U);
  EXPECT_LT(room(1).looks, 20U) << "by halves";
}

TEST_F(VictimsTest, TheQuotaThatVictimsGiveBackIsCounted) {
  testNode("a").gpus(4).addTo(l);
  add("mine", 1, {0});
  add("others", 0, {1});
  NodePods of;
  for (const auto& pod : pods) { of.lower.push_back(&pod); }
  of.charges = {{model::Uid{"mine"}, 1'000}};
  NodeWithout node{*l.find(kVictimsNode)};
  const Room found =
      roomFor(node, of, [](const NodeState&, std::int64_t given_back) { return given_back >= 1'000; });
  EXPECT_EQ(names(found), Names{"mine"}) << "GPUs there are enough";
}

// ---- For every node and every pod

struct Drawn {
  explicit Drawn(std::uint64_t seed) : rng{seed} {
    shares = rng.chance(50);
    const int gpus = static_cast<int>(1 + rng.below(rng.chance(5) ? 70 : 8));
    TestNode node = testNode("a").gpus(gpus, "x").pods(1'000);
    if (shares) {
      node.withoutStatus();
      node.node.share_capacity = {100 * gpus, 16 * gpus};
    }
    node.addTo(l);
    std::vector<std::int64_t> left(static_cast<std::size_t>(gpus), 1'000);
    const int wanted = static_cast<int>(rng.below(4 * static_cast<std::uint64_t>(gpus) + 1));
    for (int i = 0; i < wanted; ++i) { addPod(i, left); }
    ask(gpus);
  }
  void addPod(int number, std::vector<std::int64_t>& left) {
    model::Pod pod;
    pod.uid = model::Uid{"p" + std::to_string(number)};
    pod.node = kVictimsNode;
    pod.priority = static_cast<std::int32_t>(rng.below(6));
    pod.bound_at = Wall{std::chrono::seconds{rng.below(4)}};
    for (std::size_t id = 0; id < left.size(); ++id) {
      const std::int64_t milli = shares ? static_cast<std::int64_t>(100 + 100 * rng.below(6)) : 1'000;
      if (left[id] < milli || !rng.chance(30)) { continue; }
      left[id] -= milli;
      l.hold(kVictimsNode, static_cast<int>(id), pod.uid, Source::BoundPod,
             shares ? Amount{true, milli, 256} : Amount{});
      if (shares) { break; }
    }
    l.usePod(kVictimsNode, pod.uid, Source::BoundPod, pod.requests, 0);
    pods.push_back(std::move(pod));
  }
  void ask(int gpus) {
    if (shares) {
      request.door = &kVcudaDoor;
      request.only_certain = false;
      const auto share = static_cast<std::int64_t>(100 + 100 * rng.below(9));
      request.shares = {rng.chance(30) ? ContainerShare{1, 0, 0} : ContainerShare{0, share, 256}};
    } else {
      request = testClaim(static_cast<std::int64_t>(1 + rng.below(static_cast<std::uint64_t>(gpus))));
    }
    for (const auto& pod : pods) {
      const auto luck = rng.below(10);
      if (luck == 0) {
        of.given.push_back(&pod);
      } else if (luck == 1) {
        of.leaving.push_back(pod.uid);
      } else if (pod.priority < 4) {
        of.lower.push_back(&pod);
      }
    }
  }
  [[nodiscard]] bool fitsWithout(const std::set<model::Uid>& gone) const {
    NodeWithout node{*l.find(kVictimsNode)};
    for (const auto& uid : gone) { node.take(uid); }
    return fits(node.state());
  }
  [[nodiscard]] bool fits(const NodeState& state) const {
    if (shares) { return fitShares(state, request).has_value(); }
    EXPECT_EQ(fitsOn(state, request), !misfitOn(state, request));
    return fitsOn(state, request);
  }

  Rng rng;
  bool shares = false;
  Ledger l;
  std::deque<model::Pod> pods;
  PodRequest request;
  NodePods of;
};

TEST(VictimsProperty, ThePodFitsWithoutThemNoneCanStayAndAllAreOfLowerPriority) {
  int named = 0;
  int never = 0;
  for (std::uint64_t seed = 1; seed <= 3'000; ++seed) {
    const Drawn drawn{seed};
    NodeWithout node{*drawn.l.find(kVictimsNode)};
    const Room room =
        roomFor(node, drawn.of, [&](const NodeState& state, std::int64_t) { return drawn.fits(state); });
    std::set<model::Uid> gone;
    for (const auto* pod : drawn.of.given) { gone.insert(pod->uid); }
    ASSERT_EQ(room.when == When::WithGiven, drawn.fitsWithout(gone)) << "seed " << seed;
    gone.insert(drawn.of.leaving.begin(), drawn.of.leaving.end());
    ASSERT_EQ(room.when <= When::WithLeaving && room.when != When::Never, drawn.fitsWithout(gone));
    // One by one, the most important first: what halves must come to as well.
    std::vector<const model::Pod*> lower = drawn.of.lower;
    std::sort(lower.begin(), lower.end(),
              [](const auto* a, const auto* b) { return isMoreImportant(*a, *b); });
    std::set<model::Uid> all = gone;
    for (const auto* pod : lower) { all.insert(pod->uid); }
    ASSERT_EQ(room.when != When::Never, drawn.fitsWithout(all)) << "seed " << seed;
    std::vector<const model::Pod*> expected;
    for (const auto* pod : lower) {
      all.erase(pod->uid);
      if (drawn.fitsWithout(all)) { continue; }
      all.insert(pod->uid);
      expected.push_back(pod);
    }
    if (room.when != When::WithVictims) {
      ASSERT_TRUE(room.victims.empty());
      never += room.when == When::Never ? 1 : 0;
      continue;
    }
    ++named;
    ASSERT_EQ(room.victims, expected) << "seed " << seed;
    for (const auto* pod : room.victims) {
      ASSERT_LT(pod->priority, 4);
      all.erase(pod->uid);
      ASSERT_FALSE(drawn.fitsWithout(all)) << pod->uid.text << " can stay, seed " << seed;
      all.insert(pod->uid);
    }
    ASSERT_LE(room.looks, 3 + 2 * lower.size());
  }
  EXPECT_GT(named, 500);
  EXPECT_GT(never, 200);
}

}  // namespace
}  // namespace gs::sched
