#include "extender/status_page.h"

#include "extender/extender_hand_test.h"
#include "extender/grants/metrics.h"
#include "kapi/kinds.h"

namespace gs::extender {
namespace {

using namespace std::chrono_literals;

class StatusPageTest : public ExtenderTest {
 protected:
  StatusPageTest() { engine.configureQuota({{"kube-system", "gpuquota"}, {"model", "pool"}, kOfTheFile}); }
  void brings(std::optional<model::Quotas> quotas) {
    model::QuotaMap map{{"kube-system", "gpuquota"}, model::Uid{"u"}, 1, std::move(quotas), "bad"};
    engine.apply({kapi::kQuotaMap, map.key, {}, std::make_shared<const model::QuotaMap>(std::move(map)), 1},
                 now.mono);
  }
  [[nodiscard]] std::string metrics() const { return stateMetrics(extender, engine); }
  /// The line of a metric, by its name and labels: its value; "" there is none.
  [[nodiscard]] std::string value(const std::string& metric) const {
    const std::string text = "\n" + metrics();
    const auto at = text.find("\n" + metric + " ");
    if (at == std::string::npos) { return ""; }
    const auto from = at + metric.size() + 2;
    return text.substr(from, text.find('\n', from) - from);
  }

  static inline const model::Quotas kOfTheFile{{"file", model::Quota{{{"P4", 1}}, {}}}};
};

TEST_F(StatusPageTest, GrantsAndLeading) {
  EXPECT_EQ(value("gpu_admission_leading"), "0");
  lead();
  model::Node node = gpuNode("a", 1);
  addNode(node);
  engine.quota().listed();
  ask(Verb::Filter, create("p", {{60, 1}}), {"a"});
  EXPECT_EQ(value("gpu_admission_leading"), "1");
  EXPECT_EQ(value(R"(gpu_admission_reservations{state="writing"})"), "1");
  run();
  EXPECT_EQ(value(R"(gpu_admission_reservations{state="writing"})"), "0");
  EXPECT_EQ(value(R"(gpu_admission_reservations{state="written"})"), "1");
  EXPECT_EQ(value(R"(gpu_admission_reservations{state="removing"})"), "0");
  EXPECT_NE(metrics().find("# TYPE gpu_admission_reservations gauge\n"), std::string::npos);
}

TEST_F(StatusPageTest, QuotasAndTheirUseWhateverTheirNames) {
  lead();
  model::Node node = gpuNode("a", 1);
  node.labels["model"] = "V100";
  addNode(node);
  brings(model::Quotas{{"default", model::Quota{{{"V100", 4}}, {}}},
                       {"x", model::Quota{{{"a\"b\\\n", 2}}, {}}}});
  filter(create("p", {{60, 1}}), {"a"});
  EXPECT_EQ(value(R"(gpu_admission_quota_limit_gpus{model="V100",namespace="default"})"), "4");
  EXPECT_EQ(value(R"(gpu_admission_quota_used_gpus{model="V100",namespace="default"})"), "0.6");
  EXPECT_EQ(value(R"(gpu_admission_quota_limit_gpus{model="a\"b\\\n",namespace="x"})"), "2");
}

TEST_F(StatusPageTest, AQuotaThatCannotBeUsedOrMayNotBeRead) {
  EXPECT_EQ(value("gpu_admission_quota_config_unusable"), "0");
  EXPECT_EQ(value("gpu_admission_quota_forbidden"), "0");
  engine.quota().forbidden(now.mono);
  EXPECT_EQ(value("gpu_admission_quota_forbidden"), "0");
  engine.quota().forbidden(now.mono + 5s);
  EXPECT_EQ(value("gpu_admission_quota_forbidden"), "1");
  EXPECT_EQ(value(R"(gpu_admission_quota_limit_gpus{model="P4",namespace="file"})"), "1");
  engine.quota().listed();
  EXPECT_EQ(value("gpu_admission_quota_forbidden"), "0");
  brings(std::nullopt);
  EXPECT_EQ(value("gpu_admission_quota_config_unusable"), "1");
}

}  // namespace
}  // namespace gs::extender
