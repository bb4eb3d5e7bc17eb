#include "noderim/simulated_gpus.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/temp_folder_test.h"

namespace gs::noderim {
namespace {

class SimulatedGpusTest : public ::testing::Test {
 protected:
  void write(const std::string& text) { std::ofstream{path_} << text; }
  [[nodiscard]] std::string error() {
    const auto read = gpus_.read();
    return read ? "" : read.error().message;
  }

  TempFolder folder_;
  std::string path_ = folder_.path("nodes.yaml");
  SimulatedGpus gpus_{path_, model::NodeName{"n"}};
};

TEST_F(SimulatedGpusTest, AreReadAnewAtEachLook) {
  write("nodes:\n- name: other\n- name: n\n  gpus: {count: 2}\n");
  auto look = gpus_.look();
  ASSERT_TRUE(look);
  EXPECT_EQ(look->gpus.size(), 2U);
  EXPECT_EQ(look->driver_version, "simulated");
  write("nodes:\n- name: n\n  gpus: {count: 2, health: [{id: 1, health: Unhealthy, reason: XID 79}]}\n");
  look = gpus_.look();
  ASSERT_TRUE(look);
  EXPECT_EQ(look->gpus[1].health, model::Health::Unhealthy);
  EXPECT_EQ(look->gpus[1].reason, "XID 79");
}

TEST_F(SimulatedGpusTest, SayWhatIsWrong) {
  EXPECT_NE(error().find(path_), std::string::npos) << error();
  write("nodes:\n- name: a\n- name: b\n");
  EXPECT_EQ(error(), path_ + " has no node n; it has a, b; --node-name says which");
  write("nodes: []\n");
  EXPECT_EQ(error(), path_ + " has no node n; it has none; --node-name says which");
  write("nodes:\n- name: n\n  gpus: {count: x}\n");
  EXPECT_NE(error().find("gpus.count is"), std::string::npos) << error();
  write("nodes: [\n");
  EXPECT_NE(error().find(path_ + ": "), std::string::npos) << error();
  write("---\n{}\n---\n{}\n");
  EXPECT_EQ(error(), path_ + " has 2 documents; write one");
  const auto look = gpus_.look();
  ASSERT_FALSE(look);
  EXPECT_EQ(look.error().kind, agent::Fault::Kind::Failing);
}

}  // namespace
}  // namespace gs::noderim
