#include "engine/uuids.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <optional>

#include "engine/engine_hand_test.h"
#include "sched/ledger/test_nodes.h"
#include "sched/placement/fit.h"

namespace gs::engine {
namespace {

class UuidsTest : public EngineTest {
 protected:
  void lists(const char* node, const std::vector<std::string>& uuids) {
    auto status = testing::makeStatus(node, static_cast<int>(uuids.size()));
    status.revision = ++revision;
    for (std::size_t i = 0; i < uuids.size(); ++i) { status.devices[i].uuid = uuids[i]; }
    statusComes(status);
  }
  void goes(kapi::Kind kind, const char* name) { engine.apply({kind, {"", name}, {}, {}, ++revision}, now); }
  [[nodiscard]] bool givable(const char* node, int id) const {
    return engine.ledger().find(model::NodeName{node})->device(id)->givable();
  }
  model::Revision revision = 10;
};

TEST_F(UuidsTest, OneThatStandsTwiceInANodeIsNotGiven) {
  lists("node-a", {"X", "Y", "X", ""});
  EXPECT_FALSE(givable("node-a", 0));
  EXPECT_TRUE(givable("node-a", 1));
  EXPECT_FALSE(givable("node-a", 2));
  EXPECT_TRUE(givable("node-a", 3));
  ASSERT_EQ(engine.uuids().twice().size(), 1U);
  EXPECT_EQ(engine.uuids().takeChanged(), std::set<std::string>{"X"});
  lists("node-a", {"X", "Y", "Z", ""});
  EXPECT_TRUE(givable("node-a", 0));
  EXPECT_TRUE(givable("node-a", 2));
  EXPECT_TRUE(engine.uuids().twice().empty());
  EXPECT_EQ(engine.uuids().takeChanged(), std::set<std::string>{"X"});
}

TEST_F(UuidsTest, OneThatStandsInTwoNodesIsGivenInNeitherUntilOneGoes) {
  nodeComes("node-b");
  lists("node-a", {"X", "Y"});
  lists("node-b", {"Z", "X"});
  EXPECT_FALSE(givable("node-a", 0));
  EXPECT_FALSE(givable("node-b", 1));
  EXPECT_TRUE(givable("node-b", 0));
  goes(kapi::kGpuNodeStatus, "node-b");
  EXPECT_TRUE(givable("node-a", 0));
  lists("node-b", {"X"});
  EXPECT_FALSE(givable("node-a", 0));
  goes(kapi::kNode, "node-a");
  EXPECT_TRUE(givable("node-b", 0)) << "a node that went has no GPUs";
  nodeComes("node-a");
  EXPECT_FALSE(givable("node-b", 0));
  EXPECT_FALSE(givable("node-a", 0));
}

TEST_F(UuidsTest, WithoutItsNodeAStatusCountsForNothing) {
  lists("node-z", {"X"});
  lists("node-a", {"X"});
  EXPECT_TRUE(givable("node-a", 0));
}

TEST_F(UuidsTest, OfNoneThatIsTwiceAnyIsGiven) {
  lists("node-a", {"X", "X", "X"});
  const auto fit = sched::misfitOn(node(), sched::testClaim(1));
  ASSERT_TRUE(fit);
  EXPECT_EQ(*fit, (sched::Misfit{sched::Reason::GpusTwice, "", 1, 0}));
  const auto named = sched::misfitOn(node(), sched::testMapped("node-a", {0, 2}));
  ASSERT_TRUE(named);
  EXPECT_EQ(*named, (sched::Misfit{sched::Reason::GpusTwice, "GPUs 0 and 2", 0, 0}));
}

/// As if all were looked at anew.
RC_GTEST_PROP(UuidsProperty, AreThoseThatStandTwiceWhateverCameBefore, ()) {
  sched::Ledger ledger;
  Uuids uuids{ledger};
  std::map<std::string, std::optional<model::GpuNodeStatus>> there;
  const auto steps = *rc::gen::container<std::vector<std::pair<int, std::vector<int>>>>(
      rc::gen::pair(rc::gen::inRange(0, 3), rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 7))));
  for (const auto& [which, numbers] : steps) {
    const std::string name(1, static_cast<char>('a' + which));
    auto& known = there[name];
    const model::GpuNodeStatus* before = known ? &*known : nullptr;
    if (numbers.empty()) {
      uuids.changed(model::NodeName{name}, before, nullptr);
      ledger.removeStatus(model::NodeName{name});
      ledger.removeNode(model::NodeName{name});
      known.reset();
      continue;
    }
    auto node = sched::testNode(name).gpus(static_cast<int>(numbers.size()));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      node.status.devices[i].uuid = numbers[i] == 0 ? "" : std::to_string(numbers[i]);
    }
    node.addTo(ledger);
    uuids.changed(model::NodeName{name}, before, &node.status);
    known = node.status;
  }
  std::map<std::string, Uuids::Places> places;
  for (const auto& [name, status] : there) {
    for (const auto& d : status ? status->devices : std::vector<model::Device>{}) {
      if (!d.uuid.empty()) { places[d.uuid].insert({model::NodeName{name}, d.id}); }
    }
  }
  for (const auto& [uuid, at] : places) {
    for (const auto& [node, id] : at) { RC_ASSERT(ledger.find(node)->device(id)->twice == (at.size() > 1)); }
  }
  std::erase_if(places, [](const auto& entry) { return entry.second.size() < 2; });
  RC_ASSERT(uuids.twice() == places);
}

}  // namespace
}  // namespace gs::engine
