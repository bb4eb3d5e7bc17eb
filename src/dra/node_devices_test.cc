#include "dra/node_devices.h"

#include <gtest/gtest.h>

#include <memory>

#include "dra/test_slices.h"

namespace gs::dra {
namespace {

const model::NodeName kNode{"a"};

/// A node whose driver publishes these, and what its agent reports.
struct Sources {
  std::vector<model::SliceDevice> published;
  model::Ptr<model::GpuNodeStatus> reported{};
  TaintRules rules{};

  [[nodiscard]] model::Ptr<model::GpuNodeStatus> status() const {
    Pools pools;
    if (!published.empty()) { pools.put(shared(slice("s", published))); }
    return joined(kNode, reported, pools.of(kNode), rules, knownDrivers());
  }
};

model::Device seen(int id, const std::string& uuid, const std::string& pci) {
  model::Device d;
  d.id = id;
  d.uuid = uuid;
  d.pci_bus_id = pci;
  d.health = model::Health::Healthy;
  d.island = "0";
  return d;
}

model::Ptr<model::GpuNodeStatus> reportOf(std::vector<model::Device> devices) {
  auto s = std::make_shared<model::GpuNodeStatus>();
  s->node = kNode;
  s->uid = model::Uid{"status"};
  s->node_uid = model::Uid{"node"};
  s->revision = 7;
  s->observed_time = "t";
  s->enforcement = model::Enforcement::Env;
  s->devices = std::move(devices);
  return s;
}

model::Ptr<model::DeviceTaintRule> rule(const std::string& pool, const std::string& device,
                                        const char* effect) {
  model::DeviceTaintRule r;
  r.key = {"", "maintenance"};
  r.pool = pool;
  r.device = device;
  r.taint = {"fan", "", effect};
  return std::make_shared<const model::DeviceTaintRule>(r);
}

TEST(JoinedStatus, WithoutADriverOfTheTableTheReportStandsAsItIs) {
  const auto report = reportOf({seen(0, "GPU-0", "")});
  EXPECT_EQ((Sources{{}, report}.status()), report);
  EXPECT_EQ(Sources{}.status(), nullptr);
  Pools pools;
  auto nic = slice("s", {gpu(0)});
  nic.driver = "nic.example.com";
  pools.put(shared(nic));
  EXPECT_EQ(joined(kNode, report, pools.of(kNode), {}, knownDrivers()), report);
}

/// Without an agent: ids in PCI order, whatever the names are.
TEST(JoinedStatus, OfTheDriverAloneIdsAreInPciOrder) {
  Sources sources{{gpu(0), gpu(1), gpu(2)}};
  sources.published[0].attributes[pciBusIdAttribute()] = std::string{"0000:FF:00.0"};
  const auto status = sources.status();
  ASSERT_EQ(status->devices.size(), 3U);
  EXPECT_EQ(status->enforcement, model::Enforcement::Dra);
  EXPECT_EQ(status->dra_resource, "nvidia.com/gpu");
  EXPECT_EQ(status->node, kNode);
  EXPECT_EQ(status->devices[0].dra, (model::DeviceName{"gpu.nvidia.com", "a", "gpu-1"}));
  EXPECT_EQ(status->devices[2].dra.device, "gpu-0");
  EXPECT_EQ(status->devices[2].id, 2);
  EXPECT_EQ(status->devices[0].uuid, "GPU-1");
  EXPECT_EQ(status->devices[0].model, "NVIDIA H100");
  EXPECT_EQ(status->devices[0].memory_mib, 80 * 1024);
  EXPECT_EQ(status->devices[0].health, model::Health::Healthy);
}

/// With one, what it says of links, users and ids stays; the driver's name for the device is added.
TEST(JoinedStatus, AGpuIsTheSameByItsUuidElseByItsPciAddress) {
  Sources sources{{gpu(0), gpu(1), gpu(2)}};
  sources.published[1].attributes.erase(knownDrivers().front().uuid);
  sources.reported = reportOf({seen(0, "GPU-2", "0000:77:00.0"), seen(4, "GPU-x", "00000000:11:00.0"),
                               seen(5, "GPU-y", "00000000:10:00.0")});
  const auto status = sources.status();
  ASSERT_EQ(status->devices.size(), 4U);
  EXPECT_EQ(status->devices[0].dra.device, "gpu-2");
  EXPECT_EQ(status->devices[1].dra.device, "gpu-1") << "by its address, for the driver says no UUID";
  EXPECT_EQ(status->devices[1].uuid, "GPU-x");
  EXPECT_EQ(status->devices[1].island, "0");
  EXPECT_EQ(status->devices[2].dra, model::DeviceName{})
      << "gpu-0 at that address is another GPU by its UUID";
  EXPECT_EQ(status->devices[2].health, model::Health::Unhealthy);
  EXPECT_EQ(status->devices[2].health_reason, "gpu.nvidia.com does not publish it");
  EXPECT_EQ(status->devices[3].id, 6);
  EXPECT_EQ(status->devices[3].dra.device, "gpu-0");
  EXPECT_EQ(status->devices[3].health, model::Health::Unknown) << "the agent does not see it";
  EXPECT_EQ(status->revision, 7U);
  EXPECT_EQ(status->uid, model::Uid{"status"});
  EXPECT_EQ(status->node_uid, model::Uid{"node"});
  EXPECT_EQ(status->observed_time, "t");
}

TEST(JoinedStatus, NoGpuIsTwoOfTheAgents) {
  Sources sources{{gpu(0)}};
  sources.reported = reportOf({seen(0, "GPU-0", ""), seen(1, "GPU-0", "")});
  const auto status = sources.status();
  ASSERT_EQ(status->devices.size(), 2U);
  EXPECT_EQ(status->devices[0].dra.device, "gpu-0");
  EXPECT_EQ(status->devices[1].dra, model::DeviceName{});
}

TEST(JoinedStatus, OneWithoutAUuidIsKnownByItsName) {
  Sources sources{{gpu(0)}};
  sources.published[0].attributes.erase(knownDrivers().front().uuid);
  EXPECT_EQ(sources.status()->devices[0].uuid, "gpu.nvidia.com/a/gpu-0");
}

TEST(JoinedStatus, PartsOfGpusAreNotListed) {
  Sources sources{{gpu(0), gpu(1)}};
  sources.published[1].attributes[knownDrivers().front().kind] = std::string{"mig"};
  EXPECT_EQ(sources.status()->devices.size(), 1U);
}

TEST(JoinedStatus, WhatKeepsPodsOffMakesItUnhealthyAndSaysWhy) {
  struct Row {
    std::vector<model::Taint> taints;
    TaintRules rules;
    std::string unsupported;
    std::string why;
  };
  const Row rows[] = {
      {{}, {}, "", ""},
      {{{"xid", "79", "NoSchedule"}}, {}, "", "device taint xid=79:NoSchedule"},
      {{{"xid", "", "NoExecute"}}, {}, "", "device taint xid:NoExecute"},
      {{{"xid", "", "None"}}, {}, "", ""},
      {{},
       {rule("a", "gpu-0", "NoSchedule")},
       "",
       "device taint fan:NoSchedule, by DeviceTaintRule maintenance"},
      {{}, {rule("", "", "NoExecute")}, "", "device taint fan:NoExecute, by DeviceTaintRule maintenance"},
      {{}, {rule("b", "", "NoSchedule")}, "", ""},
      {{}, {rule("a", "gpu-1", "NoSchedule")}, "", ""},
      {{}, {rule("a", "gpu-0", "None")}, "", ""},
      {{}, {}, "it is divided", "it is divided"},
  };
  for (const Row& row : rows) {
    Sources sources{{gpu(0)}, {}, row.rules};
    sources.published[0].taints = row.taints;
    sources.published[0].unsupported = row.unsupported;
    const auto status = sources.status();
    const auto& device = status->devices[0];
    EXPECT_EQ(device.health_reason, row.why);
    EXPECT_EQ(device.health == model::Health::Healthy, row.why.empty()) << row.why;
  }
}

/// Of two healths the worse one counts.
TEST(JoinedStatus, TheAgentsHealthCountsTooWhereItIsWorse) {
  Sources sources{{gpu(0), gpu(1)}};
  auto sick = seen(0, "GPU-0", "");
  sick.health = model::Health::Unhealthy;
  sick.health_reason = "XID 79";
  auto unknown = seen(1, "GPU-1", "");
  unknown.health = model::Health::Unknown;
  unknown.health_reason = "no driver";
  sources.reported = reportOf({sick, unknown});
  for (auto& device : sources.published) { device.taints = {{"k", "", "NoSchedule"}}; }
  const auto status = sources.status();
  EXPECT_EQ(status->devices[0].health_reason, "XID 79") << "of two that are as bad the agent's";
  EXPECT_EQ(status->devices[1].health, model::Health::Unhealthy);
  EXPECT_EQ(status->devices[1].health_reason, "device taint k:NoSchedule");
}

TEST(JoinedStatus, NothingOfAPoolThatIsNotWholeMayBeGiven) {
  Pools pools;
  auto half = slice("s", {gpu(0)});
  half.slices = 2;
  pools.put(shared(half));
  const auto status = joined(kNode, nullptr, pools.of(kNode), {}, knownDrivers());
  ASSERT_EQ(status->devices.size(), 1U);
  EXPECT_EQ(status->devices[0].health, model::Health::Unhealthy);
  EXPECT_EQ(status->devices[0].health_reason, "generation 1 of pool a of gpu.nvidia.com has 1 of 2 slices");
}

/// A driver that is away: the GPUs that it had, by their names, and nothing to give.
TEST(WithoutDriver, ItHasWhatItHadAndGivesNothing) {
  for (const bool with_agent : {false, true}) {
    Sources sources{{gpu(0), gpu(1)}};
    if (with_agent) { sources.reported = reportOf({seen(3, "GPU-1", ""), seen(5, "GPU-9", "")}); }
    const auto last = sources.status();
    const auto status = withoutDriver(kNode, sources.reported, last.get(), {}, knownDrivers());
    EXPECT_EQ(status->enforcement, model::Enforcement::Dra);
    EXPECT_EQ(status->dra_resource, "nvidia.com/gpu");
    ASSERT_EQ(status->devices.size(), last->devices.size());
    for (std::size_t i = 0; i < last->devices.size(); ++i) {
      const model::Device& device = status->devices[i];
      EXPECT_EQ(device.id, last->devices[i].id);
      EXPECT_EQ(device.dra, last->devices[i].dra);
      EXPECT_EQ(device.uuid, last->devices[i].uuid);
      EXPECT_EQ(device.model, last->devices[i].model);
      EXPECT_EQ(device.memory_mib, last->devices[i].memory_mib);
      EXPECT_EQ(device.health, model::Health::Unhealthy);
      EXPECT_EQ(device.health_reason, "gpu.nvidia.com publishes no GPUs of the node now");
    }
  }
}

TEST(WithoutDriver, OfWhatIsNotKnownOnlyTheReportIsThere) {
  const auto report = reportOf({seen(0, "GPU-0", "")});
  const auto status = withoutDriver(kNode, report, nullptr, {}, knownDrivers());
  ASSERT_EQ(status->devices.size(), 1U);
  EXPECT_EQ(status->devices[0].health, model::Health::Unhealthy);
  EXPECT_EQ(status->dra_resource, "nvidia.com/gpu");
  EXPECT_EQ(status->revision, 7U);
  EXPECT_EQ(withoutDriver(kNode, nullptr, nullptr, {}, knownDrivers())->devices.size(), 0U);
}

TEST(WithoutDriver, OfAPoolThatIsNotWholeItSaysWhy) {
  Sources sources{{gpu(0)}};
  Pools pools;
  auto half = slice("s", {});
  half.slices = 2;
  pools.put(shared(half));
  const auto here = pools.of(kNode);
  EXPECT_TRUE(isByDriver(here, knownDrivers()));
  const auto status = withoutDriver(kNode, nullptr, sources.status().get(), here, knownDrivers());
  ASSERT_EQ(status->devices.size(), 1U);
  EXPECT_EQ(status->devices[0].health_reason, whyNotWhole(here, knownDrivers()));
  EXPECT_EQ(status->devices[0].health_reason, "generation 1 of pool a of gpu.nvidia.com has 1 of 2 slices");
}

TEST(PciAddress, IsOneHoweverManyDigitsItsDomainHas) {
  EXPECT_EQ(pciAddress("00000000:3B:00.0"), "0000:3b:00.0");
  EXPECT_EQ(pciAddress("0000:3b:00.0"), "0000:3b:00.0");
  EXPECT_EQ(pciAddress("00010000:3b:00.0"), "10000:3b:00.0");
  EXPECT_EQ(pciAddress("3b:00.0"), "");
  EXPECT_EQ(pciAddress(""), "");
}

}  // namespace
}  // namespace gs::dra
