#include "scheduler/term/lease_record.h"

#include <gtest/gtest.h>

#include "model/lease.h"

namespace gs::scheduler {
namespace {

using namespace std::chrono_literals;
using kapi::CallResult;

/// Drives the machine by hand: each call it makes is answered by the test.
class LeaseRecordTest : public ::testing::Test {
 protected:
  kapi::Call sent() {
    EXPECT_EQ(out.size(), 1U);
    auto call = std::get<kapi::Call>(out.at(0));
    out.clear();
    return call;
  }
  void answer(const kapi::Call& call, int http, model::Object object = {}) {
    kapi::Outcome o;
    o.token = call.token;
    o.http = http;
    o.result = http == 0 ? CallResult::Unknown : http < 300 ? CallResult::Applied : CallResult::Refused;
    if (http == 404) { o.reason = "NotFound"; }
    o.object = std::move(object);
    record.handle(o, Now{now, {}}, out);
    record.tick(Now{now, {}}, out);
  }
  static model::Object crd(const char* ns, const char* term = "now", const char* scheduler = "me") {
    return std::make_shared<const model::Crd>(
        model::Crd{"gpuclaims.gpu.scheduling", model::Uid{"u"}, 7, ns, term, scheduler});
  }
  static model::Object leader(const char* holder, const char* renewed) {
    model::Lease l;
    l.holder = holder;
    l.record.duration_s = 5;
    l.record.renew_time = renewed;
    return std::make_shared<const model::Lease>(l);
  }
  void pass(Duration by) {
    now += by;
    record.tick(Now{now, {}}, out);
  }
  void startWith(model::Object object) {
    record.start("now", out);
    answer(sent(), 200, std::move(object));
  }

  controller::Parts parts;
  LeaseRecord record{"gpu-system", "me", parts};
  kapi::Effects out;
  Mono now{1h};
};

TEST_F(LeaseRecordTest, OursIsSettledAtOnce) {
  startWith(crd("gpu-system"));
  EXPECT_TRUE(record.ours());
  EXPECT_TRUE(out.empty());
}

TEST_F(LeaseRecordTest, OursOfAnEarlierTermIsWrittenAnewSoThatWhatIsOnItsWayMisses) {
  startWith(crd("gpu-system", "before"));
  EXPECT_FALSE(record.settled());
  const auto write = sent();
  EXPECT_EQ(write.verb, kapi::Verb::MergePatch);
  EXPECT_EQ(write.body["metadata"]["resourceVersion"].str(), "7");
  EXPECT_EQ(write.body["metadata"]["annotations"]["gpu.scheduling/lease-namespace-term"].str(), "now");
  answer(write, 409);
  EXPECT_TRUE(out.empty());
  pass(1s);
  answer(sent(), 200, crd("other", "theirs"));
  EXPECT_EQ(sent().key.ns, "other") << "they were first";
  EXPECT_FALSE(record.settled());
}

TEST_F(LeaseRecordTest, AnEmptyRecordIsWrittenWithItsRevisionAndReadAgain) {
  startWith(crd(""));
  const auto write = sent();
  EXPECT_EQ(write.verb, kapi::Verb::MergePatch);
  EXPECT_TRUE(write.leader_only);
  EXPECT_EQ(write.body["metadata"]["resourceVersion"].str(), "7");
  EXPECT_FALSE(record.settled());
  answer(write, 200, crd("gpu-system"));
  answer(sent(), 200, crd("gpu-system"));
  EXPECT_TRUE(record.ours());
}

TEST_F(LeaseRecordTest, ANewTermWaitsAsIfNothingHadBeenTakenAwayBefore) {
  for (const char* term : {"first", "second"}) {
    startWith(crd(""));
    answer(sent(), 200, crd("gpu-system"));
    answer(sent(), 200, crd(""));  // somebody took it away
    EXPECT_EQ(record.nextDue(), now + 200ms) << term;
    record.reset();
  }
}

TEST_F(LeaseRecordTest, WithoutTheCrdTheInitialSyncPassesButNoLeaseIsWritten) {
  record.start("now", out);
  answer(sent(), 404);
  EXPECT_TRUE(record.settled());
  EXPECT_FALSE(record.ours());
  pass(10s);
  EXPECT_EQ(sent().verb, kapi::Verb::Get);
}

TEST_F(LeaseRecordTest, ARecheckChangesNothingUntilAnAnswerDoes) {
  startWith(crd("gpu-system"));
  record.recheck(now);
  record.tick(Now{now, {}}, out);
  EXPECT_TRUE(record.ours());
  answer(sent(), 503);
  EXPECT_TRUE(record.ours());
  pass(1s);
  answer(sent(), 200, crd(""));  // the CRD was replaced: written again
  EXPECT_TRUE(record.ours());
  EXPECT_EQ(sent().verb, kapi::Verb::MergePatch);
}

TEST_F(LeaseRecordTest, ARecheckThatFindsAnotherNamespaceStopsUs) {
  startWith(crd("gpu-system"));
  record.recheck(now);
  record.tick(Now{now, {}}, out);
  answer(sent(), 200, crd("other"));
  EXPECT_FALSE(record.settled());
  EXPECT_EQ(sent().key.ns, "other");
}

TEST_F(LeaseRecordTest, AnotherNamespaceWhoseLeaderRenewsKeepsUsUnreadySayingSo) {
  startWith(crd("other"));
  answer(sent(), 200, leader("them", "t1"));
  EXPECT_FALSE(record.settled());
  EXPECT_NE(record.trouble().find("namespace other"), std::string::npos);
  pass(10s);
  answer(sent(), 200, crd("other"));
  answer(sent(), 200, leader("them", "t2"));  // renewed meanwhile
  EXPECT_FALSE(record.settled());
  pass(10s);
  answer(sent(), 200, crd("other"));
  EXPECT_EQ(sent().key.ns, "other");  // and we go on looking
}

TEST_F(LeaseRecordTest, WhileItWaitsTheRecordMayBecomeOurs) {
  startWith(crd("other"));
  answer(sent(), 200, leader("them", "t1"));
  pass(10s);
  answer(sent(), 200, crd("gpu-system", "by hand"));
  EXPECT_EQ(sent().verb, kapi::Verb::MergePatch);
}

TEST_F(LeaseRecordTest, AReadThatFailsMeanwhileDoesNotShortenTheWait) {
  startWith(crd("other"));
  answer(sent(), 200, leader("them", "t1"));
  pass(10s);
  answer(sent(), 503);
  pass(1s);
  answer(sent(), 200, crd("other"));
  answer(sent(), 200, leader("them", "t2"));
  pass(9s);
  EXPECT_TRUE(out.empty());
  pass(1s);
  answer(sent(), 200, crd("other"));
  answer(sent(), 503);
  pass(1s);
  answer(sent(), 200, crd("other"));
  answer(sent(), 200, leader("them", "t3"));
  pass(1s);
  EXPECT_TRUE(out.empty());
  EXPECT_FALSE(record.settled());
}

TEST_F(LeaseRecordTest, AnotherNamespaceWhoseLeaderIsSilentForTwoDurationsIsTakenOver) {
  startWith(crd("other"));
  answer(sent(), 200, leader("them", "t1"));
  pass(9s);
  EXPECT_TRUE(out.empty());
  pass(1s);
  answer(sent(), 200, crd("other"));
  answer(sent(), 200, leader("them", "t1"));
  EXPECT_EQ(sent().verb, kapi::Verb::MergePatch);
}

TEST_F(LeaseRecordTest, AnotherNamespaceWithoutALeaderIsTakenOverAtOnce) {
  startWith(crd("other"));
  answer(sent(), 404);
  EXPECT_EQ(sent().verb, kapi::Verb::MergePatch);
}

TEST_F(LeaseRecordTest, A404OfAProxyIsNoProofThatNobodyLeadsThere) {
  startWith(crd("other"));
  kapi::Outcome proxy;
  proxy.token = sent().token;
  proxy.result = CallResult::Refused;
  proxy.http = 404;
  proxy.message = "page not found";
  record.handle(proxy, Now{now, {}}, out);
  record.tick(Now{now, {}}, out);
  EXPECT_TRUE(out.empty());
  EXPECT_FALSE(record.settled());
}

TEST_F(LeaseRecordTest, AFailedReadIsMadeAgain) {
  record.start("now", out);
  answer(sent(), 0);
  EXPECT_FALSE(record.settled());
  pass(1s);
  answer(sent(), 200, crd("gpu-system"));
  EXPECT_TRUE(record.ours());
}

TEST_F(LeaseRecordTest, AnEarlierVersionsIsGivenOurName) {
  startWith(crd("gpu-system", "now", ""));
  const auto write = sent();
  EXPECT_EQ(write.body["metadata"]["annotations"]["gpu.scheduling/lease-namespace-scheduler"].str(), "me");
}

TEST_F(LeaseRecordTest, OurNamespaceUnderAnotherNameKeepsUsUnreadyUntilSomebodyChangesIt) {
  startWith(crd("gpu-system", "now", "them"));
  EXPECT_FALSE(record.settled());
  EXPECT_NE(record.trouble().find("are those of scheduler them"), std::string::npos) << record.trouble();
  EXPECT_NE(record.trouble().find("remove that annotation"), std::string::npos);
  for (int i = 0; i < 10; ++i) {
    pass(10s);
    answer(sent(), 200, crd("gpu-system", "now", "them"));
    EXPECT_TRUE(out.empty()) << "nothing is written";
    EXPECT_FALSE(record.settled());
  }
  pass(10s);
  answer(sent(), 200, crd("gpu-system", "now", ""));
  EXPECT_EQ(sent().verb, kapi::Verb::MergePatch);
}

/// A webhook that strips our annotations, say.
TEST_F(LeaseRecordTest, WhatIsTakenAwayAgainIsNotWrittenAgainAtOnce) {
  startWith(crd(""));
  int writes = 0;
  for (int ms = 0; ms < 60'000; ms += 100) {
    while (!out.empty()) {
      const auto call = sent();
      writes += call.verb == kapi::Verb::MergePatch ? 1 : 0;
      ASSERT_LT(writes, 100);
      answer(call, 200, crd(""));
    }
    pass(100ms);
  }
  EXPECT_GE(writes, 5);
  EXPECT_LE(writes, 15);
  EXPECT_FALSE(record.settled());
}

}  // namespace
}  // namespace gs::scheduler
