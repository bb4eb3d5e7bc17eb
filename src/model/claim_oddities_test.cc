#include "model/claim_oddities.h"

#include <gtest/gtest.h>

namespace gs::model {
namespace {

std::string textsOf(const std::vector<ClaimOddity>& oddities) {
  std::string out;
  for (const auto& oddity : oddities) { out += oddity.text + "\n"; }
  return out;
}

struct SpecCase {
  const char* name;
  Policy policy;
  std::vector<int> ids;
  std::optional<TopologyMode> mode;
  std::int64_t bandwidth;
  const char* want;
};

TEST(ClaimOddities, AFieldThatNobodyReadsIsNamedWithItsRemedy) {
  const std::vector<int> many{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  const SpecCase cases[] = {
      {"nothing odd", Policy::Contiguous, {}, {}, 0, ""},
      {"ids with their policy", Policy::PreferIds, {3, 1}, {}, 0, ""},
      {"bandwidth with Required", Policy::Spread, {}, TopologyMode::Required, 300, ""},
      {"Required alone means one island", Policy::Spread, {}, TopologyMode::Required, 0, ""},
      {"ids without their policy",
       Policy::Contiguous,
       {3, 1},
       {},
       0,
       "spec.devices.preferIds [3,1] is ignored: spec.devices.policy is contiguous; set policy: preferIds, "
       "or "
       "remove preferIds\n"},
      {"ids beside spread, many",
       Policy::Spread,
       many,
       {},
       0,
       "spec.devices.preferIds [0,1,2,3,4,5,6,7,... 10 ids] is ignored: spec.devices.policy is spread; set "
       "policy: preferIds, or remove preferIds\n"},
      {"the policy without ids",
       Policy::PreferIds,
       {},
       {},
       0,
       "spec.devices.policy preferIds is ignored: spec.devices.preferIds names no GPU, so they are chosen as "
       "with contiguous; list their ids, or set policy: contiguous\n"},
      {"bandwidth that is only preferred",
       Policy::Contiguous,
       {},
       TopologyMode::Preferred,
       300,
       "spec.topology.minBandwidthGBps 300 is only preferred: spec.topology.mode is Preferred, so slower "
       "GPUs "
       "are given where no such are free; set mode: Required to wait for them\n"},
      {"bandwidth beside Ignore, and ids",
       Policy::Contiguous,
       {0},
       TopologyMode::Ignore,
       1,
       "spec.devices.preferIds [0] is ignored: spec.devices.policy is contiguous; set policy: preferIds, or "
       "remove preferIds\n"
       "spec.topology.minBandwidthGBps 1 is ignored: spec.topology.mode is Ignore; set mode: Required, or "
       "remove minBandwidthGBps\n"},
  };
  for (const auto& one : cases) {
    GpuClaim claim;
    claim.policy = one.policy;
    claim.prefer_ids = one.ids;
    claim.topology = one.mode;
    claim.min_bandwidth_gbps = one.bandwidth;
    const auto oddities = odditiesOfSpec(claim);
    EXPECT_EQ(textsOf(oddities), one.want) << one.name;
    for (const auto& oddity : oddities) {
      const bool is_wish = oddity.text.find("only preferred") != std::string::npos;
      EXPECT_EQ(oddity.reason, is_wish ? "ClaimFieldOnlyPreferred" : "ClaimFieldIgnored");
      EXPECT_TRUE(oddity.text.starts_with(oddity.about)) << oddity.about;
      EXPECT_LE(oddity.text.size(), 256U) << "as long as a warning should be at most";
    }
  }
}

}  // namespace
}  // namespace gs::model
