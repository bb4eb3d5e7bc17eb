#include "kapi/pod_requests.h"

#include <gtest/gtest.h>

namespace gs::kapi {
namespace {

json::Value podJson(std::string_view spec, std::string_view status = "{}") {
  return json::parse("{\"spec\":" + std::string{spec} + ",\"status\":" + std::string{status} + "}").value();
}

model::Resources requestsOf(std::string_view spec, std::string_view status = "{}") {
  std::set<std::string> unreadable;
  auto r = podRequests(podJson(spec, status), unreadable);
  EXPECT_TRUE(unreadable.empty()) << *unreadable.begin();
  return r;
}

std::int64_t cpuOf(std::string_view spec, std::string_view status = "{}") {
  return requestsOf(spec, status).cpu_milli;
}

TEST(PodRequests, ContainersAreAdded) {
  const auto r = requestsOf(R"({"containers":[
    {"resources":{"requests":{"cpu":"500m","memory":"1Gi","ephemeral-storage":"1k","nvidia.com/gpu":"1"}}},
    {"resources":{"requests":{"cpu":1,"memory":"1Ki","hugepages-2Mi":"4Mi","nvidia.com/gpu":2}}},{}]})");
  EXPECT_EQ(r.cpu_milli, 1500);
  EXPECT_EQ(r.memory, (1 << 30) + 1024);
  EXPECT_EQ(r.ephemeral, 1000);
  EXPECT_EQ(r.extended,
            (std::map<std::string, std::int64_t>{{"nvidia.com/gpu", 3}, {"hugepages-2Mi", 4 << 20}}));
}

TEST(PodRequests, AMissingRequestTakesItsLimit) {
  const auto r = requestsOf(R"({"containers":[{"resources":{"requests":{"cpu":"1"},
    "limits":{"cpu":"2","nvidia.com/gpu":"4"}}}]})");
  EXPECT_EQ(r.cpu_milli, 1000);
  EXPECT_EQ(r.get("nvidia.com/gpu"), 4);
}

TEST(PodRequests, AZeroIsNotStored) {
  EXPECT_TRUE(
      requestsOf(R"({"containers":[{"resources":{"requests":{"nvidia.com/gpu":"0"}}}]})").extended.empty());
}

TEST(PodRequests, AnInitContainerCountsWhenItIsTheLarger) {
  EXPECT_EQ(cpuOf(R"({"containers":[{"resources":{"requests":{"cpu":"1"}}}],
    "initContainers":[{"resources":{"requests":{"cpu":"3"}}},{"resources":{"requests":{"cpu":"2"}}}]})"),
            3000);
}

// KEP-753: sidecars run beside the containers, and beside the init containers after them.
TEST(PodRequests, SidecarsCountWithContainersAndWithLaterInitContainers) {
  EXPECT_EQ(cpuOf(R"({"containers":[{"resources":{"requests":{"cpu":"2"}}}],"initContainers":[
    {"restartPolicy":"Always","resources":{"requests":{"cpu":"1"}}},
    {"restartPolicy":"Always","resources":{"requests":{"cpu":"1"}}}]})"),
            4000);
  EXPECT_EQ(cpuOf(R"({"containers":[{"resources":{"requests":{"cpu":"2"}}}],"initContainers":[
    {"restartPolicy":"Always","resources":{"requests":{"cpu":"1"}}},
    {"resources":{"requests":{"cpu":"5"}}},
    {"restartPolicy":"Always","resources":{"requests":{"cpu":"2"}}}]})"),
            6000);  // the init container with the first sidecar: 6; at the end 2 + 3
}

TEST(PodRequests, AnInitContainerBeforeTheSidecarStandsAlone) {
  EXPECT_EQ(cpuOf(R"({"containers":[],"initContainers":[
    {"resources":{"requests":{"cpu":"5"}}},
    {"restartPolicy":"Always","resources":{"requests":{"cpu":"2"}}}]})"),
            5000);
}

TEST(PodRequests, OverheadIsAdded) {
  EXPECT_EQ(cpuOf(R"({"containers":[{"resources":{"requests":{"cpu":"1"}}}],"overhead":{"cpu":"250m"}})"),
            1250);
}

TEST(PodRequests, PodLevelResourcesReplaceTheSumOfThoseNames) {
  const auto r =
      requestsOf(R"({"containers":[{"resources":{"requests":{"cpu":"1","nvidia.com/gpu":"1","memory":"5"}}}],
    "resources":{"requests":{"cpu":"3"},"limits":{"cpu":"4","hugepages-2Mi":"2Mi"}},
    "overhead":{"cpu":"1"}})");
  EXPECT_EQ(r.cpu_milli, 4000);
  EXPECT_EQ(r.memory, 5);
  EXPECT_EQ(r.get("nvidia.com/gpu"), 1);
  EXPECT_EQ(r.get("hugepages-2Mi"), 2 << 20);
}

TEST(PodRequests, DuringAResizeTheLargerCounts) {
  const char* spec = R"({"containers":[{"name":"a","resources":{"requests":{"cpu":"1"}}}]})";
  EXPECT_EQ(cpuOf(spec, R"({"containerStatuses":[{"name":"a","resources":{"requests":{"cpu":"3"}}}]})"),
            3000);
  EXPECT_EQ(
      cpuOf(spec, R"({"containerStatuses":[{"name":"a","resources":{},"allocatedResources":{"cpu":"2"}}]})"),
      2000);
  EXPECT_EQ(cpuOf(spec, R"({"containerStatuses":[{"name":"a","resources":{"requests":{"cpu":"500m"}}}]})"),
            1000);
  EXPECT_EQ(cpuOf(spec, R"({"containerStatuses":[{"name":"b","resources":{"requests":{"cpu":"3"}}}]})"),
            1000);
  EXPECT_EQ(cpuOf(spec, R"({"containerStatuses":[{"name":"a","resources":{"requests":{"cpu":"500m"}}}],
    "conditions":[{"type":"PodResizePending","status":"True","reason":"Infeasible"}]})"),
            500);
}

TEST(PodRequests, WhatCannotBeReadIsNamedAndCountsAsZero) {
  std::set<std::string> unreadable;
  const auto r = podRequests(podJson(R"({"containers":[{"resources":{"requests":{"cpu":"lots","memory":"1"}}},
    {"resources":{"limits":{"nvidia.com/gpu":"-1"}}}],
    "initContainers":[{"resources":{"requests":{"cpu":{}}}}],
    "overhead":{"cpu":"x"},"resources":{"requests":{"cpu":"y"}}})"),
                             unreadable);
  EXPECT_EQ(unreadable, (std::set<std::string>{"spec.containers[0].resources.requests.cpu",
                                               "spec.containers[1].resources.limits.nvidia.com/gpu",
                                               "spec.initContainers[0].resources.requests.cpu",
                                               "spec.overhead.cpu", "spec.resources.requests.cpu"}));
  EXPECT_EQ(r, (model::Resources{.cpu_milli = 0, .memory = 1, .ephemeral = 0, .extended = {}}));
}

TEST(PodRequests, SumsOverTheRangeStopThere) {
  std::string containers;
  for (int i = 0; i < 4; ++i) {
    containers += std::string{i > 0 ? "," : ""} + R"({"resources":{"requests":{"memory":"7Ei"}}})";
  }
  EXPECT_EQ(requestsOf("{\"containers\":[" + containers + "]}").memory,
            std::numeric_limits<std::int64_t>::max());
}

}  // namespace
}  // namespace gs::kapi
