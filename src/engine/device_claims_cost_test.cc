// What claims for devices, and their selectors, may cost.
#include <limits>

#include "engine/device_claims.h"
#include "engine/device_claims_hand_test.h"

namespace gs::engine {
namespace {

/// A look costs what it takes: longer selectors more.
TEST_F(DeviceClaimsTest, WhatALookTakesIsCounted) {
  const auto stepsOf = [&](const std::string& selector) {
    claimComes(claim("c", {{"r", {way(1, selector)}}}));
    return asked(PodBuilder("p").resourceClaim("c")).selection->pick(kNode, {0, 1, 2, 3}, {}).steps;
  };
  const auto little = stepsOf("device.driver != 'x'");
  EXPECT_GE(little, 4U * 256);
  EXPECT_GE(stepsOf("device.driver != '" + std::string(4'000, 'x') + "'"), little + 4 * 1'900);
}

/// So does reading them, and giving devices: by steps, so that who does it for many knows when to stop.
TEST_F(DeviceClaimsTest, WhatReadingAndGivingTakeIsCounted) {
  const auto pod = PodBuilder("p").resourceClaim("c");
  auto& claims = engine.deviceClaims();
  const auto readingTakes = [&](const std::string& selector) {
    claimComes(claim("c", {{"r", {way(1, selector)}}}));
    const auto before = claims.steps();
    EXPECT_NE(asked(pod).selection, nullptr) << selector;
    return claims.steps() - before;
  };
  const auto little = readingTakes("device.driver != 'x'");
  EXPECT_GE(readingTakes("device.driver != '" + std::string(4'000, 'x') + "'"), little + 8 * 3'900);
  EXPECT_GE(readingTakes("!device.driver.matches('[ab]{1000}')"), little + 256 * 900);
  const auto before = claims.steps();
  const auto looks = engine.looks();
  EXPECT_EQ(claims.give(pod.value(), kNode, {0}).size(), 1U);
  EXPECT_GE(claims.steps(), before + 4 * 256);
  EXPECT_GT(engine.looks(), looks);
}

TEST_F(DeviceClaimsTest, WhatSelectorsCostIsCounted) {
  const auto pod = PodBuilder("p").resourceClaim("c");
  const auto stepsOf = [&](const std::string& pattern) {
    claimComes(
        claim("c", {{"r", {way(1, "!'" + std::string(300, 'a') + "'.matches('" + pattern + "') || true")}}}));
    return asked(pod).selection->pick(kNode, {0, 1, 2, 3}, {}).steps;
  };
  EXPECT_GE(stepsOf("b{999}"), stepsOf("bbbbbb") + 900 * 300 / 4);
}

TEST_F(DeviceClaimsTest, PatternsThatAreLargeTogetherAreRefusedByTheirSelector) {
  const auto pod = PodBuilder("p").resourceClaim("c");
  std::vector<model::DevicesRequest> requests;
  for (int i = 0; i < 5; ++i) {
    const std::string count = std::to_string(996 + i);
    requests.push_back({std::to_string(i), {way(1, "device.driver.matches('[ab]{" + count + "}')")}});
  }
  claimComes(claim("c", requests));
  const std::string why = blocked(pod);
  EXPECT_EQ(
      why.find(
          "ResourceClaimNotServed: claim c: request 4: selector `device.driver.matches('[ab]{1000}')`: "),
      0U)
      << why;
}

TEST_F(DeviceClaimsTest, WaysAreBoundedInAll) {
  const auto pod = PodBuilder("p").resourceClaim("c").resourceClaim("d");
  const auto ways = [&](std::size_t count) {
    model::DevicesRequest out{"r", {}};
    for (std::size_t i = 0; i < count; ++i) { out.ways.push_back(way(1, "", "w" + std::to_string(i))); }
    return out;
  };
  claimComes(claim("c", {ways(512)}));
  claimComes(claim("d", {}));
  EXPECT_NE(asked(pod).selection, nullptr);
  claimComes(claim("d", {ways(1)}));
  EXPECT_EQ(blocked(pod),
            "ResourceClaimNotServed: claim d: with it the pod's claims have 513 requests and ways of these, "
            "and 512 "
            "are served: ask for less at once");
}

/// Somebody annotates it, or a watch is begun anew: nobody who waits is read again, or looked at.
TEST_F(DeviceClaimsTest, AClassThatSaysTheSameChangesNothing) {
  const auto pod = PodBuilder("p").resourceClaim("c");
  comes(pod);
  claimComes(claim("c", {{"r", {way(1)}}}));
  const auto selection = asked(pod).selection;
  const auto steps = engine.deviceClaims().steps();
  (void)engine.takeTouched();
  classComes();
  EXPECT_FALSE(touched(pod));
  EXPECT_EQ(asked(pod).selection, selection);
  EXPECT_EQ(engine.deviceClaims().steps(), steps);
  classComes("true");
  EXPECT_TRUE(touched(pod));
  EXPECT_NE(asked(pod).selection, selection);
}

}  // namespace
}  // namespace gs::engine
