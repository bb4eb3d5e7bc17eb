// Whether all containers of a pod are terminated.
#include <gtest/gtest.h>

#include <string>

#include "kapi/decode.h"
#include "kapi/json_text_test.h"

namespace gs::kapi {
namespace {

struct TerminatedCase {
  const char* name;
  const char* spec;
  const char* status;
  bool terminated;  // of a pod that finished
  bool reported;    // of one that went without an end
};
class PodContainers : public testing::TestWithParam<TerminatedCase> {};
TEST_P(PodContainers, AreAllTerminated) {
  const auto& c = GetParam();
  const model::Pod pod =
      decodePod(parsed(std::string{R"({"spec":)"} + c.spec + R"(,"status":)" + c.status + "}"));
  EXPECT_EQ(pod.containers_terminated, c.terminated);
  EXPECT_EQ(pod.containers_reported_terminated, c.reported);
}

constexpr const char* kOne = R"({"restartPolicy":"Never","containers":[{"name":"a"}]})";
constexpr const char* kTwo = R"({"restartPolicy":"Never","containers":[{"name":"a"},{"name":"b"}]})";
constexpr const char* kSidecar =
    R"({"restartPolicy":"Never","containers":[{"name":"a"}],"initContainers":[{"name":"s",)"
    R"("restartPolicy":"Always"}]})";
constexpr const char* kStartedAgain = R"({"restartPolicy":"OnFailure","containers":[{"name":"a"}]})";

INSTANTIATE_TEST_SUITE_P(
    Nothing, PodContainers,
    testing::Values(
        TerminatedCase{"NewPod", kOne, R"({"phase":"Pending"})", false, false},
        TerminatedCase{"RunningWithoutStatuses", kOne, R"({"phase":"Running"})", false, false},
        TerminatedCase{"UnknownWithoutStatuses", kOne, R"({"phase":"Unknown"})", false, false},
        TerminatedCase{"RefusedByTheKubelet", kOne, R"({"phase":"Failed","reason":"OutOfcpu"})", true, false},
        TerminatedCase{"FailedByNobodyWhoKnows", kOne, R"({"phase":"Failed"})", false, false},
        TerminatedCase{"ItsNodeWasLost", kOne, R"({"phase":"Failed","reason":"NodeLost"})", false, false},
        TerminatedCase{"FailedByTheGarbageCollector", kOne,
                       R"({"phase":"Failed","reason":"Gone","conditions":[
                       {"type":"DisruptionTarget","status":"True","reason":"DeletionByPodGC"}]})",
                       false, false},
        TerminatedCase{
            "FailedAfterItsContainersBegan", kOne,
            R"({"phase":"Failed","reason":"X","conditions":[{"type":"Initialized","status":"True"}]})", false,
            false},
        TerminatedCase{"SucceededWithoutStatuses", kOne, R"({"phase":"Succeeded"})", true, false}),
    [](const auto& info) { return std::string{info.param.name}; });

INSTANTIATE_TEST_SUITE_P(
    Some, PodContainers,
    testing::Values(
        TerminatedCase{"All", kSidecar,
                       R"({"phase":"Succeeded","containerStatuses":[{"state":{"terminated":{"exitCode":0}}}],
                       "initContainerStatuses":[{"state":{"terminated":{}}}]})",
                       true, true},
        TerminatedCase{"AllOfAPodWhoseContainersAreStartedAgain", kStartedAgain,
                       R"({"phase":"Failed","containerStatuses":[{"state":{"terminated":{"exitCode":1}}}]})",
                       true, false},
        TerminatedCase{"OneRuns", kTwo,
                       R"({"phase":"Failed","containerStatuses":[{"state":{"terminated":{}}},
                       {"state":{"running":{}}}]})",
                       false, false},
        TerminatedCase{"OneIsNotReported", kTwo,
                       R"({"phase":"Failed","containerStatuses":[{"state":{"terminated":{}}}]})", false,
                       false},
        TerminatedCase{"ASidecarRuns", kSidecar,
                       R"({"phase":"Failed","containerStatuses":[{"state":{"terminated":{}}}],
                       "initContainerStatuses":[{"state":{"running":{}}}]})",
                       false, false},
        TerminatedCase{"ASidecarIsNotReported", kSidecar,
                       R"({"phase":"Failed","containerStatuses":[{"state":{"terminated":{}}}]})", false,
                       false},
        TerminatedCase{"AnEphemeralOneRuns", kOne,
                       R"({"phase":"Failed","containerStatuses":[{"state":{"terminated":{}}}],
                       "ephemeralContainerStatuses":[{"state":{"running":{}}}]})",
                       false, false},
        // Its node was lost then: it may have been started since.
        TerminatedCase{"OneIsStillCreated", kOne,
                       R"({"phase":"Failed","reason":"NodeLost","containerStatuses":[
                       {"state":{"waiting":{"reason":"ContainerCreating"}},"lastState":{},"started":false,
                       "restartCount":0}]})",
                       false, false},
        TerminatedCase{
            "WaitsAfterACrash", kOne,
            R"({"phase":"Running","containerStatuses":[{"state":{"waiting":{"reason":"CrashLoopBackOff"}},
                       "lastState":{"terminated":{}},"started":false}]})",
            false, false},
        TerminatedCase{"StartedAndUnclear", kOne,
                       R"({"phase":"Failed","containerStatuses":[{"state":{},"started":true}]})", false,
                       false}),
    [](const auto& info) { return std::string{info.param.name}; });

}  // namespace
}  // namespace gs::kapi
