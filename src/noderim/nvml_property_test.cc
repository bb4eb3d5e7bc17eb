// Drivers that fail at anything, drawn, against test/nvml/: what one GPU or one call does not tell changes
// nothing of the other GPUs, and what is known to be split is never given whole.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <set>

#include "agent/status.h"
#include "base/random.h"
#include "base/temp_folder_test.h"
#include "noderim/nvml.h"

namespace gs::noderim {
namespace {

using model::Health;

/// All that is asked of one GPU, but for what it is called.
constexpr std::array kCallsOfAGpu = {
    "nvmlDeviceGetName",          "nvmlDeviceGetMemoryInfo_v2",
    "nvmlDeviceGetMemoryInfo",    "nvmlDeviceGetMigMode",
    "nvmlDeviceGetNvLinkState",   "nvmlDeviceGetMaxMigDeviceCount",
    "nvmlDeviceGetRemappedRows",  "nvmlDeviceGetMigDeviceHandleByIndex",
    "nvmlDeviceGetNumaNodeId",    "nvmlDeviceGetTotalEccErrors",
    "nvmlDeviceGetAttributes_v2", "nvmlDeviceGetCudaComputeCapability",
};
/// NVML_ERROR_*: forbidden, not supported, timeout, no such function, unknown and one of a later driver.
constexpr std::array kAnswers = {2, 3, 4, 6, 10, 13, 999, 77};

struct Drawn {
  std::string uuid;
  std::string pci;
  bool split = false;
  int partitions = 0;
  std::string trouble{};        // "" or a word of the script
  bool was_read_split = false;  // a look of before read that
};

class Machine {
 public:
  explicit Machine(std::uint64_t seed) : rng_{seed} {
    const auto many = 1 + rng_.below(8);
    for (std::uint64_t i = 0; i < many; ++i) {
      gpus_.push_back({fmt::format("GPU-{}", i), fmt::format("00000000:{:02X}:00.0", i + 1)});
    }
  }

  /// What it is like now. The text is for the driver.
  std::string next() {
    fails_.clear();
    std::string text = "driver 1\n";
    for (Drawn& gpu : gpus_) {
      if (rng_.chance(20)) { gpu.split = !gpu.split; }
      gpu.partitions = static_cast<int>(rng_.below(4));
      gpu.trouble = rng_.chance(25) ? pick(kTroubles) : "";
      text += fmt::format("gpu uuid={} name=X mib=7 pci={}{} {}\n", gpu.uuid, gpu.pci,
                          gpu.split ? " mig=1" : "", gpu.trouble);
      for (int at = 0; gpu.split && at < gpu.partitions; ++at) {
        text += fmt::format("mig at={} uuid=MIG-{}-{} name=A_MIG_1g.10gb mib=1\n", at, gpu.uuid, at);
      }
    }
    for (auto many = rng_.below(3); many > 0; --many) { fails_[pick(kCallsOfAGpu)] = pick(kAnswers); }
    for (const auto& [call, answer] : fails_) { text += fmt::format("fail {} {}\n", call, answer); }
    return text;
  }

  /// "" or what `devices` say that they must not.
  std::string judge(const std::vector<agent::Device>& devices) {
    std::map<std::string, const agent::Device*> by_uuid;
    for (const agent::Device& device : devices) {
      if (!device.gpu.uuid.empty() && !by_uuid.emplace(device.gpu.uuid, &device).second) {
        return device.gpu.uuid + " stands twice";
      }
      const bool is_well = device.gpu.health == Health::Healthy;
      if (is_well != device.gpu.reason.empty()) { return nameOf(device) + ": reason and health differ"; }
    }
    if (devices.size() != gpus_.size()) { return fmt::format("{} GPUs", devices.size()); }
    for (Drawn& gpu : gpus_) {
      const auto listed = by_uuid.find(gpu.uuid);
      if (listed == by_uuid.end()) {
        if (gpu.trouble.empty()) { return gpu.uuid + " is hidden"; }
        continue;
      }
      if (std::string wrong = judge(gpu, *listed->second); !wrong.empty()) { return wrong; }
    }
    return {};
  }

 private:
  static constexpr std::array kTroubles = {"lost=1",     "lost=real", "lost=handle",
                                           "handle=999", "handle=4",  "nopci=999"};

  template <class T, std::size_t N>
  T pick(const std::array<T, N>& from) {
    return from.at(rng_.below(from.size()));
  }

  std::string judge(Drawn& gpu, const agent::Device& device) {
    const bool is_well = device.gpu.health == Health::Healthy;
    const auto mode = fails_.find("nvmlDeviceGetMigMode");
    const bool is_told = gpu.trouble.empty() && mode == fails_.end();
    if (is_told) { gpu.was_read_split = gpu.split; }
    // A driver that never said so may say that the GPU cannot be split.
    const bool cannot = mode != fails_.end() && (mode->second == 3 || mode->second == 13);
    const bool may_be_whole = is_told ? !gpu.split : cannot && !gpu.was_read_split;
    if (is_well && device.gpu.partitions.empty() && !may_be_whole) { return gpu.uuid + " is given whole"; }
    if (!gpu.trouble.empty() || !fails_.empty()) { return {}; }
    const bool should_be_well = !gpu.split || gpu.partitions > 0;
    if (is_well != should_be_well) { return fmt::format("{}: '{}'", gpu.uuid, device.gpu.reason); }
    if (gpu.split && device.gpu.partitions.size() != static_cast<std::size_t>(gpu.partitions)) {
      return fmt::format("{} has {} partitions", gpu.uuid, device.gpu.partitions.size());
    }
    return {};
  }

  Rng rng_;
  std::vector<Drawn> gpus_;
  std::map<std::string, int> fails_;
};

TEST(NvmlProperty, WhatOneGpuDoesNotTellHidesNoOtherAndNoneThatIsSplitIsGivenWhole) {
  const TempFolder folder;
  const std::string path = folder.path("script");
  setenv("GS_FAKE_NVML", path.c_str(), 1);
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Nvml nvml{{.library = GS_NVML_fake, .sysfs = folder.path("sys")}};
    Machine machine{seed};
    for (int look = 0; look < 8; ++look) {
      const std::string script = machine.next();
      std::ofstream{path} << script;
      const agent::Look seen = nvml.look();
      ASSERT_TRUE(seen) << "seed " << seed << ": " << seen.error().text << "\n" << script;
      const std::string wrong = machine.judge(agent::devicesOf(*seen));
      ASSERT_EQ(wrong, "") << "seed " << seed << ", look " << look << "\n" << script;
    }
  }
}

}  // namespace
}  // namespace gs::noderim
