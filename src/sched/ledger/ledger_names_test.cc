#include <gtest/gtest.h>

#include "model/annotations.h"
#include "sched/ledger/test_nodes.h"

namespace gs::sched {
namespace {

class LedgerNames : public ::testing::Test {
 protected:
  void put(const char* node, const char* label = "") {
    TestNode t = testNode(node);
    if (*label != 0) { t.label(model::kNodeNameLabel, label); }
    ledger.upsertNode(t.node);
  }
  void drop(const char* node) { ledger.removeNode(model::NodeName{node}); }
  /// The node of that name, and no other says that it is meant.
  std::string named(const std::string& name) {
    const auto i = ledger.named(name);
    for (Ledger::NodeIndex n = 0; n < ledger.size(); ++n) {
      EXPECT_EQ(ledger.at(n).answersTo(name), i == n) << name << " " << ledger.at(n).node.name.text;
    }
    return i ? ledger.at(*i).node.name.text : "none";
  }
  /// Whoever asked about them looks again.
  void expectChanged(std::uint64_t since, std::initializer_list<const char*> nodes) {
    for (const char* node : nodes) {
      const NodeState& n = stateOf(ledger, node);
      EXPECT_GT(n.facts_version, since) << node;
      EXPECT_GE(n.version, n.facts_version) << node;
    }
  }
  [[nodiscard]] std::uint64_t latest() const {
    std::uint64_t version = 0;
    for (Ledger::NodeIndex n = 0; n < ledger.size(); ++n) {
      version = std::max(version, ledger.at(n).version);
    }
    return version;
  }

  Ledger ledger;
};

TEST_F(LedgerNames, ANodeIsMeantByItsLabelOrByItsOwnName) {
  EXPECT_EQ(named("a"), "none");
  put("a");
  put("b", "gpu-1");
  EXPECT_EQ(named("a"), "a");
  EXPECT_EQ(named("b"), "b");
  EXPECT_EQ(named("gpu-1"), "b");
  EXPECT_EQ(named("gpu-2"), "none");
}

TEST_F(LedgerNames, ALabelGoesBeforeAnotherNodesOwnName) {
  put("a");
  put("b");
  std::uint64_t before = latest();
  put("b", "a");
  EXPECT_EQ(named("a"), "b");
  expectChanged(before, {"a", "b"});
  before = latest();
  put("b", "other");
  EXPECT_EQ(named("a"), "a");
  expectChanged(before, {"a", "b"});
  put("b", "a");
  drop("b");
  EXPECT_EQ(named("a"), "a");
  put("b", "a");
  drop("a");
  put("a");
  EXPECT_EQ(named("a"), "b") << "whichever came first";
}

TEST_F(LedgerNames, OfTwoWithOneLabelTheFirstByNameIsMeant) {
  put("c", "gpu-1");
  put("b", "gpu-1");
  EXPECT_EQ(named("gpu-1"), "b");
  std::uint64_t before = latest();
  put("a", "gpu-1");
  EXPECT_EQ(named("gpu-1"), "a");
  expectChanged(before, {"a", "b"});
  before = latest();
  drop("a");
  EXPECT_EQ(named("gpu-1"), "b");
  expectChanged(before, {"b"});
  before = latest();
  put("b");
  EXPECT_EQ(named("gpu-1"), "c");
  expectChanged(before, {"b", "c"});
  put("c");
  EXPECT_EQ(named("gpu-1"), "none");
}

TEST_F(LedgerNames, ANodeMayHaveAnothersNameAndItsOwn) {
  put("a", "b");
  put("b", "a");
  EXPECT_EQ(named("a"), "b");
  EXPECT_EQ(named("b"), "a");
  put("c", "c");
  EXPECT_EQ(named("c"), "c");
  put("c");
  EXPECT_EQ(named("c"), "c");
}

TEST_F(LedgerNames, AnEmptyLabelIsNone) {
  TestNode t = testNode("a");
  t.label(model::kNodeNameLabel, "");
  ledger.upsertNode(t.node);
  EXPECT_EQ(named(""), "none");
  EXPECT_EQ(named("a"), "a");
}

TEST_F(LedgerNames, WhatOnlyAPodNamesIsNoNode) {
  ledger.hold(model::NodeName{"ghost"}, 0, model::Uid{"p"}, Source::Lease, {});
  EXPECT_EQ(named("ghost"), "none");
  put("b", "ghost");
  EXPECT_EQ(named("ghost"), "b");
  drop("b");
  EXPECT_EQ(named("ghost"), "none");
  put("ghost", "ghost");
  EXPECT_EQ(named("ghost"), "ghost");
  drop("ghost");
  EXPECT_EQ(named("ghost"), "none") << "its label went with it, and its holdings stay";
}

}  // namespace
}  // namespace gs::sched
