#include "engine/cache.h"

#include <gtest/gtest.h>

#include "testing/builders.h"

namespace gs::engine {
namespace {

using testing::PodBuilder;

class CacheTest : public ::testing::Test {
 protected:
  static model::Ptr<model::Lease> lease(const char* uid, model::Revision revision,
                                        std::vector<const char*> holders = {"a"}) {
    model::Lease l = testing::makeLease("node-a", 0, PodBuilder("p").uid(holders.at(0)).value(), "r", "");
    l.uid = model::Uid{uid};
    l.revision = revision;
    if (holders.size() > 1) {
      l.holder = "shared";
      l.pod_uid = {};
      for (const char* h : holders) { l.holders.push_back({model::Uid{h}, {"default", h}, 0, 0, {}, ""}); }
    }
    return std::make_shared<const model::Lease>(l);
  }
  static model::Ptr<model::GpuClaim> claim(const char* uid, model::Revision revision) {
    model::GpuClaim c = testing::makeClaim("c");
    c.uid = model::Uid{uid};
    c.revision = revision;
    return std::make_shared<const model::GpuClaim>(c);
  }
  static model::Ptr<model::GpuNodeStatus> status(const char* uid, model::Revision revision) {
    model::GpuNodeStatus s = testing::makeStatus("node-a", 1);
    s.uid = model::Uid{uid};
    s.revision = revision;
    return std::make_shared<const model::GpuNodeStatus>(s);
  }
  /// The uids of the pods of default/<claim>, one line.
  std::string podsOf(const char* claim, const char* ns = "default") {
    std::string text;
    for (const auto& [uid, pod] : cache.podsOfClaim({ns, claim})) { text += uid.text + " "; }
    return text;
  }
  std::size_t leasesOf(const char* pod) { return cache.leasesOf(model::Uid{pod}).size(); }
  model::Revision leaseRevision() { return cache.lease(key) == nullptr ? 0 : cache.lease(key)->revision; }

  const model::ObjectKey key{"default", "gpu-node-a-0"};
  const model::ObjectKey pod_key{"default", "p"};
  const model::ObjectKey claim_key{"default", "c"};
  const model::NodeName node{"node-a"};
  Cache cache;
};

TEST_F(CacheTest, NewsOfAPodThatAreNotNewerChangeNothing) {
  EXPECT_TRUE(cache.putPod(PodBuilder("p").uid("u").revision(5).make()).changed);
  for (const model::Revision revision : {4U, 5U}) {
    const auto change = cache.putPod(PodBuilder("p").uid("u").revision(revision).on("x").make());
    EXPECT_FALSE(change.changed);
    EXPECT_EQ(change.before->revision, 5U);
    EXPECT_FALSE(cache.pod(model::Uid{"u"})->bound());
  }
  const auto change = cache.putPod(PodBuilder("p").uid("u").revision(6).on("x").make());
  EXPECT_TRUE(change.changed);
  EXPECT_EQ(change.before->revision, 5U);
  EXPECT_TRUE(cache.pod(model::Uid{"u"})->bound());
}

TEST_F(CacheTest, NewsOfALeaseThatAreNotNewerChangeNothing) {
  EXPECT_TRUE(cache.putLease(lease("l", 5)).changed);
  for (const model::Revision revision : {4U, 5U}) {
    EXPECT_FALSE(cache.putLease(lease("l", revision, {"b"})).changed);
    EXPECT_EQ(cache.lease(key)->pod_uid, model::Uid{"a"});
  }
  EXPECT_EQ(cache.putLease(lease("l", 6, {"b"})).before->revision, 5U);
  EXPECT_EQ(cache.lease(key)->pod_uid, model::Uid{"b"});
}

TEST_F(CacheTest, ClaimsAndStatusesAreReplacedByNewerOnesOrByOthersOfTheName) {
  EXPECT_TRUE(cache.putClaim(claim("u", 5)));
  EXPECT_TRUE(cache.putStatus(status("u", 5)));
  for (const model::Revision revision : {4U, 5U}) { EXPECT_FALSE(cache.putClaim(claim("u", revision))); }
  EXPECT_FALSE(cache.putStatus(status("u", 5))) << "it says the same";
  EXPECT_TRUE(cache.putClaim(claim("u", 6)));
  EXPECT_TRUE(cache.putStatus(status("u", 6)));
  EXPECT_TRUE(cache.putClaim(claim("v", 3)));
  EXPECT_TRUE(cache.putStatus(status("v", 3)));
  EXPECT_EQ(cache.claim(claim_key)->uid, model::Uid{"v"});
  EXPECT_EQ(cache.status(node)->uid, model::Uid{"v"});
}

TEST_F(CacheTest, ClaimsAndStatusesThatWereRemovedMayComeBack) {
  cache.putClaim(claim("u", 5));
  cache.putStatus(status("u", 5));
  EXPECT_TRUE(cache.removeClaim(claim_key));
  EXPECT_TRUE(cache.removeStatus(node));
  EXPECT_FALSE(cache.removeClaim(claim_key));
  EXPECT_FALSE(cache.removeStatus(node));
  EXPECT_EQ(cache.claim(claim_key), nullptr);
  EXPECT_EQ(cache.status(node), nullptr);
  EXPECT_TRUE(cache.putClaim(claim("u", 5)));
  EXPECT_TRUE(cache.putStatus(status("u", 5)));
}

TEST_F(CacheTest, APodMadeAgainUnderItsNameIsAnotherPod) {
  cache.putPod(PodBuilder("p").uid("old").revision(5).claim("c").make());
  EXPECT_EQ(cache.putPod(PodBuilder("p").uid("new").revision(8).claim("c").make()).before, nullptr);
  EXPECT_EQ(cache.pod(model::Uid{"old"})->revision, 5U) << "until it is said to be gone";
  EXPECT_EQ(podsOf("c"), "new old ");
  EXPECT_EQ(cache.removePod(model::Uid{"old"})->revision, 5U);
  EXPECT_EQ(podsOf("c"), "new ");
  cache.removePod(model::Uid{"new"});
}

TEST_F(CacheTest, APodThatIsGoneNeverComesBack) {
  cache.putPod(PodBuilder("p").uid("u").revision(5).make());
  EXPECT_FALSE(cache.knownGone(model::Uid{"u"}));
  cache.removePod(model::Uid{"u"});
  EXPECT_EQ(cache.removePod(model::Uid{"never seen"}), nullptr);
  for (const char* uid : {"u", "never seen"}) {
    EXPECT_TRUE(cache.knownGone(model::Uid{uid}));
    EXPECT_FALSE(cache.putPod(PodBuilder("p").uid(uid).revision(99).claim("c").make()).changed);
    EXPECT_EQ(cache.pod(model::Uid{uid}), nullptr);
  }
  EXPECT_EQ(podsOf("c"), "");
}

TEST_F(CacheTest, ThePodsOfAClaimFollowTheirAnnotation) {
  cache.putPod(PodBuilder("p").uid("b").revision(1).claim("c").make());
  cache.putPod(PodBuilder("q").uid("a").revision(1).claim("c").make());
  cache.putPod(PodBuilder("r", "elsewhere").uid("r").revision(1).claim("c").make());
  cache.putPod(PodBuilder("s").uid("s").revision(1).claim("").make());
  cache.putPod(PodBuilder("t").uid("t").revision(1).make());
  EXPECT_EQ(podsOf("c"), "a b ");
  EXPECT_EQ(podsOf("c", "elsewhere"), "r ");
  EXPECT_EQ(podsOf(""), "");
  cache.putPod(PodBuilder("p").uid("b").revision(2).claim("d").make());
  EXPECT_EQ(podsOf("c"), "a ");
  EXPECT_EQ(podsOf("d"), "b ");
  cache.putPod(PodBuilder("p").uid("b").revision(3).make());
  EXPECT_EQ(podsOf("d"), "");
  cache.removePod(model::Uid{"a"});
  EXPECT_EQ(podsOf("c"), "");
}

TEST_F(CacheTest, TheLeasesOfAPodFollowTheHolders) {
  cache.putLease(lease("l", 5, {"a"}));
  EXPECT_EQ(cache.leasesOf(model::Uid{"a"}), std::set{key});
  cache.putLease(lease("l", 6, {"a", "b"}));
  EXPECT_EQ(leasesOf("a"), 1U);
  EXPECT_EQ(leasesOf("b"), 1U);
  EXPECT_EQ(leasesOf("shared"), 0U);
  cache.putLease(lease("l", 7, {"b", "c"}));
  EXPECT_EQ(leasesOf("a"), 0U);
  cache.removeLease(key, {}, 8);
  EXPECT_EQ(leasesOf("b"), 0U);
  EXPECT_EQ(leasesOf("c"), 0U);
}

TEST_F(CacheTest, AnAncestorsLeaseBelongsToItsHolderIdentity) {
  model::Lease l = *lease("l", 5);
  l.pod_uid = {};
  l.holder = "them";
  cache.putLease(std::make_shared<const model::Lease>(l));
  EXPECT_EQ(leasesOf("them"), 1U);
  l.holder = "";
  EXPECT_TRUE(l.uids().empty());
}

TEST_F(CacheTest, ALeaseThatWentComesBackOnlyWithAHigherRevision) {
  cache.putLease(lease("l", 5));
  EXPECT_EQ(cache.removeLease(key, model::Uid{"l"}, 8)->revision, 5U);
  for (const model::Revision revision : {5U, 8U}) {
    EXPECT_FALSE(cache.putLease(lease("l", revision)).changed);
    EXPECT_EQ(cache.lease(key), nullptr);
  }
  EXPECT_EQ(leasesOf("a"), 0U);
  EXPECT_TRUE(cache.putLease(lease("l", 9)).changed);
  EXPECT_EQ(leasesOf("a"), 1U);
}

TEST_F(CacheTest, ARemovalWithoutARevisionEndsWhatIsThere) {
  cache.putLease(lease("l", 5));
  EXPECT_NE(cache.removeLease(key, model::Uid{"l"}, 0), nullptr);
  EXPECT_FALSE(cache.putLease(lease("l", 5)).changed);
  EXPECT_TRUE(cache.putLease(lease("l", 6)).changed);
}

TEST_F(CacheTest, ARemovalThatIsLateEndsNothing) {
  cache.putLease(lease("l", 9));
  EXPECT_EQ(cache.removeLease(key, model::Uid{"l"}, 8), nullptr);
  EXPECT_EQ(cache.removeLease(key, {}, 8), nullptr);
  EXPECT_EQ(leaseRevision(), 9U);
  EXPECT_EQ(leasesOf("a"), 1U);
}

TEST_F(CacheTest, ARemovalOfAnotherLeaseOfTheNameIsRememberedAndEndsNothing) {
  cache.putLease(lease("new", 7));
  EXPECT_EQ(cache.removeLease(key, model::Uid{"old"}, 9), nullptr);
  EXPECT_EQ(leaseRevision(), 7U);
  EXPECT_FALSE(cache.putLease(lease("old", 9, {"b"})).changed);
  EXPECT_EQ(cache.lease(key)->uid, model::Uid{"new"});
  EXPECT_NE(cache.removeLease(key, {}, 0), nullptr) << "without a uid: whatever is there";
}

TEST(Tombstones, CoverUpToTheHighestRevision) {
  Tombstones gone;
  const model::Uid uid{"u"};
  EXPECT_FALSE(gone.covers(uid, 0));
  gone.add(uid, 5);
  gone.add(uid, 3);
  EXPECT_TRUE(gone.covers(uid, 5));
  EXPECT_FALSE(gone.covers(uid, 6));
  EXPECT_FALSE(gone.covers(model::Uid{"v"}, 1));
  gone.add(uid);
  EXPECT_TRUE(gone.covers(uid, Tombstones::kForEver));
}

TEST(Tombstones, AreRememberedForTheirLifeAtLeastAndTwiceThatAtMost) {
  using namespace std::chrono_literals;
  Tombstones gone;
  const Mono start{1h};
  gone.forgetOld(start);
  gone.forgetOld(start + Tombstones::kLife - 1ns);
  gone.add(model::Uid{"u"});
  gone.forgetOld(start + Tombstones::kLife);
  gone.forgetOld(start + 2 * Tombstones::kLife - 1ns);
  EXPECT_TRUE(gone.covers(model::Uid{"u"}, 1)) << "it came just before the first turn";
  gone.forgetOld(start + 2 * Tombstones::kLife);
  EXPECT_FALSE(gone.covers(model::Uid{"u"}, 1));
}

TEST(Tombstones, RememberTheLastGenerationAtLeastAndTwoAtMost) {
  Tombstones gone;
  const model::Uid uid{"u"};
  auto addOthers = [&gone, n = 0](std::size_t count) mutable {
    for (std::size_t i = 0; i < count; ++i) { gone.add(model::Uid{std::to_string(n++)}); }
  };
  gone.add(uid, 5);
  addOthers(Tombstones::kGeneration);
  EXPECT_TRUE(gone.covers(uid, 5));
  gone.add(uid, 3);
  EXPECT_TRUE(gone.covers(uid, 5)) << "said once, long ago";
  addOthers(2 * Tombstones::kGeneration);
  EXPECT_FALSE(gone.covers(uid, 1));
}

TEST_F(CacheTest, LeasesThatCannotBeReadAreKnownWhileTheyAreThere) {
  const auto malformed = [&](model::Revision revision, const char* why) {
    model::Lease l = *lease("l", revision);
    l.malformed = why;
    return std::make_shared<const model::Lease>(l);
  };
  cache.putLease(malformed(1, "no format"));
  EXPECT_EQ(cache.malformedLeases(), std::set<model::ObjectKey>{key});
  cache.putLease(malformed(2, ""));
  EXPECT_TRUE(cache.malformedLeases().empty());
  cache.putLease(malformed(3, "no node"));
  cache.removeLease(key, model::Uid{"l"}, 4);
  EXPECT_TRUE(cache.malformedLeases().empty());
}

}  // namespace
}  // namespace gs::engine
