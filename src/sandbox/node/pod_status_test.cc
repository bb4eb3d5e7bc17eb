#include "sandbox/node/pod_status.h"

#include <gtest/gtest.h>

#include <string>

namespace gs::sandbox {
namespace {

using json::Array;
using json::Object;
using json::Value;

Value container(const char* name, bool sidecar = false) {
  Value out = Object{{"name", name}, {"image", "i"}};
  if (sidecar) { out.set("restartPolicy", "Always"); }
  return out;
}

Value podOf(Array containers, Array init = {}) {
  return Object{{"spec", Object{{"containers", std::move(containers)}, {"initContainers", std::move(init)}}}};
}

/// "a running@S ready, b 3 S-N" for each container.
std::string containersOf(const Value& statuses) {
  std::string out;
  for (const Value& c : statuses.items()) {
    out += (out.empty() ? "" : ", ") + std::string{c["name"].str()} + " ";
    const Value& ended = c["state"]["terminated"];
    out += ended.isNull()
               ? "running@" + std::string{c["state"]["running"]["startedAt"].str()}
               : json::print(ended["exitCode"]) + std::string{ended["reason"].str()} + " " +
                     std::string{ended["startedAt"].str()} + "-" + std::string{ended["finishedAt"].str()};
    out += c["ready"].boolOr(false) ? " ready" : "";
  }
  return out;
}

std::string conditionsOf(const Value& status) {
  std::string out;
  for (const Value& c : status["conditions"].items()) {
    out += std::string{c["type"].str()} + "=" + std::string{c["status"].str()} +
           std::string{c["reason"].str()} + " ";
  }
  return out;
}

TEST(PodStatus, APodThatStarts) {
  const Value pod = podOf({container("a"), container("b")}, {container("setup"), container("side", true)});
  const Value status = statusOf({"Running", true}, pod, "S", "S");
  EXPECT_EQ(status["phase"].str(), "Running");
  EXPECT_EQ(conditionsOf(status), "Initialized=True Ready=True ContainersReady=True ");
  EXPECT_EQ(containersOf(status["containerStatuses"]), "a running@S ready, b running@S ready");
  EXPECT_EQ(containersOf(status["initContainerStatuses"]),
            "setup 0Completed S-S ready, side running@S ready");
}

TEST(PodStatus, SidecarsThatRunOn) {
  const Value pod = podOf({container("a")}, {container("side", true)});
  const Value status = statusOf({nullptr, false, "PodCompleted", 2}, pod, "S", "N");
  EXPECT_EQ(status.find("phase"), nullptr);
  EXPECT_EQ(conditionsOf(status),
            "Initialized=True Ready=FalsePodCompleted ContainersReady=FalsePodCompleted ");
  EXPECT_EQ(containersOf(status["containerStatuses"]), "a 2Error S-N");
  EXPECT_EQ(containersOf(status["initContainerStatuses"]), "side running@S ready");
}

TEST(PodStatus, APodThatEnds) {
  const PodReport report{"Succeeded", false, "PodCompleted", 0, 0};
  const Value pod = podOf({container("a")}, {container("setup")});
  const Value status = statusOf(report, pod, "S", "N");
  EXPECT_EQ(status["phase"].str(), "Succeeded");
  EXPECT_EQ(containersOf(status["containerStatuses"]), "a 0Completed S-N");
  EXPECT_EQ(status.find("initContainerStatuses"), nullptr);  // they ended before
  const Value with = statusOf(report, podOf({container("a")}, {container("side", true)}), "S", "N");
  EXPECT_EQ(containersOf(with["initContainerStatuses"]), "side 0Completed S-N");
}

TEST(PodStatus, WhatNeverStartedEndsAsItBegins) {
  const Value status = statusOf({"Failed", false, "PodFailed", 143, 143}, podOf({container("a")}), "", "N");
  EXPECT_EQ(containersOf(status["containerStatuses"]), "a 143Error N-N");
}

TEST(PodStatus, AddressesOfPodAndHost) {
  Value status = Object{};
  setAddresses(status, "10.0.0.1", "");
  EXPECT_EQ(json::print(status), R"({"podIP":"10.0.0.1","podIPs":[{"ip":"10.0.0.1"}]})");
  setAddresses(status, "10.0.0.1", "192.0.2.1");
  EXPECT_EQ(json::print(status["hostIPs"]), R"([{"ip":"192.0.2.1"}])");
  EXPECT_EQ(status["hostIP"].str(), "192.0.2.1");
}

TEST(PodView, IsReadFromAPod) {
  EXPECT_EQ(viewOf(Object{}), PodView{});
  const auto phase = [](const char* name) {
    return viewOf(Object{{"status", Object{{"phase", name}}}}).finished;
  };
  EXPECT_TRUE(phase("Succeeded"));
  EXPECT_TRUE(phase("Failed"));
  EXPECT_FALSE(phase("Running"));
  const auto deleting = [](Value grace) {
    return viewOf(Object{
        {"metadata", Object{{"deletionTimestamp", "T"}, {"deletionGracePeriodSeconds", std::move(grace)}}}});
  };
  EXPECT_TRUE(deleting(5).deleting);
  EXPECT_EQ(deleting(5).grace, std::chrono::seconds{5});
  EXPECT_EQ(deleting(-1).grace, Duration{});
  EXPECT_GT(deleting(std::int64_t{1} << 62).grace, std::chrono::hours{24});
  EXPECT_TRUE(viewOf(podOf({}, {container("setup"), container("side", true)})).has_sidecars);
  EXPECT_FALSE(viewOf(podOf({container("c", true)}, {container("setup")})).has_sidecars);
  const auto said = [](const char* state) {
    const Value status = Object{{"state", Object{{state, Object{{"reason", "x"}}}}}};
    return viewOf(Object{{"status", Object{{"containerStatuses", Array{status}}}}}).said_to_wait;
  };
  EXPECT_TRUE(said("waiting"));
  EXPECT_FALSE(said("running"));
}

}  // namespace
}  // namespace gs::sandbox
