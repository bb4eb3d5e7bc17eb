#include "agent/enforced/held_leases.h"

#include <gtest/gtest.h>

#include <deque>

#include "agent/enforced/leases_test.h"
#include "kapi/kinds.h"

namespace gs::agent {
namespace {

using enforce::Hold;
using namespace std::chrono_literals;

class HeldLeasesTest : public ::testing::Test {
 protected:
  HeldLeasesTest() { held_.read(true); }

  void tick() {
    kapi::Effects out;
    held_.tick(clock_.now(), out);
    take(std::move(out));
  }
  void take(kapi::Effects out) {
    for (auto& effect : out) {
      if (auto* call = std::get_if<kapi::Call>(&effect)) { calls_.push_back(std::move(*call)); }
      if (auto* log = std::get_if<kapi::Log>(&effect)) { logs_.push_back(log->message); }
    }
    most_ = std::max(most_, calls_.size());
  }
  void answer(const kapi::Outcome& outcome) {
    kapi::Effects out;
    held_.handle(outcome, clock_.now(), out);
    take(std::move(out));
    tick();
  }
  kapi::Call nextCall() {
    kapi::Call call = std::move(calls_.front());
    calls_.pop_front();
    return call;
  }
  void answerAll() {
    for (tick(); !calls_.empty();) { answer(leases_.answer(nextCall())); }
  }
  /// As time goes by, with all that is due in it.
  void wait(Duration how_long) {
    const Mono until = clock_.now().mono + how_long;
    for (auto due = held_.nextDue(); due && *due <= until; due = held_.nextDue()) {
      clock_.advance(std::max(Duration{}, *due - clock_.now().mono));
      answerAll();
    }
    clock_.advance(until - clock_.now().mono);
  }
  void changed(const model::Pod& pod) {
    held_.changed(pod);
    tick();
  }
  [[nodiscard]] enforce::NodeRecord record() const {
    enforce::NodeRecord out;
    out.node = "n";
    for (int id = 0; id < 4; ++id) {
      enforce::NodeDevice device;
      device.id = gpu(id);
      device.uuid = uuids_.at(static_cast<std::size_t>(id));
      out.devices.push_back(device);
    }
    held_.fill(out);
    return out;
  }
  [[nodiscard]] enforce::Holding holding(const char* pod) const {
    const auto all = record().holdings;
    const auto it = all.find(model::Uid{std::string{"uid-"} + pod});
    EXPECT_NE(it, all.end()) << pod;
    return it == all.end() ? enforce::Holding{} : it->second;
  }
  /// Who holds it: "p", "" nobody, "?" a pod that nobody knows.
  [[nodiscard]] std::string holder(int id) const {
    const auto held = record().held;
    const auto it = held.find(gpu(id));
    return it == held.end() ? "" : it->second.empty() ? "?" : it->second.text.substr(4);
  }
  static model::DeviceId gpu(int id) { return {id, model::DeviceId::kWhole}; }
  static constexpr auto kNobody = [](const model::Uid&) { return false; };
  static constexpr auto kAll = [](const model::Uid&) { return true; };

  ManualClock clock_;
  Rng rng_{1};
  controller::Parts parts_;
  HeldLeases held_{{model::NodeName{"n"}, FakeLeases::kNamespace}, parts_, rng_};
  FakeLeases leases_;
  std::deque<kapi::Call> calls_;
  std::size_t most_ = 0;  // calls under way
  std::vector<std::string> logs_;
  std::vector<std::string> uuids_{"GPU-0", "GPU-1", "GPU-2", "GPU-3"};
};

TEST_F(HeldLeasesTest, APodHoldsWhatAllItsLeasesSay) {
  const auto p = podWith("p", "n:1,0", "r1");
  leases_.give(0, p, "r1", "n:0,1");
  leases_.give(1, p, "r1", "n:0,1");
  changed(p);
  EXPECT_EQ(holding("p").hold, Hold::Unverified);
  EXPECT_EQ(holding("p").why, "the leases of its GPUs '0,1' are being read");
  EXPECT_FALSE(held_.allAnswered());
  ASSERT_EQ(calls_.size(), 2U);
  EXPECT_EQ(calls_[0].kind, kapi::kLease);
  EXPECT_EQ(calls_[0].key.text(), "leases/gpu-n-0");
  answer(leases_.answer(nextCall()));
  EXPECT_EQ(holding("p").hold, Hold::Unverified) << "one is missing yet";
  EXPECT_EQ(holder(0), "");
  answer(leases_.answer(nextCall()));
  const auto now = holding("p");
  EXPECT_EQ(now.hold, Hold::Verified);
  EXPECT_EQ(now.devices, (std::vector<model::DeviceId>{gpu(0), gpu(1)}));
  EXPECT_EQ(now.reservation, "r1");
  EXPECT_FALSE(now.is_shared);
  EXPECT_EQ(holder(1), "p");
  EXPECT_TRUE(held_.allAnswered());
}

TEST_F(HeldLeasesTest, ItsLeasesAreReadOnce) {
  const auto p = podWith("p", "n:0", "r1");
  leases_.give(0, p, "r1", "n:0");
  changed(p);
  answerAll();
  leases_.all.clear();
  auto again = p;
  again.ready = true;
  changed(again);
  wait(10min);
  EXPECT_EQ(most_, 1U);
  EXPECT_EQ(holding("p").hold, Hold::Verified);
}

TEST_F(HeldLeasesTest, WhoIsRefutedIsReadAgainLaterEachTime) {
  const auto p = podWith("p", "n:0", "r1");
  changed(p);
  answerAll();
  EXPECT_EQ(holding("p").hold, Hold::Refuted);
  EXPECT_EQ(holding("p").why, "there is no lease leases/gpu-n-0 of its GPU 0");
  EXPECT_EQ(holder(0), "");
  wait(400ms);
  EXPECT_EQ(held_.nextDue() > clock_.now().mono, true);
  leases_.give(0, p, "r1", "n:0");  // the scheduler writes it again
  wait(300ms);
  EXPECT_EQ(holding("p").hold, Hold::Verified);
  EXPECT_EQ(holder(0), "p");
}

TEST_F(HeldLeasesTest, AnotherPodsLeaseRefutesAndIsHeldByThat) {
  const auto q = podWith("q", "n:0", "r2");
  leases_.give(0, q, "r2", "n:0");
  changed(podWith("p", "n:0", "r1"));
  answerAll();
  EXPECT_EQ(holding("p").hold, Hold::Refuted);
  EXPECT_EQ(holder(0), "?") << "no such pod is known here";
  changed(q);
  answerAll();
  EXPECT_EQ(holding("q").hold, Hold::Verified);
  EXPECT_EQ(holder(0), "q");
}

TEST_F(HeldLeasesTest, WhatCannotBeReadIsSaidOnceAndReadAgain) {
  const auto p = podWith("p", "n:0", "r1");
  leases_.give(0, p, "r1", "n:0");
  changed(p);
  answer(FakeLeases::refused(nextCall(), 403, "Forbidden"));
  EXPECT_EQ(holding("p").hold, Hold::Unverified);
  EXPECT_EQ(holding("p").why, "lease leases/gpu-n-0 of its GPU 0 cannot be read: 403 Forbidden");
  EXPECT_EQ(held_.trouble(), holding("p").why);
  EXPECT_TRUE(held_.allAnswered()) << "others need not wait for it";
  changed(podWith("q", "n:1", "r2"));
  answer(FakeLeases::refused(nextCall(), 403, "Forbidden"));
  EXPECT_EQ(logs_.size(), 1U);
  wait(2s);
  EXPECT_EQ(holding("p").hold, Hold::Verified);
  EXPECT_EQ(held_.trouble(), "");
}

/// What a proxy says of a page says nothing of a lease.
TEST_F(HeldLeasesTest, A404WithoutAStatusIsNoAnswer) {
  changed(podWith("p", "n:0", "r1"));
  const kapi::Call call = nextCall();
  answer(kapi::decodeAnswerValue(call, 404, json::Value{"404 page not found"}));
  EXPECT_EQ(holding("p").hold, Hold::Unverified);
}

TEST_F(HeldLeasesTest, WhatItSaysAnewIsReadAnewAndWhatItHadStaysHeld) {
  auto p = podWith("p", "n:0", "r1");
  leases_.give(0, p, "r1", "n:0");
  changed(p);
  answerAll();
  p.annotations[model::kAllocatedKey] = "n:1";
  changed(p);
  EXPECT_EQ(holding("p").hold, Hold::Unverified);
  answerAll();
  EXPECT_EQ(holding("p").hold, Hold::Refuted);
  EXPECT_EQ(holder(0), "p") << "its containers have it";
  p.annotations.clear();
  changed(p);
  EXPECT_EQ(holding("p").why, "its annotation gpu.scheduling/allocated was taken away");
  EXPECT_EQ(holder(0), "p");
}

TEST_F(HeldLeasesTest, AnAnswerToAnEarlierQuestionIsNone) {
  auto p = podWith("p", "n:0", "r1");
  leases_.give(0, p, "r1", "n:0");
  changed(p);
  const kapi::Call late = nextCall();
  p.annotations[model::kReservationKey] = "r2";
  changed(p);
  answer(leases_.answer(late));
  EXPECT_EQ(holding("p").hold, Hold::Unverified);
  answerAll();
  EXPECT_EQ(holding("p").hold, Hold::Refuted);
}

TEST_F(HeldLeasesTest, ACountOfGpusHoldsNoneAndAsksNobody) {
  changed(podWith("p", "", "r1"));
  EXPECT_TRUE(calls_.empty());
  EXPECT_EQ(holding("p").hold, Hold::Verified);
  EXPECT_TRUE(holding("p").devices.empty());
  changed(podWith("q", "", ""));
  EXPECT_EQ(held_.size(), 1U) << "it has nothing of ours";
}

TEST_F(HeldLeasesTest, NonsenseIsRefutedAndAsksNobody) {
  changed(podWith("p", "m:0", "r1"));
  wait(10min);
  EXPECT_EQ(most_, 0U);
  EXPECT_EQ(holding("p").hold, Hold::Refuted);
  EXPECT_NE(holding("p").why.find("'m:0' is of node 'm' and not of 'n'"), std::string::npos);
}

TEST_F(HeldLeasesTest, SharersHoldItTogether) {
  const auto p = podWith("p", "n:0", "r1");
  const auto q = podWith("q", "n:0", "r2");
  leases_.share(0, {{p.uid, p.key, 0, 0, model::ReservationId{"r1"}, "n:0"},
                    {q.uid, q.key, 0, 0, model::ReservationId{"r2"}, "n:0"}});
  changed(p);
  changed(q);
  answerAll();
  EXPECT_EQ(holding("p").hold, Hold::Verified);
  EXPECT_TRUE(holding("p").is_shared);
  EXPECT_TRUE(holding("q").is_shared);
  EXPECT_NE(holder(0), "");
}

// ---- who costs what

TEST_F(HeldLeasesTest, EightAreAskedForAtOnceAndEachPodHasItsTurn) {
  std::string many = "n:0";
  for (int id = 1; id < 100; ++id) { many += "," + std::to_string(id); }
  held_.changed(podWith("big", many, "r1"));
  held_.changed(podWith("p", "n:3", "r2"));
  tick();
  EXPECT_EQ(calls_.size(), HeldLeases::kUnderWay);
  EXPECT_EQ(calls_[1].key.name, "gpu-n-3") << "the second turn is the other pod's";
}

TEST_F(HeldLeasesTest, WhoIsRefutedAsksForNoMore) {
  std::string many = "n:0";
  for (int id = 1; id < 100; ++id) { many += "," + std::to_string(id); }
  changed(podWith("big", many, "r1"));
  std::size_t answered = 0;
  for (; !calls_.empty(); ++answered) { answer(leases_.answer(nextCall())); }
  EXPECT_EQ(answered, HeldLeases::kUnderWay);
  EXPECT_EQ(holding("big").hold, Hold::Refuted);
}

TEST_F(HeldLeasesTest, WaitsGrowToAMinute) {
  changed(podWith("p", "n:0", "r1"));
  answerAll();
  int asked = 0;
  for (int i = 0; i < 60; ++i) {
    const auto before = held_.changes();
    wait(10s);
    asked += static_cast<int>(held_.changes() - before);
  }
  EXPECT_GE(asked, 12);
  EXPECT_LE(asked, 20) << "half a second, then twice that each time, up to a minute";
}

TEST_F(HeldLeasesTest, NothingIsReadWhileThatIsOff) {
  held_.read(false);
  const auto p = podWith("p", "n:0", "r1");
  leases_.give(0, p, "r1", "n:0");
  changed(p);
  EXPECT_TRUE(calls_.empty());
  held_.read(true);
  answerAll();
  EXPECT_EQ(holding("p").hold, Hold::Verified);
}

// ---- who goes

TEST_F(HeldLeasesTest, WhoHasContainersStaysThoughItEnded) {
  auto p = podWith("p", "n:0", "r1");
  leases_.give(0, p, "r1", "n:0");
  changed(p);
  answerAll();
  held_.sweep(kNobody);
  EXPECT_EQ(holder(0), "p") << "it has not ended";
  p.phase = model::PodPhase::Failed;
  changed(p);
  held_.sweep(kAll);
  EXPECT_EQ(holder(0), "p");
  held_.sweep(kNobody);
  EXPECT_EQ(holder(0), "");
  EXPECT_EQ(held_.size(), 0U);
  changed(p);
  EXPECT_EQ(held_.size(), 0U) << "it has ended, and is nobody's any more";
}

TEST_F(HeldLeasesTest, AnAnswerForOneThatIsGoneIsNothing) {
  const auto p = podWith("p", "n:0", "r1");
  leases_.give(0, p, "r1", "n:0");
  changed(p);
  held_.gone(p.uid);
  held_.sweep(kNobody);
  answerAll();
  EXPECT_EQ(held_.size(), 0U);
  EXPECT_TRUE(record().held.empty());
}

TEST_F(HeldLeasesTest, OfTwoThatWereGivenADeviceTheLaterOneHoldsIt) {
  const auto p = podWith("p", "n:0", "r1");
  const auto a = podWith("a", "n:0", "r2");
  for (const auto* first : {&p, &a}) {
    const auto& second = first == &p ? a : p;
    leases_.give(0, *first, *first->annotation(model::kReservationKey), "n:0");
    changed(*first);
    answerAll();
    leases_.give(0, second, *second.annotation(model::kReservationKey), "n:0");
    changed(second);
    answerAll();
    EXPECT_EQ(holder(0), second.key.name);
    for (const auto& one : {p, a}) { held_.gone(one.uid); }
    held_.sweep(kNobody);
  }
}

// ---- GPUs that are counted otherwise

TEST_F(HeldLeasesTest, WhoseIdsMeanOtherGpusNowHoldsThoseByTheirNames) {
  const auto p = podWith("p", "n:2", "r1");
  leases_.give(2, p, "r1", "n:2").uuid = "GPU-2";
  changed(p);
  answerAll();
  EXPECT_EQ(holding("p").hold, Hold::Verified);
  uuids_ = {"GPU-0", "GPU-2", "GPU-3", "GPU-4"};
  EXPECT_EQ(holding("p").hold, Hold::Refuted);
  EXPECT_EQ(holding("p").why,
            "it was given GPU 2 of node n when that was GPU-2, which is GPU 1 now: its containers were told "
            "the old id; delete the pod");
  EXPECT_EQ(holder(1), "p");
  EXPECT_EQ(holder(2), "");
  uuids_ = {"GPU-0", "GPU-5", "GPU-3", "GPU-4"};
  EXPECT_NE(holding("p").why.find("which is not there now"), std::string::npos);
  uuids_ = {"GPU-0", "GPU-1", "GPU-2", "GPU-3"};
  EXPECT_EQ(holding("p").hold, Hold::Verified) << "it is as it was";
}

}  // namespace
}  // namespace gs::agent
