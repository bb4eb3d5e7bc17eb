#include "csi/volume_request.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/hash.h"
#include "csi/node_fixture_test.h"

namespace gs::csi {
namespace {

const std::string kRoot = FakeMounts::kRoot;

rpc::PublishRequest good() {
  NodeMachine machine;
  return machine.request("u1", "kernels");
}

TEST(VolumeRequest, OneFromTheKubeletIsTaken) {
  const auto wish = readPublish(good(), kRoot);
  ASSERT_TRUE(wish) << wish.error().message;
  EXPECT_EQ(wish->cache, kVectors);
  EXPECT_EQ(wish->cacheText(), "GKMCache ml/vectors");
  EXPECT_EQ(wish->pod_name, "pod-u1");
  EXPECT_EQ(wish->pod_uid, "u1");
  EXPECT_FALSE(wish->is_read_only);
}

TEST(VolumeRequest, WithoutANamespaceItIsAClusterGkmCache) {
  auto request = good();
  request.context.erase("csi.gkm.io/namespace");
  const auto wish = readPublish(request, kRoot);
  ASSERT_TRUE(wish);
  EXPECT_EQ(wish->cache, *cacherim::CacheName::ofCluster("vectors"));
  EXPECT_EQ(wish->cacheText(), "ClusterGKMCache vectors");
}

/// As the kubelet asks for a PersistentVolume of gkm-operator's.
rpc::PublishRequest persistent(const std::string& uid = "u1") {
  NodeMachine machine;
  auto out = machine.request(uid, "gkmcache-ml-vectors-0123");
  out.context["csi.storage.k8s.io/ephemeral"] = "false";
  out.volume_id = "gkmcache/ml/vectors";
  return out;
}

TEST(VolumeRequest, WhereThePodHasItMayBeSaid) {
  auto request = good();
  EXPECT_EQ(readPublish(request, kRoot)->mount_path, "");
  EXPECT_EQ(readPublish(request, kRoot)->volume, "kernels");
  EXPECT_EQ(readPublish(persistent(), kRoot)->volume, "");
  request.context["csi.gkm.io/mountPath"] = "/home/vllm/.cache/vllm";
  EXPECT_EQ(readPublish(request, kRoot)->mount_path, "/home/vllm/.cache/vllm");
  for (const std::string& path : {std::string{}, std::string{"cache"}, std::string{"/a/../b"},
                                  std::string{"/a/"}, std::string{"/a\n"}, "/" + std::string(2000, 'a')}) {
    request.context["csi.gkm.io/mountPath"] = path;
    const auto wish = readPublish(request, kRoot);
    ASSERT_FALSE(wish) << path;
    EXPECT_NE(wish.error().message.find("csi.gkm.io/mountPath is not an absolute path"), std::string::npos);
  }
}

TEST(VolumeRequest, APersistentVolumeOfACacheIsTaken) {
  const auto wish = readPublish(persistent(), kRoot);
  ASSERT_TRUE(wish) << wish.error().message;
  EXPECT_EQ(wish->cache, kVectors);
  EXPECT_EQ(wish->volume_id, readTarget(persistent().target_path, kRoot)->volume_id);
  EXPECT_NE(wish->volume_id, readPublish(persistent("u2"), kRoot)->volume_id)
      << "each mount has an id of its own";
  auto wide = persistent();
  wide.volume_id = "clustergkmcache/vectors/ml";
  wide.context.erase("csi.gkm.io/namespace");
  ASSERT_TRUE(readPublish(wide, kRoot));
  EXPECT_TRUE(readPublish(wide, kRoot)->is_cluster_cache);
  const std::string name(253, 'a');
  wide.context["csi.gkm.io/GKMCache"] = name;
  wide.volume_id = "clustergkmcache/" + name + "/ml";
  EXPECT_TRUE(readPublish(wide, kRoot)) << readPublish(wide, kRoot).error().message;
}

TEST(VolumeRequest, APersistentVolumeThatSaysTwoThingsIsRefused) {
  const auto said = [](const std::string& handle,
                       const std::function<void(rpc::PublishRequest&)>& change = {}) {
    auto request = persistent();
    request.volume_id = handle;
    if (change) { change(request); }
    const auto wish = readPublish(request, kRoot);
    return wish ? std::string{} : wish.error().message;
  };
  for (const char* handle : {"gkmcache/ml/other", "gkmcache/other/vectors", "clustergkmcache/vectors/ml",
                             "other", "gkmcache/ml"}) {
    EXPECT_NE(said(handle).find("does not name the cache"), std::string::npos) << handle << said(handle);
  }
  EXPECT_NE(said("clustergkmcache/vectors/other", [](auto& r) { r.context.erase("csi.gkm.io/namespace"); })
                .find("is for pods of namespace other"),
            std::string::npos);
  EXPECT_NE(said("gkmcache/ml/vectors", [](auto& r) { r.context["csi.storage.k8s.io/pod.namespace"] = "x"; })
                .find("a pod may mount GKMCaches of its own namespace"),
            std::string::npos);
  EXPECT_NE(said("gkmcache/ml/vectors", [](auto& r) { r.context["csi.storage.k8s.io/ephemeral"] = "true"; })
                .find("is that of a PersistentVolume"),
            std::string::npos);
}

struct BadPublish {
  const char* name;
  void (*change)(rpc::PublishRequest&);
  const char* says;
};
class BadPublishTest : public testing::TestWithParam<BadPublish> {};

TEST_P(BadPublishTest, IsInvalidAndSaysWhy) {
  auto request = good();
  GetParam().change(request);
  const auto wish = readPublish(request, kRoot);
  ASSERT_FALSE(wish);
  EXPECT_EQ(wish.error().code, Code::Invalid);
  EXPECT_NE(wish.error().message.find(GetParam().says), std::string::npos) << wish.error().message;
}

using Request = rpc::PublishRequest;
INSTANTIATE_TEST_SUITE_P(
    Table, BadPublishTest,
    testing::Values(
        BadPublish{"NoVolume", [](Request& r) { r.volume_id = ""; },
                   "must provide a VolumeId to NodePublishVolume"},
        BadPublish{"NoTarget", [](Request& r) { r.target_path = ""; },
                   "must provide a TargetPath to NodePublishVolume"},
        BadPublish{"NoCapability", [](Request& r) { r.has_capability = false; },
                   "must provide a VolumeCapability to NodePublishVolume"},
        BadPublish{"LongVolume", [](Request& r) { r.volume_id = std::string(600, 'a'); }, "volume_id"},
        BadPublish{"BytesInVolume", [](Request& r) { r.volume_id = "a\nb"; }, "volume_id"},
        BadPublish{"Block", [](Request& r) { r.is_block = true; }, "block device"},
        BadPublish{"MountFlags", [](Request& r) { r.mount_flags = {"suid"}; }, "mount_flags"},
        BadPublish{"Relative", [](Request& r) { r.target_path = "pods/u1/mount"; }, "absolute path"},
        BadPublish{"DotDot", [](Request& r) { r.target_path = "/pods/u1/../../etc"; }, "absolute path"},
        BadPublish{"Elsewhere", [](Request& r) { r.target_path = "/podsfoo/x"; }, "not below /pods"},
        BadPublish{"TheRoot", [](Request& r) { r.target_path = "/pods"; }, "not below /pods"},
        BadPublish{"SlashAtTheEnd", [](Request& r) { r.target_path += "/"; }, "absolute path"},
        BadPublish{"NoCache", [](Request& r) { r.context.erase("csi.gkm.io/GKMCache"); },
                   "must provide a GKMCache name"},
        BadPublish{"NoClusterCache",
                   [](Request& r) {
                     r.context.erase("csi.gkm.io/GKMCache");
                     r.context.erase("csi.gkm.io/namespace");
                   },
                   "must provide a ClusterGKMCache name"},
        BadPublish{"EmptyNamespace", [](Request& r) { r.context["csi.gkm.io/namespace"] = ""; }, "is empty"},
        BadPublish{"NamespaceThief", [](Request& r) { r.context["csi.gkm.io/namespace"] = "other"; },
                   "a pod may mount GKMCaches of its own namespace"},
        BadPublish{"PathAsCache", [](Request& r) { r.context["csi.gkm.io/GKMCache"] = "../../../etc"; },
                   "csi.gkm.io/GKMCache"},
        BadPublish{"PathAsNamespace",
                   [](Request& r) {
                     r.context["csi.gkm.io/namespace"] = "../ml";
                     r.context["csi.storage.k8s.io/pod.namespace"] = "../ml";
                   },
                   "csi.gkm.io/namespace"},
        BadPublish{"SlipOfTheKey", [](Request& r) { r.context["csi.gkm.io/Namespace"] = "ml"; },
                   "'csi.gkm.io/Namespace', which is not known"},
        BadPublish{"NoKind", [](Request& r) { r.context["csi.storage.k8s.io/ephemeral"] = "no"; },
                   "podInfoOnMount: true"},
        BadPublish{"NotEphemeral", [](Request& r) { r.context["csi.storage.k8s.io/ephemeral"] = "false"; },
                   "does not name the cache"},
        BadPublish{"NoPodInfo", [](Request& r) { r.context.erase("csi.storage.k8s.io/pod.namespace"); },
                   "podInfoOnMount: true"},
        BadPublish{"NoUid", [](Request& r) { r.context["csi.storage.k8s.io/pod.uid"] = ""; },
                   "podInfoOnMount: true"}),
    [](const auto& info) { return std::string{info.param.name}; });

TEST(VolumeRequest, UnpublishAndStatsHaveTheAncestorsTexts) {
  EXPECT_EQ(checkUnpublish({"", "/pods/a"}, kRoot).error().message,
            "must provide a VolumeId to NodeUnpublishVolume");
  EXPECT_EQ(checkUnpublish({"v", ""}, kRoot).error().message,
            "must provide a TargetPath to NodeUnpublishVolume");
  EXPECT_EQ(checkUnpublish({"v", "/etc"}, kRoot).error().code, Code::Invalid);
  EXPECT_TRUE(checkUnpublish({"v", "/pods/a"}, kRoot));
  EXPECT_EQ(checkStats({"", "/pods/a"}, kRoot).error().code, Code::Invalid);
  EXPECT_EQ(checkStats({"v", ""}, kRoot).error().code, Code::Invalid);
  EXPECT_EQ(checkStats({"v", "/etc"}, kRoot).error().code, Code::NotFound);
}

TEST(VolumeRequest, ATargetTellsThePodAndTheVolume) {
  EXPECT_EQ(readTarget("/pods/u1/volumes/kubernetes.io~csi/kernels/mount", kRoot),
            (TargetOf{"u1", "csi-" + sha256Hex("u1kernels"), "kernels"}));
  for (const char* other :
       {"/pods/u1/volumes/kubernetes.io~csi/mount", "/pods/u1/volumes/kubernetes.io~csi/a/b/mount",
        "/pods/u1/mount", "/pods/a/u1/volumes/kubernetes.io~csi/k/mount",
        "/other/u1/volumes/kubernetes.io~csi/k/mount", "/pods/u1/volumes/kubernetes.io~csi/k/mount2"}) {
    EXPECT_EQ(readTarget(other, kRoot), std::nullopt) << other;
  }
  EXPECT_EQ(podFolderOf("/pods/u1/volumes/x/mount", kRoot), "/pods/u1");
  EXPECT_EQ(podFolderOf("/pods/u1", kRoot), "/pods/u1");
}

}  // namespace
}  // namespace gs::csi
