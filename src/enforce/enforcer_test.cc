#include "enforce/enforcer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "enforce/fixture_test.h"
#include "enforce/injection.h"

namespace gs::enforce {
namespace {

using fixture::containerOf;
using fixture::gpu;
using fixture::Node;
using fixture::Plugin;
using fixture::pluginGives;
using fixture::podOf;

NodeRecordPtr recordOf(const Node& node) { return std::make_shared<const NodeRecord>(node.record); }

Enforcer enforcerOf(const Node& node) {
  Enforcer out{node.facts};
  out.setIndex(std::make_shared<const cdi::Index>(node.index));
  out.setRecord(recordOf(node));
  return out;
}

std::uint64_t refusedFor(const Enforcer& enforcer, Reason reason) {
  return enforcer.counts().refused.at(static_cast<std::size_t>(reason));
}
std::uint64_t remarkedFor(const Enforcer& enforcer, Remark remark) {
  return enforcer.counts().remarked.at(static_cast<std::size_t>(remark));
}
std::uint64_t wrongFor(const Enforcer& enforcer, Wrong wrong) {
  return enforcer.counts().wrong.at(static_cast<std::size_t>(wrong));
}

rpc::nri::Container pickedBy(Plugin plugin, const Node& node, int id, const std::string& name) {
  auto out = containerOf(name);
  pluginGives(plugin, {node.device(gpu(id))}, out);
  return out;
}

TEST(Enforcer, KnowsNothingUntilARecordComes) {
  const Node node;
  Enforcer enforcer{node.facts};
  EXPECT_TRUE(enforcer.createContainer(podOf("p"), containerOf("c1")));
  EXPECT_FALSE(enforcer.createContainer(podOf("p"), pickedBy(Plugin::Envvar, node, 0, "c2")));
  EXPECT_FALSE(enforcer.createContainer(podOf("q", "node-a:0"), containerOf("c3")));
  EXPECT_EQ(enforcer.counts().answered, 3U);
  EXPECT_EQ(refusedFor(enforcer, Reason::UnknownDevice), 1U);
  EXPECT_EQ(refusedFor(enforcer, Reason::NotKnown), 1U);
  enforcer.setRecord(recordOf(node));
  EXPECT_TRUE(enforcer.createContainer(podOf("p"), pickedBy(Plugin::Envvar, node, 0, "c2")));
}

TEST(Enforcer, WhatAContainerHasIsFreeOnceItIsGone) {
  Node node{3};
  node.holds("holder", {gpu(0)});
  Enforcer enforcer = enforcerOf(node);
  const auto first = enforcer.createContainer(podOf("a"), pickedBy(Plugin::CdiCri, node, 0, "c1"));
  ASSERT_TRUE(first) << first.error().text;
  EXPECT_EQ(first->moves, (std::vector<Move>{{gpu(0), gpu(1)}}));
  const auto second = enforcer.createContainer(podOf("b"), pickedBy(Plugin::CdiCri, node, 0, "c2"));
  ASSERT_TRUE(second) << second.error().text;
  EXPECT_EQ(second->moves, (std::vector<Move>{{gpu(0), gpu(2)}}));
  EXPECT_EQ(enforcer.createContainer(podOf("c"), pickedBy(Plugin::CdiCri, node, 0, "c3")).error().reason,
            Reason::NoneFree);
  enforcer.removeContainer("c1");
  const auto third = enforcer.createContainer(podOf("c"), pickedBy(Plugin::CdiCri, node, 0, "c3"));
  ASSERT_TRUE(third) << third.error().text;
  EXPECT_EQ(third->moves, (std::vector<Move>{{gpu(0), gpu(1)}}));
  EXPECT_EQ(remarkedFor(enforcer, Remark::Moved), 3U);
  EXPECT_EQ(refusedFor(enforcer, Reason::NoneFree), 1U);
}

TEST(Enforcer, AContainerThatIsAskedForAgainTakesNothingFromItself) {
  Node node{2};
  node.holds("holder", {gpu(0)});
  Enforcer enforcer = enforcerOf(node);
  for (int i = 0; i < 3; ++i) {
    const auto planned = enforcer.createContainer(podOf("a"), pickedBy(Plugin::Envvar, node, 0, "c1"));
    ASSERT_TRUE(planned) << planned.error().text;
    EXPECT_EQ(planned->devices, (std::vector<model::DeviceId>{gpu(1)}));
  }
  EXPECT_EQ(enforcer.containers().size(), 1U);
}

TEST(Enforcer, ContainersThatWereThereBeforeUseTheirDevices) {
  Node node{3};
  node.holds("holder", {gpu(0)});
  Enforcer enforcer{node.facts};
  auto before = pickedBy(Plugin::Envvar, node, 1, "before");
  before.pod_sandbox_id = "sandbox-q";
  before.state = rpc::nri::ContainerState::Running;
  auto stopped = pickedBy(Plugin::Envvar, node, 2, "stopped");
  stopped.pod_sandbox_id = "sandbox-q";
  stopped.state = rpc::nri::ContainerState::Stopped;
  enforcer.synchronize({podOf("q")}, {before, stopped});
  EXPECT_EQ(enforcer.containers().size(), 0U) << "no device has a name yet";
  enforcer.setIndex(std::make_shared<const cdi::Index>(node.index));
  enforcer.setRecord(recordOf(node));
  EXPECT_EQ(enforcer.containers().size(), 1U);
  const auto planned = enforcer.createContainer(podOf("a"), pickedBy(Plugin::Envvar, node, 0, "c1"));
  ASSERT_TRUE(planned) << planned.error().text;
  EXPECT_EQ(planned->moves, (std::vector<Move>{{gpu(0), gpu(2)}}));
  enforcer.synchronize({}, {});
  EXPECT_EQ(enforcer.containers().size(), 0U);
}

TEST(Enforcer, FindsWhatStartedWhileNobodyAnswered) {
  Node node{3};
  node.holds("p", {gpu(0)});
  Enforcer enforcer = enforcerOf(node);
  auto wrong = pickedBy(Plugin::CdiCri, node, 0, "wrong");
  wrong.pod_sandbox_id = "sandbox-q";
  auto lacking = pickedBy(Plugin::CdiCri, node, 1, "lacking");
  lacking.pod_sandbox_id = "sandbox-p";
  enforcer.synchronize({podOf("q"), podOf("p", "node-a:0")}, {wrong, lacking});
  for (int i = 0; i < 2; ++i) {  // said each time, counted once
    const auto found = enforcer.audit();
    ASSERT_EQ(found.size(), 3U);
    EXPECT_EQ(found[0].container, "lacking");
    EXPECT_EQ(found[0].wrong, Wrong::HasMore);
    EXPECT_EQ(found[1].wrong, Wrong::LacksOwn);
    EXPECT_EQ(found[2].container, "wrong");
    EXPECT_EQ(found[2].wrong, Wrong::HasAnothers);
    EXPECT_EQ(wrongFor(enforcer, Wrong::HasAnothers), 1U);
    EXPECT_EQ(wrongFor(enforcer, Wrong::LacksOwn), 1U);
  }
}

TEST(Enforcer, WhatItGaveIsComparedWithTheRecordOfNow) {
  Node node{3};
  Enforcer enforcer = enforcerOf(node);
  ASSERT_TRUE(enforcer.createContainer(podOf("q"), pickedBy(Plugin::CdiCri, node, 1, "c1")));
  EXPECT_TRUE(enforcer.audit().empty());
  node.holds("p", {gpu(1)});
  enforcer.setRecord(recordOf(node));
  const auto found = enforcer.audit();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().wrong, Wrong::HasAnothers);
  enforcer.removeContainer("c1");
  EXPECT_TRUE(enforcer.audit().empty());
}

/// Files of CDI are looked at before the answers that depend on them: an answer that did and was not among
/// them would go by old files.
TEST(Enforcer, SaysForWhichContainersTheIndexCounts) {
  Node node{3};
  node.holds("holder", {gpu(0)});
  const Enforcer enforcer = enforcerOf(node);
  const auto needs = [&](const rpc::nri::PodSandbox& pod, const rpc::nri::Container& container) {
    return enforcer.needsIndex(pod, container);
  };
  EXPECT_FALSE(needs(podOf("q"), containerOf("c")));
  EXPECT_FALSE(needs(podOf("q"), containerOf("c", {"NVIDIA_VISIBLE_DEVICES=void", "A=1"})));
  EXPECT_TRUE(needs(podOf("holder"), containerOf("c"))) << "the record knows it";
  EXPECT_TRUE(needs(podOf("q", "node-a:1"), containerOf("c"))) << "it says so";
  EXPECT_TRUE(needs(podOf("q"), containerOf("c", {"NVIDIA_VISIBLE_DEVICES=all"})));
  EXPECT_TRUE(needs(podOf("q"), containerOf("c", {"NVIDIA_VISIBLE_DEVICES=GPU-nobody-knows"})));
  auto annotated = podOf("q");
  annotated.annotations["nvidia.cdi.k8s.io/container.main"] = "nvidia.com/gpu=0";
  EXPECT_TRUE(needs(annotated, containerOf("c")));
  for (const Plugin plugin : fixture::kPlugins) {
    EXPECT_TRUE(needs(podOf("q"), pickedBy(plugin, node, 1, "c"))) << fixture::nameOf(plugin);
  }
  node.record.by_driver = true;
  EXPECT_FALSE(enforcerOf(node).needsIndex(podOf("holder"), containerOf("c"))) << "nothing is changed there";
}

TEST(Enforcer, SaysWhichNodesOfTheHostAreToBeLookedAt) {
  const Node node{2};
  EXPECT_EQ(nodesToStat(node.record, node.index, true), (std::vector<std::string>{"/dev/kfd"}));
  EXPECT_EQ(nodesToStat(node.record, node.index, false),
            (std::vector<std::string>{"/dev/dri/renderD128", "/dev/dri/renderD129", "/dev/nvidia0",
                                      "/dev/nvidia1", "/dev/nvidiactl", "/dev/kfd"}));
}

/// The plugin does not know of it, and hands the device out again; a new process of ours reads it from the
/// container.
TEST(Enforcer, WhatWasLentIsKnownAfterARestart) {
  Node node;
  node.holds("holder", {gpu(0)});
  Enforcer before = enforcerOf(node);
  const auto planned = before.createContainer(podOf("q"), pickedBy(Plugin::CdiCri, node, 0, "c1"));
  ASSERT_TRUE(planned) << planned.error().text;
  ASSERT_EQ(planned->devices, (std::vector<model::DeviceId>{gpu(1)}));
  auto shown = pickedBy(Plugin::CdiCri, node, 1, "c1");  // by its runtime, later
  shown.pod_sandbox_id = "sandbox-q";
  shown.annotations = planned->adjustment.annotations;
  Enforcer after = enforcerOf(node);
  after.synchronize({podOf("q")}, {shown});
  const auto again = after.createContainer(podOf("p"), pickedBy(Plugin::CdiCri, node, 1, "c2"));
  ASSERT_TRUE(again) << again.error().text;
  EXPECT_EQ(again->moves, (std::vector<Move>{{gpu(1), gpu(2)}}));
}

/// A container goes on with the GPU that it got, whatever number that has later.
TEST(Enforcer, WhatItGaveIsKnownByUuid) {
  Node node;
  node.holds("holder", {gpu(0)});
  Enforcer enforcer = enforcerOf(node);
  ASSERT_TRUE(enforcer.createContainer(podOf("q"), pickedBy(Plugin::CdiCri, node, 0, "c1")));
  const auto has = [&] { return enforcer.containers().all().at("c1"); };
  EXPECT_EQ(has().devices, (std::vector<model::DeviceId>{gpu(1)}));
  NodeRecord silent = node.record;  // the driver lists nothing for a while
  silent.devices.clear();
  enforcer.setRecord(std::make_shared<const NodeRecord>(silent));
  EXPECT_EQ(enforcer.containers().size(), 0U);
  const auto found = enforcer.audit();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().wrong, Wrong::Unjudged);
  EXPECT_EQ(found.front().text,
            "container main of pod ns/q was given GPU-1, which the driver does not list now");
  NodeRecord moved = node.record;  // GPU-3 came before the others
  for (NodeDevice& device : moved.devices) { device.id.gpu = (device.id.gpu + 1) % 4; }
  enforcer.setRecord(std::make_shared<const NodeRecord>(moved));
  EXPECT_EQ(has().devices, (std::vector<model::DeviceId>{gpu(2)}));
  EXPECT_EQ(has().moves, (std::vector<Move>{{gpu(1), gpu(2)}}));
}

TEST(Enforcer, WhereThereIsNoRoomContainersWithoutGpusStart) {
  const Node node;
  Enforcer enforcer = enforcerOf(node);
  std::vector<rpc::nri::Container> many;
  for (std::size_t i = 0; i < Containers::kMost; ++i) { many.push_back(containerOf(std::to_string(i))); }
  enforcer.synchronize({}, many);
  EXPECT_TRUE(enforcer.createContainer(podOf("p"), containerOf("plain")));
  const auto refused = enforcer.createContainer(podOf("p"), pickedBy(Plugin::CdiCri, node, 1, "more"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, Reason::TooMany);
  EXPECT_EQ(enforcer.containers().size(), 0U);
  enforcer.removeContainer("7");
  EXPECT_TRUE(enforcer.createContainer(podOf("p"), pickedBy(Plugin::CdiCri, node, 1, "more")));
}

TEST(Enforcer, NamesOfReasonsAndRemarksAreDifferent) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kReasons; ++i) { names.emplace_back(reasonName(static_cast<Reason>(i))); }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  EXPECT_STREQ(reasonName(Reason::TooMany), "too_many");
  EXPECT_STREQ(remarkName(Remark::Untold), "untold");
  EXPECT_STREQ(wrongName(Wrong::Unjudged), "unjudged");
}

}  // namespace
}  // namespace gs::enforce
