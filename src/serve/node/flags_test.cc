#include "serve/node/flags.h"

#include <gtest/gtest.h>
#include <sys/statvfs.h>

#include <filesystem>
#include <map>

namespace gs::serve {
namespace {

k8s::Surroundings with(std::map<std::string, std::string> variables) {
  k8s::Surroundings out;
  out.env = [variables = std::move(variables)](std::string_view name) -> std::optional<std::string> {
    const auto it = variables.find(std::string{name});
    if (it == variables.end()) { return std::nullopt; }
    return it->second;
  };
  return out;
}

TEST(CacheNodeFlags, TheNodeHasAName) {
  CacheNodeFlags f;
  EXPECT_NE(f.node(with({})).error().message.find("KUBE_NODE_NAME"), std::string::npos);
  EXPECT_EQ(f.node(with({{"KUBE_NODE_NAME", "a"}}))->text, "a");
  f.node_name = "B.Example";
  EXPECT_EQ(f.node(with({{"KUBE_NODE_NAME", "a"}}))->text, "b.example") << "as its kubelet calls it";
  f.node_name = "a_b";
  EXPECT_NE(f.node(with({})).error().message.find("--node-name: 'a_b' is no name of a Node"),
            std::string::npos);
}

TEST(CacheNodeFlags, SizesAndPathsThatAreNoneAreSaid) {
  CacheNodeFlags f;
  ASSERT_TRUE(f.keeper());
  f.quota = "200Gi";
  f.bandwidth = "100Mi";
  EXPECT_EQ(f.keeper()->reconciler.sweep.quota, std::uint64_t{200} << 30);
  EXPECT_EQ(f.keeper()->bytes_per_second, std::uint64_t{100} << 20);
  f.quota = "200GB";
  EXPECT_NE(f.keeper().error().message.find("--cache-quota=200GB"), std::string::npos);
  for (const char* part : {"0%", "101%", "%", "-1%", "1.5%", "5 %", "5%%"}) {
    f.quota = part;
    ASSERT_FALSE(f.keeper()) << part;
    EXPECT_NE(f.keeper().error().message.find("1% to 100%"), std::string::npos) << f.keeper().error().message;
  }
  f.quota = "-1";
  EXPECT_FALSE(f.keeper());
  f.quota = "0";
  f.inodes = "many";
  EXPECT_EQ(f.keeper().error().message,
            "--cache-inodes=many is no size: write 200Gi, say, or 0 for no limit");
  f.inodes = "0";
  EXPECT_EQ(f.keeper()->quota, cacherim::Room{});
  for (const char* path : {"", "var/lib", "/var/", "/a/../b", "/a//b", "/a/./b"}) {
    f.store = path;
    EXPECT_FALSE(f.keeper()) << path;
  }
}

TEST(CacheNodeFlags, AQuotaMayBeAPartOfTheStoresFileSystem) {
  CacheNodeFlags f;
  f.store = "/is/not/there/yet";
  const std::uint64_t all = std::filesystem::space("/").capacity;
  struct statvfs about {};
  ASSERT_EQ(::statvfs("/", &about), 0);
  EXPECT_EQ(f.keeper()->quota, (cacherim::Room{all / 100 * 25, about.f_files / 100 * 25}));
  f.quota = "100%";
  f.inodes = "50%";
  EXPECT_EQ(f.keeper()->reconciler.sweep.quota, all / 100 * 100);
  EXPECT_EQ(f.keeper()->reconciler.sweep.inode_quota, about.f_files / 100 * 50);
}

TEST(CacheNodeFlags, NoGpuIsLookedForWhereItSaysSo) {
  const CacheNodeFlags f;
  EXPECT_EQ(*f.gpus(model::NodeName{"a"}, with({{"NO_GPU", "true"}})), nullptr);
  EXPECT_NE(*f.gpus(model::NodeName{"a"}, with({{"NO_GPU", "yes"}})), nullptr);  // only that word counts
  CacheNodeFlags bad;
  bad.simulate = "/there/is/none";
  EXPECT_FALSE(bad.gpus(model::NodeName{"a"}, with({})));
}

}  // namespace
}  // namespace gs::serve
