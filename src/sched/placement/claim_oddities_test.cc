#include "sched/placement/claim_oddities.h"

#include <gtest/gtest.h>

#include "testing/builders.h"

namespace gs::sched {
namespace {

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
