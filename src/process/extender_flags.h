// Flags of programs that serve the extender, and what follows from them.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"
#include "net/http_server.h"

namespace CLI {
class App;
}

namespace gs::process {

struct ExtenderFlags {
  std::string address;  // "" : no extender
  std::string compat = "default";
  std::string volcano;
  std::string advertise_address;
  std::string cert_file;
  std::string key_file;
  std::string client_ca_file;
  std::string leader_ca_file;
  std::size_t workers = 32;
  [[nodiscard]] bool strict() const { return compat == "strict"; }
};

/// All but the address, whose flag has another name in each program.
void addExtender(CLI::App& app, ExtenderFlags& flags);
/// What is wrong with them.
[[nodiscard]] Status checkExtender(const ExtenderFlags& flags);
/// Takes as many descriptors as it may: ten thousand schedulers may leave connections open.
[[nodiscard]] net::HttpServer::Options extenderOptions(const ExtenderFlags& flags);
/// What the other replica is shown, and must show, when this one sends requests on to it.
[[nodiscard]] net::ClientTls leaderTls(const ExtenderFlags& flags);
/// Where the other replica finds this one: "https://10.0.0.7:3456".
[[nodiscard]] std::string advertised(const ExtenderFlags& flags);

}  // namespace gs::process
