// Numbers that may reach another GPU than the status means: such GPUs are given to nobody.
#include <fmt/format.h>

#include "agent/agent_test.h"
#include "agent/health.h"
#include "model/annotations.h"

namespace gs::agent {
namespace {

using namespace std::chrono_literals;
using model::Health;

class AgentNumbers : public AgentTest {
 protected:
  AgentNumbers() { boot_id = "boot-1"; }

  static const std::vector<std::string>& all() {
    static const std::vector<std::string> kAll{"GPU-1A", "GPU-2B", "GPU-3C", "GPU-4D"};
    return kAll;
  }
  /// All four, of which the driver calls this one lost.
  static Hardware losing(std::size_t which) {
    Hardware out = hardware(all());
    out.gpus[which].counted = Counted::Maybe;
    out.gpus[which].health = Health::Unhealthy;
    out.gpus[which].reason = "GPU is lost";
    return out;
  }
  /// It cannot even be named.
  static Hardware losingUnnamed(std::size_t which) {
    Hardware out = losing(which);
    Gpu& gpu = out.gpus[which];
    gpu.uuid = gpu.pci_bus_id = "";
    gpu.above = which == 0 ? "" : out.gpus[which - 1].pci_bus_id;
    return out;
  }
  [[nodiscard]] std::string uuids() const {
    std::string out;
    for (const Value& one : (*status)["status"]["devices"].items()) {
      out += std::string{one["uuid"].str()} + " ";
    }
    return out;
  }
  /// "1 3 ": whose ids may reach another one.
  [[nodiscard]] std::string moved() const {
    std::string out;
    for (const Value& one : (*status)["status"]["devices"].items()) {
      if (one["idMoved"].boolOr(false)) { out += fmt::format("{} ", one["id"].intOr(-1)); }
    }
    return out;
  }
  /// "HUUH" of as many.
  [[nodiscard]] std::string healths() const {
    std::string out;
    for (const Value& one : (*status)["status"]["devices"].items()) {
      out += one["health"].str() == "Healthy" ? 'H' : one["health"].str() == "Unhealthy" ? 'U' : '?';
    }
    return out;
  }
  [[nodiscard]] std::string reason(std::size_t i) const {
    return std::string{device(i)["healthReason"].str()};
  }
  /// A pod here that was told these numbers.
  void told(const char* uid, const std::string& numbers) {
    pod(*testing::PodBuilder{uid}
             .uid(uid)
             .on(kNode)
             .annotate(model::kVisibleDevicesKey, numbers)
             .annotate(model::kAllocatedKey, kNode + (":" + numbers))
             .make());
  }
  void start(const Hardware& what) {
    begin();
    look(seeing(what));
  }
  const std::string four = "GPU-1A GPU-2B GPU-3C GPU-4D ";
};

TEST_F(AgentNumbers, ThoseAboveOneThatIsLostAreGivenToNobody) {
  start(hardware(all()));
  look(seeing(losing(1)));
  EXPECT_EQ(uuids(), four);
  EXPECT_EQ(healths(), "HUUU");
  EXPECT_EQ(reason(1), "GPU is lost");
  EXPECT_EQ(
      reason(3),
      "indices moved since GPU GPU-2B was lost, unless CUDA still counts it: drain the node and reboot it");
  look(seeing(hardware(all())));
  EXPECT_EQ(healths(), "HHHH") << "it is well again";
}

/// However it is lost, and whatever the driver still lists after the restart.
TEST_F(AgentNumbers, ARestartOfTheAgentChangesNoNumber) {
  Hardware six = hardware({"GPU-1A", "GPU-3C", "GPU-4D"});
  for (const Hardware& before : {losing(1), losingUnnamed(1), six}) {
    for (const Hardware& after : {losing(1), losingUnnamed(1), six}) {
      for (const bool reads_late : {false, true}) {
        status.reset();
        start(hardware(all()));
        look(seeing(before));
        ASSERT_EQ(uuids(), four);
        ASSERT_EQ(healths(), "HUUU");
        breaks = reads_late ? 1 : 0;
        start(after);
        wait(5s);
        EXPECT_EQ(uuids(), four);
        EXPECT_EQ(healths(), "HUUU");
        EXPECT_EQ(moved(), "") << "nobody is told them";
        EXPECT_NE(reason(2).find("indices moved since GPU GPU-2B "), std::string::npos) << reason(2);
      }
    }
  }
}

TEST_F(AgentNumbers, OneThatWasLostBeforeTheFirstStartHidesNobody) {
  start(losingUnnamed(2));
  EXPECT_EQ(uuids(), "GPU-1A GPU-2B GPU-4D  ");
  EXPECT_EQ(healths(), "HHUU");
  status.reset();
  Hardware nowhere = losingUnnamed(2);
  nowhere.gpus[2].above = "";
  start(nowhere);
  EXPECT_EQ(healths(), "UUUU") << "it may lie below any of them";
}

/// Its driver answers with an error, so that its own number may reach another one too.
TEST_F(AgentNumbers, NorIsOneGivenThatTheDriverDoesNotGive) {
  Hardware bad = losingUnnamed(1);
  bad.gpus[1].health = Health::Unknown;
  bad.gpus[1].reason = "the driver does not give it: Unknown Error (999)";
  start(hardware(all()));
  look(seeing(bad));
  EXPECT_EQ(uuids(), four);
  EXPECT_EQ(healths(), "HUUU");
  EXPECT_EQ(reason(1), "the driver does not give it: Unknown Error (999); CUDA may count it or not");
}

TEST_F(AgentNumbers, WhereContainersAreToldUuidsNothingMoves) {
  told_uuids = true;
  start(hardware(all()));
  for (const Hardware& lost : {losing(1), hardware({"GPU-1A", "GPU-3C", "GPU-4D"})}) {
    look(seeing(lost));
    EXPECT_EQ(uuids(), four);
    EXPECT_EQ(healths(), "HUHH");
    EXPECT_EQ(moved(), "1 2 3 ") << "pods that are told ids all the same are not given those";
  }
  start(losing(1));
  EXPECT_EQ(moved(), "1 2 3 ") << "so it is before the first look";
  start(hardware(all()));
  EXPECT_EQ(moved(), "");
}

/// It has only its number, which may reach another one.
TEST_F(AgentNumbers, WhereContainersAreToldUuidsOneWithoutIsGivenToNobody) {
  told_uuids = true;
  Hardware unnamed = hardware(all());
  Gpu& gpu = unnamed.gpus[1];
  gpu.uuid = gpu.pci_bus_id = "";
  gpu.above = unnamed.gpus[0].pci_bus_id;
  gpu.health = Health::Unknown;
  gpu.reason = "the driver does not give it: Unknown Error (999)";
  gpu.counted = Counted::Maybe;
  start(unnamed);
  EXPECT_EQ(healths().substr(0, 3), "HHH");
  EXPECT_EQ(healths().substr(3), "U");
  EXPECT_EQ(
      reason(3),
      "the driver does not give it: Unknown Error (999); containers are told UUIDs, and the driver does "
      "not say its UUID");
  Hardware without = hardware({"GPU-1A", "GPU-2B"});
  for (Gpu& one : without.gpus) { one.uuid = ""; }
  status = {};
  start(without);
  EXPECT_EQ(healths(), "HH") << "containers of such a node are told ids";
}

TEST_F(AgentNumbers, ABootCountsAnew) {
  start(hardware(all()));
  look(seeing(hardware({"GPU-2B", "GPU-3C"})));
  boot_id = "boot-2";
  start(hardware({"GPU-2B", "GPU-3C"}));
  EXPECT_EQ(uuids(), "GPU-2B GPU-3C ");
  EXPECT_EQ(healths(), "HH");
}

/// Which is what somebody takes away who knows better.
TEST_F(AgentNumbers, SoDoesAStatusThatSaysNoBoot) {
  start(hardware(all()));
  look(seeing(hardware({"GPU-2B", "GPU-3C"})));
  status->child("metadata").set("annotations", Object{});
  start(hardware({"GPU-2B", "GPU-3C"}));
  EXPECT_EQ(uuids(), "GPU-2B GPU-3C ");
}

// ---- a node that is drained

TEST_F(AgentNumbers, AMinuteAfterTheLastNumberAboveOneThatVanishedTheyAreCountedAnew) {
  start(hardware(all()));
  told("below", "0");
  told("above", "3");
  look(seeing(hardware({"GPU-1A", "GPU-3C", "GPU-4D"})));
  wait(600s);
  EXPECT_EQ(healths(), "HUUU") << "a pod may start a container with number 3";
  auto gone = testing::PodBuilder{"above"}.uid("above").on(kNode).make();
  pod(*gone, kapi::WatchType::Deleted);
  wait(Agent::kQuiet - 1s);
  EXPECT_EQ(healths(), "HUUU");
  wait(2s);
  EXPECT_EQ(uuids(), "GPU-1A GPU-3C GPU-4D ");
  EXPECT_EQ(healths(), "HHH");
  look(seeing(hardware({"GPU-1A", "GPU-3C", "GPU-4D"})));
  EXPECT_EQ(uuids(), "GPU-1A GPU-3C GPU-4D ") << "and it is not kept again";
  look(seeing(hardware(all())));
  EXPECT_EQ(uuids(), four) << "it came back";
}

TEST_F(AgentNumbers, OneThatAPodHasByItsUuidStaysListed) {
  told_uuids = true;
  start(hardware(all()));
  pod(*testing::PodBuilder{"p"}.uid("p").on(kNode).annotate(model::kVisibleDevicesKey, "GPU-2B").make());
  look(seeing(hardware({"GPU-1A", "GPU-3C", "GPU-4D"})));
  wait(600s);
  EXPECT_EQ(uuids(), four);
  pod(*testing::PodBuilder{"p"}.uid("p").on(kNode).make(), kapi::WatchType::Deleted);
  wait(Agent::kQuiet + 1s);
  EXPECT_EQ(uuids(), "GPU-1A GPU-3C GPU-4D ");
}

TEST_F(AgentNumbers, WhileOthersCannotKnowThatItVanishedNothingIsCountedAnew) {
  start(hardware(all()));
  breaks = 1'000'000;
  look(seeing(hardware({"GPU-1A", "GPU-3C", "GPU-4D"})));
  wait(600s);
  breaks = 0;
  wait(13s);
  EXPECT_EQ(healths(), "HUUU");
  wait(Agent::kQuiet);
  EXPECT_EQ(healths(), "HHH");
}

TEST_F(AgentNumbers, OneThatIsLostAndListedIsNotCountedAnew) {
  start(hardware(all()));
  look(seeing(losing(1)));
  wait(600s);
  EXPECT_EQ(healths(), "HUUU") << "nobody knows how CUDA counts, whoever runs there";
}

// ---- what was known of a GPU goes on over a restart

TEST_F(AgentNumbers, XidsCountOnBehindWhatElseKeepsAGpuBack) {
  Hardware sick = losing(0);
  sick.gpus[1].health = Health::Unknown;
  sick.gpus[1].reason = "XID 54: may be harmless; look at the kernel's log";
  start(sick);
  EXPECT_EQ(healths(), "UUUU");
  start(hardware(all()));
  EXPECT_EQ(healths(), "H?HH");
  look(seeing(hardware({"GPU-1A", "GPU-3C", "GPU-4D"})));
  start(hardware(all()));
  EXPECT_EQ(healths(), "H?HH") << "it was away meanwhile";
}

TEST_F(AgentNumbers, OneThatFellOffTheBusIsDoubtedAfterARestartToo) {
  Hardware off = losing(1);
  off.gpus[1].reason = "XID 79: the GPU fell off the bus; reboot the node";
  start(off);
  start(hardware(all()));
  EXPECT_EQ(healths(), "HUUU");
  Hardware cleared = hardware(all());
  cleared.gpus[1].is_cleared = true;
  look(seeing(cleared));
  EXPECT_EQ(healths(), "HHHH");
}

TEST_F(AgentNumbers, OneThatIsKnownToBeSplitIsNotGivenWholeWhenThatCannotBeReadAnyMore) {
  Hardware split = hardware({"GPU-1A", "GPU-2B"});
  split.gpus[0].partitions = {{"MIG-1", "1g.10gb", 1, 1}};
  split.gpus[1].health = Health::Unhealthy;
  split.gpus[1].reason = "MIG is on, and there is no partition: make some, or turn MIG off";
  start(split);
  Hardware unread = hardware({"GPU-1A", "GPU-2B"});
  for (Gpu& gpu : unread.gpus) {
    gpu.partitions_unread = true;
    gpu.health = Health::Unknown;
    gpu.reason = "the driver cannot tell its partitions (MIG): Unknown Error (999)";
  }
  for (int i = 0; i < 2; ++i) {
    start(unread);
    EXPECT_EQ(device(0)["partitions"].items().size(), 1U);
    EXPECT_EQ(health(0), "Unknown");
    EXPECT_EQ(health(1), "Unhealthy");
  }
  start(hardware({"GPU-1A", "GPU-2B"}));
  EXPECT_EQ(healths(), "HH") << "it can be read again";
}

/// Over restarts, whatever else is wrong with it, and whether the driver fails or says that there is no MIG.
TEST_F(AgentNumbers, OneThatIsKnownToBeSplitIsNotGivenWholeWhateverElseIsWrong) {
  Facts facts;
  facts.split_into_nothing = true;
  facts.uncorrected = 2;
  const Verdict worst = healthOf(facts);
  EXPECT_EQ(worst.reason, "2 uncorrectable memory errors; reset the GPU; MIG is on");
  Facts errors;
  errors.split_into_nothing = true;
  errors.xids = {48};
  Hardware with_errors = hardware({"GPU-1A", "GPU-2B"});
  with_errors.gpus[1].health = Health::Unhealthy;
  with_errors.gpus[1].reason = healthOf(errors).reason;
  start(with_errors);
  errors.xids = {62};
  with_errors.gpus[1].reason = healthOf(errors).reason;
  start(with_errors);
  EXPECT_NE(reason(1).find("XID 48, 62"), std::string::npos) << reason(1);
  EXPECT_NE(reason(1).find("MIG is on"), std::string::npos) << reason(1);
  status = {};
  Hardware split = hardware({"GPU-1A", "GPU-2B"});
  split.gpus[0].partitions = {{"MIG-1", "1g.10gb", 1, 1}};
  split.gpus[1].health = worst.health;
  split.gpus[1].reason = worst.reason;
  Hardware unread = hardware({"GPU-1A", "GPU-2B"});
  Hardware silent = unread;
  for (Gpu& gpu : unread.gpus) {
    gpu.partitions_unread = true;
    gpu.health = Health::Unknown;
    gpu.reason = "the driver cannot tell its partitions (MIG): Unknown Error (999)";
  }
  for (Gpu& gpu : silent.gpus) { gpu.says_no_mig = true; }
  for (Hardware* next : {&unread, &silent}) {
    start(split);
    for (Hardware* now : {next, next, &unread, &silent}) {
      start(*now);
      EXPECT_EQ(device(0)["partitions"].items().size(), 1U);
      EXPECT_EQ(health(0), "Unknown") << reason(0);
      EXPECT_EQ(health(1), "Unhealthy");
      EXPECT_NE(reason(1).find("MIG is on"), std::string::npos) << reason(1);
    }
    start(hardware({"GPU-1A"}));
    start(*next);
    EXPECT_EQ(health(1), "Unhealthy") << "it was gone for a moment";
    start(hardware({"GPU-1A", "GPU-2B"}));
    EXPECT_EQ(healths(), "HH") << "MIG is off";
  }
}

}  // namespace
}  // namespace gs::agent
