#include "scheduler/pending/unschedulable.h"

#include <gtest/gtest.h>

#include "scheduler/parts_test.h"

namespace gs::scheduler {
namespace {

class UnschedulableTest : public ::testing::Test {
 protected:
  UnschedulableTest() {
    t.claim("one", 1);
    t.node("a", 4);
  }
  [[nodiscard]] std::size_t nodesLeftOut(const std::string& pod) const {
    return t.requestOf(*t.known(pod)).not_on.size();
  }

  TestParts t;
  FetchFirst fetch_first{t.c, t.node_caches};
  Unschedulable unschedulable{t.c, t.pending, t.node_caches, fetch_first};
};

/// Also one that was held back when its class was said to fit nowhere, and comes to it later.
TEST_F(UnschedulableTest, WhoJoinsAClassThatFitsNowhereIsTriedAgainWhereItWasTriedInVain) {
  t.pod("p");
  BindingCycle cycle;
  cycle.uid = t.uid("p");
  cycle.node = model::NodeName{"a"};
  t.pending.triedInVain(cycle);
  const auto pod_class = t.c.engine.decider().classOf(t.requestOf(*t.known("p")));
  unschedulable.reject(pod_class);
  t.pass(std::chrono::minutes{1});
  ASSERT_EQ(nodesLeftOut("p"), 1U) << "another may do";
  unschedulable.joined(*t.known("p"), pod_class);
  EXPECT_EQ(nodesLeftOut("p"), 0U);
}

}  // namespace
}  // namespace gs::scheduler
