// GateServer: the gate of pods with GPUs (csi/gate/gate.h) at a socket in the kubelet's plugins_registry/,
// where the kubelet finds it, counted and in the log.
//
// Every agent with --gate serves it, whatever it enforces: a pod has its gate before anybody knows to which
// node it comes, and one whose node lacks the driver neither starts nor ends. Where nothing is enforced
// `may_start` is always fine. What it is given must outlive it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/metrics.h"
#include "csi/gate/gate.h"
#include "csi/kubelet/counted.h"
#include "rpc/csi_server.h"

namespace gs::serve {

class GateServer {
 public:
  struct Options {
    std::string node;                          // as its kubelet calls it
    std::string version;                       // of this program
    std::string kubelet = "/var/lib/kubelet";  // its root, at this path here too
    Duration patience = csi::Gate::kPatience;
    /// Another process serves in our place, or the socket cannot be made again; once.
    std::function<void(const Error&)> on_failure{};
  };
  GateServer(Options options, csi::Gate::MayStart may_start, Metrics& metrics, const Clock& clock);

  /// Errors: Invalid, the kubelet's root is no clean path; else CsiServer::start()'s. Once.
  [[nodiscard]] Status start();
  /// Calls that wait are answered. A second call does nothing.
  void stop();

  /// `may_start` may say something else than before. Any thread; also before start() and after stop().
  void changed() { gate_.changed(); }
  /// The kubelet has said so, last. Any thread.
  [[nodiscard]] bool isRegistered() const { return driver_.isRegistered(); }

 private:
  const Options options_;
  csi::Gate gate_;
  csi::Counted driver_;
  std::unique_ptr<rpc::CsiServer> server_;
};

}  // namespace gs::serve
