#include "agent/enforced/enforced_metrics.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "agent/enforced/metrics.h"

namespace gs::agent {
namespace {

using enforce::Reason;
using enforce::Remark;
using enforce::Report;
using enforce::Wrong;

/// What a sink would have: values by name and the values of the labels.
class EnforcedMetricsTest : public ::testing::Test {
 protected:
  EnforcedMetricsTest() {
    enforce::NodeDevice device;
    device.id = {0, model::DeviceId::kWhole};
    device.uuid = "GPU-a";
    record_.devices.push_back(device);
  }
  void tell(const Report& report) {
    kapi::Effects out;
    metrics_.tell(report, record_, out);
    for (const auto& effect : out) {
      const auto& metric = std::get<kapi::Metric>(effect);
      std::string key = metric.name;
      for (const auto& [name, value] : metric.labels) { key += " " + value; }
      if (metric.op == kapi::MetricOp::Remove) {
        EXPECT_EQ(values_.erase(key), 1U) << key;
      } else if (metric.op == kapi::MetricOp::Add) {
        values_[key] += metric.value;
      } else {
        values_[key] = metric.value;
      }
    }
  }
  [[nodiscard]] double value(const std::string& key) const {
    const auto it = values_.find(key);
    return it == values_.end() ? 0 : it->second;
  }

  enforce::NodeRecord record_;
  EnforcedMetrics metrics_;
  std::map<std::string, double> values_;
};

TEST_F(EnforcedMetricsTest, CountsAreToldAsWhatCameSince) {
  Report report;
  report.counts.answered = 10;
  report.counts.remarked[static_cast<std::size_t>(Remark::Adjusted)] = 3;
  report.counts.remarked[static_cast<std::size_t>(Remark::Moved)] = 1;
  report.counts.refused[static_cast<std::size_t>(Reason::Refuted)] = 2;
  report.counts.wrong[static_cast<std::size_t>(Wrong::HasAnothers)] = 1;
  tell(report);
  tell(report);
  EXPECT_EQ(value("gpu_agent_containers_total own"), 3);
  EXPECT_EQ(value("gpu_agent_containers_total moved"), 1);
  EXPECT_EQ(value("gpu_agent_containers_total refused_refuted"), 2);
  EXPECT_EQ(value("gpu_agent_containers_total other"), 4);
  EXPECT_EQ(value("gpu_agent_device_mismatch_total has_anothers"), 1);
  report.counts.answered = 12;
  report.counts.refused[static_cast<std::size_t>(Reason::Refuted)] = 3;
  tell(report);
  EXPECT_EQ(value("gpu_agent_containers_total refused_refuted"), 3);
  EXPECT_EQ(value("gpu_agent_containers_total other"), 5);
  report.counts.answered = 13;
  report.counts.remarked[static_cast<std::size_t>(Remark::Moved)] = 3;
  tell(report);
  EXPECT_EQ(value("gpu_agent_containers_total moved"), 3) << "one container had two that were held";
  EXPECT_EQ(value("gpu_agent_containers_total other"), 5);
  Report anew;
  anew.counts.answered = 2;
  tell(anew);
  EXPECT_EQ(value("gpu_agent_containers_total other"), 7) << "it began anew";
}

TEST_F(EnforcedMetricsTest, AHolderIsThereWhileItsContainerIs) {
  Report report;
  const auto container = [](const char* name, int gpu) {
    return enforce::ContainerGpus{{"ns", "p"}, model::Uid{"u"}, name, {{gpu, model::DeviceId::kWhole}}};
  };
  report.containers = {container("main", 0), container("side", 0), container("odd", 9)};
  tell(report);
  EXPECT_EQ(value("gpu_scheduler_holder GPU-a p ns main"), 1);
  EXPECT_EQ(value("gpu_scheduler_holder GPU-a p ns side"), 1);
  EXPECT_EQ(value("gpu_scheduler_holder 9 p ns odd"), 1) << "a GPU whose UUID nobody knows";
  report.containers = {container("side", 0)};
  tell(report);
  EXPECT_EQ(values_.size(), 1U);
  EXPECT_EQ(value("gpu_scheduler_holder GPU-a p ns side"), 1);
  report.containers.clear();
  tell(report);
  EXPECT_TRUE(values_.empty());
}

}  // namespace
}  // namespace gs::agent
