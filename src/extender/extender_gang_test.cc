// Gangs of shares: pods that are bound together or not at all,
// so none of them is taken before all have a node.
#include "base/cpu_time_test.h"
#include "extender/extender_hand_test.h"
#include "extender/grants/metrics.h"

namespace gs::extender {
namespace {

using namespace std::chrono_literals;

class GangTest : public ExtenderTest {
 protected:
  void addNodes(int count, int devices) {
    for (int i = 0; i < count; ++i) {
      nodes.push_back("n" + std::to_string(i));
      addNode(gpuNode(nodes.back(), devices, 64));
    }
  }
  model::Pod createOf(const std::string& gang, const std::string& name, model::VcudaLimits limits) {
    model::Pod pod = vcudaPod(name, {limits});
    pod.gang = gang;
    server.add(pod);
    watchBrings(name);
    return server.pods[name];
  }
  /// As a Volcano with allocateFunc does in a session: the first node that is called fit is allocated. The
  /// node, or "".
  std::string allocate(const model::Pod& pod) {
    for (const auto& node : nodes) {
      const RequestId looked = ask(Verb::Look, pod, {node});
      run();
      if (answers[looked].kind != AnswerKind::Chosen) { continue; }
      const RequestId allocated = ask(Verb::Allocate, pod, {node});
      run();
      return answers[allocated].kind == AnswerKind::Chosen ? node : "";
    }
    return "";
  }
  /// How many of so many members have a node in one session.
  int session(const std::string& gang, int members, model::VcudaLimits limits) {
    int given = 0;
    for (int i = 0; i < members; ++i) {
      given += allocate(createOf(gang, gang + std::to_string(i), limits)).empty() ? 0 : 1;
    }
    return given;
  }
  void giveBack(const std::string& name) {
    ask(Verb::Deallocate, server.pods[name], {});
    run();
  }
  [[nodiscard]] std::set<std::string> devicesOf(const std::string& gang, int members) {
    std::set<std::string> devices;
    for (int i = 0; i < members; ++i) {
      const std::string name = gang + std::to_string(i);
      devices.insert(note(name, kNode) + ":" + note(name, kIds0));
    }
    return devices;
  }

  std::vector<std::string> nodes;
};

TEST_F(GangTest, ThatFillsTheClusterWithSharesIsGivenAllOfThem) {
  addNodes(4, 8);
  lead();
  EXPECT_EQ(session("g", 32, {90, 1}), 32);
  EXPECT_EQ(devicesOf("g", 32).size(), 32U);
}

TEST_F(GangTest, OfSharesOnOneNodeToo) {
  addNodes(1, 8);
  lead();
  EXPECT_EQ(session("g", 8, {90, 1}), 8);
}

/// Each is asked about one node at a time.
TEST_F(GangTest, ManyCostNoMoreThanOne) {
  addNodes(2'000, 8);
  lead();
  const auto costOf = [&](const std::string& name, int gangs) {
    std::vector<Request> requests;
    for (int i = 0; i < 100; ++i) {
      const std::string number = std::to_string(i % gangs);
      const model::Pod pod = createOf(name + number, name + std::to_string(i), {90, 1});
      requests.push_back(request(Verb::Look, pod, {"n7"}));
    }
    return cpuSecondsOf([&] {
      for (const auto& q : requests) { desk.ask(extender, ++last, q, now); }
      settle();
    });
  };
  const double one = costOf("one", 1);
  EXPECT_LT(costOf("many", 100), 10 * one);
}

TEST_F(GangTest, OfWholeGpus) {
  addNodes(4, 8);
  lead();
  EXPECT_EQ(session("g", 8, {400, 0}), 8);
  EXPECT_EQ(counted[kUncertainChoices], 0) << "gpu-manager takes any";
}

TEST_F(GangTest, ChoicesThatAreNotCertainAreCounted) {
  addNodes(1, 2);
  lead();
  EXPECT_EQ(session("g", 2, {90, 1}), 2);
  EXPECT_EQ(counted[kUncertainChoices], 1) << "the first one was certain";
}

TEST_F(GangTest, AGroupIsKnownByItsNamespaceToo) {
  addNodes(1, 2);
  lead();
  EXPECT_EQ(session("g", 1, {90, 1}), 1);
  model::Pod other = vcudaPod("other", {{90, 1}});
  other.gang = "g";
  other.key.ns = "elsewhere";
  server.add(other);
  watchBrings("other");
  EXPECT_EQ(allocate(server.pods["other"]), "");
}

TEST_F(GangTest, OthersWaitForItsMembersAsForAnybody) {
  addNodes(1, 3);
  lead();
  EXPECT_EQ(session("g", 1, {90, 1}), 1);
  EXPECT_EQ(allocate(create("p", {{90, 1}})), "");
  EXPECT_EQ(allocate(createOf("h", "h0", {90, 1})), "") << "of another gang";
}

TEST_F(GangTest, ItsMembersWaitForOthersWhomTheKubeletWillTake) {
  addNodes(1, 3);
  lead();
  ASSERT_EQ(filter(create("p", {{90, 1}}), {"n0"}).kind, AnswerKind::Chosen);
  EXPECT_EQ(session("g", 1, {90, 1}), 0);
  bindTo("p", "n0", true);
  EXPECT_EQ(session("g", 2, {90, 1}), 2);
}

TEST_F(GangTest, AMemberThatIsBoundIsWaitedFor) {
  addNodes(1, 3);
  lead();
  EXPECT_EQ(session("g", 1, {90, 1}), 1);
  bindTo("g0", "n0", false);
  EXPECT_EQ(allocate(createOf("g", "late", {90, 1})), "") << "the gang is whole: it will be taken soon";
  bindTo("g0", "n0", true);
  EXPECT_EQ(allocate(server.pods["late"]), "n0");
}

/// Whatever its members do among themselves, another pod's choice stays certain.
TEST_F(GangTest, NoMemberMakesAnotherPodsChoiceUncertain) {
  addNodes(1, 3);
  lead();
  ASSERT_EQ(filter(create("x", {{50, 30}}), {"n0"}).kind, AnswerKind::Chosen);
  bindTo("x", "n0", true);
  EXPECT_EQ(allocate(createOf("g", "g0", {85, 1})), "n0");
  EXPECT_EQ(note("g0", kIds0), "1");
  ASSERT_EQ(filter(create("y", {{20, 1}}), {"n0"}).kind, AnswerKind::Chosen);
  EXPECT_EQ(note("y", kIds0), "0") << "beside x, and no member will be in its way";
  EXPECT_EQ(allocate(createOf("g", "g1", {31, 40})), "n0");
  EXPECT_EQ(note("g1", kIds0), "2");
  EXPECT_EQ(allocate(createOf("g", "g2", {60, 1})), "") << "device 2 with this one alone would be y's";
  bindTo("y", "n0", true);
  EXPECT_EQ(allocate(server.pods["g2"]), "n0");
  EXPECT_EQ(note("g2", kIds0), "2");
}

// ---- Groups that Volcano makes by itself, of which one member is enough to begin

TEST_F(GangTest, PodsOfADeploymentAreNoGang) {
  addNodes(1, 3);
  lead();
  EXPECT_EQ(session("podgroup-7a09885b", 2, {90, 1}), 1);
  bindTo("podgroup-7a09885b0", "n0", true);
  EXPECT_EQ(allocate(server.pods["podgroup-7a09885b1"]), "n0");
}

TEST_F(GangTest, UnlessVolcanoTookBackWhatOneOfThemWasGiven) {
  addNodes(1, 3);
  lead();
  const std::string group = "podgroup-7a09885b";
  EXPECT_EQ(session(group, 3, {90, 1}), 1) << "their ReplicaSet says that so many are needed";
  giveBack(group + "0");
  for (int i = 0; i < 3; ++i) { EXPECT_EQ(allocate(server.pods[group + std::to_string(i)]), "n0") << i; }
}

}  // namespace
}  // namespace gs::extender
