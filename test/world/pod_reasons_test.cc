// The reason of PodScheduled=False, by which autoscalers go: Unschedulable where a new node could help, and
// nowhere else (R34).
#include "test/world/cluster.h"

namespace gs::test {
namespace {

using namespace std::chrono_literals;

/// node-a has 4 GPUs, node-b 8.
class PodReasons : public Cluster {
 protected:
  PodReasons() { startOne(); }
  /// What it comes to be told.
  std::string reasonOf(const std::string& name) {
    EXPECT_TRUE(eventually([&] { return !podReason(name).empty(); })) << name;
    return podReason(name);
  }
  static json::Value onHost(json::Value pod, const char* host) {
    pod.child("spec").set("nodeSelector", json::Object{{"kubernetes.io/hostname", host}});
    return pod;
  }
};

TEST_F(PodReasons, FullNodesAreWhatANewOneHelps) {
  world.create(claim("four", 4));
  world.create(claim("eight", 8));
  world.create(pod("b", "eight"));  // first: two of four would both have room on node-b
  ASSERT_TRUE(eventually([&] { return nodeOf("b") == "node-b"; }));
  world.create(pod("a", "four"));
  ASSERT_TRUE(eventually([&] { return nodeOf("a") == "node-a"; }));
  world.create(pod("late", "four"));
  EXPECT_EQ(reasonOf("late"), "Unschedulable");
  world.create(pod("plain", "", 1));
  EXPECT_EQ(reasonOf("plain"), "Unschedulable");
  world.create(onHost(pod("pinned", "four"), "node-a"));
  EXPECT_EQ(reasonOf("pinned"), "WaitsForNode") << whyWaiting("pinned");
  finish("a");
  const auto any_came = [&] { return !(nodeOf("late") + nodeOf("plain") + nodeOf("pinned")).empty(); };
  EXPECT_TRUE(eventually(any_came));
}

TEST_F(PodReasons, WhatIsWrittenWrongNoNodeHelps) {
  world.create(pod("missing", "none"));
  EXPECT_EQ(reasonOf("missing"), "ClaimNotFound");
  world.create(claim("two", 2));
  world.create(pod("other-count", "two", 1));
  EXPECT_EQ(reasonOf("other-count"), "InvalidRequest") << whyWaiting("other-count");
  world.create(claim("many", 65));
  world.create(pod("too-many", "many"));
  EXPECT_EQ(reasonOf("too-many"), "InvalidRequest") << whyWaiting("too-many");
  EXPECT_NE(whyWaiting("too-many").find("need 65"), std::string::npos) << "in its message nodes say why";
  world.create(claim("most", 64));
  world.create(pod("very-many", "most"));
  EXPECT_EQ(reasonOf("very-many"), "Unschedulable") << whyWaiting("very-many");
}

/// The claim comes, and then the pod waits for a node.
TEST_F(PodReasons, AnotherOneIsSaidWhenItChanges) {
  world.create(pod("p", "late"));
  ASSERT_EQ(reasonOf("p"), "ClaimNotFound");
  world.create(claim("late", 16));
  EXPECT_TRUE(eventually([&] { return podReason("p") == "Unschedulable"; }, 10s)) << podReason("p");
}

TEST_F(PodReasons, AMapsNodeIsTheOneThatItNames) {
  json::Value mapped = pod("w-0", "");
  mapped.child("metadata").set("annotations", json::Object{{"gpu-scheduling-map", "0=node-x:0"}});
  world.create(mapped);
  EXPECT_EQ(reasonOf("w-0"), "WaitsForNode") << whyWaiting("w-0");
}

}  // namespace
}  // namespace gs::test
