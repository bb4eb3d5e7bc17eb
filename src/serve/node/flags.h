// The flags of gkm-agent beside those that it has in common with gkm-operator (serve/operator/flags.h), and
// what follows from them. What is read into must outlive the parsing.
#pragma once

#include <memory>
#include <string>

#include "cacherim/keeper/keeper.h"
#include "k8s/kubeconfig.h"
#include "model/ids.h"
#include "noderim/gpu_source.h"
#include "process/command.h"

namespace gs::serve {

struct CacheNodeFlags {
  std::string node_name{};  // "": KUBE_NODE_NAME
  std::string store = "/var/lib/gkm";
  std::string usage = "/run/gkm/usage";
  std::string mount_path = "/cache";
  std::string quota = "25%";
  std::string inodes = "25%";
  Duration age = std::chrono::hours{24};
  int concurrency = 2;
  std::string bandwidth = "0";
  std::string verify_rate = "8Mi";
  std::string authfile{};  // "": those of the environment
  std::string ca_file{};
  std::string mirrors{};
  std::string nvml_library = "libnvidia-ml.so.1";
  std::string rocm_library{};  // "": as noderim/rocm.h tries them
  std::string simulate{};      // a node file; "": by the drivers

  /// Error Invalid: the node has no name.
  [[nodiscard]] Result<model::NodeName> node(const k8s::Surroundings& surroundings) const;
  /// Error Invalid: which flag's value is wrong, and what would be right.
  [[nodiscard]] Result<cacherim::Keeper::Options> keeper() const;
  /// nullptr: no GPU is looked for (NO_GPU=true). Error Invalid: what is wrong in the node file.
  [[nodiscard]] Result<std::unique_ptr<noderim::GpuSource>> gpus(const model::NodeName& node,
                                                                 const k8s::Surroundings& surroundings) const;
};
void addCacheNode(process::Command command, CacheNodeFlags& flags);

}  // namespace gs::serve
