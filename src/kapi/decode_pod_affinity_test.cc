#include "kapi/decode_pod_affinity.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "kapi/decode.h"
#include "kapi/json_text_test.h"

namespace gs::kapi {
namespace {

using Op = model::LabelRequirement::Op;

model::Pod waiting(const std::string& spec) {
  return decodePod(parsed(R"({"metadata":{"namespace":"own","labels":{"app":"a"}},"spec":{)" + spec + "}}"));
}

std::string affinity(const char* kind, const std::string& terms) {
  return fmt::format(R"("affinity":{{"{}":{{"requiredDuringSchedulingIgnoredDuringExecution":[{}]}}}})", kind,
                     terms);
}

TEST(DecodePodAffinity, ReadsTermsWithTheirNamespaces) {
  const model::Pod pod =
      waiting(affinity("podAffinity",
                       R"({"topologyKey":"zone","labelSelector":{"matchLabels":{"app":"a"}}},
         {"topologyKey":"zone","namespaces":["y","x"],"labelSelector":{}},
         {"topologyKey":"host","namespaceSelector":{"matchLabels":{"team":"t"}},"labelSelector":{}},
         {"topologyKey":"host","namespaceSelector":{}})"));
  EXPECT_TRUE(pod.unsupported.empty());
  const model::LabelSelector all{};
  const model::LabelSelector team{{{"team", Op::In, {"t"}}}};
  const model::LabelSelector app{{{"app", Op::In, {"a"}}}};
  EXPECT_EQ(pod.affinity->near, (std::vector<model::PodTerm>{{"host", {}, all, std::nullopt},
                                                             {"host", {}, team, all},
                                                             {"zone", {"own"}, std::nullopt, app},
                                                             {"zone", {"x", "y"}, std::nullopt, all}}));
  EXPECT_TRUE(pod.affinity->apart.empty());
}

TEST(DecodePodAffinity, PreferencesHaveASign) {
  const char* spec = R"("affinity":{
    "podAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[
      {"weight":5,"podAffinityTerm":{"topologyKey":"a"}},{"weight":0,"podAffinityTerm":{"topologyKey":"b"}}]},
    "podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[
      {"weight":7,"podAffinityTerm":{"topologyKey":"c"}}]}})";
  const auto preferred = waiting(spec).affinity.change().preferred;
  ASSERT_EQ(preferred.size(), 2U);
  EXPECT_EQ(preferred[0].weight, -7);
  EXPECT_EQ(preferred[0].term.topology_key, "c");
  EXPECT_EQ(preferred[1].weight, 5);
}

TEST(DecodePodAffinity, ABoundPodKeepsWhatItWouldLikeOfOthers) {
  const char* spec = R"("nodeName":"n","affinity":{
    "podAffinity":{
      "requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"a","labelSelector":{}}],
      "preferredDuringSchedulingIgnoredDuringExecution":[
        {"weight":5,"podAffinityTerm":{"topologyKey":"b","labelSelector":{}}}]},
    "podAntiAffinity":{
      "requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"c","labelSelector":{}}],
      "preferredDuringSchedulingIgnoredDuringExecution":[
        {"weight":7,"podAffinityTerm":{"topologyKey":"d","labelSelector":{}}},
        {"weight":7,"podAffinityTerm":{"topologyKey":"d","labelSelector":{}}}]}})";
  const model::Pod pod = waiting(spec);
  const auto term = [](const char* key) {
    return model::PodTerm{key, {"own"}, std::nullopt, model::LabelSelector{}};
  };
  EXPECT_EQ(pod.affinity->preferred, (std::vector<model::PreferredPodTerm>{
                                         {-7, term("d")}, {-7, term("d")}, {1, term("a")}, {5, term("b")}}))
      << "what it says twice counts twice; what it had to be near counts 1";
  EXPECT_TRUE(pod.affinity->near.empty() && pod.affinity->apart.empty());
  EXPECT_EQ(pod.keeps_away.size(), 1U);
}

TEST(DecodePodAffinity, SpreadHasTheDefaultsOfTheApi) {
  const model::Pod pod = waiting(R"("topologySpreadConstraints":[
    {"topologyKey":"zone","maxSkew":2,"whenUnsatisfiable":"DoNotSchedule","labelSelector":{}},
    {"topologyKey":"host","maxSkew":1,"whenUnsatisfiable":"ScheduleAnyway","minDomains":3,
     "nodeAffinityPolicy":"Ignore","nodeTaintsPolicy":"Honor","matchLabelKeys":["b","a"]}])");
  ASSERT_EQ(pod.spread.size(), 2U);
  const model::SpreadConstraint& zone = pod.spread[0];
  EXPECT_EQ(zone.max_skew, 2);
  EXPECT_TRUE(zone.is_required && zone.honors_affinity && !zone.honors_taints && zone.pods.has_value());
  EXPECT_EQ(zone.min_domains, std::nullopt);
  const model::SpreadConstraint& host = pod.spread[1];
  EXPECT_TRUE(!host.is_required && !host.honors_affinity && host.honors_taints && !host.pods.has_value());
  EXPECT_EQ(host.min_domains, 3);
  EXPECT_EQ(host.match_label_keys, (std::vector<std::string>{"a", "b"}));
}

TEST(DecodePodAffinity, MoreThanAPodCanNeedIsRefusedByName) {
  std::string terms;
  for (int i = 0; i < 17; ++i) { terms += fmt::format(R"({}{{"topologyKey":"k{}"}})", i == 0 ? "" : ",", i); }
  EXPECT_EQ(waiting(affinity("podAntiAffinity", terms)).unsupported,
            std::vector<std::string>{"spec.affinity.podAntiAffinity with more than 16 required terms (17)"});
  EXPECT_EQ(
      waiting(fmt::format(R"("topologySpreadConstraints":[{}])", terms)).unsupported,
      std::vector<std::string>{"spec.topologySpreadConstraints with more than 16 constraints or 4096 names"});
}

TEST(DecodePod, ABoundPodSaysWhomItKeepsAwayAndEachItsLabels) {
  const std::string spec =
      R"("affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[
    {"topologyKey":"zone","namespaces":["b","a","b"],"labelSelector":{"matchLabels":{"app":"web"},
    "matchExpressions":[
      {"key":"old","operator":"DoesNotExist"},{"key":"tier","operator":"NotIn","values":["y","x"]},
      {"key":"z","operator":"Like"}]}},
    {"topologyKey":"host","labelSelector":{}},
    {"topologyKey":"rack","namespaceSelector":{"matchLabels":{"team":"t"}},"namespaces":["a"],
    "labelSelector":{}},
    {"topologyKey":"nobody"},{"topologyKey":"host","labelSelector":{}}]}})";
  const std::string meta = R"("metadata":{"namespace":"team","labels":{"app":"db"}})";
  const model::Pod bound = decodePod(parsed("{" + meta + R"(,"spec":{"nodeName":"n",)" + spec + "}}"));
  std::vector<std::string> terms;
  for (const auto& term : bound.keeps_away) { terms.push_back(model::print(term)); }
  EXPECT_EQ(terms, (std::vector<std::string>{"host in team: ", "rack in a + (team in (t)): ",
                                             "zone in a,b: app in (web), !old, tier notin (x,y)"}));
  EXPECT_EQ(bound.labels, (model::Labels{{"app", "db"}}));
  const model::Pod unbound = decodePod(parsed("{" + meta + R"(,"spec":{)" + spec + "}}"));
  EXPECT_TRUE(unbound.keeps_away.empty());
  EXPECT_EQ(unbound.labels, (model::Labels{{"app", "db"}}));
}

TEST(DecodePod, APodWithTooManyTermsKeepsEverybodyOfTheirNamespacesAwayFromWhatTheyName) {
  const auto saying = [](const std::string& host_means) {
    std::string terms;
    for (int i = 0; i < 66; ++i) {
      const std::string key = i % 3 == 0 ? R"("zone")" : R"("host")" + (i % 3 == 2 ? host_means : "");
      terms += fmt::format(R"({}{{"topologyKey":{},"labelSelector":{{"matchLabels":{{"n":"{}"}}}}}})",
                           i == 0 ? "" : ",", key, i);
    }
    return decodePod(parsed(fmt::format(
        R"({{"metadata":{{"name":"p","namespace":"own"}},"spec":{{"nodeName":"n",)"
        R"("affinity":{{"podAntiAffinity":{{"requiredDuringSchedulingIgnoredDuringExecution":[{}]}}}}}}}})",
        terms)));
  };
  using Terms = std::vector<model::AntiAffinityTerm>;
  const model::AntiAffinityTerm zone{"zone", {"own"}, {}};
  EXPECT_EQ(saying("").keeps_away, (Terms{{"host", {"own"}, {}}, zone}));
  EXPECT_EQ(saying(R"(,"namespaces":["b","a"])").keeps_away, (Terms{{"host", {"a", "b", "own"}, {}}, zone}));
  EXPECT_EQ(saying(R"(,"namespaceSelector":{})").keeps_away, (Terms{{"host", {}, {}}, zone}));
}

TEST(DecodePod, OneThatNamesMoreThanAPodCanMeanKeepsEverybodyAway) {
  const auto decoded = [](const std::string& field, int names) {
    std::string list;
    for (int i = 0; i < names; ++i) { list += (i == 0 ? "\"n" : ",\"n") + std::to_string(i) + "\""; }
    const std::string selector =
        field == "values" ? R"({"matchExpressions":[{"key":"k","operator":"In","values":[)" + list + "]}]}"
                          : "{}";
    return decodePod(parsed(
        R"({"spec":{"nodeName":"n",
         "affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[
        {"topologyKey":"zone","namespaces":[)" +
        (field == "values" ? R"("ns")" : list) + R"(],"labelSelector":)" + selector + "}]}}}}"));
  };
  for (const char* field : {"namespaces", "values"}) {
    const model::Pod many = decoded(field, 5'000);
    const bool few_namespaces = std::string{field} == "values";
    const std::vector<std::string> kept =
        few_namespaces ? std::vector<std::string>{"ns"} : std::vector<std::string>{};
    EXPECT_EQ(many.keeps_away, (std::vector<model::AntiAffinityTerm>{{"zone", kept, {}}})) << field;
    const model::Pod few = decoded(field, 4'000);
    ASSERT_EQ(few.keeps_away.size(), 1U);
    EXPECT_FALSE(few.keeps_away[0].namespaces.empty()) << field;
  }
}

TEST(DecodePod, OneThatRunsKeepsOthersAwayByNoMoreLabelsThanANodeCanHave) {
  const std::string terms = repeated(R"({"topologyKey":"a.b/k@","labelSelector":{}})", 300);
  const model::Pod pod = decodePod(
      parsed(R"({"spec":{"nodeName":"n",)"
             R"("affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[)" +
             terms + "]}}}}"));
  EXPECT_EQ(pod.keeps_away.size(), 256U);
}

}  // namespace
}  // namespace gs::kapi
