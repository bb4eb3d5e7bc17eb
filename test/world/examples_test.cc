// Each manifest of examples/ does what it says, on the sandbox's two nodes.
#include "sandbox/serve/examples.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sandbox/world/world.h"
#include "yaml/yaml.h"

namespace gs::test {
namespace {

using namespace std::chrono_literals;

std::vector<std::string> names() {
  std::vector<std::string> out;
  for (const auto& [name, text] : sandbox::examples()) { out.push_back(name); }
  return out;
}

class Examples : public ::testing::TestWithParam<std::string> {};

TEST_P(Examples, AreAppliedAndTheirPodsRunOrAreToldWhyNot) {
  sandbox::World world{{.controllers = true, .classes = true}};
  world.startReplica();
  const auto documents = yaml::toJson(sandbox::examples().at(GetParam()));
  ASSERT_TRUE(documents.has_value()) << documents.error().message;
  for (const auto& text : *documents) { world.create(*json::parse(text)); }
  world.run(10s);
  int pods = 0;
  for (const auto& pod : world.get("/api/v1/pods")["items"].items()) {
    if (pod["spec"]["schedulerName"].str() != "gpu-scheduler") { continue; }
    ++pods;
    if (GetParam() == "too-many.yaml") {
      EXPECT_NE(json::print(pod["status"]).find("need 16 and the largest has 8"), std::string::npos)
          << json::print(pod);
    } else {
      EXPECT_EQ(pod["status"]["phase"].str(), "Running") << json::print(pod);
    }
  }
  EXPECT_GT(pods, 0);
}
INSTANTIATE_TEST_SUITE_P(Files, Examples, ::testing::ValuesIn(names()), [](const auto& info) {
  std::string name = info.param.substr(0, info.param.find('.'));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace gs::test
