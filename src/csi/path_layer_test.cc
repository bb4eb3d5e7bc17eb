// Paths that are right where each pod has a cache.
#include "csi/path_layer.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "base/hash.h"
#include "cacherim/node/mount_paths.h"
#include "cacherim/registry/registry_fixture_test.h"
#include "csi/node_fixture_test.h"

namespace gs::csi {
namespace {

constexpr const char* kGroup = "K/__grp__add.json";

std::string groupAt(const std::string& root) {
  return R"({"child_paths":{"add.ttir":")" + root + R"(/K/add.ttir"}})";
}

class PathLayerTest : public ::testing::Test {
 protected:
  PathLayerTest() {
    machine_.extract(kVectors, "i1");
    const std::string root = cacherim::treeRootBelow(machine_.store(), imageNamed("i1"));
    write(root, kGroup, groupAt("/cache"));
    write(root, "K/add.ttir", "x");
    std::ofstream{root + "/../record.json"} << cacherim::printTree(
        {.image = imageNamed("i1"), .layers = {}, .extras = {}, .paths = {{kGroup, sum_}}});
    root_ = net::Fd{::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  }
  static void write(const std::string& root, const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path{root + "/" + path}.parent_path());
    std::ofstream{root + "/" + path} << text;
  }
  /// A driver that can wait.
  NodeService& service() {
    if (!service_) {
      service_.emplace(NodeService::Options{.store = machine_.store(),
                                            .usage = machine_.usage(),
                                            .target_root = FakeMounts::kRoot,
                                            .lock_limit = std::chrono::milliseconds{0},
                                            .clock = &clock_},
                       *cacherim::Usage::open(machine_.usage(), cacherim::Disk{{}, false}), machine_.mounts,
                       &pause_);
    }
    return *service_;
  }
  void tell(const kcache::MountPaths& paths) {
    static_cast<void>(service());
    ASSERT_TRUE(
        cacherim::writeMountPaths(machine_.usage(), paths, clock_.now().mono, cacherim::Disk{{}, false}));
  }
  /// What is logged meanwhile.
  std::string loggedBy(const rpc::PublishRequest& request) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(mountedBy(request), "");
    return testing::internal::GetCapturedStderr();
  }
  /// The group file's text above the tree; "" there is none.
  std::string mountedBy(const rpc::PublishRequest& request) {
    const Status done = service().publish(request);
    EXPECT_TRUE(done) << done.error().message;
    const auto& paths = machine_.mounts.top(request.target_path)->paths;
    const auto file = paths.find(kGroup);
    return file == paths.end() ? "" : file->second;
  }

  const std::string sum_ = sha256Hex(groupAt("/cache"));
  NodeMachine machine_;
  net::Fd root_;
  ManualClock clock_;
  cacherim::NoPause pause_{clock_};
  std::optional<NodeService> service_;
};

TEST_F(PathLayerTest, HasTheFilesThatAreOtherwiseThere) {
  const PathLayer other = pathLayerOf(root_, {{kGroup, ""}, {"K/add.ttir", ""}}, "/home/vllm");
  EXPECT_EQ(other.files, (std::map<std::string, std::string>{{kGroup, groupAt("/home/vllm")}}));
  EXPECT_EQ(other.bytes(), groupAt("/home/vllm").size());
  EXPECT_EQ(other.left_out, 0U);
  const PathLayer same = pathLayerOf(root_, {{kGroup, sum_}}, "/cache");
  EXPECT_TRUE(same.files.empty()) << "the tree's own are right";
}

TEST_F(PathLayerTest, WhatIsNoFileOrTooLargeStaysAndCounts) {
  const std::string root = cacherim::treeRootBelow(machine_.store(), imageNamed("i1"));
  std::filesystem::create_symlink("/etc/passwd", root + "/K/__grp__link.json");
  write(root, "K/__grp__large.json", groupAt("/" + std::string(2 << 20, 'a')));
  const PathLayer layer = pathLayerOf(
      root_,
      {{"K/__grp__link.json", ""}, {"K/__grp__large.json", ""}, {"gone/__grp__a.json", ""}, {kGroup, ""}},
      "/x");
  EXPECT_EQ(layer.left_out, 3U);
  EXPECT_EQ(layer.files.size(), 1U);
}

// Both are free for who packs an image, since equal files are stored once.
TEST_F(PathLayerTest, NoMoreThanItsLimitsIsReadOrWritten) {
  const std::string root = cacherim::treeRootBelow(machine_.store(), imageNamed("i1"));
  std::map<std::string, std::string> large;
  for (int i = 0; i < 40; ++i) {
    const auto one = large.emplace("L" + std::to_string(i) + "/__grp__a.json", "").first;
    write(root, one->first, R"({"child_paths":{"a":"/cache/L/a"},"x":")" + std::string(900'000, 'x') + "\"}");
  }
  const PathLayer of_large = pathLayerOf(root_, large, "/other");
  EXPECT_LE(of_large.bytes(), kMostOfAPathLayer);
  EXPECT_EQ(of_large.left_out + of_large.files.size(), 40U);
  std::map<std::string, std::string> small;
  for (int i = 0; i < 3000; ++i) {
    const auto one = small.emplace("S/__grp__" + std::to_string(i) + ".json", "").first;
    write(root, one->first, groupAt("/cache"));
  }
  const PathLayer of_small = pathLayerOf(root_, small, "/other");
  EXPECT_EQ(of_small.files.size(), kMostFilesOfAPathLayer);
  EXPECT_EQ(of_small.left_out, 3000 - kMostFilesOfAPathLayer);
  std::map<std::string, std::string> same;  // nothing in them is to be changed
  for (int i = 0; i < 6000; ++i) {
    const auto one = same.emplace("S/" + std::to_string(i) + ".ttir", "").first;
    std::filesystem::create_hard_link(root + "/K/add.ttir", root + "/" + one->first);
  }
  EXPECT_GT(pathLayerOf(root_, same, "/other").left_out, 1'900U) << "reading has a limit too";
}

TEST_F(PathLayerTest, NothingIsMadeOfADamagedFileWhichTheAgentMends) {
  const std::string root = cacherim::treeRootBelow(machine_.store(), imageNamed("i1"));
  write(root, kGroup, groupAt("/cache/!"));
  const PathLayer layer = pathLayerOf(root_, {{kGroup, sum_}, {"K/add.ttir", ""}}, "/other");
  EXPECT_TRUE(layer.files.empty());
  EXPECT_EQ(layer.damaged, 1U);
  EXPECT_EQ(layer.left_out, 0U);
  tell({{"u1", {.volumes = {{"kernels", "/other"}}}}, {"u2", {.volumes = {{"kernels", "/other"}}}}});
  EXPECT_NE(loggedBy(machine_.request("u1", "kernels")).find("damaged"), std::string::npos);
  write(root, kGroup, groupAt("/cache"));
  EXPECT_EQ(mountedBy(machine_.request("u2", "kernels", true)), groupAt("/other"));
}

TEST_F(PathLayerTest, EachPodHasPathsOfWhereItHasTheCache) {
  tell({{"u1", {.volumes = {{"kernels", "/home/vllm/.cache/vllm"}}}},
        {"u2", {.volumes = {{"kernels", "/cache"}}}}});
  EXPECT_EQ(mountedBy(machine_.request("u1", "kernels")), groupAt("/home/vllm/.cache/vllm"));
  EXPECT_EQ(mountedBy(machine_.request("u2", "kernels", true)), "") << "as the tree has it";
  EXPECT_TRUE(pause_.waits.empty());
}

TEST_F(PathLayerTest, WhatTheAttributeSaysGoesFirst) {
  tell({{"u1", {.volumes = {{"kernels", "/home/vllm"}}}}});
  auto request = machine_.request("u1", "kernels");
  request.context["csi.gkm.io/mountPath"] = "/other";
  EXPECT_EQ(mountedBy(request), groupAt("/other"));
  auto unseen = machine_.request("u9", "kernels");
  unseen.context["csi.gkm.io/mountPath"] = "/other";
  EXPECT_EQ(mountedBy(unseen), groupAt("/other"));
  EXPECT_TRUE(pause_.waits.empty()) << "nobody is waited for";
}

TEST_F(PathLayerTest, OfAPersistentVolumeTheClaimIsTheCaches) {
  tell({{"u1", {.volumes = {}, .claims = {{"vectors", "/models"}}}}});
  auto request = machine_.request("u1", "gkmcache-ml-vectors-0");
  request.context["csi.storage.k8s.io/ephemeral"] = "false";
  request.volume_id = "gkmcache/ml/vectors";
  EXPECT_EQ(mountedBy(request), groupAt("/models"));
  auto other = machine_.request("u2", "gkmcache-ml-vectors-0");
  other.context["csi.storage.k8s.io/ephemeral"] = "false";
  other.volume_id = "gkmcache/ml/vectors";
  tell({{"u1", {}}, {"u2", {.volumes = {}, .claims = {{"vectors", "/m2"}}}}});
  EXPECT_EQ(mountedBy(other), groupAt("/m2")) << "the same volume in another pod";
  EXPECT_EQ(service().uses()->size(), 2U);
  ASSERT_TRUE(service().unpublish({.volume_id = request.volume_id, .target_path = request.target_path}));
  EXPECT_EQ(service().uses()->size(), 1U) << "and goes alone";
  EXPECT_EQ(service().stats({.volume_id = other.volume_id, .volume_path = other.target_path})->bytes.total,
            10);
}

TEST_F(PathLayerTest, APodThatTheAgentHasNotSeenYetIsWaitedFor) {
  tell({});
  const auto request = machine_.request("u1", "kernels");
  const Mono began = clock_.now().mono;
  EXPECT_EQ(mountedBy(request), "") << "it is mounted as the tree is, in the end";
  EXPECT_EQ(clock_.now().mono - began, std::chrono::seconds{10});
}

// After a boot /run is empty, the trees are there, and the kubelet starts all at once.
TEST_F(PathLayerTest, WhileThisProcessIsNewItsAgentMayComeYet) {
  static_cast<void>(service());
  const Mono began = clock_.now().mono;
  EXPECT_EQ(mountedBy(machine_.request("u1", "kernels")), "");
  EXPECT_EQ(clock_.now().mono - began, std::chrono::seconds{10}) << "waited for";
  pause_.onWait = [this] { tell({{"u2", {.volumes = {{"kernels", "/home/vllm"}}}}}); };
  EXPECT_EQ(mountedBy(machine_.request("u2", "kernels")), groupAt("/home/vllm"));
}

TEST_F(PathLayerTest, OfAStaticPodItsNameCountsToo) {
  const auto request = machine_.request("0123", "kernels");
  const std::string& ns = request.context.at("csi.storage.k8s.io/pod.namespace");
  const std::string& name = request.context.at("csi.storage.k8s.io/pod.name");
  tell({{kcache::staticPodOf(ns, "another", "0123"), {.volumes = {{"kernels", "/theirs"}}}},
        {kcache::staticPodOf(ns, name, "0123"), {.volumes = {{"kernels", "/its"}}}}});
  EXPECT_EQ(mountedBy(request), groupAt("/its"));
}

TEST_F(PathLayerTest, WhereNoAgentTellsNobodyIsWaitedFor) {
  static_cast<void>(service());
  clock_.advance(cacherim::kToldFor + std::chrono::seconds{1});
  EXPECT_EQ(mountedBy(machine_.request("u1", "kernels")), "");
  EXPECT_TRUE(pause_.waits.empty());
  std::ofstream{machine_.usage() + "/paths.json"} << "torn";
  EXPECT_EQ(mountedBy(machine_.request("u2", "kernels")), "");
  EXPECT_TRUE(pause_.waits.empty());
}

TEST_F(PathLayerTest, OfAnAgentThatIsGoneWhatItSaidHoldsAndNobodyIsWaitedFor) {
  tell({{"u1", {.volumes = {{"kernels", "/home/vllm"}}}}});
  clock_.advance(cacherim::kToldFor + std::chrono::seconds{1});
  EXPECT_EQ(mountedBy(machine_.request("u1", "kernels")), groupAt("/home/vllm"));
  EXPECT_EQ(mountedBy(machine_.request("u2", "kernels")), "");
  EXPECT_TRUE(pause_.waits.empty());
}

// The kubelet asks the next process again.
TEST_F(PathLayerTest, WhoWaitsWhenTheDriverEndsIsUnavailableAndNothingIsMounted) {
  tell({});
  pause_.onWait = [this] { service().stopping(); };
  const auto request = machine_.request("u1", "kernels");
  const Status done = service().publish(request);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::Unavailable);
  EXPECT_EQ(pause_.waits.size(), 1U);
  EXPECT_EQ(machine_.mounts.top(request.target_path), nullptr);
  EXPECT_TRUE(service().uses()->empty());
  tell({{"u2", {.volumes = {{"kernels", "/cache"}}}}});
  EXPECT_EQ(mountedBy(machine_.request("u2", "kernels")), "") << "who need not wait is served to the end";
}

TEST_F(PathLayerTest, AWallClockThatIsSetMakesNobodyOldOrNew) {
  static_cast<void>(service());
  clock_.advance(cacherim::kToldFor + std::chrono::seconds{1});
  tell({});
  clock_.setWall(clock_.now().wall + std::chrono::hours{24});
  EXPECT_EQ(mountedBy(machine_.request("u1", "kernels")), "");
  EXPECT_EQ(pause_.waits.size(), 100U) << "the agent tells: it is waited for";
  clock_.advance(cacherim::kToldFor);
  clock_.setWall(clock_.now().wall - std::chrono::hours{48});
  pause_.waits.clear();
  EXPECT_EQ(mountedBy(machine_.request("u2", "kernels")), "");
  EXPECT_TRUE(pause_.waits.empty()) << "nobody tells any more";
}

TEST_F(PathLayerTest, WhatIsToldAndIsNoPathIsSaidOnceAndNotBelieved) {
  int pod = 0;
  for (const char* path : {"cache", "/a/../b", "/a\nb", "/", ""}) {
    const std::string uid = "u" + std::to_string(++pod);
    tell({{uid, {.volumes = {{"kernels", path}}}}});
    const std::string log = loggedBy(machine_.request(uid, "kernels"));
    const std::size_t said = log.find("the mountPath that is told of the pod is none");
    EXPECT_NE(said, std::string::npos) << log;
    EXPECT_EQ(log.find("--mount-path", log.find('\n', said)), std::string::npos) << "once: " << log;
  }
  tell({{"u8", {}}, {"u9", {.volumes = {}, .claims = {}, .has_more = true}}});
  EXPECT_EQ(loggedBy(machine_.request("u8", "kernels")), "") << "it has it nowhere as a whole";
  EXPECT_NE(loggedBy(machine_.request("u9", "kernels")).find("more than is told"), std::string::npos);
}

TEST_F(PathLayerTest, AMountPathIsDataAndNoPathOfTheMachine) {
  tell({{"u1", {.volumes = {{"kernels", "/a/../../etc"}}}}, {"u2", {.volumes = {{"kernels", "/a\"b"}}}}});
  EXPECT_EQ(mountedBy(machine_.request("u1", "kernels")), "");
  EXPECT_EQ(mountedBy(machine_.request("u2", "kernels")), groupAt(R"(/a\"b)"));
}

TEST_F(PathLayerTest, AnImageWithoutSuchFilesWaitsForNobody) {
  tell({});
  std::ofstream{cacherim::treeRootBelow(machine_.store(), imageNamed("i1")) + "/../record.json"}
      << cacherim::printTree({.image = imageNamed("i1"), .layers = {}, .extras = {}});
  EXPECT_EQ(mountedBy(machine_.request("u1", "kernels")), "");
  EXPECT_TRUE(pause_.waits.empty());
}

}  // namespace
}  // namespace gs::csi
