// What the API server refuses to some, or asks to wait for, harms nobody else.
#include <unistd.h>

#include "base/deadline_test.h"
#include "kapi/kinds.h"
#include "test/world/one_node.h"

namespace gs::test {
namespace {

using namespace std::chrono_literals;

// ---- the sandbox's own writes

/// A machine whose Node no API server takes.
struct BadLabel : ::testing::Test {
  BadLabel() {
    options.nodes.front().labels["a b"] = "c";
    options.on_refused = [this](const kapi::Log& log) {
      for (const auto& [key, value] : log.fields) { said.push_back(log.message + " " + key + ": " + value); }
    };
  }
  sandbox::World::Options options;
  std::vector<std::string> said;
};

TEST_F(BadLabel, IsSaidOnce) {
  sandbox::World world{options};
  world.run(60s);
  ASSERT_EQ(said.size(), 2U);
  EXPECT_EQ(said[0], "refused request: POST /api/v1/nodes");
  EXPECT_TRUE(said[1].starts_with("refused error: Node \"node-a\" is invalid: metadata.labels")) << said[1];
}

// ---- a cluster without GpuNodeStatus: the kubelet's device plugin alone

/// No CRDs, or a role that may not list the statuses.
struct NoStatuses : Cluster, ::testing::WithParamInterface<bool> {
  static sandbox::World::Options options() {
    sandbox::World::Options o;
    o.crds = GetParam();
    o.agents = false;
    return o;
  }
  NoStatuses() : Cluster{options()} {}
};

TEST_P(NoStatuses, AForceDeletedGpuPodCausesNoCallsForEver) {
  int lists = 0;
  world.setJudge([&](sandbox::ReplicaId, const kapi::Call& call) -> sandbox::CallFault {
    if (call.kind != kapi::kGpuNodeStatus) { return {}; }
    lists += kapi::tokenOwner(call.token) == 0 ? 1 : 0;  // neither the watch's nor the initial sync's
    return {.how = GetParam() ? sandbox::CallFault::How::Refused : sandbox::CallFault{}.how, .http = 403};
  });
  world.startReplica();
  world.run(5s);
  json::Value theirs = pod("theirs", "", 1);
  theirs.child("spec").set("schedulerName", "default-scheduler");
  theirs.child("spec").set("nodeName", "node-a");
  world.create(theirs);
  world.run(5s);
  deletePod("theirs", true);
  world.run(60s);
  lists = 0;
  world.run(60s);
  EXPECT_LE(lists, GetParam() ? 12 : 0);
}
INSTANTIATE_TEST_SUITE_P(Forbidden, NoStatuses, ::testing::Bool());

// ---- a webhook that is down means a few pods only, and others of their namespace do not match it

struct OneNamespace : Cluster {
  OneNamespace() { startOne(); }
};

TEST_F(OneNamespace, PodsThatCannotBeWrittenDoNotKeepOthersOfTheirNamespaceWaiting) {
  world.setJudge([&](sandbox::ReplicaId, const kapi::Call& call) -> sandbox::CallFault {
    const bool write = call.leader_only && call.kind == kapi::kPod && call.key.name.starts_with("bad");
    if (!write) { return {}; }
    return {sandbox::CallFault::How::Refused, 500, {}, false, false};
  });
  world.create(claim("one", 1));
  for (int i = 0; i < 6; ++i) { world.create(pod("bad" + std::to_string(i), "one")); }
  world.run(10s);
  world.create(pod("good", "one"));
  EXPECT_TRUE(eventually([&] { return !nodeOf("good").empty(); }, 120s)) << "12 GPUs, 8 of them free";
}

// ---- one pod's webhook answers 429 and "in an hour"

struct OneGpu : OneNode {
  OneGpu() : OneNode{{"GPU-0"}} {}
};

TEST_F(OneGpu, IsOthersWhileAPodWaitsForAnHour) {
  world.setJudge([&](sandbox::ReplicaId, const kapi::Call& call) -> sandbox::CallFault {
    if (call.subresource != "binding" || call.key.name != "bad") { return {}; }
    return {.how = sandbox::CallFault::How::Refused, .http = 429, .retry_after = 1h, .is_status = true};
  });
  startOne();
  world.create(claim("one", 1));
  world.create(pod("bad", "one"));
  world.run(5s);
  world.create(pod("good", "one"));
  EXPECT_TRUE(eventually([&] { return !nodeOf("good").empty(); }, 5min));
}

// ---- one kind may not be listed (a role that lacks it) for over five minutes, and a GPU pod ends meanwhile

struct Unlisted : OneNode {
  Unlisted() : OneNode{{"GPU-0"}, false} {}
};

TEST_F(Unlisted, TheDecidingThreadGoesOn) {
  world.setJudge([&](sandbox::ReplicaId, const kapi::Call& call) -> sandbox::CallFault {
    if (call.kind != kapi::kGpuClaim) { return {}; }
    return {.how = sandbox::CallFault::How::Refused, .http = 403};
  });
  world.startReplica();
  json::Value theirs = pod("theirs", "", 1);
  theirs.child("spec").set("schedulerName", "default-scheduler");
  theirs.child("spec").set("nodeName", "n");
  world.create(theirs);
  world.run(5s);
  deletePod("theirs");
  EXPECT_EXIT(
      {
        const Deadline deadline{"six minutes of this world pass"};
        world.run(6min);
        _exit(0);
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace gs::test
