// A kube-scheduler that looks at a pod that found no node again only when that pod changes: the extender
// wakes it when there is room (src/extender/grants/refusals.h).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "kapi/decode.h"
#include "sandbox/node/gpu_manager.h"
#include "sandbox/world/world.h"
#include "test/world/combined_replica.h"
#include "test/world/objects.h"

namespace gs::test {
namespace {

using namespace std::chrono_literals;
using json::Object;

/// One node with one GPU, given by gpu-manager. Param: the extender is in the scheduler's process.
class ExtenderWakes : public ::testing::TestWithParam<bool> {
 protected:
  ExtenderWakes() {
    world.kubelet().setPlugin("m", manager);
    world.create(gpuManagerNode("m", 1, 32));
    if (GetParam()) {
      replica = world.startReplica({}, combined());
    } else {
      replica = world.startExtender();
    }
    world.setListener([this](auto, extender::RequestId request_id, const extender::Answer& answer) {
      answers[request_id] = answer;
    });
    EXPECT_TRUE(world.runUntil([this] { return world.leadingExtender().has_value(); }, 30s));
  }
  static std::string path(const std::string& name, const char* sub = "") {
    return "/api/v1/namespaces/default/pods/" + name + sub;
  }
  std::string wakeOf(const std::string& name) {
    return std::string{world.get(path(name))["metadata"]["annotations"]["gpu.scheduling/wake"].str()};
  }
  bool runs(const std::string& name) { return world.get(path(name))["status"]["phase"].str() == "Running"; }
  void comes(const std::string& name) {
    world.create(vcudaPod(name, {{80, 8}}));
    seen[name] = "never";
    world.run(100ms);
  }
  void goes(const std::string& name) {
    seen.erase(name);
    (void)world.request("DELETE", path(name), Object{{"gracePeriodSeconds", 0}});
  }
  /// kube-scheduler asks about it, and binds it where that gets it a node.
  bool isPlaced(const std::string& name) {
    extender::Request q;
    q.verb = extender::Verb::Filter;
    q.pod = std::make_shared<const model::Pod>(kapi::decodePod(world.get(path(name))));
    world.ask(replica, ++last, std::move(q), {"m"});
    EXPECT_TRUE(world.runUntil([&] { return answers.contains(last); }, 10s));
    if (answers[last].kind != extender::Answer::Kind::Chosen) { return false; }
    (void)world.request("POST", path(name, "/binding"),
                        Object{{"apiVersion", "v1"},
                               {"kind", "Binding"},
                               {"metadata", Object{{"name", name}}},
                               {"target", Object{{"kind", "Node"}, {"name", "m"}}}});
    return true;
  }
  /// It looks at pods that it has not seen as they are.
  void schedule() {
    for (auto& [name, wake] : seen) {
      if (runs(name) || wakeOf(name) == wake) { continue; }
      wake = wakeOf(name);
      ++asked;
      (void)isPlaced(name);
    }
  }

  sandbox::World world{{.nodes = {}}};
  sandbox::GpuManager manager{world.api(), sandbox::GpuManager::Config{"m", 1, 32}, Rng{1}};
  sandbox::ReplicaId replica = 0;
  std::map<extender::RequestId, extender::Answer> answers;
  extender::RequestId last = 0;
  std::map<std::string, std::string> seen;  // the wake that its scheduler saw
  int asked = 0;
};

TEST_P(ExtenderWakes, APodIsWokenWhenAnotherOneWent) {
  comes("first");
  ASSERT_TRUE(isPlaced("first"));
  ASSERT_TRUE(world.runUntil([this] { return runs("first"); }, 10s));
  comes("p");
  ASSERT_FALSE(isPlaced("p"));
  world.run(30s);
  EXPECT_EQ(wakeOf("p"), "");
  goes("first");
  world.run(2s);
  EXPECT_NE(wakeOf("p"), "");
  EXPECT_TRUE(isPlaced("p"));
  EXPECT_TRUE(world.runUntil([this] { return runs("p"); }, 10s));
}

TEST_P(ExtenderWakes, OneAfterTheOtherAllOfThemRun) {
  constexpr int kPods = 12;
  for (int i = 0; i < kPods; ++i) { comes(fmt::format("p{}", i)); }
  int done = 0;
  for (int step = 0; step < 1'200 && done < kPods; ++step) {
    schedule();
    world.run(500ms);
    for (int i = 0; i < kPods; ++i) {
      const std::string name = fmt::format("p{}", i);
      if (!seen.contains(name) || !runs(name)) { continue; }
      goes(name);
      ++done;
    }
  }
  EXPECT_EQ(done, kPods);
  EXPECT_LE(asked, 6 * kPods) << "few of them in vain";
}

INSTANTIATE_TEST_SUITE_P(AloneAndCombined, ExtenderWakes, ::testing::Bool(),
                         [](const auto& combined) { return combined.param ? "Combined" : "Alone"; });

}  // namespace
}  // namespace gs::test
