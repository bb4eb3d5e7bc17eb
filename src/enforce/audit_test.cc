#include "enforce/audit.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "enforce/fixture_test.h"
#include "enforce/matters.h"

namespace gs::enforce {
namespace {

using fixture::gpu;
using fixture::Node;

std::vector<Mismatch> auditOf(const Node& node, const rpc::nri::PodSandbox& pod,
                              const rpc::nri::Container& container) {
  const DeviceTable table{node.record};
  const rpc::nri::Container kept = whatMatters(container);
  return audit(pod, kept, seen(kept, table, node.index, node.facts), node.record, node.facts);
}

rpc::nri::Container withNodesOf(const Node& node, const std::vector<model::DeviceId>& ids,
                                std::vector<std::string> env = {}) {
  auto out = fixture::containerOf("c1", std::move(env));
  for (const model::DeviceId id : ids) {
    for (const auto& one : fixture::nodesOf(node.device(id))) { fixture::putNode(one, out); }
  }
  fixture::putNode(fixture::nodeOf("/dev/nvidiactl", 195, 255), out);
  return out;
}

TEST(Audit, AContainerWithExactlyItsOwnIsFine) {
  Node node{4, true};
  node.holds("p", {gpu(1), {3, 0}});
  const auto container = withNodesOf(node, {gpu(1), {3, 0}}, {"CUDA_VISIBLE_DEVICES=GPU-1,MIG-3-0"});
  EXPECT_TRUE(auditOf(node, fixture::podOf("p", "node-a:1,3/0"), container).empty());
}

TEST(Audit, SaysWhatIsAnothersWhatIsMoreAndWhatLacks) {
  Node node;
  node.holds("p", {gpu(1)});
  node.holds("q", {gpu(2)});
  const auto found = auditOf(node, fixture::podOf("p", "node-a:1"), withNodesOf(node, {gpu(2), gpu(3)}));
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].wrong, Wrong::HasAnothers);
  EXPECT_EQ(found[0].devices, (std::vector<model::DeviceId>{gpu(2)}));
  EXPECT_EQ(found[0].text,
            "container main of pod ns/p has GPUs 2 of node node-a, which leases of other pods hold");
  EXPECT_EQ(found[1].wrong, Wrong::HasMore);
  EXPECT_EQ(found[1].devices, (std::vector<model::DeviceId>{gpu(3)}));
  EXPECT_EQ(found[2].wrong, Wrong::LacksOwn);
  EXPECT_EQ(found[2].devices, (std::vector<model::DeviceId>{gpu(1)}));
}

TEST(Audit, AForeignContainerMayHaveWhatNoLeaseHolds) {
  Node node;
  node.holds("q", {gpu(2)});
  EXPECT_TRUE(auditOf(node, fixture::podOf("p"), withNodesOf(node, {gpu(1)})).empty());
  const auto found = auditOf(node, fixture::podOf("p"), withNodesOf(node, {gpu(1), gpu(2)}));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().wrong, Wrong::HasAnothers);
  EXPECT_EQ(found.front().pod, model::Uid{"p"});
  EXPECT_EQ(found.front().container, "c1");
}

TEST(Audit, AVariableThatNamesAnothersIsSaid) {
  Node node;
  node.holds("q", {gpu(2)});
  for (const char* line :
       {"CUDA_VISIBLE_DEVICES=GPU-2", "NVIDIA_VISIBLE_DEVICES=GPU-2", "NVIDIA_VISIBLE_DEVICES=all"}) {
    const auto found = auditOf(node, fixture::podOf("p"), fixture::containerOf("c1", {line}));
    ASSERT_EQ(found.size(), 1U) << line;
    EXPECT_EQ(found.front().wrong, Wrong::ToldOthers) << line;
  }
  node.facts.is_nvidia_runtime = true;  // it gives what the variable names
  for (const char* line : {"NVIDIA_VISIBLE_DEVICES=GPU-2", "NVIDIA_VISIBLE_DEVICES=all", "CUDA_VERSION=12"}) {
    const auto found = auditOf(node, fixture::podOf("p"), fixture::containerOf("c1", {line}));
    ASSERT_FALSE(found.empty()) << line;
    EXPECT_EQ(found.front().wrong, Wrong::HasAnothers) << line;
  }
}

TEST(Audit, WhatCannotBeJudgedIsSaidAsSuch) {
  Node node{4, true};
  node.holds("q", {gpu(2)});
  const auto wrongOf = [&](const rpc::nri::PodSandbox& pod, const rpc::nri::Container& container) {
    const auto found = auditOf(node, pod, container);
    return found.size() == 1 ? wrongName(found.front().wrong) : "not one";
  };
  auto privileged = withNodesOf(node, {gpu(0), gpu(1), gpu(2)});
  fixture::makePrivileged(privileged);
  EXPECT_STREQ(wrongOf(fixture::podOf("p"), privileged), "unjudged");
  EXPECT_STREQ(wrongOf(fixture::podOf("late", "node-a:1"), fixture::containerOf("c1")), "unjudged");
  auto unknown = fixture::containerOf("c1");
  fixture::putNode(fixture::nodeOf("/dev/nvidia9", 195, 9), unknown);
  EXPECT_STREQ(wrongOf(fixture::podOf("p"), unknown), "unjudged");
  auto a_partition = fixture::containerOf("c1");
  fixture::putNode(fixture::nodeOf("/dev/nvidia0", 195, 0), a_partition);
  EXPECT_STREQ(wrongOf(fixture::podOf("p"), a_partition), "unjudged") << "of which nobody knows which";
  node.record.knows_pods = false;
  EXPECT_STREQ(wrongOf(fixture::podOf("p"), withNodesOf(node, {gpu(1)})), "unjudged");
}

TEST(Audit, ALeaseOfAnotherPodIsSeenThoughItsOwnRecordIsRefuted) {
  Node node;
  node.holds("p", {gpu(1)});
  node.record.held[gpu(1)] = model::Uid{"q"};
  const auto found = auditOf(node, fixture::podOf("p", "node-a:1"), withNodesOf(node, {gpu(1)}));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].wrong, Wrong::HasAnothers);
  EXPECT_EQ(found[1].wrong, Wrong::Unjudged);
}

TEST(Audit, DeadNodesStoppedContainersAndTrustedNamespacesAreFine) {
  Node node;
  node.holds("q", {gpu(2)});
  auto dead = fixture::containerOf("c1");
  dead.devices.push_back(deadNode("/dev/nvidia1"));
  EXPECT_TRUE(auditOf(node, fixture::podOf("p"), dead).empty());
  auto stopped = withNodesOf(node, {gpu(2)});
  stopped.state = rpc::nri::ContainerState::Stopped;
  EXPECT_TRUE(auditOf(node, fixture::podOf("p"), stopped).empty());
  node.facts.trusted_namespaces = {"ns"};
  EXPECT_TRUE(auditOf(node, fixture::podOf("p"), withNodesOf(node, {gpu(2)})).empty());
}

TEST(Audit, WhatAPluginsAnnotationAskedForIsNotWhatItHas) {
  Node node;
  node.holds("p", {gpu(1)});
  node.holds("q", {gpu(2)});
  auto container = withNodesOf(node, {gpu(1)});
  container.annotations["cdi.k8s.io/nvidia-device-plugin_1"] = "nvidia.com/gpu=GPU-2";
  EXPECT_TRUE(auditOf(node, fixture::podOf("p", "node-a:1"), container).empty());
}

TEST(Audit, WhatIsOnlyToldItsOwnIsNotFine) {
  Node node;
  node.holds("p", {gpu(1)});
  const auto container = fixture::containerOf("c1", {"NVIDIA_VISIBLE_DEVICES=GPU-1"});
  const auto found = auditOf(node, fixture::podOf("p", "node-a:1"), container);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().wrong, Wrong::Unjudged);
  node.facts.is_nvidia_runtime = true;
  EXPECT_TRUE(auditOf(node, fixture::podOf("p", "node-a:1"), container).empty());
}

TEST(Audit, WhereADriverPreparesTheGpusNobodyIsJudged) {
  Node node;
  node.holds("q", {gpu(2)});
  node.record.by_driver = true;
  EXPECT_TRUE(auditOf(node, fixture::podOf("p", "node-a:1"), withNodesOf(node, {gpu(2)})).empty());
}

}  // namespace
}  // namespace gs::enforce
