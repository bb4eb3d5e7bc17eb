// Driver: gkm-csi's parts put together: mounts, the node's service, its socket and its pages of health.
// On the main thread; run() returns when SIGTERM or SIGINT came (0), or nothing can be served any more (1).
#pragma once

#include <memory>

#include "base/metrics.h"
#include "base/readiness.h"
#include "base/system_clock.h"
#include "csi/kubelet/counted.h"
#include "net/http_server.h"
#include "process/health_page.h"
#include "process/process.h"
#include "serve/csi/flags.h"

namespace gs::serve {

class CsiDriverProcess {
 public:
  /// Errors of the flags, and of folders that cannot be used. Before any thread.
  [[nodiscard]] static Result<std::unique_ptr<CsiDriverProcess>> make(const CsiFlags& flags,
                                                                      const k8s::Surroundings& surroundings,
                                                                      const std::string& version);
  CsiDriverProcess(const CsiDriverProcess&) = delete;
  CsiDriverProcess& operator=(const CsiDriverProcess&) = delete;

  [[nodiscard]] int run();
  /// The pages of health.
  [[nodiscard]] net::Response page(const net::Request& request) const { return page_.answer(request); }

 private:
  CsiDriverProcess(const CsiFlags& flags, rpc::CsiServer::Options server, cacherim::Usage usage,
                   std::unique_ptr<csi::LinuxMounts> mounts);
  [[nodiscard]] std::string liveness() const;
  [[nodiscard]] Readiness readiness();
  /// With how many volumes there are now.
  [[nodiscard]] std::string metricsText();

  const process::StopSignals signals_;  // first: threads inherit what they block
  const std::string pages_;
  rpc::CsiServer::Options server_;
  const std::unique_ptr<csi::LinuxMounts> mounts_;
  Metrics metrics_;
  const SystemClock clock_;
  cacherim::RealPause pause_{clock_};
  csi::NodeService service_;
  csi::Counted driver_;
  const process::HealthPage page_;
};

}  // namespace gs::serve
