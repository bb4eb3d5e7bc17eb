#include "scheduler/volumes/volume_desk.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kapi/kinds.h"
#include "sched/volumes/volumes_hand_test.h"

namespace gs::scheduler {
namespace {

using namespace std::chrono_literals;
using kapi::CallResult;
using sched::boundTo;
using sched::makeVolume;

/// Nodes a and b; claims of class "local" get volumes that are there, those of class "made" are made some.
class VolumeDeskTest : public ::testing::Test {
 protected:
  VolumeDeskTest() {
    for (const char* name : {"a", "b"}) {
      model::Node node = testing::makeNode(name);
      node.labels = {{"host", name}};
      engine.apply({kapi::kNode, {"", name}, {}, sched::kept(node), ++revision}, now);
    }
    comes(kapi::kStorageClass, sched::makeClass("local"));
    comes(kapi::kStorageClass, sched::makeClass("made", "driver"));
  }
  /// Another version of it, which the watch brings.
  template <class T>
  T comes(kapi::Kind kind, T object) {
    object.revision = ++revision;
    engine.apply({kind, object.key, {}, sched::kept(object), revision}, now);
    desk.touched(pod.uid);
    return object;
  }
  model::PersistentVolumeClaim claim(model::PersistentVolumeClaim c) {
    return comes(kapi::kPersistentVolumeClaim, std::move(c));
  }
  model::PersistentVolume volume(model::PersistentVolume v) {
    return comes(kapi::kPersistentVolume, std::move(v));
  }
  static model::PersistentVolumeClaim made(const std::string& name) {
    auto c = sched::makeVolumeClaim(name);
    c.storage_class = "made";
    return c;
  }
  static model::PersistentVolumeClaim told(model::PersistentVolumeClaim c, const char* node) {
    c.selected_node = model::NodeName{node};
    return c;
  }
  static model::PersistentVolume meant(model::PersistentVolume v, const model::PersistentVolumeClaim& c) {
    v.claim = model::ClaimRef{c.key, c.uid};
    v.is_available = false;
    return v;
  }
  /// The pod comes to node a.
  void begin() {
    ASSERT_TRUE(desk.choose(pod, model::NodeName{"a"}));
    desk.bind(pod.uid, now);
  }
  /// What is sent next: "volume v 5", "claim data 7", with the version that it changes; "" nothing.
  std::string next() {
    kapi::Effects out;
    desk.pump(now, out);
    EXPECT_LE(out.size(), 1U);
    if (out.empty()) { return ""; }
    call = std::get<kapi::Call>(out.front());
    EXPECT_TRUE(call.leader_only);
    EXPECT_EQ(call.verb, kapi::Verb::MergePatch);
    const char* kind = call.kind == kapi::kPersistentVolume        ? "volume"
                       : call.kind == kapi::kPersistentVolumeClaim ? "claim"
                                                                   : "?";
    return fmt::format("{} {} {}", kind, call.key.name, call.body["metadata"]["resourceVersion"].str());
  }
  void answer(CallResult result, int http, model::Object object = {}, Duration retry_after = {}) {
    kapi::Outcome o;
    o.token = call.token;
    o.result = result;
    o.http = http;
    o.message = http == 0 ? "no connection" : "no luck";
    if (http == 404) { o.reason = "NotFound"; }
    o.object = std::move(object);
    o.retry_after = retry_after;
    desk.handle(o, Now{now, {}}, ignored);
  }
  /// It is carried out: that is its next version.
  template <class T>
  T applied(T object) {
    object.revision = ++revision;
    answer(CallResult::Applied, 200, model::Object{sched::kept(object)});
    return object;
  }
  /// The watch brings it as it is.
  template <class T>
  void seen(kapi::Kind kind, const T& object) {
    engine.apply({kind, object.key, {}, sched::kept(object), object.revision}, now);
    desk.touched(pod.uid);
  }
  /// What is told, where nothing is sent.
  std::string tells() {
    EXPECT_EQ(next(), "") << "it writes on";
    std::string text;
    for (const auto& notice : desk.takeNotices()) {
      static const char* names[] = {"waits", "bound", "refused", "lost"};
      EXPECT_EQ(notice.uid, pod.uid);
      text += names[static_cast<int>(notice.what)];
      if (notice.elsewhere) { text += ", elsewhere"; }
      why = notice.why;
      took = notice.took;
    }
    return text;
  }
  void pass(Duration by) { now += by; }

  engine::Engine engine;
  controller::Parts parts;
  VolumeDesk desk{engine, parts};
  model::Pod pod = sched::mounting("p", {"data"});
  kapi::Call call;
  kapi::Effects ignored;
  std::string why;
  Duration took{};
  Mono now{std::chrono::hours{1}};
  model::Revision revision = 100;
};

TEST_F(VolumeDeskTest, APodWithoutVolumesNeedsNothing) {
  pod.volume_claims.change().clear();
  begin();
  EXPECT_TRUE(desk.areBound(pod.uid));
  EXPECT_EQ(tells(), "");
  EXPECT_EQ(desk.size(), 0U);
}

TEST_F(VolumeDeskTest, ClaimsThatAreBoundCostNoWriteAndNoWait) {
  volume(makeVolume("v"));
  claim(boundTo(made("data"), "v"));
  begin();
  EXPECT_TRUE(desk.areBound(pod.uid));
  EXPECT_EQ(tells(), "bound");
  EXPECT_EQ(took, Duration{});
}

TEST_F(VolumeDeskTest, AVolumeThatIsThereIsWrittenAndWaitedFor) {
  const auto v = volume(makeVolume("v"));
  const auto c = claim(sched::makeVolumeClaim("data"));
  begin();
  EXPECT_FALSE(desk.areBound(pod.uid));
  EXPECT_EQ(next(), fmt::format("volume v {}", v.revision));
  EXPECT_EQ(call.body["spec"]["claimRef"]["name"].str(), "data");
  EXPECT_EQ(next(), "") << "one call at a time";
  const auto written = applied(meant(v, c));
  EXPECT_EQ(tells(), "waits") << "for the watch, first";
  EXPECT_TRUE(desk.isWaiting(pod.uid));
  seen(kapi::kPersistentVolume, written);
  EXPECT_EQ(tells(), "");
  pass(2s);
  claim(boundTo(c, "v"));
  EXPECT_TRUE(desk.areBound(pod.uid));
  EXPECT_EQ(tells(), "bound");
  EXPECT_EQ(took, 2s);
  EXPECT_FALSE(desk.isWaiting(pod.uid));
}

TEST_F(VolumeDeskTest, AClaimWhoseVolumeIsMadeIsToldTheNode) {
  const auto c = claim(made("data"));
  begin();
  EXPECT_EQ(next(), fmt::format("claim data {}", c.revision));
  EXPECT_EQ(call.body["metadata"]["annotations"][model::kSelectedNodeKey].str(), "a");
  seen(kapi::kPersistentVolumeClaim, applied(told(c, "a")));
  EXPECT_EQ(tells(), "waits");
  volume(makeVolume("pv"));
  claim(boundTo(told(c, "a"), "pv"));
  EXPECT_EQ(tells(), "bound");
}

// An answer without an object says as much.
TEST_F(VolumeDeskTest, TheWatchMayBeLaterThanTheAnswer) {
  const auto c = claim(made("data"));
  begin();
  EXPECT_NE(next(), "");
  answer(CallResult::Applied, 200);
  EXPECT_EQ(tells(), "waits") << "what is known is from before it";
  claim(told(c, "a"));
  EXPECT_EQ(tells(), "");
  claim(c);
  EXPECT_EQ(tells(), "lost, elsewhere") << "its provisioner took the node back";
  EXPECT_NE(why.find("no volume could be made for PersistentVolumeClaim default/data on node a"),
            std::string::npos)
      << why;
}

// An earlier leader wrote it.
TEST_F(VolumeDeskTest, WhatIsWrittenIsNotWrittenAgain) {
  claim(told(made("data"), "a"));
  begin();
  EXPECT_EQ(tells(), "waits");
}

TEST_F(VolumeDeskTest, WhatIsChosenForOnePodIsNoOthers) {
  volume(makeVolume("v"));
  claim(sched::makeVolumeClaim("data"));
  claim(sched::makeVolumeClaim("others"));
  const model::Pod other = sched::mounting("q", {"others"});
  begin();
  EXPECT_FALSE(desk.choose(other, model::NodeName{"a"}));
  EXPECT_TRUE(desk.areBound(other.uid)) << "nothing was chosen";
  desk.forget(pod.uid);
  EXPECT_TRUE(desk.choose(other, model::NodeName{"a"}));
  EXPECT_FALSE(desk.choose(other, model::NodeName{"nowhere"}));
}

TEST_F(VolumeDeskTest, AConflictWaitsAndChangesTheVersionThatIsThere) {
  const auto v = volume(makeVolume("v"));
  claim(sched::makeVolumeClaim("data"));
  begin();
  EXPECT_NE(next(), "");
  answer(CallResult::Refused, 409);
  EXPECT_EQ(next(), "") << "not at once";
  auto labelled = v;
  labelled.labels = {{"x", "y"}};
  labelled = volume(labelled);
  ASSERT_TRUE(desk.nextDue());
  pass(200ms);
  EXPECT_EQ(next(), fmt::format("volume v {}", labelled.revision));
}

TEST_F(VolumeDeskTest, AVolumeThatSomebodyElseTookIsDecidedAnew) {
  const auto v = volume(makeVolume("v"));
  claim(sched::makeVolumeClaim("data"));
  begin();
  EXPECT_NE(next(), "");
  answer(CallResult::Refused, 409);
  volume(meant(v, sched::makeVolumeClaim("theirs")));
  EXPECT_EQ(tells(), "lost");
  EXPECT_NE(why.find("was taken by default/theirs meanwhile"), std::string::npos) << why;
  EXPECT_EQ(tells(), "") << "once";
}

TEST_F(VolumeDeskTest, AWriteWithoutAnAnswerIsSentAgainUnlessItLanded) {
  const auto c = claim(made("data"));
  begin();
  const std::string first = next();
  answer(CallResult::Unknown, 0);
  EXPECT_EQ(next(), "") << "not at once";
  pass(200ms);
  EXPECT_EQ(next(), first) << "the same version, so that only one of both lands";
  answer(CallResult::Refused, 409);
  claim(told(c, "a"));
  EXPECT_EQ(tells(), "waits") << "the first one had landed";
}

TEST_F(VolumeDeskTest, AMissingRightIsNamed) {
  volume(makeVolume("v"));
  claim(sched::makeVolumeClaim("data"));
  begin();
  EXPECT_NE(next(), "");
  answer(CallResult::Refused, 403);
  EXPECT_EQ(tells(), "refused");
  EXPECT_EQ(
      why,
      "PersistentVolume v, for PersistentVolumeClaim default/data cannot be written: 403 no luck; "
      "gpu-scheduler needs the right to patch persistentvolumes, as deploy/rbac/scheduler.yaml gives it");
  pass(1min);
  EXPECT_EQ(tells(), "") << "nothing more is done until it is asked for again";
  desk.bind(pod.uid, now);
  EXPECT_NE(next(), "");
}

TEST_F(VolumeDeskTest, WhatTheApiServerFindsInvalidIsTold) {
  claim(made("data"));
  begin();
  EXPECT_NE(next(), "");
  answer(CallResult::Refused, 422);
  EXPECT_EQ(tells(), "refused");
  EXPECT_EQ(why, "PersistentVolumeClaim default/data cannot be written: 422 no luck");
}

TEST_F(VolumeDeskTest, OneThatIsGoneIsWaitedForUntilTheWatchSaysSo) {
  const auto c = claim(made("data"));
  begin();
  EXPECT_NE(next(), "");
  answer(CallResult::Refused, 404);
  EXPECT_EQ(tells(), "");
  engine.apply({kapi::kPersistentVolumeClaim, c.key, c.uid, {}, ++revision}, now);
  desk.touched(pod.uid);
  EXPECT_EQ(tells(), "lost");
}

TEST_F(VolumeDeskTest, WhatCannotBeWrittenIsGivenUpInTime) {
  claim(made("data"));
  begin();
  const Mono since = now;
  while (now - since < VolumeDesk::kWriteAtMost) {
    if (!next().empty()) { answer(CallResult::NotSent, 0); }
    ASSERT_TRUE(desk.takeNotices().empty());
    ASSERT_TRUE(desk.nextDue());
    now = std::max(*desk.nextDue(), now + 1ms);
  }
  EXPECT_EQ(tells(), "lost");
  EXPECT_EQ(why, "PersistentVolumeClaim default/data could not be written in time: no connection");
}

TEST_F(VolumeDeskTest, WhoIsBusySaysHowLong) {
  claim(made("data"));
  begin();
  EXPECT_NE(next(), "");
  answer(CallResult::Refused, 429, {}, 5s);
  pass(4s);
  EXPECT_EQ(next(), "");
  pass(1s);
  EXPECT_NE(next(), "");
}

TEST_F(VolumeDeskTest, WhatIsNotBoundIsGivenUpAfterTenMinutes) {
  const auto c = claim(made("data"));
  begin();
  EXPECT_NE(next(), "");
  seen(kapi::kPersistentVolumeClaim, applied(told(c, "a")));
  EXPECT_EQ(tells(), "waits");
  pass(VolumeDesk::kWaitAtMost - 1ms);
  desk.touched(pod.uid);
  EXPECT_EQ(tells(), "");
  EXPECT_EQ(desk.nextDue(), now + 1ms);
  pass(1ms);
  EXPECT_EQ(tells(), "lost, elsewhere");
  EXPECT_EQ(why, "PersistentVolumeClaim default/data was not bound within 600 s");
}

// An earlier leader told it the node, and its provisioner took that back.
TEST_F(VolumeDeskTest, WhatIsWrittenWhileOthersAreWaitedForChangesNoTime) {
  auto c = claim(told(made("data"), "a"));
  begin();
  EXPECT_EQ(tells(), "waits");
  c.selected_node.reset();
  c = claim(c);
  EXPECT_EQ(next(), fmt::format("claim data {}", c.revision));
  seen(kapi::kPersistentVolumeClaim, applied(told(c, "a")));
  EXPECT_EQ(tells(), "");
  pass(VolumeDesk::kWaitAtMost - 1ms);
  desk.touched(pod.uid);
  EXPECT_EQ(tells(), "") << "it has its 600 s";
  pass(1ms);
  EXPECT_EQ(tells(), "lost, elsewhere") << "and no more";
  EXPECT_EQ(why, "PersistentVolumeClaim default/data was not bound within 600 s");
}

TEST_F(VolumeDeskTest, AnAnswerForAPodThatIsGivenUpChangesNothing) {
  const auto c = claim(made("data"));
  begin();
  EXPECT_NE(next(), "");
  desk.forget(pod.uid);
  applied(told(c, "a"));
  EXPECT_EQ(tells(), "");
  EXPECT_EQ(engine.volumes().assumed(pod.uid), nullptr);
}

TEST_F(VolumeDeskTest, NothingIsKeptOfPodsThatWent) {
  claim(made("data"));
  begin();
  EXPECT_NE(next(), "");
  answer(CallResult::NotSent, 0);
  desk.podEnded(pod.uid);
  EXPECT_EQ(desk.size(), 0U);
  EXPECT_EQ(engine.volumes().assumed(pod.uid), nullptr);
}

TEST_F(VolumeDeskTest, WhoLeadsNoMoreKeepsNothingFromOthers) {
  volume(makeVolume("v"));
  claim(sched::makeVolumeClaim("data"));
  begin();
  EXPECT_NE(next(), "");
  desk.reset();
  EXPECT_EQ(desk.size(), 0U);
  EXPECT_EQ(engine.volumes().assumed(pod.uid), nullptr);
  answer(CallResult::Applied, 200);
  EXPECT_EQ(tells(), "");
}

}  // namespace
}  // namespace gs::scheduler
