// The life of a machine, played again and again, each time with another call of its agent cut: refused, lost,
// or the last one of its process. In the end the status tells the machine as it is.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kapi/decode.h"
#include "test/world/one_node.h"

namespace gs::test {
namespace {

using namespace std::chrono_literals;
using How = sandbox::CallFault::How;

class AgentCuts : public OneNode {
 public:
  AgentCuts() : OneNode{{"GPU-0", "GPU-1", "GPU-2"}} {}
  void TestBody() override {}

  /// Returns how many calls its agents sent.
  int play(int cut, sandbox::CallFault fault) {
    world.agentWire().setJudge([this, cut, fault](sandbox::ReplicaId, const kapi::Call&) {
      return calls_++ == cut ? fault : sandbox::CallFault{};
    });
    startOne();
    world.create(claim("one", 1));
    for (const char* name : {"p", "q"}) {
      world.create(pod(name, "one"));
      EXPECT_TRUE(eventually([&] { return running(name); }));
    }
    world.run(6s);
    world.machines().failGpu("n", 2, 79);
    world.touch();
    world.run(6s);
    finish("p");
    world.run(6s);
    world.machines().setDevices("n", gpusOf({"GPU-1", "GPU-0", "GPU-2"}));
    world.touch();
    world.run(80s);
    return calls_;
  }
  void expectStatusIsRight() {
    const auto status = kapi::decodeGpuNodeStatus(world.get("/apis/gpu.scheduling/v1/gpunodestatuses/n"));
    std::string text;
    for (const auto& d : status.devices) {
      text += fmt::format("{}{} ", d.uuid, d.health == model::Health::Healthy ? "" : " sick");
      for (const auto& uid : d.in_use_by) { text += uid.text == uidOf("q") ? "q " : "somebody "; }
    }
    EXPECT_EQ(text, "GPU-1 q GPU-0 GPU-2 ");
    EXPECT_NE(status.observed_time, "");
    EXPECT_EQ(status.enforcement, model::Enforcement::Devices);
  }

 private:
  int calls_ = 0;
};

TEST(AgentCutPoints, WhereverAnAgentIsCutItsStatusComesRight) {
  int calls = 0;
  {
    AgentCuts uncut;
    calls = uncut.play(-1, {});
    uncut.expectStatusIsRight();
  }
  ASSERT_GT(calls, 10);
  const sandbox::CallFault faults[] = {{.how = How::Refused, .http = 409},
                                       {.how = How::Refused, .http = 500},
                                       {.how = How::LostBefore},
                                       {.how = How::LostAfter},
                                       {.how = How::Late, .delay = 3s},
                                       {.crash_before = true},
                                       {.crash_after = true}};
  for (int cut = 0; cut < calls; ++cut) {
    for (std::size_t how = 0; how < std::size(faults); ++how) {
      SCOPED_TRACE(fmt::format("call {} of {}, fault {}", cut, calls, how));
      AgentCuts world;
      world.play(cut, faults[how]);
      world.expectStatusIsRight();
      if (::testing::Test::HasFailure()) { return; }
    }
  }
}

}  // namespace
}  // namespace gs::test
