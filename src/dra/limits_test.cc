#include "dra/limits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/random.h"
#include "model/gpu_limits.h"

namespace gs::dra {
namespace {

using Of = model::GpuLimit::Of;

model::Pod podWith(std::vector<model::GpuLimit> limits) {
  model::Pod pod;
  pod.gpu_limits = std::move(limits);
  return pod;
}

std::vector<model::DeviceName> devices(std::size_t count) {
  std::vector<model::DeviceName> out;
  for (std::size_t i = 0; i < count; ++i) {
    out.push_back({"gpu.nvidia.com", "a", "gpu-" + std::to_string(i)});
  }
  return out;
}

/// "main: gpu-0 gpu-1; side: gpu-2"
std::string given(const model::Pod& pod) {
  const auto requests = limitRequests(pod, knownDrivers().front());
  const auto all = allocation(requests, devices(devicesOf(requests)));
  std::string out;
  for (const auto& r : requests) {
    out += (out.empty() ? "" : "; ") + r.container + ":";
    for (const auto& one : all) {
      if (one.request == r.request) { out += " " + one.device.device; }
    }
  }
  return out;
}

TEST(LimitRequests, EachContainerHasDevicesOfItsOwn) {
  EXPECT_EQ(given(podWith({{"main", 2}, {"side", 1}})), "main: gpu-0 gpu-1; side: gpu-2");
}

TEST(LimitRequests, AnInitContainerHasSomeThatOthersGetAfterIt) {
  EXPECT_EQ(given(podWith({{"first", 1, Of::Init}, {"second", 3, Of::Init}, {"main", 2}})),
            "first: gpu-0; second: gpu-0 gpu-1 gpu-2; main: gpu-0 gpu-1");
}

TEST(LimitRequests, ASidecarKeepsItsOwnWhileLaterOnesStart) {
  EXPECT_EQ(
      given(podWith({{"before", 1, Of::Init}, {"log", 1, Of::Sidecar}, {"after", 1, Of::Init}, {"main", 1}})),
      "before: gpu-0; log: gpu-0; after: gpu-1; main: gpu-1");
}

// A claim may name 32 devices.
TEST(LimitRequests, ContainersThatHaveTheSameDevicesInTurnShareARequest) {
  const model::Pod pod = podWith({{"i", 8, Of::Init}, {"j", 8, Of::Init}, {"k", 8, Of::Init}, {"main", 8}});
  const auto requests = limitRequests(pod, knownDrivers().front());
  ASSERT_EQ(requests.size(), 4U) << "each is mapped";
  for (const auto& r : requests) { EXPECT_EQ(r.request, "limit-0") << r.container; }
  EXPECT_EQ(claimRequests(requests).size(), 1U);
  EXPECT_EQ(allocation(requests, devices(8)).size(), 8U);
  EXPECT_EQ(mappingOf(requests, "gpu-u").mappings.size(), 4U);
  EXPECT_EQ(withoutSharers(requests).size(), 1U);
  const auto parts = limitRequests(
      podWith({{"i", 1, Of::Init}, {"j", 1, Of::Init}, {"log", 2, Of::Sidecar}, {"main", 1}, {"side", 1}}),
      knownDrivers().front());
  std::string names;
  for (const auto& r : parts) { names += r.request + " "; }
  EXPECT_EQ(names, "limit-0 limit-0 limit-1 limit-2 limit-3 ");
}

TEST(LimitRequests, OfAPodWithoutLimitsThereAreNone) {
  EXPECT_TRUE(limitRequests(podWith({}), knownDrivers().front()).empty());
  EXPECT_EQ(devicesOf({}), 0U);
}

TEST(LimitRequests, ClaimAndMappingNameTheSameRequests) {
  const auto requests = limitRequests(podWith({{"z", 2}, {"a", 1}}), knownDrivers().front());
  const auto mapping = mappingOf(requests, "gpu-u");
  EXPECT_EQ(mapping.claim, "gpu-u");
  ASSERT_EQ(mapping.mappings.size(), 2U);
  EXPECT_EQ(mapping.mappings.front(), (model::LimitMapping{"a", "nvidia.com/gpu", "limit-1"})) << "sorted";
  const auto claim = claimRequests(requests);
  ASSERT_EQ(claim.size(), 2U);
  EXPECT_EQ(claim.front().name, "limit-0");
  EXPECT_EQ(claim.front().ways.at(0).device_class, "gpu.nvidia.com");
  EXPECT_EQ(claim.front().ways.at(0).count, 2);
}

/// As component-helpers count a pod's extended resource.
std::int64_t counted(const std::vector<model::GpuLimit>& limits) {
  std::int64_t running = 0;
  std::int64_t sidecars = 0;
  std::int64_t starting = 0;
  for (const auto& limit : limits) {
    if (limit.of == Of::Init) {
      starting = std::max(starting, limit.count + sidecars);
    } else {
      running += limit.count;
      if (limit.of == Of::Sidecar) { sidecars += limit.count; }
    }
  }
  return std::max(running, starting);
}

// What runs at one time shares no device; all together need what the kubelet counts.
TEST(LimitRequests, DrawnPodsNeverShareWhatRunsAtOneTime) {
  Rng rng{11};
  for (int i = 0; i < 2'000; ++i) {
    std::vector<model::GpuLimit> limits;
    for (auto n = rng.below(4); n > 0; --n) {
      limits.push_back({"i" + std::to_string(n), 1 + static_cast<std::int64_t>(rng.below(3)),
                        rng.chance(50) ? Of::Sidecar : Of::Init});
    }
    for (auto n = rng.below(3); n > 0; --n) {
      limits.push_back({"c" + std::to_string(n), 1 + static_cast<std::int64_t>(rng.below(3)), Of::Container});
    }
    const auto requests = limitRequests(podWith(limits), knownDrivers().front());
    ASSERT_EQ(static_cast<std::int64_t>(devicesOf(requests)), counted(limits));
    ASSERT_EQ(allocation(requests, devices(devicesOf(requests))).size(), model::resultsFor(limits));
    std::set<std::size_t> running;
    for (std::size_t at = 0; at < limits.size(); ++at) {
      std::set<std::size_t> own;
      for (std::int64_t d = 0; d < requests[at].count; ++d) {
        own.insert(requests[at].first + static_cast<std::size_t>(d));
      }
      for (const auto device : own) { ASSERT_FALSE(running.contains(device)) << "limit " << at; }
      if (limits[at].of != Of::Init) { running.merge(own); }
    }
  }
}

}  // namespace
}  // namespace gs::dra
