#include "model/taints.h"

#include <gtest/gtest.h>

namespace gs::model {
namespace {

using Than = Toleration::Than;

struct ToleratesCase {
  const char* name;
  Toleration toleration;
  Taint taint;
  bool expect;
};
class Tolerates : public testing::TestWithParam<ToleratesCase> {};
TEST_P(Tolerates, TheTaint) {
  EXPECT_EQ(tolerates(GetParam().toleration, GetParam().taint), GetParam().expect);
}

Taint level(const char* value) { return {"level", value, "NoSchedule"}; }
Toleration than(Than than, const char* value) { return {"level", value, "", false, than}; }

INSTANTIATE_TEST_SUITE_P(
    Table, Tolerates,
    testing::Values(
        ToleratesCase{"Equal", {"level", "5", "", false}, level("5"), true},
        ToleratesCase{"EqualOther", {"level", "5", "", false}, level("6"), false},
        ToleratesCase{"Exists", {"level", "", "", true}, level("6"), true},
        ToleratesCase{"AnyKeyOfThatValue", {"", "5", "", false}, level("5"), true},
        ToleratesCase{"Everything", {"", "", "", true}, level("5"), true},
        ToleratesCase{"OtherEffect", {"level", "", "NoExecute", true}, level("5"), false},
        ToleratesCase{"LtLess", than(Than::Below, "5"), level("4"), true},
        ToleratesCase{"LtItself", than(Than::Below, "5"), level("5"), false},
        ToleratesCase{"LtMore", than(Than::Below, "5"), level("6"), false},
        ToleratesCase{"GtMore", than(Than::Above, "5"), level("10"), true},
        ToleratesCase{"GtItself", than(Than::Above, "5"), level("5"), false},
        ToleratesCase{"GtLess", than(Than::Above, "5"), level("4"), false},
        ToleratesCase{"GtNegative", than(Than::Above, "-5"), level("-4"), true},
        ToleratesCase{"GtZero", than(Than::Above, "0"), level("1"), true},
        ToleratesCase{"GtOfAWord", than(Than::Above, "5"), level("x"), false},
        ToleratesCase{"GtOfNothing", than(Than::Above, "5"), level(""), false},
        ToleratesCase{"GtThanAWord", than(Than::Above, "x"), level("5"), false},
        ToleratesCase{"GtAZeroBefore", than(Than::Above, "5"), level("06"), false},
        ToleratesCase{"GtANegativeZero", than(Than::Below, "5"), level("-0"), false},
        ToleratesCase{"GtAPlus", than(Than::Above, "5"), level("+6"), false},
        ToleratesCase{"GtOutOfRange", than(Than::Above, "5"), level("9223372036854775808"), false},
        ToleratesCase{"LtOfAnotherKey", than(Than::Below, "5"), {"other", "4", "NoSchedule"}, false}),
    [](const auto& info) { return std::string{info.param.name}; });

TEST(Taints, TheFirstThatKeepsAwayIsTold) {
  const std::vector<Taint> taints{
      {"a", "", "PreferNoSchedule"}, {"b", "", "NoSchedule"}, {"c", "", "NoExecute"}};
  EXPECT_EQ(untoleratedOf(taints, {}), &taints[1]);
  EXPECT_EQ(untoleratedOf(taints, {{"b", "", "", true}}), &taints[2]);
  EXPECT_EQ(untoleratedOf(taints, {{"b", "", "", true}, {"c", "", "", true}}), nullptr);
  EXPECT_EQ(untoleratedOf({}, {}), nullptr);
}

TEST(Taints, ThoseThatAskToStayAwayAreCounted) {
  const std::vector<Taint> taints{
      {"a", "", "PreferNoSchedule"}, {"b", "", "PreferNoSchedule"}, {"c", "", "NoSchedule"}};
  EXPECT_EQ(avoidedOf(taints, {}), 2);
  EXPECT_EQ(avoidedOf(taints, {{"a", "", "", true}}), 1);
  EXPECT_EQ(avoidedOf(taints, {{"a", "", "NoSchedule", true}}), 2) << "of another effect";
  EXPECT_EQ(avoidedOf({}, {}), 0);
  EXPECT_EQ(avoidedOf(std::vector<Taint>(300, taints.front()), {}), kMostAvoided);
}

}  // namespace
}  // namespace gs::model
