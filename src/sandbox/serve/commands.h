// What the commands of gpu-sandbox do, apart from their flags: each prints to a stream that it is given. An
// error says what is wrong and what to do about it.
#pragma once

#include <functional>
#include <iosfwd>
#include <optional>
#include <string>

#include "base/result.h"
#include "kapi/call.h"
#include "net/tls.h"
#include "sandbox/serve/remote.h"

namespace gs::sandbox {

struct ServeSettings {
  std::string address = "127.0.0.1:0";
  std::string node_file;       // "": the two built-in nodes
  std::string kubeconfig_out;  // "": a file in the runtime folder, which goes when it ends
  std::string data_file;
  std::string request_log;
  std::optional<net::ServerTls> tls{};
  bool no_scheduler = false;
  bool no_controllers = false;
  bool no_webhook = false;
  bool api_only = false;
  bool open = false;
  std::uint64_t seed = 1;
  std::function<void(const kapi::Log&)> on_log{};
};
/// Serves until `wait` returns.
[[nodiscard]] Status serve(const ServeSettings& settings, const std::function<void()>& wait,
                           std::ostream& out);

/// Each with its number of GPUs. `node_file` "": the built-in ones.
[[nodiscard]] Status printNodes(const std::string& node_file, std::ostream& out);

/// The nodes of a file, or one with so many GPUs.
struct NewNodes {
  std::string name;
  std::string node_file;
  int gpus = 8;
};
[[nodiscard]] Status addNodes(Remote& server, const NewNodes& nodes);
/// Until it is empty, or so many seconds passed. Says whom it waits for.
[[nodiscard]] Status drain(Remote& server, const std::string& node, int timeout_s, std::ostream& out);

}  // namespace gs::sandbox
