// `gpu-sandbox serve`: the cluster in real time behind an HTTP port, with a kubeconfig for it and, when asked
// for, its state kept in a file.
//
// No authentication, so only loopback addresses are accepted unless `open` says otherwise. The state file is
// replaced by rename, so it is whole at any time; it is written by a thread of its own and complete when
// stop() returns. One server at a time has it: a lock beside it says so.
#pragma once

#include <future>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/mailbox.h"
#include "base/result.h"
#include "base/worker.h"
#include "net/http_server.h"
#include "net/socket.h"
#include "net/tls.h"
#include "sandbox/serve/http_port.h"
#include "sandbox/serve/live.h"

namespace gs::sandbox {

class Server {
 public:
  struct Options {
    std::string address = "127.0.0.1:0";
    bool open = false;                             // any address may be listened on
    std::string data_file;                         // "": in memory only
    std::size_t max_state = std::size_t{1} << 30;  // bytes of it: what has more is neither written nor read
    std::string kubeconfig;                        // is written here
    std::string request_log;                       // "": none (request_log.h)
    std::optional<net::ServerTls> tls{};           // HTTPS; the kubeconfig trusts its certificate
    Live::Options live{};
  };

  /// Error Invalid: an address that is not allowed, a state file that cannot be read; Unavailable:
  /// the system refused.
  static Result<std::unique_ptr<Server>> start(Options options, const Clock& clock);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() { stop(); }

  [[nodiscard]] const std::string& url() const { return url_; }
  [[nodiscard]] Live& live() { return *live_; }
  /// It began with a state of --data, whose nodes are its own: those of the options were not made.
  [[nodiscard]] bool restored() const { return restored_; }
  /// A second call does nothing.
  void stop();

 private:
  Server() = default;
  Status begin(Options& options, const Clock& clock);
  Status keepStateIn(Options& options);
  Status listen(const Options& options);

  std::string url_;
  bool restored_ = false;
  net::Fd data_lock_;
  std::promise<HttpPort*> answers_;  // null: it never came up
  bool answering_ = false;           // that was said
  std::unique_ptr<Mailbox<std::shared_ptr<const json::Value>>> states_;
  std::unique_ptr<Worker> saver_;
  std::unique_ptr<Live> live_;
  std::unique_ptr<RequestLog> log_;
  std::unique_ptr<HttpPort> port_;
  std::unique_ptr<net::HttpServer> http_;
};

/// A kubeconfig with one cluster, user and context, all named gpu-sandbox. `ca_file`: with https.
[[nodiscard]] std::string kubeconfigFor(const std::string& url, const std::string& ca_file = "");
/// "127.0.0.1:80", "[::1]:80", "localhost:80"
[[nodiscard]] bool isLoopback(const std::string& address);

}  // namespace gs::sandbox
