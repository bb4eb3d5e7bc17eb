// Leases that several pods hold: who joins, who leaves, and with whom a pod may be on one.
#include "scheduler/leases/lease_desk_fixture_test.h"

namespace gs::scheduler {
namespace {

using kapi::CallResult;
using kapi::Verb;
using What = LeaseNotice::What;

class SharedLeases : public LeaseDeskTest {};

// Who shared the device may have ended since, and its containers may still be there.
TEST_F(SharedLeases, AJoinerWhoseLeaseIsGoneHasToBeDecidedAnew) {
  engine.learn(lease("a", "r", 5, {"a"}), now);
  desk.take(key, claimant("p", "q", true), false);
  const auto join = sent();
  EXPECT_EQ(join.verb, Verb::Update);
  answer(join, CallResult::Refused, 404);
  EXPECT_EQ(told(), "lost:p ");
  EXPECT_TRUE(silent());
}

TEST_F(SharedLeases, SoHasOneWhoseLeaseGoesBeforeItIsWritten) {
  engine.learn(lease("a", "r", 5, {"a"}), now);
  desk.take(key, claimant("p", "q", true), false);
  engine.leaseGone(key, {});
  EXPECT_EQ(told(), "lost:p ");
  EXPECT_TRUE(silent());
}

// Its node numbered its GPUs anew, and whose lease this is has not moved yet.
TEST_F(SharedLeases, NobodyJoinsTheLeaseOfAnotherGpu) {
  model::Lease moved = *lease("a", "r", 5, {"a"}).as<model::Lease>();
  moved.uuid = "GPU-9";
  engine.learn(std::make_shared<const model::Lease>(moved), now);
  for (const bool runs : {false, true}) {
    Claimant joiner = claimant("p", "q", true);
    joiner.over_own = runs;
    desk.take(key, joiner, false);
    const auto read = sent();
    EXPECT_EQ(read.verb, Verb::Get);
    answer(read, CallResult::Applied, 200, std::make_shared<const model::Lease>(moved));
    EXPECT_EQ(told(), "lost:p ");
  }
  Claimant own = claimant("a", "r2", true);
  own.over_own = true;
  desk.take(key, own, false);
  EXPECT_EQ(sent().verb, Verb::Update) << "it is in it already";
}

TEST_F(SharedLeases, ASharerThatRunsGetsItsLeaseAgainWhenItIsGone) {
  engine.learn(lease("a", "r", 5, {"a", "p"}), now);
  Claimant runs = claimant("p", "q", true);
  runs.over_own = true;  // as keepLeases() does
  desk.take(key, runs, false);
  answer(sent(), CallResult::Refused, 404);
  EXPECT_EQ(sent().verb, Verb::Create);
}

TEST_F(SharedLeases, SharersJoinByUpdateWithTheRevisionRead) {
  engine.learn(lease("a", "ra", 5, {"a"}), now);
  desk.take(key, claimant("b", "rb", true), false);
  const auto put = sent();
  EXPECT_EQ(put.verb, Verb::Update);
  EXPECT_EQ(put.body["metadata"]["resourceVersion"].str(), "5");
}

/// Of a GPU that pods have by a ResourceClaim: nobody joins who does not have it by that claim.
TEST_F(SharedLeases, OnlyPodsOfTheClaimShareWhatItIsAllocated) {
  model::ResourceClaim c;
  c.key = {"default", "c"};
  c.uid = model::Uid{"c"};
  c.revision = 1;
  c.allocated = true;
  c.reserved_for = {model::Uid{"a"}};
  engine.learn(std::make_shared<const model::ResourceClaim>(c), now);
  const auto taken = [&](const char* uid, const model::ObjectKey& by, const model::Object& there) {
    Claimant it = claimant(uid, "r", true);
    it.only_by = by;
    desk.take(key, it, false);
    const auto call = sent();
    if (call.verb == Verb::Update) { return std::string{"joins"}; }
    EXPECT_EQ(call.verb, Verb::Get);
    answer(call, CallResult::Applied, 200, there);
    return told();
  };
  const auto of_a = lease("a", "r", 5, {"a"});
  engine.learn(of_a, now);
  EXPECT_EQ(taken("x", {}, of_a), "lost:x ") << "it was to have it alone";
  EXPECT_EQ(taken("x", {"default", "other"}, of_a), "lost:x ");
  const auto with_another = lease("a", "r", 6, {"a", "z"});
  engine.learn(with_another, now);
  EXPECT_EQ(taken("x", c.key, with_another), "lost:x ") << "z has it by no claim";
  engine.learn(lease("a", "r", 7, {"a"}), now);
  EXPECT_EQ(taken("x", c.key, of_a), "joins");
}

/// What a pod has of it already is in nobody's way, least of all its own.
TEST_F(SharedLeases, APodIsNoStrangerToItself) {
  engine.learn(lease("a", "before", 5, {"a"}), now);
  Claimant again = claimant("a", "r", true);
  again.over_own = true;
  again.only_by = model::ObjectKey{};
  desk.take(key, again, false);
  EXPECT_EQ(sent().verb, Verb::Update);
}

TEST_F(SharedLeases, ASharersUpdateThatConflictsIsMadeFromTheNewState) {
  engine.learn(lease("a", "ra", 5, {"a"}), now);
  desk.take(key, claimant("b", "rb", true), false);
  answer(sent(), CallResult::Refused, 409);
  answer(sent(), CallResult::Applied, 200, lease("a", "ra", 6, {"a", "c"}));
  const auto put = sent();
  EXPECT_EQ(put.verb, Verb::Update);
  EXPECT_EQ(put.body["metadata"]["resourceVersion"].str(), "6");
  EXPECT_NE(put.body["metadata"]["annotations"]["gpu.scheduling/holders"].str().find("\"c\""),
            std::string_view::npos);
}

TEST_F(SharedLeases, TheLastSharerDeletesTheLease) {
  engine.learn(lease("a", "ra", 5, {"a"}), now);
  desk.give(key, model::Uid{"a"});
  EXPECT_EQ(sent().verb, Verb::Delete);
}

TEST_F(SharedLeases, WhoLeavesASharedLeaseThatWasNotReadInFullChangesNothingElseInIt) {
  model::Lease other = *lease("a", "r", 5, {"a", "b"}).as<model::Lease>();
  other.malformed = "format '2' is not this version's";
  other.as_written =
      R"({"metadata":{"annotations":{"to-come":"1","gpu.scheduling/holders":"[{\"uid\":\"a\"},{\"uid\":\"b\"}]"}}})";
  engine.learn(std::make_shared<const model::Lease>(other), now);
  desk.give(key, model::Uid{"a"});
  const auto put = sent();
  EXPECT_EQ(put.verb, Verb::Update);
  EXPECT_EQ(put.body["metadata"]["annotations"],
            (json::Object{{"to-come", "1"}, {"gpu.scheduling/holders", R"([{"uid":"b"}])"}}));
  desk.give(key, model::Uid{"b"});
  answer(put, CallResult::Refused, 409);
  answer(sent(), CallResult::Applied, 200, std::make_shared<const model::Lease>(other));
  EXPECT_EQ(sent().verb, Verb::Delete) << "both leave it";
}

TEST_F(SharedLeases, ALeaseThatIsFullIsLostToOneMore) {
  LeaseDesk two{engine, 2, parts};
  engine.learn(lease("a", "r", 5, {"a", "b"}), now);
  two.take(key, claimant("c", "r", true), false);
  kapi::Effects out;
  two.pump(now, out);
  ASSERT_EQ(std::get<kapi::Call>(out.at(0)).verb, Verb::Get) << "the cache may be behind";
  kapi::Outcome o = outcomeOf(out.at(0), CallResult::Applied, 200);
  o.object = lease("a", "r", 5, {"a", "b"});
  two.handle(o, Now{now, {}}, ignored);
  out.clear();
  two.pump(now, out);
  EXPECT_TRUE(out.empty());
  const auto notices = two.takeNotices();
  ASSERT_EQ(notices.size(), 1U);
  EXPECT_EQ(notices[0].what, What::Lost);
}

TEST_F(SharedLeases, OfTwoThatJoinWithRoomForOneOneIsWritten) {
  LeaseDesk two{engine, 2, parts};
  engine.learn(lease("a", "r", 5, {"a"}), now);
  for (const char* pod : {"b", "c"}) { two.take(key, claimant(pod, "r", true), false); }
  kapi::Effects out;
  two.pump(now, out);
  const auto update = std::get<kapi::Call>(out.at(0));
  ASSERT_EQ(update.verb, Verb::Update);
  const std::string holders{update.body["metadata"]["annotations"]["gpu.scheduling/holders"].str()};
  EXPECT_NE(holders.find("\"b\""), std::string::npos);
  EXPECT_EQ(holders.find("\"c\""), std::string::npos);
}

}  // namespace
}  // namespace gs::scheduler
