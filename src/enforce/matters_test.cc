#include "enforce/matters.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "enforce/fixture_test.h"
#include "enforce/moves.h"

namespace gs::enforce {
namespace {

using Texts = std::vector<std::string>;

TEST(Matters, IsWhatSomebodyLooksAt) {
  for (const char* key :
       {model::kAllocatedKey, model::kReservationKey, kMovedAnnotation, "cdi.k8s.io/nvidia-device-plugin_1",
        "nvidia.cdi.k8s.io/pod", "nvidia.cdi.k8s.io/container.main"}) {
    EXPECT_TRUE(readsAnnotation(key)) << key;
  }
  EXPECT_FALSE(readsAnnotation("example.com/blank"));
  for (const char* name : {"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
                           "HIP_VISIBLE_DEVICES", "CUDA_VERSION", "NVIDIA_REQUIRE_CUDA"}) {
    EXPECT_TRUE(readsVariable(name)) << name;
  }
  EXPECT_FALSE(readsVariable("CUDA_VISIBLE_DEVICESX"));
  EXPECT_TRUE(readsMount("/sys"));
  EXPECT_TRUE(readsMount("/var/run//nvidia-container-devices/GPU-0"));
  EXPECT_FALSE(readsMount("/sys/fs/cgroup"));
  EXPECT_FALSE(readsMount("/var/run/nvidia-container-devices"));
}

/// Of each variable the last value counts.
TEST(Matters, LittleIsKeptOfAContainerHoweverMuchItSays) {
  auto container = fixture::containerOf("c1");
  for (int i = 0; i < 100; ++i) {
    container.env.push_back("CUDA_VISIBLE_DEVICES=" + std::string(100'000, 'x'));
    container.env.push_back("BLANK=" + std::string(100'000, 'x'));
    container.mounts.push_back({"/data" + std::to_string(i), "bind", std::string(4000, 'x'), {"ro"}});
  }
  container.env.emplace_back("NVIDIA_VISIBLE_DEVICES=GPU-0");
  container.env.emplace_back("NVIDIA_VISIBLE_DEVICES=GPU-1");
  container.annotations["blank"] = "x";
  container.annotations[kMovedAnnotation] = "GPU-0>GPU-1";
  container.mounts.push_back({"/var/run/nvidia-container-devices/GPU-0", "bind", "/dev/null", {"rbind"}});
  const rpc::nri::Container kept = whatMatters(container);
  ASSERT_EQ(kept.env.size(), 2U);
  EXPECT_LT(kept.env[0].size(), 70'000U);
  EXPECT_EQ(kept.env[1], "NVIDIA_VISIBLE_DEVICES=GPU-1");
  ASSERT_EQ(kept.mounts.size(), 2U);
  EXPECT_EQ(kept.mounts[0], container.mounts[0]) << "by which a privileged container is told";
  EXPECT_EQ(kept.mounts[1].destination, "/var/run/nvidia-container-devices/GPU-0");
  EXPECT_EQ(kept.annotations.size(), 1U);
  EXPECT_EQ(kept.annotations.at(kMovedAnnotation), "GPU-0>GPU-1");
}

TEST(Matters, LittleIsKeptOfAPod) {
  auto pod = fixture::podOf("p", "node-a:0");
  pod.annotations["blank"] = "x";
  pod.annotations[model::kReservationKey] = std::string(200'000, 'x');
  pod.labels["blank"] = "x";
  const rpc::nri::PodSandbox kept = whatMatters(pod);
  EXPECT_EQ(kept.uid, "p");
  EXPECT_TRUE(kept.labels.empty());
  EXPECT_EQ(kept.annotations.size(), 2U);
  EXPECT_EQ(kept.annotations.at(model::kAllocatedKey), "node-a:0");
  EXPECT_LT(kept.annotations.at(model::kReservationKey).size(), 70'000U);
}

}  // namespace
}  // namespace gs::enforce
