// docs/reference/node-file.md: what its examples say is what is read.
#include <gtest/gtest.h>

#include "base/files.h"
#include "kapi/node_file.h"
#include "yaml/yaml.h"

namespace gs::test {
namespace {

/// What stands between the page's fences of this kind: "yaml", or "".
std::vector<std::string> blocksOf(const std::string& page, const std::string& kind) {
  std::vector<std::string> out;
  const std::string fence = "\n```";
  for (std::size_t at = page.find(fence); at != std::string::npos; at = page.find(fence, at)) {
    const auto line = page.find('\n', at + 1);
    const auto end = page.find(fence, line);
    const bool is_it = page.substr(at + fence.size(), line - at - fence.size()) == kind;
    if (is_it) { out.push_back(page.substr(line + 1, end - line - 1)); }
    at = end + fence.size();
  }
  return out;
}

Result<std::vector<kapi::SimNode>> nodesOf(const std::string& text) {
  const auto documents = yaml::toJson(text);
  if (!documents) { return tl::unexpected(documents.error()); }
  return kapi::readNodeFile(*json::parse(documents->at(0)));
}

class NodeFilePage : public ::testing::Test {
 protected:
  const std::string page = readFile("docs/reference/node-file.md").value_or("");
  const std::vector<std::string> examples = blocksOf(page, "yaml");
};

TEST_F(NodeFilePage, ItsExampleIsANodeFile) {
  ASSERT_EQ(examples.size(), 2U);
  const auto nodes = nodesOf(examples[0]);
  ASSERT_TRUE(nodes) << nodes.error().message;
  ASSERT_EQ(nodes->size(), 3U);
  const kapi::SimNode& dgx = nodes->at(0);
  EXPECT_EQ(dgx.labels.at("gpu-type"), "h100");
  EXPECT_EQ(dgx.taints, (std::vector<model::Taint>{{"dedicated", "training", "NoSchedule"}}));
  EXPECT_EQ(dgx.allocatable,
            (std::map<std::string, std::string>{
                {"cpu", "128"}, {"memory", "1Ti"}, {"pods", "110"}, {"ephemeral-storage", "1Ti"}}));
  ASSERT_EQ(dgx.devices.size(), 8U);
  EXPECT_EQ(dgx.devices[4].island, "1");
  EXPECT_EQ(dgx.devices[4].links, (std::vector<model::Link>{{3, 64}}));
  EXPECT_EQ(dgx.devices[7].health_reason, "XID 79");
  const kapi::SimNode& small = nodes->at(1);
  ASSERT_EQ(small.devices.size(), 1U);
  EXPECT_EQ(small.devices[0].model, "NVIDIA-L40S");
  EXPECT_EQ(small.devices[0].memory_mib, 46068);
  EXPECT_EQ(small.devices[0].bandwidth_gbps, 64);
  EXPECT_EQ(small.allocatable,
            (std::map<std::string, std::string>{
                {"cpu", "64"}, {"memory", "512Gi"}, {"pods", "110"}, {"ephemeral-storage", "1Ti"}}));
  EXPECT_TRUE(nodes->at(2).devices.empty());
}

TEST_F(NodeFilePage, TheTwoNodesThatThereAreWithoutAFile) {
  const auto nodes = nodesOf(examples.at(1));
  ASSERT_TRUE(nodes) << nodes.error().message;
  const auto built_in = kapi::defaultNodes();
  ASSERT_EQ(nodes->size(), built_in.size());
  for (std::size_t i = 0; i < built_in.size(); ++i) {
    EXPECT_EQ(json::print(kapi::encodeNode(nodes->at(i))), json::print(kapi::encodeNode(built_in[i])));
    EXPECT_EQ(nodes->at(i).devices, built_in[i].devices);
    EXPECT_EQ(nodes->at(i).enforcement, built_in[i].enforcement);
  }
}

TEST_F(NodeFilePage, TheErrorIsTheOneThatIsGiven) {
  std::string text = examples.at(0);
  const auto at = text.find("{id: 7,");
  ASSERT_NE(at, std::string::npos);
  text.replace(at, 7, "{id: 8,");
  const auto nodes = nodesOf(text);
  ASSERT_FALSE(nodes);
  EXPECT_EQ(blocksOf(page, ""), (std::vector<std::string>{nodes.error().message}));
}

}  // namespace
}  // namespace gs::test
