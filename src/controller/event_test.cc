#include "controller/event.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <set>

#include "kapi/kinds.h"
#include "kapi/paths.h"

namespace gs::controller {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

EventNote noteOn(const std::string& pod, const std::string& text = "no GPUs") {
  EventNote n;
  n.object = {"team-a", pod};
  n.uid = model::Uid{"u-" + pod};
  n.revision = 42;
  n.warning = true;
  n.reason = "FailedScheduling";
  n.action = "Scheduling";
  n.note = text;
  return n;
}

class EventRecorderTest : public testing::Test {
 protected:
  std::optional<kapi::Call> record(const EventNote& note) { return recorder_.record(note, clock_.now()); }
  EventRecorder recorder_{"gpu-scheduler", "gpu-scheduler-host", Rng{5}};
  ManualClock clock_;
};

TEST_F(EventRecorderTest, TheFirstIsACreate) {
  const auto call = record(noteOn("p"));
  ASSERT_TRUE(call);
  EXPECT_EQ(kapi::target(*call), "/apis/events.k8s.io/v1/namespaces/team-a/events");
  EXPECT_EQ(call->verb, kapi::Verb::Create);
  EXPECT_TRUE(call->leader_only);
  const std::string name{call->body["metadata"]["name"].str()};
  EXPECT_EQ(name.substr(0, 2), "p.");
  EXPECT_EQ(name.size(), 18U);
  EXPECT_EQ(
      json::print(call->body),
      R"({"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{"name":")" + name +
          R"(","namespace":"team-a"},"eventTime":"2025-06-15T15:06:40.000000Z",)"
          R"("reportingController":"gpu-scheduler","reportingInstance":"gpu-scheduler-host",)"
          R"("action":"Scheduling",)"
          R"("reason":"FailedScheduling","regarding":{"kind":"Pod","name":"p","uid":"u-p","apiVersion":"v1",)"
          R"("namespace":"team-a","resourceVersion":"42"},"note":"no GPUs","type":"Warning"})");
}

TEST_F(EventRecorderTest, ARepeatIsAPatchOfTheSeries) {
  const auto first = record(noteOn("p"));
  clock_.advance(seconds{10});
  const auto second = record(noteOn("p"));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->verb, kapi::Verb::MergePatch);
  EXPECT_TRUE(second->leader_only);
  EXPECT_EQ(second->key.name, first->body["metadata"]["name"].str());
  EXPECT_EQ(second->key.ns, "team-a");
  EXPECT_EQ(json::print(second->body),
            R"({"series":{"count":2,"lastObservedTime":"2025-06-15T15:06:50.000000Z"}})");
}

/// Whoever says it: another process has another recorder.
TEST_F(EventRecorderTest, WhatIsToBeSaidOnceHasTheNameOfItsContent) {
  EventNote note = noteOn("p", "3 of 5");
  note.once = "about";
  const auto first = record(note);
  clock_.advance(seconds{10});
  note.note = "4 of 5";
  EventRecorder other{"gpu-scheduler", "another-host", Rng{6}};
  const auto second = other.record(note, clock_.now());
  ASSERT_TRUE(first && second);
  EXPECT_EQ(second->verb, kapi::Verb::Create);
  EXPECT_EQ(first->body["metadata"]["name"].str(), second->body["metadata"]["name"].str());
  EXPECT_EQ(first->body["metadata"]["name"].str().size(), 18U);
  std::set<std::string> names{std::string{first->body["metadata"]["name"].str()}};
  const auto differs = [&](EventNote changed) {
    return names.insert(std::string{record(changed)->body["metadata"]["name"].str()}).second;
  };
  EventNote changed = note;
  changed.uid = model::Uid{"another"};
  EXPECT_TRUE(differs(changed));
  changed = note;
  changed.reason = "Other";
  EXPECT_TRUE(differs(changed));
  changed = note;
  changed.once = "something else";
  EXPECT_TRUE(differs(changed));
}

TEST_F(EventRecorderTest, RepeatsThatComeTooSoonAreCountedOnly) {
  (void)record(noteOn("p"));
  for (int i = 0; i < 9; ++i) {
    clock_.advance(seconds{1});
    EXPECT_FALSE(record(noteOn("p"))) << i;
  }
  clock_.advance(seconds{1});
  EXPECT_EQ(record(noteOn("p"))->body["series"]["count"].integer(), 11);
}

TEST_F(EventRecorderTest, After6QuietMinutesItIsANewEvent) {
  const auto first = record(noteOn("p"));
  clock_.advance(minutes{5});
  EXPECT_EQ(record(noteOn("p"))->verb, kapi::Verb::MergePatch);
  clock_.advance(minutes{6} + seconds{1});
  const auto again = record(noteOn("p"));
  EXPECT_EQ(again->verb, kapi::Verb::Create);
  EXPECT_NE(again->body["metadata"]["name"].str(), first->body["metadata"]["name"].str());
  clock_.advance(seconds{30});
  EXPECT_EQ(record(noteOn("p"))->body["series"]["count"].integer(), 2);
}

TEST_F(EventRecorderTest, AnotherTextObjectReasonOrTypeIsAnotherEvent) {
  (void)record(noteOn("p"));
  EXPECT_EQ(record(noteOn("p", "other"))->verb, kapi::Verb::Create);
  EXPECT_EQ(record(noteOn("q"))->verb, kapi::Verb::Create);
  EventNote n = noteOn("p");
  n.reason = "Other";
  EXPECT_EQ(record(n)->verb, kapi::Verb::Create);
  n = noteOn("p");
  n.warning = false;
  EXPECT_EQ(record(n)->body["type"].str(), "Normal");
  n = noteOn("p");
  n.uid = model::Uid{"another pod of that name"};
  EXPECT_EQ(record(n)->verb, kapi::Verb::Create);
}

TEST_F(EventRecorderTest, EventsOfClusterScopedObjectsAreInDefault) {
  EventNote n = noteOn("node-a");
  n.kind = kapi::kNode;
  n.object.ns.clear();
  n.revision = 0;
  const auto call = record(n);
  EXPECT_EQ(call->key.ns, "default");
  EXPECT_EQ(call->body["metadata"]["namespace"].str(), "default");
  EXPECT_EQ(call->body["regarding"].find("namespace"), nullptr);
  EXPECT_EQ(call->body["regarding"].find("resourceVersion"), nullptr);
}

TEST_F(EventRecorderTest, ALongNoteIsCutBetweenCharacters) {
  EXPECT_EQ(record(noteOn("p", std::string(1024, 'x')))->body["note"].str().size(), 1024U);
  EXPECT_EQ(record(noteOn("p", std::string(1025, 'x')))->body["note"].str(), std::string(1021, 'x') + "...");
  std::string umlauts;
  for (int i = 0; i < 600; ++i) { umlauts += "ä"; }
  const std::string cut{record(noteOn("p", umlauts))->body["note"].str()};
  EXPECT_EQ(cut.size(), 1023U);
  EXPECT_TRUE(json::parse(json::print(cut)));
  EXPECT_EQ(json::print(cut).find("ufffd"), std::string::npos);
}

TEST_F(EventRecorderTest, ALongNameStaysValid) {
  const std::string pod = std::string(235, 'p') + "-." + std::string(16, 'q');
  const std::string name{record(noteOn(pod))->body["metadata"]["name"].str()};
  EXPECT_EQ(name.substr(0, 236), std::string(235, 'p') + ".");
  EXPECT_EQ(name.size(), 252U);
}

TEST_F(EventRecorderTest, TheOldestIsForgottenWhenThereAreTooMany) {
  for (int i = 0; i < 4200; ++i) { (void)record(noteOn("p" + std::to_string(i))); }
  clock_.advance(seconds{20});
  EXPECT_EQ(record(noteOn("p4199"))->verb, kapi::Verb::MergePatch);
  EXPECT_EQ(record(noteOn("p0"))->verb, kapi::Verb::Create);
}

TEST(EventRecorderProperty, WritesOfOneEventKeepTheirGapAndCountEverything) {
  EXPECT_TRUE(rc::check([](std::uint64_t seed) {
    Rng rng{seed};
    EventRecorder recorder{"c", "i", Rng{1}};
    ManualClock clock;
    struct Seen {
      std::string name;
      std::int64_t count = 0;
      Mono last{};
      Mono written{};
    };
    std::map<std::string, Seen> seen;
    for (int i = 0; i < 300; ++i) {
      clock.advance(seconds{rng.below(rng.chance(5) ? 600 : 8)});
      const std::string pod = "p" + std::to_string(rng.below(4));
      Seen& s = seen[pod];
      const auto call = recorder.record(noteOn(pod), clock.now());
      const bool fresh = s.count == 0 || clock.now().mono - s.last > minutes{6};
      s.last = clock.now().mono;
      s.count = fresh ? 1 : s.count + 1;
      if (fresh) {
        RC_ASSERT(call.has_value());
        RC_ASSERT(call->verb == kapi::Verb::Create);
        s.name = call->body["metadata"]["name"].str();
      } else {
        RC_ASSERT(call.has_value() == (clock.now().mono - s.written >= seconds{10}));
        if (!call) { continue; }
        RC_ASSERT(call->key.name == s.name);
        RC_ASSERT(call->body["series"]["count"].integer() == s.count);
      }
      s.written = clock.now().mono;
    }
  }));
}

}  // namespace
}  // namespace gs::controller
