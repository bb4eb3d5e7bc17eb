#include "agent/users.h"

#include <gtest/gtest.h>

#include "testing/builders.h"

namespace gs::agent {
namespace {

using model::Uid;
using testing::PodBuilder;

std::vector<Device> gpus(const std::vector<std::string>& uuids) {
  std::vector<Device> out(uuids.size());
  for (std::size_t id = 0; id < uuids.size(); ++id) {
    out[id].id = static_cast<int>(id);
    out[id].gpu.uuid = uuids[id];
  }
  return out;
}

class UsersTest : public ::testing::Test {
 protected:
  UsersTest() { users.number(devices); }
  void look(const std::map<std::string, std::optional<std::string>>& pods) {
    Containers containers;
    for (const auto& [uid, visible] : pods) { containers.pods[Uid{uid}] = {visible}; }
    users.seen(containers);
  }
  /// The users of each device, by its place: "p q|-|p".
  [[nodiscard]] std::string text() const {
    std::string out;
    for (const Device& device : devices) {
      std::string names;
      for (const Uid& uid : users.of(device)) { names += (names.empty() ? "" : " ") + uid.text; }
      out += (out.empty() ? "" : "|") + (names.empty() ? "-" : names);
    }
    return out;
  }
  static PodBuilder pod(const char* uid) {
    PodBuilder out{uid};
    return out.uid(uid).running();
  }

  std::vector<Device> devices = gpus({"GPU-a", "GPU-b", "GPU-c"});
  Users users;
};

TEST_F(UsersTest, AreThoseWhoseContainersAreThereByWhatTheObjectAllocates) {
  users.changed(pod("p").allocated("n:0,2").value());
  EXPECT_EQ(text(), "-|-|-") << "no container yet";
  look({{"p", std::nullopt}});
  EXPECT_EQ(text(), "p|-|p");
  look({});
  EXPECT_EQ(text(), "-|-|-");
}

TEST_F(UsersTest, ContainersThatStayAfterTheObjectHoldWhatItSaid) {
  users.changed(pod("p").allocated("n:1").value());
  look({{"p", std::nullopt}});
  users.gone(Uid{"p"});
  for (int i = 0; i < 9; ++i) { look({{"p", std::nullopt}}); }
  EXPECT_EQ(text(), "-|p|-");
  look({});
  EXPECT_EQ(text(), "-|-|-");
  look({});
  EXPECT_EQ(users.size(), 0U);
}

/// A look that began before the containers came may still end after the object went.
TEST_F(UsersTest, OneLookWithoutAPodThatIsGoneDoesNotForgetIt) {
  users.changed(pod("p").allocated("n:1").value());
  look({});
  users.gone(Uid{"p"});
  look({});
  look({{"p", std::nullopt}});
  EXPECT_EQ(text(), "-|p|-");
}

TEST_F(UsersTest, OfAPodThatWasNeverSeenTheContainersWordCounts) {
  look({{"p", "GPU-b,GPU-c"}, {"q", "0"}, {"r", std::nullopt}, {"s", "all"}});
  EXPECT_EQ(text(), "q|p|p");
}

TEST_F(UsersTest, TheObjectsWordBeatsTheContainers) {
  look({{"p", "0"}});
  users.changed(pod("p").allocated("n:1").value());
  look({{"p", "0"}});
  EXPECT_EQ(text(), "-|p|-");
}

TEST_F(UsersTest, UuidsInTheObjectBeatItsIds) {
  users.changed(pod("p").allocated("n:0").annotate(model::kVisibleDevicesKey, "GPU-c").value());
  users.changed(pod("q").allocated("n:0").annotate(model::kVisibleDevicesKey, "0").value());
  look({{"p", std::nullopt}, {"q", std::nullopt}});
  EXPECT_EQ(text(), "q|-|p");
}

TEST_F(UsersTest, APartitionIsOfItsGpu) {
  devices[1].gpu.partitions = {{"MIG-7", "1g.10gb", 1, 1}};
  users.number(devices);
  users.changed(pod("p").annotate(model::kVisibleDevicesKey, "MIG-7").value());
  look({{"p", std::nullopt}});
  EXPECT_EQ(text(), "-|p|-");
}

TEST_F(UsersTest, AnIdMeansTheGpuThatHadItWhenThePodWasFirstSeen) {
  users.changed(pod("p").allocated("n:0").value());
  look({{"p", std::nullopt}});
  devices = gpus({"GPU-b", "GPU-a", "GPU-c"});
  users.number(devices);
  users.changed(pod("p").allocated("n:0").revision(2).value());
  EXPECT_EQ(text(), "-|p|-");
  users.changed(pod("q").allocated("n:0").value());
  look({{"p", std::nullopt}, {"q", std::nullopt}});
  EXPECT_EQ(text(), "q|p|-");
}

TEST_F(UsersTest, IdsThatNoGpuHasYetAreLookedUpWhenOneHasThem) {
  Users fresh;
  users = fresh;
  users.changed(pod("p").allocated("n:2").value());
  look({{"p", std::nullopt}});
  EXPECT_EQ(text(), "-|-|-");
  users.number(devices);
  EXPECT_EQ(text(), "-|-|p");
}

TEST_F(UsersTest, AnAllocationOnAnotherNodeIsNone) {
  users.changed(pod("p").on("n").allocated("n:0").value());
  users.changed(pod("q").on("n").allocated("other:1").value());
  users.changed(pod("r").on("n").allocated("2").value());
  look({{"p", std::nullopt}, {"q", std::nullopt}, {"r", std::nullopt}});
  EXPECT_EQ(text(), "p|-|r");
}

/// A pod that nobody knows by its object has what its sandbox said at first, in the order of then.
TEST_F(UsersTest, WhatASandboxSaysIsLookedUpOnce) {
  look({{"p", "0"}});
  devices = gpus({"GPU-b", "GPU-a", "GPU-c"});
  users.number(devices);
  for (int i = 0; i < 3; ++i) { look({{"p", "0"}}); }
  EXPECT_EQ(text(), "-|p|-");
}

TEST_F(UsersTest, OfAPodThatIsOverASandboxAloneIsNobody) {
  const auto sandbox = [&](const std::vector<const char*>& uids) {
    Containers containers;
    for (const char* uid : uids) { containers.pods[Uid{uid}] = {"1", true}; }
    users.seen(containers);
  };
  users.changed(pod("p").allocated("n:0").value());
  sandbox({"p", "q"});
  EXPECT_EQ(text(), "p|-|-") << "a container of p may come, and q's object is gone";
  users.changed(pod("p").allocated("n:0").phase(model::PodPhase::Failed).value());
  EXPECT_EQ(text(), "p|-|-") << "until a look";
  sandbox({"p"});
  EXPECT_EQ(text(), "-|-|-");
  EXPECT_FALSE(users.draining());
  look({{"p", std::nullopt}});
  EXPECT_EQ(text(), "p|-|-") << "a container counts";
}

// ---- over a restart

TEST_F(UsersTest, SeedsAreUsersUntilALookSaysOtherwise) {
  Users fresh;
  devices[1].in_use_by = {Uid{"p"}, Uid{"q"}};
  fresh.seed(devices);
  fresh.number(devices);
  users = fresh;
  EXPECT_EQ(text(), "-|p q|-");
  users.gone(Uid{"q"});
  EXPECT_EQ(text(), "-|p q|-") << "whose object went while nobody looked";
  look({{"p", std::nullopt}});
  EXPECT_EQ(text(), "-|p|-");
}

TEST_F(UsersTest, ASeedBeatsIdsAndUuidsBeatASeed) {
  Users fresh;
  devices[1].in_use_by = {Uid{"p"}, Uid{"q"}, Uid{"r"}};
  fresh.changed(pod("p").allocated("n:0").value());
  fresh.seed(devices);
  fresh.number(devices);
  fresh.changed(pod("q").allocated("n:0").annotate(model::kVisibleDevicesKey, "GPU-c").value());
  fresh.changed(pod("r").allocated("n:0").annotate(model::kVisibleDevicesKey, "GPU-gone").value());
  users = fresh;
  look({{"p", "0"}, {"q", "0"}, {"r", "0"}});
  EXPECT_EQ(text(), "-|p r|q");
}

TEST_F(UsersTest, ASeedThatComesAfterLooksOnlySaysWhichGpus) {
  Users fresh;
  devices[1].in_use_by = {Uid{"p"}, Uid{"q"}};
  users = fresh;
  look({{"p", "0"}});
  users.seed(devices);
  users.number(devices);
  EXPECT_EQ(text(), "-|p|-");
}

TEST_F(UsersTest, AnAllocationThatCannotBeReadIsNone) {
  users.changed(pod("p").allocated("n:x,y").value());
  look({{"p", "1"}});
  EXPECT_EQ(text(), "-|p|-");
}

TEST_F(UsersTest, DrainingIsAPodThatEndedAndHasContainers) {
  look({});
  users.changed(pod("p").allocated("n:1").value());
  look({{"p", std::nullopt}});
  EXPECT_FALSE(users.draining());
  EXPECT_EQ(users.ends(), 0U);
  users.changed(pod("p").allocated("n:1").phase(model::PodPhase::Failed).value());
  EXPECT_TRUE(users.draining());
  EXPECT_EQ(users.ends(), 1U);
  look({});
  EXPECT_FALSE(users.draining()) << "its object may stay for days";
  users.changed(pod("p").allocated("n:1").phase(model::PodPhase::Failed).value());
  users.gone(Uid{"p"});
  EXPECT_EQ(users.ends(), 1U) << "an end counts once";
}

TEST_F(UsersTest, APodWithoutGpusDrainsNothing) {
  users.changed(pod("p").value());
  look({{"p", std::nullopt}});
  users.gone(Uid{"p"});
  look({{"p", std::nullopt}});
  EXPECT_FALSE(users.draining());
  EXPECT_EQ(users.ends(), 0U);
}

TEST_F(UsersTest, APodOfADevicePluginThatRunsDrainsNothing) {
  users.changed(pod("p").value());
  look({{"p", "GPU-a"}});
  EXPECT_FALSE(users.draining());
  EXPECT_EQ(text(), "p|-|-");
  users.gone(Uid{"p"});
  EXPECT_TRUE(users.draining());
}

TEST_F(UsersTest, WithoutARuntimeNothingDrainsAndNothingGrows) {
  for (int i = 0; i < 100; ++i) {
    const std::string uid = std::to_string(i);
    users.changed(pod(uid.c_str()).allocated("n:1").phase(model::PodPhase::Succeeded).value());
    EXPECT_FALSE(users.draining());
    users.gone(Uid{uid});
  }
  EXPECT_EQ(users.ends(), 0U) << "nobody could show that they are over";
  EXPECT_EQ(users.size(), 0U);
}

TEST_F(UsersTest, WhatIsKeptWhileTheRuntimeIsSilentIsBounded) {
  look({});
  for (int i = 0; i < 10'000; ++i) {
    const std::string uid = std::to_string(i);
    users.changed(pod(uid.c_str()).allocated("n:1").value());
    users.gone(Uid{uid});
  }
  EXPECT_LE(users.size(), 4'096U);
}

/// Whoever may edit pods frees no GPU that containers have.
TEST_F(UsersTest, WhatIsWrittenWhileContainersRunCountsForNothing) {
  users.changed(pod("p").value());  // a device plugin's
  look({{"p", "GPU-a"}});
  users.changed(pod("q").value());
  look({{"p", "GPU-a"}, {"q", std::nullopt}});
  for (const char* uid : {"p", "q"}) { users.changed(pod(uid).allocated("n:1").value()); }
  EXPECT_EQ(text(), "p|-|-");
}

/// What the object said when it was first seen means the GPUs of then.
TEST_F(UsersTest, TheSameSaidLaterMeansTheSame) {
  users.changed(pod("p").allocated("n:0").value());
  devices = gpus({"GPU-c", "GPU-a", "GPU-b"});
  users.number(devices);
  look({{"p", "0"}});
  EXPECT_EQ(text(), "-|p|-");
}

/// Numbered anew twice, by two restarts: what stood there in between says what the id of before meant.
TEST(UsersOfAnEarlierAgent, AreKnownByWhatItPublished) {
  const auto p = PodBuilder{"p"}.uid("p").running().allocated("n:0").value();
  for (const bool pod_first : {false, true}) {
    SCOPED_TRACE(pod_first);
    auto before = gpus({"GPU-b", "GPU-a"});
    before[1].in_use_by = {Uid{"p"}};
    Users users;
    if (pod_first) { users.changed(p); }
    users.seed(before);
    users.number(before);
    if (!pod_first) { users.changed(p); }
    users.seen({{{Uid{"p"}, {"0"}}}});
    users.number(gpus({"GPU-b"}));
    EXPECT_EQ(users.of(before[1]), (std::vector<Uid>{Uid{"p"}}));
    EXPECT_EQ(users.of(before[0]), std::vector<Uid>{});
  }
}

/// The runtime was silent when they began, so nobody had published them; ids moved with the restart.
TEST(UsersOfAnEarlierAgent, OfWhomNobodyKnewHaveWhatTheirIdsMeantThen) {
  const auto before = gpus({"GPU-a", "GPU-b"});
  const auto now = gpus({"GPU-b", "GPU-a"});
  Users users;
  users.seed(before);
  users.number(before);
  users.number(now);
  users.seen({{{Uid{"p"}, {"0"}}}});
  EXPECT_EQ(users.of(before[0]), (std::vector<Uid>{Uid{"p"}})) << "GPU-a";
  EXPECT_EQ(users.of(before[1]), std::vector<Uid>{});
  users.seen({{{Uid{"p"}, {"0"}}, {Uid{"q"}, {"0"}}}});
  EXPECT_EQ(users.of(before[1]), (std::vector<Uid>{Uid{"q"}})) << "it began since";
}

TEST(UsersOfAnEarlierAgent, HaveWhatTheyNameByUuidAndWhatNobodyCouldLookUp) {
  auto before = gpus({"GPU-a", "GPU-b"});
  before[0].in_use_by = {Uid{"p"}, Uid{"q"}};
  Users users;
  users.seed(before);
  users.number(before);
  users.changed(PodBuilder{"p"}.uid("p").running().allocated("n:0,2").value());
  users.seen({{{Uid{"p"}, {}}, {Uid{"q"}, {"GPU-b"}}}});
  const auto now = gpus({"GPU-a", "GPU-b", "GPU-c"});
  users.number(now);
  EXPECT_EQ(users.of(now[0]), (std::vector<Uid>{Uid{"p"}, Uid{"q"}}));
  EXPECT_EQ(users.of(now[1]), (std::vector<Uid>{Uid{"q"}}));
  EXPECT_EQ(users.of(now[2]), (std::vector<Uid>{Uid{"p"}}));
}

TEST(UsersOfAnEarlierAgent, AreForgottenWhenNobodyNamesThem) {
  auto before = gpus({"GPU-a"});
  before[0].in_use_by = {Uid{"p"}};
  Users users;
  users.seed(before);
  users.number(before);
  EXPECT_EQ(users.size(), 1U);
  users.gone(Uid{"p"});
  EXPECT_EQ(users.of(before[0]), (std::vector<Uid>{Uid{"p"}})) << "until a look says otherwise";
  users.seen({});
  EXPECT_EQ(users.of(before[0]), std::vector<Uid>{});
  users.seen({});
  EXPECT_EQ(users.size(), 0U);
}

}  // namespace
}  // namespace gs::agent
