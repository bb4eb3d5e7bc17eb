#include "k8s/metric_sink.h"

#include <gtest/gtest.h>

namespace gs::k8s {
namespace {

using kapi::MetricOp;

const std::vector<MetricSpec> kTable = {
    {"pods_total", MetricKind::Counter, "Pods.", {}},
    {"devices", MetricKind::Gauge, "Devices.", {}},
    {"wait_seconds", MetricKind::Histogram, "Waiting.", {1, 2}},
};

bool has(const Metrics& metrics, const std::string& line) {
  return ("\n" + metrics.text()).find("\n" + line + "\n") != std::string::npos;
}

TEST(MetricSink, AppliesEachOperationToItsKind) {
  Metrics metrics;
  MetricSink sink{metrics, kTable};
  sink.apply({MetricOp::Add, "pods_total", {{"result", "bound"}}, 2});
  sink.apply({MetricOp::Add, "pods_total", {{"result", "bound"}}, 1});
  sink.apply({MetricOp::Set, "devices", {{"node", "a"}}, 4});
  sink.apply({MetricOp::Add, "devices", {{"node", "a"}}, -1});
  sink.apply({MetricOp::Observe, "wait_seconds", {}, 1.5});
  EXPECT_TRUE(has(metrics, "pods_total{result=\"bound\"} 3")) << metrics.text();
  EXPECT_TRUE(has(metrics, "devices{node=\"a\"} 3"));
  EXPECT_TRUE(has(metrics, "wait_seconds_bucket{le=\"2\"} 1"));
  EXPECT_TRUE(has(metrics, "# HELP devices Devices."));
}

TEST(MetricSink, RemovedGaugeIsGoneAndMayComeBack) {
  Metrics metrics;
  MetricSink sink{metrics, kTable};
  sink.apply({MetricOp::Set, "devices", {{"node", "a"}}, 4});
  sink.apply({MetricOp::Remove, "devices", {{"node", "a"}}, 0});
  EXPECT_EQ(metrics.text().find("node=\"a\""), std::string::npos);
  sink.apply({MetricOp::Remove, "devices", {{"node", "a"}}, 0});
  sink.apply({MetricOp::Set, "devices", {{"node", "a"}}, 5});
  EXPECT_TRUE(has(metrics, "devices{node=\"a\"} 5"));
}

TEST(MetricSink, IgnoresWhatIsNotInTheTableOrOfAnotherKind) {
  Metrics metrics;
  MetricSink sink{metrics, kTable};
  sink.apply({MetricOp::Add, "unknown", {}, 1});
  sink.apply({MetricOp::Observe, "devices", {}, 1});
  sink.apply({MetricOp::Set, "pods_total", {}, 1});
  sink.apply({MetricOp::Remove, "pods_total", {}, 1});
  EXPECT_EQ(metrics.text().find("unknown"), std::string::npos);
}

}  // namespace
}  // namespace gs::k8s
