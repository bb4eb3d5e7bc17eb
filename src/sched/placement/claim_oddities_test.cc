#include "sched/placement/claim_oddities.h"

#include <gtest/gtest.h>

#include "testing/builders.h"

namespace gs::sched {
namespace {

using model::Policy;
using model::TopologyMode;

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

TEST(ClaimOdditiesTest, AFieldThatNobodyReadsIsNamedWithItsRemedy) {
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
    model::GpuClaim claim = testing::makeClaim("c");
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

testing::PodBuilder userOf(const std::string& name, const char* allocated) {
  return std::move(testing::PodBuilder(name).claim("c").on("node-a").allocated(allocated).running());
}

TEST(ClaimOdditiesTest, ACountIsOddWhileAPodRunsWithAnother) {
  ClaimUsers users{{"default", "c"}, 2};
  EXPECT_FALSE(oddityOfCount(users));
  users.add(userOf("as-it-says", "node-a:0,1").value());
  EXPECT_FALSE(oddityOfCount(users));
  users.add(userOf("p", "node-a:2").value());
  EXPECT_EQ(
      oddityOfCount(users),
      (ClaimOddity{"ClaimCountNotFollowed", "spec.devices.count is 2",
                   "spec.devices.count is 2 and 1 pod with another number of GPUs runs: p (1); a running "
                   "pod keeps what it was given: delete it and create it again"}));
  for (const char* name : {"z", "b", "a"}) { users.add(userOf(name, "node-a:4,5,6").value()); }
  EXPECT_EQ(oddityOfCount(users)->text,
            "spec.devices.count is 2 and 4 pods with another number of GPUs run: a (3), b (3), p (1) and 1 "
            "more; a running pod keeps what it was given: delete them and create them again");
  EXPECT_EQ(oddityOfCount(users)->about, "spec.devices.count is 2") << "whoever the pods are";
}

TEST(ClaimOdditiesTest, ADeletionNamesThreeOfThePodsThatHaveGpusByTheClaim) {
  ClaimUsers users{{"default", "c"}, 1};
  EXPECT_FALSE(oddityOfDeletion(users));
  users.add(userOf("p", "node-a:0").value());
  EXPECT_EQ(oddityOfDeletion(users),
            (ClaimOddity{"ClaimDeletedInUse", "deleted",
                         "gpuclaim \"c\" is deleted while 1 pod has GPUs by it: p; what runs keeps its GPUs "
                         "until it ends, and any other pod that names the claim waits: create it again for "
                         "those"}));
  for (int i = 0; i < 5; ++i) { users.add(userOf("many-" + std::to_string(i), "node-a:0").value()); }
  EXPECT_NE(oddityOfDeletion(users)->text.find(
                "while 6 pods have GPUs by it: many-0, many-1, many-2 and 3 more; what"),
            std::string::npos)
      << oddityOfDeletion(users)->text;
}

TEST(ClaimOdditiesTest, WhoHasNoGpusByTheClaimIsNoUser) {
  ClaimUsers users{{"default", "c"}, 8};
  model::Pod leaving = userOf("leaving", "node-a:0").value();
  leaving.deleting = true;
  model::Pod elsewhere = userOf("elsewhere", "node-a:0").value();
  elsewhere.key.ns = "team-a";
  users.add(leaving);
  users.add(elsewhere);
  users.add(testing::PodBuilder("waits").claim("c").value());
  users.add(testing::PodBuilder("given-nothing").claim("c").on("node-a").value());
  users.add(userOf("another-claim", "node-a:0").claim("d").value());
  users.add(userOf("another-node", "node-b:0").value());
  users.add(userOf("ended", "node-a:0").phase(model::PodPhase::Succeeded).value());
  EXPECT_FALSE(oddityOfDeletion(users));
  EXPECT_FALSE(oddityOfCount(users));
}

}  // namespace
}  // namespace gs::sched
