// The flags of gkm-csi, and what follows from them. What is read into must outlive the parsing.
#pragma once

#include <cstdint>
#include <string>

#include "csi/linux_mounts.h"
#include "csi/node_service.h"
#include "k8s/kubeconfig.h"
#include "process/command.h"
#include "process/flags.h"
#include "rpc/csi_server.h"

namespace gs::serve {

struct CsiFlags {
  std::string endpoint{};   // "": CSI_ENDPOINT, else kCsiEndpoint
  std::string node_name{};  // "": KUBE_NODE_NAME
  std::string store = "/var/lib/gkm";
  std::string usage = "/run/gkm/usage";
  std::string scratch = "/run/gkm/scratch";
  std::string target_root = "/var/lib/kubelet/pods";
  std::string writable_limit = "1Gi";
  std::string incompatible = "warn";
  std::string pages = ":9809";
  bool only_test = false;
  process::LogFlags log{.level = ""};

  /// Error Invalid: no node name, or an endpoint of another form.
  [[nodiscard]] Result<rpc::CsiServer::Options> server(const k8s::Surroundings& surroundings,
                                                       const std::string& version) const;
  /// Error Invalid: --writable-limit is no size from 1Mi to 1Ti.
  [[nodiscard]] Result<csi::LinuxMounts::Options> mounts() const;
  [[nodiscard]] csi::NodeService::Options service() const;
};
void addCsi(process::Command command, CsiFlags& flags);

constexpr const char* kCsiEndpoint = "unix:///var/lib/kubelet/plugins_registry/csi.gkm.io-reg.sock";

}  // namespace gs::serve
