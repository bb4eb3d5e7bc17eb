// Jobs on the World: how many pods they make, when they are over, and how.
#include <fmt/format.h>

#include "test/world/workloads.h"

namespace gs::test {
namespace {

using namespace std::chrono_literals;
using json::Object;
using json::Value;

class Jobs : public Workloads {
 protected:
  /// A job whose pods do that: `sh -c COMMAND`.
  void run(const std::string& command, json::Object spec = {}, json::Object notes = {}) {
    const Value container = Object{{"name", "c"},
                                   {"image", "i"},
                                   {"command", json::Array{Value{"sh"}, Value{"-c"}, Value{command}}},
                                   {"resources", Object{{"limits", Object{{"nvidia.com/gpu", "1"}}}}}};
    spec["template"] = Object{{"metadata", Object{{"annotations", std::move(notes)}}},
                              {"spec", Object{{"schedulerName", "gpu-scheduler"},
                                              {"restartPolicy", "Never"},
                                              {"containers", json::Array{container}}}}};
    world.create(Object{{"apiVersion", "batch/v1"},
                        {"kind", "Job"},
                        {"metadata", Object{{"name", "j"}, {"namespace", "default"}}},
                        {"spec", std::move(spec)}});
  }
  Value status() { return statusOf("jobs", "j"); }
  std::int64_t count(const char* field) { return status()[field].intOr(0); }
  std::vector<Value> pods() {
    std::vector<Value> out;
    for (auto& pod : list("pods")) {
      if (pod["metadata"]["labels"]["job-name"].str() == "j") { out.push_back(pod); }
    }
    return out;
  }
  int active() {
    int out = 0;
    for (const auto& pod : pods()) {
      const auto phase = pod["status"]["phase"].str();
      out += phase != "Succeeded" && phase != "Failed" && !isDeleting(pod) ? 1 : 0;
    }
    return out;
  }
  bool over() { return !condition(status(), "Complete").empty() || !condition(status(), "Failed").empty(); }
  Duration took() {
    const Mono begin = world.now().mono;
    EXPECT_TRUE(eventually([&] { return over(); }, 1h));
    return world.now().mono - begin;
  }
};

TEST_F(Jobs, OneThatSucceedsIsComplete) {
  run("sleep 20");
  EXPECT_GT(took(), 20s);
  EXPECT_EQ(condition(status(), "SuccessCriteriaMet"), "True CompletionsReached");
  EXPECT_EQ(condition(status(), "Complete"), "True CompletionsReached");
  EXPECT_EQ(count("succeeded"), 1);
  EXPECT_EQ(count("active"), 0);
  EXPECT_FALSE(status()["startTime"].isNull());
  EXPECT_FALSE(status()["completionTime"].isNull());
  EXPECT_EQ(pods().size(), 1U) << "its pod is kept";
  EXPECT_EQ(toldOf("Job", "j", "Completed"), 1);
  expectSettled();
}

struct ParallelCase {
  const char* name;
  json::Object spec;
  std::size_t pods;  // in all
  int most;          // at a time
  std::int64_t succeeded;
};
class Parallel : public Jobs, public ::testing::WithParamInterface<ParallelCase> {};
TEST_P(Parallel, PodsAtATimeAndInAll) {
  run("sleep 5", GetParam().spec);
  int most = 0;
  ASSERT_TRUE(eventually([&] {
    most = std::max(most, active());
    return over();
  }));
  EXPECT_EQ(condition(status(), "Complete"), "True CompletionsReached");
  EXPECT_EQ(most, GetParam().most);
  EXPECT_EQ(pods().size(), GetParam().pods);
  EXPECT_EQ(count("succeeded"), GetParam().succeeded);
}
INSTANTIATE_TEST_SUITE_P(
    Table, Parallel,
    ::testing::Values(
        ParallelCase{"OneAfterTheOther", {{"completions", 3}}, 3, 1, 3},
        ParallelCase{"TwoAtATime", {{"completions", 5}, {"parallelism", 2}}, 5, 2, 5},
        ParallelCase{"NoMoreThanNeeded", {{"completions", 2}, {"parallelism", 9}}, 2, 2, 2},
        ParallelCase{"AnySuccessIsEnough", {{"parallelism", 3}}, 3, 3, 3},
        ParallelCase{"None", {{"completions", 0}}, 0, 0, 0},
        ParallelCase{
            "Indexed", {{"completions", 4}, {"parallelism", 2}, {"completionMode", "Indexed"}}, 4, 2, 4}),
    [](const auto& info) { return std::string{info.param.name}; });

TEST_F(Jobs, IndexedPodsKnowTheirIndex) {
  run("sleep 5", {{"completions", 3}, {"parallelism", 3}, {"completionMode", "Indexed"}});
  ASSERT_TRUE(eventually([&] { return active() == 3 && isReady(pods().at(2)); }));
  for (int i = 0; i < 3; ++i) {
    const Value pod = pods().at(static_cast<std::size_t>(i));
    const auto text = std::to_string(i);
    EXPECT_TRUE(pod["metadata"]["name"].str().starts_with("j-" + text + "-"));
    EXPECT_EQ(pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"].str(), text);
    EXPECT_EQ(pod["spec"]["hostname"].str(), "j-" + text);
    const auto* env = world.kubelet().envOf(std::string{pod["metadata"]["uid"].str()});
    ASSERT_NE(env, nullptr);
    EXPECT_EQ(env->at("JOB_COMPLETION_INDEX"), text);
  }
  finish(std::string{pods().at(1)["metadata"]["name"].str()});
  ASSERT_TRUE(eventually([&] { return status()["completedIndexes"].str() == "1"; }));
  ASSERT_TRUE(eventually([&] { return over(); }));
  EXPECT_EQ(status()["completedIndexes"].str(), "0-2");
}

TEST_F(Jobs, AnIndexThatFailedIsTriedAgain) {
  run("sleep 60", {{"completions", 2}, {"parallelism", 2}, {"completionMode", "Indexed"}});
  ASSERT_TRUE(eventually([&] { return active() == 2 && isReady(pods().at(1)) && isReady(pods().at(0)); }));
  world.kubelet().finish("default", std::string{pods().at(0)["metadata"]["name"].str()}, 1);
  ASSERT_TRUE(eventually([&] { return count("failed") == 1; }));
  ASSERT_TRUE(eventually([&] { return over(); }, 3min));
  EXPECT_EQ(status()["completedIndexes"].str(), "0,1");
  EXPECT_EQ(pods().size(), 3U);
}

/// 10 s, 20 s, 40 s ... after a failure the next pod is made.
TEST_F(Jobs, FailuresAreTriedAgainLessAndLessOften) {
  run("exit 3", {{"backoffLimit", 3}});
  std::vector<int> times;  // seconds from failure to failure
  Mono last = world.now().mono;
  ASSERT_TRUE(eventually(
      [&] {
        if (count("failed") > static_cast<std::int64_t>(times.size())) {
          times.push_back(static_cast<int>((world.now().mono - last) / 1s));
          last = world.now().mono;
        }
        return over();
      },
      10min));
  EXPECT_EQ(condition(status(), "Failed"), "True BackoffLimitExceeded");
  EXPECT_EQ(condition(status(), "FailureTarget"), "True BackoffLimitExceeded");
  ASSERT_EQ(times.size(), 4U);
  for (std::size_t i = 1; i < times.size(); ++i) {
    EXPECT_GE(times[i], (10 << (i - 1)) - 1) << i << ": times of objects are whole seconds";
    EXPECT_LE(times[i], (10 << (i - 1)) + 2) << i;
  }
  EXPECT_EQ(count("failed"), 4);
  EXPECT_EQ(pods().size(), 4U);
  EXPECT_EQ(toldOf("Job", "j", "BackoffLimitExceeded"), 1);
}

TEST_F(Jobs, OneThatIsTooLateIsEndedAndFails) {
  run("sleep 600", {{"activeDeadlineSeconds", 30}, {"parallelism", 2}, {"completions", 2}});
  EXPECT_GE(took(), 29s);
  EXPECT_EQ(condition(status(), "Failed"), "True DeadlineExceeded");
  EXPECT_EQ(count("failed"), 2);
  EXPECT_EQ(pods().size(), 0U);
  EXPECT_EQ(toldOf("Job", "j", "DeadlineExceeded"), 1);
  expectSettled();
}

TEST_F(Jobs, APodThatSomebodyDeletesFailed) {
  run("sleep 30");
  ASSERT_TRUE(eventually([&] { return active() == 1 && isReady(pods().at(0)); }));
  deletePod(std::string{pods().at(0)["metadata"]["name"].str()});
  ASSERT_TRUE(eventually([&] { return count("failed") == 1; }));
  ASSERT_TRUE(eventually([&] { return over(); }, 2min));
  EXPECT_EQ(count("succeeded"), 1);
  EXPECT_EQ(count("failed"), 1);
}

TEST_F(Jobs, APodThatSucceededCountsAfterItWasDeleted) {
  run("sleep 5", {{"completions", 3}});
  for (int done = 1; done <= 2; ++done) {
    ASSERT_TRUE(eventually([&] { return count("succeeded") == done; }));
    for (const auto& pod : pods()) {
      if (pod["status"]["phase"].str() == "Succeeded") {
        deletePod(std::string{pod["metadata"]["name"].str()});
      }
    }
  }
  ASSERT_TRUE(eventually([&] { return over(); }));
  EXPECT_EQ(count("succeeded"), 3);
  EXPECT_EQ(toldOf("Job", "j", "SuccessfulCreate"), 3);
}

TEST_F(Jobs, SuspendedHasNoPodsAndFailsNone) {
  run("sleep 20", {{"suspend", true}});
  world.run(5s);
  EXPECT_EQ(pods().size(), 0U);
  EXPECT_EQ(condition(status(), "Suspended"), "True JobSuspended");
  EXPECT_TRUE(status()["startTime"].isNull());
  merge("jobs", "j", Object{{"spec", Object{{"suspend", false}}}});
  ASSERT_TRUE(eventually([&] { return active() == 1 && isReady(pods().at(0)); }));
  EXPECT_EQ(condition(status(), "Suspended"), "False JobResumed");
  merge("jobs", "j", Object{{"spec", Object{{"suspend", true}}}});
  ASSERT_TRUE(eventually([&] { return pods().empty(); }));
  world.run(5s);
  EXPECT_EQ(count("failed"), 0);
  merge("jobs", "j", Object{{"spec", Object{{"suspend", false}}}});
  ASSERT_TRUE(eventually([&] { return over(); }, 2min));
  EXPECT_EQ(condition(status(), "Complete"), "True CompletionsReached");
}

TEST_F(Jobs, FewerAtATimeEndsTheSurplusWithoutAFailure) {
  run("sleep 60", {{"completions", 4}, {"parallelism", 4}});
  ASSERT_TRUE(eventually([&] { return active() == 4; }));
  merge("jobs", "j", Object{{"spec", Object{{"parallelism", 1}}}});
  ASSERT_TRUE(eventually([&] { return pods().size() == 1; }));
  world.run(5s);
  EXPECT_EQ(count("failed"), 0);
}

TEST_F(Jobs, OneThatIsOverGoesAfterItsTime) {
  run("true", {{"ttlSecondsAfterFinished", 60}});
  ASSERT_TRUE(eventually([&] { return over(); }));
  EXPECT_FALSE(eventually([&] { return object("jobs", "j")["code"].intOr(0) == 404; }, 58s));
  EXPECT_TRUE(eventually([&] { return object("jobs", "j")["code"].intOr(0) == 404; }, 4s));
  EXPECT_TRUE(eventually([&] { return pods().empty(); }));
}

TEST_F(Jobs, PodReplacementPolicyFailedWaitsForThePodToBeGone) {
  run("sleep 30", {{"podReplacementPolicy", "Failed"}});
  ASSERT_TRUE(eventually([&] { return active() == 1 && isReady(pods().at(0)); }));
  deletePod(std::string{pods().at(0)["metadata"]["name"].str()});
  ASSERT_TRUE(eventually(
      [&] {
        EXPECT_LE(pods().size(), 1U);
        return over();
      },
      2min));
  EXPECT_EQ(count("failed"), 1);
}

TEST_F(Jobs, AnnotationsOfTheTemplateSayHowItsPodsEnd) {
  run("sleep 600", {{"backoffLimit", 0}},
      {{"sandbox.gpu.scheduling/run-for", "3s"}, {"sandbox.gpu.scheduling/exit-code", "2"}});
  EXPECT_LT(took(), 10s);
  EXPECT_EQ(condition(status(), "Failed"), "True BackoffLimitExceeded");
}

TEST_F(Jobs, ARestartedSandboxCountsNoPodTwice) {
  run("sleep 5", {{"completions", 4}});
  ASSERT_TRUE(eventually([&] { return count("succeeded") == 2; }));
  sandbox::World next{{.controllers = true, .restore = world.api().save()}};
  next.startReplica();
  const auto now = [&] { return next.get(pathOf("jobs", "j"))["status"]; };
  ASSERT_TRUE(next.runUntil([&] { return !condition(now(), "Complete").empty(); }, 5min));
  EXPECT_EQ(now()["succeeded"].intOr(0), 4);
  EXPECT_EQ(next.get(pathOf("pods"))["items"].items().size(), 4U);
}

TEST_F(Jobs, ThoseOfAnotherControllerAreLeftAlone) {
  run("true", {{"managedBy", "ex.io/other"}});
  world.run(10s);
  EXPECT_EQ(pods().size(), 0U);
}

}  // namespace
}  // namespace gs::test
