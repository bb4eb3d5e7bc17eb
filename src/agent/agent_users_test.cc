// Containers and who uses GPUs, as the agent publishes it.
#include <algorithm>

#include "agent/agent_test.h"
#include "agent/metrics.h"

namespace gs::agent {
namespace {

using namespace std::chrono_literals;

TEST_F(AgentTest, WithoutARuntimeObservedTimeStandsStill) {
  published();
  EXPECT_EQ(observed(), kapi::microTimeText(clock.now().wall));
  const std::string first = observed();
  wait(300s);
  EXPECT_GT(publishes, 4);
  EXPECT_EQ(observed(), first);
  EXPECT_EQ(condition(kContainersCondition)["reason"].str(), "NoRuntime");
  begin();
  look(seeing(hardware({"GPU-1A", "GPU-2B"})));
  wait(60s);
  EXPECT_EQ(observed(), first) << "not by a restart either";
}

TEST_F(AgentTest, ObservedTimeIsTheLastLookAtContainers) {
  published();
  containers(holding({}));
  EXPECT_EQ(publishes, 2) << "the condition turned";
  EXPECT_EQ(condition(kContainersCondition)["status"].str(), "True");
  wait(30s);
  containers(holding({}));
  const std::string last = kapi::microTimeText(clock.now().wall);
  EXPECT_EQ(publishes, 2) << "a look that shows nothing new waits for its time";
  wait(40s);  // which is drawn, 66 s at most
  EXPECT_EQ(publishes, 3);
  EXPECT_EQ(observed(), last);
}

TEST_F(AgentTest, UsersArePublishedAtOnceAndOutliveThePodsObject) {
  published();
  const auto p = testing::PodBuilder{"p"}.on(kNode).allocated("n:1").running().value();
  pod(p);
  containers(holding({"uid-p"}));
  EXPECT_EQ(users(0), "[]");
  EXPECT_EQ(users(1), R"(["uid-p"])");
  EXPECT_EQ((*status)["status"]["free"].integer(), 1);
  pod(p, kapi::WatchType::Deleted);
  containers(holding({"uid-p"}));
  EXPECT_EQ(users(1), R"(["uid-p"])");
  const int before = publishes;
  containers(holding({}));
  EXPECT_EQ(publishes, before + 1);
  EXPECT_EQ(users(1), "[]");
}

/// Schedulers would free what containers still have.
TEST_F(AgentTest, AfterARestartWhoWasListedIsUntilALookSaysOtherwise) {
  published();
  pod(testing::PodBuilder{"p"}.on(kNode).allocated("n:1").running().value());
  containers(holding({"uid-p"}));
  const std::string last = observed();
  wait(5s);
  begin();
  look(seeing(hardware({"GPU-1A", "GPU-2B"})));
  EXPECT_EQ(users(1), R"(["uid-p"])");
  EXPECT_EQ(observed(), last);
  containers(holding({}));
  EXPECT_EQ(users(1), "[]");
  EXPECT_NE(observed(), last);
}

/// The status of the first restart names the GPUs that the pod has; ids mean others since.
TEST_F(AgentTest, AfterTwoRestartsAPodHasTheGpusThatItHadAtFirst) {
  published();
  const auto p = testing::PodBuilder{"p"}.on(kNode).allocated("n:0").running().value();
  pod(p);
  containers(holding({"uid-p"}));
  Hardware turned = hardware({"GPU-1A", "GPU-2B"});
  std::swap(turned.gpus[0].pci_bus_id, turned.gpus[1].pci_bus_id);
  for (int i = 0; i < 3; ++i) {
    begin();
    pod(p);
    containers(holding({"uid-p"}));
    look(seeing(turned));
    EXPECT_EQ(device(1)["uuid"].str(), "GPU-1A");
    EXPECT_EQ(users(0), "[]") << i;
    EXPECT_EQ(users(1), R"(["uid-p"])") << i;
  }
}

/// Whoever may write annotations on a pod of theirs holds up nobody.
TEST_F(AgentTest, APodThatNamesAGpuThatNobodyKnowsHoldsUpNobody) {
  published();
  pod(testing::PodBuilder{"p"}.on(kNode).allocated("n:7").running().value());
  const std::string last = observed();
  wait(1s);
  containers(holding({"uid-p"}));
  EXPECT_NE(observed(), last);
  EXPECT_EQ(condition(kContainersCondition)["status"].str(), "True");
  EXPECT_EQ(users(0), "[]");
}

/// A scheduler wants two looks after such an end: they come ten seconds apart, not sixty.
TEST_F(AgentTest, WhileAPodDrainsItWritesEveryTenSeconds) {
  published();
  const auto p = testing::PodBuilder{"p"}.on(kNode).allocated("n:1").running().value();
  pod(p);
  containers(holding({"uid-p"}));
  pod(p, kapi::WatchType::Deleted);
  int before = publishes;
  for (int i = 0; i < 12; ++i) {
    wait(5s);
    containers(holding({"uid-p"}));
  }
  EXPECT_EQ(publishes, before + 6);
  containers(holding({}));
  before = publishes;
  wait(53s);
  EXPECT_EQ(publishes, before) << "enough looks were written since the end";
}

/// Nobody saw its containers end, and there are none.
TEST_F(AgentTest, AnEndIsFollowedByLooksInQuickSuccession) {
  published();
  containers(holding({}));
  const auto p = testing::PodBuilder{"p"}.on(kNode).allocated("n:1").running().value();
  pod(p);
  wait(30s);
  pod(p, kapi::WatchType::Deleted);
  std::set<std::string> times;
  for (int i = 0; i < 30; ++i) {
    wait(1s);
    containers(holding({}));
    times.insert(observed());
  }
  EXPECT_EQ(times.size(), 4U) << "three new ones";
  const int before = publishes;
  wait(53s);
  EXPECT_EQ(publishes, before) << "then it is calm";
}

TEST_F(AgentTest, ARuntimeThatFallsSilentTakesNobodyAway) {
  published();
  pod(testing::PodBuilder{"p"}.on(kNode).allocated("n:1").running().value());
  containers(holding({"uid-p"}));
  const std::string last = observed();
  wait(60s);
  containers(fail(Code::Unavailable, "connection refused"));
  wait(120s);
  containers(fail(Code::Unavailable, "connection refused"));
  EXPECT_EQ(users(1), R"(["uid-p"])");
  EXPECT_EQ(observed(), last);
  EXPECT_EQ(condition(kContainersCondition)["reason"].str(), "RuntimeSilent");
  EXPECT_EQ(condition(kContainersCondition)["message"].str(),
            "the container runtime does not answer: nobody listens at its socket");
  EXPECT_EQ(std::count(logs.begin(), logs.end(), "connection refused"), 1);
  EXPECT_EQ(metrics[kContainersSeen], 0);
  const int before = publishes;
  containers(fail(Code::Unavailable, "connection refused, for another reason"));
  EXPECT_EQ(publishes, before) << "the words of a failure are no news";
  containers(fail(Code::Deadline, "too late"));
  EXPECT_EQ(publishes, before + 1);
  EXPECT_EQ(condition(kContainersCondition)["message"].str(),
            "the container runtime does not answer in time");
  containers(fail(Code::Internal, "oh"));
  EXPECT_NE(condition(kContainersCondition)["message"].str().find("answers with an error"),
            std::string::npos);
}

/// After a restart that found the GPUs in another order nobody knows what the id of a container meant that no
/// agent has seen.
TEST_F(AgentTest, AContainerThatNobodySawBeforeIdsMovedHasBothGpus) {
  published();
  begin();
  pod(testing::PodBuilder{"p"}.on(kNode).allocated("n:0").running().value());
  containers(holding({"uid-p"}));
  Hardware turned = hardware({"GPU-1A", "GPU-2B"});
  std::swap(turned.gpus[0].pci_bus_id, turned.gpus[1].pci_bus_id);
  look(seeing(turned));
  EXPECT_EQ(device(1)["uuid"].str(), "GPU-1A");
  EXPECT_EQ(users(0), R"(["uid-p"])");
  EXPECT_EQ(users(1), R"(["uid-p"])");
  wait(5s);
  pod(testing::PodBuilder{"q"}.on(kNode).allocated("n:0").running().value());
  containers(holding({"uid-p", "uid-q"}));
  EXPECT_EQ(users(0), R"(["uid-p","uid-q"])");
  EXPECT_EQ(users(1), R"(["uid-p"])") << "ids mean what they mean since";
}

/// They were bound when it was another number.
TEST_F(AgentTest, AContainerHasTheGpuThatItsIdMeansWhenItIsCreated) {
  published();
  pod(testing::PodBuilder{"p"}.on(kNode).allocated("n:0").value());
  Hardware turned = hardware({"GPU-1A", "GPU-2B"});
  std::swap(turned.gpus[0].pci_bus_id, turned.gpus[1].pci_bus_id);
  begin();
  pod(testing::PodBuilder{"p"}.on(kNode).allocated("n:0").value());
  look(seeing(turned));
  for (int i = 0; i < 2; ++i) {
    wait(5s);
    containers(holding({}));
  }
  containers(holding({"uid-p"}));
  EXPECT_EQ(device(0)["uuid"].str(), "GPU-2B");
  EXPECT_EQ(users(0), R"(["uid-p"])");
  EXPECT_EQ(users(1), "[]");
}

/// CUDA counts those that are there.
TEST_F(AgentTest, AnIdMeansWhatTheDriverCountsThoughAGpuThatVanishedIsStillListed) {
  published();
  look(seeing(hardware({"GPU-2B"})));
  wait(5s);
  containers(holding({}));
  pod(testing::PodBuilder{"p"}.on(kNode).allocated("n:0").running().value());
  containers(holding({"uid-p"}));
  EXPECT_EQ(device(1)["uuid"].str(), "GPU-2B");
  EXPECT_EQ(users(1), R"(["uid-p"])");
}

TEST_F(AgentTest, AfterABootOfTheMachineIdsMeanWhatTheyMeanNow) {
  boot_id = "boot-1";
  published();
  const auto p = testing::PodBuilder{"p"}.on(kNode).allocated("n:0").running().value();
  pod(p);
  containers(holding({"uid-p"}));
  boot_id = "boot-2";
  created.clear();
  wait(5s);
  begin();
  pod(p);
  Hardware turned = hardware({"GPU-1A", "GPU-2B"});
  std::swap(turned.gpus[0].pci_bus_id, turned.gpus[1].pci_bus_id);
  look(seeing(turned));
  EXPECT_EQ(users(1), R"(["uid-p"])") << "until a look says otherwise";
  containers(holding({"uid-p"}));
  EXPECT_EQ(device(0)["uuid"].str(), "GPU-2B");
  EXPECT_EQ(users(0), R"(["uid-p"])");
  EXPECT_EQ(users(1), "[]");
}

/// A scheduler frees GPUs after two looks that were made since a pod's end. A status that was under way then
/// brings one that was not.
TEST_F(AgentTest, ALookThatComesWhileAStatusIsUnderWayDoesNotCount) {
  published();
  containers(holding({}));
  const std::string first = observed();
  wait(5s);
  pod(testing::PodBuilder{"p"}.on(kNode).allocated("n:1").running().value());
  holds_back = true;
  containers(holding({"uid-p"}));
  const std::string second = kapi::microTimeText(clock.now().wall);
  wait(5s);
  pod(testing::PodBuilder{"q"}.on(kNode).allocated("n:1").running().value());
  containers(holding({"uid-p", "uid-q"}));
  ASSERT_EQ(calls.size(), 1U);
  holds_back = false;
  answerAll();
  EXPECT_EQ(users(1), R"(["uid-p","uid-q"])") << "what it showed is said all the same";
  EXPECT_EQ(observed(), second);
  EXPECT_NE(observed(), first);
}

/// What was read may be older than it by the time that it is written.
TEST_F(AgentTest, ALookOfBeforeItIsKnownWhatStandsThereDoesNotCountAndTheNextOneIsWrittenAtOnce) {
  published();
  containers(holding({}));
  const std::string first = observed();
  wait(20s);
  breaks = 3;
  begin();
  look(seeing(hardware({"GPU-1A", "GPU-2B"})));
  containers(holding({}));
  wait(10s);
  EXPECT_EQ(observed(), first);
  const int before = publishes;
  containers(holding({}));
  EXPECT_EQ(observed(), kapi::microTimeText(clock.now().wall));
  EXPECT_EQ(publishes, before + 1);
  wait(5s);
  containers(holding({}));
  EXPECT_EQ(publishes, before + 1);
}

}  // namespace
}  // namespace gs::agent
