#include "kapi/pod_requests.h"

#include <gtest/gtest.h>

namespace gs::kapi {
namespace {

json::Value podJson(std::string_view spec, std::string_view status = "{}") {
  return json::parse("{\"spec\":" + std::string{spec} + ",\"status\":" + std::string{status} + "}").value();
}

model::Resources requestsOf(std::string_view spec, std::string_view status = "{}") {
  std::set<std::string> unreadable;
  auto r = podRequests(podJson(spec, status), unreadable).now;
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
    "resources":{"requests":{"cpu":"3","hugepages-2Mi":"2Mi","nvidia.com/gpu":"7"},"limits":{"memory":"4"}},
    "overhead":{"cpu":"1"}})");
  EXPECT_EQ(r.cpu_milli, 4000);
  EXPECT_EQ(r.memory, 5) << "of limits the API server makes requests";
  EXPECT_EQ(r.get("nvidia.com/gpu"), 1) << "no resource of a pod as a whole";
  EXPECT_EQ(r.get("hugepages-2Mi"), 2 << 20);
}

TEST(PodRequests, PodLevelResourcesMayBeLessThanTheSum) {
  EXPECT_EQ(cpuOf(R"({"containers":[{"resources":{"requests":{"cpu":"2"}}}],
    "initContainers":[{"resources":{"requests":{"cpu":"5"}}}],"resources":{"requests":{"cpu":"1"}}})"),
            1000);
  EXPECT_TRUE(requestsOf(R"({"containers":[{"resources":{"requests":{"hugepages-2Mi":"2Mi"}}}],
    "resources":{"requests":{"hugepages-2Mi":"0"}}})")
                  .extended.empty());
}

constexpr const char* kOneCpu =
    R"({"nodeName":"n","containers":[{"name":"a","resources":{"requests":{"cpu":"1"}}}]})";
/// One of it asks for 1 and one for 2.
constexpr const char* kTwoContainers =
    R"({"nodeName":"n","containers":[{"name":"a","resources":{"requests":{"cpu":"1"}}},
                                     {"name":"b","resources":{"requests":{"cpu":"2"}}}]})";
constexpr const char* kInfeasible =
    R"("conditions":[{"type":"PodResizePending","status":"True","reason":"Infeasible"}])";

std::int64_t resizedCpuOf(const char* spec, const std::string& container_statuses, bool infeasible = false) {
  return cpuOf(spec, "{\"containerStatuses\":[" + container_statuses + "]" +
                         (infeasible ? "," + std::string{kInfeasible} : "") + "}");
}

TEST(PodRequests, DuringAResizeTheLargerCounts) {
  const std::string three = R"({"name":"a","resources":{"requests":{"cpu":"3"}}})";
  EXPECT_EQ(resizedCpuOf(kOneCpu, three), 3000);
  EXPECT_EQ(resizedCpuOf(kOneCpu, R"({"name":"a","resources":{},"allocatedResources":{"cpu":"2"}})"), 2000);
  EXPECT_EQ(resizedCpuOf(kOneCpu, R"({"name":"a","allocatedResources":{"cpu":"2"}})"), 2000);
  EXPECT_EQ(resizedCpuOf(kOneCpu, R"({"name":"a","resources":{"requests":{"cpu":"500m"}}})"), 1000);
  EXPECT_EQ(resizedCpuOf(kOneCpu, R"({"name":"b","resources":{"requests":{"cpu":"3"}}})"), 1000);
  EXPECT_EQ(resizedCpuOf(kOneCpu, R"({"name":"a","resources":{"requests":{"cpu":"500m"}}})", true), 500);
  EXPECT_EQ(resizedCpuOf(kOneCpu, R"({"name":"a"})", true), 0) << "as kube-scheduler";
  EXPECT_EQ(cpuOf(R"({"containers":[{"name":"a","resources":{"requests":{"cpu":"1"}}}]})",
                  "{\"containerStatuses\":[" + three + "]}"),
            1000)
      << "of one that is not bound only what it asks counts";
}

/// kube-scheduler compares sums from 1.37 on.
TEST(PodRequests, TwoContainersThatAreResizedInOppositeDirectionsCountAsTheLargerSum) {
  EXPECT_EQ(resizedCpuOf(kTwoContainers, R"({"name":"a","resources":{"requests":{"cpu":"2"}}},
                                            {"name":"b","resources":{"requests":{"cpu":"1"}}})"),
            3000);
  EXPECT_EQ(resizedCpuOf(kTwoContainers, R"({"name":"a","resources":{"requests":{"cpu":"4"}}},
                                            {"name":"b","resources":{"requests":{"cpu":"1"}}})"),
            5000);
  EXPECT_EQ(resizedCpuOf(kTwoContainers, R"({"name":"a","resources":{"requests":{"cpu":"4"}}})"), 6000)
      << "of the other nothing is said: it has what it asks";
}

TEST(PodRequests, SidecarsAndInitContainersAreResizedToo) {
  const char* spec = R"({"nodeName":"n","containers":[{"name":"a","resources":{"requests":{"cpu":"1"}}}],
    "initContainers":[{"name":"i","resources":{"requests":{"cpu":"1"}}},
                      {"name":"s","restartPolicy":"Always","resources":{"requests":{"cpu":"1"}}}]})";
  EXPECT_EQ(cpuOf(spec), 2000);
  EXPECT_EQ(cpuOf(spec, R"({"initContainerStatuses":[{"name":"s","resources":{"requests":{"cpu":"3"}}}]})"),
            4000);
  EXPECT_EQ(cpuOf(spec, R"({"initContainerStatuses":[{"name":"i","resources":{"requests":{"cpu":"7"}}}]})"),
            7000);
}

TEST(PodRequests, APodIsResizedAsAWhole) {
  const char* spec = R"({"nodeName":"n","containers":[{"name":"a","resources":{"requests":{"cpu":"1"}}}],
    "resources":{"requests":{"cpu":"4"}}})";
  EXPECT_EQ(cpuOf(spec, R"({"resources":{"requests":{"cpu":"6"}},"allocatedResources":{"cpu":"5"}})"), 6000);
  EXPECT_EQ(cpuOf(spec, R"({"resources":{"requests":{"cpu":"2"}},"allocatedResources":{"cpu":"3"}})"), 4000);
  EXPECT_EQ(cpuOf(spec, R"({"allocatedResources":{"cpu":"5"}})"), 4000) << "not both are said";
  EXPECT_EQ(cpuOf(spec, R"({"resources":{"requests":{"cpu":"2"}},"allocatedResources":{"cpu":"3"},)" +
                            std::string{kInfeasible} + "}"),
            3000);
  EXPECT_EQ(
      cpuOf(kTwoContainers, R"({"resources":{"requests":{"cpu":"6"}},"allocatedResources":{"cpu":"5"}})"),
      6000)
      << "also of a pod that asks by its containers";
}

TEST(PodRequests, ManyContainersWithStatusesAreReadInOneGo) {
  std::string containers;
  std::string statuses;
  for (int i = 0; i < 5'000; ++i) {
    const std::string comma = i == 0 ? "" : ",";
    const std::string name = "c" + std::to_string(i);
    containers += comma + R"({"name":")" + name + R"(","resources":{"requests":{"cpu":"1m"}}})";
    statuses += comma + R"({"name":")" + name + R"(","resources":{"requests":{"cpu":"2m"}}})";
  }
  EXPECT_EQ(cpuOf(R"({"nodeName":"n","containers":[)" + containers + "]}",
                  R"({"containerStatuses":[)" + statuses + "]}"),
            10'000);
}

TEST(PodRequests, WhatCannotBeReadIsNamedAndCountsAsZero) {
  std::set<std::string> unreadable;
  const auto r = podRequests(podJson(R"({"containers":[{"resources":{"requests":{"cpu":"lots","memory":"1"}}},
    {"resources":{"limits":{"nvidia.com/gpu":"-1"}}}],
    "initContainers":[{"resources":{"requests":{"cpu":{}}}}],
    "overhead":{"cpu":"x"},"resources":{"requests":{"cpu":"y"}}})"),
                             unreadable)
                     .now;
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

/// What each has, in cpu.
std::vector<std::int64_t> until36(std::string_view spec, std::string_view status) {
  std::set<std::string> unreadable;
  std::vector<std::int64_t> out;
  for (const auto& one : podRequests(podJson(spec, status), unreadable).until_36) {
    out.push_back(one.cpu_milli);
  }
  return out;
}

TEST(PodRequests, Until36TheLargestCountedContainerByContainer) {
  constexpr const char* kTwo = R"({"nodeName":"n","containers":[
    {"name":"a","resources":{"requests":{"cpu":"1"}}},{"name":"b","resources":{"requests":{"cpu":"3"}}}]})";
  constexpr const char* kOpposite = R"({"containerStatuses":[
    {"name":"a","resources":{"requests":{"cpu":"3"}}},{"name":"b","resources":{"requests":{"cpu":"1"}}}]})";
  EXPECT_EQ(cpuOf(kTwo, kOpposite), 4000);
  EXPECT_EQ(until36(kTwo, kOpposite), (std::vector<std::int64_t>{6000}));
  constexpr const char* kPromised =
      R"({"containerStatuses":[{"name":"a","allocatedResources":{"cpu":"2"}}]})";
  EXPECT_EQ(cpuOf(kTwo, kPromised), 5000);
  EXPECT_EQ(until36(kTwo, kPromised), (std::vector<std::int64_t>{4000})) << "nothing is given yet";
  constexpr const char* kInfeasible =
      R"({"conditions":[{"type":"PodResizePending","status":"True","reason":"Infeasible"}]})";
  EXPECT_EQ(cpuOf(kTwo, kInfeasible), 0);
  EXPECT_EQ(until36(kTwo, kInfeasible), (std::vector<std::int64_t>{4000}));
  constexpr const char* kAsAsked = R"({"containerStatuses":[
    {"name":"a","resources":{"requests":{"cpu":"1"}},"allocatedResources":{"cpu":"1"}},
    {"name":"b","resources":{"requests":{"cpu":"3"}},"allocatedResources":{"cpu":"3"}}]})";
  EXPECT_TRUE(until36(kTwo, kAsAsked).empty());
}

}  // namespace
}  // namespace gs::kapi
