#include "engine/allocated_claims.h"

#include <gtest/gtest.h>

#include <memory>

#include "testing/builders.h"

namespace gs::engine {
namespace {

model::DeviceName gpu(const std::string& pool, int n) {
  return {"gpu.nvidia.com", pool, "gpu-" + std::to_string(n)};
}

model::ResourceClaim claimOf(const std::string& name, model::Revision revision,
                             std::vector<model::DeviceName> devices, std::vector<const char*> pods = {}) {
  model::ResourceClaim claim;
  claim.key = {"default", name};
  claim.uid = model::Uid{"uid-" + name};
  claim.revision = revision;
  claim.allocated = !devices.empty();
  for (auto& device : devices) { claim.results.push_back({"r", std::move(device)}); }
  for (const char* pod : pods) { claim.reserved_for.emplace_back(pod); }
  return claim;
}

model::Ptr<model::ResourceClaim> shared(model::ResourceClaim claim) {
  return std::make_shared<const model::ResourceClaim>(std::move(claim));
}

class AllocatedClaimsTest : public ::testing::Test {
 protected:
  AllocatedClaims::Holders lists(const std::string& node, int gpus, int first_id = 0) {
    model::GpuNodeStatus status = testing::makeStatus(node.c_str(), gpus);
    for (int i = 0; i < gpus; ++i) {
      status.devices[static_cast<std::size_t>(i)].id = first_id + i;
      status.devices[static_cast<std::size_t>(i)].dra = gpu(node, i);
    }
    return claims.nodeChanged(model::NodeName{node}, &status);
  }
  /// "a:0 a:1"
  std::string heldBy(const char* holder) {
    std::string out;
    for (const auto& [device, for_many] : claims.heldBy(model::Uid{holder})) {
      const auto& [node, id] = device;
      out += (out.empty() ? "" : " ") + node.text + ":" + std::to_string(id);
    }
    return out;
  }
  AllocatedClaims claims;
};

TEST_F(AllocatedClaimsTest, ItsPodsHoldWhatItIsAllocated) {
  lists("a", 4);
  EXPECT_EQ(claims.put(shared(claimOf("c", 1, {gpu("a", 1), gpu("a", 2)}, {"p", "q"}))),
            (AllocatedClaims::Holders{model::Uid{"p"}, model::Uid{"q"}}));
  EXPECT_EQ(heldBy("p"), "a:1 a:2");
  EXPECT_EQ(heldBy("q"), "a:1 a:2");
  EXPECT_EQ(heldBy("uid-c"), "");
}

TEST_F(AllocatedClaimsTest, WithoutPodsItsOwnerHoldsIt) {
  lists("a", 4);
  auto claim = claimOf("c", 1, {gpu("a", 1)});
  claim.owner_pod = model::Uid{"p"};
  claims.put(shared(claim));
  EXPECT_EQ(heldBy("p"), "a:1");
}

/// What was made for a pod is its own, also where it has that device by a claim of many besides.
TEST_F(AllocatedClaimsTest, WhatPodsNameTheyHoldTogether) {
  lists("a", 4);
  claims.put(shared(claimOf("c", 1, {gpu("a", 1), gpu("a", 2)}, {"p", "q"})));
  auto own = claimOf("own", 2, {gpu("a", 2), gpu("a", 3)}, {"p"});
  own.owner_pod = model::Uid{"p"};
  claims.put(shared(own));
  const model::NodeName a{"a"};
  EXPECT_EQ(claims.heldBy(model::Uid{"p"}),
            (std::map<AllocatedClaims::Device, bool>{{{a, 1}, true}, {{a, 2}, false}, {{a, 3}, false}}));
  EXPECT_EQ(claims.heldBy(model::Uid{"q"}),
            (std::map<AllocatedClaims::Device, bool>{{{a, 1}, true}, {{a, 2}, true}}));
}

TEST_F(AllocatedClaimsTest, OneThatIsNobodysHoldsForItself) {
  lists("a", 4);
  claims.put(shared(claimOf("c", 1, {gpu("a", 1)})));
  EXPECT_EQ(heldBy("uid-c"), "a:1");
}

TEST_F(AllocatedClaimsTest, WhoeverWaitsForItsOwnHearsOfEachChange) {
  auto claim = claimOf("c", 1, {});
  claim.owner_pod = model::Uid{"p"};
  EXPECT_TRUE(claims.put(shared(claim)).contains(model::Uid{"p"}));
  EXPECT_TRUE(claims.remove(claim.key, claim.uid).contains(model::Uid{"p"}));
}

TEST_F(AllocatedClaimsTest, LookingHoldsNothing) {
  lists("a", 4);
  auto claim = claimOf("c", 1, {gpu("a", 1)}, {"p"});
  claim.results.front().admin = true;
  claims.put(shared(claim));
  EXPECT_EQ(heldBy("p"), "");
  EXPECT_TRUE(claims.holding(gpu("a", 1)).empty());
}

// It may be patched at any time, and may be for very many pods.
TEST_F(AllocatedClaimsTest, WhatChangesNothingOfItConcernsItsOwnerOnly) {
  lists("a", 4);
  auto claim = claimOf("c", 1, {gpu("a", 1)}, {"p", "q"});
  claim.owner_pod = model::Uid{"o"};
  claims.put(shared(claim));
  claim.revision = 2;
  claim.reservation = "r";
  EXPECT_EQ(claims.put(shared(claim)), AllocatedClaims::Holders{model::Uid{"o"}});
  EXPECT_EQ(claims.put(shared(claim)),
            (AllocatedClaims::Holders{model::Uid{"o"}, model::Uid{"p"}, model::Uid{"q"}}))
      << "the watch brings what an answer said, which its pods may wait for";
}

TEST_F(AllocatedClaimsTest, ThoseThatWereNotServedForAMomentAreTheSameOnes) {
  lists("a", 4);
  const auto claim = shared(claimOf("c", 1, {gpu("a", 1)}, {"p"}));
  claims.put(claim);
  claims.remove(claim->key, claim->uid);
  claims.notServed();
  claims.put(claim);
  EXPECT_EQ(heldBy("p"), "a:1");
}

TEST_F(AllocatedClaimsTest, OlderVersionsAndThoseThatAreGoneSayNothing) {
  lists("a", 4);
  claims.put(shared(claimOf("c", 5, {}, {})));
  EXPECT_TRUE(claims.put(shared(claimOf("c", 4, {gpu("a", 1)}, {"p"}))).empty());
  EXPECT_EQ(heldBy("p"), "");
  claims.put(shared(claimOf("c", 6, {gpu("a", 1)}, {"p"})));
  EXPECT_EQ(heldBy("p"), "a:1");
  EXPECT_EQ(claims.remove({"default", "c"}, model::Uid{"uid-c"}), AllocatedClaims::Holders{model::Uid{"p"}});
  EXPECT_EQ(heldBy("p"), "");
  EXPECT_TRUE(claims.put(shared(claimOf("c", 7, {gpu("a", 1)}, {"p"}))).empty()) << "an answer that is late";
  EXPECT_EQ(claims.find({"default", "c"}), nullptr);
}

TEST_F(AllocatedClaimsTest, AnotherOfTheSameNameTakesItsPlace) {
  lists("a", 4);
  claims.put(shared(claimOf("c", 5, {gpu("a", 1)}, {"p"})));
  auto next = claimOf("c", 6, {gpu("a", 2)}, {"q"});
  next.uid = model::Uid{"another"};
  EXPECT_EQ(claims.put(shared(next)), (AllocatedClaims::Holders{model::Uid{"p"}, model::Uid{"q"}}));
  EXPECT_EQ(heldBy("p"), "");
  EXPECT_EQ(heldBy("q"), "a:2");
  EXPECT_TRUE(claims.put(shared(claimOf("c", 7, {gpu("a", 1)}, {"p"}))).empty()) << "of the first, and late";
  EXPECT_TRUE(claims.remove({"default", "c"}, model::Uid{"uid-c"}).empty()) << "the first one went";
  EXPECT_EQ(heldBy("q"), "a:2");
}

// A list says which are no longer there by their names.
TEST_F(AllocatedClaimsTest, OfOneThatIsNotListedLateVersionsSayNothing) {
  lists("a", 4);
  claims.put(shared(claimOf("c", 5, {gpu("a", 1)}, {"p"})));
  EXPECT_EQ(claims.remove({"default", "c"}, {}), AllocatedClaims::Holders{model::Uid{"p"}});
  EXPECT_TRUE(claims.put(shared(claimOf("c", 6, {gpu("a", 1)}, {"p"}))).empty());
  EXPECT_EQ(heldBy("p"), "");
}

// Claims and slices come by watches of their own.
TEST_F(AllocatedClaimsTest, ADeviceThatIsListedLaterIsHeldFromThenOn) {
  claims.put(shared(claimOf("c", 1, {gpu("a", 1)}, {"p"})));
  EXPECT_EQ(heldBy("p"), "");
  EXPECT_EQ(lists("a", 4), AllocatedClaims::Holders{model::Uid{"p"}});
  EXPECT_EQ(heldBy("p"), "a:1");
  EXPECT_EQ(lists("a", 4, 10), AllocatedClaims::Holders{model::Uid{"p"}}) << "other ids";
  EXPECT_EQ(heldBy("p"), "a:11");
  EXPECT_EQ(claims.nodeChanged(model::NodeName{"a"}, nullptr), AllocatedClaims::Holders{model::Uid{"p"}});
  EXPECT_EQ(heldBy("p"), "");
}

TEST_F(AllocatedClaimsTest, NodesThatStayAsTheyAreConcernNobody) {
  lists("a", 4);
  claims.put(shared(claimOf("c", 1, {gpu("a", 1)}, {"p"})));
  EXPECT_TRUE(lists("a", 4).empty());
  EXPECT_TRUE(lists("b", 4).empty());
}

TEST_F(AllocatedClaimsTest, TheClaimsOfADeviceAreFound) {
  claims.put(shared(claimOf("c", 1, {gpu("a", 1)}, {"p"})));
  claims.put(shared(claimOf("d", 2, {gpu("a", 1), gpu("a", 2)}, {"q"})));
  ASSERT_EQ(claims.holding(gpu("a", 1)).size(), 2U);
  EXPECT_EQ(claims.holding(gpu("a", 2)).at(0)->key.name, "d");
  claims.put(shared(claimOf("d", 3, {})));
  EXPECT_EQ(claims.holding(gpu("a", 1)).size(), 1U);
}

}  // namespace
}  // namespace gs::engine
