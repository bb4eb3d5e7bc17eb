// Claims that pods name and perhaps share. (Those that are made for a pod's limits: allocation_desk_test.cc.)
#include "scheduler/leases/allocation_desk_fixture_test.h"

namespace gs::scheduler {
namespace {

using namespace std::chrono_literals;
using kapi::CallResult;

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
