#include "controller/holder_pod.h"

#include <gtest/gtest.h>

#include "json/document.h"
#include "json/value.h"
#include "kapi/time.h"

namespace gs::controller {
namespace {

HolderContainer us() { return {{"gpu-system", "gpu-scheduler-0"}, model::Uid{"u-1"}, "scheduler"}; }

TEST(HolderContainer, IsReadAsItIsPrinted) {
  EXPECT_EQ(printHolderContainer(us()), "gpu-system/gpu-scheduler-0/u-1/scheduler");
  EXPECT_EQ(parseHolderContainer("gpu-system/gpu-scheduler-0/u-1/scheduler"), us());
}

TEST(HolderContainer, WhatLacksAPartOrHasOneMoreIsNone) {
  for (const char* text : {"", "a", "a/b/c", "a/b/c/", "/b/c/d", "a//c/d", "a/b/c/d/e", "a/b/c/d/"}) {
    EXPECT_EQ(parseHolderContainer(text), std::nullopt) << text;
  }
}

/// A pod whose container of that name ran so last, as `where` of its status says.
std::shared_ptr<const HolderPod> podOf(const std::string& began, const std::string& ended,
                                       const std::string& where = "lastState",
                                       const std::string& list = "containerStatuses",
                                       const std::string& name = "scheduler",
                                       const std::string& runs_since = "") {
  json::Value terminated = json::Object{{"exitCode", 137}, {"startedAt", began}, {"finishedAt", ended}};
  json::Value status = json::Object{{"name", name}};
  if (runs_since.empty()) { status.child(where).set("terminated", terminated); }
  if (!runs_since.empty()) { status.child(where).set("running", json::Object{{"startedAt", runs_since}}); }
  json::Value pod = json::Object{{"metadata", json::Object{{"uid", "u-1"}}}};
  pod.child("status").set(list, json::Array{status});
  const auto document = json::Document::read(json::print(pod));
  return kHolderPod->decode(document->root()).as<HolderPod>();
}

struct Case {
  const char* what;
  const char* began;
  const char* ended;
  const char* acquired;
  const char* renewed;
  bool proof;
};

TEST(HolderPod, TheRunInWhichTheLeaseWasGotIsTheHolders) {
  const std::vector<Case> cases{
      {"got and renewed in that run", "2026-01-01T10:00:00Z", "2026-01-01T10:05:00Z",
       "2026-01-01T10:00:02.5Z", "2026-01-01T10:04:59.9Z", true},
      {"renewed in the second in which it finished", "2026-01-01T10:00:00Z", "2026-01-01T10:05:00Z",
       "2026-01-01T10:00:02.5Z", "2026-01-01T10:05:00.9Z", true},
      {"got in the second in which it began", "2026-01-01T10:00:02Z", "2026-01-01T10:05:00Z",
       "2026-01-01T10:00:02.0Z", "2026-01-01T10:04:59Z", true},
      {"got before that run began: of an earlier one", "2026-01-01T10:00:03Z", "2026-01-01T10:05:00Z",
       "2026-01-01T10:00:02.9Z", "2026-01-01T10:04:59Z", false},
      {"got after that run finished: of the next", "2026-01-01T10:00:00Z", "2026-01-01T10:05:00Z",
       "2026-01-01T10:05:03Z", "2026-01-01T10:05:03Z", false},
      {"got in the second in which it finished: maybe of the next", "2026-01-01T10:00:00Z",
       "2026-01-01T10:05:00Z", "2026-01-01T10:05:00.2Z", "2026-01-01T10:05:00.2Z", false},
      {"renewed after that run finished: a clock was set", "2026-01-01T10:00:00Z", "2026-01-01T10:05:00Z",
       "2026-01-01T10:00:02Z", "2026-01-01T10:05:01Z", false},
      {"a time that is none", "soon", "2026-01-01T10:05:00Z", "2026-01-01T10:00:02Z", "2026-01-01T10:04:59Z",
       false},
      {"no time of acquiring", "2026-01-01T10:00:00Z", "2026-01-01T10:05:00Z", "", "2026-01-01T10:04:59Z",
       false},
      {"no time of renewing", "2026-01-01T10:00:00Z", "2026-01-01T10:05:00Z", "2026-01-01T10:00:02Z", "",
       false},
  };
  for (const Case& c : cases) {
    model::Lease::Record record;
    record.acquire_time = c.acquired;
    record.renew_time = c.renewed;
    EXPECT_EQ(hasEnded(*podOf(c.began, c.ended), us(), record), c.proof) << c.what;
  }
}

model::Lease::Record record() {
  model::Lease::Record r;
  r.acquire_time = "2026-01-01T10:00:02.5Z";
  r.renew_time = "2026-01-01T10:04:59.9Z";
  return r;
}

TEST(HolderPod, OneThatRunsAndCouldBeTheHolderIsNoProof) {
  HolderPod pod = *podOf("2026-01-01T10:00:00Z", "2026-01-01T10:05:00Z");
  pod.runs.push_back({"scheduler", *kapi::parseTime("2026-01-01T10:00:02Z"), std::nullopt});
  EXPECT_FALSE(hasEnded(pod, us(), record()));
  pod.runs.back().began = *kapi::parseTime("2026-01-01T10:05:01Z");
  EXPECT_TRUE(hasEnded(pod, us(), record()));
  const auto read = podOf("", "", "state", "containerStatuses", "scheduler", "2026-01-01T10:05:01Z");
  EXPECT_EQ(read->runs, std::vector{pod.runs.back()});
}

TEST(HolderPod, AContainerThatIsNotStartedAgainHasEndedToo) {
  EXPECT_TRUE(hasEnded(*podOf("2026-01-01T10:00:00Z", "2026-01-01T10:05:00Z", "state"), us(), record()));
  EXPECT_TRUE(
      hasEnded(*podOf("2026-01-01T10:00:00Z", "2026-01-01T10:05:00Z", "state", "initContainerStatuses"), us(),
               record()));
}

TEST(HolderPod, ANeighbourOrAnotherPodOfThatNameSaysNothing) {
  const auto neighbour =
      podOf("2026-01-01T10:00:00Z", "2026-01-01T10:05:00Z", "lastState", "containerStatuses", "webhook");
  EXPECT_FALSE(hasEnded(*neighbour, us(), record()));
  HolderContainer other = us();
  other.uid = model::Uid{"u-2"};
  EXPECT_FALSE(hasEnded(*podOf("2026-01-01T10:00:00Z", "2026-01-01T10:05:00Z"), other, record()));
}

}  // namespace
}  // namespace gs::controller
