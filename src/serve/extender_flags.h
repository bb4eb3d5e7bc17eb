// Flags of programs that serve the extender, and what follows from them.
// What is read into must outlive the parsing.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"
#include "net/http_server.h"
#include "process/flags.h"

namespace gs::serve {

struct ExtenderFlags {
  std::string address;  // "" : no extender
  std::string compat = "default";
  std::string volcano;
  std::string advertise_address;
  process::TlsFlags tls;
  std::string leader_ca_file;
  std::size_t workers = 32;
  [[nodiscard]] bool strict() const { return compat == "strict"; }
  /// What is wrong with them.
  [[nodiscard]] Status check() const;
};

/// `address`: that flag's name, which is another one in each program, and what is said of it.
void addExtender(process::Command command, ExtenderFlags& flags, const std::string& address,
                 const std::string& help);
/// Of flags that were checked. Takes as many descriptors as it may:
/// ten thousand schedulers may leave connections open.
[[nodiscard]] net::HttpServer::Options httpOptionsOf(const ExtenderFlags& flags);
/// What the other replica is shown, and must show, when this one sends requests on to it.
[[nodiscard]] net::ClientTls leaderTls(const ExtenderFlags& flags);
/// Where the other replica finds this one: "https://10.0.0.7:3456".
[[nodiscard]] std::string advertised(const ExtenderFlags& flags);

}  // namespace gs::serve
