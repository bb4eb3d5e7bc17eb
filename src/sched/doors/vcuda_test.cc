// What a pod of shares holds and counts; which of them are refused is a table over their JSON
// (extender/protocol/odd_shares_test.cc).
#include "sched/doors/vcuda.h"

#include <gtest/gtest.h>

#include "testing/builders.h"

namespace gs::sched {
namespace {

using Limits = std::vector<model::ShareAmounts>;
using Init = std::vector<model::InitShares>;

model::Pod podOf(Limits limits, Init init) {
  model::Pod pod = testing::PodBuilder("p").value();
  pod.share_limits = std::move(limits);
  pod.init_share_limits = std::move(init);
  return pod;
}

/// As kube-scheduler counts a pod: who runs at once counts together.
TEST(VcudaMilli, CountsWhatRunsAtOnce) {
  constexpr bool kSidecar = true;
  EXPECT_EQ(vcudaMilli(podOf({{60, 10}, {30, 5}}, {})), 900);
  EXPECT_EQ(vcudaMilli(podOf({{60, 10}}, {{{60, 10}, kSidecar}})), 1'200) << "both run";
  EXPECT_EQ(vcudaMilli(podOf({{60, 10}}, {{{50, 10}, false}})), 600) << "one after the other";
  EXPECT_EQ(vcudaMilli(podOf({{60, 10}}, {{{90, 10}, false}})), 900);
  EXPECT_EQ(vcudaMilli(podOf({{10, 1}}, {{{50, 1}, kSidecar}, {{70, 1}, false}})), 1'200)
      << "an init container runs beside the sidecars before it";
  EXPECT_EQ(vcudaMilli(podOf({{10, 1}}, {{{70, 1}, false}, {{50, 1}, kSidecar}})), 700);
  EXPECT_EQ(vcudaMilli(podOf({{-50, 1}}, {{{-7, 1}, kSidecar}})), 0);
  EXPECT_EQ(vcudaMilli(podOf(Limits(3, {INT64_MAX, 1}), Init(3, {{INT64_MAX, 1}, kSidecar}))),
            (std::int64_t{1} << 40) * 10)
      << "absurd sums do not wrap";
}

/// A sidecar's device nobody knows: nothing is certain beside it before the kubelet has taken its pod.
TEST(VcudaHoldings, ASidecarIsAShareOfWhichNobodySaysWhere) {
  model::Pod pod = podOf({{60, 10}}, {{{50, 4}, true}, {{30, 2}, false}});
  pod.node = model::NodeName{"n"};
  pod.annotations = {{"tencent.com/predicate-gpu-idx-0", "1"}};
  const Holdings holdings = holdingsOf(pod);
  ASSERT_EQ(holdings.shares.size(), 2U);
  EXPECT_EQ(holdings.shares[0], (SharePick{{0, 600, 2'560}, {1}}));
  EXPECT_EQ(holdings.shares[1], (SharePick{{0, 500, 1'024}, {}}));
  EXPECT_EQ(holdings.milli, 1'100);
  EXPECT_TRUE(holdings.on_the_way);
}

}  // namespace
}  // namespace gs::sched
