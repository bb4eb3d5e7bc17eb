#include "sched/placement/what_if.h"

#include <gtest/gtest.h>

#include "sched/ledger/ledger.h"
#include "sched/ledger/test_nodes.h"

namespace gs::sched {
namespace {

TEST(WhatIf, WithoutPodsTheirDevicesAreFreeNamedOrCounted) {
  Ledger l;
  testNode("a").gpus(4, "x").addTo(l);
  const model::NodeName a{"a"};
  l.usePod(a, model::Uid{"counts"}, Source::BoundPod, {}, 1);
  l.hold(a, 2, model::Uid{"named"}, Source::Lease, {});
  l.reclaimCounted(a, model::Uid{"ended"}, 1);
  const NodeState& now = *l.find(a);
  EXPECT_EQ(now.free_devices, 1);
  EXPECT_EQ(withoutPods(now, {model::Uid{"counts"}}).free_devices, 2);
  EXPECT_EQ(withoutPods(now, {model::Uid{"named"}}).free_devices, 2);
  EXPECT_EQ(withoutPods(now, {model::Uid{"named"}, model::Uid{"ended"}}).free_devices, 3);
  EXPECT_EQ(now.free_devices, 1);
}

}  // namespace
}  // namespace gs::sched
