// For tests only: a NodeService over a store and a folder of uses on disk, and mounts that are values.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "base/temp_folder_test.h"
#include "csi/fake_mounts_test.h"
#include "csi/node_service.h"

namespace gs::csi {

inline kcache::Digest imageNamed(const std::string& name) { return kcache::Digest::of(name); }

class NodeMachine {
 public:
  NodeMachine() { std::filesystem::create_directories(store() + "/caches"); }

  [[nodiscard]] std::string store() const { return folder_.path("store"); }
  [[nodiscard]] std::string usage() const { return folder_.path("usage"); }

  /// A process begins: the one before is gone.
  NodeService& begin(Incompatible incompatible = Incompatible::Warn) {
    service_ = std::make_unique<NodeService>(
        NodeService::Options{.store = store(),
                             .usage = usage(),
                             .target_root = FakeMounts::kRoot,
                             .incompatible = incompatible,
                             .lock_limit = std::chrono::milliseconds{0}},
        *cacherim::Usage::open(usage(), cacherim::Disk{disk_fault, false}), mounts);
    return *service_;
  }
  [[nodiscard]] NodeService& service() { return service_ == nullptr ? begin() : *service_; }

  /// What the agent does: a tree, its place, and what new pods get.
  void extract(const cacherim::CacheName& cache, const std::string& image,
               const std::vector<int>& compatible = {}, const std::vector<int>& incompatible = {}) const {
    const std::string tree = cacherim::treeRootBelow(store(), imageNamed(image));
    std::filesystem::create_directories(tree);
    std::ofstream{tree + "/../record.json"} << "{}";
    const std::string place = store() + "/caches/" + cache.folder() + '/' + cache.name();
    std::filesystem::create_directories(place);
    std::error_code there;
    std::filesystem::create_directory_symlink(cacherim::treeRootBelow("../../..", imageNamed(image)),
                                              place + '/' + imageNamed(image).text(), there);
    EXPECT_TRUE(cacherim::writePresent(store(), cache,
                                       {imageNamed(image), "quay.io/x:" + image, 1, compatible, incompatible},
                                       cacherim::Disk{{}, false}));
  }

  [[nodiscard]] rpc::PublishRequest request(const std::string& uid, const std::string& volume,
                                            bool is_read_only = false) {
    rpc::PublishRequest out{.volume_id = "",
                            .target_path = mounts.podVolume(uid, volume),
                            .has_capability = true,
                            .is_block = false,
                            .mount_flags = {},
                            .read_only = is_read_only,
                            .context = {{"csi.gkm.io/GKMCache", "vectors"},
                                        {"csi.gkm.io/namespace", "ml"},
                                        {"csi.storage.k8s.io/ephemeral", "true"},
                                        {"csi.storage.k8s.io/pod.name", "pod-" + uid},
                                        {"csi.storage.k8s.io/pod.namespace", "ml"},
                                        {"csi.storage.k8s.io/pod.uid", uid},
                                        {"csi.storage.k8s.io/serviceAccount.name", "default"}}};
    out.volume_id = readTarget(out.target_path, FakeMounts::kRoot)->volume_id;
    return out;
  }
  static rpc::UnpublishRequest unpublishOf(const rpc::PublishRequest& request) {
    return {.volume_id = request.volume_id, .target_path = request.target_path};
  }

  FakeMounts mounts;
  cacherim::Disk::Fault disk_fault;

 private:
  const TempFolder folder_;
  std::unique_ptr<NodeService> service_;
};

inline const cacherim::CacheName kVectors = *cacherim::CacheName::inNamespace("ml", "vectors");

}  // namespace gs::csi
