#include <gtest/gtest.h>

#include "dra/claims/claim_plan.h"
#include "dra/claims/test_claims.h"

namespace gs::dra {
namespace {

struct RefusalCase {
  const char* name;
  const char* claims;
  void (*change)(model::ResourceClaim& last);
  Code code;
  const char* message;
};
class ClaimRefusalTest : public testing::TestWithParam<RefusalCase> {};

TEST_P(ClaimRefusalTest, SaysObjectFieldAndFix) {
  auto claims = testClaims(GetParam().claims);
  GetParam().change(claims.back());
  const auto plan = testPlan(claims);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, GetParam().code);
  const std::string expected = GetParam().message;
  const bool whole = !expected.ends_with(": ");  // what comes then, the selector's error says
  EXPECT_EQ(whole ? plan.error().message : plan.error().message.substr(0, expected.size()), expected);
}

void nothing(model::ResourceClaim&) {}

INSTANTIATE_TEST_SUITE_P(
    Table, ClaimRefusalTest,
    testing::Values(
        RefusalCase{"NoClass", "g=gpu*1; h=tpu*1", nothing, Code::NotFound,
                    "claim ns/1: request h: there is no DeviceClass tpu; create it, or name another one"},
        RefusalCase{"NoClassOfAWay", "g=x:gpu*1|y:tpu*1", nothing, Code::NotFound,
                    "claim ns/0: request g/y: there is no DeviceClass tpu; create it, or name another one"},
        RefusalCase{"SelectorOfTheClass", "g=lists*1", nothing, Code::Invalid,
                    "claim ns/0: request g: DeviceClass lists: selector `[1, 2].exists(x, x == 1)`: "},
        RefusalCase{"SelectorOfTheRequest", "g=gpu*1",
                    [](model::ResourceClaim& c) { c.requests[0].ways[0].selectors = {"1 == 'a'"}; },
                    Code::Invalid, "claim ns/0: request g: selector `1 == 'a'`: "},
        RefusalCase{"AdminAccess", "g=gpu*1",
                    [](model::ResourceClaim& c) { c.requests[0].ways[0].unsupported = "adminAccess"; },
                    Code::Invalid, "claim ns/0: request g: adminAccess is not served; leave it out"},
        RefusalCase{"NoWay", "g=gpu*1", [](model::ResourceClaim& c) { c.requests[0].ways.clear(); },
                    Code::Invalid,
                    "claim ns/0: request g says neither exactly nor firstAvailable; write one of them"},
        RefusalCase{"NoCount", "g=gpu*0", nothing, Code::Invalid,
                    "claim ns/0: request g: count 0 is not served; write at least 1"},
        RefusalCase{"Constraint", "g=gpu*1 match:numa",
                    [](model::ResourceClaim& c) { c.constraints[0].unsupported = "mostAttribute"; },
                    Code::Invalid,
                    "claim ns/0: constraint 0: mostAttribute is not served; write matchAttribute or "
                    "distinctAttribute"},
        RefusalCase{
            "EmptyConstraint", "g=gpu*1 match:numa",
            [](model::ResourceClaim& c) { c.constraints[0].match = {}; }, Code::Invalid,
            "claim ns/0: constraint 0: write either matchAttribute or distinctAttribute, as \"domain/name\""},
        RefusalCase{
            "TwoConstraintsInOne", "g=gpu*1 match:numa",
            [](model::ResourceClaim& c) {
              c.constraints[0].distinct = {"d", "numa"};
            },
            Code::Invalid,
            "claim ns/0: constraint 0: write either matchAttribute or distinctAttribute, as \"domain/name\""},
        RefusalCase{
            "TooMany", "g=gpu*20 h=gpu*13", nothing, Code::Invalid,
            "claim ns/0: its requests need more than 32 devices; ask for fewer, or make several claims"},
        RefusalCase{
            "FarTooMany", "g=gpu*9223372036854775807", nothing, Code::Invalid,
            "claim ns/0: its requests need more than 32 devices; ask for fewer, or make several claims"}),
    [](const auto& info) { return std::string{info.param.name}; });

TEST(ClaimPlanTest, ALargeWayIsNoErrorBesideASmallOne) {
  EXPECT_TRUE(testPlan(testClaims("g=x:gpu*40|y:gpu*20 h=gpu*12")));
  EXPECT_TRUE(testPlan(testClaims("g=x:gpu*20|y:gpu*40 h=gpu*12")));
  EXPECT_FALSE(testPlan(testClaims("g=x:gpu*40|y:gpu*21 h=gpu*12")));
}

TEST(ClaimPlanTest, EachClaimHasItsOwnLimit) { EXPECT_TRUE(testPlan(testClaims("g=gpu*32; g=gpu*32"))); }

}  // namespace
}  // namespace gs::dra
