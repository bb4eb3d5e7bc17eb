#include "extender/share_chooser.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/random.h"
#include "extender/protocol/pod_server_test.h"
#include "kapi/kinds.h"

namespace gs::extender {
namespace {

using namespace std::chrono_literals;
using Names = std::vector<std::string>;

class ShareChooserTest : public ::testing::Test {
 protected:
  void addNode(model::Node node) {
    node.revision = ++revision;
    engine.apply({kapi::kNode, {"", node.name.text}, {}, std::make_shared<const model::Node>(node), revision},
                 now);
  }
  Candidates among(const Names& names) {
    Candidates c;
    c.table = chooser.table();
    for (const auto& name : names) { c.nodes.push_back(c.table->find(name)); }
    return c;
  }
  /// "": none fits.
  std::string chosen(const model::Pod& pod, const Names& names) {
    const auto best = chooser.choose(among(names), pod, now).best;
    return best ? names.at(*best) : "";
  }
  /// But for nodes that are left out now.
  std::string inTurn(const model::Pod& pod, const Names& names) {
    const auto request = std::get<sched::PodRequest>(chooser.requestOf(pod));
    const auto best = chooser.bestInTurn(among(names), request, pod.uid, now);
    return best ? names.at(*best) : "";
  }
  /// Nothing of it is in flight: a pod that runs there has so much of the device.
  void isTaken(const std::string& node, int device, std::int64_t milli, std::int64_t mib) {
    engine.ledger().hold(model::NodeName{node}, device, model::Uid{"runs-" + std::to_string(++running)},
                         sched::Source::BoundPod, {true, milli, mib});
  }
  static model::Pod ofGang(const std::string& name, const std::string& gang) {
    model::Pod pod = vcudaPod(name, {{50, 1}});
    pod.gang = gang;
    return pod;
  }

  engine::Engine engine;
  ShareChooser chooser{engine, false};
  Mono now{1h};
  model::Revision revision = 0;
  int running = 0;
};

// ---- The best one

/// The choice decides how full the cluster gets, and two replicas have to come to the same.
TEST_F(ShareChooserTest, TheTightestThatFitsWinsAndOfEqualOnesTheFirstByNameWhateverTheirOrder) {
  addNode(gpuNode("a-big", 2));
  addNode(gpuNode("c", 1));
  addNode(gpuNode("b", 1));
  addNode(gpuNode("d-less-memory", 1, 2));
  addNode(gpuNode("e-none", 0));
  const model::Pod pod = vcudaPod("p", {{50, 1}});
  for (Names names : {Names{"a-big", "b", "c"}, {"a-big", "b", "c", "d-less-memory", "e-none"}}) {
    const std::string best = names.size() == 3 ? "b" : "d-less-memory";
    std::sort(names.begin(), names.end());
    do { ASSERT_EQ(chosen(pod, names), best); } while (std::next_permutation(names.begin(), names.end()));
  }
  EXPECT_EQ(chosen(vcudaPod("large", {{200, 0}}), {"b", "c", "a-big"}), "a-big") << "no other one fits";
}

/// Against the plain rule, read from the devices; of one candidate alone, too, which is looked at otherwise.
TEST_F(ShareChooserTest, ItIsAlwaysTheOneThatThePlainRuleNames) {
  constexpr int kNodes = 6;
  constexpr int kDevices = 3;
  constexpr std::int64_t kMib = 1024;
  Rng rng{7};
  std::map<std::string, std::vector<std::pair<std::int64_t, std::int64_t>>> free;  // milli, MiB
  for (int i = 0; i < kNodes; ++i) {
    const std::string name = "n" + std::to_string(i);
    addNode(gpuNode(name, kDevices));
    free[name].assign(kDevices, {1000, kMib});
  }
  for (int step = 0; step < 300; ++step) {
    const std::string changes = "n" + std::to_string(rng.below(kNodes));
    const auto device = rng.below(kDevices);
    auto& [milli, mib] = free[changes][device];
    const auto takes = static_cast<std::int64_t>(rng.below(4)) * 100;
    if (takes > 0 && milli >= takes && mib >= 256) {
      isTaken(changes, static_cast<int>(device), takes, 256);
      milli -= takes;
      mib -= 256;
    }
    const auto cores = static_cast<std::int64_t>(10 + rng.below(60));
    Names names;
    std::string best;
    std::tuple<std::int64_t, std::int64_t, std::string> key;
    for (const auto& [name, devices] : free) {
      if (rng.chance(40)) { continue; }
      names.insert(names.begin() + static_cast<std::ptrdiff_t>(rng.below(names.size() + 1)), name);
      std::int64_t all_milli = 0;
      std::int64_t all_mib = 0;
      bool fits = false;
      for (const auto& [left, memory] : devices) {
        all_milli += left;
        all_mib += memory;
        fits = fits || (left >= cores * 10 && memory >= 256);
      }
      const std::tuple its_key{all_milli, all_mib, name};
      if (fits && (best.empty() || its_key < key)) { std::tie(best, key) = std::tie(name, its_key); }
      ASSERT_EQ(chosen(vcudaPod("p", {{cores, 1}}), {name}), fits ? name : "") << step;
    }
    ASSERT_EQ(chosen(vcudaPod("p", {{cores, 1}}), names), best) << step;
  }
}

TEST_F(ShareChooserTest, WhereNoneFitsItSaysHowEachStandsAndWhereNoneEverWillWhy) {
  addNode(gpuNode("a", 1));
  addNode(gpuNode("none", 0));
  const auto no_room = chooser.choose(among({"a", "none", "unknown"}), vcudaPod("p", {{200, 0}}), now);
  EXPECT_FALSE(no_room.best);
  EXPECT_TRUE(no_room.request);
  EXPECT_FALSE(no_room.answer.never);
  const Candidates c = among({"a", "none", "unknown"});
  EXPECT_EQ(standingAt(no_room.answer, c, 0)->refused, sched::Reason::TooFewFree);
  EXPECT_EQ(standingAt(no_room.answer, c, 1)->refused, sched::Reason::NoGpu);
  EXPECT_EQ(standingAt(no_room.answer, c, 2), nullptr);
  EXPECT_EQ(no_room.answer.asked, (std::vector<sched::ContainerShare>{{2, 0, 0}}));

  const auto never = chooser.choose(among({"a"}), vcudaPod("p", {{150, 0}}), now);
  EXPECT_FALSE(never.best);
  EXPECT_FALSE(never.request);
  EXPECT_TRUE(never.answer.never);
  EXPECT_NE(never.answer.text, "");
}

/// A node that the caller knows better, or that nobody else knows yet.
TEST_F(ShareChooserTest, AnObjectThatTheCallerGaveCountsInPlaceOfWhatIsKnown) {
  addNode(gpuNode("a", 1));
  const model::Pod pod = vcudaPod("p", {{200, 0}});
  Candidates c = among({"a", "new"});
  EXPECT_FALSE(chooser.choose(c, pod, now).best);
  for (const std::size_t position : {0U, 1U}) {
    const std::string name = position == 0 ? "a" : "new";
    c.objects = {{position, std::make_shared<const model::Node>(gpuNode(name, 2))}};
    EXPECT_EQ(chooser.choose(c, pod, now).best, position);
    EXPECT_EQ(chooser.stateOf(c, position).share_devices, 2);
    EXPECT_EQ(chooser.stateOf(c, position).node.name.text, name);
  }
  EXPECT_EQ(chooser.stateOf(c, 0).share_devices, 1) << "of this one it gave none";
}

// ---- Tries in vain

TEST_F(ShareChooserTest, ANodeOfATryInVainIsLeftOutWhileAnotherOneWillDo) {
  addNode(gpuNode("a", 2));
  addNode(gpuNode("b", 1));
  const model::Pod pod = vcudaPod("p", {{50, 1}});
  ASSERT_EQ(chosen(pod, {"a", "b"}), "b");
  chooser.triedInVain(pod.uid, model::NodeName{"b"}, false, now);
  EXPECT_TRUE(chooser.isLeftOut(pod.uid, model::NodeName{"b"}, now));
  EXPECT_FALSE(chooser.isLeftOut(pod.uid, model::NodeName{"a"}, now));
  EXPECT_EQ(chosen(pod, {"a", "b"}), "a");
  EXPECT_EQ(chosen(vcudaPod("q", {{50, 1}}), {"a", "b"}), "b") << "it is this pod's";
  now += 1h;
  EXPECT_EQ(chosen(pod, {"a", "b"}), "a") << "however long ago";
}

/// A kube-scheduler waits by itself between two tries, so the pod is given the node all the same.
TEST_F(ShareChooserTest, WhereNoOtherOneFitsItIsChosenAndInTurnOnceItsTimeIsOver) {
  addNode(gpuNode("a", 2));
  addNode(gpuNode("b", 1));
  const model::Pod pod = vcudaPod("p", {{50, 1}});
  chooser.triedInVain(pod.uid, model::NodeName{"b"}, true, now);
  EXPECT_EQ(chosen(pod, {"b"}), "b");
  EXPECT_EQ(inTurn(pod, {"b"}), "");
  EXPECT_EQ(inTurn(pod, {"a", "b"}), "a");
  now += 2s;
  EXPECT_EQ(inTurn(pod, {"b"}), "b");
  EXPECT_EQ(chosen(pod, {"a", "b"}), "b") << "there was nowhere else, and its time is over";
}

TEST_F(ShareChooserTest, ToLookPassesOverTriesInVainAndChangesNothingOfThem) {
  addNode(gpuNode("a", 1));
  const model::Pod pod = vcudaPod("p", {{50, 1}});
  chooser.triedInVain(pod.uid, model::NodeName{"a"}, false, now);
  const Answer fits = chooser.look(among({"unknown", "a"}), pod);
  EXPECT_EQ(fits.kind, Answer::Kind::Chosen);
  EXPECT_EQ(fits.chosen, 1U);
  now += 1h;
  EXPECT_TRUE(chooser.isLeftOut(pod.uid, model::NodeName{"a"}, now)) << "nobody found that there is no other";
  EXPECT_EQ(chooser.look(among({"a"}), vcudaPod("q", {{200, 0}})).kind, Answer::Kind::Nowhere);
  const Answer never = chooser.look(among({"a"}), vcudaPod("r", {{150, 0}}));
  EXPECT_EQ(never.kind, Answer::Kind::Nowhere);
  EXPECT_TRUE(never.never);
}

TEST_F(ShareChooserTest, NothingIsRememberedOfWhoIsForgottenAndAfterAReset) {
  for (const char* name : {"p", "q", "r"}) {
    chooser.triedInVain(model::Uid{name}, model::NodeName{"a"}, false, now);
  }
  EXPECT_EQ(chooser.inVain(), 3U);
  chooser.forget(model::Uid{"p"});
  EXPECT_EQ(chooser.inVain(), 2U);
  EXPECT_FALSE(chooser.isLeftOut(model::Uid{"p"}, model::NodeName{"a"}, now));
  EXPECT_TRUE(chooser.isLeftOut(model::Uid{"q"}, model::NodeName{"a"}, now));
  chooser.givenBack(ofGang("s", "podgroup-1"));
  chooser.reset();
  EXPECT_EQ(chooser.inVain(), 0U);
  EXPECT_EQ(chooser.gangOf(ofGang("s", "podgroup-1")), "");
}

// ---- What a pod asks for

TEST_F(ShareChooserTest, AGroupOfAnOwnersPodsIsAGangOnceOneOfThemWasGivenBackUnbound) {
  EXPECT_EQ(chooser.gangOf(ofGang("p", "")), "");
  EXPECT_EQ(chooser.gangOf(ofGang("p", "g")), "default/g") << "said by who made the pods";
  EXPECT_EQ(chooser.gangOf(ofGang("p", "podgroup-1")), "");
  model::Pod is_bound = ofGang("p", "podgroup-1");
  is_bound.node = model::NodeName{"a"};
  chooser.givenBack(is_bound);
  chooser.givenBack(ofGang("p", ""));
  EXPECT_EQ(chooser.gangOf(ofGang("q", "podgroup-1")), "");
  chooser.givenBack(ofGang("p", "podgroup-1"));
  EXPECT_EQ(chooser.gangOf(ofGang("q", "podgroup-1")), "default/podgroup-1");
  EXPECT_EQ(chooser.gangOf(ofGang("q", "podgroup-2")), "");
  model::Pod elsewhere = ofGang("q", "podgroup-1");
  elsewhere.key.ns = "elsewhere";
  EXPECT_EQ(chooser.gangOf(elsewhere), "");
}

TEST_F(ShareChooserTest, StrictlyAnyChoiceWillDoAndThereAreNoGangs) {
  const ShareChooser strict{engine, true};
  const model::Pod pod = ofGang("p", "g");
  const auto request = std::get<sched::PodRequest>(chooser.requestOf(pod));
  EXPECT_TRUE(request.only_certain);
  EXPECT_EQ(request.gang, "default/g");
  const auto as_ancestor = std::get<sched::PodRequest>(strict.requestOf(pod));
  EXPECT_FALSE(as_ancestor.only_certain);
  EXPECT_EQ(as_ancestor.gang, "");
}

// ---- Nodes

/// Callers keep the numbers: another table for each change would have all of them ask again.
TEST_F(ShareChooserTest, TheTableIsTheSameUntilANodeComesOrGoes) {
  addNode(gpuNode("a", 1));
  const NodeTablePtr before = chooser.table();
  isTaken("a", 0, 500, 256);
  addNode(gpuNode("a", 2));
  EXPECT_EQ(chooser.table(), before);
  addNode(gpuNode("b", 1));
  EXPECT_NE(chooser.table(), before);
  EXPECT_NE(chooser.table()->find("b"), NodeTable::kUnknown);
  EXPECT_EQ(before->find("b"), NodeTable::kUnknown) << "whoever reads that one reads on";
}

TEST_F(ShareChooserTest, ObjectsAreLackingWhereTheCallerHasNewerOnesAndBoundedInNumber) {
  addNode(gpuNode("a", 1));  // of revision 1
  constexpr model::Revision kNone = Candidates::kNoObject;
  struct Row {
    const char* node;
    model::Revision revision;
    bool is_given;
    bool is_lacking;
  };
  for (const Row& row : {Row{"a", kNone, false, false},
                         {"unknown", kNone, false, false},
                         {"a", 0, false, false},  // it says none: what is known counts
                         {"unknown", 0, false, true},
                         {"a", 1, false, false},
                         {"a", 2, false, true},
                         {"a", 2, true, false},
                         {"unknown", 1, false, true},
                         {"unknown", 1, true, false}}) {
    Candidates c = among({row.node});
    c.revisions = {row.revision};
    if (row.is_given) { c.objects[0] = std::make_shared<const model::Node>(gpuNode(row.node, 1)); }
    EXPECT_EQ(chooser.lackingObjects(c).size(), row.is_lacking ? 1U : 0U)
        << row.node << " " << row.revision << " " << row.is_given;
  }
  EXPECT_TRUE(chooser.lackingObjects(among({"a", "unknown"})).empty()) << "names only";

  Candidates many = among(Names(1'500, "unknown"));
  many.revisions.assign(1'500, 1);
  EXPECT_EQ(chooser.lackingObjects(many).size(), 1'000U);
  for (std::size_t i = 0; i < 400; ++i) {
    many.objects[i] = std::make_shared<const model::Node>(gpuNode("n" + std::to_string(i), 1));
  }
  const auto rest = chooser.lackingObjects(many);
  ASSERT_EQ(rest.size(), 600U) << "with those that were given already";
  EXPECT_EQ(rest.front(), 400U);
}

TEST_F(ShareChooserTest, ARankSaysOfEachHowFullItIs) {
  addNode(gpuNode("a", 2));
  addNode(gpuNode("none", 0));
  isTaken("a", 0, 300, 256);
  const Candidates c = among({"none", "a"});
  const Answer ranked = chooser.rank(c);
  EXPECT_EQ(ranked.kind, Answer::Kind::Ranked);
  EXPECT_EQ(standingAt(ranked, c, 0)->devices, 0);
  EXPECT_EQ(standingAt(ranked, c, 1)->devices, 2);
  EXPECT_EQ(standingAt(ranked, c, 1)->free_milli, 1700);
}

}  // namespace
}  // namespace gs::extender
