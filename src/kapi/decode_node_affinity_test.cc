#include "kapi/decode_node_affinity.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kapi/decode.h"
#include "kapi/json_text_test.h"

namespace gs::kapi {
namespace {

using NodeOp = model::NodeRequirement::Op;

struct NodeTermCase {
  const char* name;
  const char* term;
  model::NodeTerm expect;
};
class DecodeNodeTerm : public testing::TestWithParam<NodeTermCase> {};
TEST_P(DecodeNodeTerm, Reads) {
  const json::Value term = parsed(GetParam().term);
  EXPECT_EQ(nodeTermOf(term), GetParam().expect);
}
INSTANTIATE_TEST_SUITE_P(
    Table, DecodeNodeTerm,
    testing::Values(
        NodeTermCase{"AllOperators",
                     R"({"matchExpressions":[{"key":"a","operator":"NotIn","values":["y","x","y"]},
                         {"key":"example.com/b","operator":"Exists"},{"key":"c","operator":"DoesNotExist"},
                         {"key":"d","operator":"Gt","values":["5"]},{"key":"e","operator":"Lt","values":["9"]},
                         {"key":"a","operator":"In","values":["z",""]}]})",
                     {{{"a", NodeOp::In, {"", "z"}},
                       {"a", NodeOp::NotIn, {"x", "y"}},
                       {"c", NodeOp::DoesNotExist, {}},
                       {"d", NodeOp::Gt, {"5"}},
                       {"e", NodeOp::Lt, {"9"}},
                       {"example.com/b", NodeOp::Exists, {}}},
                      {}}},
        NodeTermCase{
            "Fields",
            R"({"matchFields":[{"key":"metadata.name","operator":"In","values":["node-a"]},
                         {"key":"metadata.name","operator":"NotIn","values":["node-b"]}]})",
            {{}, {{"metadata.name", NodeOp::In, {"node-a"}}, {"metadata.name", NodeOp::NotIn, {"node-b"}}}}},
        NodeTermCase{"Empty", "{}", {}},
        NodeTermCase{
            "UnknownOperator",
            R"({"matchExpressions":[{"key":"a","operator":"Exists"},{"key":"a","operator":"Like"}]})",
            {}},
        NodeTermCase{"InWithoutValues", R"({"matchExpressions":[{"key":"a","operator":"In"}]})", {}},
        NodeTermCase{"ExistsWithValues",
                     R"({"matchExpressions":[{"key":"a","operator":"Exists","values":["x"]}]})",
                     {}},
        NodeTermCase{
            "GtOfTwo", R"({"matchExpressions":[{"key":"a","operator":"Gt","values":["1","1"]}]})", {}},
        NodeTermCase{"GtOfAWord", R"({"matchExpressions":[{"key":"a","operator":"Gt","values":["x"]}]})", {}},
        NodeTermCase{"GtBelowZeroIsNoLabel",
                     R"({"matchExpressions":[{"key":"a","operator":"Gt","values":["-1"]}]})",
                     {}},
        NodeTermCase{
            "NoLabelValue", R"({"matchExpressions":[{"key":"a","operator":"In","values":["a b"]}]})", {}},
        NodeTermCase{"NoLabelKey", R"({"matchExpressions":[{"key":"a/b/c","operator":"Exists"}]})", {}},
        NodeTermCase{"FieldExists", R"({"matchFields":[{"key":"metadata.name","operator":"Exists"}]})", {}},
        NodeTermCase{"FieldOfTwo",
                     R"({"matchFields":[{"key":"metadata.name","operator":"In","values":["a","b"]}]})",
                     {}},
        NodeTermCase{"OddTypes", R"({"matchExpressions":{"key":"a"},"matchFields":[5,null,"x"]})", {}}),
    [](const auto& info) { return std::string{info.param.name}; });

model::Pod decodedWith(const std::string& spec) { return decodePod(parsed("{\"spec\":{" + spec + "}}")); }

std::string affinityText(const std::string& required, const std::string& preferred = "") {
  return R"("affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[)" +
         required + R"(]},"preferredDuringSchedulingIgnoredDuringExecution":[)" + preferred + "]}}";
}
const std::string kNamed = R"({"matchFields":[{"key":"metadata.name","operator":"In","values":["node-a"]}]})";

TEST(DecodeNodeAffinity, KeepsRequiredAndPreferredTermsUntilThePodIsBound) {
  const std::string text =
      affinityText(kNamed + ",{}," + kNamed,
                   R"({"weight":7,"preference":)" + kNamed + R"(},{"weight":0,"preference":)" + kNamed +
                       R"(},{"weight":5,"preference":{}},{"weight":101,"preference":)" + kNamed + "}");
  const model::NodeTerm named{{}, {{"metadata.name", NodeOp::In, {"node-a"}}}};
  const model::Pod pod = decodedWith(text);
  EXPECT_TRUE(pod.node_affinity->is_required);
  EXPECT_EQ(pod.node_affinity->required, (std::vector<model::NodeTerm>{{}, named}));
  EXPECT_EQ(pod.node_affinity->preferred, (std::vector<model::PreferredNodeTerm>{{7, named}}));
  EXPECT_TRUE(pod.unsupported.empty());
  EXPECT_EQ(decodedWith(R"("nodeName":"n",)" + text).node_affinity, model::NodeAffinity{});
}

TEST(DecodeNodeAffinity, RequiredWithoutTermsIsNotTheSameAsNone) {
  EXPECT_TRUE(decodedWith(affinityText("")).node_affinity.change().is_required);
  EXPECT_EQ(decodedWith("").node_affinity, model::NodeAffinity{});
}

TEST(DecodeNodeAffinity, OneWithVeryManyTermsIsNotPlacedByAPartOfThem) {
  const auto unsupported = [](const std::string& text) { return decodedWith(text).unsupported; };
  const std::string exists = R"({"matchExpressions":[{"key":"k@","operator":"Exists"}]})";
  EXPECT_TRUE(unsupported(affinityText(repeated(exists, 128))).empty());
  EXPECT_EQ(
      unsupported(affinityText(repeated(exists, 129))),
      std::vector<std::string>{"spec.affinity.nodeAffinity with more than 256 terms and expressions (258)"});
  EXPECT_EQ(
      unsupported(affinityText("", repeated(R"({"weight":1,"preference":)" + exists + "}", 200))),
      std::vector<std::string>{"spec.affinity.nodeAffinity with more than 256 terms and expressions (400)"});
  const auto of_values = [](int n) {
    return affinityText(R"({"matchExpressions":[{"key":"k","operator":"In","values":[)" +
                        repeated("\"v@\"", n) + "]}]}");
  };
  EXPECT_TRUE(unsupported(of_values(4'096)).empty());
  EXPECT_EQ(unsupported(of_values(4'097)),
            std::vector<std::string>{"spec.affinity.nodeAffinity with more than 4096 values (4097)"});
  EXPECT_EQ(decodedWith(of_values(4'097)).node_affinity, model::NodeAffinity{});
}

TEST(DecodeHostPorts, ThoseOfContainersAndSidecarsCount) {
  const std::string spec = R"("containers":[
      {"ports":[{"containerPort":80},{"containerPort":81,"hostPort":0},{"containerPort":1,"hostPort":8080}]},
      {"ports":[{"hostPort":8080,"protocol":"UDP"},{"hostPort":8080,"protocol":"TCP"},
                {"hostPort":443,"hostIP":"10.0.0.1"},{"hostPort":70000},{"hostPort":-1},{"hostPort":"90"}]}],
    "initContainers":[{"ports":[{"hostPort":91}]},
      {"restartPolicy":"Always","ports":[{"hostPort":92,"protocol":"SCTP"}]}])";
  const std::vector<model::HostPort> expect{
      {92, "SCTP", "0.0.0.0"}, {443, "TCP", "10.0.0.1"}, {8080, "TCP", "0.0.0.0"}, {8080, "UDP", "0.0.0.0"}};
  const model::Pod pod = decodedWith(spec);
  EXPECT_EQ(pod.host_ports, expect);
  EXPECT_TRUE(pod.unsupported.empty());
  EXPECT_EQ(decodedWith(R"("nodeName":"n",)" + spec).host_ports, expect) << "they stand in its way of others";
}

TEST(DecodeHostPorts, AreBounded) {
  const auto pod = [](const std::string& before, int ports) {
    return decodedWith(before + R"("containers":[{"ports":[)" +
                       repeated(R"({"hostPort":80,"hostIP":"10.0.0.@"})", ports) + "]}]");
  };
  EXPECT_TRUE(pod("", 256).unsupported.empty());
  EXPECT_EQ(pod("", 257).unsupported,
            std::vector<std::string>{"spec.containers[].ports[].hostPort with more than 256 entries (257)"});
  EXPECT_EQ(pod(R"("nodeName":"n",)", 5'000).host_ports.size(), 4096U);
}

TEST(DecodeNodeFeatures, FollowFromWhatThePodUses) {
  const auto needs = [](const std::string& spec) { return decodedWith(spec).node_features; };
  EXPECT_EQ(
      needs(R"("hostNetwork":true,"hostUsers":true,"containers":[{"restartPolicyRules":[{"action":"Restart"}],
                      "volumeMounts":[{"name":"v"}]}])"),
      std::vector<std::string>{});
  EXPECT_EQ(needs(R"("hostNetwork":true,"hostUsers":false)"),
            std::vector<std::string>{"UserNamespacesHostNetworkSupport"});
  EXPECT_EQ(needs(R"("hostUsers":false)"), std::vector<std::string>{});
  const std::string rules =
      R"("restartPolicyRules":[{"action":"Restart"},{"action":"RestartAllContainers"}])";
  const std::vector<std::string> all{"RestartAllContainersOnContainerExits", "VolumeBindMountOptions"};
  EXPECT_EQ(needs(R"("containers":[{)" + rules + "},{" + rules + R"(}],
      "initContainers":[{"volumeMounts":[{"name":"v","bindMountOptions":["noexec"]}]}])"),
            all);
}

TEST(DecodeNodeFeatures, AreDeclaredByTheNode) {
  EXPECT_EQ(decodeNode(parsed(R"({"status":{"declaredFeatures":["B","A","B"]}})")).features,
            (std::vector<std::string>{"A", "B"}));
}

}  // namespace
}  // namespace gs::kapi
