#include "sched/request/request.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <utility>

#include "sched/ledger/test_nodes.h"

namespace gs::sched {
namespace {

using NodeOp = model::NodeRequirement::Op;

/// With something in each field.
PodRequest full() {
  PodRequest r = testClaim(2);
  r.devices->prefer_ids = {1, 2};
  r.devices->exact = {4, 5};
  r.devices->topology = model::TopologyMode::Ignore;
  r.shares = {{1, 0, 0}, {0, 500, 256}};
  r.gang = "ml/gang";
  r.on_node = "node1";
  r.quota = QuotaBound{"ml", 1'000, {}};
  r.resources = {1'000, 1'024, 64, {{"example.com/nic", 1}}};
  r.node_selector = {{"zone", "east"}};
  r.node_affinity = {
      true, {{{{"zone", NodeOp::In, {"east"}}}, {}}}, {{5, {{{"rack", NodeOp::Exists, {}}}, {}}}}};
  r.host_ports = {{80, "TCP", "0.0.0.0"}};
  r.node_features = {"Sleeps"};
  r.match_labels = {{"gpu-type", "a100"}};
  r.tolerations = {{"team", "research", "NoSchedule", false}};
  r.kept_away_by = {7};
  r.not_on = {model::NodeName{"node-a"}};
  return r;
}

struct Change {
  const char* name;
  std::function<void(PodRequest&)> make;
};
class RequestHash : public ::testing::TestWithParam<Change> {};
TEST_P(RequestHash, IsAnotherWhereThatFieldIs) {
  PodRequest other = full();
  GetParam().make(other);
  ASSERT_NE(other, full());
  EXPECT_NE(hashOf(other), hashOf(full()));
}
#define GS_CHANGE(name, ...)                   \
  Change {                                     \
#name, [](PodRequest & r) { __VA_ARGS__; } \
  }
INSTANTIATE_TEST_SUITE_P(
    Table, RequestHash,
    ::testing::Values(
        GS_CHANGE(NoDoor, r.door = nullptr), GS_CHANGE(PlainDoor, r.door = &kPlainDoor),
        GS_CHANGE(NoDevices, r.devices.reset()), GS_CHANGE(Count, r.devices->count = 3),
        GS_CHANGE(Policy, r.devices->policy = model::Policy::Spread),
        GS_CHANGE(PreferredId, r.devices->prefer_ids = {1, 3}),
        GS_CHANGE(PreferredOrder, r.devices->prefer_ids = {2, 1}),
        GS_CHANGE(PreferredCount, r.devices->prefer_ids = {1}), GS_CHANGE(ExactId, r.devices->exact = {4, 6}),
        GS_CHANGE(NoExactId, r.devices->exact.clear()),
        GS_CHANGE(PreferredIsNotExact, std::swap(r.devices->prefer_ids, r.devices->exact)),
        GS_CHANGE(OnNode, r.on_node = "node2"), GS_CHANGE(OnAnyNode, r.on_node.clear()),
        GS_CHANGE(Shared, r.devices->shared = true), GS_CHANGE(MaxSharers, r.devices->max_sharers = 3),
        GS_CHANGE(NoTopology, r.devices->topology.reset()),
        GS_CHANGE(Topology, r.devices->topology = model::TopologyMode::Required),
        GS_CHANGE(MinBandwidth, r.devices->min_bandwidth_gbps = 300),
        GS_CHANGE(ShareWhole, r.shares[0].whole = 2), GS_CHANGE(ShareMilli, r.shares[1].milli = 501),
        GS_CHANGE(ShareMib, r.shares[1].mib = 512), GS_CHANGE(ShareCount, r.shares.pop_back()),
        GS_CHANGE(ShareOrder, std::swap(r.shares[0], r.shares[1])),
        GS_CHANGE(OnlyCertain, r.only_certain = false), GS_CHANGE(Gang, r.gang = "ml/other"),
        GS_CHANGE(TooManyResults, r.too_many_results = 40), GS_CHANGE(NoQuota, r.quota.reset()),
        GS_CHANGE(QuotaNamespace, r.quota->ns = "web"), GS_CHANGE(QuotaMilli, r.quota->milli = 2'000),
        GS_CHANGE(Cpu, r.resources.cpu_milli = 1'001), GS_CHANGE(Memory, r.resources.memory = 1'025),
        GS_CHANGE(Ephemeral, r.resources.ephemeral = 65),
        GS_CHANGE(ExtendedAmount, r.resources.extended["example.com/nic"] = 2),
        GS_CHANGE(ExtendedName, r.resources.extended = {{"example.com/fpga", 1}}),
        GS_CHANGE(ExtendedCount, r.resources.extended["example.com/fpga"] = 0),
        GS_CHANGE(SelectorKey, r.node_selector = {{"rack", "east"}}),
        GS_CHANGE(SelectorValue, r.node_selector["zone"] = "west"),
        GS_CHANGE(SelectorCount, r.node_selector["rack"] = "1"),
        GS_CHANGE(MatchKey, r.match_labels = {{"gpu", "a100"}}),
        GS_CHANGE(MatchValue, r.match_labels["gpu-type"] = "h100"),
        GS_CHANGE(SelectorIsNoMatch, std::swap(r.node_selector, r.match_labels)),
        GS_CHANGE(TolerationKey, r.tolerations[0].key = "user"),
        GS_CHANGE(TolerationValue, r.tolerations[0].value = "web"),
        GS_CHANGE(TolerationEffect, r.tolerations[0].effect = "NoExecute"),
        GS_CHANGE(TolerationExists, r.tolerations[0].exists = true),
        GS_CHANGE(TolerationThan, r.tolerations[0].than = model::Toleration::Than::Below),
        GS_CHANGE(AffinityKey, r.node_affinity.required[0].labels[0].key = "rack"),
        GS_CHANGE(AffinityOp, r.node_affinity.required[0].labels[0].op = NodeOp::NotIn),
        GS_CHANGE(AffinityValue, r.node_affinity.required[0].labels[0].values = {"west"}),
        GS_CHANGE(AffinityValues, r.node_affinity.required[0].labels[0].values = {"east", "west"}),
        GS_CHANGE(AffinityTerms, r.node_affinity.required.emplace_back()),
        GS_CHANGE(AffinityField, r.node_affinity.required[0].fields = {{"metadata.name", NodeOp::In, {"a"}}}),
        GS_CHANGE(AffinityLabelIsNoField,
                  std::swap(r.node_affinity.required[0].labels, r.node_affinity.required[0].fields)),
        GS_CHANGE(AffinityNotRequired, r.node_affinity.is_required = false),
        GS_CHANGE(PreferredWeight, r.node_affinity.preferred[0].weight = 6),
        GS_CHANGE(PreferredTerm, r.node_affinity.preferred[0].term.labels[0].key = "row"),
        GS_CHANGE(NothingPreferred, r.node_affinity.preferred.clear()),
        GS_CHANGE(Port, r.host_ports[0].port = 81), GS_CHANGE(PortProtocol, r.host_ports[0].protocol = "UDP"),
        GS_CHANGE(PortIp, r.host_ports[0].ip = "10.0.0.1"), GS_CHANGE(PortCount, r.host_ports.clear()),
        GS_CHANGE(Feature, r.node_features = {"Wakes"}), GS_CHANGE(NoFeature, r.node_features.clear()),
        GS_CHANGE(TolerationCount, r.tolerations.clear()), GS_CHANGE(KeptAway, r.kept_away_by = {8}),
        GS_CHANGE(KeptAwayCount, r.kept_away_by = {7, 8}),
        GS_CHANGE(NotOn, r.not_on = {model::NodeName{"node-b"}}), GS_CHANGE(NotOnCount, r.not_on.clear()),
        GS_CHANGE(KeptOff, r.kept_off = {model::NodeName{"node-a"}})),
    [](const auto& info) { return std::string{info.param.name}; });

TEST(RequestHashOf, WhatIsWishedOfOtherPodsMakesAnotherRequest) {
  NearRules rules;
  rules.ns = "ml";
  rules.preferred = {{5, {"zone", {"ml"}, std::nullopt, model::LabelSelector{}}}};
  rules.spread_anyway.emplace_back().topology_key = "zone";
  rules.liked_by = {7};
  const auto with = [](NearRules of) {
    PodRequest r = full();
    r.near.rules = std::make_shared<const NearRules>(std::move(of));
    return r;
  };
  EXPECT_EQ(with(rules), with(rules));
  EXPECT_EQ(hashOf(with(rules)), hashOf(with(rules)));
  const auto differs = [&](const auto& change) {
    NearRules other = rules;
    change(other);
    EXPECT_NE(with(other), with(rules));
    EXPECT_NE(hashOf(with(other)), hashOf(with(rules)));
  };
  differs([](NearRules& r) { r.preferred.front().weight = -5; });
  differs([](NearRules& r) { r.preferred.front().term.topology_key = "rack"; });
  differs([](NearRules& r) { r.preferred.clear(); });
  differs([](NearRules& r) { r.spread_anyway.front().max_skew = 3; });
  differs([](NearRules& r) { std::swap(r.spread, r.spread_anyway); });
  differs([](NearRules& r) { r.liked_by = {8}; });
}

/// One namespace may say very many rules that are alike: those with one hash are compared one by one.
TEST(RequestHashOf, WhichNodesCountForSpreadMakesOtherRules) {
  NearRules rules;
  rules.ns = "ml";
  rules.spread.emplace_back().topology_key = "zone";
  rules.node_selector = {{"disk", "ssd"}};
  rules.has_node_terms = true;
  rules.node_terms = {{{{"rack", NodeOp::In, {"r1"}}}, {}}};
  rules.tolerations = {{"team", "a", "NoSchedule", false}};
  const auto differs = [&](const auto& change) {
    NearRules other = rules;
    change(other);
    EXPECT_NE(other, rules);
    EXPECT_NE(hashOf(other), hashOf(rules));
  };
  differs([](NearRules& r) { r.spread.front().honors_affinity = false; });
  differs([](NearRules& r) { r.spread.front().honors_taints = true; });
  differs([](NearRules& r) { r.node_selector["disk"] = "hdd"; });
  differs([](NearRules& r) { r.has_node_terms = false; });
  differs([](NearRules& r) { r.node_terms.front().labels.front().values = {"r2"}; });
  differs([](NearRules& r) { r.node_terms.front().labels.front().op = NodeOp::NotIn; });
  differs([](NearRules& r) { std::swap(r.node_terms.front().labels, r.node_terms.front().fields); });
  differs([](NearRules& r) { r.tolerations.front().value = "b"; });
}

TEST(RequestHashOf, EqualRequestsHaveOne) {
  PodRequest used = full();
  used.quota->terms.models = {"V100"};
  ASSERT_EQ(used, full()) << "what is left of a quota makes no other request";
  EXPECT_EQ(hashOf(used), hashOf(full()));
}

}  // namespace
}  // namespace gs::sched
