// The DRA driver of simulated nodes, and what kubelets do with it (kubelet 1.36 and newer, gate
// DRAExtendedResource): limits that the pod's status maps to a ResourceClaim are served by what the claim is
// allocated; those that it does not map, on a node without a device plugin, by nothing at all. What claims of
// spec.resourceClaims are allocated is for all containers of the pod (kubelet 1.34 and newer). An older
// kubelet starts the containers without it, and a newer one waits for the driver though it publishes nothing.
//
// It is strict: it prepares no device that is not there, and none that containers of another pod have
// (inUse() counts how often it was asked to). As a kubelet, it asks for a claim that is reserved for the pod.
// A GPU is named after its UUID, so that its name means the same one as long as it is there. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kapi/node_file.h"
#include "sandbox/node/device_driver.h"

namespace gs::apiserver {
class Api;
}

namespace gs::sandbox {

class Kubelet;

inline constexpr const char* kSlices = "resource.k8s.io/resourceslices";

/// The name of the slice of this node.
[[nodiscard]] std::string sliceOf(const kapi::SimNode& node);
/// Its ResourceSlice, without the generation of its pool.
[[nodiscard]] json::Value draSlice(const kapi::SimNode& node, std::string_view node_uid);

class DraDriver : public DeviceDriver {
 public:
  /// They must outlive it.
  DraDriver(const apiserver::Api& api, const Kubelet& kubelet) : api_{api}, kubelet_{kubelet} {}

  [[nodiscard]] bool serves(const json::Value& pod) const override;
  [[nodiscard]] std::optional<std::vector<std::string>> prepare(const json::Value& pod) override;
  /// It prepares nothing while it is away; what was prepared stays.
  void setAway(const std::string& node, bool away) { away_[node] = away; }
  /// How often it was to prepare what containers of another pod have.
  [[nodiscard]] std::uint64_t inUse() const { return in_use_; }

 private:
  /// A claim of the pod; of limits, the requests that serve them: empty: all.
  struct Asked {
    std::string claim;
    std::vector<std::string> requests;
  };
  /// As far as its kubelet knows of it.
  [[nodiscard]] std::vector<Asked> askedBy(const json::Value& pod) const;
  /// Of its version 1.x; 0: there is no such node.
  [[nodiscard]] int kubeletOf(const std::string& node) const;
  using Devices = std::map<std::string, model::Uid>;  // by UUID, and the claim that it is had by
  [[nodiscard]] std::optional<Devices> devicesFor(const json::Value& pod) const;
  [[nodiscard]] bool add(const json::Value& pod, const Asked& asked, Devices& devices) const;
  /// Containers of other pods have none of them by another claim.
  [[nodiscard]] bool isFree(const std::string& node, const Devices& devices) const;

  const apiserver::Api& api_;
  const Kubelet& kubelet_;
  std::map<std::string, bool> away_;
  std::map<std::string, Devices> prepared_;  // by pod
  std::uint64_t in_use_ = 0;
};

}  // namespace gs::sandbox
