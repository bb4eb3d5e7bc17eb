// What claims may cost that somebody writes to do harm: by steps, not by time.
#include <gtest/gtest.h>

#include "dra/claims/plan.h"
#include "dra/claims/test_claims.h"

namespace gs::dra {
namespace {

constexpr std::uint64_t kSteps = 20'000;

std::string manyGpus(std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) { out += "gpu-" + std::to_string(i) + ";"; }
  return out;
}

/// Claims of one request that has this selector.
std::vector<model::ResourceClaim> selecting(const std::string& selector) {
  auto claims = testClaims("g=any*1");
  claims[0].requests[0].ways[0].selectors = {selector};
  return claims;
}

std::string abba(std::size_t bytes) {
  std::string out;
  while (out.size() < bytes) { out += "abba"; }
  return out;
}

/// It never matches, and its automaton outgrows its memory; for a text of 380 bytes it costs some 96,000.
const std::string kHostile = "'" + abba(380) + "'.matches('(a[ab]{999}|b)c')";

TEST(ClaimCost, OfALookIsBoundedByItsSteps) {
  const TestNode node{manyGpus(512)};
  std::uint64_t left = kSteps;
  const Picked picked = testPlan(selecting(kHostile))->pick(node.candidates, left);
  EXPECT_EQ(picked.lack, Lack::Steps);
  EXPECT_EQ(picked.why, "could not be decided within 20000 steps");
  EXPECT_GT(picked.cost, kSteps);
  EXPECT_LE(picked.cost, kSteps * kCostOfAStep + 2 * cel::kMaxCost) << "the last one may pass it";
  EXPECT_EQ(left, 0U);
}

TEST(ClaimCost, OfASelectorThatCostsTooMuchIsSaid) {
  const TestNode node{manyGpus(8)};
  const std::string selector = "'" + abba(4'000) + "'.matches('(a[ab]{999}|b)c') || true";
  std::uint64_t left = kSteps;
  const Picked picked = testPlan(selecting(selector))->pick(node.candidates, left);
  EXPECT_EQ(picked.lack, Lack::Fault);
  EXPECT_NE(picked.why.find("selector `" + selector + "` fails on device d/p/gpu-7: it costs too much"),
            std::string::npos)
      << picked.why;
}

/// What people write is decided, also among very many devices.
TEST(ClaimCost, OfWhatIsMeantWellIsFarFromThat) {
  const TestNode node{manyGpus(240)};
  for (const char* selector :
       {"device.attributes['d'].kind.matches('^.*(gpu|mig)-?[0-9]*$')",
        "device.attributes['d'].kind.lowerAscii().matches('(?i)a100|h100|h200') || device.driver == 'd'",
        "device.attributes['d'].kind in ['a', 'b', 'gpu'] && device.driver.startsWith('d')"}) {
    std::uint64_t left = kSteps;
    auto claims = selecting(selector);
    claims[0].requests[0].ways[0].count = 32;
    const Picked picked = testPlan(claims)->pick(node.candidates, left);
    EXPECT_TRUE(picked.fits()) << selector << ": " << picked.why;
    EXPECT_LE(kSteps - left, 4'000U) << selector;
  }
}

TEST(ClaimCost, PatternsOfAllRequestsTogetherAreBounded) {
  auto claims = testClaims("a=any*1 b=any*1 c=any*1; d=any*1 e=any*1");
  int n = 0;
  for (auto& claim : claims) {
    for (auto& request : claim.requests) {
      request.ways[0].selectors = {"'" + std::to_string(n++) + "'.matches('[ab]{1000}')"};
    }
  }
  std::size_t patterns = 0;
  std::vector<const model::ResourceClaim*> all{claims.data(), &claims[1]};
  const auto plan = ClaimPlan::read(all, testClasses(), &patterns);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, Code::Invalid);
  EXPECT_EQ(plan.error().message.find("claim ns/1: request e: selector `'4'.matches('[ab]{1000}')`: at 4: "),
            0U)
      << plan.error().message;
  EXPECT_EQ(patterns, cel::kMaxPatterns);
}

/// However many requests and ways have it, of whichever claim.
TEST(ClaimCost, ATextIsCompiledOnce) {
  std::string text;
  for (int claim = 0; claim < 32; ++claim) {
    for (int i = 0; i < 32; ++i) { text += "r" + std::to_string(i) + "=any*1 "; }
    text += ";";
  }
  auto claims = testClaims(text);
  std::vector<const model::ResourceClaim*> all;
  for (auto& claim : claims) {
    for (auto& request : claim.requests) {
      request.ways[0].selectors = {"device.attributes['d'].kind.matches('[ab]{1000}')"};
    }
    all.push_back(&claim);
  }
  ASSERT_EQ(all.size(), 32U);
  std::size_t patterns = 0;
  ASSERT_TRUE(ClaimPlan::read(all, testClasses(), &patterns));
  EXPECT_GE(patterns, 1'000U);
  EXPECT_LE(patterns, 1'100U);
}

}  // namespace
}  // namespace gs::dra
