#include "model/label_selector.h"

#include <gtest/gtest.h>

namespace gs::model {
namespace {

using Op = LabelRequirement::Op;

struct SelectorCase {
  const char* name;
  LabelSelector selector;
  bool matches;
};
class Selecting : public ::testing::TestWithParam<SelectorCase> {};
TEST_P(Selecting, Labels) {
  EXPECT_EQ(GetParam().selector.matches(Labels{{"app", "web"}, {"tier", ""}}), GetParam().matches);
}
INSTANTIATE_TEST_SUITE_P(
    Table, Selecting,
    ::testing::Values(SelectorCase{"Empty", {}, true},
                      SelectorCase{"In", {{{"app", Op::In, {"db", "web"}}}}, true},
                      SelectorCase{"InOther", {{{"app", Op::In, {"db"}}}}, false},
                      SelectorCase{"InAbsent", {{{"zone", Op::In, {""}}}}, false},
                      SelectorCase{"NotIn", {{{"app", Op::NotIn, {"db"}}}}, true},
                      SelectorCase{"NotInListed", {{{"app", Op::NotIn, {"web"}}}}, false},
                      SelectorCase{"NotInAbsent", {{{"zone", Op::NotIn, {"a"}}}}, true},
                      SelectorCase{"Exists", {{{"tier", Op::Exists, {}}}}, true},
                      SelectorCase{"ExistsAbsent", {{{"zone", Op::Exists, {}}}}, false},
                      SelectorCase{"DoesNotExist", {{{"zone", Op::DoesNotExist, {}}}}, true},
                      SelectorCase{"DoesNotExistThere", {{{"app", Op::DoesNotExist, {}}}}, false},
                      SelectorCase{
                          "AllMustHold", {{{"app", Op::In, {"web"}}, {"zone", Op::Exists, {}}}}, false}),
    [](const auto& info) { return info.param.name; });

TEST(AntiAffinity, MeansPodsOfItsNamespacesOnly) {
  const AntiAffinityTerm term{"zone", {"a", "b"}, {}};
  EXPECT_TRUE(term.matches("b", {}));
  EXPECT_FALSE(term.matches("c", {}));
  EXPECT_TRUE((AntiAffinityTerm{"zone", {}, {}}).matches("c", {})) << "every namespace";
}

TEST(AntiAffinity, EqualTermsAndOnlyTheyHaveTheSameId) {
  const AntiAffinityTerm term{"zone", {"a"}, {}};
  EXPECT_EQ(idOf(term), idOf(AntiAffinityTerm{"zone", {"a"}, {}}));
  EXPECT_NE(idOf(term), idOf(AntiAffinityTerm{"zone", {}, {}}));
  EXPECT_NE(idOf(term), idOf(AntiAffinityTerm{"zone", {"a"}, {{{"k", Op::Exists, {}}}}}));
}

TEST(AntiAffinity, PrintsOnOneLine) {
  const LabelSelector pods{
      {{"app", Op::In, {"a", "b"}}, {"old", Op::DoesNotExist, {}}, {"x", Op::NotIn, {"1"}}}};
  EXPECT_EQ(print(AntiAffinityTerm{"zone", {"default"}, pods}),
            "zone in default: app in (a,b), !old, x notin (1)");
  EXPECT_EQ(print(AntiAffinityTerm{"zone", {}, {{{"k", Op::Exists, {}}}}}), "zone in *: k");
}

}  // namespace
}  // namespace gs::model
