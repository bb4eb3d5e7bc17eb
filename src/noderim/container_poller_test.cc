#include "noderim/container_poller.h"

#include <gtest/gtest.h>

#include <chrono>

#include "model/annotations.h"

namespace gs::noderim {
namespace {

using std::chrono::milliseconds;

TEST(ContainersOf, GpusAreThoseOfTheAnnotations) {
  struct Case {
    const char* name;
    std::map<std::string, std::string> annotations;
    std::optional<std::string> visible;
  };
  const Case cases[] = {
      {"ids", {{model::kVisibleDevicesKey, "0,1"}, {model::kAllocatedKey, "node-a:0,1"}}, "0,1"},
      {"uuids", {{model::kVisibleDevicesKey, "GPU-a"}, {model::kAllocatedKey, "node-a:0"}}, "GPU-a"},
      {"of an ancestor", {{model::kAllocatedKey, "node-a:2,3"}}, "2,3"},
      {"bare", {{model::kAllocatedKey, "4"}}, "4"},
      {"nonsense", {{model::kAllocatedKey, "node-a:x"}}, std::nullopt},
      {"no GPUs", {{"example.com/note", "0"}}, std::nullopt},
  };
  rpc::RuntimePods pods;
  agent::Containers wanted;
  for (const Case& c : cases) {
    pods[c.name] = {"ml", "p", c.annotations};
    wanted.pods[model::Uid{c.name}] = {c.visible};
  }
  EXPECT_EQ(containersOf(pods), wanted);
}

TEST(ContainerPollerTest, SaysAgainAndAgainThatNobodyAnswersAndEndsAtOnce) {
  Mailbox<agent::ContainersLook> came{8};
  ContainerPoller poller{"/nowhere/cri.sock",
                         {.every = milliseconds{1}, .limit = milliseconds{200}},
                         [&came](const agent::ContainersLook& look) { (void)came.tryPush(look); }};
  poller.start();
  for (int i = 0; i < 2; ++i) {
    const auto look = came.pop();
    ASSERT_TRUE(look && !*look);
    EXPECT_EQ(look->error().message.find("the container runtime at /nowhere/cri.sock: "), 0);
  }
  poller.stop();
  came.close();
  while (came.pop()) {}
  EXPECT_TRUE(came.drained()) << "nothing is given after stop()";
}

TEST(ContainerPollerTest, MayBeStoppedBeforeItWasStarted) {
  ContainerPoller poller{"/nowhere/cri.sock", {}, [](const agent::ContainersLook&) {}};
  poller.stop();
}

}  // namespace
}  // namespace gs::noderim
