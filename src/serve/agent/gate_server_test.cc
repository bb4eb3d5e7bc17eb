// What a kubelet asks and is answered: rpc/csi_server_test.cc, csi/gate/gate_test.cc.
#include "serve/agent/gate_server.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/system_clock.h"
#include "base/temp_folder_test.h"

namespace gs::serve {
namespace {

namespace fs = std::filesystem;

class GateServerTest : public testing::Test {
 protected:
  GateServer make(const std::string& kubelet) {
    return GateServer{{.node = "node-a", .version = "1", .kubelet = kubelet},
                      [](const model::Uid&, const std::string&, const std::string&) { return Status{}; },
                      metrics_,
                      clock_};
  }
  const TempFolder folder_;
  const SystemClock clock_{};
  Metrics metrics_;
};

TEST_F(GateServerTest, TheKubeletFindsItWhileItIsServed) {
  fs::create_directories(folder_.path("plugins_registry"));
  const std::string socket = folder_.path("plugins_registry/gate.gpu.scheduling-reg.sock");
  GateServer server = make(folder_.path());
  server.changed();
  ASSERT_TRUE(server.start());
  EXPECT_TRUE(fs::is_socket(socket));
  EXPECT_FALSE(server.isRegistered());
  EXPECT_NE(metrics_.text().find("gpu_scheduler_agent_gate_registered 0"), std::string::npos);
  server.stop();
  EXPECT_FALSE(fs::exists(socket)) << "the kubelet forgets it then";
  server.stop();
  server.changed();
}

TEST_F(GateServerTest, WhereTheKubeletIsNotIsSaid) {
  GateServer nowhere = make(folder_.path("none"));
  EXPECT_EQ(nowhere.start().error().code, Code::Unavailable);
  GateServer relative = make("kubelet/");
  const Status done = relative.start();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::Invalid);
  EXPECT_NE(done.error().message.find("--kubelet-dir=kubelet/"), std::string::npos) << done.error().message;
}

}  // namespace
}  // namespace gs::serve
