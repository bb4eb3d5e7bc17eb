#include <gtest/gtest.h>

#include "sched/ledger/ledger.h"
#include "sched/ledger/quota.h"
#include "sched/ledger/shares.h"
#include "sched/ledger/test_nodes.h"

namespace gs::sched {
namespace {

const model::Uid kOne{"one"};
const model::Uid kTwo{"two"};
const model::NodeName kNode{"n"};

// ---- GPUs by namespace and model

class GpuUse : public ::testing::Test {
 protected:
  GpuUse() {
    ledger.setModelLabel("model");
    testNode("n").label("model", "M40").addTo(ledger);
  }
  void use(const model::Uid& uid, Source source, std::int64_t milli) {
    ledger.usePod(kNode, uid, source, {}, 0, {"ml", milli});
  }
  Ledger ledger;
};

TEST_F(GpuUse, CountsAPodOnce) {
  use(kOne, Source::Reservation, 500);
  EXPECT_EQ(ledger.gpuUse("ml", "M40"), 500);
  use(kOne, Source::BoundPod, 1000);
  EXPECT_EQ(ledger.gpuUse("ml", "M40"), 1000) << "what the bound pod says counts";
  ledger.unusePod(kNode, kOne, Source::BoundPod);
  EXPECT_EQ(ledger.gpuUse("ml", "M40"), 500);
  ledger.unusePod(kNode, kOne, Source::Reservation);
  EXPECT_EQ(ledger.gpuUse("ml", "M40"), 0);
  EXPECT_TRUE(ledger.gpuUse().empty());
}

TEST_F(GpuUse, FollowsTheModelOfTheNode) {
  use(kOne, Source::BoundPod, 1000);
  testNode("n").label("model", "P40").addTo(ledger);
  EXPECT_EQ(ledger.gpuUse("ml", "M40"), 0);
  EXPECT_EQ(ledger.gpuUse("ml", "P40"), 1000);
  ledger.removeNode(kNode);
  EXPECT_EQ(ledger.gpuUse("ml", ""), 1000) << "nobody knows its model any more";
  testNode("n").label("model", "M40").addTo(ledger);
  EXPECT_EQ(ledger.gpuUse("ml", "M40"), 1000);
}

TEST_F(GpuUse, IsCountedAnewByAnotherLabel) {
  use(kOne, Source::BoundPod, 1000);
  ledger.setModelLabel("other");
  EXPECT_EQ(ledger.gpuUse("ml", "M40"), 0);
  EXPECT_EQ(ledger.gpuUse("ml", ""), 1000);
}

TEST_F(GpuUse, SaysWhatSomePodsUseOfItOnANode) {
  use(kOne, Source::Reservation, 900);
  use(kOne, Source::BoundPod, 1500);
  use(kTwo, Source::Reservation, 300);
  EXPECT_EQ(ledger.gpuUseOf(0, "ml", {kOne}), 1500) << "what is bound counts, and once";
  EXPECT_EQ(ledger.gpuUseOf(0, "ml", {kOne, kTwo, model::Uid{"unknown"}}), 1800);
  EXPECT_EQ(ledger.gpuUseOf(0, "other", {kOne}), 0);
  EXPECT_EQ(ledger.gpuUsesOf(0, "ml"), (std::map<model::Uid, std::int64_t>{{kOne, 1500}, {kTwo, 300}}));
  EXPECT_TRUE(ledger.gpuUsesOf(0, "other").empty());
}

// ---- Quotas: the ancestor's examples

struct QuotaCase {
  const char* ns;
  std::int64_t cores;
  const char* model;  // of the node
  const char* pool;
  bool passes;
};

TEST_F(GpuUse, QuotaLeavesToANamespaceWhatItsLimitsSay) {
  use(kOne, Source::BoundPod, 1500);
  const model::Quotas quotas{{"ml", {{{"M40", 2}}, {}}}, {"wx", {{{"M40", 2}}, {"public"}}}};
  for (const QuotaCase& c : {QuotaCase{"ml", 50, "M40", "", true},
                             {"ml", 60, "M40", "", false},
                             {"ml", 50, "P40", "", false},
                             {"ml", 50, "", "", false},
                             {"unlisted", 800, "P40", "", true},
                             {"wx", 50, "M40", "public", true},
                             {"wx", 50, "M40", "", false},
                             {"wx", 50, "M40", "private", false}}) {
    const auto terms = quotaTerms(quotas, {"model", "pool"}, ledger, c.ns, c.cores * 10);
    model::Node node;
    if (*c.model != 0) { node.labels["model"] = c.model; }
    if (*c.pool != 0) { node.labels["pool"] = c.pool; }
    EXPECT_EQ(!terms || passesQuota(node, *terms), c.passes)
        << c.ns << " " << c.cores << " " << c.model << " " << c.pool;
  }
}

// ---- Pods on their way

TEST(InFlight, EachSourceSaysSoForItself) {
  Ledger l;
  testNode("n").addTo(l);
  const SharePicks picks{{{0, 500, 256}, {0}}};
  l.setInFlight(kNode, kOne, Source::Reservation, picks);
  l.setInFlight(kNode, kOne, Source::BoundPod, picks);
  l.setInFlight(kNode, kTwo, Source::BoundPod, picks);
  EXPECT_EQ(l.find(kNode)->in_flight.size(), 3U);
  l.setInFlight(kNode, kOne, Source::BoundPod, {});
  EXPECT_EQ(l.find(kNode)->in_flight,
            (std::vector<InFlight>{{kOne, Source::Reservation, picks}, {kTwo, Source::BoundPod, picks}}));
}

TEST(InFlight, ANodeThatIsGoneIsRememberedWhilePodsAreOnTheirWayThere) {
  Ledger l;
  l.setInFlight(kNode, kOne, Source::BoundPod, {{{0, 500, 256}, {0}}});
  EXPECT_NE(l.find(kNode), nullptr);
  l.setInFlight(kNode, kOne, Source::BoundPod, {});
  EXPECT_EQ(l.find(kNode), nullptr);
}

TEST(ReserveShares, HoldsDevicesChargesAndFliesUntilItEnds) {
  Ledger l;
  l.setModelLabel("model");
  auto t = testNode("n").label("model", "M40");
  t.node.share_capacity = {200, 8};
  t.withoutStatus().addTo(l);
  {
    const Reservation r =
        l.reserveShares(kNode, kOne, {{{0, 500, 256}, {1}}, {{0, 200, 256}, {1}}}, {"ml", 700});
    EXPECT_EQ(freeShares(*l.find(kNode)), (std::vector<FreeShare>{{0, 1000, 1024}, {1, 300, 512}}));
    EXPECT_EQ(l.find(kNode)->in_flight.size(), 1U);
    EXPECT_EQ(l.gpuUse("ml", "M40"), 700);
  }
  EXPECT_EQ(l.find(kNode)->free_milli, 2000);
  EXPECT_TRUE(l.find(kNode)->in_flight.empty());
  EXPECT_EQ(l.gpuUse("ml", "M40"), 0);
}

}  // namespace
}  // namespace gs::sched
