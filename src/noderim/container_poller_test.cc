#include "noderim/container_poller.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "base/temp_folder_test.h"
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
  const Wall created{std::chrono::seconds{7}};
  rpc::RuntimePods pods;
  agent::Containers wanted;
  for (const Case& c : cases) {
    pods[c.name] = {"ml", "p", c.annotations, {created}};
    wanted.pods[model::Uid{c.name}] = {c.visible, false, {created}};
  }
  pods["no container yet"] = {"ml", "p", {{model::kAllocatedKey, "4"}}, {}};
  wanted.pods[model::Uid{"no container yet"}] = {"4", true};
  EXPECT_EQ(containersOf(pods), wanted);
}

TEST(ContainerPollerTest, SaysAgainAndAgainThatNobodyAnswersAndEndsAtOnce) {
  Mailbox<agent::ContainersLook> came{8};
  std::atomic<bool> stopped = false;
  std::atomic<int> after = 0;
  ContainerPoller poller{"/nowhere/cri.sock",
                         {.every = milliseconds{1}, .limit = milliseconds{200}},
                         [&](const agent::ContainersLook& look) {
                           if (stopped) { ++after; }
                           (void)came.tryPush(look);
                         }};
  poller.start();
  for (int i = 0; i < 2; ++i) {
    const auto look = came.pop();
    ASSERT_TRUE(look && !*look);
    EXPECT_EQ(look->error().message.find("the container runtime at /nowhere/cri.sock: "), 0);
  }
  poller.stop();
  stopped = true;
  std::this_thread::sleep_for(milliseconds{20});  // twenty looks, were there any
  EXPECT_EQ(after, 0) << "nothing is given after stop()";
}

/// A socket that takes connections and says nothing.
TEST(ContainerPollerTest, StopEndsACallThatHangs) {
  const TempFolder folder;
  const std::string socket = folder.path("cri.sock");
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(socket.size(), sizeof(address.sun_path));
  std::copy(socket.begin(), socket.end(), address.sun_path);
  ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(::listen(fd, 8), 0);
  std::atomic<int> given = 0;
  ContainerPoller poller{socket,
                         {.every = milliseconds{1}, .limit = std::chrono::hours{1}},
                         [&given](const agent::ContainersLook&) { ++given; }};
  poller.start();
  const int accepted = ::accept(fd, nullptr, nullptr);  // the call is under way
  EXPECT_GE(accepted, 0);
  poller.stop();  // within the time that a test has
  EXPECT_EQ(given, 0);
  ::close(accepted);
  ::close(fd);
}

TEST(ContainerPollerTest, MayBeStoppedBeforeItWasStarted) {
  ContainerPoller poller{"/nowhere/cri.sock", {}, [](const agent::ContainersLook&) {}};
  poller.stop();
}

}  // namespace
}  // namespace gs::noderim
