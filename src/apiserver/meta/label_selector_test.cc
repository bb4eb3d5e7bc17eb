#include "apiserver/meta/label_selector.h"

#include <gtest/gtest.h>

namespace gs::apiserver {
namespace {

using json::Value;

Value readJson(std::string_view text) { return json::parse(text).value_or(Value{}); }

struct SelectCase {
  const char* selector;
  const char* labels;
  bool selects;
  const char* text;
};
class LabelSelectors : public testing::TestWithParam<SelectCase> {};
TEST_P(LabelSelectors, SelectAndAreWritten) {
  const Value selector = readJson(GetParam().selector);
  EXPECT_EQ(selects(selector, readJson(GetParam().labels)), GetParam().selects);
  EXPECT_EQ(selectorText(selector), GetParam().text);
}
INSTANTIATE_TEST_SUITE_P(
    Table, LabelSelectors,
    testing::Values(
        SelectCase{"null", R"({"a":"b"})", false, ""}, SelectCase{"{}", "null", true, ""},
        SelectCase{R"({"matchLabels":{"b":"2","a":"1"}})", R"({"a":"1","b":"2","c":"3"})", true, "a=1,b=2"},
        SelectCase{R"({"matchLabels":{"a":"1"}})", R"({"a":"2"})", false, "a=1"},
        SelectCase{R"({"matchLabels":{"a":"1"}})", "null", false, "a=1"},
        SelectCase{R"({"matchExpressions":[{"key":"a","operator":"In","values":["2","1"]}]})", R"({"a":"2"})",
                   true, "a in (1,2)"},
        SelectCase{R"({"matchExpressions":[{"key":"a","operator":"NotIn","values":["1"]}]})", "{}", true,
                   "a notin (1)"},
        SelectCase{R"({"matchExpressions":[{"key":"a","operator":"NotIn","values":["1"]}]})", R"({"a":"1"})",
                   false, "a notin (1)"},
        SelectCase{R"({"matchExpressions":[{"key":"b","operator":"Exists"}],"matchLabels":{"a":"1"}})",
                   R"({"a":"1","b":""})", true, "a=1,b"},
        SelectCase{R"({"matchExpressions":[{"key":"b","operator":"DoesNotExist"}]})", R"({"b":""})", false,
                   "!b"}));

TEST(AmountOf, RoundsAPercentage) {
  EXPECT_EQ(amountOf(Value{3}, 10, Round::Up), 3);
  EXPECT_EQ(amountOf(Value{"25%"}, 10, Round::Up), 3);
  EXPECT_EQ(amountOf(Value{"25%"}, 10, Round::Down), 2);
  EXPECT_EQ(amountOf(Value{"x"}, 10, Round::Down), 0);
  EXPECT_EQ(amountOf(Value{}, 10, Round::Up), 0);
}

}  // namespace
}  // namespace gs::apiserver
