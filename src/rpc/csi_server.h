// CsiServer: a CSI node driver at one unix socket in the kubelet's plugins_registry/. Registration, Identity
// and Node are served there, so that the kubelet finds the driver by itself and no sidecar is needed
// (rpc/pluginregistration.proto, rpc/csi.proto).
//
// A socket of that name that is left from before is replaced. When the file goes while we serve (somebody
// cleaned the folder) it is made again within `look_every`; the kubelet then registers the driver anew. When
// that cannot be done, or another process has put its own there, `on_failure` is called, once: nobody would
// find the driver any more.
// At most `most_calls` are answered at once; another one is UNAVAILABLE. Requests have at most 1 MiB.
// Owns its threads. stop() lets calls that are under way come to their end, and tells the driver to end them.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "rpc/csi_calls.h"

namespace gs::rpc {

class CsiServer {
 public:
  struct Options {
    std::string socket;  // its path, as the kubelet sees it too
    std::string driver;  // "csi.gkm.io"
    std::string version;
    std::string node_id;
    std::size_t most_calls = 32;
    Duration look_every = std::chrono::seconds{2};
    std::function<void(const Error& why)> on_failure{};
  };
  /// `driver` must outlive it. Errors: Invalid, the socket's path is too long; Conflict, a file of that name
  /// is no socket; Unavailable, the system refused.
  [[nodiscard]] static Result<std::unique_ptr<CsiServer>> start(Options options, CsiDriver& driver);
  CsiServer(const CsiServer&) = delete;
  CsiServer& operator=(const CsiServer&) = delete;
  ~CsiServer();

  /// Takes no new call; what is under way has `grace`. The socket's file goes. A second call does nothing.
  void stop(Duration grace);

 private:
  class Core;
  explicit CsiServer(std::unique_ptr<Core> core);
  std::unique_ptr<Core> core_;
};

/// The path in "unix:///var/lib/kubelet/...", "unix:/..." or "/...". Error Invalid: another form.
[[nodiscard]] Result<std::string> socketPathOf(const std::string& endpoint);

}  // namespace gs::rpc
