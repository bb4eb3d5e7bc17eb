#include "serve/csi/flags.h"

#include <fmt/format.h>

#include "base/dns_name.h"
#include "kapi/quantity.h"

namespace gs::serve {
namespace {

constexpr std::int64_t kLeastWritable = std::int64_t{1} << 20;
constexpr std::int64_t kMostWritable = std::int64_t{1} << 40;

std::string orEnv(const std::string& flag, const k8s::Surroundings& surroundings, const char* name) {
  return flag.empty() ? surroundings.env(name).value_or("") : flag;
}

}  // namespace

Result<rpc::CsiServer::Options> CsiFlags::server(const k8s::Surroundings& surroundings,
                                                 const std::string& version) const {
  const std::string name = orEnv(node_name, surroundings, "KUBE_NODE_NAME");
  if (name.empty()) {
    return fail(Code::Invalid,
                "which node is this? Set --node-name, or KUBE_NODE_NAME by fieldRef spec.nodeName");
  }
  const auto node = nodeNameOfHost(name);
  if (!node) { return fail(Code::Invalid, "--node-name: " + node.error().message); }
  const std::string said = orEnv(endpoint, surroundings, "CSI_ENDPOINT");
  auto socket = rpc::socketPathOf(said.empty() ? kCsiEndpoint : said);
  if (!socket) { return tl::unexpected(socket.error()); }
  return rpc::CsiServer::Options{.socket = *std::move(socket),
                                 .driver = std::string{csi::kDriverName},
                                 .version = version,
                                 .node_id = *node};
}

Result<csi::LinuxMounts::Options> CsiFlags::mounts() const {
  const auto limit = kapi::quantityUnits(writable_limit);
  if (!limit || *limit < kLeastWritable || *limit > kMostWritable) {
    return fail(Code::Invalid, fmt::format("--writable-limit {} is no size from 1Mi to 1Ti; write 1Gi, say",
                                           writable_limit));
  }
  return csi::LinuxMounts::Options{.target_root = target_root,
                                   .store = store,
                                   .scratch = scratch,
                                   .writable_limit = static_cast<std::uint64_t>(*limit)};
}

csi::NodeService::Options CsiFlags::service() const {
  return {.store = store,
          .usage = usage,
          .target_root = target_root,
          .incompatible = incompatible == "refuse" ? csi::Incompatible::Refuse : csi::Incompatible::Warn};
}

void addCsi(process::Command command, CsiFlags& f) {
  command
      .text(
          "--endpoint", "SOCKET", f.endpoint,
          fmt::format("The socket, in a folder where the kubelet looks for plugins; without it CSI_ENDPOINT, "
                      "else {}",
                      kCsiEndpoint))
      .text("--node-name", "NAME", f.node_name, "This node; without it KUBE_NODE_NAME")
      .flag("--test", f.only_test, "Look whether it could start, and end");
  command.topic("Folders")
      .name("--store", f.store, "Where gkm-agent keeps caches")
      .name("--usage", f.usage, "Where it is told which volumes have one mounted; goes at a reboot")
      .name("--scratch", f.scratch, "Of our own, for moments; mounts there are ours")
      .name("--target-root", f.target_root, "The kubelet's folder of pods: nothing is mounted elsewhere");
  command.topic("Volumes")
      .text("--writable-limit", "SIZE", f.writable_limit,
            "What a pod may write into a volume beside the cache; it is memory, and counts as the pod's")
      .choice("--incompatible", {"warn", "refuse"}, f.incompatible,
              "What becomes of a pod whose cache no GPU of this node can use");
  command.topic("Health").text("--metrics-address", "HOST:PORT", f.pages,
                               "Address of /healthz, /readyz and /metrics by HTTP; empty: none");
  process::addGoLog(command, f.log);
}

}  // namespace gs::serve
