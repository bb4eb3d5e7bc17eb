#include "controller/gauges.h"

#include <gtest/gtest.h>

namespace gs::controller {
namespace {

using Labels = Gauges::Labels;

/// What was told, as Prometheus shows it.
std::vector<std::string> textsOf(const kapi::Effects& effects) {
  std::vector<std::string> out;
  for (const auto& effect : effects) {
    const auto& metric = std::get<kapi::Metric>(effect);
    std::string text = metric.name;
    for (const auto& [label, value] : metric.labels) { text += '{' + label + '=' + value + '}'; }
    out.push_back(text + ' ' + std::to_string(static_cast<int>(metric.value)));
    EXPECT_EQ(metric.op, kapi::MetricOp::Set);
  }
  return out;
}

TEST(Gauges, AValueIsToldOnceAndAgainWhenItIsAnother) {
  Gauges gauges;
  kapi::Effects out;
  for (const double value : {0.0, 0.0, 1.0, 1.0, 0.0}) { gauges.tell("up", value, out); }
  EXPECT_EQ(textsOf(out), (std::vector<std::string>{"up 0", "up 1", "up 0"}));
}

TEST(Gauges, EachNameAndEachLabelHasAValueOfItsOwn) {
  Gauges gauges;
  kapi::Effects out;
  gauges.tell("pods", Labels{{"state", "ready"}}, 1, out);
  gauges.tell("pods", Labels{{"state", "waits"}}, 1, out);
  gauges.tell("nodes", Labels{{"state", "ready"}}, 1, out);
  gauges.tell("pods", 1, out);
  gauges.tell("pods", Labels{{"state", "ready"}}, 1, out);
  EXPECT_EQ(textsOf(out), (std::vector<std::string>{"pods{state=ready} 1", "pods{state=waits} 1",
                                                    "nodes{state=ready} 1", "pods 1"}));
}

}  // namespace
}  // namespace gs::controller
