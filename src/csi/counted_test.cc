#include "csi/kubelet/counted.h"

#include <gtest/gtest.h>

#include "cacherim/registry/registry_fixture_test.h"
#include "csi/node_fixture_test.h"

namespace gs::csi {
namespace {

constexpr Counted::Names kTestNames{.calls_metric = "test_calls_total",
                                    .seconds_metric = "test_call_seconds",
                                    .registered_metric = "test_registered"};

TEST(Counted, CallsAreCountedByWhatCameOfThem) {
  NodeMachine machine;
  Metrics metrics;
  const ManualClock clock;
  Counted counted{machine.service(), kTestNames, metrics, clock};
  EXPECT_NE(metrics.text().find("test_registered 0"), std::string::npos) << "nobody has said so yet";
  const auto request = machine.request("u1", "kernels");
  EXPECT_FALSE(counted.publish(request));
  machine.extract(kVectors, "i1");
  EXPECT_TRUE(counted.publish(request));
  EXPECT_TRUE(counted.stats({.volume_id = request.volume_id, .volume_path = request.target_path}));
  counted.registered(true, "");
  EXPECT_TRUE(counted.isRegistered());
  const std::string text = metrics.text();
  for (const char* line : {R"(test_calls_total{call="publish",result="not_found"} 1)",
                           R"(test_calls_total{call="publish",result="ok"} 1)",
                           R"(test_call_seconds_count{call="stats"} 1)", "test_registered 1"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << " in\n" << text;
  }
  EXPECT_TRUE(counted.unpublish(NodeMachine::unpublishOf(request)));
  counted.registered(false, "no");
  EXPECT_FALSE(counted.isRegistered());
  EXPECT_NE(metrics.text().find("test_registered 0"), std::string::npos);
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
  Counted counted{service, kTestNames, metrics, clock};
  counted.stopping();
  EXPECT_FALSE(pause.wait(Duration::zero()));
}

}  // namespace
}  // namespace gs::csi
