#include "csi/counted.h"

#include <gtest/gtest.h>

#include "cacherim/registry/registry_fixture_test.h"
#include "csi/node_fixture_test.h"

namespace gs::csi {
namespace {

TEST(Counted, CallsAreCountedByWhatCameOfThem) {
  NodeMachine machine;
  Metrics metrics;
  const ManualClock clock;
  Counted counted{machine.service(), metrics, clock};
  const auto request = machine.request("u1", "kernels");
  EXPECT_FALSE(counted.publish(request));
  machine.extract(kVectors, "i1");
  EXPECT_TRUE(counted.publish(request));
  EXPECT_TRUE(counted.stats({.volume_id = request.volume_id, .volume_path = request.target_path}));
  counted.registered(true, "");
  EXPECT_TRUE(counted.isRegistered());
  const std::string text = counted.metricsText();
  for (const char* line :
       {R"(gkm_csi_calls_total{call="publish",result="not_found"} 1)",
        R"(gkm_csi_calls_total{call="publish",result="ok"} 1)",
        R"(gkm_csi_call_seconds_count{call="stats"} 1)", "gkm_csi_volumes 1", "gkm_csi_registered 1"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << " in\n" << text;
  }
  EXPECT_TRUE(counted.unpublish(NodeMachine::unpublishOf(request)));
  counted.registered(false, "no");
  EXPECT_NE(counted.metricsText().find("gkm_csi_registered 0"), std::string::npos);
  EXPECT_NE(counted.metricsText().find("gkm_csi_volumes 0"), std::string::npos);
}

TEST(Counted, ADriverThatIsToEndSaysSoToItsService) {
  NodeMachine machine;
  Metrics metrics;
  ManualClock clock;
  cacherim::NoPause pause{clock};
  NodeService service{{.store = machine.store(), .usage = machine.usage(), .target_root = FakeMounts::kRoot},
                      *cacherim::Usage::open(machine.usage(), cacherim::Disk{{}, false}),
                      machine.mounts,
                      &pause};
  Counted counted{service, metrics, clock};
  counted.stopping();
  EXPECT_FALSE(pause.wait(Duration::zero()));
}

}  // namespace
}  // namespace gs::csi
