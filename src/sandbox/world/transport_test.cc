#include "sandbox/world/transport.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "apiserver/handlers/api.h"
#include "kapi/kinds.h"

namespace gs::sandbox {
namespace {

using namespace std::chrono_literals;
using json::Object;
using json::Value;
using How = CallFault::How;

/// Clients that note what they hear: "1:7 applied" is client 1's call 7.
class TransportTest : public testing::Test, public Transport::Clients {
 protected:
  TransportTest() { transport_.connect(*this); }
  ~TransportTest() = default;

  bool isAlive(Transport::Address who) const override { return lives_.at(who.id) == who.life; }
  void answered(Transport::Address who, kapi::Outcome o) override {
    static constexpr const char* kCallResults[] = {"applied", "refused", "unknown", "not-sent"};
    heard_ += std::to_string(who.id) + ":" + std::to_string(o.token) + " " +
              kCallResults[static_cast<int>(o.result)] + (o.http == 0 ? "" : " " + std::to_string(o.http)) +
              "; ";
  }
  void streamed(Transport::Address who, ApiPort::StreamEvent event) override {
    heard_ += std::to_string(who.id) + (who.life == 1 ? ":" : "'s next life:");
    if (const auto* ended = std::get_if<kapi::WatchEnded>(&event)) {
      heard_ += std::to_string(ended->stream) + " ended " + std::to_string(ended->http) + "; ";
    } else {
      const auto& e = std::get<kapi::WatchEvent>(event);
      heard_ += std::to_string(e.stream) + (e.type == kapi::WatchType::Bookmark ? " bookmark; " : " event; ");
    }
    if (!dies_of_events_) { return; }
    dies_of_events_ = false;
    die(who);
    transport_.open({who.id, ++lives_[who.id]}, watch(5));
  }
  void die(Transport::Address who) override {
    heard_ += std::to_string(who.id) + " died; ";
    transport_.cutOff(who.id);
  }

  static kapi::Call create(const char* name, kapi::Token token = 7) {
    kapi::Call call;
    call.token = token;
    call.verb = kapi::Verb::Create;
    call.kind = kapi::kLease;
    call.key.ns = "default";
    call.body = Object{{"metadata", Object{{"name", name}}}};
    return call;
  }
  static kapi::OpenWatch watch(kapi::Token stream, const char* query = "timeoutSeconds=300") {
    kapi::OpenWatch out;
    out.stream = stream;
    out.kind = kapi::kLease;
    out.query = query;
    return out;
  }
  /// Somebody writes, not by this wire.
  void write(const char* name) {
    (void)api_.handle({"POST", "/apis/coordination.k8s.io/v1/namespaces/default/leases", "application/json",
                       Object{{"metadata", Object{{"name", name}}}}},
                      queue_.now());
    transport_.changed();
  }
  bool exists(const char* name) {
    return api_.store().find({"coordination.k8s.io/leases", "default", name}) != nullptr;
  }
  void resultIs(CallFault result) {
    transport_.setJudge([result](ReplicaId, const kapi::Call&) { return result; });
  }
  /// What was heard within that time.
  std::string after(Duration by) {
    queue_.runTo(queue_.now().mono + by);
    return std::exchange(heard_, {});
  }

  static constexpr Transport::Address kOne{1, 1};
  static constexpr Transport::Address kTwo{2, 1};
  EventQueue queue_{ManualClock{}.now().wall};
  apiserver::Api api_{Rng{1}, queue_.now()};
  bool dies_of_events_ = false;
  ApiPort port_{api_};
  Transport transport_{queue_, port_, {1ms, true, [this] { transport_.changed(); }}};

 private:
  std::string heard_;
  std::map<ReplicaId, std::uint64_t> lives_{{1, 1}, {2, 1}};
};

TEST_F(TransportTest, ACallTakesTheLatencyEachWay) {
  transport_.send(kOne, create("a"));
  EXPECT_EQ(after(0ms), "");
  EXPECT_FALSE(exists("a"));
  EXPECT_EQ(after(1ms), "");
  EXPECT_TRUE(exists("a"));
  EXPECT_EQ(after(1ms), "1:7 applied 201; ");
  EXPECT_EQ(transport_.writes(), std::vector<std::string>{"POST leases default/"});
}

TEST_F(TransportTest, EachResultIsHeardAndDone) {
  struct Case {
    const char* name;
    CallFault result;
    std::string heard;
    bool done_at_once;
    bool done_later;
  };
  const std::vector<Case> cases{
      {"normal", {}, "1:7 applied 201; ", true, true},
      {"refused", {.how = How::Refused, .http = 403}, "1:7 refused 403; ", false, false},
      {"failed", {.how = How::Refused, .http = 503}, "1:7 unknown 503; ", false, false},
      {"lost-before", {.how = How::LostBefore}, "1:7 unknown; ", false, false},
      {"lost-after", {.how = How::LostAfter}, "1:7 unknown; ", true, true},
      {"late", {.how = How::Late, .delay = 1s}, "1:7 unknown; ", false, true},
  };
  for (const Case& c : cases) {
    resultIs(c.result);
    transport_.send(kOne, create(c.name));
    EXPECT_EQ(after(2ms), c.heard) << c.name;
    EXPECT_EQ(exists(c.name), c.done_at_once) << c.name;
    EXPECT_EQ(after(2s), "") << c.name;
    EXPECT_EQ(exists(c.name), c.done_later) << c.name;
  }
}

TEST_F(TransportTest, ASenderMayDieBeforeAndAfter) {
  std::string witnessed;
  transport_.setWitness([&](ReplicaId, const kapi::Call& call, const kapi::Outcome&) {
    witnessed += std::string{call.body["metadata"]["name"].str()} + " ";
  });
  resultIs({.crash_before = true});
  transport_.send(kOne, create("before"));
  EXPECT_EQ(after(1s), "1 died; ");
  EXPECT_FALSE(exists("before"));
  resultIs({.crash_after = true});
  transport_.send(kTwo, create("after"));
  EXPECT_EQ(after(1s), "2 died; ");
  EXPECT_TRUE(exists("after"));
  EXPECT_EQ(witnessed, "after ");
}

TEST_F(TransportTest, WritesOfAnElectionAreNotListed) {
  transport_.send(kOne, create("a", kapi::makeToken(kElectionOwner, 1)));
  kapi::Call read = create("");
  read.verb = kapi::Verb::List;
  transport_.send(kOne, read);
  (void)after(1s);
  EXPECT_TRUE(exists("a"));
  EXPECT_TRUE(transport_.writes().empty());
}

TEST_F(TransportTest, AStreamBringsWhatChangedAndEndsInTime) {
  transport_.open(kOne, watch(5));
  transport_.open(kTwo, watch(5));
  write("a");
  EXPECT_EQ(after(1ms), "1:5 event; 2:5 event; ");
  transport_.close(1, 5);
  write("b");
  EXPECT_EQ(after(1ms), "2:5 event; ");
  EXPECT_EQ(after(299s), "2:5 bookmark; 2:5 bookmark; 2:5 bookmark; 2:5 bookmark; ");
  EXPECT_EQ(after(1s), "2:5 ended 200; ");
  write("c");
  EXPECT_EQ(after(1s), "");
}

TEST_F(TransportTest, OfWhatIsTamperedWithJudgesSeeWhatIsSentAndTheWitnessWhatWasAnswered) {
  std::string judged;
  std::string witnessed;
  transport_.setJudge([&](ReplicaId, const kapi::Call& call) {
    judged += call.body["metadata"]["name"].str();
    return CallFault{};
  });
  transport_.setWitness([&](ReplicaId, const kapi::Call&, const kapi::Outcome& o) {
    witnessed += std::to_string(o.http) + " ";
  });
  Tampering tampering;
  tampering.sent = [](ReplicaId who, kapi::Call& call) {
    if (who == 1) { call.body.child("metadata").set("name", "b"); }
  };
  tampering.answered = [](ReplicaId who, const kapi::Call&, kapi::Outcome& o) {
    if (who == 1) { o.http = 202; }
  };
  tampering.heard = [](ReplicaId who, kapi::WatchEvent& event) {
    if (event.key.name == "b") { event.type = kapi::WatchType::Bookmark; }
    return who == 1 || event.key.name == "b";
  };
  transport_.setTampering(std::move(tampering));
  transport_.open(kOne, watch(5));
  transport_.open(kTwo, watch(5));
  transport_.send(kOne, create("a"));
  EXPECT_EQ(after(2ms), "1:5 bookmark; 2:5 bookmark; 1:7 applied 202; ");
  EXPECT_TRUE(exists("b"));
  EXPECT_FALSE(exists("a"));
  transport_.send(kTwo, create("c"));
  EXPECT_EQ(after(2ms), "1:5 event; 2:7 applied 201; ");
  EXPECT_EQ(judged, "bc");
  EXPECT_EQ(witnessed, "201 201 ");
}

TEST_F(TransportTest, AShortWatchHasABookmarkAfterASecond) {
  transport_.open(kOne, watch(5, "timeoutSeconds=3"));
  EXPECT_EQ(after(1'001ms), "1:5 bookmark; ");
}

TEST_F(TransportTest, WhatIsHeldComesAtOnceAndOthersOvertakeIt) {
  transport_.setStreamJudge([](ReplicaId, kapi::Token stream) { return stream == 5 ? 10ms : 0ms; });
  transport_.open(kOne, watch(5));
  transport_.open(kOne, watch(6));
  write("a");
  EXPECT_EQ(after(1ms), "1:6 event; ");
  write("b");
  EXPECT_EQ(after(5ms), "1:6 event; ");
  EXPECT_EQ(after(5ms), "1:5 event; 1:5 event; ");
}

TEST_F(TransportTest, StreamsEndForOneOrForAll) {
  for (const auto who : {kOne, kTwo}) {
    transport_.open(who, watch(5));
    transport_.open(who, watch(6));
  }
  transport_.endStreams(1, 410);
  EXPECT_EQ(after(0ms), "1:5 ended 410; 1:6 ended 410; ");
  transport_.open(kOne, watch(7));
  transport_.endAllStreams(0);
  EXPECT_EQ(after(0ms), "1:7 ended 0; 2:5 ended 0; 2:6 ended 0; ");
  write("a");
  EXPECT_EQ(after(400s), "");  // not even a bookmark
}

TEST_F(TransportTest, NobodyReachesAnApiThatIsAway) {
  transport_.open(kOne, watch(5));
  transport_.setApiAway(true);
  EXPECT_EQ(after(0ms), "1:5 ended 0; ");
  transport_.send(kOne, create("a"));
  transport_.open(kOne, watch(6));
  EXPECT_EQ(after(1ms), "1:7 not-sent; 1:6 ended 0; ");
  EXPECT_FALSE(exists("a"));
  transport_.setApiAway(false);
  transport_.send(kOne, create("a"));
  EXPECT_EQ(after(2ms), "1:7 applied 201; ");
}

TEST_F(TransportTest, WhoDiesOfAnEventHearsNoOtherAndMayBeginAgainAtOnce) {
  write("a");
  transport_.open(kOne, watch(5));
  transport_.open(kTwo, watch(5));
  write("b");
  dies_of_events_ = true;
  EXPECT_EQ(after(1ms), "1:5 event; 1 died; 2:5 event; 2:5 event; ");
  EXPECT_EQ(after(1ms), "1's next life:5 event; 1's next life:5 event; ");
}

TEST_F(TransportTest, AStreamOfAFormerLifeSaysNothingToThisOne) {
  transport_.open(kOne, watch(5));
  (void)after(100s);
  transport_.cutOff(1);
  transport_.open({1, 2}, watch(5));
  // Its own bookmarks: at 160, 220, 280 and 340 s.
  const std::string bookmark = "1's next life:5 bookmark; ";
  EXPECT_EQ(after(201s), bookmark + bookmark + bookmark);
  EXPECT_EQ(after(100s), bookmark + "1's next life:5 ended 200; ");
}

}  // namespace
}  // namespace gs::sandbox
