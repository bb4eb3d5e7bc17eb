// Requests in the scheduler's words, and its answers back.
#include "serve/combined/offered_pods.h"

#include <gtest/gtest.h>

#include "kapi/kinds.h"
#include "serve/combined/list_server_test.h"
#include "testing/builders.h"

namespace gs::serve {
namespace {

using namespace std::chrono_literals;
using extender::Answer;
using extender::NodeTable;
using extender::Verb;

/// Beside the scheduler: only its table of nodes is asked for.
class TableOwner : public extender::Answerer {
 public:
  [[nodiscard]] std::string refusesBecause() const override { return "not asked"; }
  [[nodiscard]] bool readsNodes(Verb /*verb*/) const override { return false; }
  [[nodiscard]] const extender::NodeTablePtr& table() override { return nodes; }
  void serve(extender::Caller /*caller*/, Now /*now*/) override { ADD_FAILURE() << "served"; }
  void refuse(const extender::Caller& /*caller*/, Answer /*answer*/) override { ADD_FAILURE() << "refused"; }

  extender::NodeTablePtr nodes;
};

/// A scheduler that leads, with nodes a and b of four and eight GPUs.
class OfferedPodsTest : public ::testing::Test, protected ListServer {
 protected:
  explicit OfferedPodsTest(scheduler::Config config = kubes()) : scheduler{std::move(config), Rng{1}} {
    for (const auto& [name, gpus] : {std::pair{"a", 4}, std::pair{"b", 8}}) {
      add(kapi::kNode, testing::makeNode(name));
      add(kapi::kGpuNodeStatus, testing::makeStatus(name, gpus));
    }
    add(kapi::kGpuClaim, testing::makeClaim("one"));
    addLeaseRecord();
    serve(scheduler.start(now));
    lead(true);
    owner.nodes = std::make_shared<const NodeTable>(scheduler.engine().ledger());
  }
  static scheduler::Config kubes() {
    scheduler::Config config;
    config.extender_pods = {"gpu-kube"};
    return config;
  }
  void serve(kapi::Effects effects) {
    for (const auto& effect : effects) {
      const auto* call = std::get_if<kapi::Call>(&effect);
      const auto outcome = call == nullptr ? std::nullopt : answer(*call);
      if (outcome) { serve(scheduler.handle(*outcome, now)); }
    }
  }
  void lead(bool leading) { serve(scheduler.handle(kapi::Leadership{leading, 1, now.mono + 1h}, now)); }
  void known(const testing::PodBuilder& pod) {
    scheduler.engine().apply({kapi::kPod, pod.value().key, {}, pod.make(), pod.value().revision}, now.mono);
  }
  static testing::PodBuilder kubePod(const char* name = "k") {
    return testing::PodBuilder{name}.scheduler("gpu-kube").claim("one");
  }
  /// `nodes`: "" is one that the table has not.
  extender::Caller caller(Verb verb, const model::PodPtr& pod, const std::vector<std::string>& nodes = {}) {
    extender::Caller w{++last, {}, now.mono + 4s};
    w.request.verb = verb;
    w.request.pod = pod;
    w.request.candidates.table = owner.nodes;
    for (const auto& name : nodes) { w.request.candidates.nodes.push_back(owner.nodes->find(name)); }
    return w;
  }
  void bind(const model::PodPtr& pod, const char* node) {
    extender::Caller w = caller(Verb::Bind, pod);
    w.request.node = model::NodeName{node};
    offered.serve(std::move(w), now);
  }
  std::vector<std::pair<extender::RequestId, Answer>> answers() {
    std::vector<std::pair<extender::RequestId, Answer>> out;
    offered.takeAnswers(out);
    return out;
  }
  /// What one caller is told at once.
  Answer only() {
    const auto all = answers();
    EXPECT_EQ(all.size(), 1U);
    if (all.size() != 1) { return {}; }
    EXPECT_EQ(all[0].first, last) << "another's answer";
    return all[0].second;
  }

  Now now{Mono{1h}, Wall{1'750'000'000s}};
  scheduler::Scheduler scheduler;
  TableOwner owner;
  OfferedPods offered{scheduler, owner};
  extender::RequestId last = 0;
};

TEST_F(OfferedPodsTest, TheirsAreKubeSchedulersThatAskForGpusAtADoorOfOurs) {
  const auto is_theirs = [&](const model::PodPtr& pod) {
    return offered.isTheirs(caller(Verb::Filter, pod).request);
  };
  EXPECT_FALSE(is_theirs(nullptr)) << "a Rank of no pod";
  EXPECT_TRUE(is_theirs(kubePod().make()));
  EXPECT_TRUE(is_theirs(testing::PodBuilder{"n"}.scheduler("gpu-kube").gpus(1).make()));
  EXPECT_FALSE(is_theirs(testing::PodBuilder{"n"}.scheduler("gpu-kube").make())) << "asks for no GPU";
  EXPECT_FALSE(is_theirs(testing::PodBuilder{"n"}.scheduler("another").claim("one").make()));
}

/// Who names a pod of another scheduler would have it placed twice.
TEST_F(OfferedPodsTest, OfAPodThatIsKnownItsOwnObjectSaysWhoseItIs) {
  known(testing::PodBuilder{"k"}.scheduler("another").claim("one"));
  EXPECT_FALSE(offered.isTheirs(caller(Verb::Filter, kubePod().make()).request));
  known(kubePod("j"));
  const auto named = testing::PodBuilder{"j"}.scheduler("").make();  // as in a request to bind
  EXPECT_TRUE(offered.isTheirs(caller(Verb::Bind, named).request));
}

TEST_F(OfferedPodsTest, NobodyIsAnsweredButByALeaderThatGoesOn) {
  EXPECT_EQ(offered.refusesBecause(), "");
  lead(false);
  EXPECT_EQ(offered.refusesBecause(), "this replica does not lead");
  offered.stopTaking();
  EXPECT_EQ(offered.refusesBecause(), extender::kStopping);
}

TEST_F(OfferedPodsTest, OneThatStopsAnswersNobodyThoughItLeads) {
  offered.stopTaking();
  ASSERT_TRUE(scheduler.leading());
  EXPECT_EQ(offered.refusesBecause(), extender::kStopping);
}

TEST_F(OfferedPodsTest, NodesAreThoseOfTheExtendersTableButForABindings) {
  EXPECT_EQ(offered.table(), owner.nodes);
  for (const Verb verb : {Verb::Filter, Verb::Rank, Verb::Preempt}) { EXPECT_TRUE(offered.readsNodes(verb)); }
  EXPECT_FALSE(offered.readsNodes(Verb::Bind));
}

TEST_F(OfferedPodsTest, AFilterIsAnsweredByPosition) {
  offered.serve(caller(Verb::Filter, kubePod().make(), {"b", "", "a"}), now);
  EXPECT_TRUE(offered.takeAsked()) << "what it asked for may let others in, or out";
  EXPECT_FALSE(offered.takeAsked()) << "once";
  const Answer a = only();
  ASSERT_EQ(a.kind, Answer::Kind::Offered);
  ASSERT_EQ(a.offers.of.size(), 3U);
  EXPECT_EQ(a.offers.rejectionOf(0), nullptr);
  ASSERT_NE(a.offers.rejectionOf(1), nullptr);
  EXPECT_EQ(a.offers.rejectionOf(1)->text, "node(s) were not known to gpu-scheduler yet");
  EXPECT_EQ(a.offers.rejectionOf(2), nullptr);
}

TEST_F(OfferedPodsTest, ARankIsAnsweredByPosition) {
  offered.serve(caller(Verb::Rank, kubePod().make(), {"a", "", "b"}), now);
  EXPECT_TRUE(offered.takeAsked()) << "it may hold GPUs";
  const Answer a = only();
  EXPECT_EQ(a.kind, Answer::Kind::Offered);
  EXPECT_EQ(a.scores, (std::vector<int>{10, 0, 9})) << "the fuller node is better";
}

TEST_F(OfferedPodsTest, ABindSaysWhatCameOfIt) {
  known(kubePod("there").on("a"));
  struct Case {
    const char* pod;
    const char* node;
    Answer::Kind kind;
    const char* text;
  };
  const Case cases[] = {
      {"there", "a", Answer::Kind::Done, ""},
      {"there", "b", Answer::Kind::Failed, "pod default/there is bound to a"},
      {"unknown", "a", Answer::Kind::Failed, "gpu-scheduler does not know the pod yet; ask again"},
  };
  for (const auto& c : cases) {
    bind(kubePod(c.pod).make(), c.node);
    EXPECT_TRUE(offered.takeAsked()) << c.text;
    const Answer a = only();
    EXPECT_EQ(a.kind, c.kind) << c.pod << ' ' << c.node;
    EXPECT_EQ(a.text, c.text);
  }
}

/// Victims stand at the position of their candidate, and so does what is kept.
TEST_F(OfferedPodsTest, APreemptionKeepsTheNodesThatWouldHaveRoom) {
  known(testing::PodBuilder{"victim"}.claim("one").on("a").allocated("a:0,1,2,3").priority(1).running());
  extender::Caller w = caller(Verb::Preempt, kubePod().priority(100).make(), {"", "a"});
  w.request.victims = std::make_shared<const std::vector<extender::Victims>>(
      std::vector<extender::Victims>{{}, {model::Uid{"uid-victim"}}});
  offered.serve(std::move(w), now);
  for (int turns = 0; turns < 100 && scheduler.extenderPreemption(now).nextDue(); ++turns) {
    scheduler.extenderPreemption(now).tick();
  }
  const Answer a = only();
  EXPECT_EQ(a.kind, Answer::Kind::Kept);
  EXPECT_EQ(a.kept, std::vector<std::size_t>{1});
  EXPECT_EQ(a.victims, std::vector<extender::Victims>{{}}) << "those that were given";
}

TEST_F(OfferedPodsTest, VolcanosVerbsFailAndAreNothingToDecideOn) {
  for (const Verb verb : {Verb::Predicate, Verb::Look, Verb::Allocate, Verb::Deallocate}) {
    offered.serve(caller(verb, kubePod().make(), {"a"}), now);
    EXPECT_FALSE(offered.takeAsked());
    const Answer a = only();
    EXPECT_EQ(a.kind, Answer::Kind::Failed);
    EXPECT_TRUE(a.text.starts_with("Volcano's pods are not placed this way")) << a.text;
  }
}

TEST_F(OfferedPodsTest, EachIsToldOnceBehindThoseWhoAreThere) {
  const auto filtered = caller(Verb::Filter, kubePod().make(), {"a"});
  const auto refused = caller(Verb::Filter, kubePod().make(), {"a"});
  offered.serve(filtered, now);
  Answer no;
  no.kind = Answer::Kind::Unavailable;
  no.text = "no";
  offered.refuse(refused, no);
  std::vector<std::pair<extender::RequestId, Answer>> out{{100, {}}};
  offered.takeAnswers(out);
  ASSERT_EQ(out.size(), 3U);
  EXPECT_EQ(out[0].first, 100U) << "of the extender";
  EXPECT_EQ(out[1].first, refused.request_id);
  EXPECT_EQ(out[1].second.text, "no");
  EXPECT_EQ(out[2].first, filtered.request_id);
  EXPECT_TRUE(answers().empty());
}

/// So few may be bound at once that a filter waits for a moment.
class CrowdedOfferedPods : public OfferedPodsTest {
 protected:
  CrowdedOfferedPods() : OfferedPodsTest{ofThree()} {}
  static scheduler::Config ofThree() {
    scheduler::Config config = kubes();
    config.max_waiting_binds = 3;
    return config;
  }
};

TEST_F(CrowdedOfferedPods, WhoWaitsIsToldWhenTheLeadIsLost) {
  for (const char* name : {"s0", "s1"}) {
    known(kubePod(name));
    bind(kubePod(name).make(), "a");
  }
  offered.serve(caller(Verb::Filter, kubePod().make(), {"a"}), now);
  ASSERT_TRUE(answers().empty()) << "the leases are not written yet";
  lead(false);
  auto told = answers();
  ASSERT_EQ(told.size(), 3U);
  for (const auto& [id, a] : told) {
    EXPECT_EQ(a.kind, Answer::Kind::Unavailable) << id;
    EXPECT_EQ(a.text, "this replica does not lead any more; ask again") << id;
  }
}

}  // namespace
}  // namespace gs::serve
