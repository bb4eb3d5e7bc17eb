#include "scheduler/leases/allocation_desk.h"

#include <gtest/gtest.h>

#include <memory>

#include "dra/drivers.h"
#include "dra/limits.h"
#include "kapi/decode.h"
#include "kapi/kinds.h"
#include "kapi/write_dra.h"
#include "testing/builders.h"

namespace gs::scheduler {
namespace {

using namespace std::chrono_literals;
using kapi::CallResult;
using Came = AllocationNotice::What;

class AllocationDeskTest : public ::testing::Test {
 protected:
  AllocationDeskTest() {
    pod.key = {"team", "train-0"};
    pod.uid = model::Uid{"u"};
    pod.gpu_limits = {{"main", 1}};
  }
  [[nodiscard]] Allocation gpu(int n) const {
    Allocation a;
    a.claim = kapi::claimKeyOf(pod);
    a.requests = dra::limitRequests(pod, dra::knownDrivers().front());
    a.devices = dra::allocation(a.requests, {{"gpu.nvidia.com", "a", "gpu-" + std::to_string(n)}});
    a.node = model::NodeName{"a"};
    a.reservation = "r";
    return a;
  }
  /// The pod's claim as the API server has it; `n` -1: allocated nothing.
  [[nodiscard]] model::ResourceClaim claim(model::Revision revision, int n = -1) const {
    model::ResourceClaim c;
    c.key = {"team", "gpu-u"};
    c.uid = model::Uid{"c"};
    c.revision = revision;
    c.owner_pod = pod.uid;
    c.reservation = "r";
    c.requests = dra::claimRequests(gpu(0).requests);
    if (n < 0) { return c; }
    c.allocated = true;
    c.results = gpu(n).devices;
    c.reserved_for = {pod.uid};
    return c;
  }
  static model::Object object(model::ResourceClaim c) {
    return std::make_shared<const model::ResourceClaim>(std::move(c));
  }
  void know(model::ResourceClaim c) {
    engine.learn(object(std::move(c)), now);
    desk.touched(pod.uid);
  }

  /// What is sent next, "POST", "PUT 5 gpu-1", "PUT 5", "PATCH", "GET"; "" nothing.
  std::string next() {
    kapi::Effects out;
    desk.pump(now, out);
    EXPECT_LE(out.size(), 1U);
    if (out.empty()) { return ""; }
    call = std::get<kapi::Call>(out.front());
    EXPECT_EQ(call.leader_only, call.verb != kapi::Verb::Get);
    if (call.verb == kapi::Verb::Create) { return "POST"; }
    if (call.verb == kapi::Verb::Get) { return "GET"; }
    if (call.verb == kapi::Verb::MergePatch) { return "PATCH"; }
    if (call.verb == kapi::Verb::StrategicPatch) {
      const json::Value& entry = call.body["status"]["reservedFor"].at(0);
      return (entry["$patch"].str() == "delete" ? "LEAVE " : "JOIN ") +
             std::string{call.body["metadata"]["resourceVersion"].str()} + " " +
             std::string{entry["uid"].str()};
    }
    std::string text = "PUT " + std::string{call.body["metadata"]["resourceVersion"].str()};
    const auto& results = call.body["status"]["allocation"]["devices"]["results"].items();
    for (const auto& result : results) { text += " " + std::string{result["device"].str()}; }
    return text;
  }
  void answer(CallResult result, int http, model::Object there = {}) {
    kapi::Outcome o;
    o.token = call.token;
    o.result = result;
    o.http = http;
    if (http == 404) { o.reason = "NotFound"; }
    o.object = std::move(there);
    desk.handle(o, Now{now, {}}, ignored);
  }
  void applied(model::ResourceClaim c) { answer(CallResult::Applied, 200, object(std::move(c))); }
  std::string told() {
    std::string text = next();
    EXPECT_EQ(text, "") << "it writes on";
    for (const auto& n : desk.takeNotices()) {
      static const char* names[] = {"allocated", "refused", "empty"};
      text += std::string{names[static_cast<int>(n.what)]};
      if (n.what == Came::Allocated) { text += " " + std::to_string(n.revision); }
      why = n.why;
    }
    return text;
  }

  engine::Engine engine;
  controller::Parts parts;
  Rng rng{1};
  AllocationDesk desk{engine, rng, parts};
  model::Pod pod;
  kapi::Call call;
  kapi::Effects ignored;
  std::string why;
  Mono now{1h};
};

TEST_F(AllocationDeskTest, AFirstDecisionIsAPostAndAPut) {
  desk.allocate(pod, {gpu(1)}, false);
  EXPECT_EQ(next(), "POST");
  EXPECT_EQ(next(), "") << "one call at a time";
  applied(claim(5));
  EXPECT_EQ(next(), "PUT 5 gpu-1");
  applied(claim(6, 1));
  EXPECT_EQ(told(), "allocated 6");
  EXPECT_TRUE(desk.isAllocated(pod, {gpu(1)}));
  EXPECT_FALSE(desk.isAllocated(pod, {gpu(2)}));
  EXPECT_EQ(desk.size(), 0U);
}

TEST_F(AllocationDeskTest, ALaterOneIsAPut) {
  know(claim(5));
  desk.allocate(pod, {gpu(1)}, false);
  EXPECT_EQ(next(), "PUT 5 gpu-1");
}

TEST_F(AllocationDeskTest, WhatIsThereAlreadyIsNotWrittenAgain) {
  know(claim(5, 1));
  desk.allocate(pod, {gpu(1)}, false);
  EXPECT_EQ(told(), "allocated 5");
}

// An allocation cannot be changed.
TEST_F(AllocationDeskTest, AnotherAllocationIsEmptiedFirst) {
  know(claim(5, 2));
  desk.allocate(pod, {gpu(1)}, false);
  EXPECT_EQ(next(), "PUT 5");
  applied(claim(6));
  EXPECT_EQ(next(), "PUT 6 gpu-1");
}

TEST_F(AllocationDeskTest, TheWatchMayTellBeforeTheAnswer) {
  desk.allocate(pod, {gpu(1)}, false);
  EXPECT_EQ(next(), "POST");
  know(claim(5));
  EXPECT_EQ(next(), "") << "its answer is on the way";
  applied(claim(5));
  EXPECT_EQ(next(), "PUT 5 gpu-1");
}

TEST_F(AllocationDeskTest, AConflictIsReadAndTriedAgain) {
  know(claim(5));
  desk.allocate(pod, {gpu(1)}, false);
  EXPECT_EQ(next(), "PUT 5 gpu-1");
  answer(CallResult::Refused, 409);
  EXPECT_EQ(next(), "GET");
  applied(claim(7));
  EXPECT_EQ(next(), "PUT 7 gpu-1");
}

TEST_F(AllocationDeskTest, APostThatMeetsOneOfItsNameIsRead) {
  desk.allocate(pod, {gpu(1)}, false);
  EXPECT_EQ(next(), "POST");
  answer(CallResult::Refused, 409);
  EXPECT_EQ(next(), "GET");
  applied(claim(5));
  EXPECT_EQ(next(), "PUT 5 gpu-1");
}

TEST_F(AllocationDeskTest, OneThatSomebodyElseMadeIsInTheWay) {
  const auto refusal = [&](auto change) {
    model::ResourceClaim c = claim(5, 1);
    change(c);
    engine::Engine& e = engine;
    e.resourceClaimGone(c.key, {});
    c.uid = model::Uid{"c" + std::to_string(now.time_since_epoch().count())};
    now += 1s;
    know(c);
    desk.allocate(pod, {gpu(1)}, false);
    EXPECT_EQ(told(), "refused");
    return why;
  };
  EXPECT_EQ(
      refusal([](auto& c) { c.reservation.clear(); }),
      "ResourceClaim team/gpu-u, which the pod needs, was made by somebody else; delete it, or create the "
      "pod anew");
  EXPECT_NE(refusal([](auto& c) { c.owner_pod = model::Uid{"another"}; }).find("by somebody else"),
            std::string::npos);
  EXPECT_NE(refusal([](auto& c) { c.requests.clear(); }).find("asks for something else"), std::string::npos);
  EXPECT_NE(refusal([](auto& c) { c.deleting = true; }).find("is being deleted"), std::string::npos);
}

TEST_F(AllocationDeskTest, WhatTheApiServerRefusesIsTold) {
  for (const int http : {403, 422}) {
    desk.allocate(pod, {gpu(1)}, false);
    now += 1min;
    EXPECT_EQ(next(), "POST");
    answer(CallResult::Refused, http);
    EXPECT_EQ(told(), "refused");
    EXPECT_NE(why.find(std::to_string(http)), std::string::npos) << why;
  }
}

TEST_F(AllocationDeskTest, WhoIsBusyIsAskedLater) {
  know(claim(5));
  desk.allocate(pod, {gpu(1)}, false);
  EXPECT_EQ(next(), "PUT 5 gpu-1");
  answer(CallResult::Refused, 429);
  EXPECT_EQ(next(), "");
  EXPECT_TRUE(desk.failing(pod.uid));
  ASSERT_TRUE(desk.nextDue());
  now = *desk.nextDue();
  EXPECT_EQ(next(), "PUT 5 gpu-1");
}

// It may land later: no other PUT leaves before the claim has another resourceVersion.
TEST_F(AllocationDeskTest, AfterAnUnknownPutTheClaimIsFenced) {
  know(claim(5));
  desk.allocate(pod, {gpu(1)}, false);
  EXPECT_EQ(next(), "PUT 5 gpu-1");
  answer(CallResult::Unknown, 0);
  now += 1min;
  EXPECT_EQ(next(), "GET");
  applied(claim(5));
  EXPECT_EQ(next(), "PATCH");
  applied(claim(8));
  EXPECT_EQ(next(), "PUT 8 gpu-1");
}

TEST_F(AllocationDeskTest, AnUnknownPutThatLandedIsTaken) {
  know(claim(5));
  desk.allocate(pod, {gpu(1)}, false);
  EXPECT_EQ(next(), "PUT 5 gpu-1");
  answer(CallResult::Unknown, 0);
  now += 1min;
  EXPECT_EQ(next(), "GET");
  applied(claim(6, 1));
  EXPECT_EQ(next(), "PATCH");
  applied(claim(7, 1));
  EXPECT_EQ(told(), "allocated 7");
}

// An earlier leader may have sent what empties it.
TEST_F(AllocationDeskTest, WhatAnEarlierLeaderAllocatedIsFencedBeforeItCounts) {
  know(claim(5, 1));
  desk.allocate(pod, {gpu(1)}, true);
  EXPECT_EQ(next(), "PATCH");
  applied(claim(6, 1));
  EXPECT_EQ(told(), "allocated 6");
}

// Somebody made an object under its name, and another pod runs with what that is allocated.
TEST_F(AllocationDeskTest, OneThatIsReservedForOthersIsNeverEmptied) {
  model::ResourceClaim theirs = claim(5, 1);
  theirs.reserved_for = {model::Uid{"another"}};
  know(theirs);
  EXPECT_TRUE(desk.withDevices(pod).empty());
  desk.allocate(pod, {gpu(1)}, false);
  EXPECT_EQ(told(), "refused");
  EXPECT_NE(why.find("is used by others"), std::string::npos) << why;
  desk.empty(pod.uid, pod.key, {kapi::claimKeyOf(pod)}, true);
  EXPECT_EQ(told(), "empty");
  theirs.reserved_for = {model::Uid{"another"}, pod.uid};
  theirs.revision = 6;
  know(theirs);
  desk.empty(pod.uid, pod.key, {kapi::claimKeyOf(pod)}, false);
  EXPECT_EQ(told(), "empty");
}

// Users may write its metadata.
TEST_F(AllocationDeskTest, WhatIsAllocatedForThePodIsEmptiedWhateverElseItSays) {
  model::ResourceClaim edited = claim(5, 1);
  edited.reservation.clear();
  edited.owner_pod = {};
  know(edited);
  EXPECT_FALSE(desk.withDevices(pod).empty());
  desk.empty(pod.uid, pod.key, {kapi::claimKeyOf(pod)}, false);
  EXPECT_EQ(next(), "PUT 5");
  applied(claim(6));
  EXPECT_EQ(told(), "empty");
}

TEST_F(AllocationDeskTest, A404SaysNothingOfAnotherThatTookItsName) {
  know(claim(5));
  desk.allocate(pod, {gpu(1)}, false);
  EXPECT_EQ(next(), "PUT 5 gpu-1");
  model::ResourceClaim second = claim(9);
  second.uid = model::Uid{"c-2"};
  know(second);
  answer(CallResult::Refused, 404);
  EXPECT_EQ(next(), "PUT 9 gpu-1");
}

TEST_F(AllocationDeskTest, EmptyingIsOnePut) {
  know(claim(5, 1));
  desk.empty(pod.uid, pod.key, {kapi::claimKeyOf(pod)}, false);
  EXPECT_EQ(next(), "PUT 5");
  applied(claim(6));
  EXPECT_EQ(told(), "empty");
}

TEST_F(AllocationDeskTest, WhatWasNeverAllocatedIsEmpty) {
  know(claim(5));
  desk.empty(pod.uid, pod.key, {kapi::claimKeyOf(pod)}, false);
  EXPECT_EQ(told(), "empty");
  desk.empty(model::Uid{"no-claim"}, {"team", "b"}, {{"team", "gpu-no-claim"}}, false);
  EXPECT_EQ(told(), "empty");
}

TEST_F(AllocationDeskTest, WhatOthersMayHaveSentIsFencedFirst) {
  know(claim(5));
  desk.empty(pod.uid, pod.key, {kapi::claimKeyOf(pod)}, true);
  EXPECT_EQ(next(), "PATCH");
  answer(CallResult::Unknown, 0);
  now += 1min;
  EXPECT_EQ(next(), "GET");
  applied(claim(6, 3));
  EXPECT_EQ(next(), "PATCH") << "its outcome is unknown";
  applied(claim(7, 3));
  EXPECT_EQ(next(), "PUT 7");
  applied(claim(8));
  EXPECT_EQ(told(), "empty");
}

TEST_F(AllocationDeskTest, WhatIsUnderWayWhenItIsGivenUpIsFenced) {
  know(claim(5));
  desk.allocate(pod, {gpu(1)}, false);
  EXPECT_EQ(next(), "PUT 5 gpu-1");
  desk.empty(pod.uid, pod.key, {kapi::claimKeyOf(pod)}, false);
  EXPECT_EQ(next(), "");
  answer(CallResult::Unknown, 0);
  now += 1min;
  EXPECT_EQ(next(), "GET");
  applied(claim(5));
  EXPECT_EQ(next(), "PATCH");
  applied(claim(6));
  EXPECT_EQ(told(), "empty");
}

// Its devices are nobody else's until then.
TEST_F(AllocationDeskTest, EmptyingIsNeverGivenUp) {
  know(claim(5, 1));
  desk.empty(pod.uid, pod.key, {kapi::claimKeyOf(pod)}, false);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(next(), "PUT 5");
    answer(CallResult::Refused, 403);
    EXPECT_EQ(told(), "");
    now += 1min;
  }
}

TEST_F(AllocationDeskTest, AClaimThatIsGoneIsEmpty) {
  know(claim(5, 1));
  desk.empty(pod.uid, pod.key, {kapi::claimKeyOf(pod)}, true);
  EXPECT_EQ(next(), "PATCH");
  answer(CallResult::Refused, 404);
  EXPECT_EQ(told(), "empty");
}

TEST_F(AllocationDeskTest, OneThatWentWhileItIsAllocatedIsMadeAnew) {
  know(claim(5));
  desk.allocate(pod, {gpu(1)}, false);
  EXPECT_EQ(next(), "PUT 5 gpu-1");
  answer(CallResult::Refused, 404);
  EXPECT_EQ(next(), "POST");
}

TEST_F(AllocationDeskTest, ANewWishTakesThePlaceOfTheFirst) {
  know(claim(5, 1));
  desk.empty(pod.uid, pod.key, {kapi::claimKeyOf(pod)}, false);
  EXPECT_EQ(next(), "PUT 5");
  desk.allocate(pod, {gpu(2)}, false);
  applied(claim(6));
  EXPECT_EQ(next(), "PUT 6 gpu-2");
  applied(claim(7, 2));
  EXPECT_EQ(told(), "allocated 7");
}

TEST_F(AllocationDeskTest, SomebodyWhoFightsForItIsMetWithPatience) {
  know(claim(5));
  desk.allocate(pod, {gpu(1)}, false);
  int calls = 0;
  model::Revision revision = 5;
  for (int i = 0; i < 20 && !next().empty(); ++i) {
    ++calls;
    if (call.verb == kapi::Verb::Get) {
      applied(claim(++revision));
    } else {
      answer(CallResult::Refused, 409);
    }
  }
  EXPECT_LE(calls, 8) << "at once";
  EXPECT_TRUE(desk.nextDue());
}

TEST_F(AllocationDeskTest, OfAPodThatEndedNothingIsKept) {
  desk.allocate(pod, {gpu(1)}, false);
  EXPECT_EQ(next(), "POST");
  desk.podEnded(pod.uid);
  EXPECT_EQ(desk.size(), 0U);
  applied(claim(5));
  EXPECT_EQ(told(), "");
  EXPECT_NE(engine.allocatedClaims().find({"team", "gpu-u"}), nullptr) << "what the answer says is known";
}

/// Claims that the pod names, "a" and "b", made by others.
class NamedClaims : public AllocationDeskTest {
 protected:
  [[nodiscard]] static Allocation wanted(const std::string& name, int n) {
    Allocation a;
    a.claim = {"team", name};
    a.of = model::Uid{"uid-" + name};
    a.devices = {{"r", {"gpu.nvidia.com", "a", "gpu-" + std::to_string(n)}}};
    a.node = model::NodeName{"a"};
    return a;
  }
  [[nodiscard]] model::ResourceClaim named(const std::string& name, model::Revision revision,
                                           int n = -1) const {
    model::ResourceClaim c;
    c.key = {"team", name};
    c.uid = model::Uid{"uid-" + name};
    c.revision = revision;
    c.finalizers = {model::kDeleteProtection};
    if (n < 0) { return c; }
    c.allocated = true;
    c.results = wanted(name, n).devices;
    c.reserved_for = {pod.uid};
    return c;
  }
  [[nodiscard]] model::ResourceClaim forOthers(model::Revision revision, int n) const {
    auto c = named("a", revision, n);
    c.reserved_for = {model::Uid{"other"}};
    return c;
  }
  [[nodiscard]] model::ResourceClaim forBoth(model::Revision revision, int n) const {
    auto c = named("a", revision, n);
    c.reserved_for = {model::Uid{"other"}, pod.uid};
    return c;
  }
  [[nodiscard]] model::ResourceClaim bare(const std::string& name, model::Revision revision) const {
    auto c = named(name, revision);
    c.finalizers.clear();
    return c;
  }
};

TEST_F(NamedClaims, AreProtectedAndThenAllocatedOneAfterTheOther) {
  know(bare("a", 5));
  know(named("b", 6));
  desk.allocate(pod, {wanted("a", 1), wanted("b", 2)}, false);
  EXPECT_EQ(next(), "PATCH");
  EXPECT_EQ(call.body["metadata"]["finalizers"].at(0).str(), model::kDeleteProtection);
  applied(named("a", 7));
  EXPECT_EQ(next(), "PUT 7 gpu-1");
  EXPECT_EQ(next(), "") << "one call at a time";
  applied(named("a", 8, 1));
  EXPECT_EQ(next(), "PUT 6 gpu-2");
  EXPECT_FALSE(desk.isAllocated(pod, {wanted("a", 1), wanted("b", 2)}));
  applied(named("b", 9, 2));
  EXPECT_EQ(told(), "allocated 9");
  EXPECT_TRUE(desk.isAllocated(pod, {wanted("a", 1), wanted("b", 2)}));
  pod.claims = {{"x", "a", false}, {"y", "b", false}};
  EXPECT_EQ(desk.withDevices(pod), (std::vector<model::ObjectKey>{{"team", "a"}, {"team", "b"}}));
  EXPECT_TRUE(desk.withDevices(pod, false).empty()) << "where somebody else allocates what it names";
}

TEST_F(NamedClaims, AreEmptiedAll) {
  know(named("a", 5, 1));
  know(named("b", 6, 2));
  desk.empty(pod.uid, pod.key, {{"team", "a"}, {"team", "b"}}, false);
  EXPECT_EQ(next(), "PUT 5");
  applied(named("a", 7));
  EXPECT_EQ(next(), "PUT 6");
  applied(named("b", 8));
  EXPECT_EQ(told(), "empty");
}

TEST_F(NamedClaims, OneThatIsGoneOrAnotherByNowIsRefused) {
  know(named("a", 5));
  desk.allocate(pod, {wanted("a", 1), wanted("b", 2)}, false);
  EXPECT_EQ(next(), "PUT 5 gpu-1");
  applied(named("a", 7, 1));
  EXPECT_EQ(told(), "refused");
  EXPECT_EQ(why, "ResourceClaim team/b, which the pod needs, is gone");
  auto another = named("b", 8);
  another.uid = model::Uid{"made-anew"};
  know(another);
  desk.allocate(pod, {wanted("b", 2)}, false);
  EXPECT_EQ(told(), "refused");
  EXPECT_EQ(why, "ResourceClaim team/b, which the pod needs, is another one by now");
}

TEST_F(NamedClaims, OneThatGoesMeanwhileIsRefused) {
  know(named("a", 5));
  desk.allocate(pod, {wanted("a", 1)}, false);
  EXPECT_EQ(next(), "PUT 5 gpu-1");
  answer(CallResult::Refused, 404);
  EXPECT_EQ(told(), "refused");
}

TEST_F(NamedClaims, OneThatOthersUseIsLeftAlone) {
  know(forOthers(5, 1));
  desk.allocate(pod, {wanted("a", 2)}, false);
  EXPECT_EQ(told(), "refused");
  EXPECT_EQ(why, "ResourceClaim team/a, which the pod needs, is used by others");
  desk.empty(pod.uid, pod.key, {{"team", "a"}}, false);
  EXPECT_EQ(told(), "empty") << "of nothing of the pod's";
  auto full = forOthers(6, 1);
  full.reserved_for.resize(model::kMaxReservedFor, model::Uid{"other"});
  know(full);
  desk.allocate(pod, {wanted("a", 1)}, false);
  EXPECT_EQ(told(), "refused");
  EXPECT_EQ(why, "ResourceClaim team/a, which the pod needs, is reserved for as many pods as it may be");
}

/// Else anybody's DELETE takes it from under those who use it.
TEST_F(NamedClaims, AreProtectedBeforeTheyAreJoined) {
  auto c = forOthers(5, 1);
  c.finalizers.clear();
  know(c);
  desk.allocate(pod, {wanted("a", 1)}, false);
  EXPECT_EQ(next(), "PATCH");
  applied(forOthers(6, 1));
  EXPECT_EQ(next(), "JOIN 6 u");
}

/// Whatever users write into its metadata.
TEST_F(NamedClaims, OneWithAnOwnerIsLeftAsAnyOther) {
  auto c = forBoth(5, 1);
  c.owner_pod = model::Uid{"leader"};
  know(c);
  desk.empty(pod.uid, pod.key, {{"team", "a"}}, false);
  EXPECT_EQ(next(), "LEAVE 5 u");
}

/// Nothing of the term before is waited for in the next.
TEST_F(NamedClaims, AnotherTermWaitsForNoCallOfThisOne) {
  know(forOthers(5, 1));
  desk.allocate(pod, {wanted("a", 1)}, false);
  EXPECT_EQ(next(), "JOIN 5 u");
  desk.reset();
  desk.allocate(pod, {wanted("a", 1)}, true);
  EXPECT_EQ(next(), "PATCH") << "the call of before may land yet";
}

TEST_F(NamedClaims, AreJoinedAndLeft) {
  know(forOthers(5, 1));
  desk.allocate(pod, {wanted("a", 1)}, false);
  EXPECT_EQ(next(), "JOIN 5 u");
  EXPECT_EQ(call.subresource, "status");
  applied(forBoth(7, 1));
  EXPECT_EQ(told(), "allocated 7");
  pod.claims = {{"x", "a", false}};
  EXPECT_EQ(desk.withDevices(pod), (std::vector<model::ObjectKey>{{"team", "a"}}));
  desk.empty(pod.uid, pod.key, {{"team", "a"}}, false);
  EXPECT_EQ(next(), "LEAVE 7 u");
  EXPECT_EQ(call.body["status"]["allocation"].isNull(), true);
  applied(forOthers(8, 1));
  EXPECT_EQ(told(), "empty");
  desk.empty(pod.uid, pod.key, {{"team", "a"}}, false);
  EXPECT_EQ(told(), "empty");
}

/// It is the last one: then it is allocated nothing any more.
TEST_F(NamedClaims, WhoIsLeftAloneEmptiesIt) {
  know(forBoth(5, 1));
  desk.empty(pod.uid, pod.key, {{"team", "a"}}, false);
  EXPECT_EQ(next(), "LEAVE 5 u");
  answer(CallResult::Refused, 409);
  EXPECT_EQ(next(), "GET");
  applied(named("a", 6, 1));
  EXPECT_EQ(next(), "PUT 6");
  applied(named("a", 7));
  EXPECT_EQ(told(), "empty");
}

/// Whoever had it first has given it back meanwhile: it is allocated what was wanted of it.
TEST_F(NamedClaims, OneThatIsEmptiedBeforeItIsJoinedIsAllocated) {
  know(forOthers(5, 1));
  desk.allocate(pod, {wanted("a", 1)}, false);
  EXPECT_EQ(next(), "JOIN 5 u");
  answer(CallResult::Refused, 409);
  EXPECT_EQ(next(), "GET");
  applied(named("a", 6));
  EXPECT_EQ(next(), "PUT 6 gpu-1");
  applied(named("a", 7, 1));
  EXPECT_EQ(told(), "allocated 7");
}

/// A claim that was allocated to others before says nothing of a call that may be on its way yet.
TEST_F(NamedClaims, AnUnknownJoinIsReadAndFenced) {
  know(forOthers(5, 1));
  desk.allocate(pod, {wanted("a", 1)}, false);
  EXPECT_EQ(next(), "JOIN 5 u");
  answer(CallResult::Unknown, 0);
  desk.empty(pod.uid, pod.key, {{"team", "a"}}, false);
  now += 5s;
  EXPECT_EQ(next(), "GET");
  applied(forOthers(5, 1));
  EXPECT_EQ(next(), "PATCH");
  applied(forOthers(8, 1));
  EXPECT_EQ(told(), "empty");
}

/// Pods that come together would only be in each other's way.
TEST_F(NamedClaims, AreWrittenForOnePodAfterTheOther) {
  know(forOthers(5, 1));
  desk.allocate(pod, {wanted("a", 1)}, false);
  EXPECT_EQ(next(), "JOIN 5 u");
  const kapi::Call first = call;
  model::Pod second = pod;
  second.uid = model::Uid{"v"};
  desk.allocate(second, {wanted("a", 1)}, false);
  EXPECT_EQ(next(), "");
  call = first;
  applied(forBoth(7, 1));
  kapi::Effects out;
  desk.pump(now, out);
  ASSERT_EQ(out.size(), 1U);
  EXPECT_EQ(std::get<kapi::Call>(out.front()).body["status"]["reservedFor"].at(0)["uid"].str(), "v");
  EXPECT_EQ(desk.takeNotices().size(), 1U) << "of the first";
  desk.podEnded(second.uid);
  const auto third = pod.uid;
  desk.empty(third, pod.key, {{"team", "a"}}, false);
  EXPECT_EQ(next(), "") << "its call is under way, whoever it was for";
  call = std::get<kapi::Call>(out.front());
  answer(CallResult::Refused, 409);
  EXPECT_EQ(next(), "LEAVE 7 u");
}

/// What is not known of one claim is not forgotten when another wish for the same one comes.
TEST_F(NamedClaims, AnUnknownOutcomeIsFencedOnItsOwnClaim) {
  know(named("a", 5));
  know(named("b", 6));
  desk.allocate(pod, {wanted("a", 1), wanted("b", 2)}, false);
  EXPECT_EQ(next(), "PUT 5 gpu-1");
  answer(CallResult::Unknown, 0);
  desk.empty(pod.uid, pod.key, {{"team", "a"}, {"team", "b"}}, false);
  now += 5s;
  EXPECT_EQ(next(), "GET");
  applied(named("a", 7, 1));
  EXPECT_EQ(next(), "PATCH") << "the one of a";
  EXPECT_EQ(call.key, (model::ObjectKey{"team", "a"}));
  applied(named("a", 8, 1));
  EXPECT_EQ(next(), "PUT 8");
  applied(named("a", 9));
  EXPECT_EQ(told(), "empty") << "nothing was ever sent about b";
}

}  // namespace
}  // namespace gs::scheduler
