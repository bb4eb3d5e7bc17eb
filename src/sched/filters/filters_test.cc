#include <gtest/gtest.h>

#include <set>

#include "sched/filters/filter.h"
#include "sched/filters/rows.h"
#include "sched/ledger/test_nodes.h"

namespace gs::sched {
namespace {

using NodeOp = model::NodeRequirement::Op;

std::optional<Misfit> saysOf(const TestNode& node, const PodRequest& request) {
  Ledger l;
  node.addTo(l);
  return refusalOf(stateOf(l, node.node.name.text), request);
}
std::optional<Misfit> saidOnly(Reason reason, const std::string& detail = "") {
  return Misfit{reason, detail, 0, 0};
}

PodRequest wanting(std::vector<model::NodeTerm> terms) {
  PodRequest r;
  r.node_affinity.is_required = true;
  r.node_affinity.required = std::move(terms);
  return r;
}
model::NodeTerm inZone(const std::string& zone) { return {{{"zone", NodeOp::In, {zone}}}, {}}; }
model::NodeTerm onNode(const std::string& name) {
  return {{}, {{model::kNodeNameField, NodeOp::In, {name}}}};
}

PodRequest portsOf(std::vector<model::HostPort> ports) {
  PodRequest r;
  r.host_ports = std::move(ports);
  return r;
}

TEST(Filters, AreKubeSchedulersInItsOrder) {
  std::vector<std::string> plugins;
  const std::vector<std::string> theirs{
      "NodeAffinity",      "NodeUnschedulable",  "TaintToleration",  "NodeAffinity",        "NodePorts",
      "NodeResourcesFit",  "VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding",       "VolumeZone",
      "PodTopologySpread", "InterPodAffinity",   "InterPodAffinity", "NodeDeclaredFeatures"};
  const std::set<std::string> names{theirs.begin(), theirs.end()};
  for (const Filter& filter : filters()) {
    ASSERT_NE(filter.check, nullptr) << filter.name;
    if (names.contains(filter.name)) { plugins.emplace_back(filter.name); }
  }
  EXPECT_EQ(plugins, theirs);
}

/// Each of these has one part of a request, which the node lacks.
std::vector<PodRequest> requestsOfOnePart() {
  std::vector<PodRequest> out(9);
  out[1].on_node = "b";
  out[2] = wanting({});
  out[3] = wanting({onNode("b")});
  out[4].node_selector = {{"zone", "east"}};
  out[5].match_labels = {{"zone", "east"}};
  out[6].not_on = {model::NodeName{"a"}};
  out[7].kept_off = {model::NodeName{"a"}};
  out[8].node_features = {"Feature"};
  return out;
}

TEST(Filters, WhoeverIsNotAskedWouldHaveRefusedNobody) {
  Ledger l;
  testNode("a").addTo(l);
  const NodeState& n = stateOf(l, "a");
  const auto requests = requestsOfOnePart();
  for (std::size_t i = 0; i < requests.size(); ++i) {
    std::optional<Misfit> first;
    for (const Filter& filter : filters()) {
      first = filter.check(n, requests[i]);
      if (first) { break; }
    }
    EXPECT_EQ(first.has_value(), i > 0) << i;
    EXPECT_EQ(refusalOf(n, requests[i]), first) << i;
  }
}

TEST(Filters, ThoseOfFactsAndThoseOfUseAreAllOfThem) {
  const auto full = testNode("a").cpu(1).unschedulable();
  PodRequest hungry;
  hungry.resources.cpu_milli = 2;
  Ledger l;
  full.addTo(l);
  const NodeState& n = stateOf(l, "a");
  EXPECT_EQ(refusalOf(n, hungry), saidOnly(Reason::Unschedulable));
  EXPECT_EQ(refusalOf(n, hungry, Filter::Kept::Facts, partsOf(hungry)), saidOnly(Reason::Unschedulable));
  EXPECT_EQ(refusalOf(n, hungry, Filter::Kept::Use, partsOf(hungry)),
            saidOnly(Reason::InsufficientResource, "cpu"));
  EXPECT_EQ(refusalOf(n, PodRequest{}, Filter::Kept::Use, Filter::Needs::Always), std::nullopt);
}

TEST(Filters, ANodeThatDoesNotExistIsNotReady) {
  PodRequest r = wanting({inZone("east")});
  r.on_node = "x";
  NodeState none;
  none.node.name = model::NodeName{"a"};
  EXPECT_EQ(refusalOf(none, r), saidOnly(Reason::NotReady));
  EXPECT_EQ(refusalOf(none, r, Filter::Kept::Facts, partsOf(r)), saidOnly(Reason::NotReady));
}

struct AffinityCase {
  const char* name;
  TestNode node;
  PodRequest request;
  std::optional<Misfit> expect;
};
class NodeAffinityRow : public ::testing::TestWithParam<AffinityCase> {};
TEST_P(NodeAffinityRow, Says) { EXPECT_EQ(saysOf(GetParam().node, GetParam().request), GetParam().expect); }

TestNode eastern() { return testNode("a").label("zone", "east"); }
TestNode taintedEastern() { return eastern().taint("k", "v", "NoSchedule"); }
PodRequest alsoSelecting(PodRequest r, const std::string& value) {
  r.node_selector["zone"] = value;
  return r;
}
PodRequest justPreferring() {
  PodRequest r;
  r.node_affinity.preferred = {{1, inZone("west")}};
  return r;
}
const std::optional<Misfit> kMismatch = Misfit{Reason::SelectorMismatch, "", 0, 0};

INSTANTIATE_TEST_SUITE_P(
    Table, NodeAffinityRow,
    ::testing::Values(
        AffinityCase{"Matches", eastern(), wanting({inZone("west"), inZone("east")}), std::nullopt},
        AffinityCase{"Mismatches", eastern(), wanting({inZone("west")}), kMismatch},
        AffinityCase{"SelectorAndTerms", eastern(), alsoSelecting(wanting({inZone("east")}), "east"),
                     std::nullopt},
        AffinityCase{"SelectorNot", eastern(), alsoSelecting(wanting({inZone("east")}), "west"), kMismatch},
        AffinityCase{"TermsNot", eastern(), alsoSelecting(wanting({inZone("west")}), "east"), kMismatch},
        AffinityCase{"RequiredWithoutTerms", eastern(), wanting({}), kMismatch},
        AffinityCase{"AnEmptyTerm", eastern(), wanting({{}}), kMismatch},
        AffinityCase{"OnlyPreferred", eastern(), justPreferring(), std::nullopt},
        AffinityCase{"Named", eastern(), wanting({onNode("a")}), std::nullopt},
        AffinityCase{"NamedOtherwise", eastern(), wanting({onNode("b")}), kMismatch},
        AffinityCase{"ATaintComesBeforeTerms", taintedEastern(), wanting({inZone("west")}),
                     Misfit{Reason::UntoleratedTaint, "k: v", 0, 0}},
        AffinityCase{"NamesComeBeforeTaints", taintedEastern(), wanting({onNode("b")}), kMismatch},
        AffinityCase{"NotReadyIsLess", eastern().notReady(), wanting({inZone("west")}), kMismatch}),
    [](const auto& info) { return std::string{info.param.name}; });

struct PortCase {
  const char* name;
  model::HostPort there;
  model::HostPort wanted;
  bool conflict;
};
class NodePortsRow : public ::testing::TestWithParam<PortCase> {};
TEST_P(NodePortsRow, Says) {
  Ledger l;
  testNode("a").addTo(l);
  l.usePod(model::NodeName{"a"}, model::Uid{"p"}, Source::BoundPod, {}, 0, {}, {GetParam().there});
  const auto expect = GetParam().conflict ? saidOnly(Reason::HostPortsTaken) : std::nullopt;
  EXPECT_EQ(refusalOf(stateOf(l, "a"), portsOf({{1, "TCP", "0.0.0.0"}, GetParam().wanted})), expect);
}
INSTANTIATE_TEST_SUITE_P(
    Table, NodePortsRow,
    ::testing::Values(
        PortCase{"Same", {80, "TCP", "0.0.0.0"}, {80, "TCP", "0.0.0.0"}, true},
        PortCase{"OtherPort", {80, "TCP", "0.0.0.0"}, {81, "TCP", "0.0.0.0"}, false},
        PortCase{"OtherProtocol", {80, "TCP", "0.0.0.0"}, {80, "UDP", "0.0.0.0"}, false},
        PortCase{"AllTakenOneWanted", {80, "TCP", "0.0.0.0"}, {80, "TCP", "10.0.0.1"}, true},
        PortCase{"OneTakenAllWanted", {80, "TCP", "10.0.0.1"}, {80, "TCP", "0.0.0.0"}, true},
        PortCase{"TheSameAddress", {80, "TCP", "10.0.0.1"}, {80, "TCP", "10.0.0.1"}, true},
        PortCase{"AnotherAddress", {80, "TCP", "10.0.0.1"}, {80, "TCP", "10.0.0.2"}, false},
        PortCase{
            "AllOfVersionSixIsAnAddressToKubeScheduler", {80, "TCP", "::"}, {80, "TCP", "10.0.0.1"}, false},
        PortCase{"AllOfVersionSixTaken", {80, "TCP", "::"}, {80, "TCP", "::"}, true},
        PortCase{"AllOfVersionSixWanted", {80, "TCP", "0.0.0.0"}, {80, "TCP", "::"}, true},
        PortCase{"AnOtherAddressOfTheNextProtocol", {80, "UDP", "10.0.0.1"}, {80, "TCP", "0.0.0.0"}, false}),
    [](const auto& info) { return std::string{info.param.name}; });

TEST(NodePorts, AreFreeAgainWhenTheLastPodThatTakesThemIsGone) {
  const model::NodeName a{"a"};
  const std::vector<model::HostPort> web{{80, "TCP", "0.0.0.0"}};
  Ledger l;
  testNode("a").addTo(l);
  const PodRequest wanted = portsOf(web);
  const auto taken = [&] { return refusalOf(stateOf(l, "a"), wanted) == saidOnly(Reason::HostPortsTaken); };
  const auto version = [&] { return stateOf(l, "a").versionFor(wanted); };
  const std::uint64_t before = version();
  Reservation reserved = l.reserve(a, model::Uid{"p"}, wanted, {});
  EXPECT_TRUE(taken());
  EXPECT_GT(version(), before) << "who remembers the node looks at it again";
  l.usePod(a, model::Uid{"p"}, Source::BoundPod, {}, 0, {}, web);
  l.usePod(a, model::Uid{"q"}, Source::BoundPod, {}, 0, {}, web);
  reserved.release();
  EXPECT_TRUE(taken());
  l.unusePod(a, model::Uid{"p"}, Source::BoundPod);
  EXPECT_TRUE(taken()) << "q was put there by somebody else";
  l.usePod(a, model::Uid{"q"}, Source::BoundPod, {}, 0, {}, {});
  EXPECT_FALSE(taken());
  EXPECT_TRUE(stateOf(l, "a").ports.empty());
}

TEST(NodeDeclaredFeatures, MustBeAllThatThePodNeeds) {
  PodRequest r;
  r.node_features = {"A", "B"};
  TestNode node = testNode("a");
  EXPECT_EQ(saysOf(node, r), saidOnly(Reason::MissesFeatures));
  node.node.features = {"A", "C"};
  EXPECT_EQ(saysOf(node, r), saidOnly(Reason::MissesFeatures));
  node.node.features = {"A", "B", "C"};
  EXPECT_EQ(saysOf(node, r), std::nullopt);
  Ledger l;
  testNode("a").addTo(l);
  const std::uint64_t before = stateOf(l, "a").facts_version;
  l.upsertNode(node.node);
  EXPECT_GT(stateOf(l, "a").facts_version, before);
  node.node.features = {"A"};
  node.cpu(1);
  r.resources.cpu_milli = 2;
  EXPECT_EQ(saysOf(node, r), saidOnly(Reason::InsufficientResource, "cpu")) << "as kube-scheduler's last one";
}

TEST(NodeResources, AreAllNamedThatAreTooFew) {
  Ledger l;
  testNode("a").cpu(1).memory(1).pods(0).resource("rdma/hca", 1).addTo(l);
  PodRequest hungry;
  hungry.resources = {2, 2, 1, {{"rdma/hca", 2}, {model::kNvidiaGpu, 1}}};
  EXPECT_EQ(shortOf(stateOf(l, "a"), hungry),
            (std::vector<Misfit>{{Reason::TooManyPods, "", 0, 0},
                                 {Reason::InsufficientResource, "cpu", 0, 0},
                                 {Reason::InsufficientResource, "memory", 0, 0},
                                 {Reason::InsufficientResource, "rdma/hca", 0, 0}}));
  EXPECT_EQ(refuseResources(stateOf(l, "a"), hungry), saidOnly(Reason::TooManyPods));
}

}  // namespace
}  // namespace gs::sched
