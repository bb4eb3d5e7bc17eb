#include "sched/volumes/volume_ask.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace gs::sched {
namespace {

using Op = model::NodeRequirement::Op;

model::NodeTerm where(const char* label, Op op, std::vector<std::string> values) {
  return {{{label, op, std::move(values)}}, {}};
}

VolumeAsk bound(std::vector<model::NodeTerm> terms) {
  BoundVolume volume;
  volume.is_there = true;
  volume.affinity = {true, std::move(terms)};
  VolumeAsk ask;
  ask.bound.push_back(std::move(volume));
  return ask;
}

TEST(VolumeAskOfNewNodes, IsMetByOneThatReachesTheVolumes) {
  EXPECT_EQ(keptFromNewNodes({}), std::nullopt);
  EXPECT_EQ(keptFromNewNodes(bound({where("topology.kubernetes.io/zone", Op::In, {"west"})})), std::nullopt);
  EXPECT_EQ(keptFromNewNodes(bound({where(model::kHostnameLabel, Op::NotIn, {"a"})})), std::nullopt);
  VolumeAsk anywhere = bound({});
  anywhere.bound.front().affinity.is_required = false;
  EXPECT_EQ(keptFromNewNodes(anywhere), std::nullopt);
  VolumeAsk late;
  late.late.emplace_back();
  EXPECT_EQ(keptFromNewNodes(late), std::nullopt) << "its volume is made where the pod comes";
}

TEST(VolumeAskOfNewNodes, IsNotMetWhereTheVolumeIsOnANode) {
  const auto on_a = where(model::kHostnameLabel, Op::In, {"a"});
  EXPECT_EQ(keptFromNewNodes(bound({on_a})), PodReason::WaitsForNode);
  EXPECT_EQ(keptFromNewNodes(bound({on_a, on_a})), PodReason::WaitsForNode);
  EXPECT_EQ(keptFromNewNodes(bound({on_a, where("zone", Op::Exists, {})})), std::nullopt)
      << "or in a zone, where nodes may come";
  EXPECT_EQ(keptFromNewNodes(bound({})), PodReason::WaitsForNode) << "no node at all reaches it";
  VolumeAsk chosen;
  chosen.late.emplace_back();
  chosen.late.front().selected_node = model::NodeName{"a"};
  EXPECT_EQ(keptFromNewNodes(chosen), PodReason::WaitsForNode) << "where it is being made";
}

TEST(VolumeAskOfNewNodes, IsNotMetWhereNoNodeCan) {
  VolumeAsk gone = bound({});
  gone.bound.front().is_there = false;
  EXPECT_EQ(keptFromNewNodes(gone), PodReason::VolumeNotReady);
  VolumeAsk in_use;
  in_use.in_use = {{"default", "c"}};
  EXPECT_EQ(keptFromNewNodes(in_use), PodReason::WaitsForPod);
}

}  // namespace
}  // namespace gs::sched
