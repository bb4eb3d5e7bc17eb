// Counted: a NodeService as the CSI server asks it, with a line in the log and counts for each call.
// Any thread. What it is given must outlive it.
#pragma once

#include <atomic>
#include <string>

#include "base/clock.h"
#include "base/metrics.h"
#include "csi/node_service.h"
#include "rpc/csi_calls.h"

namespace gs::csi {

class Counted final : public rpc::CsiDriver {
 public:
  Counted(NodeService& service, Metrics& metrics, const Clock& clock)
      : service_{service}, metrics_{metrics}, clock_{clock} {}

  Status publish(const rpc::PublishRequest& request) override;
  Status unpublish(const rpc::UnpublishRequest& request) override;
  Result<rpc::VolumeStats> stats(const rpc::StatsRequest& request) override;
  Status ready() override { return service_.ready(); }
  void registered(bool is_registered, const std::string& error) override;
  void stopping() override { service_.stopping(); }

  /// The kubelet has said so, last.
  [[nodiscard]] bool isRegistered() const { return is_registered_; }
  /// Prometheus text, with how many volumes there are now.
  [[nodiscard]] std::string metricsText();

 private:
  template <class Call>
  auto counted(const std::string& name, const std::string& volume_id, const std::string& target,
               const Call& call);
  void note(const std::string& name, Mono since, const Error* error, const std::string& volume_id,
            const std::string& target);

  NodeService& service_;
  Metrics& metrics_;
  const Clock& clock_;
  std::atomic<bool> is_registered_ = false;
};

}  // namespace gs::csi
