#include "base/metrics.h"

#include <gtest/gtest.h>

namespace gs {
namespace {

TEST(Metrics, TextIsSortedAndComplete) {
  Metrics metrics;
  metrics.gauge("pending_pods", "Pods that wait.", {{"queue", "b"}}).set(2);
  metrics.gauge("pending_pods", "Pods that wait.", {{"queue", "a"}}).set(1.5);
  metrics.counter("attempts_total", "Attempts.", {{"result", "scheduled"}}).add();
  EXPECT_EQ(metrics.text(),
            "# HELP attempts_total Attempts.\n"
            "# TYPE attempts_total counter\n"
            "attempts_total{result=\"scheduled\"} 1\n"
            "# HELP pending_pods Pods that wait.\n"
            "# TYPE pending_pods gauge\n"
            "pending_pods{queue=\"a\"} 1.5\n"
            "pending_pods{queue=\"b\"} 2\n");
}

TEST(Metrics, SameNameAndLabelsIsTheSameMetric) {
  Metrics metrics;
  metrics.counter("c_total", "C.").add(2);
  metrics.counter("c_total", "C.").add(3);
  EXPECT_EQ(metrics.counter("c_total", "C.").value(), 5);
}

TEST(Metrics, HistogramCountsByBucket) {
  Metrics metrics;
  auto seconds = metrics.histogram("seconds", "S.", {0.1, 1});
  seconds.observe(0.05);
  seconds.observe(0.5);
  seconds.observe(7);
  EXPECT_EQ(metrics.text(),
            "# HELP seconds S.\n"
            "# TYPE seconds histogram\n"
            "seconds_count 3\n"
            "seconds_sum 7.55\n"
            "seconds_bucket{le=\"0.1\"} 1\n"
            "seconds_bucket{le=\"1\"} 2\n"
            "seconds_bucket{le=\"+Inf\"} 3\n");
}

TEST(Metrics, LabelValuesAreEscaped) {
  Metrics metrics;
  metrics.gauge("g", "G.", {{"node", "a\"b\nc"}}).set(1);
  EXPECT_NE(metrics.text().find(R"(g{node="a\"b\nc"} 1)"), std::string::npos) << metrics.text();
}

TEST(Metrics, ADroppedGaugeIsGone) {
  Metrics metrics;
  metrics.gauge("g", "G.", {{"node", "a"}}).set(1);
  metrics.gauge("g", "G.", {{"node", "b"}}).set(1);
  metrics.dropGauge("g", {{"node", "a"}});
  metrics.dropGauge("g", {{"node", "never seen"}});
  metrics.dropGauge("never seen", {});
  EXPECT_EQ(metrics.text().find("node=\"a\""), std::string::npos);
  EXPECT_NE(metrics.text().find("node=\"b\""), std::string::npos);
}

TEST(MetricsDeathTest, OneNameHasOneKind) {
  Metrics metrics;
  metrics.counter("x", "X.").add();
  EXPECT_DEATH(metrics.gauge("x", "X.").set(1), "metric x is used as two different kinds");
}

}  // namespace
}  // namespace gs
