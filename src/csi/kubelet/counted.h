// Counted: a driver as the CSI server asks it, with a line in the log and counts for each call.
// Any thread. What it is given must outlive it.
#pragma once

#include <atomic>
#include <string>

#include "base/clock.h"
#include "base/metrics.h"
#include "rpc/csi_calls.h"

namespace gs::csi {

class Counted final : public rpc::CsiDriver {
 public:
  /// What its metrics are called.
  struct Names {
    const char* calls_metric = "";
    const char* seconds_metric = "";
    const char* registered_metric = "";
  };
  Counted(rpc::CsiDriver& driver, Names names, Metrics& metrics, const Clock& clock);

  Status publish(const rpc::PublishRequest& request) override;
  Status unpublish(const rpc::UnpublishRequest& request) override;
  Result<rpc::VolumeStats> stats(const rpc::StatsRequest& request) override;
  Status ready() override { return driver_.ready(); }
  void registered(bool is_registered, const std::string& error) override;
  void stopping() override { driver_.stopping(); }

  /// The kubelet has said so, last.
  [[nodiscard]] bool isRegistered() const { return is_registered_; }

 private:
  template <class Call>
  auto counted(const std::string& name, const std::string& volume_id, const std::string& target,
               const Call& call);
  void note(const std::string& name, Mono since, const Error* error, const std::string& volume_id,
            const std::string& target);

  rpc::CsiDriver& driver_;
  const Names names_;
  Metrics& metrics_;
  const Clock& clock_;
  Gauge registered_;
  std::atomic<bool> is_registered_ = false;
};

}  // namespace gs::csi
