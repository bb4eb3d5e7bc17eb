#include "sandbox/node/program.h"

#include <gtest/gtest.h>

#include "kapi/time.h"

namespace gs::sandbox {
namespace {

using namespace std::chrono_literals;
using json::Value;

Value read(std::string_view text) {
  auto v = json::parse(text);
  EXPECT_TRUE(v) << text;
  return v.value_or(Value{});
}

constexpr const char* kOfJob = R"("ownerReferences":[{"kind":"Job","name":"j","uid":"u","controller":true}])";

Value podWith(const std::string& metadata, const std::string& containers) {
  return read("{\"metadata\":{" + metadata + "},\"spec\":{\"containers\":[" + containers + "]}}");
}

struct CommandCase {
  const char* containers;
  Duration runs;
  int exit_code;
};
class JobsPods : public testing::TestWithParam<CommandCase> {};
TEST_P(JobsPods, RunTheirCommand) {
  const Program program = programOf(podWith(kOfJob, GetParam().containers));
  EXPECT_EQ(program.runs, GetParam().runs);
  EXPECT_EQ(program.exit_code, GetParam().exit_code);
}
INSTANTIATE_TEST_SUITE_P(
    Table, JobsPods,
    testing::Values(
        CommandCase{R"({"command":["sleep","30"]})", 30s, 0},
        CommandCase{R"({"command":["/bin/sleep","1m","0.5"]})", 60500ms, 0},
        CommandCase{R"({"command":["sleep"],"args":["2"]})", 2s, 0},
        CommandCase{R"({"command":["true"]})", 0s, 0}, CommandCase{R"({"command":["false"]})", 0s, 1},
        CommandCase{R"({"command":["nvidia-smi","-L"]})", 0s, 0},
        CommandCase{R"({"command":["sh","-c","sleep 5; exit 3"]})", 5s, 3},
        CommandCase{R"({"command":["/bin/sh","-c"],"args":["echo 'a; b' && sleep 2\nsleep 1"]})", 3s, 0},
        CommandCase{R"({"command":["bash","-ec","false && sleep 9; sleep 1"]})", 1s, 0},
        CommandCase{R"({"command":["bash","-c","sleep 1 && false && sleep 9"]})", 1s, 1},
        CommandCase{R"({"command":["sh","-c","exit 3; sleep 9"]})", 0s, 3},
        CommandCase{R"({"command":["sh","-c","exit 999"]})", kJobRuns, 0},
        CommandCase{R"({"command":["sh","-c","echo 'open"]})", kJobRuns, 0},
        CommandCase{R"({"command":["sh","-c","sleep 1 | cat"]})", kJobRuns, 0},
        CommandCase{R"({"command":["sh","-c","while true; do sleep 1; done"]})", kJobRuns, 0},
        CommandCase{R"({"command":["sleep","infinity"]})", kJobRuns, 0},
        CommandCase{R"({"command":["python","train.py"]})", kJobRuns, 0},
        CommandCase{R"({"args":["sleep","9"]})", kJobRuns, 0}, CommandCase{R"({"image":"i"})", kJobRuns, 0},
        CommandCase{R"({"command":["sleep","3"]},{"command":["sh","-c","sleep 1; exit 7"]})", 3s, 7}));

TEST(Program, OfAPodThatNoJobHasIsInItsAnnotationsOnly) {
  const char* sleeps = R"({"command":["sleep","1"]})";
  EXPECT_EQ(programOf(podWith("", sleeps)).runs, std::nullopt);
  const Program noted = programOf(podWith(
      R"("annotations":{"sandbox.gpu.scheduling/run-for":"2m","sandbox.gpu.scheduling/exit-code":"4"})",
      sleeps));
  EXPECT_EQ(noted.runs, Duration{2min});
  EXPECT_EQ(noted.exit_code, 4);
  EXPECT_TRUE(noted.complaints.empty());
}

TEST(Program, AnnotationsCountBeforeAJobsCommand) {
  const Program noted =
      programOf(podWith(std::string{R"("annotations":{"sandbox.gpu.scheduling/run-for":"1s",)"
                                    R"("sandbox.gpu.scheduling/exit-code":"0"},)"} +
                            kOfJob,
                        R"({"command":["sh","-c","sleep 60; exit 1"]})"));
  EXPECT_EQ(noted.runs, Duration{1s});
  EXPECT_EQ(noted.exit_code, 0);
}

TEST(Program, WhatCannotBeReadIsToldAndMeansNothing) {
  const Program bad = programOf(podWith(
      R"("annotations":{"sandbox.gpu.scheduling/run-for":"soon","sandbox.gpu.scheduling/exit-code":"256"})",
      ""));
  EXPECT_EQ(bad.runs, std::nullopt);
  EXPECT_EQ(bad.exit_code, 0);
  ASSERT_EQ(bad.complaints.size(), 2U);
  EXPECT_EQ(bad.complaints[0].first, "BadRunFor");
  EXPECT_EQ(bad.complaints[1].first, "BadExitCode");
}

}  // namespace
}  // namespace gs::sandbox
