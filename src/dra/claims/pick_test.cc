// Which devices are chosen, and what ends a search. That Kubernetes chooses so too is shown by
// test/dra/compare-allocations.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "dra/claims/claim_plan.h"
#include "dra/claims/test_claims.h"

namespace gs::dra {
namespace {

constexpr std::uint64_t kPlenty = 1'000'000;

struct PickCase {
  const char* name;
  const char* node;
  const char* claims;
  const char* expected;
};
class PickTest : public testing::TestWithParam<PickCase> {};

TEST_P(PickTest, Answers) {
  const TestNode node{GetParam().node};
  const auto plan = testPlan(testClaims(GetParam().claims));
  ASSERT_TRUE(plan) << plan.error().message;
  std::uint64_t steps = kPlenty;
  EXPECT_EQ(textOf(plan->pick(node.candidates, steps)), GetParam().expected);
}

const auto kNameOf = [](const auto& info) { return std::string{info.param.name}; };

INSTANTIATE_TEST_SUITE_P(
    Counts, PickTest,
    testing::Values(PickCase{"FromTheEnd", "gpu-0; gpu-1; gpu-2", "g=gpu*2", "g:gpu-2 g:gpu-1"},
                    PickCase{"NotWhatIsTaken", "gpu-0; gpu-1; gpu-2 taken", "g=gpu*2", "g:gpu-1 g:gpu-0"},
                    PickCase{"OfItsClass", "gpu-0; nic-0", "g=gpu*1", "g:gpu-0"},
                    PickCase{"ClassAndSelectorBothHold", "gpu-0 numa=0; nic-0 numa=0; gpu-1 numa=1",
                             "g=gpu*1?numa==0", "g:gpu-0"},
                    PickCase{"OnceInAPod", "gpu-0; gpu-1", "g=gpu*1 h=gpu*1; g=gpu*1",
                             "each request finds devices, but they are not enough for all of them"},
                    PickCase{"NoClaims", "gpu-0", "", ""},
                    PickCase{"AClaimWithoutRequestsHasNothing", "gpu-0", "empty; g=gpu*1; empty",
                             "nothing; g:gpu-0; nothing"},
                    PickCase{"ClaimsThatAreAlike", "nic-0 numa=0; nic-1 numa=1; gpu-1 numa=1; gpu-0 numa=0",
                             "g=gpu*1 n=nic*1 match:numa; g=gpu*1 n=nic*1 match:numa",
                             "g:gpu-0 n:nic-0; g:gpu-1 n:nic-1"},
                    PickCase{"ClaimsThatDifferByTheirConstraints",
                             "nic-1 slot=1; nic-0 numa=0; gpu-0 numa=0; gpu-1 slot=1",
                             "g=gpu*1 n=nic*1 match:numa; g=gpu*1 n=nic*1 match:slot",
                             "g:gpu-0 n:nic-0; g:gpu-1 n:nic-1"},
                    PickCase{"RequestsThatDifferByWhatTheyTolerate", "gpu-0; gpu-1 taint=k:NoSchedule",
                             "a=gpu*1 b=gpu*1~k", "a:gpu-0 b:gpu-1"},
                    PickCase{"RequestsThatDifferByTheirConstraints", "gpu-0 numa=0; gpu-1",
                             "a=gpu*1 b=gpu*1 match:numa@a", "a:gpu-0 b:gpu-1"},
                    PickCase{"AnEarlierChoiceIsTakenBack", "gpu-0; nic-0", "a=any*1 n=nic*1",
                             "a:gpu-0 n:nic-0"},
                    PickCase{"AlsoOfAnotherClaim", "gpu-0; nic-0", "a=any*1; n=nic*1", "a:gpu-0; n:nic-0"}),
    kNameOf);

INSTANTIATE_TEST_SUITE_P(
    All, PickTest,
    testing::Values(PickCase{"EveryOne", "gpu-0; nic-0; gpu-1", "g=gpu*all", "g:gpu-1 g:gpu-0"},
                    PickCase{"NoneOfThem", "nic-0", "g=gpu*all",
                             "request g of claim ns/0 needs all devices of class gpu, none matches"},
                    PickCase{"OneIsTaken", "gpu-0; gpu-1 taken", "g=gpu*all",
                             "request g of claim ns/0 needs all devices of class gpu, 1 of them is free (of "
                             "2 that match 1 is not free)"},
                    PickCase{"OneIsTainted", "gpu-0; gpu-1 taint=broken:NoExecute", "g=gpu*all",
                             "request g of claim ns/0 needs all devices of class gpu, 1 of them is free (of "
                             "2 that match 1 is tainted)"},
                    PickCase{"OneIsNotServed", "gpu-0; gpu-1 part", "g=gpu*all",
                             "request g of claim ns/0 needs all devices of class gpu, 1 of them is free (of "
                             "2 that match 1 is not "
                             "served (consumesCounters))"},
                    PickCase{"AnotherRequestHasOne", "gpu-0; gpu-1", "a=gpu*1 g=gpu*all",
                             "each request finds devices, but they are not enough for all of them"},
                    PickCase{"AConstraintEndsTheSearch", "gpu-0 numa=0; gpu-1 numa=1", "g=gpu*all match:numa",
                             "request g of claim ns/0 asks for all devices, and gpu-0 does not meet a "
                             "constraint with the others"},
                    PickCase{"SoItDoesInAWay", "gpu-0 numa=0; gpu-1 numa=1", "g=x:gpu*all|y:gpu*1 match:numa",
                             "request g/x of claim ns/0 asks for all devices, and gpu-0 does not meet a "
                             "constraint with the others"}),
    kNameOf);

INSTANTIATE_TEST_SUITE_P(Ways, PickTest,
                         testing::Values(PickCase{"TheFirstThatCanBe", "gpu-0; gpu-1",
                                                  "g=big:gpu*4|small:gpu*1|least:nic*1", "g/small:gpu-1"},
                                         PickCase{"ALaterOneForTheSakeOfAnotherRequest", "gpu-0; gpu-1",
                                                  "g=two:gpu*2|one:gpu*1 h=gpu*1", "g/one:gpu-1 h:gpu-0"},
                                         PickCase{"DevicesOfTheRequestBeforeGoFirst", "gpu-0; gpu-1; nic-0",
                                                  "h=any*1 g=two:gpu*2|one:gpu*1",
                                                  "h:nic-0 g/two:gpu-1 g/two:gpu-0"},
                                         PickCase{"NoneOfThem", "gpu-0", "g=big:gpu*4|nics:nic*1",
                                                  "request g/big of claim ns/0 needs 4 devices of class gpu, "
                                                  "1 is free; request g/nics of claim ns/0 needs "
                                                  "devices of class nic, none matches"},
                                         PickCase{"AWayThatIsTooLargeForTheClaim", "gpu-0; gpu-1",
                                                  "g=big:gpu*33|small:gpu*1", "g/small:gpu-1"}),
                         kNameOf);

INSTANTIATE_TEST_SUITE_P(
    Constraints, PickTest,
    testing::Values(
        PickCase{"Match", "gpu-0 numa=0; gpu-1 numa=1; gpu-2 numa=0", "g=gpu*2 match:numa",
                 "g:gpu-2 g:gpu-0"},
        PickCase{"MatchTakesAChoiceBack", "gpu-0 numa=0; gpu-1 numa=0; gpu-2 numa=1", "g=gpu*2 match:numa",
                 "g:gpu-1 g:gpu-0"},
        PickCase{"MatchOverRequests", "gpu-0 numa=0; nic-0 numa=0; gpu-1 numa=1",
                 "g=gpu*1 n=nic*1 match:numa", "g:gpu-0 n:nic-0"},
        PickCase{"MatchOfOneRequestOnly", "gpu-0 numa=0; nic-0 numa=0; gpu-1 numa=1",
                 "g=gpu*1 n=nic*1 match:numa@g", "g:gpu-1 n:nic-0"},
        PickCase{"MatchNeedsTheAttribute", "gpu-0 numa=0; gpu-1", "g=gpu*1 match:numa", "g:gpu-0"},
        PickCase{"MatchIsOfOneClaim", "gpu-0 numa=0; gpu-1 numa=1", "g=gpu*1 match:numa; g=gpu*1 match:numa",
                 "g:gpu-1; g:gpu-0"},
        PickCase{"Distinct", "gpu-0 numa=0; gpu-1 numa=1; gpu-2 numa=1", "g=gpu*2 distinct:numa",
                 "g:gpu-2 g:gpu-0"},
        PickCase{"NoneOfThem", "gpu-0 numa=0; gpu-1 numa=1", "g=gpu*2 match:numa",
                 "each request finds devices, but no choice of them serves all and meets matchAttribute "
                 "d/numa of claim "
                 "ns/0"},
        PickCase{"ByTheNameOfARequestAllItsWays", "gpu-0 numa=0; gpu-1 numa=1; gpu-2 numa=0",
                 "g=x:gpu*2|y:gpu*1 match:numa@g", "g/x:gpu-2 g/x:gpu-0"},
        PickCase{"ByTheNameOfAWay", "gpu-0 numa=0; gpu-1 numa=1", "g=x:gpu*2|y:gpu*1 match:numa@g/y",
                 "g/x:gpu-1 g/x:gpu-0"},
        PickCase{"ByTheNameOfTheWayThatIsTaken", "gpu-0 numa=0; gpu-1 numa=1; gpu-2 numa=0",
                 "g=x:gpu*2|y:gpu*1 match:numa@g/x", "g/x:gpu-2 g/x:gpu-0"},
        PickCase{"DistinctFromEachOther", "gpu-0 numa=0; gpu-1 numa=1; gpu-2 numa=0", "g=gpu*3 distinct:numa",
                 "each request finds devices, but no choice of them serves all and meets distinctAttribute "
                 "d/numa of "
                 "claim ns/0"},
        PickCase{"AListMeetsItAlone", "gpu-0 numa=0; gpu-1 list=numa", "g=gpu*1 match:numa", "g:gpu-1"},
        PickCase{"AListMeetsNoOther", "gpu-0 list=numa; gpu-1 list=numa; gpu-2 numa=0",
                 "g=gpu*2 distinct:numa",
                 "each request finds devices, but no choice of them serves all and meets distinctAttribute "
                 "d/numa of "
                 "claim ns/0"}),
    kNameOf);

INSTANTIATE_TEST_SUITE_P(
    Taints, PickTest,
    testing::Values(
        PickCase{"NoSchedule", "gpu-0; gpu-1 taint=broken:NoSchedule", "g=gpu*1", "g:gpu-0"},
        PickCase{"NoExecute", "gpu-0; gpu-1 taint=broken:NoExecute", "g=gpu*1", "g:gpu-0"},
        PickCase{"None", "gpu-0; gpu-1 taint=broken:None", "g=gpu*1", "g:gpu-1"},
        PickCase{"ByARule", "gpu-0; gpu-1 laid=broken:NoSchedule", "g=gpu*1", "g:gpu-0"},
        PickCase{"Tolerated", "gpu-0; gpu-1 taint=broken:NoSchedule", "g=gpu*1~broken", "g:gpu-1"},
        PickCase{"AnotherIsTolerated", "gpu-0; gpu-1 taint=broken:NoSchedule", "g=gpu*1~old", "g:gpu-0"},
        PickCase{"TooFew", "gpu-0 taken; gpu-1 taint=broken:NoSchedule; gpu-2; gpu-3 part", "g=gpu*2",
                 "request g of claim ns/0 needs 2 devices of class gpu, 1 is free (of 4 that match 1 is not "
                 "free, 1 is "
                 "tainted, 1 is not served (consumesCounters))"}),
    kNameOf);

constexpr const char* kFails =
    "selector `device.attributes['d'].odd == 1` fails on device d/p/gpu-1: no such key: odd";
INSTANTIATE_TEST_SUITE_P(
    Faults, PickTest,
    testing::Values(PickCase{"OfADeviceThatIsLookedAt", "gpu-0 odd=1; gpu-1; gpu-2 odd=0", "g=odd*1", kFails},
                    PickCase{"NotOfOneThatIsNot", "gpu-0; gpu-1; gpu-2 odd=1", "g=odd*1", "g:gpu-2"},
                    PickCase{"NotOfOneThatIsTaken", "gpu-0 odd=1; gpu-1 taken; gpu-2 taken", "g=odd*1",
                             "g:gpu-0"},
                    PickCase{"AllLooksAtAll", "gpu-0 odd=1; gpu-1 taken; gpu-2 odd=1", "g=odd*all", kFails},
                    PickCase{"ItEndsTheSearchAlsoWhereAnotherWayIsThere", "gpu-0; gpu-1; gpu-2 odd=0",
                             "g=x:odd*1|y:gpu*1", kFails},
                    PickCase{"NotInAWayThatIsNotTried", "gpu-0; gpu-1", "g=y:gpu*1|x:odd*1", "g/y:gpu-1"},
                    PickCase{"ItIsMetOnTheWayBack", "gpu-0; gpu-1; nic-0 odd=1", "o=odd*1 n=nic*1", kFails},
                    // gpu-1 was another request's at first, and the NICs never were enough.
                    PickCase{"NoShortcutMissesIt", "gpu-0 odd=1; gpu-1", "a=any*1 o=odd*1 n=nic*1", kFails},
                    PickCase{"NorThatOfAll", "nic-0; gpu-0 numa=0; gpu-1 numa=1",
                             "a=any*1 g=gpu*all n=nic*2 match:numa@g",
                             "request g of claim ns/0 asks for all devices, and gpu-0 does not meet a "
                             "constraint with the others"}),
    kNameOf);

TEST(PickTest, ADeviceThatATaintKeepsOffAndAToleration) {
  struct {
    const char* what;
    model::Toleration toleration;
    bool fits;
  } const cases[] = {
      {"key and value", {"k", "v", "", false}, true},
      {"another value", {"k", "w", "", false}, false},
      {"another key", {"x", "v", "", false}, false},
      {"any key of that value", {"", "v", "", false}, true},
      {"any taint", {"", "", "", true}, true},
      {"any of that effect", {"", "", "NoExecute", true}, true},
      {"another effect", {"", "", "NoSchedule", true}, false},
  };
  const TestNode node{"gpu-0 taint=k:NoExecute"};
  for (const auto& one : cases) {
    auto claims = testClaims("g=gpu*1");
    claims[0].requests[0].ways[0].tolerations = {one.toleration};
    std::uint64_t steps = kPlenty;
    EXPECT_EQ(testPlan(claims)->pick(node.candidates, steps).fits(), one.fits) << one.what;
  }
}

TEST(PickTest, AllWaitsForAPoolThatIsNotWhole) {
  const TestNode node{"gpu-0; gpu-1"};
  std::uint64_t steps = kPlenty;
  const Picked all =
      testPlan(testClaims("g=gpu*all"))->pick(node.candidates, steps, "pool q has 1 of 2 slices");
  EXPECT_EQ(all.lack, Lack::Fault);
  EXPECT_EQ(all.why,
            "request g of claim ns/0 asks for all devices, but not all are known: pool q has 1 of 2 slices");
  EXPECT_TRUE(testPlan(testClaims("g=gpu*1"))->pick(node.candidates, steps, "pool q").fits());
}

// After 17 devices Kubernetes knows at once that 17 more are too many. So it asks a selector about no other
// device then, neither for the second request nor for the first one.
TEST(PickTest, ManyDevicesOfAClaim) {
  std::string text = "gpu-0;";
  for (int i = 1; i < 20; ++i) { text += "gpu-" + std::to_string(i) + " odd=1;"; }
  const TestNode node{text};
  std::uint64_t steps = kPlenty;
  for (const char* claims : {"a=x:gpu*17|y:gpu*1 o=odd*17", "a=x:odd*17|y:gpu*1 o=gpu*17"}) {
    const Picked picked = testPlan(testClaims(claims))->pick(node.candidates, steps);
    EXPECT_TRUE(picked.fits()) << claims << ": " << picked.why;
  }
  const Picked all = testPlan(testClaims("g=gpu*all h=gpu*13"))->pick(node.candidates, steps);
  EXPECT_EQ(all.why, "claim ns/0 needs more than 32 devices on this node");
}

TEST(PickTest, EachLackHasItsKind) {
  const TestNode node{"gpu-0 numa=0; gpu-1 numa=1"};
  const auto lackOf = [&node](const char* claims, std::uint64_t steps) {
    return testPlan(testClaims(claims))->pick(node.candidates, steps).lack;
  };
  EXPECT_EQ(lackOf("g=gpu*2", kPlenty), Lack::None);
  EXPECT_EQ(lackOf("g=gpu*3", kPlenty), Lack::Devices);
  EXPECT_EQ(lackOf("g=gpu*2 match:numa", kPlenty), Lack::Together);
  EXPECT_EQ(lackOf("g=odd*1", kPlenty), Lack::Fault);
  EXPECT_EQ(lackOf("g=gpu*2", 3), Lack::Steps);
}

/// "gpu-0 numa=0; gpu-1 numa=0; ..." with so many devices; `first` of them are of numa 0, the others of 1.
std::string gpus(int count, int first) {
  std::string out;
  for (int i = 0; i < count; ++i) {
    out += "gpu-" + std::to_string(i) + (i < first ? " numa=0;" : " numa=1;");
  }
  return out;
}

std::string repeated(const char* claim, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) { out += std::string{claim} + ";"; }
  return out;
}

TEST(PickTest, OrdinaryCasesTakeFewSteps) {
  const std::string pairs =
      "gpu-0 numa=0; nic-0 numa=0; gpu-1 numa=1; nic-1 numa=1; gpu-2 numa=2; nic-2 numa=2;"
      "gpu-3 numa=3; nic-3 numa=3; gpu-4 numa=4; nic-4 numa=4; gpu-5 numa=5; nic-5 numa=5";
  struct {
    const char* what;
    std::string node;
    std::string claims;
    Lack lack;
    std::uint64_t most;
  } const cases[] = {
      {"8 of 8", gpus(8, 4), "g=gpu*8", Lack::None, 50},
      {"16 of 16", gpus(16, 8), "g=gpu*16", Lack::None, 200},
      {"8 of one node", gpus(16, 8), "g=gpu*8 match:numa", Lack::None, 200},
      {"8 of one node, which has 7", gpus(16, 7) + "nic-0 numa=0", "g=gpu*10 match:numa", Lack::Together,
       1000},
      {"16 of one node, which has 15", gpus(16, 15), "g=gpu*16 match:numa", Lack::Together, 1000},
      {"distinct beyond the values", gpus(16, 8), "g=gpu*3 distinct:numa", Lack::Together, 3000},
      {"8 GPUs and a NIC that is not there", gpus(16, 8), "g=gpu*8 n=nic*1", Lack::Devices, 3000},
      {"8 GPUs of one node, the NIC is on the other", gpus(16, 8) + "nic-0 numa=0",
       "g=gpu*8 n=nic*1 match:numa", Lack::None, 2000},
      {"8 requests, 7 GPUs", gpus(7, 7), "a=gpu*1 b=gpu*1 c=gpu*1 d=gpu*1 e=gpu*1 f=gpu*1 g=gpu*1 h=gpu*1",
       Lack::Together, 2000},
      {"16 claims, 15 GPUs", gpus(15, 15), repeated("g=gpu*1", 16), Lack::Together, 3000},
      {"16 claims, 16 GPUs", gpus(16, 16), repeated("g=gpu*1", 16), Lack::None, 1000},
      {"6 claims of a GPU with its NIC", pairs, repeated("g=gpu*1 n=nic*1 match:numa", 6), Lack::None, 5000},
      {"7 claims of a GPU with its NIC", pairs, repeated("g=gpu*1 n=nic*1 match:numa", 7), Lack::Together,
       10000},
      {"7 claims, one GPU without its NIC", pairs + "; gpu-6 numa=6; nic-6 numa=7",
       repeated("g=gpu*1 n=nic*1 match:numa", 7), Lack::Together, 10000},
  };
  for (const auto& one : cases) {
    const TestNode node{one.node};
    std::uint64_t steps = kPlenty;
    const Picked picked = testPlan(testClaims(one.claims))->pick(node.candidates, steps);
    EXPECT_EQ(picked.lack, one.lack) << one.what << ": " << textOf(picked);
    EXPECT_LE(kPlenty - steps, one.most) << one.what;
  }
}

// The count of what may do looks at three devices, and then the choice; of one a selector is evaluated.
TEST(PickTest, ADeviceLookedAtIsAStepAndASelectorIsOne) {
  const TestNode node{"gpu-0; gpu-1 taken; gpu-2 taken"};
  std::uint64_t steps = kPlenty;
  EXPECT_TRUE(testPlan(testClaims("g=gpu*1"))->pick(node.candidates, steps).fits());
  EXPECT_EQ(kPlenty - steps, 3U + 3U + 1U);
}

TEST(PickTest, ItEndsWhenTheStepsAreUsedUp) {
  const TestNode node{gpus(16, 8)};
  const auto plan = testPlan(testClaims("g=gpu*8 n=nic*1 match:numa"));
  for (std::uint64_t had = 0; had < 400; ++had) {
    std::uint64_t steps = had;
    const Picked picked = plan->pick(node.candidates, steps);
    if (picked.lack != Lack::Steps) { continue; }
    EXPECT_EQ(steps, 0U);
    EXPECT_EQ(picked.why, "could not be decided within " + std::to_string(had) + " steps");
  }
  std::uint64_t none = 0;
  EXPECT_EQ(plan->pick(node.candidates, none).lack, Lack::Steps);
}

// The search ends after 2 steps, one for each device; the reason takes 2 more, one for each selector.
TEST(PickTest, WithoutStepsForTheReasonItSaysLess) {
  const TestNode node{"gpu-0 taken; gpu-1 taken"};
  const auto plan = testPlan(testClaims("g=gpu*1"));
  std::uint64_t steps = 2;
  const Picked picked = plan->pick(node.candidates, steps);
  EXPECT_EQ(picked.lack, Lack::Together);
  EXPECT_EQ(picked.why, "no choice of free devices serves the claims");
  steps = 4;
  EXPECT_EQ(plan->pick(node.candidates, steps).lack, Lack::Devices);
}

/// What a message about many nodes says: the same words for those that lack the same, and numbers apart.
TEST(PickTest, SaysBrieflyWhatANodeLacks) {
  const auto brief = [](const char* node, const char* claims) {
    const TestNode there{node};
    const auto asked = testClaims(claims);
    std::uint64_t steps = 1'000;
    const Picked picked = testPlan(asked)->pick(there.candidates, steps);
    return fmt::format("{} {}/{}", picked.brief, picked.have, picked.need);
  };
  EXPECT_EQ(brief("gpu-0; gpu-1 taken", "g=gpu*2"),
            "request g of claim ns/0 needs 2 devices of class gpu 1/2");
  EXPECT_EQ(brief("nic-0", "g=gpu*2"),
            "request g of claim ns/0 needs devices of class gpu and none matches 0/0");
  EXPECT_EQ(brief("gpu-0 taken", "g=gpu*all"),
            "request g of claim ns/0 needs all devices of class gpu and not all are free 0/0");
  EXPECT_EQ(brief("gpu-0 taken", "g=a:gpu*2|b:gpu*1"),
            "request g of claim ns/0 needs devices in one of 2 ways and finds too few for each 0/0");
  EXPECT_EQ(brief("gpu-7", "g=odd*1"),
            "selector `device.attributes['d'].odd == 1` fails on a device: no such key: odd 0/0");
  EXPECT_EQ(brief("gpu-0; gpu-1", "a=gpu*1 g=gpu*all"),
            "each request finds devices, but they are not enough for all of them 0/0");
}

}  // namespace
}  // namespace gs::dra
