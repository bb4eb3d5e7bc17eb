#include "serve/csi/flags.h"

#include <gtest/gtest.h>

#include <map>

namespace gs::serve {
namespace {

k8s::Surroundings surroundedBy(const std::map<std::string, std::string>& env) {
  k8s::Surroundings out;
  out.env = [env](std::string_view name) {
    const auto it = env.find(std::string{name});
    return it == env.end() ? std::nullopt : std::optional{it->second};
  };
  return out;
}

TEST(CsiFlags, TheNodeMustHaveAName) {
  const CsiFlags f;
  const auto none = f.server(surroundedBy({}), "1");
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("KUBE_NODE_NAME"), std::string::npos);
  const auto named = f.server(surroundedBy({{"KUBE_NODE_NAME", "Node-A"}}), "1");
  ASSERT_TRUE(named);
  EXPECT_EQ(named->node_id, "node-a") << "as its kubelet calls it";
  EXPECT_EQ(named->driver, "csi.gkm.io");
}

TEST(CsiFlags, TheEndpointIsTheFlagsOrTheEnvironments) {
  CsiFlags f;
  f.node_name = "node-a";
  EXPECT_EQ(f.server(surroundedBy({}), "1")->socket, "/var/lib/kubelet/plugins_registry/csi.gkm.io-reg.sock");
  EXPECT_EQ(f.server(surroundedBy({{"CSI_ENDPOINT", "unix:///csi/csi.sock"}}), "1")->socket, "/csi/csi.sock");
  f.endpoint = "unix:/a/b.sock";
  EXPECT_EQ(f.server(surroundedBy({{"CSI_ENDPOINT", "unix:///csi/csi.sock"}}), "1")->socket, "/a/b.sock");
  f.endpoint = "tcp://0.0.0.0:80";
  EXPECT_EQ(f.server(surroundedBy({}), "1").error().code, Code::Invalid);
}

TEST(CsiFlags, TheLimitIsASize) {
  CsiFlags f;
  EXPECT_EQ(f.mounts()->writable_limit, std::uint64_t{1} << 30);
  for (const char* bad : {"", "0", "-1Gi", "1Ki", "2Ti", "much"}) {
    f.writable_limit = bad;
    EXPECT_EQ(f.mounts().error().code, Code::Invalid) << bad;
  }
}

TEST(CsiFlags, ThePolicyIsAsAsked) {
  CsiFlags f;
  EXPECT_EQ(f.service().incompatible, csi::Incompatible::Warn);
  f.incompatible = "refuse";
  EXPECT_EQ(f.service().incompatible, csi::Incompatible::Refuse);
}

}  // namespace
}  // namespace gs::serve
