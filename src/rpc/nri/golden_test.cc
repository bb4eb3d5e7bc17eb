// A session with the Go that a runtime is made of: both sides' bytes, as github.com/containerd/nri v0.11.0
// and ttrpc v1.2.7 (those of containerd 2.2.9) wrote them, with a Go plugin that answers what ours answers.
#include <gtest/gtest.h>

#include "base/hex.h"
#include "rpc/nri/fake_runtime_test.h"
#include "rpc/nri/session.h"

namespace gs::rpc::nri {
namespace {

struct GoldenStep {
  const char* name;
  const char* runtime;  // in hex: what it sent
  const char* plugin;   // what the Go plugin sent
};

constexpr GoldenStep kGoldenSteps[] = {
    {"RegisterPlugin", "000000020000000a00000000000000010200",
     "000000020000004d000000430000000101000a1c6e72692e706b672e6170692e7631616c706861312e52756e7469"
     "6d65120e5265676973746572506c7567696e1a130a0d6770752d7363686564756c657212023130"},
    {"Configure",
     "000000010000004e000000440000000101000a1b6e72692e706b672e6170692e7631616c706861312e506c756769"
     "6e1209436f6e6669677572651a1a120a636f6e7461696e6572641a0676322e322e3920882728d00f",
     "000000010000000f000000050000000102001203108f0c"},
    {"Synchronize more",
     "000000010000009c000000920000000301000a1b6e72692e706b672e6170692e7631616c706861312e506c756769"
     "6e120b53796e6368726f6e697a651a660a620a0273311205747261696e1a02753122026d6c2a080a036170701201"
     "7832240a186770752e7363686564756c696e672f616c6c6f636174656412086e6f64652d613a333a0472756e6342"
     "0b1a092f6b756265706f64734807520831302e302e302e311801",
     "000000010000000e0000000400000003020012021001"},
    {"Synchronize",
     "00000001000000df000000d50000000501000a1b6e72692e706b672e6170692e7631616c706861312e506c756769"
     "6e120b53796e6368726f6e697a651aa80112a5010a026331120273311a046d61696e20032a060a016c12016d3206"
     "0a016b1201763a05736c6565703a01314209504154483d2f62696e4203413d314a230a052f70726f63120470726f"
     "631a0470726f6322066e6f7375696422066e6f657865635a22121d0a0c2f6465762f6e76696469613712016318c3"
     "0120072a0308b6033a002a017860e724709582a6efc79e849111a201120a106e76696469612e636f6d2f6770753d"
     "37",
     "000000010000000a00000000000000050200"},
    {"CreateContainer",
     "00000001000001470000013d0000000701000a1b6e72692e706b672e6170692e7631616c706861312e506c756769"
     "6e120f437265617465436f6e7461696e65721a8c020a620a0273311205747261696e1a02753122026d6c2a080a03"
     "61707012017832240a186770752e7363686564756c696e672f616c6c6f636174656412086e6f64652d613a333a04"
     "72756e63420b1a092f6b756265706f64734807520831302e302e302e3112a5010a026331120273311a046d61696e"
     "20032a060a016c12016d32060a016b1201763a05736c6565703a01314209504154483d2f62696e4203413d314a23"
     "0a052f70726f63120470726f631a0470726f6322066e6f7375696422066e6f657865635a22121d0a0c2f6465762f"
     "6e76696469613712016318c30120072a0308b6033a002a017860e724709582a6efc79e849111a201120a106e7669"
     "6469612e636f6d2f6770753d37",
     "00000001000000d1000000c700000007020012c4010ac10112080a036770751201331a070a052d2f6f6c641a290a"
     "0c2f7573722f6c69622f677075120462696e641a082f6f70742f67707522057262696e642202726f22190a144355"
     "44415f56495349424c455f444556494345531201302a201a1e0a092f62696e2f686f6f6b1204686f6f6b12022d6c"
     "1a03413d622202080532300a0f0a0d2d2f6465762f6e7669646961370a1d0a0c2f6465762f6e7669646961331201"
     "6318c30120032a0308b603320042120a106e76696469612e636f6d2f6770753d33"},
    {"CreateContainer refused",
     "00000001000000460000003c0000000901000a1b6e72692e706b672e6170692e7631616c706861312e506c756769"
     "6e120f437265617465436f6e7461696e65721a0c0a040a02733112040a026332",
     "000000010000003a000000300000000902000a2e0802122a706f64206d6c2f747261696e3a204750552033206973"
     "2068656c6420627920616e6f7468657220706f64"},
    {"StateChange RemoveContainer",
     "00000001000000440000003a0000000b01000a1b6e72692e706b672e6170692e7631616c706861312e506c756769"
     "6e120b53746174654368616e67651a0e080b12040a0273311a040a026331",
     "000000010000000a000000000000000b0200"},
    {"StopContainer",
     "00000001000000440000003a0000000d01000a1b6e72692e706b672e6170692e7631616c706861312e506c756769"
     "6e120d53746f70436f6e7461696e65721a0c0a040a02733112040a026331",
     "000000010000000a000000000000000d0200"},
};

Result<Adjustment> goldenAdjustment(const Container& container) {
  if (container.id == "c2") { return fail(Code::Conflict, "pod ml/train: GPU 3 is held by another pod"); }
  Adjustment out;
  out.annotations = {{"gpu", "3"}};
  out.remove_mounts = {"/old"};
  out.mounts = {{"/usr/lib/gpu", "bind", "/opt/gpu", {"rbind", "ro"}}};
  out.env = {{"CUDA_VISIBLE_DEVICES", "0"}};
  out.hooks.create_container = {{"/bin/hook", {"hook", "-l"}, {"A=b"}, 5}};
  out.remove_devices = {"/dev/nvidia7"};
  out.devices = {{"/dev/nvidia3", "c", 195, 3, 0666, 0, std::nullopt}};
  out.cdi_devices = {"nvidia.com/gpu=3"};
  return out;
}

TEST(NriGolden, OurBytesAreThoseOfGo) {
  RecordingPlugin plugin;
  plugin.create = goldenAdjustment;
  Session session{{.plugin_name = "gpu-scheduler", .plugin_idx = "10"}, plugin};
  std::string sent = session.takeOutput();
  for (const GoldenStep& step : kGoldenSteps) {
    const auto came = decodeHex(step.runtime);
    ASSERT_TRUE(came) << step.name;
    const Status done = session.received(*came);
    ASSERT_TRUE(done) << step.name << ": " << done.error().message;
    sent += session.takeOutput();
    EXPECT_EQ(encodeHex(sent), step.plugin) << step.name;
    sent.clear();
  }
  EXPECT_EQ(plugin.told, (std::vector<std::string>{"configured containerdv2.2.9", "synchronized", " pod s1",
                                                   " container c1", "create s1/c1", "create s1/c2",
                                                   "removed s1/c1", "stopped s1/c1"}));
  EXPECT_EQ(plugin.all.pods,
            (std::vector<PodSandbox>{
                {"s1", "train", "u1", "ml", {{"app", "x"}}, {{"gpu.scheduling/allocated", "node-a:3"}}}}));
  ASSERT_EQ(plugin.all.containers.size(), 1U);
  const Container& container = plugin.all.containers[0];
  EXPECT_EQ(container.name, "main");
  EXPECT_EQ(container.state, ContainerState::Running);
  EXPECT_EQ(container.env, (std::vector<std::string>{"PATH=/bin", "A=1"}));
  EXPECT_EQ(container.mounts, (std::vector<Mount>{{"/proc", "proc", "proc", {"nosuid", "noexec"}}}));
  EXPECT_EQ(container.devices,
            (std::vector<LinuxDevice>{{"/dev/nvidia7", "c", 195, 7, 0666, std::nullopt, 0}}));
  EXPECT_EQ(container.cdi_devices, (std::vector<std::string>{"nvidia.com/gpu=7"}));
  EXPECT_EQ(container.pid, 4711U);
}

}  // namespace
}  // namespace gs::rpc::nri
