#include "agent/users.h"

#include <gtest/gtest.h>

#include <array>

#include "agent/devices_test.h"
#include "testing/builders.h"

namespace gs::agent {
namespace {

using namespace std::chrono_literals;
using model::Uid;
using testing::PodBuilder;

class UsersTest : public ::testing::Test {
 protected:
  UsersTest() { users.number(devices, clock.now()); }
  /// A container of who is seen for the first time was created just then.
  void look(const std::map<std::string, std::optional<std::string>>& pods) {
    Containers containers;
    for (const auto& [uid, visible] : pods) {
      const Wall when = created.try_emplace(uid, clock.now().wall).first->second;
      containers.pods[Uid{uid}] = {visible, false, {when}};
    }
    users.seen(containers, clock.now());
  }
  /// A while after the last container was created.
  void renumber(const std::vector<std::string>& uuids) {
    for (int i = 0; i < 2; ++i) {
      clock.advance(5s);
      users.number(devices, clock.now());
    }
    clock.advance(5s);
    devices = gpus(uuids);
    users.number(devices, clock.now());
    clock.advance(5s);
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

  ManualClock clock;
  std::map<std::string, Wall> created;  // containers, by the uid of their pod
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

TEST_F(UsersTest, WhoHasContainersIsWhomALookShowsOrTheStatusBeforeIt) {
  devices[0].in_use_by = {Uid{"old"}};
  users.seed(devices, Wall{}, true);
  EXPECT_TRUE(users.hasContainers(Uid{"old"})) << "nobody has looked yet";
  users.changed(pod("p").allocated("n:1").value());
  EXPECT_FALSE(users.hasContainers(Uid{"p"}));
  look({{"p", std::nullopt}});
  EXPECT_TRUE(users.hasContainers(Uid{"p"}));
  EXPECT_FALSE(users.hasContainers(Uid{"old"}));
  users.gone(Uid{"p"});
  EXPECT_TRUE(users.hasContainers(Uid{"p"}));
  look({});
  EXPECT_FALSE(users.hasContainers(Uid{"p"}));
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

TEST_F(UsersTest, WhereToldAndGivenIdsDifferItMayHaveAllOfThem) {
  const std::vector<std::array<const char*, 3>> pods{
      {"edited", "n:1", "0"}, {"elsewhere", "other:1", "2"}, {"v", "n:1", ""},     {"w", "n:1", ","},
      {"x", "n:1", " "},      {"y", "n:1", "none"},          {"z", "n:1", "all,2"}};
  Containers there;
  for (const auto& [name, given, told] : pods) {
    users.changed(pod(name).on("n").allocated(given).annotate(model::kVisibleDevicesKey, told).value());
    there.pods[Uid{name}] = {};
  }
  users.seen(there, clock.now());
  EXPECT_EQ(text(), "edited|edited v w x y z|elsewhere z");
}

TEST_F(UsersTest, TheSandboxIsReadAsTheObjectIs) {
  const auto visible = [](const char* told) {
    return containersWith({{model::kVisibleDevicesKey, told}, {model::kAllocatedKey, "n:1"}}).visible;
  };
  EXPECT_EQ(visible("0"), "0,1");
  EXPECT_EQ(visible("1"), "1");
  EXPECT_EQ(visible(""), "1");
  EXPECT_EQ(visible("none"), "1");
  EXPECT_EQ(visible("GPU-a"), "GPU-a");
}

TEST_F(UsersTest, APartitionIsOfItsGpu) {
  devices[1].gpu.partitions = {{"MIG-7", "1g.10gb", 1, 1}};
  users.number(devices, clock.now());
  users.changed(pod("p").annotate(model::kVisibleDevicesKey, "MIG-7").value());
  look({{"p", std::nullopt}});
  EXPECT_EQ(text(), "-|p|-");
}

TEST_F(UsersTest, AnIdMeansTheGpuThatHadItWhenTheContainerWasCreated) {
  users.changed(pod("p").allocated("n:0").value());
  look({{"p", std::nullopt}});
  renumber({"GPU-b", "GPU-a", "GPU-c"});
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
  users.number(devices, clock.now());
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
  renumber({"GPU-b", "GPU-a", "GPU-c"});
  for (int i = 0; i < 3; ++i) { look({{"p", "0"}}); }
  EXPECT_EQ(text(), "-|p|-");
}

TEST_F(UsersTest, OfAPodThatIsOverASandboxAloneIsNobody) {
  const auto sandbox = [&](const std::vector<const char*>& uids) {
    Containers containers;
    for (const char* uid : uids) { containers.pods[Uid{uid}] = {"1", true, {}}; }
    users.seen(containers, clock.now());
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
  fresh.seed(devices, clock.now().wall, true);
  fresh.number(devices, clock.now());
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
  fresh.seed(devices, clock.now().wall, true);
  fresh.number(devices, clock.now());
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
  users.seed(devices, clock.now().wall, true);
  users.number(devices, clock.now());
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

/// The scheduler meant another one, and nobody else is to be given this one.
TEST_F(UsersTest, AnIdMeansWhatItMeansToTheContainerWhateverItMeantWhenThePodWasBound) {
  users.changed(pod("p").allocated("n:0").value());
  renumber({"GPU-c", "GPU-a", "GPU-b"});
  look({{"p", "0"}});
  EXPECT_EQ(text(), "p|-|-");
}

/// Nobody looked at the GPUs in between.
TEST_F(UsersTest, AContainerThatIsCreatedAsIdsMoveHasBothGpus) {
  users.changed(pod("p").allocated("n:0").value());
  for (int i = 0; i < 2; ++i) {
    clock.advance(5s);
    users.number(devices, clock.now());
    look({});
  }
  clock.advance(2s);
  created["p"] = clock.now().wall;
  clock.advance(3s);
  devices = gpus({"GPU-c", "GPU-a", "GPU-b"});
  for (const bool ids_first : {true, false}) {
    SCOPED_TRACE(ids_first);
    Users mine = users;
    if (ids_first) { mine.number(devices, clock.now()); }
    mine.seen({{{Uid{"p"}, {std::nullopt, false, {created["p"]}}}}}, clock.now());
    if (!ids_first) { mine.number(devices, clock.now()); }
    EXPECT_EQ(mine.of(devices[0]), (std::vector<Uid>{Uid{"p"}}));
    EXPECT_EQ(mine.of(devices[1]), (std::vector<Uid>{Uid{"p"}})) << "GPU-a";
    EXPECT_TRUE(mine.of(devices[2]).empty());
  }
}

/// Whom the runtime shows for the first time was not there at the last look but one.
TEST_F(UsersTest, WhereNobodySaysWhenAContainerWasCreatedItWasSinceTheLooksThatDidNotShowIt) {
  for (const int looks : {1, 2}) {
    SCOPED_TRACE(looks);
    Users mine;
    mine.changed(pod("p").allocated("n:0").value());
    mine.number(gpus({"GPU-a", "GPU-b", "GPU-c"}), clock.now());
    devices = gpus({"GPU-c", "GPU-a", "GPU-b"});
    mine.number(devices, clock.now());
    for (int i = 0; i < looks; ++i) {
      clock.advance(5s);
      mine.seen({}, clock.now());
    }
    clock.advance(5s);
    mine.seen({{{Uid{"p"}, {}}}}, clock.now());
    EXPECT_EQ(mine.of(devices[0]), (std::vector<Uid>{Uid{"p"}}));
    EXPECT_EQ(mine.of(devices[1]).empty(), looks == 2) << "GPU-a";
  }
}

TEST_F(UsersTest, ATimeOfCreationIsNotBelievedWhereTheClockWasSet) {
  users.changed(pod("p").allocated("n:0").value());
  users.changed(pod("q").allocated("n:0").value());
  look({});
  renumber({"GPU-c", "GPU-a", "GPU-b"});
  created["p"] = clock.now().wall;
  created["q"] = clock.now().wall + 1h;
  const Users before = users;
  look({{"p", std::nullopt}, {"q", std::nullopt}});
  EXPECT_EQ(text(), "p q|q|-") << "none is created in time to come";
  users = before;
  clock.setWall(clock.now().wall + 1min);
  created["p"] = clock.now().wall;
  look({{"p", std::nullopt}});
  EXPECT_EQ(text(), "p|p|-");
}

/// The kubelet starts a container anew, and the first one's GPU is free.
TEST_F(UsersTest, EachContainerOfAPodHasWhatItsIdMeansToIt) {
  users.changed(pod("p").allocated("n:0").value());
  look({{"p", std::nullopt}});
  const Wall first = created["p"];
  renumber({"GPU-c", "GPU-a", "GPU-b"});
  const Wall second = clock.now().wall;
  users.seen({{{Uid{"p"}, {std::nullopt, false, {first, second}}}}}, clock.now());
  EXPECT_EQ(text(), "p|p|-");
  users.seen({{{Uid{"p"}, {std::nullopt, false, {second}}}}}, clock.now());
  EXPECT_EQ(text(), "p|-|-");
}

TEST_F(UsersTest, AContainerThatMayComeHasWhatItsIdMeansNow) {
  users.changed(pod("p").allocated("n:0").value());
  const Containers sandbox{{{Uid{"p"}, {std::nullopt, true, {}}}}};
  users.seen(sandbox, clock.now());
  EXPECT_EQ(text(), "p|-|-");
  renumber({"GPU-c", "GPU-a", "GPU-b"});
  users.seen(sandbox, clock.now());
  EXPECT_EQ(text(), "p|p|-") << "it may have come since";
  look({{"p", std::nullopt}});
  EXPECT_EQ(text(), "p|-|-");
}

/// Numbered anew twice, by two restarts: what stood there in between says what the id of before meant.
TEST(UsersOfAnEarlierAgent, AreKnownByWhatItPublished) {
  const auto p = PodBuilder{"p"}.uid("p").running().allocated("n:0").value();
  const ManualClock clock;
  for (const bool pod_first : {false, true}) {
    SCOPED_TRACE(pod_first);
    auto before = gpus({"GPU-b", "GPU-a"});
    before[1].in_use_by = {Uid{"p"}};
    Users users;
    if (pod_first) { users.changed(p); }
    users.seed(before, clock.now().wall, true);
    if (!pod_first) { users.changed(p); }
    users.seen({{{Uid{"p"}, {"0"}}}}, clock.now());
    users.number(gpus({"GPU-b"}), clock.now());
    EXPECT_EQ(users.of(before[1]), (std::vector<Uid>{Uid{"p"}}));
    EXPECT_EQ(users.of(before[0]), std::vector<Uid>{});
  }
}

/// The runtime was silent when they began, so nobody had published them; ids moved with the restart, and
/// nobody knows when.
TEST(UsersOfAnEarlierAgent, OfWhomNobodyKnewHaveWhatTheirIdsMeantThenAndMeanNow) {
  const auto before = gpus({"GPU-a", "GPU-b"});
  const auto now = gpus({"GPU-b", "GPU-a"});
  ManualClock clock;
  Users users;
  users.seed(before, clock.now().wall, true);
  clock.advance(60s);
  const Wall old = clock.now().wall - 30s;
  users.number(now, clock.now());
  users.seen({{{Uid{"p"}, {"0", false, {old}}}}}, clock.now());
  EXPECT_EQ(users.of(before[0]), (std::vector<Uid>{Uid{"p"}})) << "GPU-a";
  EXPECT_EQ(users.of(before[1]), (std::vector<Uid>{Uid{"p"}}));
  clock.advance(5s);
  const Wall young = clock.now().wall;
  users.seen({{{Uid{"p"}, {"0", false, {old}}}, {Uid{"q"}, {"0", false, {young}}}}}, clock.now());
  EXPECT_EQ(users.of(before[0]), (std::vector<Uid>{Uid{"p"}}));
  EXPECT_EQ(users.of(before[1]), (std::vector<Uid>{Uid{"p"}, Uid{"q"}})) << "it began since";
}

/// It was started anew while no agent ran.
TEST(UsersOfAnEarlierAgent, HaveWhatTheirIdsMeanBesidesWhereTheContainerIsNewer) {
  auto before = gpus({"GPU-a", "GPU-b"});
  before[0].in_use_by = {Uid{"p"}};
  ManualClock clock;
  Users users;
  users.seed(before, clock.now().wall, true);
  clock.advance(60s);
  users.number(gpus({"GPU-b", "GPU-a"}), clock.now());
  users.seen({{{Uid{"p"}, {"0", false, {clock.now().wall - 30s}}}}}, clock.now());
  EXPECT_EQ(users.of(before[0]), (std::vector<Uid>{Uid{"p"}}));
  EXPECT_EQ(users.of(before[1]), (std::vector<Uid>{Uid{"p"}}));
}

TEST(UsersOfAnEarlierAgent, DoNotLiveOverABootOfTheMachine) {
  auto before = gpus({"GPU-a", "GPU-b"});
  before[0].in_use_by = {Uid{"p"}, Uid{"q"}};
  const ManualClock clock;
  Users users;
  users.seed(before, clock.now().wall, false);
  users.number(gpus({"GPU-b", "GPU-a"}), clock.now());
  EXPECT_EQ(users.of(before[0]).size(), 2U) << "until a look";
  users.seen({{{Uid{"p"}, {"0"}}}}, clock.now());
  EXPECT_EQ(users.of(before[0]), std::vector<Uid>{});
  EXPECT_EQ(users.of(before[1]), (std::vector<Uid>{Uid{"p"}}));
}

TEST(UsersOfAnEarlierAgent, HaveWhatTheyNameByUuidAndWhatNobodyCouldLookUp) {
  auto before = gpus({"GPU-a", "GPU-b"});
  before[0].in_use_by = {Uid{"p"}, Uid{"q"}};
  const ManualClock clock;
  Users users;
  users.seed(before, clock.now().wall, true);
  users.changed(PodBuilder{"p"}.uid("p").running().allocated("n:0,2").value());
  users.seen({{{Uid{"p"}, {}}, {Uid{"q"}, {"GPU-b"}}}}, clock.now());
  const auto now = gpus({"GPU-a", "GPU-b", "GPU-c"});
  users.number(now, clock.now());
  EXPECT_EQ(users.of(now[0]), (std::vector<Uid>{Uid{"p"}, Uid{"q"}}));
  EXPECT_EQ(users.of(now[1]), (std::vector<Uid>{Uid{"q"}}));
  EXPECT_EQ(users.of(now[2]), (std::vector<Uid>{Uid{"p"}}));
}

TEST(UsersOfAnEarlierAgent, AreForgottenWhenNobodyNamesThem) {
  auto before = gpus({"GPU-a"});
  before[0].in_use_by = {Uid{"p"}};
  const ManualClock clock;
  Users users;
  users.seed(before, clock.now().wall, true);
  EXPECT_EQ(users.size(), 1U);
  users.gone(Uid{"p"});
  EXPECT_EQ(users.of(before[0]), (std::vector<Uid>{Uid{"p"}})) << "until a look says otherwise";
  users.seen({}, clock.now());
  EXPECT_EQ(users.of(before[0]), std::vector<Uid>{});
  users.seen({}, clock.now());
  EXPECT_EQ(users.size(), 0U);
}

}  // namespace
}  // namespace gs::agent
