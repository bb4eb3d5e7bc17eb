#include "model/node_affinity.h"

#include <gtest/gtest.h>

namespace gs::model {
namespace {

using NodeOp = NodeRequirement::Op;

NodeTerm byLabel(const std::string& key, NodeOp op, std::vector<std::string> values = {}) {
  return {{{key, op, std::move(values)}}, {}};
}
NodeTerm byName(NodeOp op, const std::string& name) { return {{}, {{kNodeNameField, op, {name}}}}; }

struct TermCase {
  const char* name;
  NodeTerm term;
  bool expect;
};
class NodeTermOf : public testing::TestWithParam<TermCase> {};
TEST_P(NodeTermOf, TheNodeNamedA) {
  const Labels labels{{"zone", "east"}, {"gpus", "8"}, {"empty", ""}, {"odd", "08"}, {"word", "x8"}};
  EXPECT_EQ(matches(GetParam().term, labels, "a"), GetParam().expect);
}
INSTANTIATE_TEST_SUITE_P(
    Table, NodeTermOf,
    testing::Values(
        TermCase{"InIts", byLabel("zone", NodeOp::In, {"east", "west"}), true},
        TermCase{"InOthers", byLabel("zone", NodeOp::In, {"north", "west"}), false},
        TermCase{"InWithoutTheLabel", byLabel("rack", NodeOp::In, {"1"}), false},
        TermCase{"InEmpty", byLabel("empty", NodeOp::In, {""}), true},
        TermCase{"NotInIts", byLabel("zone", NodeOp::NotIn, {"east"}), false},
        TermCase{"NotInOthers", byLabel("zone", NodeOp::NotIn, {"west"}), true},
        TermCase{"NotInWithoutTheLabel", byLabel("rack", NodeOp::NotIn, {"1"}), true},
        TermCase{"Exists", byLabel("empty", NodeOp::Exists), true},
        TermCase{"ExistsWithoutTheLabel", byLabel("rack", NodeOp::Exists), false},
        TermCase{"DoesNotExist", byLabel("zone", NodeOp::DoesNotExist), false},
        TermCase{"DoesNotExistWithoutTheLabel", byLabel("rack", NodeOp::DoesNotExist), true},
        TermCase{"MoreThanLess", byLabel("gpus", NodeOp::Gt, {"7"}), true},
        TermCase{"MoreThanItself", byLabel("gpus", NodeOp::Gt, {"8"}), false},
        TermCase{"MoreThanMore", byLabel("gpus", NodeOp::Gt, {"10"}), false},
        TermCase{"LessThanMore", byLabel("gpus", NodeOp::Lt, {"10"}), true},
        TermCase{"LessThanItself", byLabel("gpus", NodeOp::Lt, {"8"}), false},
        TermCase{"MoreWithoutTheLabel", byLabel("rack", NodeOp::Gt, {"0"}), false},
        TermCase{"LessWithoutTheLabel", byLabel("rack", NodeOp::Lt, {"9"}), false},
        TermCase{"MoreOfAWord", byLabel("word", NodeOp::Gt, {"0"}), false},
        TermCase{"LessOfNothing", byLabel("empty", NodeOp::Lt, {"9"}), false},
        TermCase{"AZeroBeforeItIsNoMatter", byLabel("odd", NodeOp::Gt, {"007"}), true},
        TermCase{"Named", byName(NodeOp::In, "a"), true},
        TermCase{"NamedOtherwise", byName(NodeOp::In, "b"), false},
        TermCase{"NotNamed", byName(NodeOp::NotIn, "a"), false},
        TermCase{"NotNamedOtherwise", byName(NodeOp::NotIn, "b"), true},
        TermCase{"AFieldThatNoNodeHas", {{}, {{"spec.x", NodeOp::In, {"a"}}}}, false},
        TermCase{"AFieldThatNoNodeHasIsEmpty", {{}, {{"spec.x", NodeOp::In, {""}}}}, true},
        TermCase{"AllLabels", {{{"gpus", NodeOp::Exists, {}}, {"zone", NodeOp::In, {"east"}}}, {}}, true},
        TermCase{"OneLabelNot", {{{"gpus", NodeOp::Exists, {}}, {"zone", NodeOp::In, {"west"}}}, {}}, false},
        TermCase{
            "LabelAndName", {{{"zone", NodeOp::Exists, {}}}, {{kNodeNameField, NodeOp::In, {"a"}}}}, true},
        TermCase{"LabelAndOtherName",
                 {{{"zone", NodeOp::Exists, {}}}, {{kNodeNameField, NodeOp::In, {"b"}}}},
                 false},
        TermCase{"Empty", {}, false}),
    [](const auto& info) { return std::string{info.param.name}; });

TEST(NodeTerms, WithoutANameFieldsAreNotLookedAt) {
  EXPECT_TRUE(matches(byName(NodeOp::In, "b"), {}, ""));
  EXPECT_FALSE(matches({}, {}, "")) << "an empty term means no node all the same";
}

TEST(NodeTerms, OneOfThemIsEnoughAndNoneMeanNone) {
  const Labels east{{"zone", "east"}};
  EXPECT_TRUE(
      matchesAny({byLabel("zone", NodeOp::In, {"west"}), byLabel("zone", NodeOp::In, {"east"})}, east, "a"));
  EXPECT_FALSE(matchesAny({byLabel("zone", NodeOp::In, {"west"}), {}}, east, "a"));
  EXPECT_FALSE(matchesAny({}, east, "a"));
}

TEST(NodeAffinity, NamesOthersOnlyWhereEachTermDoes) {
  NodeAffinity a;
  EXPECT_TRUE(mayBeNamed(a, "a"));
  a.is_required = true;
  EXPECT_TRUE(mayBeNamed(a, "a")) << "no node matches, but none is named";
  a.required = {byName(NodeOp::In, "b")};
  EXPECT_FALSE(mayBeNamed(a, "a"));
  EXPECT_TRUE(mayBeNamed(a, "b"));
  a.required.push_back(byName(NodeOp::In, "a"));
  EXPECT_TRUE(mayBeNamed(a, "a"));
  a.required = {byName(NodeOp::In, "b"), byLabel("zone", NodeOp::Exists)};
  EXPECT_TRUE(mayBeNamed(a, "a")) << "the other term may mean any node";
  a.required = {byName(NodeOp::In, "b"), {}};
  EXPECT_TRUE(mayBeNamed(a, "a")) << "as kube-scheduler: an empty term names none";
  a.required = {byName(NodeOp::NotIn, "a")};
  EXPECT_TRUE(mayBeNamed(a, "a")) << "only In names";
  a.required = {{{}, {{kNodeNameField, NodeOp::In, {"a"}}, {kNodeNameField, NodeOp::In, {"b"}}}}};
  EXPECT_FALSE(mayBeNamed(a, "a")) << "a conflict";
  EXPECT_TRUE(namesNobody(a));
  a.required.push_back(byName(NodeOp::In, "c"));
  EXPECT_FALSE(namesNobody(a)) << "the other term names one";
  EXPECT_FALSE(namesNobody({})) << "without terms none is named";
}

TEST(NodeAffinity, ByHostNameOrByNameNodesAreNamed) {
  NodeAffinity a;
  EXPECT_FALSE(namesNodes(a));
  a.required = {byLabel(kHostnameLabel, NodeOp::In, {"a", "b"})};
  EXPECT_TRUE(namesHosts(a.required.front()));
  EXPECT_TRUE(namesNodes(a));
  a.required.push_back(byName(NodeOp::In, "c"));
  EXPECT_FALSE(namesHosts(a.required.back())) << "of a volume's terms fields do not count";
  EXPECT_TRUE(namesNodes(a));
  a.required.push_back(byLabel("zone", NodeOp::In, {"west"}));
  EXPECT_FALSE(namesNodes(a)) << "a node of that zone may come";
  a.required = {byLabel(kHostnameLabel, NodeOp::NotIn, {"a"})};
  EXPECT_FALSE(namesNodes(a));
  a.required = {byLabel(kHostnameLabel, NodeOp::Exists)};
  EXPECT_FALSE(namesNodes(a));
  a.required = {byName(NodeOp::NotIn, "a")};
  EXPECT_FALSE(namesNodes(a));
}

TEST(NodeAffinity, PreferredTermsAddTheirWeights) {
  NodeAffinity a;
  a.preferred = {{5, byLabel("zone", NodeOp::Exists)},
                 {7, byLabel("zone", NodeOp::In, {"west"})},
                 {100, byName(NodeOp::In, "a")}};
  EXPECT_EQ(preferredWeight(a, {{"zone", "east"}}, "a"), 105);
  EXPECT_EQ(preferredWeight(a, {{"zone", "west"}}, "b"), 12);
  EXPECT_EQ(preferredWeight(a, {}, "b"), 0);
}

TEST(Integers, AreReadAsGoReadsThem) {
  EXPECT_EQ(integerOf("8"), 8);
  EXPECT_EQ(integerOf("-8"), -8);
  EXPECT_EQ(integerOf("+8"), 8);
  EXPECT_EQ(integerOf("008"), 8);
  EXPECT_EQ(integerOf("9223372036854775807"), INT64_MAX);
  for (const char* no : {"", "+", "-", "+-8", "8 ", " 8", "8.0", "0x8", "1e3", "9223372036854775808"}) {
    EXPECT_EQ(integerOf(no), std::nullopt) << no;
  }
}

}  // namespace
}  // namespace gs::model
