// Whatever hardware there is: the API server, with the chart's CRD, takes what the agent writes of it, and a
// scheduler reads the same. What is refused would hide all GPUs of the node.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "agent/agent.h"
#include "kapi/decode.h"
#include "kapi/kinds.h"
#include "sandbox/world/world.h"

namespace gs::test {
namespace {

agent::Gpu anyGpu() {
  agent::Gpu out;
  const int n = *rc::gen::inRange(0, 1000);
  out.uuid = n % 7 == 0 ? "" : "GPU-" + std::to_string(n);
  out.model = n % 5 == 0 ? "" : "NVIDIA \"L40S\" \xC3\xA9";
  out.memory_mib = *rc::gen::arbitrary<std::int64_t>();
  out.pci_bus_id = n % 3 == 0 ? "" : "00000000:" + std::to_string(n) + ":00.0";
  out.numa_node = *rc::gen::inRange(-3, 8);
  out.health = *rc::gen::element(model::Health::Healthy, model::Health::Unhealthy, model::Health::Unknown);
  out.reason = n % 2 == 0 ? "" : "why\nand how";
  out.partitions.resize(static_cast<std::size_t>(*rc::gen::inRange(0, 100) / 20 * 20));
  for (auto& partition : out.partitions) { partition.milli = *rc::gen::inRange(-5, 2000); }
  for (auto& partition : out.partitions) { partition.memory_mib = n - 100; }
  return out;
}

agent::Hardware anyHardware() {
  agent::Hardware out;
  out.driver_version = *rc::gen::element<std::string>("", "550");
  const auto count = *rc::gen::inRange<std::size_t>(0, 12);
  for (std::size_t i = 0; i < count; ++i) { out.gpus.push_back(anyGpu()); }
  const auto links = *rc::gen::inRange(0, 40);
  for (int i = 0; i < links; ++i) {
    out.links.push_back({*rc::gen::inRange<std::size_t>(0, 13), *rc::gen::inRange<std::size_t>(0, 13),
                         *rc::gen::element(agent::LinkType::NvLink, agent::LinkType::Pcie),
                         *rc::gen::arbitrary<std::int64_t>()});
  }
  return out;
}

TEST(AgentStatus, IsTakenAndReadAsItIsWhateverTheHardware) {
  const model::NodeName node{"n"};
  sandbox::World world{{.nodes = {}}};
  world.create(
      json::Object{{"apiVersion", "v1"}, {"kind", "Node"}, {"metadata", json::Object{{"name", "n"}}}});
  const model::Uid owner{world.get("/api/v1/nodes/n")["metadata"]["uid"].str()};
  world.run(std::chrono::seconds{1});  // until the kind is served
  const auto apply = [&](const std::string& what, json::Value body) {
    const auto answer = world.request(
        "PATCH", "/apis/gpu.scheduling/v1/gpunodestatuses/n" + what + "?fieldManager=agent&force=true",
        std::move(body), "application/apply-patch+yaml");
    if (answer.code >= 300) { RC_FAIL(json::print(answer.body)); }
  };
  EXPECT_TRUE(rc::check([&] {
    agent::NodeView view;
    const agent::Hardware hardware = anyHardware();
    view.devices = agent::devicesOf(hardware);
    view.driver_version = hardware.driver_version;
    view.enforcement = *rc::gen::element(model::Enforcement::Off, model::Enforcement::Env);
    view.conditions = {{agent::kDriverCondition, *rc::gen::arbitrary<bool>(), "Reason", "message", Wall{}}};
    for (auto& device : view.devices) {
      const int users = *rc::gen::element(0, 1, 3, 300);
      for (int i = 0; i < users; ++i) { device.in_use_by.emplace_back(std::to_string(1000 + i)); }
    }
    apply("", agent::specBody(node, owner));
    apply("/status", agent::statusBody(node, view, "2025-06-15T15:06:40.000000Z"));
    const auto read = kapi::decodeGpuNodeStatus(world.get("/apis/gpu.scheduling/v1/gpunodestatuses/n"));
    RC_ASSERT(read.devices.size() == view.devices.size());
    RC_ASSERT(read.enforcement == view.enforcement);
    for (std::size_t i = 0; i < read.devices.size(); ++i) {
      const model::Device& got = read.devices[i];
      const agent::Device& meant = view.devices[i];
      RC_ASSERT(got.id == meant.id);
      RC_ASSERT(got.uuid == meant.gpu.uuid);
      RC_ASSERT(got.island == meant.island);
      RC_ASSERT(got.links.size() == meant.links.size());
      RC_ASSERT(got.partitioned == !meant.gpu.partitions.empty());
      const bool cut = meant.in_use_by.size() > 256;
      RC_ASSERT(got.health == (cut ? model::Health::Unhealthy : meant.gpu.health) ||
                got.health == model::Health::Unhealthy);  // a node with very many users
      RC_ASSERT(got.in_use_by.size() <= meant.in_use_by.size());
    }
  }));
}

}  // namespace
}  // namespace gs::test
